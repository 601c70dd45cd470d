//! Tests that need a process of their own: because they end all its children, or give up its rights.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::tree::end::end_all;
use crate::spawn::command;

/// The variable that tells a test that it has its own process already.
const SIGN: &str = "COVENANT_TEST_ALONE";

/// Whether the calling test, of that full name, has a process of its own. If not, it is run again in one, without
/// others beside it, and must pass.
pub(crate) fn alone(test: &str) -> bool {
    if std::env::var_os(SIGN).is_some() {
        // So that whatever the test leaves behind is found, and ended at its end.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
        return true;
    }
    let arguments: [OsString; 4] = ["--exact", test, "--nocapture", "--test-threads=1"].map(Into::into);
    let output = command(&std::env::current_exe().unwrap(), &arguments, &[(SIGN.into(), "1".into())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "alone, {test} said: {said}\n{errors}");
    false
}

/// The variable that tells a test which part it plays in itself.
const PART: &str = "COVENANT_TEST_PART";

/// The part that this process plays in a test, if it was started for one.
pub(crate) fn part() -> Option<String> {
    std::env::var(PART).ok()
}

/// A child that runs the same test again, to play a part in it; waits until it [`is_ready`].
pub(crate) fn play(test: &str, part: &str) -> Child {
    let arguments: [OsString; 4] = ["--exact", test, "--nocapture", "--test-threads=1"].map(Into::into);
    let environment = [(SIGN.into(), "1".into()), (PART.into(), part.into())];
    let mut child = command(&std::env::current_exe().unwrap(), &arguments, &environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("ready")), "{part} never was ready");
    child
}

/// Tells who started this part that it is ready, and waits until nobody needs it any more.
pub(crate) fn is_ready() {
    writeln!(std::io::stdout(), "ready").unwrap();
    std::io::stdin().lines().for_each(drop);
}

/// Ends a child.
pub(crate) fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Ends everything that a test which is alone has started.
pub(crate) fn end_everything() {
    assert_eq!(end_all(Duration::from_secs(20), |_, _| ()), []);
}

/// A child that runs a shell script, with these variables only.
pub(crate) fn shell(script: &str, environment: &[(&str, &str)]) -> Child {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let mut variables = vec![("PATH".into(), path)];
    variables.extend(environment.iter().map(|(name, value)| (name.into(), value.into())));
    command(Path::new("/bin/sh"), &["-c".into(), script.into()], &variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Looks again and again until it holds; fails after a time no healthy machine needs.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed().as_secs() < 30, "it never came to be that {what}");
        std::thread::yield_now();
    }
}
