//! The passkeys of somebody who is signed in: which they have, another one, one less. Each change is a row.

use std::fmt::Write as _;

use covenant_model::audit::Kind;
use covenant_model::id::DeveloperId;
use covenant_model::principal;
use covenant_model::team::{Developer, Handle};

use super::Visitor;
use crate::gate::Gate;
use crate::ports::passkeys::{Added, NewPasskey, Passkey, Removed};
use crate::refusal::Fault;

/// Whoever may have passkeys, and those they have.
#[derive(Debug)]
pub struct Keyring {
    /// Whose they are.
    pub developer: Developer,
    /// Theirs, oldest first.
    pub passkeys: Vec<Passkey>,
}

impl Gate {
    /// The passkey of that id, and whose it is.
    pub async fn passkey(&self, id: Vec<u8>) -> Result<Option<(Handle, DeveloperId, Passkey)>, Fault> {
        self.store.passkey(id).await
    }

    /// The passkeys of somebody who is signed in. The operator has none: whoever reaches the socket needs none, and a key that
    /// opens everything should not lie about.
    pub async fn keyring(&self, visitor: &Visitor) -> Result<Option<Keyring>, Fault> {
        let who = visitor.caller().principal();
        if who.kind() != principal::Kind::Developer {
            return Ok(None);
        }
        let Some(developer) = self.developer_of(who).await? else { return Ok(None) };
        let passkeys = self.store.passkeys(developer.id.clone()).await?;
        Ok(Some(Keyring { developer, passkeys }))
    }

    /// Keeps another passkey of somebody who is signed in.
    pub async fn add_passkey(&self, visitor: &Visitor, made: NewPasskey) -> Result<Added, Fault> {
        let Some(Keyring { developer, .. }) = self.keyring(visitor).await? else { return Ok(Added::Gone) };
        let known_by = beginning(&made.id);
        let added = self.store.add_passkey(developer.id, made, self.clock.now()).await?;
        if added == Added::Done {
            let who = visitor.caller().principal();
            self.record_own_way(who, Kind::PasskeyAdded, Some(&known_by)).await?;
        }
        Ok(added)
    }

    /// Removes a passkey of somebody who is signed in.
    pub async fn remove_passkey(&self, visitor: &Visitor, id: Vec<u8>) -> Result<Removed, Fault> {
        let Some(Keyring { developer, .. }) = self.keyring(visitor).await? else {
            return Ok(Removed::Unknown);
        };
        let known_by = beginning(&id);
        let removed = self.store.remove_passkey(developer.id, id).await?;
        if removed == Removed::Done {
            let who = visitor.caller().principal();
            self.record_own_way(who, Kind::PasskeyRemoved, Some(&known_by)).await?;
        }
        Ok(removed)
    }
}

/// The beginning of an id, by which people tell their passkeys apart.
pub fn beginning(id: &[u8]) -> String {
    id.iter().take(4).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
