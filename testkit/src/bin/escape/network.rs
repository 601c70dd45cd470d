//! Ways to whoever listens: on the machine, beside it, and far away.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::time::Duration;

use crate::answer::Attack;
use crate::kernel::{call, flag, in_a_copy};

/// Whoever is on this machine answers sooner.
const PATIENCE: Duration = Duration::from_millis(1500);

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("tcp", tcp),
    ("udp", udp),
    ("udp-send", |to| {
        let socket = UdpSocket::bind(if to.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" })?;
        socket.send_to(b"hello", parsed(to)?).map(|sent| format!("{sent} bytes sent"))
    }),
    ("resolve", |name| {
        let found = (name, 443).to_socket_addrs().map_err(|_| io::Error::other("no such name"))?;
        Ok(found.map(|address| address.to_string()).collect::<Vec<_>>().join(" "))
    }),
    ("proxy", |to| proxy(to, Known::Yes)),
    ("proxy-as-stranger", |to| proxy(to, Known::No)),
    ("unix-path", |path| UnixStream::connect(path).map(|_| "connected".to_owned())),
    ("unix-abstract", |name| {
        UnixStream::connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)
            .map(|_| "connected".to_owned())
    }),
    ("unix-abstract-datagram", |name| {
        let to = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        UnixDatagram::unbound()?.send_to_addr(b"hello", &to).map(|sent| format!("{sent} bytes sent"))
    }),
    ("socket", socket),
];

fn parsed(address: &str) -> io::Result<SocketAddr> {
    address.parse().map_err(|_| io::Error::other(format!("{address} is no address")))
}

fn tcp(address: &str) -> io::Result<String> {
    TcpStream::connect_timeout(&parsed(address)?, PATIENCE).map(|_| "connected".to_owned())
}

/// Sends, and waits for the echo: a datagram that leaves for nowhere is no way out.
fn udp(address: &str) -> io::Result<String> {
    let socket = UdpSocket::bind(if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" })?;
    socket.connect(parsed(address)?)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(b"hello")?;
    let mut answer = [0; 16];
    match socket.recv(&mut answer) {
        Ok(count) => Ok(format!("{count} bytes came back")),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::Error::other("no answer")),
        Err(error) => Err(error),
    }
}

/// Whether one shows what one was given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Yes,
    No,
}

/// Asks the proxy of `HTTPS_PROXY` for a tunnel.
fn proxy(to: &str, known: Known) -> io::Result<String> {
    let variable = std::env::var("HTTPS_PROXY").map_err(|_| io::Error::other("no proxy"))?;
    let (credentials, address) = variable
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('@'))
        .ok_or_else(|| io::Error::other("HTTPS_PROXY is not as documented"))?;
    let mut stream = TcpStream::connect_timeout(&parsed(address.trim_end_matches('/'))?, PATIENCE)?;
    let credentials = base64(credentials);
    let shown = if known == Known::Yes {
        format!("Proxy-Authorization: Basic {credentials}\r\n")
    } else {
        String::new()
    };
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{shown}\r\n")?;
    stream.set_read_timeout(Some(PATIENCE * 4))?;
    let mut answer = [0; 64];
    let count = stream.read(&mut answer)?;
    let status = String::from_utf8_lossy(answer.get(..count).unwrap_or_default());
    let status = status.lines().next().unwrap_or_default().to_owned();
    if status.contains(" 200") { Ok(status) } else { Err(io::Error::other(status)) }
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut coded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = usize::try_from((bits >> (18 - 6 * place)) & 63).unwrap_or_default();
            let digit = DIGITS.get(digit).filter(|_| place <= chunk.len()).copied().unwrap_or(b'=');
            coded.push(char::from(digit));
        }
    }
    coded
}

/// Kinds of sockets that ordinary programs do not need: family, type, protocol.
const KINDS: &[(&str, [i32; 3])] = &[
    ("raw", [libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP]),
    ("raw6", [libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6]),
    ("packet", [libc::AF_PACKET, libc::SOCK_RAW, 0]),
    ("packet-datagram", [libc::AF_PACKET, libc::SOCK_DGRAM, 0]),
    ("vsock", [libc::AF_VSOCK, libc::SOCK_STREAM, 0]),
    ("alg", [libc::AF_ALG, libc::SOCK_SEQPACKET, 0]),
    ("netlink-audit", [libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_AUDIT]),
    ("netlink-netfilter", [libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER]),
    ("netlink-events", [libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT]),
    ("netlink-generic", [libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_GENERIC]),
    ("netlink-xfrm", [libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_XFRM]),
    ("bluetooth", [libc::AF_BLUETOOTH, libc::SOCK_RAW, 1]),
    ("can", [libc::AF_CAN, libc::SOCK_RAW, 1]),
    ("key", [libc::AF_KEY, libc::SOCK_RAW, 2]),
    ("xdp", [libc::AF_XDP, libc::SOCK_RAW, 0]),
    ("rds", [libc::AF_RDS, libc::SOCK_SEQPACKET, 0]),
    ("tipc", [libc::AF_TIPC, libc::SOCK_SEQPACKET, 0]),
];

fn socket(kind: &str) -> io::Result<String> {
    let known = KINDS.iter().find(|(name, _)| *name == kind);
    let (_, [family, sort, protocol]) = known.ok_or_else(|| io::Error::other("no such kind"))?;
    let arguments = [flag(*family), flag(*sort), flag(*protocol)];
    in_a_copy(|| call(libc::SYS_socket, &arguments).map(drop))?;
    Ok("opened".to_owned())
}
