//! Values that must not be shown: a wrapper whose `Debug` says nothing and whose memory is wiped.

use std::fmt;

use zeroize::Zeroizing;

/// A text that never prints itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the value in.
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value, for the one place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// The fewest characters a secret may have: shorter ones would redact ordinary words.
pub const SHORTEST: usize = 6;

/// Why a name or a value cannot be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    /// The name is not `[A-Z][A-Z0-9_]*`.
    #[error(
        "`{0}` cannot name a secret: use capital letters, digits and `_`, beginning with a letter, such as `API_KEY`"
    )]
    Name(String),
    /// The value is too short to be told from ordinary text.
    #[error(
        "the value of {0} is shorter than {SHORTEST} characters: it would black out ordinary words; use a longer one"
    )]
    TooShort(String),
    /// The value is longer than any credential.
    #[error("the value of {0} is longer than 64 KiB: keep such data in a file and name the file instead")]
    TooLong(String),
}

/// Whether that may name a secret.
pub fn check_name(name: &str) -> Result<(), BadSecret> {
    let mut bytes = name.bytes();
    let sound = bytes.next().is_some_and(|b| b.is_ascii_uppercase())
        && name.len() <= 128
        && bytes.all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if sound { Ok(()) } else { Err(BadSecret::Name(name.chars().take(64).collect())) }
}

/// Whether that may be the value of the secret with that name.
pub fn check_value(name: &str, value: &str) -> Result<(), BadSecret> {
    if value.chars().count() < SHORTEST {
        return Err(BadSecret::TooShort(name.to_owned()));
    }
    if value.len() > 64 * 1024 {
        return Err(BadSecret::TooLong(name.to_owned()));
    }
    Ok(())
}
