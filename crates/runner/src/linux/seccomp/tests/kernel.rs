//! The filter in the kernel: what it refuses, what it must not, and what would otherwise work.

use std::io;

use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Resource, Rlimit};

use super::{USUAL, filters, install};
use crate::linux::attempt::{Outcome, attempt, works_behind, works_only_without};
use crate::linux::seccomp::rule::Answer;
use crate::linux::seccomp::{Calls, table};
use crate::linux::sys::{call, fork};

const ENOSYS: i32 = libc::ENOSYS;
const EPERM: i32 = libc::EPERM;

/// Tries `body` behind the usual filter.
fn behind(body: impl FnOnce() -> io::Result<()>) -> Outcome {
    attempt(|| {
        install(USUAL)?;
        body()
    })
}

fn done<T>(result: io::Result<T>) -> io::Result<()> {
    result.map(drop)
}

#[test]
fn every_call_in_the_table_answers_as_it_says() {
    for group in table::TABLE.iter().chain(table::ONLY_HERE) {
        for refused in group.calls {
            let Answer::Fail(error) = group.answer else { panic!("{} is not refused", refused.name) };
            let outcome = behind(|| done(call(refused.number.into(), [0; 6])));
            assert_eq!(outcome, Outcome::Failed(error), "{}: {}", refused.name, group.why);
        }
    }
}

/// The table is not its own witness: of each kind, one call that must be in it.
#[test]
fn each_kind_of_call_is_refused() {
    let kinds = [
        (libc::SYS_setns, EPERM),
        (libc::SYS_clone3, ENOSYS),
        (libc::SYS_mount, EPERM),
        (libc::SYS_fsopen, EPERM),
        (libc::SYS_open_by_handle_at, EPERM),
        (libc::SYS_process_vm_readv, EPERM),
        (libc::SYS_pidfd_getfd, EPERM),
        (libc::SYS_add_key, EPERM),
        (libc::SYS_bpf, EPERM),
        (libc::SYS_perf_event_open, EPERM),
        (libc::SYS_userfaultfd, EPERM),
        (libc::SYS_io_uring_setup, ENOSYS),
        (libc::SYS_vmsplice, ENOSYS),
        (libc::SYS_shmget, ENOSYS),
        (libc::SYS_msgget, ENOSYS),
        (libc::SYS_semget, ENOSYS),
        (libc::SYS_mq_open, ENOSYS),
        (libc::SYS_mbind, ENOSYS),
        (libc::SYS_clock_settime, EPERM),
        (libc::SYS_finit_module, EPERM),
        (libc::SYS_swapon, EPERM),
        (libc::SYS_syslog, EPERM),
    ];
    for (number, error) in kinds {
        assert_eq!(behind(|| done(call(number, [0; 6]))), Outcome::Failed(error), "{number}");
    }
}

#[test]
fn what_works_for_others_is_refused_to_the_program() {
    let mut space = [0_u8; 4096];
    let space = space.as_mut_ptr() as usize;
    let tries: &[(&str, libc::c_long, [usize; 6], i32)] = &[
        ("to leave nothing", libc::SYS_unshare, [0; 6], EPERM),
        ("its keyring", libc::SYS_keyctl, [0, usize::MAX, 1, 0, 0, 0], EPERM),
        ("a file in memory", libc::SYS_memfd_create, [c"name".as_ptr() as usize, 0, 0, 0, 0, 0], ENOSYS),
        ("to ask about shared memory", libc::SYS_shmctl, [0, 3, space, 0, 0, 0], ENOSYS),
        ("to be traced", libc::SYS_ptrace, [0; 6], EPERM),
        ("a personality without random addresses", libc::SYS_personality, [0x4_0000, 0, 0, 0, 0, 0], EPERM),
    ];
    for &(name, what, arguments, error) in tries {
        works_only_without(name, || install(USUAL), || done(call(what, arguments)), error);
    }
}

#[test]
fn no_child_is_made_in_a_namespace_or_beside_the_program() {
    let kinds = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUSER | libc::CLONE_NEWNET,
        libc::CLONE_PARENT,
    ];
    for kind in kinds {
        let flags = (kind | libc::SIGCHLD).cast_unsigned() as usize;
        let child = || {
            // Whoever is made returns here as well, and goes.
            if call(libc::SYS_clone, [flags, 0, 0, 0, 0, 0])? == 0 {
                call(libc::SYS_exit_group, [0; 6])?;
            }
            Ok(())
        };
        assert_eq!(behind(child), Outcome::Failed(EPERM), "{kind:#x}");
    }
}

#[test]
fn a_flag_hidden_among_upper_bits_is_found() {
    let above = 1_usize << 40;
    let tries: &[(&str, libc::c_long, [usize; 6], i32)] = &[
        ("clone", libc::SYS_clone, [above | libc::CLONE_NEWNET as usize, 0, 0, 0, 0, 0], EPERM),
        ("a line discipline", libc::SYS_ioctl, [0, above | 0x5423, 0, 0, 0, 0], EPERM),
        ("characters typed into a terminal", libc::SYS_ioctl, [0, above | 0x5412, 0, 0, 0, 0], EPERM),
        ("a personality", libc::SYS_personality, [above | 8, 0, 0, 0, 0, 0], EPERM),
        ("a socket", libc::SYS_socket, [above | 0x26, 5, 0, 0, 0, 0], libc::EAFNOSUPPORT),
    ];
    for &(name, what, arguments, error) in tries {
        let outcome = behind(|| done(call(what, arguments)));
        assert_eq!(outcome, Outcome::Failed(error), "{name}");
    }
}

#[test]
fn devices_are_not_made_but_pipes_are() {
    let place = tempfile::tempdir().unwrap();
    let node = |name: &str, mode: u32| {
        let path =
            std::ffi::CString::new(place.path().join(name).into_os_string().into_encoded_bytes()).unwrap();
        let at = libc::AT_FDCWD.cast_unsigned() as usize;
        done(call(libc::SYS_mknodat, [at, path.as_ptr() as usize, mode as usize, 0x103, 0, 0]))
    };
    works_behind("a pipe", || install(USUAL), || node("pipe", libc::S_IFIFO | 0o600));
    works_behind("a file", || install(USUAL), || node("file", 0o600));
    for kind in [libc::S_IFCHR, libc::S_IFBLK] {
        let outcome = behind(|| node("device", kind | 0o600));
        assert_eq!(outcome, Outcome::Failed(EPERM));
    }
}

#[test]
fn files_that_lend_the_rights_of_their_owner_are_not_made() {
    let place = tempfile::tempdir().unwrap();
    let path =
        std::ffi::CString::new(place.path().join("file").into_os_string().into_encoded_bytes()).unwrap();
    let (at, name) = (libc::AT_FDCWD.cast_unsigned() as usize, path.as_ptr() as usize);
    let open = |flags: i32, mode: usize| {
        done(call(libc::SYS_openat, [at, name, flags.cast_unsigned() as usize, mode, 0, 0]))
    };
    let change = |mode: usize| done(call(libc::SYS_fchmodat, [at, name, mode, 0, 0, 0]));
    works_only_without(
        "to make one",
        || install(USUAL),
        || open(libc::O_CREAT | libc::O_WRONLY, 0o4755),
        EPERM,
    );
    works_behind("to make another", || install(USUAL), || open(libc::O_CREAT | libc::O_WRONLY, 0o755));
    works_behind("to open it, with nonsense for a mode", || install(USUAL), || open(libc::O_RDONLY, 0o6777));
    works_behind("to change its mode", || install(USUAL), || change(0o1700));
    for mode in [0o4755, 0o2755, 0o6755] {
        works_only_without("to change it so", || install(USUAL), || change(mode), EPERM);
    }
    let unnamed = || {
        let place = std::ffi::CString::new(place.path().as_os_str().as_encoded_bytes()).unwrap();
        let flags = (libc::O_TMPFILE | libc::O_WRONLY).cast_unsigned() as usize;
        done(call(libc::SYS_openat, [at, place.as_ptr() as usize, flags, 0o4755, 0, 0]))
    };
    assert_eq!(behind(unnamed), Outcome::Failed(EPERM), "one without a name");
}

#[test]
fn the_limit_on_core_files_stays_though_it_is_said_to_be_lowered() {
    let lower = || {
        let one = Rlimit { current: Some(1), maximum: Some(1) };
        rustix::process::setrlimit(Resource::Core, one)?;
        install(USUAL)?;
        let none = [0_u64; 2];
        let (core, new) = (libc::RLIMIT_CORE as usize, std::ptr::from_ref(&none) as usize);
        done(call(libc::SYS_prlimit64, [0, core, new, 0, 0, 0]))?;
        done(call(libc::SYS_setrlimit, [core, new, 0, 0, 0, 0]))?;
        let stays = rustix::process::getrlimit(Resource::Core) == one;
        if stays { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EDOM)) }
    };
    assert_eq!(attempt(lower), Outcome::Fine);
}

#[test]
fn nobody_listens_where_nobody_may() {
    let listen = || {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
        Ok(rustix::net::listen(&socket, 1)?)
    };
    works_only_without("to listen", || install(Calls { listen: false, ..USUAL }), listen, EPERM);
    works_behind("to listen where it may", || install(USUAL), listen);
}

#[test]
fn no_lease_is_taken() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lease = || {
        let fd = std::os::fd::AsRawFd::as_raw_fd(file.as_file()).cast_unsigned() as usize;
        let (set, write) = (libc::F_SETLEASE as usize, libc::F_WRLCK as usize);
        done(call(libc::SYS_fcntl, [fd, set, write, 0, 0, 0]))
    };
    works_only_without("a lease", || install(USUAL), lease, EPERM);
}

#[test]
fn limits_and_priorities_of_others_are_out_of_reach() {
    let parent = std::process::id() as usize;
    let core = libc::RLIMIT_CORE as usize;
    let limit = [0_u64; 2];
    let mut known = [0_u64; 2];
    let old = std::ptr::from_mut(&mut known) as usize;
    let ask = || done(call(libc::SYS_prlimit64, [parent, core, 0, old, 0, 0]));
    let set = |process: usize| {
        let new = std::ptr::from_ref(&limit) as usize;
        done(call(libc::SYS_prlimit64, [process, core, new, 0, 0, 0]))
    };
    works_only_without("to ask for the parent's limits", || install(USUAL), ask, EPERM);
    works_behind("to set its own limits", || install(USUAL), || set(0));
    let outcome = behind(|| set(parent));
    assert_eq!(outcome, Outcome::Failed(EPERM), "to set the parent's limits");
    let now = rustix::process::getpriority_process(None).unwrap();
    let nice =
        |who: usize| done(call(libc::SYS_setpriority, [0, who, now.cast_unsigned() as usize, 0, 0, 0]));
    works_behind("its own priority", || install(USUAL), || nice(0));
    works_only_without("the parent's priority", || install(USUAL), || nice(parent), EPERM);
    let everyone = || done(call(libc::SYS_setpriority, [2, 0, 0, 0, 0, 0]));
    assert_eq!(behind(everyone), Outcome::Failed(EPERM), "the priority of all the user's processes");
    let other = || {
        let nothing = 0_i32;
        let ordinary = std::ptr::from_ref(&nothing) as usize;
        done(call(libc::SYS_sched_setscheduler, [parent, 0, ordinary, 0, 0, 0]))
    };
    works_only_without("the parent's scheduling", || install(USUAL), other, EPERM);
}

#[test]
fn the_numbers_of_x32_and_of_the_future_are_unknown() {
    for number in [0x4000_0000 + libc::SYS_getpid, 0x4000_0000 + libc::SYS_unshare, 472, 600, 547] {
        let outcome = attempt(|| {
            install(USUAL)?;
            done(call(number, [0; 6]))
        });
        assert_eq!(outcome, Outcome::Failed(ENOSYS), "{number:#x}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_call_by_the_numbers_of_32_bit_programs_ends_the_process() {
    let ask = || if crate::linux::sys::i386_getpid() > 0 { Ok(()) } else { Err(io::ErrorKind::Other.into()) };
    let outcome = behind(ask);
    // A kernel without that table ends the process by itself, with another signal.
    let expected = if attempt(ask) == Outcome::Fine { libc::SIGSYS } else { libc::SIGSEGV };
    assert_eq!(outcome, Outcome::Killed(expected));
}

#[test]
fn threads_and_children_are_allowed() {
    for calls in filters() {
        let threads = || {
            let threads: Vec<_> = (0..8).map(|at| std::thread::spawn(move || at * 2)).collect();
            let sum: i32 = threads.into_iter().map(|thread| thread.join().unwrap_or(-1)).sum();
            if sum == 56 { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
        };
        works_behind("threads", || install(calls), threads);
        let child = || {
            let child = fork(|| 7)?;
            let status = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())?;
            let code = status.and_then(|(_, status)| status.exit_status());
            if code == Some(7) { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
        };
        works_behind("a child", || install(calls), child);
    }
}

#[test]
fn a_second_filter_can_only_take_away() {
    let again = || {
        install(Calls { network: crate::order::Network::Full, unix_sockets: true, listen: true })?;
        done(call(libc::SYS_unshare, [0; 6]))
    };
    works_only_without(
        "a filter, then unshare",
        || install(USUAL),
        || done(call(libc::SYS_unshare, [0; 6])),
        EPERM,
    );
    let outcome = behind(again);
    assert_eq!(outcome, Outcome::Failed(EPERM));
}
