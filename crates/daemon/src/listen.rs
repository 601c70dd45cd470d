//! Where the daemon can be reached: its socket, and its address on loopback, with a reason where it cannot.

use std::fs::{Permissions, set_permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, TcpSocket, UnixListener};

use crate::config::http::Http;

/// Why the daemon cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program has the address.
    #[error(
        "{0} is in use by another program; choose another address with `covenant up --listen 127.0.0.1:PORT` or `[http] listen` \
         in config.toml (port 0 takes any that is free)"
    )]
    InUse(SocketAddr),
    /// The address cannot be had.
    #[error(
        "{address} cannot be listened on: {error}; choose another with `--listen` or `[http] listen` in config.toml"
    )]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Address { address: SocketAddr, error: io::Error },
    /// The socket cannot be made.
    #[error("the socket {} cannot be made: {error}", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Socket { path: PathBuf, error: io::Error },
}

/// How many connections may wait to be accepted: when that many come at once, more must try again after a second.
const WAITING: u32 = 4096;

/// Everything the daemon listens on.
pub(crate) struct Listeners {
    pub(crate) socket: UnixListener,
    pub(crate) tcp: Vec<TcpListener>,
}

impl Listeners {
    /// The addresses as they came out, ports included.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.tcp.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }
}

/// Listens on all of them. The home's lock must be held: a socket that lies there is then nobody's.
pub(crate) fn listen(socket: &Path, http: &Http) -> Result<Listeners, ListenError> {
    let tcp = addresses(http)?;
    let failed = |error| ListenError::Socket { path: socket.to_owned(), error };
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let listener = UnixListener::bind(socket).map_err(failed)?;
    set_permissions(socket, Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(Listeners { socket: listener, tcp })
}

/// A free port is free on one address at a time: a few tries find one that is free on all.
fn addresses(http: &Http) -> Result<Vec<TcpListener>, ListenError> {
    let wanted = http.addresses();
    let any_port = wanted.iter().all(|address| address.port() == 0);
    let mut tries = if any_port { 16 } else { 1 };
    loop {
        tries -= 1;
        match bind(&wanted) {
            Err(ListenError::InUse(_)) if tries > 0 => {}
            bound => return bound,
        }
    }
}

fn bind_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A daemon that starts again finds its address held by connections of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

fn bind(wanted: &[SocketAddr]) -> Result<Vec<TcpListener>, ListenError> {
    let mut bound: Vec<TcpListener> = Vec::new();
    for address in wanted {
        let port = bound
            .first()
            .and_then(|first| first.local_addr().ok())
            .map_or(address.port(), |first| first.port());
        let address = SocketAddr::new(address.ip(), port);
        match bind_one(address) {
            Ok(listener) => bound.push(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                return Err(ListenError::InUse(address));
            }
            // A machine without IPv6 has no ::1, and does not need it.
            Err(error) if !bound.is_empty() => {
                tracing::warn!(target: "covenant", "{address} cannot be listened on: {error}");
            }
            Err(error) => return Err(ListenError::Address { address, error }),
        }
    }
    Ok(bound)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn http(listen: &str) -> Http {
        Http { listen: listen.to_owned(), ..Http::default() }
    }

    #[tokio::test]
    async fn a_free_port_is_the_same_on_both_addresses_and_the_socket_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sock");
        std::fs::write(&path, "left behind").unwrap();
        let listeners = listen(&path, &http("127.0.0.1:0")).unwrap();
        let ports: Vec<u16> = listeners.addresses().iter().map(SocketAddr::port).collect();
        assert!(ports.iter().all(|port| *port != 0 && *port == ports[0]), "{ports:?}");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn an_address_in_use_is_named_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let refused = listen(&dir.path().join("sock"), &http(&address)).err().unwrap().to_string();
        assert!(refused.contains(&address) && refused.contains("--listen"), "{refused}");
        assert!(!dir.path().join("sock").exists(), "no socket is left behind");
    }
}
