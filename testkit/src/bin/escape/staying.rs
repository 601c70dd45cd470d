//! Ways to stay: daemons, deaf ears, closed streams, and talk without end. The aim is a mark that the command line of
//! every process left behind shows to whoever looks for it.

use std::io::{self, Write as _};
use std::process::{ExitCode, Stdio};

use crate::answer::Attack;
use crate::kernel::{call, fork, ignore};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("leave-daemon", leave_daemon),
    ("ignore-signals", |_| {
        deaf();
        ready()?;
        forever()
    }),
    ("close-output", |_| {
        ready()?;
        closed();
        forever()
    }),
    ("wait", |_| {
        ready()?;
        forever()
    }),
    ("wait-for-input", |_| {
        // Ends with whoever started us.
        io::copy(&mut io::stdin().lock(), &mut io::sink()).map(|_| "ended".to_owned())
    }),
    ("leave-and-wait", |mark| {
        leave_daemon(mark)?;
        ready()?;
        forever()
    }),
    ("endless", endless),
    ("exit", |code| std::process::exit(code.parse().unwrap_or(1))),
];

/// A process of another session, deaf and mute, whose parent is gone. Answers when it stands.
#[expect(clippy::disallowed_methods, reason = "a hostile program starts others")]
fn leave_daemon(mark: &str) -> io::Result<String> {
    let own = std::env::current_exe()?;
    let mut parent = std::process::Command::new(own)
        .args(["stay", mark])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    if let Some(output) = parent.stdout.take() {
        io::BufRead::read_line(&mut io::BufReader::new(output), &mut said)?;
    }
    parent.wait()?;
    if said.is_empty() {
        Err(io::Error::other("it did not start"))
    } else {
        Ok(format!("left {}", said.trim()))
    }
}

/// Becomes a daemon and stays.
pub(crate) fn stay(_: &str) -> ExitCode {
    deaf();
    let daemonised = fork().and_then(|child| {
        if child != 0 {
            std::process::exit(0);
        }
        call(libc::SYS_setsid, &[])?;
        if fork()? != 0 {
            std::process::exit(0);
        }
        let mut output = io::stdout().lock();
        writeln!(output, "{}", std::process::id())?;
        output.flush()
    });
    if daemonised.is_err() {
        return ExitCode::FAILURE;
    }
    closed();
    loop {
        std::thread::park();
    }
}

/// Deaf to whatever asks politely.
fn deaf() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
        ignore(signal);
    }
}

fn closed() {
    for stream in 0..3 {
        // Closed already is as good.
        let _ = call(libc::SYS_close, &[stream]);
    }
}

/// Tells whoever started us that it can begin.
fn ready() -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "ready")?;
    output.flush()
}

fn forever() -> io::Result<String> {
    loop {
        std::thread::park();
    }
}

/// Prints until nobody listens.
fn endless(stream: &str) -> io::Result<String> {
    let line = [&[b'x'; 1000][..], b"\n"].concat();
    let mut to: Box<dyn io::Write> =
        if stream == "stderr" { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
    loop {
        to.write_all(&line)?;
    }
}
