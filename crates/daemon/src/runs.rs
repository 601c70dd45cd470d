//! Programs that run in a sandbox of this home: each with a token of its own, a way to the daemon and, if it may, a way out.
//!
//! The runner confines a program and hands us the listeners inside its sandbox; here they are served. All of that, the
//! token included, is over the moment the program is.

mod door;
pub mod program;
mod run;
#[cfg(test)]
mod tests;

use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use covenant_gate::{Fault, random};
use covenant_model::secret::Secret;
use covenant_model::token;
use covenant_runner::child::Doors;
use covenant_runner::launch;
use covenant_runner::ledger::LedgerError;
use covenant_runner::nursery::{Errors, Launcher, Nursery, Scrub};
use covenant_runner::order::{Door, Network, Order, Sandbox};
use tokio::net::TcpListener;

use self::door::Reach;
pub use self::run::Run;
use crate::config::Config;
use crate::egress::{self, Pass};
use crate::home::{Home, HomeError};

/// The configuration in effect. It is asked anew for everything, so that a reload counts for runs that are under way.
pub type Current = Arc<dyn Fn() -> Arc<Config> + Send + Sync>;

/// For whom programs run.
#[derive(Clone)]
pub struct Settings {
    /// The home they must not see.
    pub home: Home,
    /// What its configuration says.
    pub config: Current,
    /// Where its daemon listens, or would if it ran.
    pub daemon: SocketAddr,
}

/// Starts programs in sandboxes.
#[derive(Clone)]
pub struct Runs {
    nursery: Nursery,
    settings: Settings,
}

/// Why a program was not started. Every message is a clause that can follow "could not start NAME: ".
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The runner did not start it.
    #[error(transparent)]
    Runner(#[from] launch::StartError),
    /// The home is not fit for it.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// There is no token for it.
    #[error("there is no token for it: {}", .0.cause())]
    Token(Fault),
    /// What it connects to cannot be served.
    #[error("what it connects to cannot be served: {0}")]
    Doors(io::Error),
}

impl Runs {
    /// Programs of that nursery, for that home.
    pub fn new(nursery: Nursery, settings: Settings) -> Self {
        Self { nursery, settings }
    }

    /// The sandbox programs have here unless something else is said: the documented defaults, and no sight of the home.
    pub fn sandbox(&self) -> Sandbox {
        let root = self.settings.home.root();
        let real = root.canonicalize().ok().filter(|real| real != root);
        let mut sandbox = Sandbox::new(self.settings.home.scratch());
        sandbox.hidden = real.into_iter().chain([root.to_owned()]).collect();
        sandbox.required = (self.settings.config)().sandbox.required;
        sandbox
    }

    /// Starts a program, and comes back when it runs. What concerns this home is filled in where the order has a sandbox:
    /// its way to the daemon, where its scratch directory is made, what it must not see, and whether every promise must
    /// be kept, which the configuration can ask for and the order cannot take back.
    pub async fn start(&self, order: Order, scrub: Scrub) -> Result<Run, StartError> {
        self.start_heard(order, Errors { scrub, hear: None, aloud: false }).await
    }

    /// The same, with a word on what is done with its standard error.
    pub async fn start_heard(&self, order: Order, errors: Errors) -> Result<Run, StartError> {
        let token = token::from_random(random::bytes().map_err(StartError::Token)?);
        self.start_as(order, errors, &token).await
    }

    /// The same, for a program that shows this token at the daemon and at the proxy, if it is in a sandbox.
    pub async fn start_as(
        &self,
        mut order: Order,
        errors: Errors,
        token: &Secret,
    ) -> Result<Run, StartError> {
        let Some(sandbox) = &mut order.sandbox else {
            return Ok(Run::new(self.nursery.start_heard(order, errors).await?, None));
        };
        self.settings.home.prepare_runs()?;
        let ours = self.sandbox();
        sandbox.scratch = ours.scratch;
        sandbox.hidden.extend(ours.hidden);
        sandbox.required |= ours.required;
        let url = url(&(self.settings.config)(), self.settings.daemon, sandbox.network);
        sandbox.door = Some(Door { url, token: token.reveal().to_owned() });
        let name = order.name.clone();
        let mut child = self.nursery.start_heard(order, errors).await?;
        let serving = self.serve(&name, token, child.take_doors()).map_err(StartError::Doors)?;
        let ended = child.ended();
        let serving = tokio::spawn(async {
            tokio::select! {
                () = serving => {}
                () = ended => {}
            }
        });
        Ok(Run::new(child, Some(serving)))
    }

    /// Serves the listeners of one run for as long as this is polled.
    fn serve(
        &self,
        name: &str,
        token: &Secret,
        doors: Doors,
    ) -> io::Result<impl Future<Output = ()> + Send + use<>> {
        let config = Arc::clone(&self.settings.config);
        let pass = Pass::new(name, token, Arc::new(move |host| config().web.allows(host)));
        let reach = Reach {
            address: nearest(self.settings.daemon),
            home: self.settings.home.clone(),
            config: Arc::clone(&self.settings.config),
        };
        let door = doors.door.map(TcpListener::from_std).transpose()?;
        let proxy = doors.proxy.map(TcpListener::from_std).transpose()?;
        Ok(async move {
            let door = async {
                match door {
                    Some(listener) => door::serve(listener, reach).await,
                    None => pending().await,
                }
            };
            let proxy = async {
                match proxy {
                    Some(listener) => egress::serve(listener, pass).await,
                    None => pending().await,
                }
            };
            tokio::join!(door, proxy);
        })
    }
}

/// Where a program finds the daemon. In a network of its own only the port counts. Where it shares ours, and the daemon
/// speaks TLS, it needs the name that the certificate is for.
fn url(config: &Config, daemon: SocketAddr, network: Network) -> String {
    match (config.http.tls(), config.http.public_origin()) {
        (true, Some((scheme, host))) if network == Network::Full => format!("{scheme}://{host}"),
        (true, _) => format!("https://{}", nearest(daemon)),
        (false, _) => format!("http://{}", nearest(daemon)),
    }
}

/// The address on which this machine reaches something that listens there.
fn nearest(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The nursery of that home's daemon. What an earlier daemon of it, or a command, started and could not end itself is
/// ended first. Where that cannot be done, what is started now is not on record either.
pub(crate) async fn nursery(home: &Home, launcher: Launcher) -> Result<Nursery, HomeError> {
    home.prepare_runs()?;
    let (children, own) = (home.children(), launcher.clone());
    let opened = tokio::task::spawn_blocking(move || Nursery::with_ledger(own, &children));
    let error = match opened.await.map_err(io::Error::other) {
        Ok(Ok((nursery, swept))) => {
            if swept.runs > 0 {
                tracing::warn!(
                    target: "covenant", runs = swept.runs, processes = swept.processes,
                    "programs that an earlier start left running were ended"
                );
            }
            return Ok(nursery);
        }
        Ok(Err(error)) => error,
        Err(error) => LedgerError { path: home.children(), what: "swept", cause: error },
    };
    unswept(&error);
    Ok(Nursery::new(launcher))
}

fn unswept(error: &LedgerError) {
    tracing::warn!(target: "covenant", "programs of an earlier start may still run: {error}");
}
