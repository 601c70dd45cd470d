//! The calls that are refused whatever their arguments are, and why.

use super::numbers;
use super::rule::Answer;

/// The newest call we know (`rseq_slice_yield`, Linux 7.0). To raise it, look at every call between, first.
pub(super) const NEWEST: u32 = 471;

/// Calls that are refused for the same reason.
pub(super) struct Group {
    /// The reason.
    #[cfg_attr(not(test), expect(dead_code, reason = "for whoever reads the table"))]
    pub(super) why: &'static str,
    /// What the program gets.
    pub(super) answer: Answer,
    /// Which.
    pub(super) calls: &'static [Call],
}

/// A call.
pub(super) struct Call {
    /// As the kernel calls it, behind `SYS_`.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests say which call they mean"))]
    pub(super) name: &'static str,
    /// Its number on this processor.
    pub(super) number: u32,
}

/// The number of a call, checked when this is compiled.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the line before checks that it fits"
)]
pub(super) const fn number(call: libc::c_long) -> u32 {
    assert!(call >= 0 && call <= NEWEST as libc::c_long, "a call above the lid");
    call as u32
}

macro_rules! calls {
    ($($name:ident),* $(,)?) => { &[$(Call { name: stringify!($name), number: number(numbers::$name) }),*] };
}

/// What is refused everywhere.
pub(super) const TABLE: &[Group] = &[
    Group {
        why: "in a new namespace a program has privileges again",
        answer: Answer::NO_RIGHT,
        calls: calls![SYS_unshare, SYS_setns],
    },
    Group {
        why: "what they should do lies behind a pointer, where no filter sees it; libraries go on with `clone` and `openat`",
        answer: Answer::NO_CALL,
        calls: calls![SYS_clone3, SYS_openat2],
    },
    Group {
        why: "the view of files is made once, before the program starts",
        answer: Answer::NO_RIGHT,
        calls: calls![
            SYS_mount,
            SYS_umount2,
            SYS_pivot_root,
            SYS_chroot,
            SYS_move_mount,
            SYS_open_tree,
            SYS_open_tree_attr,
            SYS_fsopen,
            SYS_fsconfig,
            SYS_fsmount,
            SYS_fspick,
            SYS_mount_setattr,
        ],
    },
    Group {
        why: "tells what is mounted and which namespaces there are",
        answer: Answer::NO_CALL,
        calls: calls![SYS_statmount, SYS_listmount, SYS_listns],
    },
    Group {
        why: "opens files by number, past every path",
        answer: Answer::NO_RIGHT,
        calls: calls![SYS_name_to_handle_at, SYS_open_by_handle_at],
    },
    Group {
        why: "reads, changes or takes from other processes",
        answer: Answer::NO_RIGHT,
        calls: calls![
            SYS_ptrace,
            SYS_process_vm_readv,
            SYS_process_vm_writev,
            SYS_process_madvise,
            SYS_process_mrelease,
            SYS_pidfd_getfd,
            SYS_kcmp,
        ],
    },
    Group {
        why: "the keyrings are the user's, not the program's",
        answer: Answer::NO_RIGHT,
        calls: calls![SYS_add_key, SYS_request_key, SYS_keyctl],
    },
    Group {
        why: "wide doors into the kernel that no ordinary program goes through",
        answer: Answer::NO_RIGHT,
        calls: calls![SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_fanotify_init],
    },
    Group {
        why: "does by messages what is refused here as calls",
        answer: Answer::NO_CALL,
        calls: calls![SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register],
    },
    Group {
        why: "memory that no process has mapped: nobody would count it, and some of it would stay behind",
        answer: Answer::NO_CALL,
        calls: calls![
            SYS_memfd_create,
            SYS_memfd_secret,
            SYS_vmsplice,
            SYS_io_setup,
            SYS_shmget,
            SYS_shmat,
            SYS_shmdt,
            SYS_shmctl,
            SYS_msgget,
            SYS_msgsnd,
            SYS_msgrcv,
            SYS_msgctl,
            SYS_semget,
            SYS_semop,
            SYS_semtimedop,
            SYS_semctl,
            SYS_mq_open,
            SYS_mq_unlink,
        ],
    },
    Group {
        why: "where memory lies is the machine's business; libraries take this for a machine of one node",
        answer: Answer::NO_CALL,
        calls: calls![
            SYS_get_mempolicy,
            SYS_set_mempolicy,
            SYS_set_mempolicy_home_node,
            SYS_mbind,
            SYS_move_pages,
            SYS_migrate_pages,
        ],
    },
    Group {
        why: "sets the clock of the machine",
        answer: Answer::NO_RIGHT,
        calls: calls![SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex],
    },
    Group {
        why: "runs the machine",
        answer: Answer::NO_RIGHT,
        calls: calls![
            SYS_init_module,
            SYS_finit_module,
            SYS_delete_module,
            SYS_kexec_load,
            SYS_kexec_file_load,
            SYS_reboot,
            SYS_swapon,
            SYS_swapoff,
            SYS_acct,
            SYS_quotactl,
            SYS_quotactl_fd,
            SYS_syslog,
            SYS_sethostname,
            SYS_setdomainname,
            SYS_vhangup,
            SYS_lookup_dcookie,
            SYS_nfsservctl,
            SYS_lsm_set_self_attr,
        ],
    },
];

/// What is refused besides on x86.
#[cfg(target_arch = "x86_64")]
pub(super) const ONLY_HERE: &[Group] = &[
    Group {
        why: "ports of the hardware, and segments that only 16-bit programs need",
        answer: Answer::NO_RIGHT,
        calls: calls![SYS_iopl, SYS_ioperm, SYS_modify_ldt],
    },
    Group {
        why: "nothing written in this century calls it",
        answer: Answer::NO_CALL,
        calls: calls![SYS__sysctl, SYS_uselib, SYS_ustat, SYS_sysfs],
    },
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const ONLY_HERE: &[Group] = &[];
