//! Many starts, one after another and all at once, given up or not: no zombie, no descriptor, no task is left.

use std::path::Path;
use std::time::Duration;

use covenant_testkit::wait::until;

use crate::alone::alone;
use crate::stage::{children, entries, nursery, scrub, shell, start};

/// Waits until this process has as many descriptors as before, and no child.
fn settled(before: usize) {
    until("no child is left, no zombie either", || children(std::process::id()).is_empty().then_some(()));
    until("no descriptor is left", || (entries(Path::new("/proc/self/fd")) <= before).then_some(()));
}

/// How many descriptors this process has once a first child has come and gone, and the runtime is warm.
fn warm(runtime: &tokio::runtime::Runtime) -> usize {
    runtime.block_on(async { start(shell("exit 0")).await.wait().await });
    entries(Path::new("/proc/self/fd"))
}

#[test]
fn two_hundred_starts_leave_no_zombie_and_no_descriptor() {
    if !alone("plenty::two_hundred_starts_leave_no_zombie_and_no_descriptor") {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let before = warm(&runtime);
    runtime.block_on(async {
        for number in 0..200 {
            let mut child = start(shell("exit 0")).await;
            if number % 2 == 0 {
                assert!(child.wait().await.status.is_success());
            }
        }
    });
    settled(before);
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

#[test]
fn starts_that_are_given_up_or_refused_leave_nothing_either() {
    if !alone("plenty::starts_that_are_given_up_or_refused_leave_nothing_either") {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let before = warm(&runtime);
    runtime.block_on(async {
        let mut given_up = 0;
        for step in 0..60 {
            let patience = Duration::from_micros(200 * step);
            let started =
                tokio::time::timeout(patience, nursery().start(shell("exec sleep 60"), scrub())).await;
            given_up += u32::from(started.is_err());
            let missing = crate::stage::program("/no/such/program", &[]);
            nursery().start(missing, scrub()).await.unwrap_err();
        }
        assert!(given_up > 0);
    });
    settled(before);
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

#[tokio::test]
async fn many_at_once_do_not_hear_each_other() {
    let mut running = tokio::task::JoinSet::new();
    for number in 0..40 {
        running.spawn(async move {
            let mut child = start(shell(&format!("cat >/dev/null; echo {number}; exit {number}"))).await;
            drop(child.take_input());
            assert_eq!(crate::stage::output(&mut child).await, format!("{number}\n"));
            assert_eq!(child.wait().await.status, covenant_runner::ending::Status::Exited(number));
        });
    }
    running.join_all().await;
}
