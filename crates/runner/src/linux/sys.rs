//! The only `unsafe` of the product: what Linux offers to a launcher and no safe wrapper has.

#![expect(
    unsafe_code,
    reason = "clone into namespaces, seccomp and code between fork and exec have no safe form"
)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::Pid;

use super::thrift::unchanged;
use crate::ending::Usage;

/// Attributes for [`set_attributes`].
pub(super) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
/// No set-user-id programs.
pub(super) const NO_SUID: u64 = libc::MOUNT_ATTR_NOSUID;
/// No devices.
pub(super) const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV;

/// Closes every descriptor but standard input, output and error.
pub(super) fn close_inherited() -> io::Result<()> {
    // SAFETY: called first thing in `main`, before anything of this process owns a descriptor above 2.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    outcome(closed).map(drop)
}

/// Lets go of the pages of files that hold nothing of our own, and of memory that the allocator holds and nobody uses.
pub(crate) fn give_back() {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    for part in unchanged(&smaps) {
        let start = std::ptr::with_exposed_provenance_mut(part.start);
        // SAFETY: the system says that no page of this mapping differs from its file, and nobody can write to it, so
        // whoever reads or runs it next finds the same. If it was unmapped meanwhile, by whoever closes a library or a
        // file of constants, what took its place could lose pages: nothing in this program does either.
        unsafe { libc::madvise(start, part.len(), libc::MADV_DONTNEED) };
    }
    #[cfg(target_env = "gnu")]
    // SAFETY: the allocator may be told this at any time; it gives back what is free and touches nothing else.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A child of ours that has ended and was not waited for, if there is one; it can still be waited for afterwards.
pub(super) fn ended_child() -> Option<Pid> {
    let mut found = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel writes one `siginfo_t` to where there is room for one.
    let asked = unsafe { libc::waitid(libc::P_ALL, 0, found.as_mut_ptr(), how) };
    // SAFETY: all zeroes are a `siginfo_t`, and the kernel wrote nothing but fields of one.
    let found = unsafe { found.assume_init() };
    // SAFETY: what `waitid` fills in has this field; where no child has ended it is zero.
    let pid = unsafe { found.si_pid() };
    if asked == 0 { Pid::from_raw(pid) } else { None }
}

/// Like `fork`, into new namespaces: the child's pid, or none in the child.
pub(super) fn clone(namespaces: libc::c_int) -> io::Result<Option<Pid>> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("only a process with one thread can be copied"));
    }
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and without a stack of its own the child is a copy of this process, as after `fork`; and
    // as there is one thread (checked above), no lock of the copy is held by a thread that does not exist there.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    let pid = outcome(pid)?;
    Ok(i32::try_from(pid).ok().and_then(Pid::from_raw))
}

/// Runs `last` in the child between fork and exec. An error of it is the error of `spawn`.
pub(super) fn before_exec(
    command: &mut Command,
    last: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the launcher has one thread, so the copy may allocate and lock as it likes; `last` touches no descriptor
    // and no memory that the parent relies on, as the copy has its own.
    unsafe { command.pre_exec(last) };
}

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

/// Whether the kernel takes such filters.
pub(super) fn filters_calls() -> bool {
    let refuse = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads the number behind the pointer, and answers whether it knows it.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const refuse) };
    answer == 0
}

/// The version of Landlock's interface that the kernel offers; 0 where it has none or was told to have none.
pub(crate) fn landlock_version() -> i32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no attribute and opens nothing; it answers a number.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    i32::try_from(answer).unwrap_or(0).max(0)
}

/// Sets attributes on a detached mount and all below it; with a user namespace, files belong to whom it maps their owners to.
pub(super) fn set_attributes(
    tree: BorrowedFd<'_>,
    set: u64,
    users: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let set = if users.is_some() { set | libc::MOUNT_ATTR_IDMAP } else { set };
    let users = users.and_then(|users| u64::try_from(users.as_raw_fd()).ok()).unwrap_or(0);
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: users };
    // SAFETY: the path is an empty C string and `attributes` lives across the call, with its own size.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            std::ptr::from_ref(&attributes),
            size_of::<libc::mount_attr>(),
        )
    };
    outcome(done).map(drop)
}

/// Brings up the loopback interface of this network namespace.
pub(super) fn raise_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: `ifreq` is plain data for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::try_from(*from).map_err(io::Error::other)?;
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP).map_err(io::Error::other)?;
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`, which lives across the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, std::ptr::from_ref(&request)) };
    outcome(done.into()).map(drop)
}

/// `KCMP_VM` of `linux/kcmp.h`: compare address spaces.
const KCMP_VM: libc::c_long = 1;

/// Whether two processes have one address space between them, as after `vfork`. Nothing where the kernel does not say.
pub(super) fn share_memory(one: Pid, other: Pid) -> Option<bool> {
    let (one, other) = (libc::c_long::from(one.as_raw_pid()), libc::c_long::from(other.as_raw_pid()));
    let zero: libc::c_long = 0;
    // SAFETY: kcmp takes five integers, reads no memory of ours and writes none.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, zero, zero) };
    match order {
        0 => Some(true),
        1.. => Some(false),
        _ => None,
    }
}

/// What the children this process has waited for used, and theirs.
pub(super) fn usage_of_children() -> Usage {
    // SAFETY: `rusage` is plain data for which zeroes are valid, and the call fills it.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut used);
        used
    };
    let millis = |time: libc::timeval| {
        u64::try_from(time.tv_sec.saturating_mul(1000).saturating_add(time.tv_usec / 1000)).unwrap_or(0)
    };
    Usage {
        user_ms: millis(used.ru_utime),
        system_ms: millis(used.ru_stime),
        peak_memory_kb: u64::try_from(used.ru_maxrss).unwrap_or(0),
    }
}

fn outcome(returned: libc::c_long) -> io::Result<libc::c_long> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use trial::i386_getpid;
#[cfg(test)]
pub(crate) use trial::{call, fork};

/// What tests need to try things the way a hostile program would.
#[cfg(test)]
mod trial {
    use std::io;

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

    /// Asks for the process id by the system calls of 32-bit programs; the way round a filter that forgets them.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn i386_getpid() -> i32 {
        let mut answer = 20_i32;
        // SAFETY: call 20 of that table takes no argument and writes only the register it answers in.
        unsafe { std::arch::asm!("int 0x80", inout("eax") answer, options(nostack)) };
        answer
    }
}
