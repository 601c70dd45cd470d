//! What it costs to start a program in the sandbox, over starting it plainly, and what a thousand runs leave behind.
//!
//! Interleaved rounds in one run; the differences are what counts. `spawn 100` makes a hundred rounds instead.

#![expect(clippy::expect_used, reason = "a benchmark stops when it cannot run")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_bench::process::resident;
use covenant_bench::{line, median};
use covenant_runner::nursery::{Launcher, Nursery, Scrub};
use covenant_runner::order::{Network, Order, Sandbox};

/// Rounds, where nothing else is said.
const ROUNDS: usize = 1000;

/// Rounds before anything counts.
const WARM: usize = 20;

/// How a program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By the system alone.
    Bare,
    /// With a launcher beside it.
    Plain,
    /// In the sandbox.
    Sandboxed(Network),
}

const WAYS: [(&str, Way); 5] = [
    ("/bin/true by the system alone, start to end", Way::Bare),
    ("with a launcher, plain", Way::Plain),
    ("sandboxed, network off", Way::Sandboxed(Network::Off)),
    ("sandboxed, network outbound-https-only", Way::Sandboxed(Network::OutboundHttpsOnly)),
    ("sandboxed, network full", Way::Sandboxed(Network::Full)),
];

fn main() {
    let rounds = std::env::args().nth(1).map_or(ROUNDS, |count| count.parse().expect("how many rounds?"));
    let program = std::env::current_exe().expect("this program").with_file_name("covenant");
    assert!(program.is_file(), "build it first: cargo build --release");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let directory = tempfile::tempdir().expect("a directory");
    let nursery = Nursery::new(Launcher { program, arguments: vec!["launch".to_owned()] });
    runtime.block_on(measure(&nursery, directory.path(), rounds));
}

async fn measure(nursery: &Nursery, scratch: &Path, rounds: usize) {
    let mut times: [Vec<Duration>; WAYS.len()] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    let mut runs = BTreeSet::new();
    let mut before = None;
    for round in 0..rounds + WARM {
        // Each has each other before it: the kernel takes a network down long after its last process.
        for place in 0..WAYS.len() {
            let place = (place * (1 + round % 4) + round) % WAYS.len();
            let (Some((_, way)), Some(times)) = (WAYS.get(place), times.get_mut(place)) else { continue };
            let (time, run) = once(nursery, scratch, *way).await;
            runs.extend(run);
            if round >= WARM {
                times.push(time);
            }
        }
        if round + 1 == WARM {
            before = Some(Left::now(scratch));
        }
    }
    tell(times);
    let (before, after) = (before.expect("warm rounds"), Left::now(scratch));
    let count = rounds * (WAYS.len() - 1);
    line(
        &format!("descriptors after {count} runs"),
        &more(before.descriptors, after.descriptors),
        "none more",
    );
    line("children", &more(before.children, after.children), "none more");
    line("mounts", &more(before.mounts, after.mounts), "none more");
    line("files in the scratch directory", &more(before.files, after.files), "none more");
    line("control groups of these runs", &groups(&runs).to_string(), "none");
    line(
        "memory of the host",
        &format!("{:+.2} MiB", after.memory - before.memory),
        "at most 1 MiB more, their names included",
    );
}

/// Starts a program and waits for its end; how long that took, and its name.
async fn once(nursery: &Nursery, scratch: &Path, way: Way) -> (Duration, Option<String>) {
    let begun = Instant::now();
    if way == Way::Bare {
        let mut command = bare();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().expect("/bin/true").success());
        return (begun.elapsed(), None);
    }
    let order = Order {
        name: "true".to_owned(),
        program: PathBuf::from("/bin/true"),
        arguments: Vec::new(),
        environment: Vec::new(),
        directory: PathBuf::from("/"),
        sandbox: match way {
            Way::Sandboxed(network) => Some(Sandbox { network, ..Sandbox::new(scratch.to_owned()) }),
            Way::Bare | Way::Plain => None,
        },
    };
    let scrub: Scrub = Arc::new(str::to_owned);
    let mut child = nursery.start(order, scrub).await.expect("it starts");
    let ending = child.wait().await;
    let time = begun.elapsed();
    assert!(ending.status.is_success(), "{ending:?}");
    (time, Some(child.id().to_owned()))
}

#[expect(clippy::disallowed_methods, reason = "the yardstick")]
fn bare() -> std::process::Command {
    std::process::Command::new("/bin/true")
}

fn tell(times: [Vec<Duration>; WAYS.len()]) {
    let medians = times.map(median);
    for ((name, _), middle) in WAYS.iter().zip(medians) {
        line(name, &millis(middle), "");
    }
    let [_, plain, sandboxed @ ..] = medians;
    for ((name, _), middle) in WAYS.iter().skip(2).zip(sandboxed) {
        let (more, ratio) = (middle.saturating_sub(plain), middle.as_secs_f64() / plain.as_secs_f64());
        line(&format!("{name}, over plain"), &format!("{} ({ratio:.1})", millis(more)), "at most 15 ms more");
    }
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// What there is of things that runs may leave.
struct Left {
    descriptors: usize,
    children: usize,
    mounts: usize,
    files: usize,
    memory: f64,
}

impl Left {
    fn now(scratch: &Path) -> Self {
        let entries = |path: &Path| std::fs::read_dir(path).expect("a directory").count();
        let text = |path: &str| std::fs::read_to_string(path).expect("a file of /proc");
        let own = std::process::id();
        Self {
            descriptors: entries(Path::new("/proc/self/fd")),
            children: text(&format!("/proc/self/task/{own}/children")).split_whitespace().count(),
            mounts: text("/proc/self/mountinfo").lines().count(),
            files: entries(scratch),
            memory: resident(own),
        }
    }
}

fn more(before: usize, after: usize) -> String {
    if before == after { format!("{after}, as before") } else { format!("{after}, before: {before}") }
}

/// How many control groups bear the name of one of these runs.
fn groups(runs: &BTreeSet<String>) -> usize {
    let mut found = 0;
    let mut wanted = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = wanted.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                found += usize::from(runs.iter().any(|run| name.contains(run.as_str())));
                wanted.push(entry.path());
            }
        }
    }
    found
}
