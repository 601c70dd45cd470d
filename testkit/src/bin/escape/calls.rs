//! System calls that ordinary programs do not make. Each is made so that it does no harm where it is let through:
//! with arguments the kernel itself refuses, or in a copy of the process that ends right after.

use std::ffi::CStr;
use std::io;

use crate::answer::Attack;
use crate::kernel::{address, address_mut, call, flag, in_a_copy};

pub(crate) const ATTACKS: &[(&str, Attack)] =
    &[("call", probe), ("foreign-call", |_| foreign()), ("mknod", mknod), ("join-namespace", join)];

/// What the kernel says to who may call, but not like that: the call got through.
const THROUGH: [i32; 9] = [
    libc::EINVAL,
    libc::EFAULT,
    libc::EBADF,
    libc::ENOENT,
    libc::ENODEV,
    libc::E2BIG,
    libc::ESRCH,
    libc::ENOTDIR,
    libc::EOPNOTSUPP,
];

const NOWHERE: &CStr = c"/nowhere/at/all";
const HERE: &CStr = c".";
const NOTHING: usize = usize::MAX;
const X32: i64 = 0x4000_0000;

fn probe(name: &str) -> io::Result<String> {
    let (number, arguments) = made(name).ok_or_else(|| io::Error::other("no such call"))?;
    match in_a_copy(|| call(number, &arguments).map(drop)) {
        Ok(()) => Ok("done".to_owned()),
        Err(error) if error.raw_os_error().is_some_and(|errno| THROUGH.contains(&errno)) => {
            Ok(format!("let through: {error}"))
        }
        Err(error) => Err(error),
    }
}

/// A call by its name: number and arguments.
fn made(name: &str) -> Option<(i64, Vec<usize>)> {
    namespaces(name).or_else(|| mounts(name)).or_else(|| powers(name)).or_else(|| machinery(name))
}

fn namespaces(name: &str) -> Option<(i64, Vec<usize>)> {
    let kind = |flag_: i32| Some((libc::SYS_unshare, vec![flag(flag_)]));
    match name {
        "unshare-user" => kind(libc::CLONE_NEWUSER),
        "unshare-mount" => kind(libc::CLONE_NEWNS),
        "unshare-net" => kind(libc::CLONE_NEWNET),
        "unshare-pid" => kind(libc::CLONE_NEWPID),
        "unshare-ipc" => kind(libc::CLONE_NEWIPC),
        "unshare-uts" => kind(libc::CLONE_NEWUTS),
        "unshare-cgroup" => kind(libc::CLONE_NEWCGROUP),
        "unshare-time" => kind(0x80),
        "clone-user" => Some((libc::SYS_clone, vec![flag(libc::CLONE_NEWUSER | libc::SIGCHLD)])),
        "clone3-user" => {
            let flags = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
            let arguments = Box::new([flags, 0, 0, 0, 17, 0, 0, 0]);
            Some((libc::SYS_clone3, vec![address(Box::leak(arguments)), 64]))
        }
        "setns" => Some((libc::SYS_setns, vec![NOTHING])),
        _ => None,
    }
}

fn mounts(name: &str) -> Option<(i64, Vec<usize>)> {
    let (nowhere, here, tmpfs) = (address(NOWHERE), address(HERE), address(c"tmpfs"));
    Some(match name {
        "mount" => (libc::SYS_mount, vec![tmpfs, nowhere, tmpfs, 0, 0]),
        "remount" => {
            let flags = libc::MS_REMOUNT | libc::MS_BIND;
            (libc::SYS_mount, vec![0, nowhere, 0, usize::try_from(flags).unwrap_or_default(), 0])
        }
        "umount" => (libc::SYS_umount2, vec![nowhere]),
        "pivot-root" => (libc::SYS_pivot_root, vec![nowhere, nowhere]),
        "chroot" => (libc::SYS_chroot, vec![here]),
        "fsopen" => (libc::SYS_fsopen, vec![tmpfs]),
        "fsmount" => (libc::SYS_fsmount, vec![NOTHING]),
        "open-tree" => (libc::SYS_open_tree, vec![flag(libc::AT_FDCWD), here, 1]),
        "move-mount" => (libc::SYS_move_mount, vec![NOTHING, nowhere, NOTHING, nowhere]),
        "mount-setattr" => (libc::SYS_mount_setattr, vec![NOTHING, nowhere, 0, 0, 0]),
        "open-by-handle" => (libc::SYS_open_by_handle_at, vec![flag(libc::AT_FDCWD)]),
        "swapon" => (libc::SYS_swapon, vec![nowhere]),
        "acct" => (libc::SYS_acct, vec![nowhere]),
        "fanotify" => (libc::SYS_fanotify_init, vec![0]),
        _ => return None,
    })
}

fn powers(name: &str) -> Option<(i64, Vec<usize>)> {
    let own = usize::try_from(std::process::id()).unwrap_or_default();
    Some(match name {
        "ptrace" => (libc::SYS_ptrace, vec![0]),
        "process-vm-readv" => (libc::SYS_process_vm_readv, vec![own]),
        "process-vm-writev" => (libc::SYS_process_vm_writev, vec![own]),
        "kcmp" => (libc::SYS_kcmp, vec![own, own]),
        "pidfd-getfd" => (libc::SYS_pidfd_getfd, vec![NOTHING]),
        "keyctl" => (libc::SYS_keyctl, vec![0, flag(-3)]),
        "add-key" => {
            let (kind, text) = (address(c"user"), address(c"escape"));
            (libc::SYS_add_key, vec![kind, text, text, 6, flag(-2)])
        }
        "request-key" => (libc::SYS_request_key, vec![0]),
        "module" => (libc::SYS_init_module, vec![0]),
        "module-file" => (libc::SYS_finit_module, vec![NOTHING]),
        "module-removal" => (libc::SYS_delete_module, vec![address(c"escape"), flag(libc::O_NONBLOCK)]),
        "kexec" => (libc::SYS_kexec_load, vec![0, 0, 0, 0xdead]),
        "reboot" => (libc::SYS_reboot, vec![0]),
        "clock" => (libc::SYS_clock_settime, vec![0]),
        "time-of-day" => (libc::SYS_settimeofday, vec![0]),
        "hostname" => (libc::SYS_sethostname, vec![0, NOTHING]),
        "kernel-log" => (libc::SYS_syslog, vec![10]),
        #[cfg(target_arch = "x86_64")]
        "ports" => (libc::SYS_iopl, vec![3]),
        _ => return None,
    })
}

fn machinery(name: &str) -> Option<(i64, Vec<usize>)> {
    let room = || address_mut(Box::leak(Box::new([0_u64; 32])));
    Some(match name {
        "bpf" => (libc::SYS_bpf, vec![0, room(), 72]),
        "perf" => (libc::SYS_perf_event_open, vec![room(), 0, NOTHING, NOTHING]),
        "io-uring" => (libc::SYS_io_uring_setup, vec![1, room()]),
        "io-uring-enter" => (libc::SYS_io_uring_enter, vec![NOTHING]),
        "userfault" => (libc::SYS_userfaultfd, vec![1]),
        "personality" => (libc::SYS_personality, vec![0x004_0000]),
        "x32" => (X32 | libc::SYS_getpid, Vec::new()),
        _ => return None,
    })
}

/// A call by the gate of another architecture.
#[cfg(target_arch = "x86_64")]
fn foreign() -> io::Result<String> {
    in_a_copy(|| {
        let answer = crate::kernel::foreign_getpid();
        if answer > 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(answer.saturating_neg())) }
    })?;
    Ok("answered".to_owned())
}

#[cfg(not(target_arch = "x86_64"))]
fn foreign() -> io::Result<String> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

/// Makes a device of its own: the disk's or the memory's.
fn mknod(kind: &str) -> io::Result<String> {
    let (mode, device) = if kind == "block" { (0o060_600, 0x100) } else { (0o020_600, 0x101) };
    call(libc::SYS_mknodat, &[flag(libc::AT_FDCWD), address(c"node"), mode, device])?;
    std::fs::remove_file("node").map(|()| "made".to_owned())
}

/// Joins the namespace that another process is in.
fn join(path: &str) -> io::Result<String> {
    let namespace = std::fs::File::open(path)?;
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&namespace);
    in_a_copy(|| call(libc::SYS_setns, &[flag(descriptor), 0]).map(drop))?;
    Ok("joined".to_owned())
}
