//! What a program that failed in the sandbox most likely lacked, by what it said and by what it was given. A hint, no
//! finding: most programs that fail would fail outside as well.

use std::path::{Path, PathBuf};

use super::run::{Reach, Run};

/// The directories every program sees.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix/store"];

/// Words that say that a file is out of sight.
const UNSEEN: [&str; 6] =
    ["No such file", "not found", "ENOENT", "Cannot find", "ModuleNotFoundError", "can't open file"];

/// Words that say that a file may not be touched.
const UNTOUCHED: [&str; 4] = ["Permission denied", "Read-only file system", "EACCES", "EROFS"];

/// Words that say that the network is not there.
const UNREACHED: [&str; 9] = [
    "resolve host",
    "name resolution",
    "Name or service not known",
    "EAI_AGAIN",
    "ENOTFOUND",
    "getaddrinfo",
    "Network is unreachable",
    "ENETUNREACH",
    "Connection refused",
];

/// Words that say that whoever was reached hung up at once.
const CUT_OFF: [&str; 5] =
    ["Empty reply", "ECONNRESET", "Connection reset", "socket hang up", "RemoteDisconnected"];

/// What to try next; empty where nothing comes to mind.
pub(super) fn of(run: &Run, errors: &str) -> String {
    let says = |words: &[&str]| words.iter().any(|word| errors.contains(word));
    if says(&["No space left", "ENOSPC", "Disk quota exceeded"]) {
        return format!("its scratch directory holds {} MiB: give it more with --disk-mb", run.disk_mb);
    }
    if says(&["Cannot allocate memory", "out of memory", "MemoryError", "ENOMEM", "allocation failed"]) {
        return format!("it has {} MiB of memory: give it more with --memory-mb", run.memory_mb);
    }
    if says(&["Resource temporarily unavailable", "EAGAIN", "can't start new thread", "Cannot fork"]) {
        return format!("it may have {} processes and threads: give it more with --pids", run.pids);
    }
    // Before what is said of the network: `ENOTFOUND` holds the words for a file as well.
    if says(&UNREACHED) {
        return network(run.network).to_owned();
    }
    if says(&CUT_OFF) {
        return "if that was COVENANT_URL, no daemon answers there: covenant status".to_owned();
    }
    if let Some(path) = unseen_argument(run).filter(|_| says(&UNSEEN) || says(&UNTOUCHED)) {
        let path = path.display();
        return format!(
            "it does not see {path} and runs in a directory of its own: add --read {path}, and name it in full"
        );
    }
    if says(&UNSEEN) {
        return "it sees the system's files, its own and those you name: add --read PATH for what it needs"
            .to_owned();
    }
    if says(&UNTOUCHED) {
        return "it writes only to its scratch directory and where you let it: add --write PATH; as root, it runs as \
                nobody, who has root's rights on what is named and no other user's"
            .to_owned();
    }
    if says(&["Operation not permitted", "EPERM"]) {
        return "the sandbox refuses some system calls; docs/sandbox.md says which".to_owned();
    }
    String::new()
}

fn network(reach: Reach) -> &'static str {
    match reach {
        Reach::Off => "it has no network: allow HTTPS with --network outbound-https-only",
        Reach::OutboundHttpsOnly => {
            "it reaches TLS servers on port 443 alone, by the proxy in HTTPS_PROXY, which finds names for it; a program \
             that uses no proxy needs --network full"
        }
        Reach::Full => "",
    }
}

/// The first argument that is a file or directory out here and is out of sight in there.
fn unseen_argument(run: &Run) -> Option<PathBuf> {
    let named: Vec<PathBuf> =
        run.read.iter().chain(&run.write).filter_map(|path| path.canonicalize().ok()).collect();
    run.program.iter().skip(1).find_map(|argument| {
        let path = Path::new(argument);
        let real = path.canonicalize().ok()?;
        let is_seen = SYSTEM.iter().any(|system| real.starts_with(system))
            || named.iter().any(|named| real.starts_with(named));
        // Named from here, it is not found from there even if it is seen.
        (!is_seen || path.is_relative()).then_some(real)
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Command, CommandLine};
    use crate::cmd::sandbox::Sandbox;

    fn hinted(line: &[&str], errors: &str) -> String {
        let line = [&["covenant", "sandbox", "run"], line].concat();
        match CommandLine::try_parse_from(line).unwrap().command {
            Some(Command::Sandbox(Sandbox::Run(run))) => of(&run, errors),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_script_that_is_out_of_sight_is_named_in_full() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().canonicalize().unwrap().join("agent.py");
        std::fs::write(&script, "").unwrap();
        let typed = script.to_str().unwrap();
        let errors = "python3: can't open file 'agent.py': [Errno 2] No such file or directory";
        assert!(hinted(&["python3", typed], errors).contains(&format!("--read {typed}")));
        let named = directory.path().to_str().unwrap();
        assert!(!hinted(&["--read", named, "python3", typed], errors).contains("agent.py"));
    }

    #[test]
    fn what_a_program_says_leads_to_the_option_that_helps() {
        for (errors, option) in [
            ("sh: 1: jq: not found", "--read PATH"),
            ("OSError: [Errno 30] Read-only file system: '/x'", "--write PATH"),
            ("OSError: [Errno 28] No space left on device", "--disk-mb"),
            ("FATAL ERROR: JavaScript heap out of memory", "--memory-mb"),
            ("RuntimeError: can't start new thread", "--pids"),
            ("curl: (6) Could not resolve host: example.com", "HTTPS_PROXY"),
            ("Error: getaddrinfo ENOTFOUND example.com", "HTTPS_PROXY"),
            ("unshare: Operation not permitted", "docs/sandbox.md"),
        ] {
            assert!(hinted(&["x"], errors).contains(option), "{errors}");
        }
        let off = hinted(&["--network", "off", "curl"], "curl: (6) Could not resolve host: example.com");
        assert!(off.contains("outbound-https-only"), "{off}");
        assert_eq!(hinted(&["x"], "assertion failed"), "");
    }
}
