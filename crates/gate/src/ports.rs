//! What the gate needs kept: tokens, grants with their counters, and calls that wait for a person.
//!
//! `store` implements these on both databases. "Not found" is `Ok(None)` or `Ok(false)`, never an error.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use covenant_model::grant::SignedGrant;
use covenant_model::id::{ApprovalId, GrantId, TokenId};
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_model::token::TokenHash;

use crate::refusal::Fault;

/// An answer from the store.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// A token as it is kept: everything but the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// What it is revoked by.
    pub id: TokenId,
    /// The hash it is recognised by.
    pub hash: TokenHash,
    /// Whom it speaks for.
    pub principal: Principal,
    /// What a person called it.
    pub label: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stopped being valid.
    pub revoked_at: Option<Timestamp>,
}

/// Tokens of every kind of principal.
pub trait Tokens: Send + Sync {
    /// All of them, revoked ones included, oldest first.
    fn tokens(&self) -> Answer<'_, Vec<TokenRecord>>;
    /// Keeps a new one. `false` if its principal already holds one with that label that is not revoked.
    fn add_token(&self, record: TokenRecord) -> Answer<'_, bool>;
    /// Ends every valid token of that principal; how many those were.
    fn revoke_tokens(&self, principal: Principal, at: Timestamp) -> Answer<'_, u64>;
}

/// What a counted grant allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// Calls in all.
    pub max_calls: Option<u64>,
    /// The least time between two calls, from the grant's `rate`.
    pub interval: Option<Duration>,
    /// How many calls may come at once under `rate`.
    pub burst: u32,
}

/// What a counted grant answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// One call is taken from it, durably, and it has more.
    Taken,
    /// One call is taken from it, durably: the last.
    TakenLast,
    /// Its calls are used up.
    Spent,
    /// It allows no call before that has passed.
    TooSoon(Duration),
}

/// Signed grants, and the counters of those that have a limit.
pub trait Grants: Send + Sync {
    /// Every grant that was not revoked, oldest first.
    fn grants(&self) -> Answer<'_, Vec<SignedGrant>>;
    /// Keeps a new one.
    fn add_grant(&self, grant: SignedGrant) -> Answer<'_, ()>;
    /// Revokes it; `false` if there is none with that id that was not revoked.
    fn revoke_grant(&self, id: GrantId, at: Timestamp) -> Answer<'_, bool>;
    /// Takes one call from a counted grant: exact under concurrency, across daemons and restarts.
    fn reserve(&self, id: GrantId, allowance: Allowance, now: Timestamp) -> Answer<'_, Reservation>;
    /// The grants whose calls are used up.
    fn spent_grants(&self) -> Answer<'_, Vec<GrantId>>;
    /// Gives one call back that was reserved and did not start.
    fn give_back(&self, id: GrantId, allowance: Allowance) -> Answer<'_, ()>;
}

/// A call that a grant wants a person asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallToApprove {
    /// What it will be decided by, if it is new.
    pub id: ApprovalId,
    /// Binds principal, grant, tool definition and arguments.
    pub digest: [u8; 32],
    /// Which tool.
    pub tool: String,
    /// Who calls.
    pub principal: Principal,
    /// Which grant asks.
    pub grant: GrantId,
    /// The whole call as a person will see it, redacted.
    pub view: String,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it stops waiting.
    pub expires_at: Timestamp,
}

/// What became of a call that needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// It waits under that id, newly or since earlier.
    Pending(ApprovalId),
    /// This principal has too many waiting.
    Full,
}

/// Calls that wait for a person.
pub trait Approvals: Send + Sync {
    /// Keeps one pending entry per digest, and at most `limit` per principal; expired ones do not count.
    fn ask(&self, call: CallToApprove, limit: u32) -> Answer<'_, Asked>;
}

/// All that the gate needs kept.
pub trait GateStore: Tokens + Grants + Approvals {}

impl<T: Tokens + Grants + Approvals> GateStore for T {}
