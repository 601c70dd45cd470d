//! Ways to other processes: their memory, their environment, their descriptors, their lives; and too many of one's own.

use std::fs;
use std::io;
use std::time::Duration;

use crate::answer::Attack;
use crate::kernel::{address, address_mut, call, flag, fork};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("see", |pid| fs::read(format!("/proc/{pid}/cmdline")).map(|found| format!("{} bytes", found.len()))),
    ("read-environments", read_environments),
    ("read-memory", |pid| {
        fs::File::open(format!("/proc/{}/mem", number(pid)?)).map(|_| "opened its memory".to_owned())
    }),
    ("peek", peek),
    ("trace", trace),
    ("steal-descriptor", steal),
    ("signal", |pid| {
        call(libc::SYS_kill, &[number(pid)?, flag(libc::SIGCONT)]).map(|_| "signalled".to_owned())
    }),
    ("signal-by-descriptor", |pid| {
        let descriptor = call(libc::SYS_pidfd_open, &[number(pid)?])?;
        call(libc::SYS_pidfd_send_signal, &[descriptor, flag(libc::SIGCONT)]).map(|_| "signalled".to_owned())
    }),
    ("signal-parent", |_| signal_parent()),
    ("signal-all", |_| signal_all()),
    ("limit-other", |pid| {
        let mut old = [0_u64; 2];
        let limit = flag(libc::RLIMIT_NOFILE.cast_signed());
        let arguments = [number(pid)?, limit, 0, address_mut(&mut old)];
        call(libc::SYS_prlimit64, &arguments).map(|_| "read its limits".to_owned())
    }),
    ("fork-bomb", fork_bomb),
    ("fork-storm", fork_storm),
    ("thread-bomb", thread_bomb),
];

/// A process id; `parent` is whoever started us.
fn number(pid: &str) -> io::Result<usize> {
    if pid == "parent" {
        return call(libc::SYS_getppid, &[]);
    }
    pid.parse().map_err(|_| io::Error::other(format!("{pid} is no process")))
}

/// Looks for a value in the environment of every process in sight.
fn read_environments(canary: &str) -> io::Result<String> {
    let (mut read, mut last) = (0, io::Error::other("no other process in sight"));
    let own = std::process::id().to_string();
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == own || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        match fs::read(entry.path().join("environ")) {
            Ok(text) if String::from_utf8_lossy(&text).contains(canary) => {
                return Ok(format!("found in process {name}"));
            }
            Ok(_) => read += 1,
            Err(error) => last = error,
        }
    }
    Err(if read > 0 { io::Error::other(format!("in none of {read} environments")) } else { last })
}

/// Reads another's memory. An address that is nobody's is enough: only who may look is told that.
fn peek(pid: &str) -> io::Result<String> {
    let mut byte = [0_u8; 8];
    let local = [address_mut(&mut byte), 8];
    let remote = [1_usize, 8];
    let arguments = [number(pid)?, address(&local), 1, address(&remote), 1, 0];
    match call(libc::SYS_process_vm_readv, &arguments) {
        Ok(_) => Ok("read its memory".to_owned()),
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) => Ok("may read its memory".to_owned()),
        Err(error) => Err(error),
    }
}

fn trace(pid: &str) -> io::Result<String> {
    let pid = number(pid)?;
    call(libc::SYS_ptrace, &[0x4206, pid])?; // PTRACE_SEIZE, which does not stop it
    Ok("traced".to_owned())
}

fn steal(pid: &str) -> io::Result<String> {
    let descriptor = call(libc::SYS_pidfd_open, &[number(pid)?])?;
    call(libc::SYS_pidfd_getfd, &[descriptor, 0]).map(|_| "took its standard input".to_owned())
}

/// Whether we are in a namespace whose first process is our parent: there, and only there, may it be shot at.
fn under_an_init() -> io::Result<bool> {
    Ok(call(libc::SYS_getppid, &[])? == 1 && std::process::id() < 64)
}

fn signal_parent() -> io::Result<String> {
    let parent = call(libc::SYS_getppid, &[])?;
    if under_an_init()? {
        call(libc::SYS_kill, &[parent, flag(libc::SIGSTOP)])?;
        call(libc::SYS_kill, &[parent, flag(libc::SIGKILL)])?;
        std::thread::sleep(Duration::from_millis(20));
        return Err(io::Error::other("only our own init, and it lives"));
    }
    call(libc::SYS_kill, &[parent, flag(libc::SIGCONT)]).map(|_| "signalled".to_owned())
}

fn signal_all() -> io::Result<String> {
    if under_an_init()? {
        let outcome = call(libc::SYS_kill, &[usize::MAX, flag(libc::SIGKILL)]);
        std::thread::sleep(Duration::from_millis(20));
        return Err(outcome.err().unwrap_or_else(|| io::Error::other("only our own processes")));
    }
    call(libc::SYS_kill, &[usize::MAX, flag(libc::SIGCONT)]).map(|_| "signalled".to_owned())
}

/// Starts that many processes which do nothing; reports how many it came to.
fn fork_bomb(most: &str) -> io::Result<String> {
    let most: usize = most.parse().map_err(|_| io::Error::other("how many?"))?;
    let mut started = Vec::new();
    let outcome = loop {
        if started.len() >= most {
            break Ok(format!("{most} processes"));
        }
        match fork() {
            Ok(0) => loop {
                std::thread::park();
            },
            Ok(child) => started.push(child),
            Err(error) => break Err(counted(&error, started.len())),
        }
    };
    for child in started {
        call(libc::SYS_kill, &[child, flag(libc::SIGKILL)])?;
        call(libc::SYS_wait4, &[child])?;
    }
    outcome
}

/// Doubles itself that many times, and stays until killed, or for as long as it takes to be noticed.
fn fork_storm(times: &str) -> io::Result<String> {
    let times: u32 = times.parse().map_err(|_| io::Error::other("how often?"))?;
    let mut original = true;
    let mut failed = None;
    for _ in 0..times.min(10) {
        match fork() {
            Ok(0) => original = false,
            Ok(_) => {}
            Err(error) => failed = Some(error),
        }
    }
    std::thread::sleep(Duration::from_secs(2));
    if !original {
        std::process::exit(0);
    }
    failed.map_or_else(|| Ok(format!("doubled {times} times")), |error| Err(counted(&error, 0)))
}

fn thread_bomb(most: &str) -> io::Result<String> {
    let most: usize = most.parse().map_err(|_| io::Error::other("how many?"))?;
    for started in 0..most {
        let thread = std::thread::Builder::new().stack_size(16 * 1024).spawn(|| {
            loop {
                std::thread::park();
            }
        });
        thread.map_err(|error| counted(&error, started))?;
    }
    Ok(format!("{most} threads"))
}

/// An error, and how far it went before.
pub(crate) fn counted(error: &io::Error, reached: usize) -> io::Error {
    let name = error.raw_os_error().map_or_else(|| error.to_string(), crate::kernel::name);
    io::Error::other(format!("{name} after {reached}"))
}
