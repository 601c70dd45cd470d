//! What a run of an agent may do: what its manifest names, and of that what its issuer may at that moment.
//!
//! A run is a caller of its own, with a token that is kept in memory alone and ends with the run. It holds no grants: each of its
//! calls is decided by those of its issuer, who may itself be a run.

use std::sync::{Arc, Weak};

use covenant_model::action::ActionPattern;
use covenant_model::id::CallId;
use covenant_model::principal::{Kind, Principal};
use covenant_model::secret::Secret;
use covenant_model::token::{self, TokenHash};
use tokio_util::sync::CancellationToken;

use crate::authenticate::Caller;
use crate::context::Context;
use crate::gate::Gate;
use crate::random;
use crate::refusal::{Fault, Refusal};
use crate::registry::Entry;

/// On whose behalf a run acts, and how far that goes.
#[derive(Debug)]
pub(crate) struct Mandate {
    issuer: Caller,
    scope: Vec<ActionPattern>,
    /// The dispatch: calls of the run are recorded as made within it.
    pub(crate) call: CallId,
    /// How many calls and dispatches there are around what it does.
    pub(crate) depth: u32,
    /// Cancelled when the run is over, or one on whose behalf it acts.
    pub(crate) over: CancellationToken,
}

impl Mandate {
    pub(crate) fn issuer(&self) -> &Caller {
        &self.issuer
    }

    /// Whether its manifest names that action.
    pub(crate) fn names(&self, action: &str) -> bool {
        self.scope.iter().any(|pattern| pattern.as_str() == action || pattern.covers(action))
    }
}

/// A run that may call. To drop this ends its token, and whatever it still calls.
#[derive(Debug)]
pub struct Mandated {
    token: Secret,
    hash: TokenHash,
    gate: Weak<Gate>,
    over: CancellationToken,
}

impl Mandated {
    /// What the run shows.
    pub fn token(&self) -> &Secret {
        &self.token
    }
}

impl Drop for Mandated {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.upgrade() {
            gate.runs.write().remove(&self.hash);
            self.over.cancel();
            // Whoever listens as this run is asked anew who they are.
            gate.announce();
        }
    }
}

impl Context {
    /// Lets a run of that agent call on behalf of whoever made this call, within that scope, until what comes back is dropped.
    pub fn mandate(&self, agent: &Principal, scope: Vec<ActionPattern>) -> Result<Mandated, Fault> {
        let (gate, issuer) = self.seated()?;
        let call = self.call_id().cloned();
        let call = call.ok_or_else(|| Fault::new("the call has not begun", "a mandate outside a call"))?;
        let token = token::from_random(random::bytes()?);
        let hash = token::hash(token.reveal());
        let hash = hash.ok_or_else(|| Fault::new("a token could not be made", "its shape is wrong"))?;
        // What a run has others do ends with it.
        let over = issuer.mandate().map_or_else(CancellationToken::new, |mandate| mandate.over.child_token());
        let depth = self.depth() + 1;
        let mandate = Mandate { issuer: issuer.clone(), scope, call, depth, over: over.clone() };
        gate.runs.write().insert(hash, Caller::mandated(agent.clone(), Arc::new(mandate)));
        Ok(Mandated { token, hash, gate: gate.own.clone(), over })
    }
}

impl Gate {
    /// Whether that caller could be allowed that action now: what lists show, and what is noted of optional actions.
    pub(crate) fn foresees(&self, caller: &Caller, action: &str) -> bool {
        match caller.mandate() {
            Some(mandate) => mandate.names(action) && self.foresees(mandate.issuer(), action),
            None if self.dispatches(caller, action) => true,
            None => self.grants.load().visible(caller.principal(), action, self.clock.now()),
        }
    }

    /// Whether that is to send an agent something, which the operator may without a grant.
    fn dispatches(&self, caller: &Caller, action: &str) -> bool {
        let agent =
            || action.strip_prefix("tool.call.").and_then(|name| self.tools.load().find(name).cloned());
        caller.principal().kind() == Kind::Operator && agent().is_some_and(|entry| entry.dispatch.is_some())
    }

    /// Whether that caller sees a tool of that name in its lists.
    pub fn is_offered(&self, caller: &Caller, name: &str) -> bool {
        self.tools.load().find(name).is_some_and(|entry| self.shows(caller, entry))
    }

    /// Whether that caller sees that tool in its lists.
    pub(crate) fn shows(&self, caller: &Caller, entry: &Entry) -> bool {
        Self::needs(caller, entry)
            .is_ok_and(|needed| needed.iter().all(|action| self.foresees(caller, action)))
    }

    /// What that caller must hold for that tool. To dispatch an agent is the operator's without a grant, also through runs of
    /// theirs whose manifests name it; anyone else must hold that as well.
    pub(crate) fn needs<'e>(caller: &Caller, entry: &'e Entry) -> Result<Vec<&'e str>, Refusal> {
        let mut needed: Vec<&str> = entry.required.iter().map(String::as_str).collect();
        let Some(dispatch) = &entry.dispatch else { return Ok(needed) };
        let mut issuer = caller;
        while let Some(mandate) = issuer.mandate() {
            if !mandate.names(dispatch) {
                return Err(not_in_manifest(issuer, dispatch));
            }
            issuer = mandate.issuer();
        }
        if issuer.principal().kind() != Kind::Operator {
            needed.push(dispatch);
        }
        Ok(needed)
    }
}

/// The refusal of what a manifest does not name.
pub(crate) fn not_in_manifest(caller: &Caller, action: &str) -> Refusal {
    Refusal::NotInManifest { action: action.to_owned(), principal: caller.principal().clone() }
}
