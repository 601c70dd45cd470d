//! Tests that need a process of their own: because they count what it holds, or end it.

use std::process::{Child, Command, Stdio};

/// The variable that tells a test that it has its own process already.
const SIGN: &str = "COVENANT_TEST_ALONE";

/// What the test was told that runs in a process of its own.
pub(crate) fn told() -> Option<String> {
    std::env::var(SIGN).ok()
}

/// Runs the test of that full name in a process of its own.
pub(crate) fn begin(test: &str, told: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(SIGN, told)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Whether the calling test, of that full name, has a process of its own. If not, it is run again in one and must pass.
pub(crate) fn alone(test: &str) -> bool {
    if told().is_some() {
        return true;
    }
    let output = begin(test, "count").wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "alone, {test} said: {said}");
    false
}
