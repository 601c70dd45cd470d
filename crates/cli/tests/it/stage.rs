//! What the tests share: a nursery with the real launcher, programs that leave others behind, and a look at who lives.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use covenant_runner::child::Child;
use covenant_runner::lines::{LineLimits, Lines};
use covenant_runner::nursery::{Launcher, Nursery, Scrub};
use covenant_runner::order::Order;
use covenant_testkit::wait::until;
use tokio::io::AsyncReadExt as _;

pub(crate) fn launcher() -> Launcher {
    Launcher { program: env!("CARGO_BIN_EXE_covenant").into(), arguments: vec!["launch".into()] }
}

pub(crate) fn nursery() -> Nursery {
    Nursery::new(launcher())
}

pub(crate) fn scrub() -> Scrub {
    Arc::new(|line: &str| line.replace("hunter2", "[REDACTED]"))
}

/// A program without a sandbox.
pub(crate) fn program(path: &str, arguments: &[&str]) -> Order {
    let path_variable = std::env::var("PATH").unwrap();
    Order {
        name: "test".into(),
        program: path.into(),
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        environment: vec![("PATH".into(), path_variable)],
        directory: "/".into(),
        sandbox: None,
    }
}

pub(crate) fn shell(script: &str) -> Order {
    program("/bin/sh", &["-c", script])
}

pub(crate) async fn start(order: Order) -> Child {
    nursery().start(order, scrub()).await.unwrap()
}

/// All it writes until its end.
pub(crate) async fn output(child: &mut Child) -> String {
    let mut text = String::new();
    child.take_output().unwrap().read_to_string(&mut text).await.unwrap();
    text
}

pub(crate) fn lines(child: &mut Child) -> Lines {
    Lines::new(child.take_output().unwrap(), LineLimits { line: 1 << 20, total: 1 << 30 })
}

/// A word that is on the command line of what one test starts, and of nothing else.
pub(crate) fn token() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("token-{}-{}-", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// How a daemon gets away from whoever started it.
#[derive(Clone, Copy)]
pub(crate) enum Flight {
    /// By a session of its own.
    Session,
    /// And by a parent that ends at once.
    DoubleFork,
    /// And without the environment it was given.
    Bare,
}

/// A script that starts such daemons, which heed no signal and say when they are up, each on a line. They last longer
/// than any test waits, and not forever.
pub(crate) fn daemons(token: &str, flights: &[Flight]) -> String {
    let body = format!(
        "sh -c 'trap \"\" TERM HUP INT; echo up; for n in $(seq 300); do sleep 1; done' {token} </dev/null 2>/dev/null"
    );
    let start = |flight: &Flight| match flight {
        Flight::Session => format!("setsid {body} & "),
        Flight::DoubleFork => format!("( setsid {body} & ) & "),
        Flight::Bare => format!("( env -i setsid {body} & ) & "),
    };
    flights.iter().map(start).collect::<Vec<_>>().concat()
}

/// Every way to get away.
pub(crate) const ALL: [Flight; 3] = [Flight::Session, Flight::DoubleFork, Flight::Bare];

/// Starts a program that leaves all sorts of daemons behind, which are up. It ends with its input, with code 7.
pub(crate) async fn parent_of_daemons(nursery: &Nursery, token: &str) -> Child {
    let script = format!("{} read line; exit 7", daemons(token, &ALL));
    let mut child = nursery.start(shell(&script), scrub()).await.unwrap();
    let mut lines = lines(&mut child);
    for _ in ALL {
        assert_eq!(lines.next().await.unwrap().unwrap(), b"up");
    }
    assert!(carriers(token).len() > ALL.len(), "they and the program");
    child
}

/// The processes that live and have the token on their command line.
pub(crate) fn carriers(token: &str) -> HashSet<u32> {
    let numbers =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // A zombie has no command line.
    let carries = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(token))
    };
    numbers.filter(carries).collect()
}

/// Waits until nothing with the token lives.
#[track_caller]
pub(crate) fn gone(token: &str) {
    until("nothing of it lives", || carriers(token).is_empty().then_some(()));
}

/// The children of a process, zombies too, each with its name.
pub(crate) fn children(of: u32) -> Vec<(u32, String)> {
    let status = |pid: u32| fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |status: &str, name: &str| {
        status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned())).unwrap_or_default()
    };
    let numbers =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .map(|pid| (pid, status(pid)))
        .filter(|(_, status)| field(status, "PPid:") == of.to_string())
        .map(|(pid, status)| (pid, field(&status, "Name:")))
        .collect()
}

/// How many files there are.
pub(crate) fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}
