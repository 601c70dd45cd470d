//! What a run from the command line stands on: the home it must not see, the ledger it is written into, and the daemon it
//! would speak to, whether or not one runs.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use covenant_daemon::config::{Config, Overrides};
use covenant_daemon::runs::{Runs, Settings};
use covenant_model::api::Status;
use covenant_runner::nursery::{Launcher, Nursery};

use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::setting::Setting;

/// Where a daemon is expected that takes any free port and does not run.
const PORT: u16 = 8421;

/// The configuration in effect. What is odd about it, `covenant doctor` says.
pub(super) fn config(setting: &Setting) -> Result<Config, Failure> {
    let loaded = Config::load(&setting.home, &Overrides::from_environment());
    loaded.map(|loaded| loaded.config).map_err(|error| Failure::told(Exit::Usage, &error))
}

/// Runs for this home.
pub(super) fn runs(setting: &Setting, config: &Config) -> Result<Runs, Failure> {
    let home = setting.home.clone();
    let failed = |error: &dyn std::fmt::Display| Failure::told(Exit::Failed, &error);
    home.prepare_runs().map_err(|error| failed(&error))?;
    let kept = Nursery::with_ledger(Launcher::own(), &home.children());
    let (nursery, _) = kept.map_err(|error| failed(&error))?;
    let daemon = daemon(setting, config);
    let config = Arc::new(config.clone());
    Ok(Runs::new(nursery, Settings { home, config: Arc::new(move || Arc::clone(&config)), daemon }))
}

/// Where the daemon listens, or would. None is started for it.
pub(super) fn daemon(setting: &Setting, config: &Config) -> SocketAddr {
    let configured = config.http.addresses().into_iter().find(|address| address.port() != 0);
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    running(setting).or(configured).unwrap_or(usual)
}

/// Where a daemon that runs listens; a port that was any free one is known only to it.
fn running(setting: &Setting) -> Option<SocketAddr> {
    let client = Client::new(&setting.home.socket().ok()?, None).ok()?;
    if !client.is_served().ok()? {
        return None;
    }
    let status: Status = client.get("/api/v1/status").ok()?;
    status.listen.iter().find_map(|address| address.parse().ok())
}
