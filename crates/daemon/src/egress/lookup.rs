//! From a name to a connection: looked up once, checked, and connected to what was checked. There is no second look-up
//! whose answer could be another.
//!
//! The system's resolver blocks for as long as a name server likes, and a program chooses which one is asked. Each
//! look-up therefore has a thread of its own, and each run few of them: it keeps nobody else waiting.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use covenant_model::address;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::denial::Denial;
use super::host::Host;

/// How long a look-up may take.
const LOOK_UP: Duration = Duration::from_secs(5);

/// How many addresses of a name are tried, and for how long each.
const ADDRESSES: usize = 8;
const CONNECT: Duration = Duration::from_secs(5);

/// The addresses of a name. It may block.
pub(crate) type Resolver = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// What this machine's resolver says.
pub(crate) fn system() -> Resolver {
    Arc::new(|name| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
}

/// Look-ups that share a number of places.
pub(crate) struct Lookups {
    resolver: Resolver,
    places: Arc<Semaphore>,
}

impl Lookups {
    /// That many at a time, those included that nobody waits for any more.
    pub(crate) fn new(resolver: Resolver, at_a_time: usize) -> Self {
        Self { resolver, places: Arc::new(Semaphore::new(at_a_time)) }
    }

    /// Where a name leads, wherever that is.
    pub(crate) async fn find(&self, name: &str) -> Result<Vec<IpAddr>, Denial> {
        let host = || Host::Name(name.to_owned());
        match timeout(LOOK_UP, self.ask(name)).await {
            Ok(Ok(found)) if found.is_empty() => {
                Err(Denial::Unknown { host: host(), reason: "it has no address".to_owned() })
            }
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(Denial::Unknown { host: host(), reason: error.to_string() }),
            Err(_) => Err(Denial::LookedUpLate { host: host() }),
        }
    }

    async fn ask(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
        let (resolver, name) = (Arc::clone(&self.resolver), name.to_owned());
        let (answer, answered) = oneshot::channel();
        std::thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            // Whoever asked may have given up.
            drop(answer.send(resolver(&name)));
            drop(place);
        })?;
        answered.await.map_err(io::Error::other)?
    }
}

/// Those of the addresses that are public, if there is one.
pub(crate) fn public(host: &Host, mut addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Denial> {
    let what = addresses.iter().copied().find_map(address::special);
    addresses.retain(|found| address::is_public(*found));
    match (what, host) {
        (Some(what), Host::Name(_)) if addresses.is_empty() => {
            Err(Denial::Private { host: host.clone(), what })
        }
        (Some(what), Host::Address(_)) => Err(Denial::PrivateAddress { host: host.clone(), what }),
        _ => Ok(addresses),
    }
}

/// A connection to the first of the addresses that takes one.
pub(crate) async fn connect(host: &Host, addresses: &[IpAddr], port: u16) -> Result<TcpStream, Denial> {
    let mut reason = "it has no address".to_owned();
    for address in addresses.iter().take(ADDRESSES) {
        match timeout(CONNECT, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => reason = error.to_string(),
            Err(_) => reason = format!("no answer within {} seconds", CONNECT.as_secs()),
        }
    }
    Err(Denial::Unreachable { host: host.clone(), reason })
}
