//! The way from a sandbox to the daemon: what a program says to the listener inside reaches the daemon's port, as if it had
//! come by itself. The program speaks plain HTTP in its own network; where the port speaks TLS, so does this.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::Current;
use crate::egress::guests;
use crate::home::Home;
use crate::tls::{self, Certificate};

/// How many connections a run may have open.
const CONNECTIONS: usize = 64;

/// How long the daemon may take to take one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the daemon is, and what it shows of itself.
pub(super) struct Reach {
    pub(super) address: SocketAddr,
    pub(super) home: Home,
    pub(super) config: Current,
}

/// Serves the listener until this is dropped, which also closes every connection.
pub(super) async fn serve(listener: TcpListener, reach: Reach) {
    let reach = Arc::new(reach);
    let one = |stream| one(stream, Arc::clone(&reach));
    guests::each(listener, CONNECTIONS, one, async |stream| drop(stream)).await;
}

async fn one(mut inside: TcpStream, reach: Arc<Reach>) {
    let relayed = async {
        match reach.connect().await? {
            (daemon, None) => relay(&mut inside, daemon).await,
            (daemon, Some(tls)) => {
                let name = ServerName::IpAddress(reach.address.ip().into());
                let shaken = timeout(PATIENCE, TlsConnector::from(tls).connect(name, daemon)).await;
                relay(&mut inside, shaken??).await
            }
        }
    };
    if let Err(error) = relayed.await {
        tracing::debug!(target: "covenant::egress", "a connection of a run to the daemon ended: {error}");
    }
}

async fn relay(inside: &mut TcpStream, mut daemon: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    copy_bidirectional(inside, &mut daemon).await.map(drop)
}

impl Reach {
    async fn connect(self: &Arc<Self>) -> io::Result<(TcpStream, Option<Arc<ClientConfig>>)> {
        let reach = Arc::clone(self);
        // The certificate may have been renewed since the last connection.
        let tls = tokio::task::spawn_blocking(move || reach.tls()).await??;
        let daemon = timeout(PATIENCE, TcpStream::connect(self.address)).await??;
        daemon.set_nodelay(true)?;
        Ok((daemon, tls))
    }

    fn tls(&self) -> io::Result<Option<Arc<ClientConfig>>> {
        let certificate = Certificate::load(&self.home, &(self.config)().http).map_err(io::Error::other)?;
        Ok(certificate.map(|certificate| Arc::new(tls::to_ourselves(&certificate))))
    }
}
