//! The keys of a provider: which of them may have signed a token. What is no key for a signature is passed over.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::super::signature::PublicKey;

/// The most keys that are looked at.
const MOST: usize = 64;

/// How a token may be signed. There is no other way: neither `none`, nor with a secret that both have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
}

impl Algorithm {
    /// That of that name, if it is taken.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            _ => None,
        }
    }

    /// A key is for one algorithm, whatever a token says.
    fn fits(self, key: &PublicKey) -> bool {
        matches!((self, key), (Self::Rs256, PublicKey::Rsa { .. }) | (Self::Es256, PublicKey::P256(_)))
    }
}

/// A set of keys, as a provider writes it.
#[derive(Deserialize)]
pub(super) struct Written {
    keys: Vec<serde_json::Value>,
}

/// A key, as far as it is used.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The keys that may have signed a token.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Vec<(Option<String>, PublicKey)>);

impl Keys {
    /// The usable ones of a set.
    pub(super) fn of(written: Written) -> Self {
        let keys = written.keys.into_iter().take(MOST);
        Self(keys.filter_map(|key| serde_json::from_value(key).ok().and_then(usable)).collect())
    }

    /// The key of that id for that algorithm. Without an id it is the only one that fits.
    pub(super) fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<&PublicKey> {
        let fitting = self.0.iter().filter(|(_, key)| algorithm.fits(key));
        let mut found = fitting.filter(|(id, _)| kid.is_none() || id.as_deref() == kid).map(|(_, key)| key);
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

fn usable(jwk: Jwk) -> Option<(Option<String>, PublicKey)> {
    let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
    let signs = jwk.purpose.as_deref().is_none_or(|purpose| purpose == "sig");
    let is_for = |name: &str| jwk.alg.as_deref().is_none_or(|alg| alg == name);
    let key = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) if is_for("RS256") => PublicKey::rsa(bytes(&jwk.n)?, bytes(&jwk.e)?),
        ("EC", Some("P-256")) if is_for("ES256") => PublicKey::p256(&bytes(&jwk.x)?, &bytes(&jwk.y)?),
        _ => None,
    };
    key.filter(|_| signs).map(|key| (jwk.kid, key))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn keys(written: &Value) -> Keys {
        Keys::of(serde_json::from_value(json!({"keys": written})).unwrap())
    }

    fn ec(kid: &str) -> Value {
        let number = URL_SAFE_NO_PAD.encode([1; 32]);
        json!({"kty": "EC", "crv": "P-256", "kid": kid, "x": number, "y": number})
    }

    fn rsa(kid: &str) -> Value {
        json!({"kty": "RSA", "kid": kid, "n": URL_SAFE_NO_PAD.encode([1; 256]), "e": "AQAB"})
    }

    fn with(mut key: Value, name: &str, value: &str) -> Value {
        key[name] = json!(value);
        key
    }

    #[test]
    fn a_key_is_found_by_its_id_and_for_its_algorithm() {
        let keys = keys(&json!([rsa("a"), ec("b"), ec("c")]));
        assert!(
            keys.find(Some("a"), Algorithm::Rs256).is_some()
                && keys.find(Some("b"), Algorithm::Es256).is_some()
        );
        assert!(keys.find(Some("a"), Algorithm::Es256).is_none(), "of another kind");
        assert!(keys.find(Some("d"), Algorithm::Es256).is_none());
        assert!(keys.find(None, Algorithm::Rs256).is_some(), "the only one");
        assert!(keys.find(None, Algorithm::Es256).is_none(), "one of two");
    }

    #[test]
    fn what_is_no_key_for_signatures_is_passed_over() {
        let odd = json!([
            with(rsa("enc"), "use", "enc"),
            with(rsa("pss"), "alg", "PS256"),
            with(ec("curve"), "crv", "P-384"),
            with(ec("short"), "x", "AAAA"),
            with(rsa("small"), "n", "AAAA"),
            {"kty": "oct", "kid": "shared", "k": "c2VjcmV0"},
            "no key", null, {},
            ec("good"),
        ]);
        assert_eq!(keys(&odd).0.len(), 1);
        assert_eq!(
            Algorithm::named("none").or(Algorithm::named("HS256")).or(Algorithm::named("rs256")),
            None
        );
    }
}
