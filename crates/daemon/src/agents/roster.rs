//! The agents of this daemon: which there are, as tools in its gate, and what all of them share. Read at the start, and again when
//! the operator says so; runs that are under way stay as they are.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use covenant_gate::{Clock, Fault, Gate, Prepared, Tool};
use covenant_model::tool::ToolName;
use covenant_store::Store;
use covenant_tools::agent::account::HOUR;
use covenant_tools::agent::dispatch::{Agent, House};
use parking_lot::{Mutex, RwLock};

use super::base58;
use super::catalogue::{BadManifest, Catalogue};
use super::quarters::Quarters;
use crate::daemon::{Environment, Settings};
use crate::home::Home;
use crate::runs::Runs;

/// What is said of intents that a daemon left behind.
const LEFT: &str = "Error: the daemon ended while this was under way; send it again";

/// What agents need of their daemon.
pub(crate) struct Outfit<'a> {
    pub(crate) runs: Runs,
    pub(crate) gate: &'a Arc<Gate>,
    pub(crate) home: &'a Home,
    pub(crate) memory: PathBuf,
    pub(crate) store: &'a Arc<Store>,
    pub(crate) chain: &'a str,
    /// The home's public key.
    pub(crate) key: [u8; 32],
    pub(crate) settings: &'a Arc<RwLock<Settings>>,
    pub(crate) environment: &'a Environment,
    pub(crate) clock: &'a Arc<dyn Clock>,
}

/// The agents there are.
pub(crate) struct Roster {
    /// What they share: what is under way, and what was used.
    pub(crate) house: Arc<House>,
    home: Home,
    read: Mutex<Read>,
    /// Held while manifests are read, so that an older reading does not come last.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Read {
    catalogue: Arc<Catalogue>,
    tools: BTreeSet<ToolName>,
}

impl Roster {
    /// Without agents.
    pub(crate) fn new(outfit: Outfit<'_>) -> Self {
        let quarters = Quarters {
            runs: outfit.runs,
            gate: Arc::downgrade(outfit.gate),
            home: outfit.home.clone(),
            memory: outfit.memory,
            store: Arc::clone(outfit.store),
            chain: outfit.chain.to_owned(),
            settings: Arc::clone(outfit.settings),
            environment: Arc::clone(outfit.environment),
        };
        let pubkey = base58::text(&outfit.key);
        let house = House::new(Arc::new(quarters), Arc::clone(outfit.clock), pubkey);
        Self {
            house,
            home: outfit.home.clone(),
            read: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
        }
    }

    /// The agents as they were read last.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.read.lock().catalogue)
    }

    /// Reads the manifests and puts their agents into the gate, in place of those there were.
    pub(crate) async fn read(&self, gate: &Gate) -> Result<Arc<Catalogue>, Fault> {
        let _alone = self.reading.lock().await;
        let home = self.home.clone();
        let scan = tokio::task::spawn_blocking(move || Catalogue::scan(&home)).await;
        let mut catalogue = scan.map_err(|error| Fault::new("the daemon is stopping", error))?;
        let mut prepared = Vec::new();
        for manifest in &catalogue.agents {
            let Some(agent) = Agent::new(Arc::clone(manifest), &self.house) else { continue };
            match Prepared::new(Arc::new(agent) as Arc<dyn Tool>) {
                Ok(tool) => prepared.push(tool),
                Err(reason) => tracing::error!(target: "agent", agent = manifest.id, "{reason}"),
            }
        }
        let mut names: BTreeSet<ToolName> = prepared.iter().map(|tool| tool.name().clone()).collect();
        let before = self.read.lock().tools.clone();
        for (name, reason) in gate.exchange_tools(&before, prepared) {
            // Not ours to take out next time.
            names.remove(&name);
            // Servers cannot have such names, and two agents were told apart when they were read.
            let is_it = |agent: &Arc<covenant_model::manifest::Manifest>| agent.tool() == name.as_str();
            if let Some(place) = catalogue.agents.iter().position(is_it) {
                let agent = catalogue.agents.remove(place);
                let problems = vec![format!("{}: {reason}", agent.file.display())];
                catalogue.bad.push(BadManifest { file: agent.file.clone(), problems });
            }
        }
        let catalogue = Arc::new(catalogue);
        *self.read.lock() = Read { catalogue: Arc::clone(&catalogue), tools: names };
        Ok(catalogue)
    }

    /// Takes up where an earlier daemon of this home ended: what it left behind is over, and what was used counts.
    pub(crate) async fn take_up(&self, store: &Store, chain: &str, clock: &dyn Clock) -> Result<(), Fault> {
        let now = clock.now();
        let left = store.interrupt_intents(chain, now, LEFT).await?;
        if !left.is_empty() {
            tracing::warn!(target: "agent", intents = left.len(), "intents that an earlier daemon left behind are over");
        }
        for receipt in store.receipts_since(now.minus(HOUR)).await? {
            self.house.account.charge(&receipt.agent, receipt.credits, receipt.settled_at);
        }
        Ok(())
    }
}
