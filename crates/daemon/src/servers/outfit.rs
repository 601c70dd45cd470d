//! What the fleet of a daemon is made of: its gate, its programs, its couriers and its notes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use covenant_gate::Gate;
use covenant_mcp::fleet::{Fleet, Parts};
use covenant_runner::nursery::Nursery;
use parking_lot::RwLock;

use super::notes::Notes;
use super::programs::Programs;
use crate::daemon::{Environment, Settings};
use crate::home::Home;
use crate::outbound::courier::Dispatch;
use crate::runs::{self, Runs};

/// What a fleet needs of its daemon.
pub(crate) struct Outfit<'a> {
    pub(crate) nursery: Nursery,
    pub(crate) home: &'a Home,
    pub(crate) settings: &'a Arc<RwLock<Settings>>,
    pub(crate) listen: &'a [SocketAddr],
    pub(crate) gate: &'a Arc<Gate>,
    pub(crate) environment: &'a Environment,
}

impl Outfit<'_> {
    /// A fleet without servers.
    pub(crate) fn fleet(self) -> Arc<Fleet> {
        let (gate, home, environment) =
            (Arc::clone(self.gate), self.home.clone(), Arc::clone(self.environment));
        let notes = Notes::new(home.notes());
        let programs = Programs::new(self.runs(), Arc::clone(&gate), home, environment);
        Fleet::new(Parts {
            gate,
            programs: Arc::new(programs),
            couriers: Arc::new(Dispatch),
            notes: Arc::new(notes),
        })
    }

    /// What starts programs: for this home, by its configuration in effect.
    fn runs(self) -> Runs {
        let settings = Arc::clone(self.settings);
        let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, 8421));
        let settings = runs::Settings {
            home: self.home.clone(),
            config: Arc::new(move || Arc::clone(&settings.read().config)),
            daemon: self.listen.first().copied().unwrap_or(usual),
        };
        Runs::new(self.nursery, settings)
    }
}
