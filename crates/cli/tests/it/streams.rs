//! What a program reads and writes, however much of it.

use std::time::Duration;

use covenant_runner::ending::Status;
use covenant_runner::lines::{LineError, LineLimits, Lines};
use tokio::io::AsyncWriteExt as _;

use crate::alone::alone;
use crate::stage::{lines, output, shell, start};

/// Resident memory of this process, in kB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn lines_go_in_and_come_out() {
    let mut child = start(shell("exec cat")).await;
    let (mut input, mut lines) = (child.take_input().unwrap(), lines(&mut child));
    for line in [&b"one"[..], b"", b"\xff\r", b"three"] {
        input.line(line).await.unwrap();
        assert_eq!(lines.next().await.unwrap().unwrap(), line);
    }
    input.write_all(b"half a line").await.unwrap();
    drop(input);
    assert_eq!(lines.next().await.unwrap().unwrap(), b"half a line");
    assert!(lines.next().await.unwrap().is_none());
    assert!(child.wait().await.status.is_success());
    assert!(child.take_input().is_none() && child.take_output().is_none());
}

#[tokio::test]
async fn endless_output_meets_its_cap_and_the_program_is_ended() {
    let mut child = start(shell("exec yes 0123456789")).await;
    let mut lines = Lines::new(child.take_output().unwrap(), LineLimits { line: 100, total: 1_000_000 });
    let mut seen = 0;
    let error = loop {
        match lines.next().await {
            Ok(line) => seen += line.unwrap().len() + 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, LineError::TooMuch(1_000_000)), "{error}");
    assert_eq!(seen, 1_000_000 - 1_000_000 % 11);
    assert_eq!(child.kill().await.status, Status::Killed(9));
}

#[tokio::test]
async fn an_endless_line_meets_its_cap() {
    let mut child = start(shell("exec tr '\\0' x </dev/zero")).await;
    let mut lines = Lines::new(child.take_output().unwrap(), LineLimits { line: 1_000_000, total: u64::MAX });
    assert!(matches!(lines.next().await, Err(LineError::TooLong(1_000_000))));
    drop(lines);
    assert_eq!(child.wait().await.status, Status::Killed(13), "nobody reads it any more");
}

#[test]
fn a_hundred_megabytes_of_errors_hold_nobody_up_and_take_no_memory() {
    if !alone("streams::a_hundred_megabytes_of_errors_hold_nobody_up_and_take_no_memory") {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let lines =
        "yes the password of every single one of them, and of nobody else, is hunter2 | head -c 100000000";
    for flood in [lines, "head -c 100000000 /dev/zero | tr '\\0' x"] {
        runtime.block_on(async {
            let script = format!("({flood}) >&2; printf '\\nthe last is hunter2\\n' >&2; exit 3");
            let mut child = start(shell(&script)).await;
            let before = memory();
            // Nobody reads anything.
            assert_eq!(child.wait().await.status, Status::Exited(3));
            let grown = memory().saturating_sub(before);
            assert!(grown < 10_000, "it grew by {grown} kB");
            let errors = child.errors();
            assert!(errors.ends_with("\nthe last is [REDACTED]"), "{} bytes", errors.len());
            assert!(errors.len() <= 16 * 1024 && !errors.contains("hunter2"));
        });
    }
}

#[tokio::test]
async fn errors_are_kept_while_it_runs() {
    let mut child = start(shell("echo begun >&2; printf 'no line feed, hunter2' >&2; exec cat")).await;
    let begun = async {
        while child.errors() != "begun" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), begun).await.unwrap();
    drop(child.take_input());
    child.wait().await;
    assert_eq!(child.errors(), "begun\nno line feed, [REDACTED]");
}

#[tokio::test]
async fn whoever_got_its_errors_to_hold_does_not_hold_up_the_end() {
    // A socket of ours takes the descriptor out of the run.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let script = format!(
        "import socket, array\ns = socket.socket(socket.AF_UNIX)\ns.connect({:?})\nsocket.send_fds(s, [b'x'], [2])\nprint('sent')",
        path.display().to_string()
    );
    let mut order = crate::stage::program("/usr/bin/python3", &["-c", &script]);
    order.environment.clear();
    let mut child = start(order).await;
    assert_eq!(output(&mut child).await, "sent\n");
    // It lies in the socket, unread, and is open as long as that is.
    let ending = tokio::time::timeout(Duration::from_mins(1), child.wait()).await.unwrap();
    assert!(ending.status.is_success());
    drop(listener);
}
