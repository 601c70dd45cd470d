//! Signed statements about a log: a checkpoint fixes it up to a row, a tombstone says which rows were pruned.
//!
//! What is signed is a short text of its own, never the line: members can be reordered, a text cannot.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::hex;
use super::row::Hash;
use crate::time::Timestamp;

/// Why a signed line proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadMark {
    /// The line is not one.
    #[error("the line is neither a checkpoint nor a tombstone")]
    Shape,
    /// Its key is not one of those we were told to trust.
    #[error("it is signed with a key that is not trusted")]
    Untrusted,
    /// The signature is not that key's over this content.
    #[error("its signature is not valid")]
    Signature,
}

/// The whole log up to one row, in one hash, signed after those rows were on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CheckpointLine", into = "CheckpointLine")]
pub struct Checkpoint {
    /// The last row it covers.
    pub seq: u64,
    /// That row's hash.
    pub hash: Hash,
    /// When it was signed.
    pub ts: Timestamp,
    /// The oldest row of a call that was still running, or `seq`: where recovery after a crash starts to read.
    pub open_from: u64,
    /// The public key, in hexadecimal.
    pub key: String,
    /// The Ed25519 signature, in hexadecimal.
    pub sig: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointLine {
    checkpoint: CheckpointContent,
    key: String,
    sig: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointContent {
    seq: u64,
    hash: Hash,
    ts: Timestamp,
    open_from: u64,
}

impl From<CheckpointLine> for Checkpoint {
    fn from(line: CheckpointLine) -> Self {
        let CheckpointContent { seq, hash, ts, open_from } = line.checkpoint;
        Self { seq, hash, ts, open_from, key: line.key, sig: line.sig }
    }
}

impl From<Checkpoint> for CheckpointLine {
    fn from(mark: Checkpoint) -> Self {
        let Checkpoint { seq, hash, ts, open_from, key, sig } = mark;
        Self { checkpoint: CheckpointContent { seq, hash, ts, open_from }, key, sig }
    }
}

impl Checkpoint {
    /// What its line begins with.
    pub const BEGIN: &'static [u8] = b"{\"checkpoint\":";

    /// Signs that the log up to row `seq` has that hash.
    pub fn sign(key: &SigningKey, seq: u64, hash: Hash, ts: Timestamp, open_from: u64) -> Self {
        let mut mark = Self { seq, hash, ts, open_from, key: public(key), sig: String::new() };
        mark.sig = signature(key, &mark.signed());
        mark
    }

    fn signed(&self) -> String {
        let Self { seq, hash, ts, open_from, .. } = self;
        format!("covenant audit checkpoint v1\n{seq}\n{hash}\n{ts}\n{open_from}\n")
    }

    /// Whether one of those keys signed it.
    pub fn verify(&self, trusted: &[VerifyingKey]) -> Result<(), BadMark> {
        verify(&self.key, &self.sig, &self.signed(), trusted)
    }

    /// Reads a line.
    pub fn read(line: &[u8]) -> Result<Self, BadMark> {
        serde_json::from_slice(line).map_err(|_| BadMark::Shape)
    }

    /// Its line, without a line end.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// That the rows before one row were removed, and which hash stood at the cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TombstoneLine", into = "TombstoneLine")]
pub struct Tombstone {
    /// The first row that is kept; it may not be written yet.
    pub first_kept: u64,
    /// The hash of the row before it.
    pub prev: Hash,
    /// How many rows this cut removed.
    pub rows: u64,
    /// When.
    pub ts: Timestamp,
    /// The public key, in hexadecimal.
    pub key: String,
    /// The Ed25519 signature, in hexadecimal.
    pub sig: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TombstoneLine {
    tombstone: TombstoneContent,
    key: String,
    sig: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TombstoneContent {
    first_kept: u64,
    prev: Hash,
    rows: u64,
    ts: Timestamp,
}

impl From<TombstoneLine> for Tombstone {
    fn from(line: TombstoneLine) -> Self {
        let TombstoneContent { first_kept, prev, rows, ts } = line.tombstone;
        Self { first_kept, prev, rows, ts, key: line.key, sig: line.sig }
    }
}

impl From<Tombstone> for TombstoneLine {
    fn from(mark: Tombstone) -> Self {
        let Tombstone { first_kept, prev, rows, ts, key, sig } = mark;
        Self { tombstone: TombstoneContent { first_kept, prev, rows, ts }, key, sig }
    }
}

impl Tombstone {
    /// What its line begins with.
    pub const BEGIN: &'static [u8] = b"{\"tombstone\":";

    /// Signs that the rows before `first_kept` were removed.
    pub fn sign(key: &SigningKey, first_kept: u64, prev: Hash, rows: u64, ts: Timestamp) -> Self {
        let mut mark = Self { first_kept, prev, rows, ts, key: public(key), sig: String::new() };
        mark.sig = signature(key, &mark.signed());
        mark
    }

    fn signed(&self) -> String {
        let Self { first_kept, prev, rows, ts, .. } = self;
        format!("covenant audit tombstone v1\n{first_kept}\n{prev}\n{rows}\n{ts}\n")
    }

    /// Whether one of those keys signed it.
    pub fn verify(&self, trusted: &[VerifyingKey]) -> Result<(), BadMark> {
        verify(&self.key, &self.sig, &self.signed(), trusted)
    }

    /// Reads a line.
    pub fn read(line: &[u8]) -> Result<Self, BadMark> {
        serde_json::from_slice(line).map_err(|_| BadMark::Shape)
    }

    /// Its line, without a line end.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn public(key: &SigningKey) -> String {
    hex::text(key.verifying_key().as_bytes())
}

fn signature(key: &SigningKey, text: &str) -> String {
    hex::text(&key.sign(text.as_bytes()).to_bytes())
}

/// The key in the line only says which trusted key to try: by itself it proves nothing.
fn verify(key: &str, sig: &str, text: &str, trusted: &[VerifyingKey]) -> Result<(), BadMark> {
    let key: [u8; 32] = hex::read(key).ok_or(BadMark::Shape)?;
    let sig: [u8; 64] = hex::read(sig).ok_or(BadMark::Shape)?;
    let trusted = trusted.iter().find(|trusted| trusted.as_bytes() == &key).ok_or(BadMark::Untrusted)?;
    trusted.verify_strict(text.as_bytes(), &Signature::from_bytes(&sig)).map_err(|_| BadMark::Signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_bytes(&[byte; 32])
    }

    #[test]
    fn a_checkpoint_survives_its_line_and_has_the_documented_shape() {
        let mark = Checkpoint::sign(&key(1), 9, Hash::ZERO, Timestamp::from_millis(7), 4);
        let line = mark.line();
        assert!(line.as_bytes().starts_with(Checkpoint::BEGIN));
        assert!(line.contains(r#""ts":"1970-01-01T00:00:00.007Z","open_from":4},"key":""#), "{line}");
        assert_eq!(Checkpoint::read(line.as_bytes()), Ok(mark.clone()));
        assert_eq!(mark.verify(&[key(2).verifying_key(), key(1).verifying_key()]), Ok(()));
    }

    #[test]
    fn only_trusted_keys_and_their_own_signatures_count() {
        let mark = Checkpoint::sign(&key(1), 9, Hash::ZERO, Timestamp::from_millis(7), 4);
        let trusted = [key(1).verifying_key()];
        assert_eq!(mark.verify(&[key(2).verifying_key()]), Err(BadMark::Untrusted));
        let forged =
            Checkpoint { key: mark.key.clone(), ..Checkpoint::sign(&key(2), 9, mark.hash, mark.ts, 4) };
        assert_eq!(forged.verify(&trusted), Err(BadMark::Signature));
        for changed in [
            Checkpoint { seq: 10, ..mark.clone() },
            Checkpoint { open_from: 5, ..mark.clone() },
            Checkpoint { ts: Timestamp::from_millis(8), ..mark.clone() },
        ] {
            assert_eq!(changed.verify(&trusted), Err(BadMark::Signature));
        }
    }

    #[test]
    fn a_tombstone_is_not_taken_for_a_checkpoint() {
        let mark = Tombstone::sign(&key(1), 9, Hash::ZERO, 8, Timestamp::from_millis(7));
        assert_eq!(Tombstone::read(mark.line().as_bytes()), Ok(mark.clone()));
        assert_eq!(mark.verify(&[key(1).verifying_key()]), Ok(()));
        assert_eq!(Checkpoint::read(mark.line().as_bytes()), Err(BadMark::Shape));
        let moved = Tombstone { first_kept: 5, ..mark };
        assert_eq!(moved.verify(&[key(1).verifying_key()]), Err(BadMark::Signature));
    }
}
