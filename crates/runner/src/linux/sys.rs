//! The system calls that no safe crate offers, each with the reason why calling it is sound.
#![expect(unsafe_code, reason = "the only file that may; every block says why it is sound")]

use std::io;

/// Puts a filter over the system calls of the calling thread and of all it starts, for good.
///
/// It also gives up gaining privileges by `execve`, without which the kernel accepts no filter from ordinary users.
pub(crate) fn filter_calls(program: &[libc::sock_filter]) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let length = libc::c_ushort::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel reads `length` instructions behind the pointer, which the slice holds, and writes nothing.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The version of Landlock's interface that the kernel offers; 0 where it has none or was told to have none.
pub(crate) fn landlock_version() -> i32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no attribute and opens nothing; it answers a number.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    i32::try_from(answer).unwrap_or(0).max(0)
}

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use trial::i386_getpid;
#[cfg(test)]
pub(crate) use trial::{before_exec, call, fork};

/// What tests need to try things the way a hostile program would.
#[cfg(test)]
mod trial {
    use std::io;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use rustix::process::Pid;

    /// A copy of this process that runs `body`, exits with what it returned, and never comes back.
    pub(crate) fn fork(body: impl FnOnce() -> i32) -> io::Result<Pid> {
        // SAFETY: the child has one thread. It allocates, which the C library allows after `fork`, and takes no other
        // lock of this process; `_exit` keeps it from running what belongs to the parent.
        match unsafe { libc::fork() } {
            0 => {
                let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(254);
                // SAFETY: ends the process at once; nothing is shared that this could leave half done.
                unsafe { libc::_exit(code) }
            }
            child => Pid::from_raw(child).filter(|_| child > 0).ok_or_else(io::Error::last_os_error),
        }
    }

    /// Any system call by its number.
    pub(crate) fn call(number: libc::c_long, arguments: [usize; 6]) -> io::Result<i64> {
        let [first, second, third, fourth, fifth, sixth] = arguments;
        // SAFETY: not in general. Tests pass zeroes, numbers, or pointers to what they own and the call expects.
        let answer = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
        if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
    }

    /// Runs `body` in the process that becomes the command, just before it does.
    pub(crate) fn before_exec(
        command: &mut Command,
        body: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
    ) {
        // SAFETY: `body` makes system calls and allocates, which the C library allows after `fork`.
        unsafe { command.pre_exec(body) };
    }

    /// Asks for the process id by the system calls of 32-bit programs; the way round a filter that forgets them.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn i386_getpid() -> i32 {
        let mut answer = 20_i32;
        // SAFETY: call 20 of that table takes no argument and writes only the register it answers in.
        unsafe { std::arch::asm!("int 0x80", inout("eax") answer, options(nostack)) };
        answer
    }
}
