//! Whom a name belongs to. A prefix belongs to the first server that has it; a name without a prefix to the first that
//! ever listed it. First is meant in the order of the configuration, however fast another one answers, and for as long as
//! the server is configured, also while it offers nothing: whoever is refused a name gets it by a person's change only.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use covenant_model::server::{Prefix, offered, reserved};
use covenant_model::tool::ToolName;

use super::intake::Taken;
use super::status::Wanted;

/// How many names are kept of one server: more than one list can hold.
const MOST: usize = 4096;

/// A configured server, as far as names go.
pub(super) struct Place {
    name: Arc<str>,
    /// Nothing where its entry cannot be used.
    terms: Option<Terms>,
}

/// What an entry says of names.
struct Terms {
    prefix: Prefix,
    include: Vec<String>,
    exclude: Vec<String>,
}

impl Place {
    pub(super) fn of(wanted: &Wanted) -> Self {
        let terms = wanted.plan.as_ref().ok().map(|plan| Terms {
            prefix: plan.prefix.clone(),
            include: plan.include.clone(),
            exclude: plan.exclude.clone(),
        });
        Self { name: wanted.name.as_str().into(), terms }
    }
}

/// A server that names belong to.
struct Holder {
    rank: usize,
    terms: Terms,
    /// Every name it ever listed, where it has no prefix, with what it calls the tool itself.
    names: HashMap<ToolName, String>,
}

impl Holder {
    /// The server of that rank and name; of what it listed before, the names that its entry still lets it have.
    fn of(rank: usize, name: &str, terms: Option<Terms>, before: Option<Self>) -> Self {
        let (was, names) = before.map(|before| (before.terms, before.names)).unzip();
        // Who cannot be used for now holds what it held, or would.
        let terms = terms.or(was).unwrap_or_else(|| Terms {
            prefix: Prefix::of(name, None).unwrap_or(Prefix::None),
            include: Vec::new(),
            exclude: Vec::new(),
        });
        let bare = terms.prefix == Prefix::None;
        let mut names = names.unwrap_or_default();
        names.retain(|_, own| bare && offered(&terms.include, &terms.exclude, own));
        Self { rank, terms, names }
    }
}

/// Whom each name belongs to.
#[derive(Default)]
pub(super) struct Claims {
    /// The servers, those that come first in front.
    order: Vec<Arc<str>>,
    of: HashMap<Arc<str>, Holder>,
    /// By prefix: whose it is.
    prefixes: HashMap<String, Arc<str>>,
    /// By name without a prefix: the rank of the server whose it is.
    owners: HashMap<ToolName, usize>,
}

impl Claims {
    /// Those are the servers from now on, in that order.
    pub(super) fn arrange(&mut self, places: Vec<Place>) {
        let mut before = std::mem::take(&mut self.of);
        self.order.clear();
        self.prefixes.clear();
        self.owners.clear();
        for (rank, Place { name: server, terms }) in places.into_iter().enumerate() {
            let holder = Holder::of(rank, &server, terms, before.remove(&server));
            if let Prefix::Named(prefix) = &holder.terms.prefix {
                self.prefixes.entry(prefix.clone()).or_insert_with(|| Arc::clone(&server));
            }
            for name in holder.names.keys() {
                self.owners.entry(name.clone()).or_insert(rank);
            }
            self.order.push(Arc::clone(&server));
            self.of.insert(server, holder);
        }
    }

    /// The servers, in order.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.order.iter()
    }

    /// That server lists those tools. Whether it is configured at all.
    pub(super) fn claim(&mut self, server: &str, tools: &[Taken]) -> bool {
        let Some(holder) = self.of.get_mut(server) else { return false };
        if holder.terms.prefix != Prefix::None {
            return true;
        }
        for taken in tools {
            let name = taken.prepared.name();
            if holder.names.len() < MOST && !holder.names.contains_key(name) {
                holder.names.insert(name.clone(), taken.tool.own.clone());
                match self.owners.entry(name.clone()) {
                    Entry::Occupied(mut owner) => *owner.get_mut() = holder.rank.min(*owner.get()),
                    Entry::Vacant(free) => drop(free.insert(holder.rank)),
                }
            }
        }
        true
    }

    /// Why that server may not have that name; nothing where it may.
    pub(super) fn refused(&self, server: &str, name: &ToolName) -> Option<String> {
        let holder = self.of.get(server)?;
        match &holder.terms.prefix {
            Prefix::Named(prefix) => {
                let owner = self.prefixes.get(prefix).filter(|owner| ***owner != *server)?;
                let rest = "give this one another with `prefix`";
                Some(format!("the prefix `{prefix}` belongs to the server `{owner}`: {rest}"))
            }
            Prefix::None => reserved(name.as_str()).or_else(|| self.taken(holder, name)),
        }
    }

    /// Why a server without a prefix may not have that name, of which others have something.
    fn taken(&self, holder: &Holder, name: &ToolName) -> Option<String> {
        let rest = "set `prefix` in the entry of this server";
        // A prefix has no `_`: what stands before the first two is the only one that may fit.
        let under =
            name.as_str().split_once("__").and_then(|(prefix, _)| self.prefixes.get_key_value(prefix));
        if let Some((prefix, owner)) = under {
            return Some(format!(
                "the prefix of `{name}`, `{prefix}`, belongs to the server `{owner}`: {rest}"
            ));
        }
        match self.owners.get(name).and_then(|rank| self.order.get(*rank)) {
            Some(owner) if self.order.get(holder.rank) != Some(owner) => {
                Some(format!("the name `{name}` belongs to the server `{owner}`: {rest}"))
            }
            _ if !holder.names.contains_key(name) => {
                Some(format!("it had {MOST} other names before, the most that are kept of a server: {rest}"))
            }
            _ => None,
        }
    }
}
