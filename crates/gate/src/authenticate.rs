//! Who is calling: a credential becomes a caller, anew on every request, so that a revocation takes effect at once.

use std::collections::HashMap;
use std::sync::Arc;

use covenant_model::audit::{Decision, Event, Kind};
use covenant_model::principal::Principal;
use covenant_model::token::{self, TokenHash};
use subtle::ConstantTimeEq as _;

use crate::gate::Gate;
use crate::limit::{Bucket, elapsed};
use crate::ports::TokenRecord;
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
}

impl Caller {
    /// Who it is.
    pub fn principal(&self) -> &Principal {
        &self.principal
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
            let caller = Caller { principal: record.principal.clone(), bucket };
            table.by_start.entry(start(&record.hash)).or_default().push(Known { hash: record.hash, caller });
        }
        table
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
                Some(Caller { principal: Principal::operator(), bucket: credential.bucket.clone() })
            }
            Shown::Token(hash) => self.tokens.load().find(&hash).cloned(),
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
