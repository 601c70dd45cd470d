//! What an intent costs over starting its agent's program in a sandbox alone, and what two hundred of them leave behind.
//!
//! The program reads a line, writes one and ends, in both ways with the same sandbox. Interleaved rounds in one run; the
//! difference is what counts. `agents 50` makes fifty rounds instead.

#![expect(clippy::expect_used, reason = "a benchmark stops when it cannot run")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_bench::http::Issuer;
use covenant_bench::process::{at_rest, descriptors, with_descendants};
use covenant_bench::{line, median};
use covenant_runner::nursery::{Launcher, Nursery, Scrub};
use covenant_runner::order::{Door, Order, Sandbox};
use covenant_testkit::Home;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Rounds, where nothing else is said.
const ROUNDS: usize = 200;

/// Rounds before anything counts.
const WARM: usize = 20;

/// Intents whose traces are looked for, and how many of them are under way at a time.
const MANY: usize = 200;
const AT_ONCE: usize = 2;

const CONFIG: &str = "[rate_limit]\nrate = 0\n";

const MANIFEST: &str = "\
[agent]
id = \"trivial@local\"
name = \"trivial\"
version = \"1\"
runtime = \"rust-bin\"
entry = \"trivial-agent\"
";

/// As long as what the agent is told.
const LINE: &str = r#"{"id":"00000000-0000-4000-8000-000000000000","text":"do nothing","issuer":{"display":"user@local","pubkey":"4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS"},"issued_at":1714938000000,"priority":"normal","parent":null}"#;

fn main() {
    let rounds = std::env::args().nth(1).map_or(ROUNDS, |count| count.parse().expect("how many rounds?"));
    let built = std::env::current_exe().expect("this program");
    let covenant = built.with_file_name("covenant");
    assert!(covenant.is_file(), "build it first: cargo build --release");
    let home = Home::new(&covenant);
    home.write("config.toml", CONFIG);
    home.write("agents/trivial/agent.toml", MANIFEST);
    let program = home.path().join("agents/trivial/trivial-agent");
    std::fs::copy(built.with_file_name("trivial-agent"), &program).expect("the agent's program");
    let daemon = home.up();
    let token = std::fs::read_to_string(home.path().join("identity/operator.token")).expect("a token");
    let issuer = || Issuer::new(daemon.port(), token.trim());
    let bare = Bare::new(&home, &program);
    overhead(&bare, issuer(), rounds);
    left(daemon.pid(), std::array::from_fn(|_| issuer()));
}

/// How much longer an intent takes than its program.
fn overhead(bare: &Bare, mut issuer: Issuer, rounds: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (mut alone, mut sent) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    for round in 0..rounds + WARM {
        let times = (runtime.block_on(bare.once()), issuer.send());
        if round >= WARM {
            alone.push(times.0);
            sent.push(times.1);
        }
    }
    let (alone, sent) = (median(alone), median(sent));
    line("an agent's program in its sandbox, one line in and one out", &millis(alone), "");
    line("the same as an intent, by REST", &millis(sent), "");
    line("the difference", &millis(sent.saturating_sub(alone)), "at most 3 ms");
}

/// What intents leave in the daemon.
fn left(pid: u32, mut issuers: [Issuer; AT_ONCE]) {
    let mut send = |count: usize| {
        std::thread::scope(|scope| {
            for issuer in &mut issuers {
                scope.spawn(move || (0..count / AT_ONCE).map(|_| issuer.send()).max());
            }
        });
    };
    send(WARM);
    let before = (at_rest(pid), descriptors(pid), with_descendants(pid).len());
    send(MANY);
    let after = (at_rest(pid), descriptors(pid), with_descendants(pid).len());
    line(
        &format!("memory of the daemon after {MANY} intents, {AT_ONCE} at a time"),
        &format!("{:+.2} MiB", after.0 - before.0),
        "at most 1 MiB more",
    );
    line("descriptors", &more(before.1, after.1), "none more");
    line("processes, itself included", &more(before.2, after.2), "none more");
}

/// The program without the daemon.
struct Bare {
    nursery: Nursery,
    order: Order,
}

impl Bare {
    fn new(home: &Home, program: &Path) -> Self {
        let scratch = home.beside("scratch");
        std::fs::create_dir(&scratch).expect("a directory");
        let door = Door { url: "http://127.0.0.1:8421".to_owned(), token: "none".to_owned() };
        let read = program.parent().expect("its directory").to_owned();
        let order = Order {
            name: "trivial@local".to_owned(),
            program: program.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: PathBuf::from("/"),
            sandbox: Some(Sandbox { read: vec![read], door: Some(door), ..Sandbox::new(scratch) }),
        };
        let launcher = Launcher { program: home.program().to_owned(), arguments: vec!["launch".to_owned()] };
        // What runs is on record in a file, as it is at the daemon.
        let ledger = Nursery::with_ledger(launcher, &home.beside("children"));
        Self { nursery: ledger.expect("a directory").0, order }
    }

    /// Starts it, gives it a line, takes its answer and waits for its end.
    async fn once(&self) -> Duration {
        let begun = Instant::now();
        let scrub: Scrub = Arc::new(str::to_owned);
        let mut child = self.nursery.start(self.order.clone(), scrub).await.expect("it starts");
        let mut input = child.take_input().expect("a pipe");
        input.write_all(format!("{LINE}\n").as_bytes()).await.expect("it reads");
        drop(input);
        let mut answer = String::new();
        child.take_output().expect("a pipe").read_to_string(&mut answer).await.expect("it answers");
        let ending = child.wait().await;
        let time = begun.elapsed();
        assert!(ending.status.is_success() && answer.contains(r#""status":"ok""#), "{ending:?}: {answer}");
        time
    }
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn more(before: usize, after: usize) -> String {
    if before == after { format!("{after}, as before") } else { format!("{after}, before: {before}") }
}
