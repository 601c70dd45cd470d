//! Typing into the terminal of whoever started us; and a terminal, for that.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use crate::answer::Attack;
use crate::kernel::{address, address_mut, call, flag, fork};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[("type", |_| pushed())];

const TIOCSTI: usize = 0x5412;
const TIOCSPTLCK: usize = 0x4004_5431;
const TIOCGPTN: usize = 0x8004_5430;

/// Puts a letter into the input of every terminal within reach.
fn pushed() -> io::Result<String> {
    let mut stopped = io::Error::other("no terminal");
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let descriptors = terminal.iter().map(|file| flag(file.as_raw_fd())).chain(0..3);
    for descriptor in descriptors {
        match call(libc::SYS_ioctl, &[descriptor, TIOCSTI, address(&b'x')]) {
            Ok(_) => return Ok(format!("typed into descriptor {descriptor}")),
            Err(error) => stopped = error,
        }
    }
    Err(stopped)
}

/// Runs a program on a terminal of its own, which is its standard input; its output is ours.
pub(crate) fn of(program: &str, arguments: &[&str]) -> ExitCode {
    match run(program, arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) | Err(_) => ExitCode::FAILURE,
    }
}

#[expect(clippy::disallowed_methods, reason = "a terminal is for a program")]
fn run(program: &str, arguments: &[&str]) -> io::Result<i32> {
    let master = OpenOptions::new().read(true).write(true).open("/dev/ptmx")?;
    let (unlocked, mut number) = (0_i32, 0_i32);
    call(libc::SYS_ioctl, &[flag(master.as_raw_fd()), TIOCSPTLCK, address(&unlocked)])?;
    call(libc::SYS_ioctl, &[flag(master.as_raw_fd()), TIOCGPTN, address_mut(&mut number)])?;
    let child = fork()?;
    if child == 0 {
        call(libc::SYS_setsid, &[])?;
        // The first terminal a session opens is the one that controls it.
        let slave: File = OpenOptions::new().read(true).write(true).open(format!("/dev/pts/{number}"))?;
        return Err(std::process::Command::new(program).args(arguments).stdin(slave).exec());
    }
    let mut status = 0_i32;
    call(libc::SYS_wait4, &[child, address_mut(&mut status)])?;
    Ok(status)
}
