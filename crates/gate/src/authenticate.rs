//! Who is calling: a credential becomes a caller, anew on every request, so that a revocation takes effect at once.

use std::collections::HashMap;
use std::sync::Arc;

use covenant_model::audit::{Decision, Event, Kind};
use covenant_model::id::CallId;
use covenant_model::principal::Principal;
use covenant_model::token::{self, TokenHash};
use subtle::ConstantTimeEq as _;

use crate::gate::Gate;
use crate::limit::{Bucket, elapsed};
use crate::mandate::Mandate;
use crate::ports::{Badge, TokenRecord};
use crate::refusal::Refusal;

/// What someone showed when connecting. Make one per connection or session: it holds that connection's bucket.
#[derive(Debug, Clone)]
pub struct Credential {
    shown: Shown,
    bucket: Arc<Bucket>,
}

#[derive(Debug, Clone, Copy)]
enum Shown {
    Nothing,
    PeerUid(u32),
    Token(TokenHash),
}

impl Credential {
    /// A program at the other end of our Unix socket, with the uid the kernel reports.
    pub fn peer(uid: u32) -> Self {
        Self { shown: Shown::PeerUid(uid), bucket: Arc::default() }
    }

    /// A bearer token. The text itself is not kept.
    pub fn bearer(text: &str) -> Self {
        let shown = token::hash(text).map_or(Shown::Nothing, Shown::Token);
        Self { shown, bucket: Arc::default() }
    }

    /// Nothing was shown.
    pub fn none() -> Self {
        Self { shown: Shown::Nothing, bucket: Arc::default() }
    }
}

/// Someone whose credential was recognised.
#[derive(Debug, Clone)]
pub struct Caller {
    principal: Principal,
    pub(crate) bucket: Arc<Bucket>,
    mandate: Option<Arc<Mandate>>,
    badge: Badge,
}

impl Caller {
    /// A run of that agent.
    pub(crate) fn mandated(agent: Principal, mandate: Arc<Mandate>) -> Self {
        Self { principal: agent, bucket: Arc::default(), mandate: Some(mandate), badge: Badge::default() }
    }

    /// Somebody who is signed in, with the bucket of their session.
    pub(crate) fn person(principal: Principal, bucket: Arc<Bucket>) -> Self {
        Self { principal, bucket, mandate: None, badge: Badge::default() }
    }

    /// Who it is.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Who acts by it in the end: itself, or where it is a run, whoever had the first of the runs sent that led to it.
    pub fn issuer(&self) -> &Principal {
        let mut caller = self;
        while let Some(mandate) = &caller.mandate {
            caller = mandate.issuer();
        }
        &caller.principal
    }

    /// What its token knows of it.
    pub fn badge(&self) -> Badge {
        self.badge
    }

    /// The same, spoken for by whoever showed its token among the arguments of a call: the person before that one is not
    /// the person before this one.
    pub(crate) fn spoken_for(mut self) -> Self {
        self.badge.may_approve = false;
        self
    }

    /// Whether it is a run that is over: nothing is done for it any more, whatever it began to ask for.
    pub fn is_over(&self) -> bool {
        self.mandate.as_ref().is_some_and(|mandate| mandate.over.is_cancelled())
    }

    /// Comes back when the run that it is is over; never for anyone else.
    pub async fn over(&self) {
        match &self.mandate {
            Some(mandate) => mandate.over.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// The dispatch it is a run of, if it is one.
    pub fn dispatch(&self) -> Option<&CallId> {
        self.mandate.as_ref().map(|mandate| &mandate.call)
    }

    /// Whether that is the same one, and not another run of the same agent.
    pub fn is(&self, other: &Self) -> bool {
        self.principal == other.principal && self.dispatch() == other.dispatch()
    }

    /// On whose behalf it acts, if it is a run of an agent.
    pub(crate) fn mandate(&self) -> Option<&Arc<Mandate>> {
        self.mandate.as_ref()
    }
}

/// The valid tokens, found by the first bytes of their hash and compared in constant time.
#[derive(Debug, Default)]
pub(crate) struct TokenTable {
    by_start: HashMap<u64, Vec<Known>>,
}

#[derive(Debug, Clone)]
struct Known {
    hash: TokenHash,
    caller: Caller,
}

fn start(hash: &TokenHash) -> u64 {
    hash.0.first_chunk().map_or(0, |start| u64::from_le_bytes(*start))
}

impl TokenTable {
    /// The table of those records that are not revoked. Buckets of `older` are kept: a reload refills nobody's.
    pub(crate) fn of<'r>(records: impl IntoIterator<Item = &'r TokenRecord>, older: &Self) -> Self {
        let mut table = Self::default();
        for record in records.into_iter().filter(|record| record.revoked_at.is_none()) {
            let bucket = older.find(&record.hash).map_or_else(Arc::default, |known| known.bucket.clone());
            let principal = record.principal.clone();
            table.insert(record.hash, Caller { principal, bucket, mandate: None, badge: record.badge });
        }
        table
    }

    pub(crate) fn insert(&mut self, hash: TokenHash, caller: Caller) {
        self.by_start.entry(start(&hash)).or_default().push(Known { hash, caller });
    }

    pub(crate) fn remove(&mut self, hash: &TokenHash) {
        let Some(known) = self.by_start.get_mut(&start(hash)) else { return };
        known.retain(|known| known.hash.0 != hash.0);
        if known.is_empty() {
            self.by_start.remove(&start(hash));
        }
    }

    /// Whether a token of that principal has it approve.
    pub(crate) fn may_approve(&self, principal: &Principal) -> bool {
        let mut known = self.by_start.values().flatten();
        known.any(|known| known.caller.principal == *principal && known.caller.badge.may_approve)
    }

    fn find(&self, hash: &TokenHash) -> Option<&Caller> {
        let candidates = self.by_start.get(&start(hash))?;
        candidates.iter().find(|known| known.hash.0.ct_eq(&hash.0).into()).map(|known| &known.caller)
    }
}

impl Gate {
    /// Says who shows that credential.
    pub fn authenticate(&self, credential: &Credential) -> Result<Caller, Refusal> {
        let caller = match credential.shown {
            Shown::PeerUid(uid) if uid == self.operator_uid => {
                let bucket = credential.bucket.clone();
                Some(Caller {
                    principal: Principal::operator(),
                    bucket,
                    mandate: None,
                    badge: Badge::default(),
                })
            }
            Shown::Token(hash) => {
                let known = self.tokens.load().find(&hash).cloned();
                known.or_else(|| self.runs.read().find(&hash).filter(|run| !run.is_over()).cloned())
            }
            Shown::PeerUid(_) | Shown::Nothing => None,
        };
        caller.ok_or_else(|| {
            if self.strangers.worth_reporting(elapsed(self.opened)) {
                let event = Event::new("stranger", "gate", Kind::Unauthenticated, Decision::Refused);
                self.audit().owe(event, &self.redactor());
            }
            self.meter.refused(&Refusal::Unauthenticated);
            Refusal::Unauthenticated
        })
    }
}
