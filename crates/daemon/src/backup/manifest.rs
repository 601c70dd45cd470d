//! The list at the end of an archive: what it is, what it was made of, and every entry with its hash.

use covenant_model::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The form that this program writes, and the only one it reads.
pub(super) const FORMAT: u32 = 1;

/// What is in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The form of the archive.
    pub format: u32,
    /// The version of Covenant that made it.
    pub covenant: String,
    /// When.
    pub created_at: Timestamp,
    /// Which database its own was copied from, without credentials; none if there was none yet.
    pub database: Option<String>,
    /// The version of the tables in it.
    pub schema: Option<u32>,
    /// The public key of the home, which signed its grants and its log; none if it had none yet.
    pub public_key: Option<String>,
    /// Everything else in the archive, in its order, but the sealed part.
    pub entries: Vec<Listed>,
    /// How the sealed part was sealed, where there is one.
    pub sealed: Option<Sealed>,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    /// Its path in the archive.
    pub path: String,
    /// Who may do what with it.
    pub mode: u32,
    /// How many bytes it has.
    pub size: u64,
    /// The SHA-256 of its content; of a directory, none.
    pub sha256: Option<String>,
}

/// How keys and secrets were sealed: Argon2id makes a key of the passphrase, ChaCha20-Poly1305 seals with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// How much memory making the key takes, in KiB.
    pub memory_kib: u32,
    /// How often that memory is gone through.
    pub passes: u32,
    /// How many lanes it has.
    pub lanes: u32,
    /// Goes into the key, in hexadecimal digits.
    pub salt: String,
    /// Goes into the seal, in hexadecimal digits.
    pub nonce: String,
    /// How many bytes the sealed part has.
    pub size: u64,
    /// Its SHA-256.
    pub sha256: String,
}

impl Manifest {
    /// What the sealed part is bound to: everything that the manifest says but how it was sealed.
    pub(super) fn binding(&self) -> [u8; 32] {
        let open = Self { sealed: None, ..self.clone() };
        Sha256::digest(serde_json::to_vec(&open).unwrap_or_default()).into()
    }

    /// How many bytes all its files have.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.size).sum()
    }

    /// How many files are in it, beside the sealed ones.
    pub fn files(&self) -> usize {
        self.entries.iter().filter(|entry| entry.sha256.is_some()).count()
    }
}
