//! What a provider says of somebody: whether the token is its own, meant for us, for this sign-in, and of now.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use covenant_model::json;
use covenant_model::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::super::signature::Form;
use super::keys::{Algorithm, Keys};

/// The most bytes of a token.
const MOST: usize = 32 * 1024;

/// The most characters of what a provider calls somebody.
const SUBJECT: usize = 255;

/// How far two clocks may be apart, in seconds.
const LEEWAY: f64 = 60.0;

/// What a token must say.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// The access token that came with it.
    pub(super) access_token: Option<&'a str>,
    pub(super) now: Timestamp,
}

/// Why a token is not believed: the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Untrue {
    #[error("its token cannot be read")]
    Unreadable,
    #[error("its token is signed neither with RS256 nor with ES256")]
    Algorithm,
    #[error("its token has a header that must be understood and is not")]
    Critical,
    #[error("its token is signed with a key that it does not show")]
    UnknownKey,
    #[error("its token has a signature that is not of its key")]
    Signature,
    #[error("its token was issued by another")]
    Issuer,
    #[error("its token is meant for another")]
    Audience,
    #[error("its token has expired")]
    Expired,
    #[error("its token is of a time to come; is the clock of this machine right?")]
    Early,
    #[error("its token is of another sign-in")]
    Nonce,
    #[error("its two tokens do not belong together")]
    AccessToken,
    #[error("its token does not name anybody")]
    Subject,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Value,
    azp: Option<String>,
    exp: Number,
    iat: Number,
    nbf: Option<Number>,
    nonce: Option<String>,
    at_hash: Option<String>,
}

/// Whom that token names, if every part of it is as it must be.
pub(super) fn subject(token: &str, keys: &Keys, expected: &Expected<'_>) -> Result<String, Untrue> {
    let (signed, signature) = token.rsplit_once('.').ok_or(Untrue::Unreadable)?;
    let (header, claims) = signed.split_once('.').ok_or(Untrue::Unreadable)?;
    if token.len() > MOST || claims.contains('.') {
        return Err(Untrue::Unreadable);
    }
    let header: Header = part(header)?;
    let algorithm = Algorithm::named(&header.alg).ok_or(Untrue::Algorithm)?;
    if header.crit.is_some() {
        return Err(Untrue::Critical);
    }
    let key = keys.find(header.kid.as_deref(), algorithm).ok_or(Untrue::UnknownKey)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Untrue::Unreadable)?;
    if !key.verifies(Form::Fixed, signed.as_bytes(), &signature) {
        return Err(Untrue::Signature);
    }
    let claims: Claims = part(claims)?;
    claims.check(expected)?;
    Ok(claims.sub)
}

impl Claims {
    fn check(&self, expected: &Expected<'_>) -> Result<(), Untrue> {
        if self.iss != expected.issuer {
            return Err(Untrue::Issuer);
        }
        if !self.is_meant_for(expected.client_id) {
            return Err(Untrue::Audience);
        }
        let now = std::time::Duration::from_millis(expected.now.millis()).as_secs_f64();
        let moment = |number: &Number| number.as_f64().ok_or(Untrue::Unreadable);
        if moment(&self.exp)? + LEEWAY <= now {
            return Err(Untrue::Expired);
        }
        let since = self.nbf.as_ref().map_or(Ok(0.0), moment)?.max(moment(&self.iat)?);
        if since > now + LEEWAY {
            return Err(Untrue::Early);
        }
        let nonce = self.nonce.as_deref().unwrap_or_default();
        if !bool::from(nonce.as_bytes().ct_eq(expected.nonce.as_bytes())) {
            return Err(Untrue::Nonce);
        }
        if let Some(hash) = &self.at_hash
            && expected.access_token.map(at_hash).as_ref() != Some(hash)
        {
            return Err(Untrue::AccessToken);
        }
        let named = (1..=SUBJECT).contains(&self.sub.len()) && !self.sub.chars().any(char::is_control);
        if named { Ok(()) } else { Err(Untrue::Subject) }
    }

    /// Whether it is for us: alone, or among others if it was us who asked.
    fn is_meant_for(&self, client: &str) -> bool {
        let asked = self.azp.as_deref();
        match &self.aud {
            Value::String(one) => one == client && asked.is_none_or(|azp| azp == client),
            Value::Array(many) => {
                let named = many.iter().any(|one| one == client);
                named && asked.map_or(many.len() == 1, |azp| azp == client)
            }
            _ => false,
        }
    }
}

/// The left half of the hash of an access token, as both algorithms have it.
fn at_hash(token: &str) -> String {
    let hash = Sha256::digest(token);
    URL_SAFE_NO_PAD.encode(hash.get(..16).unwrap_or_default())
}

fn part<T: DeserializeOwned>(text: &str) -> Result<T, Untrue> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| Untrue::Unreadable)?;
    json::check(&bytes).map_err(|_| Untrue::Unreadable)?;
    serde_json::from_slice(&bytes).map_err(|_| Untrue::Unreadable)
}

#[cfg(test)]
mod tests;
