//! By which door a request came, and whether only this machine can have used it.

use std::net::SocketAddr;
use std::sync::Arc;

use covenant_gate::Credential;

use crate::config::http::Http;

/// By which door a request came.
#[derive(Clone)]
pub(crate) enum Via {
    /// By the socket, from that process.
    Socket(Arc<SocketPeer>),
    /// By that port.
    Tcp(Port),
}

/// The process at the other end of the socket.
pub(crate) struct SocketPeer {
    pub(crate) credential: Credential,
    pub(crate) pid: Option<u32>,
}

/// A port of ours, as it was opened. What a request says about where it comes from changes nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) number: u16,
    /// What addresses of it begin with: `http` or `https`.
    pub(crate) scheme: &'static str,
    /// It is on loopback, and no proxy stands before it.
    local: bool,
}

impl Via {
    /// By the socket, from that user's process.
    pub(crate) fn socket(uid: u32, pid: Option<u32>) -> Self {
        Self::Socket(Arc::new(SocketPeer { credential: Credential::peer(uid), pid }))
    }

    /// What it is called where strangers are counted.
    pub(crate) fn door(&self) -> &'static str {
        match self {
            Self::Socket(_) => "socket",
            Self::Tcp(_) => "port",
        }
    }

    /// Whether whoever asks is on this machine: by the socket, or by loopback where no proxy stands before it.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Tcp(port) => port.local,
        }
    }
}

impl Port {
    /// The port that is listened on at that address.
    pub(crate) fn new(address: SocketAddr, http: &Http) -> Self {
        let scheme = if http.tls() { "https" } else { "http" };
        Self { number: address.port(), scheme, local: address.ip().is_loopback() && !http.behind_proxy }
    }

    /// What a browser leaves out of an address of that scheme.
    pub(crate) fn usual(self) -> u16 {
        if self.scheme == "https" { 443 } else { 80 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_without_a_proxy_is_local_and_the_socket_always() {
        let local = |address: &str, behind_proxy| {
            let http = Http { behind_proxy, ..Http::default() };
            Via::Tcp(Port::new(address.parse().unwrap(), &http)).is_local()
        };
        assert!(Via::socket(0, None).is_local());
        for loopback in ["127.0.0.1:8421", "[::1]:8421", "127.8.8.8:1"] {
            assert!(local(loopback, false), "{loopback}");
            assert!(!local(loopback, true), "{loopback} behind a proxy");
        }
        for open in ["0.0.0.0:8421", "[::]:8421", "192.168.1.2:80", "[::ffff:127.0.0.1]:80"] {
            assert!(!local(open, false) && !local(open, true), "{open}");
        }
    }

    #[test]
    fn a_port_with_a_certificate_is_https() {
        let http = Http { tls_cert: "c.pem".to_owned(), tls_key: "k.pem".to_owned(), ..Http::default() };
        let address = "127.0.0.1:8421".parse().unwrap();
        let (plain, tls) = (Port::new(address, &Http::default()), Port::new(address, &http));
        assert_eq!((plain.scheme, plain.usual()), ("http", 80));
        assert_eq!((tls.scheme, tls.usual()), ("https", 443));
    }
}
