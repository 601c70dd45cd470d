//! Whether a grant covers a call. No grant, no call; the most specific grant decides; among equals `ask` beats allow.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use covenant_model::grant::{Approval, Grant};
use covenant_model::id::{CallId, GrantId};
use covenant_model::principal::{Principal, Subject};
use covenant_model::time::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::authenticate::Caller;
use crate::call::trail::Trail;
use crate::gate::Gate;
use crate::mandate::not_in_manifest;
use crate::ports::{Allowance, Badge, GateStore, Reservation};
use crate::refusal::{CallError, Fault, Refusal};

/// Leave to run one tool once: authenticated, admitted, granted, validated, recorded. Only the gate makes one.
#[derive(Debug)]
pub struct Permit {
    principal: Principal,
    issuer: Principal,
    badge: Badge,
    call: CallId,
}

impl Permit {
    /// Who called.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// On whose behalf in the end: of a run, whoever had it sent, whose grants decided.
    pub fn issuer(&self) -> &Principal {
        &self.issuer
    }

    /// What its token knows of whoever asks.
    pub fn badge(&self) -> Badge {
        self.badge
    }

    /// For which call.
    pub fn call(&self) -> &CallId {
        &self.call
    }
}

/// A grant in memory, its signature already checked.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) grant: Grant,
    count: Mutex<Count>,
}

/// What is known of a counted grant without asking the store: good for lists, never for a decision.
#[derive(Debug, Default)]
struct Count {
    spent: bool,
    /// How many calls were given back: an answer from before the last one is out of date.
    given_back: u64,
}

impl Held {
    fn asks(&self) -> bool {
        self.grant.approval == Approval::Ask
    }

    /// Why this grant, which covers the action, does not apply. Without arguments: to any call of the tool. Whether
    /// its calls are used up is not asked here: only the store knows.
    fn hindrance(&self, arguments: Option<&Map<String, Value>>, now: Timestamp) -> Option<String> {
        if let Some(end) = self.grant.expires_at.filter(|_| self.grant.expired(now)) {
            return Some(format!("expired at {end}"));
        }
        let broken = self.grant.constraints.broken_by(arguments?)?;
        Some(format!("argument `{broken}` is outside what it allows"))
    }

    /// The same for someone who only looks, and asks no store: also what was used up when last heard of.
    fn foreseen(&self, arguments: Option<&Map<String, Value>>, now: Timestamp) -> Option<String> {
        let spent = self.grant.constraints.max_calls.filter(|_| self.count.lock().spent);
        let used_up = || spent.map(|calls| format!("its calls ({calls}) are used up"));
        self.hindrance(arguments, now).or_else(used_up)
    }

    fn allowance(&self) -> Allowance {
        let limits = &self.grant.constraints;
        let interval = limits.rate.map(|rate| Duration::from_secs_f64(1.0 / rate.clamp(1e-6, 1e6)));
        let burst = interval.map_or(1, |each| Duration::from_secs(1).as_nanos() / each.as_nanos().max(1));
        Allowance {
            max_calls: limits.max_calls,
            interval,
            burst: u32::try_from(burst).unwrap_or(u32::MAX).max(1),
        }
    }
}

/// Every valid grant, found by subject and action.
#[derive(Debug, Default)]
pub(crate) struct GrantSet {
    subjects: HashMap<Subject, Holdings>,
}

#[derive(Debug, Default)]
struct Holdings {
    exact: HashMap<Box<str>, Vec<Arc<Held>>>,
    patterns: Vec<Arc<Held>>,
}

impl GrantSet {
    /// The set of these grants, with those whose calls are used up.
    pub(crate) fn of(grants: impl IntoIterator<Item = Grant>, spent: &[GrantId]) -> Self {
        let mut set = Self::default();
        for grant in grants {
            let count = Mutex::new(Count { spent: spent.contains(&grant.id), given_back: 0 });
            let holdings = set.subjects.entry(grant.subject.clone()).or_default();
            let list = match grant.action.prefix() {
                None => holdings.exact.entry(grant.action.as_str().into()).or_default(),
                Some(_) => &mut holdings.patterns,
            };
            list.push(Arc::new(Held { grant, count }));
        }
        set
    }

    /// Every grant, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Held>> {
        self.subjects.values().flat_map(|held| held.exact.values().flatten().chain(&held.patterns))
    }

    /// The grants that cover that action for that principal, those that decide first in front.
    pub(crate) fn covering(&self, principal: &Principal, action: &str) -> Vec<&Arc<Held>> {
        let mut found: Vec<&Arc<Held>> = [Subject::One(principal.clone()), Subject::Any]
            .iter()
            .filter_map(|subject| self.subjects.get(subject))
            .flat_map(|held| {
                let patterns = held.patterns.iter().filter(|held| held.grant.action.covers(action));
                held.exact.get(action).into_iter().flatten().chain(patterns)
            })
            .collect();
        found.sort_by_key(|held| {
            (std::cmp::Reverse(held.grant.action.specificity()), !held.asks(), held.grant.granted_at)
        });
        found
    }

    /// Whether some call of that action could be allowed: what lists show.
    pub(crate) fn visible(&self, principal: &Principal, action: &str, now: Timestamp) -> bool {
        self.covering(principal, action).into_iter().any(|held| held.foreseen(None, now).is_none())
    }

    /// The grants that cover the action, with what hinders each.
    pub(crate) fn examine<'s>(
        &'s self,
        principal: &Principal,
        action: &str,
        arguments: Option<&Map<String, Value>>,
        now: Timestamp,
    ) -> Vec<(&'s Arc<Held>, Option<String>)> {
        let covering = self.covering(principal, action);
        covering.into_iter().map(|held| (held, held.foreseen(arguments, now))).collect()
    }
}

/// The grants that cover every action a call needs. What was taken from those that count is given back when this is
/// dropped before it became a [`Permit`]: refused, or left behind by a caller who went away.
pub(crate) struct Cleared<'g> {
    gate: &'g Gate,
    principal: Principal,
    issuer: Principal,
    badge: Badge,
    decided_by: Vec<Arc<Held>>,
}

impl Cleared<'_> {
    /// The grant that wants a person asked, if one does.
    pub(crate) fn asking(&self) -> Option<&Grant> {
        self.decided_by.iter().find(|held| held.asks()).map(|held| &held.grant)
    }

    /// Gives back what was taken, and waits until it is: the call was refused.
    pub(crate) async fn give_back(mut self) {
        for held in std::mem::take(&mut self.decided_by) {
            if held.grant.constraints.counted() {
                // The task ends whether we wait for it or not.
                let _ = give_back(self.gate.store.clone(), held).await;
            }
        }
    }

    /// Leave to run, once the start of the call is on record.
    pub(crate) fn into_permit(mut self, call: CallId) -> Permit {
        self.decided_by.clear();
        Permit { principal: self.principal.clone(), issuer: self.issuer.clone(), badge: self.badge, call }
    }
}

impl Drop for Cleared<'_> {
    fn drop(&mut self) {
        for held in self.decided_by.drain(..).filter(|held| held.grant.constraints.counted()) {
            drop(give_back(self.gate.store.clone(), held));
        }
    }
}

/// Gives a reserved call back, in a task of its own: nobody waits for it, and nobody can drop it.
fn give_back(store: Arc<dyn GateStore>, held: Arc<Held>) -> JoinHandle<()> {
    tokio::spawn(async move {
        match store.give_back(held.grant.id.clone(), held.allowance()).await {
            Ok(()) => {
                let mut count = held.count.lock();
                *count = Count { spent: false, given_back: count.given_back.wrapping_add(1) };
            }
            Err(fault) => {
                let cause = fault.cause();
                tracing::warn!(grant.id = %held.grant.id, cause, "a reserved call could not be given back");
            }
        }
    })
}

/// Takes one call from a counted grant. In a task of its own: if its caller goes away meanwhile, what it took is
/// given back.
async fn reserve(store: Arc<dyn GateStore>, held: Arc<Held>, now: Timestamp) -> Result<Reservation, Fault> {
    let (answer, wanted) = oneshot::channel();
    tokio::spawn(async move {
        let before = held.count.lock().given_back;
        let reserved = store.reserve(held.grant.id.clone(), held.allowance(), now).await;
        if matches!(reserved, Ok(Reservation::Spent | Reservation::TakenLast)) {
            let mut count = held.count.lock();
            count.spent |= count.given_back == before;
        }
        let taken = matches!(reserved, Ok(Reservation::Taken | Reservation::TakenLast));
        if answer.send(reserved).is_err() && taken {
            drop(give_back(store, held));
        }
    });
    wanted.await.unwrap_or_else(|_| Err(Fault::new("the daemon is stopping", "a reservation was dropped")))
}

impl Gate {
    /// Checks every action the call needs and notes each check on the trail.
    pub(crate) async fn clear<'g>(
        &'g self,
        caller: &Caller,
        required: &[&str],
        arguments: &Map<String, Value>,
        trail: &mut Trail<'_>,
    ) -> Result<Cleared<'g>, CallError> {
        let mut cleared = Cleared {
            gate: self,
            principal: caller.principal().clone(),
            issuer: caller.issuer().clone(),
            badge: caller.badge(),
            decided_by: Vec::with_capacity(1),
        };
        for action in required {
            match self.decide(caller, action, arguments).await {
                Ok(held) => {
                    trail.allowed(action, &held.grant.id);
                    cleared.decided_by.push(held);
                }
                Err(error) => {
                    trail.denied(action);
                    cleared.give_back().await;
                    return Err(error);
                }
            }
        }
        Ok(cleared)
    }

    /// Checks that the caller holds what a run will call on its behalf, and notes each check on the trail. Those calls are
    /// decided when they are made: here nothing is counted, nobody is asked, and no arguments are looked at.
    pub(crate) fn hold(
        &self,
        caller: &Caller,
        actions: &[&str],
        trail: &mut Trail<'_>,
    ) -> Result<(), CallError> {
        let grants = self.grants.load();
        for action in actions {
            let issuer = issuer(caller, action).inspect_err(|_| trail.denied(action))?;
            let found = grants.examine(issuer.principal(), action, None, self.clock.now());
            if let Some((held, _)) = found.iter().find(|(_, hindrance)| hindrance.is_none()) {
                trail.allowed(action, &held.grant.id);
                continue;
            }
            trail.denied(action);
            let near: Vec<_> =
                found.into_iter().filter_map(|(held, reason)| Some((held.clone(), reason?))).collect();
            return Err(not_granted(issuer.principal(), action, &near).into());
        }
        Ok(())
    }

    async fn decide(
        &self,
        caller: &Caller,
        action: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Arc<Held>, CallError> {
        let caller = issuer(caller, action)?;
        let now = self.clock.now();
        let grants = self.grants.load_full();
        let mut near = Vec::new();
        let mut wait: Option<Duration> = None;
        for held in grants.covering(caller.principal(), action) {
            if let Some(reason) = held.hindrance(Some(arguments), now) {
                near.push((held.clone(), reason));
            } else if !held.grant.constraints.counted() {
                return Ok(held.clone());
            } else {
                match reserve(self.store.clone(), held.clone(), now).await? {
                    Reservation::Taken | Reservation::TakenLast => return Ok(held.clone()),
                    Reservation::TooSoon(longer) => {
                        wait = Some(wait.map_or(longer, |other| other.min(longer)));
                    }
                    Reservation::Spent => near.push((held.clone(), "its calls are used up".to_owned())),
                }
            }
        }
        let refusal = match wait {
            Some(wait) => Refusal::RateLimited { wait },
            None => not_granted(caller.principal(), action, &near),
        };
        Err(refusal.into())
    }
}

/// Whose grants decide on that action for that caller: its own, or where it is a run whose manifest names it, its issuer's.
fn issuer<'c>(mut caller: &'c Caller, action: &str) -> Result<&'c Caller, Refusal> {
    while let Some(mandate) = caller.mandate() {
        if !mandate.names(action) {
            return Err(not_in_manifest(caller, action));
        }
        caller = mandate.issuer();
    }
    Ok(caller)
}

/// The refusal, naming the grants that almost allowed it.
fn not_granted(principal: &Principal, action: &str, near: &[(Arc<Held>, String)]) -> Refusal {
    let reasons: Vec<String> = near
        .iter()
        .take(3)
        .map(|(held, reason)| format!("{} covers it, but {reason}", held.grant.id))
        .collect();
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    Refusal::NotGranted { action: action.to_owned(), principal: principal.clone(), why }
}
