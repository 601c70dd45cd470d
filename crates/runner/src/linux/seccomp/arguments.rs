//! The calls that are allowed with some arguments and refused with others, and why.

use super::Calls;
use super::rule::{Answer, Rule, Word};
use super::table::number;
use crate::order::Network;

const ALLOW: Answer = Answer::Allow;
const EPERM: Answer = Answer::NO_RIGHT;

/// It is said to have been done, and was: the limit on core files is as low as it can be, and stays there.
const DONE: Answer = Answer::Fail(0);

/// Every bit of a word.
const ALL: u32 = u32::MAX;

/// The rule of each such call.
pub(super) fn rules(calls: Calls) -> Vec<(u32, Rule)> {
    let mut rules = vec![
        (number(libc::SYS_clone), clone()),
        (number(libc::SYS_personality), personality()),
        (number(libc::SYS_mknodat), no_devices(2)),
        (number(libc::SYS_openat), no_set_id_when_made(2, 3)),
        (number(libc::SYS_fchmod), no_set_id(1)),
        (number(libc::SYS_fchmodat), no_set_id(2)),
        (number(libc::SYS_fchmodat2), no_set_id(2)),
        (number(libc::SYS_ioctl), ioctl()),
        (number(libc::SYS_socket), socket(calls)),
        (number(libc::SYS_socketpair), socketpair(calls)),
        (number(libc::SYS_setsockopt), setsockopt()),
        (number(libc::SYS_prlimit64), prlimit64()),
        (number(libc::SYS_setrlimit), setrlimit()),
        (number(libc::SYS_fcntl), fcntl()),
        (number(libc::SYS_setpriority), own_priority(PRIO_PROCESS)),
        (number(libc::SYS_ioprio_set), own_priority(IOPRIO_WHO_PROCESS)),
        (number(libc::SYS_sched_setscheduler), own_schedule()),
        (number(libc::SYS_sched_setparam), own_schedule()),
        (number(libc::SYS_sched_setattr), own_schedule()),
    ];
    #[cfg(target_arch = "x86_64")]
    rules.extend([
        (number(libc::SYS_mknod), no_devices(1)),
        (number(libc::SYS_open), no_set_id_when_made(1, 2)),
        (number(libc::SYS_creat), no_set_id(1)),
        (number(libc::SYS_chmod), no_set_id(1)),
    ]);
    if !calls.listen {
        // Without a port of its choice it would get any, which Landlock does not see.
        rules.push((number(libc::SYS_listen), EPERM.into()));
    }
    if calls.network != Network::Full {
        rules.push((number(libc::SYS_sendto), no_fast_open(3)));
        rules.push((number(libc::SYS_sendmsg), no_fast_open(2)));
        rules.push((number(libc::SYS_sendmmsg), no_fast_open(3)));
    }
    rules
}

/// No new namespace (see the table), and no child that is put beside the program instead of below it: whoever watches
/// the program would take it for one of its own. The flags are a `long`, of which the kernel reads the low half.
/// (`CLONE_NEWTIME` is no flag here: `clone` reads that bit as part of a signal.)
fn clone() -> Rule {
    let refused = libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_PARENT;
    Word::Low(0).has(refused.cast_unsigned()).then(EPERM, ALLOW)
}

/// To be an ordinary Linux process, and to ask what one is. Other personalities switch protections off.
fn personality() -> Rule {
    Word::Low(0).choose(ALL, vec![(0, ALLOW.into()), (-1, ALLOW.into())], EPERM)
}

/// Files, pipes and sockets, but no devices.
fn no_devices(mode: u8) -> Rule {
    let devices = [libc::S_IFCHR, libc::S_IFBLK].map(|kind| (kind.cast_signed(), EPERM.into()));
    Word::Low(mode).choose(libc::S_IFMT, devices.into(), no_set_id(mode))
}

/// No file that gives whoever runs it the rights of its owner or group: in a directory that was named to be written, it
/// would be there for others to run, outside.
fn no_set_id(mode: u8) -> Rule {
    Word::Low(mode).has(libc::S_ISUID | libc::S_ISGID).then(EPERM, ALLOW)
}

/// The same of opening, where it makes the file; else there is no mode, and anything may stand in its place.
fn no_set_id_when_made(flags: u8, mode: u8) -> Rule {
    const UNNAMED: i32 = 0o20_000_000; // of O_TMPFILE, without the bit of O_DIRECTORY
    Word::Low(flags).has((libc::O_CREAT | UNNAMED).cast_unsigned()).then(no_set_id(mode), ALLOW)
}

/// Nothing that types into a terminal for the user, or turns one into something else. The command is 32 bits wide:
/// whoever compares all 64 is passed by with a bit above.
fn ioctl() -> Rule {
    const TIOCSTI: i32 = 0x5412; // puts characters into the terminal's input
    const TIOCLINUX: i32 = 0x541C; // pastes into a console
    const TIOCCONS: i32 = 0x541D; // takes the console's output
    const TIOCSETD: i32 = 0x5423; // loads another line discipline
    let refused = [TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD].map(|command| (command, EPERM.into()));
    Word::Low(1).choose(ALL, refused.into(), ALLOW)
}

/// The kind of a socket, as the kernel reads it from the second argument; above are `SOCK_CLOEXEC` and its like.
const KIND: u32 = 0xf;

/// By family, kind and protocol. Families that are not named do not exist.
///
/// The interfaces (netlink, protocol 0) are shown in every mode: `getifaddrs` is how languages list addresses, the
/// program could read the same in `/proc/net`, and it takes a privilege to change anything.
fn socket(calls: Calls) -> Rule {
    const NETLINK_ROUTE: i32 = 0;
    let unknown = Answer::Fail(libc::EPROTONOSUPPORT);
    let only = |protocols: &[i32]| {
        let allowed = protocols.iter().map(|&protocol| (protocol, ALLOW.into())).collect();
        Word::Low(2).choose(ALL, allowed, unknown)
    };
    // No other protocol for streams: multipath TCP is none of the TCP that Landlock has rules for.
    let mut kinds = vec![(libc::SOCK_STREAM, only(&[0, libc::IPPROTO_TCP]))];
    if calls.network == Network::Full {
        kinds.push((libc::SOCK_DGRAM, only(&[0, libc::IPPROTO_UDP])));
    }
    let internet = Word::Low(1).choose(KIND, kinds, EPERM);
    let routes = [libc::SOCK_RAW, libc::SOCK_DGRAM].map(|kind| (kind, only(&[NETLINK_ROUTE])));
    let mut families = vec![
        (libc::AF_INET, internet.clone()),
        (libc::AF_INET6, internet),
        (libc::AF_NETLINK, Word::Low(1).choose(KIND, routes.into(), EPERM)),
    ];
    if calls.unix_sockets {
        families.push((libc::AF_UNIX, ALLOW.into()));
    }
    Word::Low(0).choose(ALL, families, Answer::Fail(libc::EAFNOSUPPORT))
}

/// Pairs are connected to each other and, as streams, stay so. One of datagrams can send to any name on the machine, so
/// it is a Unix socket like any other.
fn socketpair(calls: Calls) -> Rule {
    let mut kinds = vec![(libc::SOCK_STREAM, ALLOW.into()), (libc::SOCK_SEQPACKET, ALLOW.into())];
    if calls.unix_sockets {
        kinds.push((libc::SOCK_DGRAM, ALLOW.into()));
    }
    let pair = Word::Low(1).choose(KIND, kinds, EPERM);
    Word::Low(0).equals(libc::AF_UNIX.cast_unsigned()).then(pair, Answer::Fail(libc::EAFNOSUPPORT))
}

/// Sending that connects on the way (TCP fast open): Landlock's rule for ports only sees `connect`. The answer is that
/// of a kernel where it is switched off.
fn no_fast_open(flags: u8) -> Rule {
    let off = Answer::Fail(libc::EOPNOTSUPP);
    Word::Low(flags).has(libc::MSG_FASTOPEN.cast_unsigned()).then(off, ALLOW)
}

/// No other protocol on top of a TCP socket: one of them turns it into something that Landlock does not know as TCP.
/// The answer is that of a kernel without any.
fn setsockopt() -> Rule {
    const TCP_ULP: u32 = 31;
    let option = Word::Low(2).equals(TCP_ULP).then(Answer::Fail(libc::ENOENT), ALLOW);
    Word::Low(1).equals(libc::IPPROTO_TCP.cast_unsigned()).then(option, ALLOW)
}

/// Limits of the program itself, not of a process by its number. The third argument points to the new limit, or nowhere.
fn prlimit64() -> Rule {
    let asks = Word::Low(2).equals(0).then(Word::High(2).equals(0).then(ALLOW, DONE), DONE);
    let own = Word::Low(1).equals(libc::RLIMIT_CORE).then(asks, ALLOW);
    Word::Low(0).equals(0).then(own, EPERM)
}

/// The same by its older name.
fn setrlimit() -> Rule {
    Word::Low(0).equals(libc::RLIMIT_CORE).then(DONE, ALLOW)
}

/// No hold on files that others want to write: a lease makes them wait for whoever has it.
fn fcntl() -> Rule {
    const F_SETDELEG: i32 = 1040; // of Linux 6.19: the same for directories
    let refused = [libc::F_SETLEASE, F_SETDELEG].map(|command| (command, EPERM.into()));
    Word::Low(1).choose(ALL, refused.into(), ALLOW)
}

/// How `setpriority` and `ioprio_set` say "a process", and not a group or all of a user.
const PRIO_PROCESS: u32 = 0;
const IOPRIO_WHO_PROCESS: u32 = 1;

/// The priority of the caller, not of a process by its number, nor of a group it may have joined or of all the user's.
fn own_priority(process: u32) -> Rule {
    let own = Word::Low(1).equals(0).then(ALLOW, EPERM);
    Word::Low(0).equals(process).then(own, EPERM)
}

/// The scheduling of the caller, not of a process by its number: whoever watches the program must not be told to wait.
fn own_schedule() -> Rule {
    Word::Low(0).equals(0).then(ALLOW, EPERM)
}
