//! The one way from here into the kernel: a system call by its number, and the name of what it answers.
//!
//! A hostile program makes calls that no safe library offers, in ways no library would; this file alone may.

#![expect(unsafe_code, reason = "a hostile program makes system calls that no safe library offers")]

use std::io;

/// Makes a system call; arguments that are left out are 0.
pub(crate) fn call(number: i64, arguments: &[usize]) -> io::Result<usize> {
    let at = |place: usize| arguments.get(place).copied().unwrap_or_default();
    // SAFETY: every address passed here is 0, or that of something the caller keeps until the call is over.
    let answer = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// `getpid` by the gate of 32-bit programs, which filters for 64-bit ones may forget; the number or `-errno`.
#[cfg(target_arch = "x86_64")]
pub(crate) fn foreign_getpid() -> i32 {
    let answer: i32;
    // SAFETY: the call has no arguments and touches no memory; the kernel keeps every register but the named ones.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inlateout("eax") 20_i32 => answer,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    answer
}

/// Ignores that signal from now on.
pub(crate) fn ignore(signal: i32) {
    // SAFETY: `SIG_IGN` runs no code of ours.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// A copy of this process; 0 in the copy.
pub(crate) fn fork() -> io::Result<usize> {
    call(libc::SYS_clone, &[flag(libc::SIGCHLD)])
}

/// A flag of the C library as the kernel takes it.
pub(crate) fn flag(flag: i32) -> usize {
    usize::try_from(flag.cast_unsigned()).unwrap_or_default()
}

/// Where a C string or a structure lies.
pub(crate) fn address<T: ?Sized>(of: &T) -> usize {
    std::ptr::from_ref(of).cast::<u8>().addr()
}

/// Where something lies that the kernel writes.
pub(crate) fn address_mut<T: ?Sized>(of: &mut T) -> usize {
    std::ptr::from_mut(of).cast::<u8>().expose_provenance()
}

/// Does it in a copy of this process, so that even being killed for it is an answer.
pub(crate) fn in_a_copy(attack: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let copy = fork()?;
    if copy == 0 {
        let code = attack().err().map_or(0, |error| error.raw_os_error().unwrap_or(255));
        std::process::exit(code);
    }
    let mut status = 0_i32;
    call(libc::SYS_wait4, &[copy, address_mut(&mut status)])?;
    match (libc::WIFSIGNALED(status), libc::WTERMSIG(status), libc::WEXITSTATUS(status)) {
        (true, libc::SIGSYS, _) => Err(io::Error::other("SIGSYS")),
        (true, signal, _) => Err(io::Error::other(format!("signal {signal}"))),
        (false, _, 0) => Ok(()),
        (false, _, 255) => Err(io::Error::other("no errno")),
        (false, _, errno) => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// The name of an error number.
pub(crate) fn name(errno: i32) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == errno);
    known.map_or_else(|| format!("errno {errno}"), |(_, name)| (*name).to_owned())
}

macro_rules! names {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

const NAMES: &[(i32, &str)] = names!(
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV
    ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE ENAMETOOLONG ENOSYS
    ENOTEMPTY ELOOP EPROTO EOPNOTSUPP EPROTONOSUPPORT ESOCKTNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN
    ENETUNREACH ECONNRESET ENOTCONN ETIMEDOUT ECONNREFUSED EHOSTUNREACH EDQUOT EPROTOTYPE ENOPKG EUSERS
);
