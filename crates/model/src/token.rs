//! Bearer tokens: `cv_` and 43 base64url characters of 256 random bits. Only their SHA-256 is ever kept.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::secret::Secret;

/// What every token begins with.
pub const PREFIX: &str = "cv_";

/// How many characters follow the prefix.
pub const BODY: usize = 43;

/// The stored form of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenHash(pub [u8; 32]);

/// Makes a token of random bytes, which the caller draws.
pub fn from_random(random: [u8; 32]) -> Secret {
    Secret::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random)))
}

/// The stored form of a presented token; `None` where the text cannot be one of ours.
pub fn hash(presented: &str) -> Option<TokenHash> {
    let body = presented.strip_prefix(PREFIX)?;
    let sound = body.len() == BODY && body.bytes().all(is_body_byte);
    sound.then(|| TokenHash(Sha256::digest(presented.as_bytes()).into()))
}

/// Whether a byte may stand in a token's body.
pub fn is_body_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_token_has_the_documented_shape_and_a_stable_hash() {
        let token = from_random([9; 32]);
        assert_eq!(token.reveal().len(), PREFIX.len() + BODY);
        assert_eq!(hash(token.reveal()), hash(token.reveal()));
        assert!(hash(token.reveal()).is_some());
    }

    #[test]
    fn other_texts_are_not_hashed() {
        for text in ["", "cv_", "cv_short", "xx_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
            assert!(hash(text).is_none(), "{text}");
        }
    }
}
