//! What the fleet of a daemon is made of: its gate, its programs, its couriers and its notes.

use std::sync::Arc;

use covenant_gate::Gate;
use covenant_mcp::fleet::{Fleet, Parts};

use super::notes::Notes;
use super::programs::Programs;
use crate::daemon::Environment;
use crate::home::Home;
use crate::outbound::courier::Dispatch;
use crate::runs::Runs;

/// What a fleet needs of its daemon.
pub(crate) struct Outfit<'a> {
    pub(crate) runs: Runs,
    pub(crate) home: &'a Home,
    pub(crate) gate: &'a Arc<Gate>,
    pub(crate) environment: &'a Environment,
}

impl Outfit<'_> {
    /// A fleet without servers.
    pub(crate) fn fleet(self) -> Arc<Fleet> {
        let (gate, home, environment) =
            (Arc::clone(self.gate), self.home.clone(), Arc::clone(self.environment));
        let notes = Notes::new(home.notes());
        let programs = Programs::new(self.runs, Arc::clone(&gate), home, environment);
        Fleet::new(Parts {
            gate,
            programs: Arc::new(programs),
            couriers: Arc::new(Dispatch),
            notes: Arc::new(notes),
        })
    }
}
