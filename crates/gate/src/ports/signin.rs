//! How people sign in: single-use codes, what they show, and the sessions of browsers.

use covenant_model::id::DeveloperId;
use covenant_model::principal::Principal;
use covenant_model::team::Handle;
use covenant_model::time::Timestamp;
use covenant_model::token::TokenHash;

use super::Answer;
use super::passkeys::NewPasskey;

/// What a code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeKind {
    /// It signs the operator in, from the command line.
    Link,
    /// Whoever has it chooses how they sign in.
    Invite,
}

impl CodeKind {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Invite => "invite",
        }
    }
}

/// A code as it is kept: everything but the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCode {
    /// What it is recognised by.
    pub hash: TokenHash,
    /// What it is for.
    pub kind: CodeKind,
    /// Who is signed in by it.
    pub principal: Principal,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops being valid.
    pub expires_at: Timestamp,
}

/// How a code stands, or what became of using it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeState {
    /// It is that one's; or it was, until now.
    Good(Principal),
    /// Somebody has used it.
    Used,
    /// It was not used in time.
    Expired,
    /// There is no such code, or none any more.
    Unknown,
    /// What was chosen with it is somebody else's. Nothing was used up.
    Taken,
}

/// A session as it is kept: everything but the cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSession {
    /// What it is recognised by.
    pub hash: TokenHash,
    /// Who is signed in.
    pub principal: Principal,
    /// Since when.
    pub created_at: Timestamp,
    /// When it was last used, or a little before.
    pub used_at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
}

/// A session that begins now, of whoever turns out to begin it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// What it will be recognised by.
    pub hash: TokenHash,
    /// When it begins.
    pub at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
}

/// What a code is used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redeeming {
    /// To sign in.
    Link,
    /// To choose how one signs in from now on, and in no other way; and to sign in.
    Invite(Chosen),
}

/// How somebody wants to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// By that password, as it is kept.
    Password(String),
    /// As who they are to a provider.
    Identity(Identity),
    /// By that passkey.
    Passkey(NewPasskey),
}

/// Who somebody is to a provider of identities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The provider.
    pub issuer: String,
    /// What it calls them, and nobody else, ever.
    pub subject: String,
}

/// What somebody showed who is to be signed in, as far as it may have changed since it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// Their password, as it was kept.
    Password(String),
    /// Who they are to a provider.
    Identity(Identity),
    /// A passkey of theirs, and what it has counted.
    Passkey {
        /// What it is known by.
        id: Vec<u8>,
        /// How often it was used, by its own word; zero if it does not count.
        counter: u32,
    },
}

/// What became of a session that was to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// It has begun.
    Done,
    /// They were removed, or what they showed is theirs no more.
    Gone,
    /// Their passkey has counted less than before: there are two of it.
    CountedBack,
}

/// How people sign in.
pub trait SignIns: Send + Sync {
    /// Keeps a code. Invites of the same one end with it that nobody has used. `false` if there is no such developer.
    fn add_code(&self, code: NewCode) -> Answer<'_, bool>;
    /// How that code stands; using nothing up.
    fn code(&self, hash: TokenHash, kind: CodeKind, now: Timestamp) -> Answer<'_, CodeState>;
    /// Uses a code, and begins a session with it; both or neither. Of many who use one, one does. Who chooses how they sign in ends
    /// every other session of theirs, every other way in, and every token that no agent has.
    fn redeem(&self, hash: TokenHash, using: Redeeming, session: Beginning) -> Answer<'_, CodeState>;
    /// What is kept of somebody's password.
    fn password(&self, developer: DeveloperId) -> Answer<'_, Option<String>>;
    /// Whom a provider calls that; nobody who was removed.
    fn person(&self, identity: Identity) -> Answer<'_, Option<Handle>>;
    /// Begins a session, if what they showed is theirs still. Of a passkey it is kept what it has counted.
    fn begin_session(&self, principal: Principal, proof: Proof, session: Beginning) -> Answer<'_, Opening>;
    /// The session of that hash, if it is not over and was used since then.
    fn web_session(
        &self,
        hash: TokenHash,
        now: Timestamp,
        idle_since: Timestamp,
    ) -> Answer<'_, Option<WebSession>>;
    /// Says when a session was last used.
    fn touch_web_session(&self, hash: TokenHash, at: Timestamp) -> Answer<'_, ()>;
    /// Ends a session; `false` if it was over.
    fn end_web_session(&self, hash: TokenHash, at: Timestamp) -> Answer<'_, bool>;
    /// Ends every session of that one, and every code of theirs that nobody has used; how many sessions those were.
    fn end_web_sessions(&self, principal: Principal, at: Timestamp) -> Answer<'_, u64>;
}
