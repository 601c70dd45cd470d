//! Ports, sockets and processes of others.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use rustix::net::{AddressFamily, Protocol, SocketType};
use rustix::process::{Pid, Signal, WaitOptions};
use rustix::thread::{CapabilitySets, set_capabilities};

use super::*;
use crate::linux::seccomp::{Calls, program};
use crate::linux::sys;

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn connect(port: u16) -> io::Result<()> {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop)
}

fn bind() -> io::Result<()> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)
}

#[test]
fn only_the_named_ports_are_reached() {
    if !Strength::probe().tcp {
        return;
    }
    let ((_door, door), (_other, other)) = (listener(), listener());
    let place = Place::new();
    let mut fence = place.fence();
    fence.connect = Ports::Only(vec![door]);
    works_behind("the named port", || within(&fence), || connect(door));
    works_only_without("another port", || within(&fence), || connect(other), libc::EACCES);
    fence.connect = Ports::Only(vec![]);
    works_only_without("any port", || within(&fence), || connect(door), libc::EACCES);
    works_behind("to listen", || within(&fence), bind);
    fence.connect = Ports::All;
    works_behind("all ports", || within(&fence), || connect(other));
}

#[test]
fn a_port_is_chosen_only_where_that_is_allowed() {
    if !Strength::probe().tcp {
        return;
    }
    let place = Place::new();
    let mut fence = place.fence();
    fence.bind = false;
    works_only_without("to choose a port", || within(&fence), bind, libc::EACCES);
}

/// A way to a port.
type Way = fn(u16) -> io::Result<()>;

/// A way to a port that is none of the TCP, or none of the calls, that Landlock looks at.
fn connect_by_several_paths(port: u16) -> io::Result<()> {
    let paths =
        rustix::net::socket(AddressFamily::INET, SocketType::STREAM, Some(rustix::net::ipproto::MPTCP))?;
    Ok(rustix::net::connect(&paths, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?)
}

fn connect_by_sending(port: u16) -> io::Result<()> {
    let none: Option<Protocol> = None;
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, none)?;
    let flags = rustix::net::SendFlags::from_bits_retain(libc::MSG_FASTOPEN.cast_unsigned());
    rustix::net::sendto(&socket, b"x", flags, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    Ok(())
}

/// With the filter over system calls, which closes what Landlock leaves open.
#[test]
fn behind_both_fences_there_is_no_way_round_the_ports() {
    if !Strength::probe().tcp {
        return;
    }
    let (_other, other) = listener();
    let place = Place::new();
    let both = || {
        within(&Fence { connect: Ports::Only(vec![]), ..place.fence() })?;
        let calls = Calls { network: crate::order::Network::Off, unix_sockets: false, listen: true };
        sys::filter_calls(&program(calls).map_err(io::Error::other)?)
    };
    let ways: [(&str, Way, i32); 3] = [
        ("to connect", connect, libc::EACCES),
        ("to connect by sending", connect_by_sending, libc::EOPNOTSUPP),
        ("to connect by several paths", connect_by_several_paths, libc::EPROTONOSUPPORT),
    ];
    for (name, way, error) in ways {
        works_only_without(name, both, || way(other), error);
    }
}

#[test]
fn abstract_sockets_of_others_are_out_of_reach() {
    if !Strength::probe().scopes {
        return;
    }
    let place = Place::new();
    let name =
        |end: &str| SocketAddr::from_abstract_name(place.at(end).into_os_string().into_encoded_bytes());
    let _theirs = UnixListener::bind_addr(&name("theirs").unwrap()).unwrap();
    let reach = || UnixStream::connect_addr(&name("theirs")?).map(drop);
    works_only_without("the parent's socket", || within(&place.fence()), reach, libc::EPERM);
    let own = || {
        let _ours = UnixListener::bind_addr(&name("ours")?)?;
        UnixStream::connect_addr(&name("ours")?).map(drop)
    };
    works_behind("its own socket", || within(&place.fence()), own);
}

#[test]
fn processes_of_others_get_no_signal() {
    if !Strength::probe().scopes {
        return;
    }
    let place = Place::new();
    let parent = Pid::from_raw(i32::try_from(std::process::id()).unwrap()).unwrap();
    let signal = || Ok(rustix::process::test_kill_process(parent)?);
    works_only_without("a signal to the parent", || within(&place.fence()), signal, libc::EPERM);
    let own = || {
        let child = sys::fork(|| {
            loop {
                std::thread::park();
            }
        })?;
        rustix::process::kill_process(child, Signal::TERM)?;
        rustix::process::waitpid(Some(child), WaitOptions::empty())?;
        Ok(())
    };
    works_behind("a signal to its own child", || within(&place.fence()), own);
}

/// What a process keeps in its environment and memory is as closed as the process itself; unless whoever reads has the
/// capability to watch the whole machine, so both give up what they have.
#[test]
fn the_environment_of_others_is_not_read() {
    let place = Place::new();
    let fence = Fence { read: vec!["/proc".into()], ..place.fence() };
    let read = |fenced: bool| {
        let nothing = rustix::thread::CapabilitySet::empty();
        let sets = CapabilitySets { effective: nothing, permitted: nothing, inheritable: nothing };
        set_capabilities(None, sets)?;
        let theirs = format!("/proc/{}/environ", std::process::id());
        let outcome = attempt(|| {
            if fenced {
                within(&fence)?;
            }
            fs::read("/proc/self/environ")?;
            fs::read(&theirs).map(drop)
        });
        match outcome {
            Outcome::Fine => Ok(()),
            Outcome::Failed(error) | Outcome::Killed(error) => Err(io::Error::from_raw_os_error(error)),
        }
    };
    assert_eq!(attempt(|| read(false)), Outcome::Fine);
    assert_eq!(attempt(|| read(true)), Outcome::Failed(libc::EACCES));
}
