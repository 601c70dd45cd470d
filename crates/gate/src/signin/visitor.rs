//! Whoever comes with a cookie: the session it stands for, what they may ask in a while, and the word that their own pages know.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use covenant_model::token::{self, TokenHash};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::term::{Ground, LONG, Term};
use crate::authenticate::Caller;
use crate::gate::Gate;
use crate::limit::Bucket;
use crate::refusal::Fault;

/// How exactly it is known when a session was last used: each use would be a write otherwise.
const EXACTLY: Duration = Duration::from_mins(1);

/// Of how many sessions the buckets are kept. Beyond that those go that nobody uses at the moment.
const BUCKETS: usize = 10_000;

/// What makes the word of a session from its cookie, which nobody else has.
const CSRF: &[u8] = b"covenant: the word of this session\0";

/// What is known of those who sign in, beside what is stored.
#[derive(Debug, Default)]
pub(crate) struct Visitors {
    buckets: Mutex<HashMap<TokenHash, Arc<Bucket>>>,
    /// When a refusal was last written down.
    pub(super) refused: Bucket,
}

impl Visitors {
    fn bucket(&self, session: TokenHash) -> Arc<Bucket> {
        let mut buckets = self.buckets.lock();
        if buckets.len() >= BUCKETS {
            buckets.retain(|_, bucket| Arc::strong_count(bucket) > 1);
        }
        Arc::clone(buckets.entry(session).or_default())
    }
}

/// Somebody who is signed in.
#[derive(Debug, Clone)]
pub struct Visitor {
    caller: Caller,
    session: TokenHash,
    csrf: String,
}

impl Visitor {
    /// Who it is.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The word that a page of this session must say to change something.
    pub fn csrf(&self) -> &str {
        &self.csrf
    }

    /// Whether that is the word.
    pub fn is_word(&self, said: &str) -> bool {
        self.csrf.as_bytes().ct_eq(said.as_bytes()).into()
    }

    pub(super) fn session(&self) -> TokenHash {
        self.session
    }
}

impl Gate {
    /// Who shows that cookie there; none if it stands for no session, or for one that is over.
    pub async fn visitor(&self, cookie: &str, ground: Ground) -> Result<Option<Visitor>, Fault> {
        let Some(hash) = token::hash(cookie) else { return Ok(None) };
        let now = self.clock.now();
        let Some(session) = self.store.web_session(hash, now, now.minus(LONG.idle)).await? else {
            return Ok(None);
        };
        if Term::of(&session.principal, ground).is_over(&session, now) {
            return Ok(None);
        }
        if now.since(session.used_at) > EXACTLY {
            self.store.touch_web_session(hash, now).await?;
        }
        let caller = Caller::person(session.principal, self.visitors.bucket(hash));
        let word = Sha256::new().chain_update(CSRF).chain_update(cookie.as_bytes()).finalize();
        Ok(Some(Visitor { caller, session: hash, csrf: URL_SAFE_NO_PAD.encode(word) }))
    }
}
