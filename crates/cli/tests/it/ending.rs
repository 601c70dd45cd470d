//! How programs end, and that what they started ends with them.

use std::time::Duration;

use covenant_runner::ending::Status;
use tokio::time::{Instant, timeout};

use crate::stage::{
    ALL, carriers, daemons, gone, lines, nursery, parent_of_daemons, scrub, shell, start, token,
};

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn codes_and_signals_are_told() {
    for (script, expected) in [
        ("exit 0", Status::Exited(0)),
        ("exit 42", Status::Exited(42)),
        ("kill -SEGV $$", Status::Killed(11)),
        ("kill -KILL $$", Status::Killed(9)),
    ] {
        let ending = start(shell(script)).await.wait().await;
        assert_eq!((ending.status, ending.over), (expected, None), "{script}");
    }
}

#[tokio::test]
async fn what_it_used_is_told() {
    let mut child = start(shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")).await;
    let usage = child.wait().await.usage;
    assert!(usage.user_ms + usage.system_ms >= 10, "{usage:?}");
    assert!((500..1_000_000).contains(&usage.peak_memory_kb), "{usage:?}");
}

#[tokio::test]
async fn to_wait_can_be_given_up_and_done_again() {
    let mut child = start(shell("read line; exit 5")).await;
    for _ in 0..10 {
        assert!(timeout(Duration::from_millis(1), child.wait()).await.is_err());
    }
    drop(child.take_input());
    let ending = child.wait().await;
    assert_eq!(ending.status, Status::Exited(5));
    assert_eq!(child.wait().await, ending);
    assert_eq!(child.kill().await, ending, "what has ended cannot be killed");
    assert_eq!(child.stop(LONG).await, ending);
}

#[tokio::test]
async fn a_deadline_kills_and_says_so() {
    let mut child = start(shell("exec sleep 60")).await;
    let overdue = child.wait_until(Instant::now() + Duration::from_millis(20)).await.unwrap_err();
    assert_eq!(overdue.ending.status, Status::Killed(9));
    let mut child = start(shell("exit 1")).await;
    assert_eq!(child.wait_until(Instant::now() + LONG).await.unwrap().status, Status::Exited(1));
}

#[tokio::test]
async fn what_it_leaves_ends_with_it() {
    let token = token();
    let mut child = parent_of_daemons(&nursery(), &token).await;
    drop(child.take_input());
    assert_eq!(child.wait().await.status, Status::Exited(7));
    assert_eq!(carriers(&token), [].into(), "nothing lives when the end is told");
}

#[tokio::test]
async fn what_it_leaves_is_killed_with_it() {
    let token = token();
    let mut child = parent_of_daemons(&nursery(), &token).await;
    assert_eq!(child.kill().await.status, Status::Killed(9));
    assert_eq!(carriers(&token), [].into());
}

#[tokio::test]
async fn to_drop_a_child_ends_all_of_it() {
    let token = token();
    drop(parent_of_daemons(&nursery(), &token).await);
    tokio::task::spawn_blocking(move || gone(&token)).await.unwrap();
}

#[test]
fn when_the_runtime_ends_all_ends() {
    let token = token();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let child = runtime.block_on(parent_of_daemons(&nursery(), &token));
    drop(runtime);
    gone(&token);
    drop(child);
}

#[tokio::test]
async fn a_program_is_asked_to_end_before_it_is_killed() {
    let mut child = start(shell("read line; exit 3")).await;
    // To close the input is enough, also when somebody else holds it.
    let input = child.take_input();
    assert_eq!(child.stop(LONG).await.status, Status::Exited(3));
    drop(input);

    let mut child = start(shell("trap 'exit 4' TERM; echo up; while :; do sleep 0.01; done")).await;
    assert_eq!(lines(&mut child).next().await.unwrap().unwrap(), b"up");
    assert_eq!(child.stop(Duration::from_secs(2)).await.status, Status::Exited(4));
}

#[tokio::test]
async fn a_program_that_heeds_nothing_is_gone_after_stop() {
    let token = token();
    let script = format!("trap '' TERM INT HUP; {} while :; do sleep 1; done", daemons(&token, &ALL));
    let mut child = nursery().start(shell(&script), scrub()).await.unwrap();
    let mut lines = lines(&mut child);
    for _ in ALL {
        lines.next().await.unwrap().unwrap();
    }
    assert_eq!(child.stop(Duration::from_millis(100)).await.status, Status::Killed(9));
    assert_eq!(carriers(&token), [].into());
}

#[tokio::test]
async fn a_program_in_another_group_does_not_get_away() {
    // It leads a group of its own already, so a copy of it does what it cannot.
    let token = token();
    let script = format!(
        "import os, sys, time\nif os.fork() == 0:\n  os.setpgid(0, 0)\n  os.fork()\n  print('up', flush=True)\n  time.sleep(60)\nos.wait()\n# {token}"
    );
    let mut order = crate::stage::program("/usr/bin/python3", &["-c", &script]);
    order.environment.clear();
    let mut child = start(order).await;
    let mut lines = lines(&mut child);
    for _ in 0..2 {
        assert_eq!(lines.next().await.unwrap().unwrap(), b"up");
    }
    child.kill().await;
    assert_eq!(carriers(&token), [].into());
}
