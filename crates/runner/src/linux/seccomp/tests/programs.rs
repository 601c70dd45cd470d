//! Programs in other people's languages, which must not notice the filter.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Calls, program};
use crate::linux::sys;
use crate::order::Network::{Full, Off, OutboundHttpsOnly};

/// Threads, processes, servers, files, hashes: what the language's own library does by itself.
const PYTHON: &str = include_str!("programs/unharmed.py");
const NODE: &str = include_str!("programs/unharmed.mjs");

/// The system's own program of that name; none if there is none, which CI does not accept.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places =
        ["/usr/bin", "/usr/local/bin"].into_iter().map(PathBuf::from).chain(std::env::split_paths(&path));
    let found = places.map(|place| place.join(name)).find(|program| program.is_file());
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "{name} is missing, and CI is set");
    if found.is_none() {
        #[expect(clippy::print_stderr, reason = "a skipped part is one loud line")]
        {
            eprintln!("SKIPPED: {name} is not installed");
        }
    }
    found
}

/// Runs it under every filter a program can get, in a directory of its own.
fn unharmed(program_file: &Path, arguments: &[&str]) {
    for network in [Off, OutboundHttpsOnly, Full] {
        let calls = Calls { network, unix_sockets: false, listen: true };
        let place = tempfile::tempdir().unwrap();
        let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
        let environment = [
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("HOME".into(), place.path().into()),
            ("TMPDIR".into(), place.path().into()),
        ];
        let mut command = crate::spawn::command(program_file, &arguments, &environment);
        let filter = program(calls).unwrap();
        sys::before_exec(&mut command, move || sys::filter_calls(&filter));
        let output = command.current_dir(place.path()).output().unwrap();
        let (said, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{network:?}: {}\n{said}\n{errors}", output.status);
        assert_eq!(said.trim_end().lines().last(), Some("unharmed"), "{network:?}: {errors}");
        assert_eq!(errors, "", "{network:?}");
    }
}

#[test]
fn python_runs_unharmed() {
    if let Some(python) = find("python3") {
        unharmed(&python, &["-c", PYTHON]);
    }
}

#[test]
fn node_runs_unharmed() {
    if let Some(node) = find("node") {
        unharmed(&node, &["--input-type=module", "-e", NODE]);
    }
}

#[test]
fn a_shell_runs_unharmed() {
    let script = "set -e; echo a b | tr ' ' '\\n' | sort | while read -r x; do echo $x; done > out; \
        test \"$(wc -l < out)\" -eq 2; (exit 3) || true; wait; mkfifo pipe; echo x > pipe & cat pipe > copy; \
        ls -l / > /dev/null; tar cf all.tar out copy; tar tf all.tar > /dev/null; echo unharmed";
    unharmed(Path::new("/bin/sh"), &["-c", script]);
}
