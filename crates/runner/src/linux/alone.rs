//! Tests that need a process of their own: because they end all its children, or give up its rights.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use crate::spawn::command;

/// The variable that tells a test that it has its own process already.
const SIGN: &str = "COVENANT_TEST_ALONE";

/// Whether the calling test, of that full name, has a process of its own. If not, it is run again in one, on the only
/// thread there, and must pass.
pub(crate) fn alone(test: &str) -> bool {
    if std::env::var_os(SIGN).is_some() {
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

/// A child that runs a shell script, with these variables only.
pub(crate) fn shell(script: &str, environment: &[(&str, &str)]) -> std::process::Child {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let mut variables = vec![("PATH".into(), path)];
    variables.extend(environment.iter().map(|(name, value)| (name.into(), value.into())));
    command(Path::new("/bin/sh"), &["-c".into(), script.into()], &variables)
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
