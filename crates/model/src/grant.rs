//! A grant: who may do what, within which limits, until when, and who said so. Signed with the home's key.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::action::ActionPattern;
use crate::constraint::Constraints;
use crate::id::GrantId;
use crate::principal::Subject;
use crate::time::Timestamp;

/// Whether a person is asked before each call the grant covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// The grant alone suffices.
    #[default]
    None,
    /// A person decides on each exact call.
    Ask,
}

/// One grant, as it is stored, listed and signed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// What it is revoked by.
    pub id: GrantId,
    /// Whom it is for.
    pub subject: Subject,
    /// What it covers.
    pub action: ActionPattern,
    /// Within which limits; nothing where it is unlimited.
    #[serde(rename = "where")]
    pub constraints: Constraints,
    /// Whether a person is asked.
    pub approval: Approval,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// Who gave it.
    pub granted_by: String,
    /// When.
    pub granted_at: Timestamp,
}

/// A grant and the signature over [`Grant::signed_bytes`].
#[derive(Debug, Clone, PartialEq)]
pub struct SignedGrant {
    /// What was granted.
    pub grant: Grant,
    /// The public key it was signed with.
    pub key: [u8; 32],
    /// The signature.
    pub signature: [u8; 64],
}

impl Grant {
    /// The bytes a signature covers: a domain prefix and the grant's JSON in member order.
    pub fn signed_bytes(&self) -> Vec<u8> {
        let mut bytes = b"covenant grant v1\n".to_vec();
        bytes.extend(serde_json::to_vec(self).unwrap_or_default());
        bytes
    }

    /// Signs it.
    pub fn sign(self, key: &SigningKey) -> SignedGrant {
        let signature = key.sign(&self.signed_bytes()).to_bytes();
        SignedGrant { grant: self, key: key.verifying_key().to_bytes(), signature }
    }

    /// Whether it has ended by then.
    pub fn expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

impl SignedGrant {
    /// Whether one of these keys signed exactly this grant.
    pub fn is_signed_by(&self, trusted: &[VerifyingKey]) -> bool {
        trusted.iter().filter(|key| key.to_bytes() == self.key).any(|key| {
            key.verify_strict(&self.grant.signed_bytes(), &Signature::from_bytes(&self.signature)).is_ok()
        })
    }
}
