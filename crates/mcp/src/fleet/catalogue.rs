//! What each server lists, and what of that is in the gate's registry. Whom a name belongs to is said by [`Claims`]; who
//! does not get one is told, and nothing is ever hidden.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use covenant_gate::registry::NotRegistered;
use covenant_gate::{Gate, Prepared};
use covenant_model::server::{RefusedTool, built_in};
use covenant_model::tool::ToolName;
use parking_lot::Mutex;

use super::claims::{Claims, Place};
use super::intake::{Intake, Taken, refusal};
use super::server::Server;
use crate::upstream::scrub::Scrub;

/// The tools of all servers.
pub(super) struct Catalogue {
    gate: Arc<Gate>,
    scrub: Scrub,
    stock: Mutex<Stock>,
}

#[derive(Default)]
struct Stock {
    claims: Claims,
    of: HashMap<Arc<str>, Rack>,
    /// What is in the registry.
    given: BTreeMap<ToolName, Prepared>,
}

/// The tools of one server.
#[derive(Default)]
struct Rack {
    /// Which server of that name they are of: the one before it may still finish its calls.
    owner: u64,
    intake: Intake,
    /// Those whose name a tool of our own has.
    blocked: HashMap<ToolName, String>,
    listed: Vec<ToolName>,
    collided: Vec<RefusedTool>,
}

/// What a server offers, and what not.
#[derive(Default)]
pub(super) struct Offer {
    pub(super) tools: Vec<String>,
    pub(super) refused: Vec<RefusedTool>,
}

impl Catalogue {
    pub(super) fn new(gate: Arc<Gate>) -> Arc<Self> {
        let scrub = Scrub::of(&gate);
        Arc::new(Self { gate, scrub, stock: Mutex::default() })
    }

    /// Those servers there are, in that order, and those are gone with their tools.
    pub(super) fn arrange(&self, places: Vec<Place>, gone: &[Arc<Server>]) {
        let mut stock = self.stock.lock();
        stock.of.retain(|_, rack| gone.iter().all(|server| server.id != rack.owner));
        stock.claims.arrange(places);
        stock.settle(&self.gate, &self.scrub);
    }

    /// Whether that server has said what it has, now or before.
    pub(super) fn knows(&self, server: &Server) -> bool {
        self.stock.lock().of.get(&server.name).is_some_and(|rack| rack.owner == server.id)
    }

    /// What was taken of a server's list before.
    pub(super) fn taken(&self, server: &Server) -> Vec<Taken> {
        let stock = self.stock.lock();
        let rack = stock.of.get(&server.name).filter(|rack| rack.owner == server.id);
        rack.map(|rack| rack.intake.tools.clone()).unwrap_or_default()
    }

    /// The server has those tools now. One that is gone has none.
    pub(super) fn put(&self, server: &Server, intake: Intake) {
        let mut stock = self.stock.lock();
        if !server.gone.is_cancelled() && stock.claims.claim(&server.name, &intake.tools) {
            let rack = stock.of.entry(Arc::clone(&server.name)).or_default();
            rack.owner = server.id;
            rack.intake = intake;
            let names: BTreeSet<_> =
                rack.intake.tools.iter().map(|taken| taken.prepared.name().clone()).collect();
            rack.blocked.retain(|name, _| names.contains(name));
            stock.settle(&self.gate, &self.scrub);
        }
    }

    /// The server offers nothing; the names of those tools are its own all the same.
    pub(super) fn claim(&self, server: &Server, intake: &Intake) {
        let mut stock = self.stock.lock();
        if !server.gone.is_cancelled() && stock.claims.claim(&server.name, &intake.tools) {
            stock.settle(&self.gate, &self.scrub);
        }
    }

    /// The server offers nothing, for now. Its names stay its own.
    pub(super) fn clear(&self, server: &Server) {
        let mut stock = self.stock.lock();
        if stock.of.get(&server.name).is_some_and(|rack| rack.owner == server.id) {
            stock.of.remove(&server.name);
            stock.settle(&self.gate, &self.scrub);
        }
    }

    /// What a server offers now.
    pub(super) fn offer(&self, server: &str) -> Offer {
        let stock = self.stock.lock();
        let Some(rack) = stock.of.get(server) else { return Offer::default() };
        let tools = rack.listed.iter().map(ToString::to_string).collect();
        Offer { tools, refused: [&*rack.intake.refused, &*rack.collided].concat() }
    }
}

impl Stock {
    /// Works out who has which name, and gives the registry what is different from before.
    fn settle(&mut self, gate: &Gate, scrub: &Scrub) {
        let mut next: BTreeMap<ToolName, (Prepared, Arc<str>)> = BTreeMap::new();
        for server in self.claims.servers() {
            let Some(rack) = self.of.get_mut(server) else { continue };
            rack.collided.clear();
            for taken in &rack.intake.tools {
                let name = taken.prepared.name();
                let blocked = rack.blocked.get(name).cloned();
                match blocked.or_else(|| self.claims.refused(server, name)) {
                    Some(reason) => rack.collided.push(refusal(scrub, &taken.tool.own, &reason)),
                    None => drop(next.insert(name.clone(), (taken.prepared.clone(), Arc::clone(server)))),
                }
            }
        }
        self.exchange(gate, scrub, &mut next);
        for rack in self.of.values_mut() {
            rack.listed.clear();
        }
        for (name, (_, server)) in &next {
            if let Some(rack) = self.of.get_mut(server) {
                rack.listed.push(name.clone());
            }
        }
        self.given = next.into_iter().map(|(name, (prepared, _))| (name, prepared)).collect();
    }

    fn exchange(&mut self, gate: &Gate, scrub: &Scrub, next: &mut BTreeMap<ToolName, (Prepared, Arc<str>)>) {
        let same = |name: &ToolName, prepared: &Prepared| {
            self.given.get(name).is_some_and(|given| given.is(prepared))
        };
        let stays = |(name, given): &(&ToolName, &Prepared)| {
            next.get(*name).is_some_and(|(prepared, _)| prepared.is(given))
        };
        let out: BTreeSet<ToolName> =
            self.given.iter().filter(|given| !stays(given)).map(|(name, _)| name.clone()).collect();
        let new = next.iter().filter(|(name, (prepared, _))| !same(name, prepared));
        let new: Vec<Prepared> = new.map(|(_, (prepared, _))| prepared.clone()).collect();
        if out.is_empty() && new.is_empty() {
            return;
        }
        for (name, reason) in gate.exchange_tools(&out, new) {
            let Some((_, server)) = next.remove(&name) else { continue };
            let Some(rack) = self.of.get_mut(&server) else { continue };
            let reason = match reason {
                NotRegistered::Taken(name) => built_in(name.as_str()),
                reason @ NotRegistered::Schema { .. } => reason.to_string(),
            };
            let own = rack.intake.tools.iter().find(|taken| *taken.prepared.name() == name);
            if let Some(taken) = own {
                rack.collided.push(refusal(scrub, &taken.tool.own, &reason));
            }
            rack.blocked.insert(name, reason);
        }
    }
}
