//! What becomes of programs whose host, launcher or both are killed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use covenant_runner::ending::Status;
use covenant_runner::nursery::Nursery;
use covenant_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process};

use crate::alone::{begin, told};
use crate::stage::{
    Flight, carriers, children, daemons, entries, gone, launcher, lines, parent_of_daemons, scrub, shell,
    token,
};

/// A host that is to be killed: starts a program that leaves daemons behind, says so, and waits. In the tests' own process
/// it does nothing.
#[test]
fn a_host() {
    let Some(told) = told() else { return };
    let (ledger, token) = told.split_once(' ').unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (nursery, _) = Nursery::with_ledger(launcher(), Path::new(ledger)).unwrap();
        let left = daemons(token, &[Flight::Session, Flight::DoubleFork]);
        let mut child = nursery.start(shell(&format!("{left} read line")), scrub()).await.unwrap();
        let mut lines = lines(&mut child);
        for _ in 0..2 {
            lines.next().await.unwrap().unwrap();
        }
        println!("\nup");
        child.wait().await;
    });
}

/// Another process that runs a host, whose program and daemons are up.
struct Host {
    process: std::process::Child,
    directory: tempfile::TempDir,
    token: String,
}

impl Host {
    fn start() -> Self {
        let (directory, token) = (tempfile::tempdir().unwrap(), token());
        let told = format!("{} {token}", directory.path().join("runs").display());
        let mut process = begin("crash::a_host", &told);
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap() == "up"), "it said that it is up");
        let host = Self { process, directory, token };
        until("the program and two daemons live", || (carriers(&host.token).len() == 3).then_some(()));
        host
    }

    fn launcher(&self) -> Pid {
        let found = children(self.process.id());
        let [(pid, name)] = &found[..] else { panic!("one launcher, not {found:?}") };
        assert_eq!(name, "cov-run");
        Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap()
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// The next host takes over the ledger.
    fn succeed(&self) -> (Nursery, covenant_runner::ledger::Swept) {
        Nursery::with_ledger(launcher(), &self.directory.path().join("runs")).unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A test that failed must not leave it.
        self.process.kill().and_then(|()| self.process.wait()).ok();
    }
}

#[test]
fn when_the_host_is_killed_all_ends() {
    let mut host = Host::start();
    host.kill();
    gone(&host.token);
    let (_, swept) = host.succeed();
    assert_eq!(swept.runs, 1, "its record was left");
    assert_eq!(entries(&host.directory.path().join("runs")), 0);
}

#[test]
fn when_the_host_is_terminated_all_ends() {
    let mut host = Host::start();
    let pid = Pid::from_child(&host.process);
    kill_process(pid, Signal::TERM).unwrap();
    host.process.wait().unwrap();
    gone(&host.token);
}

#[test]
fn when_host_and_launcher_are_killed_the_next_host_ends_what_is_left() {
    let mut host = Host::start();
    let launcher = host.launcher();
    // So that it cannot do its duty in between.
    kill_process(launcher, Signal::STOP).unwrap();
    host.kill();
    kill_process(launcher, Signal::KILL).unwrap();
    until("the program ends with its launcher", || (carriers(&host.token).len() == 2).then_some(()));
    let (_, swept) = host.succeed();
    assert_eq!(swept.runs, 1);
    assert!(swept.processes >= 2, "{swept:?}");
    assert_eq!(carriers(&host.token), [].into());
    assert_eq!(entries(&host.directory.path().join("runs")), 0);
    assert_eq!(host.succeed().1, covenant_runner::ledger::Swept::default());
}

#[test]
fn a_second_host_leaves_the_programs_of_the_first_alone() {
    let mut host = Host::start();
    let (nursery, swept) = host.succeed();
    assert_eq!(swept, covenant_runner::ledger::Swept::default());
    assert!(carriers(&host.token).len() >= 3, "they still live");
    assert_eq!(entries(&host.directory.path().join("runs")), 1);
    drop(nursery);
    host.kill();
    gone(&host.token);
}

#[tokio::test]
async fn when_a_launcher_is_killed_its_host_ends_what_is_left() {
    let (directory, token) = (tempfile::tempdir().unwrap(), token());
    let (nursery, _) = Nursery::with_ledger(launcher(), directory.path()).unwrap();
    let left = daemons(&token, &[Flight::Session, Flight::DoubleFork]);
    let mut child = nursery.start(shell(&format!("{left} read line")), scrub()).await.unwrap();
    let mut lines = lines(&mut child);
    for _ in 0..2 {
        lines.next().await.unwrap().unwrap();
    }
    let record = fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
    let record: serde_json::Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    assert_eq!(record["run"], child.id());
    let launcher = i32::try_from(record["launcher"]["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(launcher).unwrap(), Signal::KILL).unwrap();
    assert_eq!(child.wait().await.status, Status::Unknown);
    assert_eq!(carriers(&token), [].into(), "nothing lives when the end is told");
    assert_eq!(entries(directory.path()), 0);
}

#[tokio::test]
async fn a_record_is_there_while_it_runs_and_not_after() {
    let (directory, token) = (tempfile::tempdir().unwrap(), token());
    let (nursery, _) = Nursery::with_ledger(launcher(), directory.path()).unwrap();
    let mut child = parent_of_daemons(&nursery, &token).await;
    let path = directory.path().join(format!("{}.json", child.id()));
    let record: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(
        (record["name"].as_str(), record["host"]["pid"].as_u64()),
        (Some("test"), Some(std::process::id().into()))
    );
    assert!(
        record["program"]["pid"]
            .as_u64()
            .is_some_and(|pid| carriers(&token).iter().any(|&one| pid == u64::from(one)))
    );
    child.kill().await;
    assert_eq!(entries(directory.path()), 0);
    nursery.start(crate::stage::program("/no/such/program", &[]), scrub()).await.unwrap_err();
    let cleared = async {
        while entries(directory.path()) > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), cleared).await.unwrap();
}
