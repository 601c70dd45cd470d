//! The launcher: this program once more, as the process that starts one other program, watches it and ends it.
//!
//! Every child of the daemon has one. It is there because a program can only be confined by a process that becomes it, and
//! because what a program leaves behind must have somebody who ends it when the daemon cannot. It lives as long as its
//! socket to the host does.

use std::process::ExitCode;

/// The hidden command that makes this program a launcher.
pub const WORD: &str = "launch";

/// Whether this process was started as a launcher.
pub fn is_wanted() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().is_some_and(|first| first == WORD) && arguments.next().is_none()
}

/// Does what the host says over standard input, a socket, and comes back when nothing of it is left.
pub fn run() -> ExitCode {
    #[cfg(target_os = "linux")]
    let done = crate::linux::launch();
    #[cfg(not(target_os = "linux"))]
    let done = crate::elsewhere::launch();
    // Standard error leads nowhere where a host started us, and to a person where one typed the word.
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(
                std::io::stderr(),
                "error: {error}\n`{WORD}` is for covenant itself; to run a program in the sandbox: covenant sandbox run -- PROGRAM"
            );
            ExitCode::from(2)
        }
    }
}
