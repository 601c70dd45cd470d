//! What a forked child gets for an answer when it tries something: tests try everything without the fence and within.

use std::io;

use rustix::process::{WaitOptions, waitpid};

use super::sys;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It worked.
    Fine,
    /// It failed with this error number; 255 for a failure that has none.
    Failed(i32),
    /// It was killed by this signal.
    Killed(i32),
}

/// Runs `body` in a child of its own, so that what it gives up is not given up here.
pub(super) fn attempt(body: impl FnOnce() -> io::Result<()>) -> Outcome {
    let child = sys::fork(|| match body() {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(255),
    });
    let (_, status) = waitpid(Some(child.unwrap()), WaitOptions::empty()).unwrap().unwrap();
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => Outcome::Fine,
        (Some(code), _) => Outcome::Failed(code),
        (None, signal) => Outcome::Killed(signal.unwrap_or_default()),
    }
}

/// Tries `body` as it is, where it must work, and then behind `fence`, where it must fail with that error number.
pub(super) fn works_only_without(
    name: &str,
    fence: impl Fn() -> io::Result<()>,
    body: impl Fn() -> io::Result<()>,
    error: i32,
) {
    assert_eq!(attempt(&body), Outcome::Fine, "{name}, without the fence");
    let fenced = attempt(|| {
        fence()?;
        body()
    });
    assert_eq!(fenced, Outcome::Failed(error), "{name}, behind the fence");
}

/// Tries `body` behind `fence`, where it must work.
pub(super) fn works_behind(
    name: &str,
    fence: impl Fn() -> io::Result<()>,
    body: impl Fn() -> io::Result<()>,
) {
    let fenced = attempt(|| {
        fence()?;
        body()
    });
    assert_eq!(fenced, Outcome::Fine, "{name}, behind the fence");
}
