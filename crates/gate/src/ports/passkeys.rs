//! The passkeys of people: what is kept of each, and how many one may have.

use covenant_model::id::DeveloperId;
use covenant_model::team::Handle;
use covenant_model::time::Timestamp;

use super::Answer;

/// How many passkeys one of them has at most.
pub const MOST: usize = 20;

/// A passkey that somebody made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPasskey {
    /// What it is known by, here and on its device.
    pub id: Vec<u8>,
    /// Its public key, as the device wrote it.
    pub key: Vec<u8>,
    /// How often it was used, by its own word; zero if it does not count.
    pub counter: u32,
}

/// A passkey as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    /// What it is known by.
    pub id: Vec<u8>,
    /// Its public key, as the device wrote it.
    pub key: Vec<u8>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When somebody last signed in with it.
    pub used_at: Option<Timestamp>,
}

/// What became of adding a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is kept.
    Done,
    /// There is one of that id, of whomever.
    Taken,
    /// They have as many as one may have.
    Full,
    /// They were removed.
    Gone,
}

/// What became of removing a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It is no more.
    Done,
    /// They have none of that id.
    Unknown,
    /// It stays: they could not sign in without it.
    Last,
}

/// Passkeys.
pub trait Passkeys: Send + Sync {
    /// The passkey of that id, and whose it is; nobody's who was removed.
    fn passkey(&self, id: Vec<u8>) -> Answer<'_, Option<(Handle, DeveloperId, Passkey)>>;
    /// Theirs, oldest first.
    fn passkeys(&self, developer: DeveloperId) -> Answer<'_, Vec<Passkey>>;
    /// Keeps another one of theirs.
    fn add_passkey(&self, developer: DeveloperId, passkey: NewPasskey, at: Timestamp) -> Answer<'_, Added>;
    /// Removes one of theirs, unless it is their only way in.
    fn remove_passkey(&self, developer: DeveloperId, id: Vec<u8>) -> Answer<'_, Removed>;
}
