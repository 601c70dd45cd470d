//! Which sockets there are, by the mode of the network.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixDatagram, UnixStream};

use rustix::net::{AddressFamily, SendFlags, SocketType};

use super::{Calls, install};
use crate::linux::attempt::{Outcome, attempt, works_behind, works_only_without};
use crate::linux::sys::call;
use crate::order::Network::{self, Full, Off, OutboundHttpsOnly};

const CLOSED: [Network; 2] = [Off, OutboundHttpsOnly];
const EVERY: [Network; 3] = [Off, OutboundHttpsOnly, Full];

fn open(what: libc::c_long, family: i32, kind: i32, protocol: i32) -> io::Result<()> {
    let mut pair = [0_i32; 2];
    let pair = std::ptr::from_mut(&mut pair) as usize;
    let [family, kind, protocol] = [family, kind, protocol].map(|value| value.cast_unsigned() as usize);
    call(what, [family, kind, protocol, pair, 0, 0]).map(drop)
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<()> {
    open(libc::SYS_socket, family, kind, protocol)
}

fn outcome(calls: Calls, body: impl Fn() -> io::Result<()>) -> Outcome {
    attempt(|| {
        install(calls)?;
        body()
    })
}

#[test]
fn each_mode_has_its_sockets() {
    use libc::{AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM};
    const KIND: Outcome = Outcome::Failed(libc::EPERM);
    const FAMILY: Outcome = Outcome::Failed(libc::EAFNOSUPPORT);
    const PROTOCOL: Outcome = Outcome::Failed(libc::EPROTONOSUPPORT);
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    let kinds: &[(i32, i32, i32, Outcome, Outcome)] = &[
        // family, kind, protocol, in closed modes, in `full`
        (AF_INET, SOCK_STREAM, 0, Outcome::Fine, Outcome::Fine),
        (AF_INET, SOCK_STREAM | flags, libc::IPPROTO_TCP, Outcome::Fine, Outcome::Fine),
        (AF_INET6, SOCK_STREAM, 0, Outcome::Fine, Outcome::Fine),
        (AF_INET, SOCK_DGRAM, 0, KIND, Outcome::Fine),
        (AF_INET, SOCK_DGRAM | flags, libc::IPPROTO_UDP, KIND, Outcome::Fine),
        (AF_INET6, SOCK_DGRAM, 0, KIND, Outcome::Fine),
        (AF_INET, SOCK_STREAM, libc::IPPROTO_MPTCP, PROTOCOL, PROTOCOL),
        (AF_INET, SOCK_STREAM, libc::IPPROTO_SCTP, PROTOCOL, PROTOCOL),
        (AF_INET, SOCK_DGRAM, libc::IPPROTO_ICMP, KIND, PROTOCOL),
        (AF_INET, SOCK_DGRAM, libc::IPPROTO_UDPLITE, KIND, PROTOCOL),
        (AF_INET, SOCK_RAW, libc::IPPROTO_ICMP, KIND, KIND),
        (AF_INET, SOCK_RAW | flags, libc::IPPROTO_RAW, KIND, KIND),
        (AF_INET, 10, 0, KIND, KIND),
        (AF_NETLINK, SOCK_RAW | flags, 0, Outcome::Fine, Outcome::Fine),
        (AF_NETLINK, SOCK_DGRAM, 0, Outcome::Fine, Outcome::Fine),
        (AF_NETLINK, SOCK_RAW, libc::NETLINK_NETFILTER, PROTOCOL, PROTOCOL),
        (AF_NETLINK, SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT, PROTOCOL, PROTOCOL),
        (AF_UNIX, SOCK_STREAM, 0, FAMILY, FAMILY),
        (AF_UNIX, SOCK_DGRAM, 0, FAMILY, FAMILY),
        (libc::AF_PACKET, SOCK_RAW, 0, FAMILY, FAMILY),
        (libc::AF_ALG, libc::SOCK_SEQPACKET, 0, FAMILY, FAMILY),
        (libc::AF_VSOCK, SOCK_STREAM, 0, FAMILY, FAMILY),
        (libc::AF_BLUETOOTH, SOCK_RAW, 0, FAMILY, FAMILY),
        (libc::AF_XDP, SOCK_RAW, 0, FAMILY, FAMILY),
        (libc::AF_UNSPEC, SOCK_STREAM, 0, FAMILY, FAMILY),
        (-1, SOCK_STREAM, 0, FAMILY, FAMILY),
    ];
    for &(family, kind, protocol, closed, full) in kinds {
        for network in EVERY {
            let expected = if network == Full { full } else { closed };
            let got = outcome(Calls { network, unix_sockets: false, listen: true }, || {
                socket(family, kind, protocol)
            });
            assert_eq!(got, expected, "socket({family}, {kind:#x}, {protocol}) with {network:?}");
        }
    }
}

#[test]
fn unix_sockets_are_there_where_they_may_be() {
    for network in EVERY {
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET] {
            let open = || socket(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC, 0);
            assert_eq!(outcome(Calls { network, unix_sockets: true, listen: true }, open), Outcome::Fine);
        }
    }
}

/// A pair of datagram sockets is two Unix sockets that can send to any name.
#[test]
fn a_pair_is_no_way_to_a_socket_by_its_name() {
    let place = tempfile::tempdir().unwrap();
    let name = place.path().join("theirs");
    let theirs = UnixDatagram::bind(&name).unwrap();
    let closed = Calls { network: Full, unix_sockets: false, listen: true };
    let send = || {
        let (ours, _other) = UnixDatagram::pair()?;
        ours.send_to(b"hello", &name).map(drop)
    };
    works_only_without("a datagram to a name", || install(closed), send, libc::EPERM);
    theirs.recv(&mut [0; 5]).unwrap();
    let stream = || {
        let (mut ours, mut other) = UnixStream::pair()?;
        ours.write_all(b"hello")?;
        other.read_exact(&mut [0; 5])
    };
    for network in EVERY {
        works_behind(
            "a pair of streams",
            || install(Calls { network, unix_sockets: false, listen: true }),
            stream,
        );
        let packets = || open(libc::SYS_socketpair, libc::AF_UNIX, libc::SOCK_SEQPACKET, 0);
        works_behind(
            "a pair of packets",
            || install(Calls { network, unix_sockets: false, listen: true }),
            packets,
        );
    }
    let inet = || open(libc::SYS_socketpair, libc::AF_INET, libc::SOCK_STREAM, 0);
    assert_eq!(outcome(closed, inet), Outcome::Failed(libc::EAFNOSUPPORT));
}

#[test]
fn tcp_works_on_the_loopback_in_every_mode() {
    let talk = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let mut ours = TcpStream::connect(listener.local_addr()?)?;
        let (mut theirs, _) = listener.accept()?;
        ours.write_all(b"hello")?;
        theirs.read_exact(&mut [0; 5])
    };
    for network in EVERY {
        works_behind("TCP", || install(Calls { network, unix_sockets: false, listen: true }), talk);
    }
}

#[test]
fn sending_does_not_connect() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("no IPv4") };
    let send = || {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
        let flags = SendFlags::from_bits_retain(libc::MSG_FASTOPEN.cast_unsigned());
        rustix::net::sendto(&socket, b"hello", flags, &address)?;
        Ok(())
    };
    assert_eq!(attempt(send), Outcome::Fine, "without the filter");
    for network in CLOSED {
        assert_eq!(
            outcome(Calls { network, unix_sockets: true, listen: true }, send),
            Outcome::Failed(libc::EOPNOTSUPP)
        );
        for (what, flags) in [(libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
            let mut arguments = [0; 6];
            arguments[flags] = libc::MSG_FASTOPEN.cast_unsigned() as usize;
            let bare = || call(what, arguments).map(drop);
            assert_eq!(
                outcome(Calls { network, unix_sockets: true, listen: true }, bare),
                Outcome::Failed(libc::EOPNOTSUPP)
            );
        }
    }
    works_behind(
        "fast open in full",
        || install(Calls { network: Full, unix_sockets: false, listen: true }),
        send,
    );
}

#[test]
fn a_tcp_socket_stays_one() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let socket = listener.as_raw_fd().cast_unsigned() as usize;
    let option = |name: i32, value: &[u8]| {
        let (level, name) = (libc::IPPROTO_TCP as usize, name.cast_unsigned() as usize);
        call(libc::SYS_setsockopt, [socket, level, name, value.as_ptr() as usize, value.len(), 0]).map(drop)
    };
    for network in EVERY {
        let calls = Calls { network, unix_sockets: true, listen: true };
        assert_eq!(outcome(calls, || option(31, b"tls")), Outcome::Failed(libc::ENOENT));
        assert_eq!(outcome(calls, || option(libc::TCP_NODELAY, &1_i32.to_ne_bytes())), Outcome::Fine);
    }
}
