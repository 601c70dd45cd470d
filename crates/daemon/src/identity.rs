//! Who this home is: the key that signs grants and checkpoints, the key of audit digests, and the operator's token.
//! Made at the first start; from then on only read.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use covenant_gate::{Fault, random};
use covenant_model::token::{self, TokenHash};
use ed25519_dalek::{SigningKey, VerifyingKey};
use zeroize::Zeroizing;

use crate::atomic;
use crate::home::Home;
use crate::trust::{self, Distrust, Kind};

/// The keys of a home.
pub struct Identity {
    /// Signs grants and checkpoints.
    pub signing: SigningKey,
    /// Keys the digests of arguments and results.
    pub digest_key: [u8; 32],
    /// What the operator's token is recognised by.
    pub operator: TokenHash,
}

/// Why a home has no usable identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A key file is not fit to be used.
    #[error(transparent)]
    Distrust(#[from] Distrust),
    /// A key file holds something else.
    #[error("{} does not hold {wanted}; restore it from a backup, or move the `identity` directory away to begin anew (what was signed before can then be verified only with the old local.pub)", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Malformed { path: PathBuf, wanted: &'static str },
    /// The signing key is gone while the public one is there.
    #[error("{} is gone while local.pub is still there; restore it from a backup, or move the `identity` directory away to begin anew (what was signed before can then be verified only with the old local.pub)", .0.display())]
    Lost(PathBuf),
    /// A key file could not be read.
    #[error("{} could not be read: {error}", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Unreadable { path: PathBuf, error: io::Error },
    /// A key file could not be written.
    #[error("{} could not be written: {error}", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Io { path: PathBuf, error: io::Error },
    /// There was no randomness.
    #[error(transparent)]
    Random(#[from] Fault),
}

impl Identity {
    /// Reads the keys of that home, and makes those that are missing. Its directory must be there.
    pub fn load_or_make(home: &Home) -> Result<Self, IdentityError> {
        let dir = home.identity();
        let digest_key = load_or_make(&dir.join("digest.key"))?;
        let operator = operator(&home.operator_token())?;
        // The public key is written last: where it is, the others once were.
        let (seed, public) = (dir.join("local.key"), home.public_key());
        if !seed.exists() && public.exists() {
            return Err(IdentityError::Lost(seed));
        }
        let signing = SigningKey::from_bytes(&*load_or_make(&seed)?);
        let line = format!("{}\n", to_hex(signing.verifying_key().as_bytes()));
        match trust::read(&public, Kind::Program)? {
            Some(content) if content.bytes == line.as_bytes() => {}
            Some(_) => {
                return Err(IdentityError::Malformed {
                    path: public,
                    wanted: "the public half of local.key",
                });
            }
            None => write(&public, line.as_bytes())?,
        }
        Ok(Self { signing, digest_key: *digest_key, operator })
    }
}

/// The public key in that file: 64 hexadecimal digits on one line.
pub fn read_public(path: &Path) -> Result<VerifyingKey, IdentityError> {
    let malformed = || IdentityError::Malformed {
        path: path.to_owned(),
        wanted: "a public key of 64 hexadecimal digits",
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| IdentityError::Unreadable { path: path.to_owned(), error })?;
    parse_public(text.trim()).ok_or_else(malformed)
}

/// The public key written as 64 hexadecimal digits.
pub fn parse_public(text: &str) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(&from_hex(text)?).ok()
}

/// The operator's token, for the CLI where it has no socket.
pub fn operator_token(home: &Home) -> Result<Option<covenant_model::secret::Secret>, Distrust> {
    let content = trust::read(&home.operator_token(), Kind::Private)?;
    let text = content.and_then(|content| String::from_utf8(content.bytes).ok());
    Ok(text.map(|text| covenant_model::secret::Secret::new(text.trim().to_owned())))
}

fn operator(path: &Path) -> Result<TokenHash, IdentityError> {
    let text = if let Some(content) = trust::read(path, Kind::Private)? {
        Zeroizing::new(String::from_utf8_lossy(&content.bytes).into_owned())
    } else {
        let token = token::from_random(random::bytes()?);
        let line = Zeroizing::new(format!("{}\n", token.reveal()));
        write(path, line.as_bytes())?;
        line
    };
    token::hash(text.trim()).ok_or_else(|| IdentityError::Malformed {
        path: path.to_owned(),
        wanted: "a token (`cv_` and 43 characters)",
    })
}

fn load_or_make(path: &Path) -> Result<Zeroizing<[u8; 32]>, IdentityError> {
    if let Some(content) = trust::read(path, Kind::Private)? {
        let bytes = Zeroizing::new(content.bytes);
        let key = std::str::from_utf8(&bytes).ok().and_then(|text| from_hex(text.trim()));
        let malformed =
            || IdentityError::Malformed { path: path.to_owned(), wanted: "a key of 64 hexadecimal digits" };
        return key.map(Zeroizing::new).ok_or_else(malformed);
    }
    let key = Zeroizing::new(random::bytes::<32>()?);
    write(path, Zeroizing::new(format!("{}\n", to_hex(&key))).as_bytes())?;
    Ok(key)
}

fn write(path: &Path, content: &[u8]) -> Result<(), IdentityError> {
    atomic::write(path, content).map_err(|error| IdentityError::Io { path: path.to_owned(), error })
}

pub(crate) fn to_hex(bytes: &[u8; 32]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let sound = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    sound.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home")).unwrap();
        home.prepare().unwrap();
        (dir, home)
    }

    #[test]
    fn keys_are_made_once_and_private() {
        let (_dir, home) = home();
        let one = Identity::load_or_make(&home).unwrap();
        let two = Identity::load_or_make(&home).unwrap();
        assert_eq!(one.signing.to_bytes(), two.signing.to_bytes());
        assert_eq!((one.digest_key, one.operator), (two.digest_key, two.operator));
        for name in ["local.key", "digest.key", "operator.token"] {
            assert_eq!(home.identity().join(name).metadata().unwrap().mode() & 0o777, 0o600, "{name}");
        }
        assert_eq!(read_public(&home.public_key()).unwrap(), one.signing.verifying_key());
        let token = operator_token(&home).unwrap().unwrap();
        assert_eq!(token::hash(token.reveal()), Some(one.operator));
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let (_dir, home) = home();
        Identity::load_or_make(&home).unwrap();
        let key = home.identity().join("local.key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(
            Identity::load_or_make(&home),
            Err(IdentityError::Distrust(Distrust::Readable { .. }))
        ));
    }

    #[test]
    fn a_key_behind_a_link_is_refused() {
        let (dir, home) = home();
        Identity::load_or_make(&home).unwrap();
        let key = home.identity().join("local.key");
        fs::rename(&key, dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &key).unwrap();
        assert!(matches!(Identity::load_or_make(&home), Err(IdentityError::Distrust(Distrust::Link { .. }))));
    }

    #[test]
    fn a_lost_key_is_not_quietly_replaced() {
        let (_dir, home) = home();
        Identity::load_or_make(&home).unwrap();
        fs::remove_file(home.identity().join("local.key")).unwrap();
        let lost = Identity::load_or_make(&home).err().unwrap().to_string();
        assert!(lost.contains("backup"), "{lost}");
    }

    #[test]
    fn rubbish_is_refused_and_a_removed_operator_token_is_renewed() {
        let (_dir, home) = home();
        let before = Identity::load_or_make(&home).unwrap();
        fs::remove_file(home.operator_token()).unwrap();
        assert_ne!(Identity::load_or_make(&home).unwrap().operator, before.operator);
        atomic::write(&home.operator_token(), b"hello").unwrap();
        assert!(matches!(Identity::load_or_make(&home), Err(IdentityError::Malformed { .. })));
    }

    #[test]
    fn keys_that_are_no_hexadecimal_digits_are_no_keys() {
        for text in ["", "00", &"g".repeat(64), &"+1".repeat(32), &"ä".repeat(32)] {
            assert!(from_hex(text).is_none(), "{text}");
        }
    }
}
