//! What the gate needs kept: tokens, grants with their counters, and what waits for a person.
//!
//! `store` implements these on both databases. "Not found" is `Ok(None)` or `Ok(false)`, never an error.

pub mod passkeys;
pub mod people;
pub mod signin;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use covenant_model::approval::{Approval, ApprovalKind};
use covenant_model::grant::SignedGrant;
use covenant_model::id::{ApprovalId, GrantId, TokenId};
use covenant_model::principal::{AgentType, Principal};
use covenant_model::time::Timestamp;
use covenant_model::token::TokenHash;

use self::passkeys::Passkeys;
use self::people::People;
use self::signin::SignIns;
use crate::refusal::Fault;

/// An answer from the store.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// What a token knows of who holds it, beside whom it speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Badge {
    /// The agent it was made for; it overrides what an agent says of itself.
    pub agent_type: Option<AgentType>,
    /// Whether its holder's word counts where a person is asked.
    pub may_approve: bool,
}

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
    /// What it knows of who holds it.
    pub badge: Badge,
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
    /// Ends one token; `false` if there is none with that id that is valid.
    fn revoke_token(&self, id: TokenId, at: Timestamp) -> Answer<'_, bool>;
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

/// Something a person is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What it will be decided by, if it is new.
    pub id: ApprovalId,
    /// What sort of thing it is.
    pub kind: ApprovalKind,
    /// Binds everything the decision is about. For a call: principal, grant, tool definition and arguments.
    pub digest: [u8; 32],
    /// What people know it by: of a text its own hash, of a call the digest, which is keyed.
    pub sha256: [u8; 32],
    /// The tool, or the name of the text.
    pub name: String,
    /// On whose behalf it is asked.
    pub principal: Principal,
    /// Which grant asks, if one does.
    pub grant: Option<GrantId>,
    /// The whole of it as a person will see it, redacted.
    pub view: String,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it stops waiting.
    pub expires_at: Timestamp,
}

/// How something that needs a person stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// It waits under that id, newly or since earlier.
    Pending {
        /// The entry.
        id: ApprovalId,
        /// Whether another text of the same name was approved before.
        modified: bool,
    },
    /// A person approved it.
    Approved(ApprovalId),
    /// A person rejected it.
    Rejected {
        /// The entry.
        id: ApprovalId,
        /// Why, if they said.
        reason: Option<String>,
    },
    /// This principal has too many waiting.
    Full,
}

/// An entry as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// What people see of it.
    pub entry: Approval,
    /// The whole of what was asked. Of a call it is kept until nobody can decide or use it any more.
    pub view: String,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it may.
    pub approve: bool,
    /// Who says so.
    pub by: String,
    /// Why, where they say it.
    pub reason: Option<String>,
    /// Whether it may change what was decided about a text before.
    pub revise: bool,
    /// When.
    pub at: Timestamp,
}

/// What became of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// It counts.
    Done(Approval),
    /// Somebody was quicker, or it no longer waits: how it stands.
    Already(Approval),
    /// There is no such entry.
    Missing,
}

/// What waits for a person, and what people decided.
pub trait Approvals: Send + Sync {
    /// How it stands. Where nobody was asked yet it is queued: one pending entry per digest, and at most `limit` per
    /// principal; expired ones do not count.
    fn ask(&self, question: Question, limit: u32) -> Answer<'_, Asked>;
    /// How something stands, without asking anyone.
    fn standing(
        &self,
        kind: ApprovalKind,
        name: String,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<Asked>>;
    /// What waits, oldest first; and before it, newest last, what was decided, if that is wanted.
    fn approvals(&self, decided: bool, now: Timestamp) -> Answer<'_, Vec<Approval>>;
    /// One entry, and the text of the same name that was approved last before it.
    fn approval(
        &self,
        id: ApprovalId,
        now: Timestamp,
    ) -> Answer<'_, Option<(ApprovalRecord, Option<ApprovalRecord>)>>;
    /// Takes a person's word for an entry that waits. Of two at once, one counts.
    fn decide(&self, id: ApprovalId, verdict: Verdict) -> Answer<'_, Decided>;
    /// Takes back a question that nobody was told of, if it still waits.
    fn withdraw(&self, id: ApprovalId) -> Answer<'_, ()>;
    /// Takes back the word that was given at that time: the entry waits again. A call that was rejected has nothing left
    /// to be shown: it expires, and is asked anew.
    fn reopen(&self, id: ApprovalId, decided_at: Timestamp) -> Answer<'_, ()>;
    /// Uses up the approval of one call; `false` if it was used already, or has expired.
    fn use_up(&self, id: ApprovalId, now: Timestamp) -> Answer<'_, bool>;
}

/// All that the gate needs kept.
pub trait GateStore: Tokens + Grants + Approvals + People + SignIns + Passkeys {}

impl<T: Tokens + Grants + Approvals + People + SignIns + Passkeys> GateStore for T {}
