//! Keys and secrets under a passphrase: what makes a key of it, and what the seal is bound to.

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use covenant_model::secret::Secret;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::archive::BadArchive;
use super::manifest::{Manifest, Sealed};
use super::tar::Writer;
use super::untar::{Kind, Reader};
use super::{BackupError, MOST_SEALED, hex};

/// The fewest characters of a passphrase.
pub const SHORTEST_PASSPHRASE: usize = 8;

/// What a key costs to make, for us and for whoever tries passphrases.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
/// What an archive may make us spend.
const MOST_MEMORY_KIB: u32 = 256 * 1024;
const MOST_PASSES: u32 = 10;
const MOST_LANES: u32 = 4;

/// A file that is sealed, by its path in the archive.
pub(super) struct SecretFile {
    pub(super) path: String,
    pub(super) content: Zeroizing<Vec<u8>>,
}

/// What was sealed, open again.
pub struct Unsealed(pub(super) Vec<SecretFile>);

impl fmt::Debug for Unsealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unsealed").field(&self.0.len()).finish()
    }
}

/// Seals files under a passphrase, bound to the rest of the manifest: how, and the sealed bytes.
pub(super) fn seal(
    files: &[SecretFile],
    passphrase: &Secret,
    manifest: &Manifest,
) -> Result<(Sealed, Vec<u8>), BackupError> {
    let odd = |what: &'static str| move || BackupError::Seal(format!("{what} failed"));
    let random = |_| BackupError::Seal("the system gave no random bytes".to_owned());
    let salt = covenant_gate::random::bytes::<16>().map_err(random)?;
    let nonce = covenant_gate::random::bytes::<12>().map_err(random)?;
    let mut tar = Writer::new(Vec::new(), manifest.created_at.millis() / 1000);
    for file in files {
        let size = u64::try_from(file.content.len()).unwrap_or(u64::MAX);
        let added = tar.file(&file.path, 0o600, size, file.content.as_slice());
        added.map_err(|error| BackupError::Seal(error.to_string()))?;
    }
    let bytes = tar.finish().map_err(|error| BackupError::Seal(error.to_string()))?;
    let mut bytes = Zeroizing::new(bytes);
    let mut sealed = Sealed {
        memory_kib: MEMORY_KIB,
        passes: PASSES,
        lanes: 1,
        salt: hex(&salt),
        nonce: hex(&nonce),
        size: 0,
        sha256: String::new(),
    };
    let key = key(passphrase, &sealed).ok_or_else(odd("making a key"))?;
    let bound = Aad::from(manifest.binding());
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut *bytes)
        .map_err(|_| odd("sealing")())?;
    sealed.size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    sealed.sha256 = hex(&Sha256::digest(bytes.as_slice()));
    Ok((sealed, bytes.to_vec()))
}

/// Opens what was sealed.
pub(super) fn unseal(bytes: &[u8], passphrase: &Secret, manifest: &Manifest) -> Result<Unsealed, BadArchive> {
    let sealed = manifest.sealed.as_ref().ok_or(BadArchive::NothingSealed)?;
    let strange = || BadArchive::Strange("it does not say how its keys were sealed".to_owned());
    let key = key(passphrase, sealed).ok_or_else(strange)?;
    let nonce = from_hex::<12>(&sealed.nonce).ok_or_else(strange)?;
    let mut bytes = Zeroizing::new(bytes.to_vec());
    let bound = Aad::from(manifest.binding());
    let opened = key.open_in_place(Nonce::assume_unique_for_key(nonce), bound, &mut bytes);
    let opened = opened.map_err(|_| BadArchive::WrongPassphrase)?;
    let length = u64::try_from(opened.len()).unwrap_or(u64::MAX);
    let mut reader = Reader::new(&*opened, length);
    let mut files = Vec::new();
    while let Some(entry) = reader.next()? {
        let (content, _) = reader.small(&entry, MOST_SEALED)?;
        if entry.kind == Kind::Directory {
            return Err(strange());
        }
        files.push(SecretFile { path: entry.path, content: Zeroizing::new(content) });
    }
    Ok(Unsealed(files))
}

fn key(passphrase: &Secret, sealed: &Sealed) -> Option<LessSafeKey> {
    let Sealed { memory_kib, passes, lanes, .. } = *sealed;
    if memory_kib > MOST_MEMORY_KIB || passes > MOST_PASSES || lanes > MOST_LANES {
        return None;
    }
    let salt = from_hex::<16>(&sealed.salt)?;
    let cost = Params::new(memory_kib, passes, lanes, Some(32)).ok()?;
    let mut key = Zeroizing::new([0; 32]);
    let made = Argon2::new(Algorithm::Argon2id, Version::V0x13, cost);
    made.hash_password_into(passphrase.reveal().as_bytes(), &salt, &mut *key).ok()?;
    UnboundKey::new(&CHACHA20_POLY1305, &*key).ok().map(LessSafeKey::new)
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}
