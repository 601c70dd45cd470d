//! The way out of a sandbox: which addresses a program is told, and the listeners behind them.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::net::{AddressFamily, SocketType};

use crate::linux::sys;
use crate::order::{Door, Network, Sandbox};

/// The listeners of one run, to be handed to the host, and what the program is told of them.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// Where the daemon is expected, in a network of the program's own.
    pub(super) door: Option<TcpListener>,
    /// Where the proxy is expected.
    pub(super) proxy: Option<TcpListener>,
    /// The ports the program has to reach.
    pub(super) ports: Vec<u16>,
    /// What it is told.
    pub(super) environment: Vec<(String, String)>,
}

/// Opens the ways of a program that has a network of its own, in which nothing is up yet.
pub(super) fn within(sandbox: &Sandbox) -> io::Result<Ways> {
    let control = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    sys::raise_loopback(control.as_fd())?;
    let mut ways = Ways::default();
    let Some(door) = &sandbox.door else { return Ok(ways) };
    let port = port(&door.url);
    ways.door = Some(TcpListener::bind((Ipv4Addr::LOCALHOST, port))?);
    ways.tell(door, format!("http://127.0.0.1:{port}"), port);
    ways.open_proxy(sandbox, door)?;
    Ok(ways)
}

/// Opens the ways of a program that shares the network of the host.
pub(super) fn shared(sandbox: &Sandbox) -> io::Result<Ways> {
    let mut ways = Ways::default();
    let Some(door) = &sandbox.door else { return Ok(ways) };
    ways.tell(door, door.url.clone(), port(&door.url));
    ways.open_proxy(sandbox, door)?;
    Ok(ways)
}

impl Ways {
    fn tell(&mut self, door: &Door, url: String, port: u16) {
        self.ports.push(port);
        self.environment.push(("COVENANT_URL".to_owned(), url));
        self.environment.push(("COVENANT_TOKEN".to_owned(), door.token.clone()));
    }

    fn open_proxy(&mut self, sandbox: &Sandbox, door: &Door) -> io::Result<()> {
        if sandbox.network != Network::OutboundHttpsOnly {
            return Ok(());
        }
        let proxy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = proxy.local_addr()?.port();
        let url = format!("http://run:{}@127.0.0.1:{port}", door.token);
        // Plain HTTP is refused there, but with a sentence that says so.
        for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
            self.environment.push((name.to_owned(), url.clone()));
        }
        // Only where the daemon is: a name that the operator allows, `localhost` too, is reached by way of the proxy.
        for name in ["NO_PROXY", "no_proxy"] {
            self.environment.push((name.to_owned(), "127.0.0.1".to_owned()));
        }
        // Node looks at the others only if told to.
        self.environment.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
        self.ports.push(port);
        self.proxy = Some(proxy);
        Ok(())
    }

    /// The listeners, in the order they are announced in.
    pub(super) fn listeners(&self) -> Vec<BorrowedFd<'_>> {
        [&self.door, &self.proxy].into_iter().flatten().map(TcpListener::as_fd).collect()
    }
}

/// The port of an origin.
fn port(url: &str) -> u16 {
    let standard = if url.starts_with("https://") { 443 } else { 80 };
    url.trim_end_matches('/').rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(standard)
}

#[cfg(test)]
mod tests {
    use super::port;

    #[test]
    fn an_origin_has_a_port_even_if_it_does_not_say_so() {
        for (url, expected) in [
            ("http://127.0.0.1:8421", 8421),
            ("http://[::1]:8421/", 8421),
            ("https://covenant.example", 443),
            ("http://covenant.example", 80),
        ] {
            assert_eq!(port(url), expected, "{url}");
        }
    }
}
