//! A token is believed whole or not at all: every claim, one at a time.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::*;

const NOW: u64 = 1_800_000_000;

struct Issuer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        Self { pair, random }
    }

    fn keys(&self) -> Keys {
        let point = self.pair.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|half| URL_SAFE_NO_PAD.encode(half));
        let key = json!({"kty": "EC", "crv": "P-256", "kid": "one", "use": "sig", "x": x, "y": y});
        Keys::of(serde_json::from_value(json!({"keys": [key]})).unwrap())
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = self.pair.sign(&self.random, signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

fn header() -> Value {
    json!({"alg": "ES256", "kid": "one", "typ": "JWT"})
}

fn claims() -> Value {
    json!({"iss": "https://id.example.org", "sub": "s-1", "aud": "covenant", "exp": NOW + 300, "iat": NOW, "nonce": "n"})
}

/// Those with some of them changed, or taken away.
fn with(mut whole: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        if value == &json!("(absent)") {
            whole.as_object_mut().unwrap().remove(name);
        } else {
            whole[name] = value.clone();
        }
    }
    whole
}

fn judged(token: &str, keys: &Keys) -> Result<String, Untrue> {
    let expected = Expected {
        issuer: "https://id.example.org",
        client_id: "covenant",
        nonce: "n",
        access_token: Some("access"),
        now: Timestamp::from_millis(NOW * 1000),
    };
    subject(token, keys, &expected)
}

#[test]
fn a_token_that_says_what_it_must_names_somebody() {
    let issuer = Issuer::new();
    for change in [
        json!({}),
        json!({"aud": ["covenant"]}),
        json!({"aud": ["covenant", "other"], "azp": "covenant"}),
        json!({"azp": "covenant"}),
        json!({"exp": NOW - 59}),
        json!({"iat": NOW + 59, "nbf": NOW + 59}),
        json!({"exp": 1_800_000_300.5}),
        json!({"at_hash": at_hash("access")}),
        json!({"email": "ada@example.org", "groups": ["x"]}),
    ] {
        let token = issuer.sign(&header(), &with(claims(), &change));
        assert_eq!(judged(&token, &issuer.keys()), Ok("s-1".to_owned()), "{change}");
    }
}

#[test]
fn a_token_with_one_thing_wrong_names_nobody() {
    let issuer = Issuer::new();
    for (change, why) in [
        (json!({"iss": "https://id.example.org/"}), Untrue::Issuer),
        (json!({"iss": "https://evil.example.org"}), Untrue::Issuer),
        (json!({"aud": "other"}), Untrue::Audience),
        (json!({"aud": ["other"]}), Untrue::Audience),
        (json!({"aud": ["covenant", "other"]}), Untrue::Audience),
        (json!({"aud": ["covenant", "other"], "azp": "other"}), Untrue::Audience),
        (json!({"azp": "other"}), Untrue::Audience),
        (json!({"aud": {"covenant": 1}}), Untrue::Audience),
        (json!({"aud": []}), Untrue::Audience),
        (json!({"exp": NOW - 60}), Untrue::Expired),
        (json!({"iat": NOW + 61}), Untrue::Early),
        (json!({"nbf": NOW + 61}), Untrue::Early),
        (json!({"nonce": "m"}), Untrue::Nonce),
        (json!({"nonce": "(absent)"}), Untrue::Nonce),
        (json!({"at_hash": at_hash("other")}), Untrue::AccessToken),
        (json!({"sub": ""}), Untrue::Subject),
        (json!({"sub": "x".repeat(256)}), Untrue::Subject),
        (json!({"sub": "a\u{0}b"}), Untrue::Subject),
        (json!({"sub": "(absent)"}), Untrue::Unreadable),
        (json!({"sub": 1}), Untrue::Unreadable),
        (json!({"exp": "(absent)"}), Untrue::Unreadable),
        (json!({"exp": "soon"}), Untrue::Unreadable),
        (json!({"iat": "(absent)"}), Untrue::Unreadable),
        (json!({"aud": "(absent)"}), Untrue::Unreadable),
    ] {
        let token = issuer.sign(&header(), &with(claims(), &change));
        assert_eq!(judged(&token, &issuer.keys()), Err(why), "{change}");
    }
}

#[test]
fn a_token_is_signed_by_a_key_of_the_provider_in_a_way_that_counts() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let good = issuer.sign(&header(), &claims());
    for (change, why) in [
        (json!({"alg": "none"}), Untrue::Algorithm),
        (json!({"alg": "HS256"}), Untrue::Algorithm),
        (json!({"alg": "ES384"}), Untrue::Algorithm),
        (json!({"alg": "RS256"}), Untrue::UnknownKey),
        (json!({"kid": "two"}), Untrue::UnknownKey),
        (json!({"crit": ["exp"]}), Untrue::Critical),
        (json!({"alg": "(absent)"}), Untrue::Unreadable),
    ] {
        let token = issuer.sign(&with(header(), &change), &claims());
        assert_eq!(judged(&token, &issuer.keys()), Err(why), "{change}");
    }
    let unnamed = issuer.sign(&with(header(), &json!({"kid": "(absent)"})), &claims());
    assert!(judged(&unnamed, &issuer.keys()).is_ok(), "there is one key");
    assert_eq!(judged(&good, &other.keys()), Err(Untrue::Signature));
    assert_eq!(judged(&good, &Keys::default()), Err(Untrue::UnknownKey));
    let (signed, _) = good.rsplit_once('.').unwrap();
    let (head, _) = signed.split_once('.').unwrap();
    let forged = with(claims(), &json!({"sub": "s-2"}));
    let forged = URL_SAFE_NO_PAD.encode(forged.to_string());
    let (_, signature) = good.rsplit_once('.').unwrap();
    assert_eq!(judged(&format!("{head}.{forged}.{signature}"), &issuer.keys()), Err(Untrue::Signature));
    assert_eq!(judged(&format!("{signed}."), &issuer.keys()), Err(Untrue::Signature));
}

#[test]
fn what_is_no_token_is_unreadable() {
    let issuer = Issuer::new();
    let good = issuer.sign(&header(), &claims());
    let deep = URL_SAFE_NO_PAD.encode("[".repeat(10_000));
    let twice = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","alg":"ES256"}"#);
    for odd in [
        "",
        ".",
        "..",
        "...",
        "a.b",
        "a.b.c.d",
        "!.!.!",
        &format!("{good}.x"),
        &format!("{good}="),
        &format!("{deep}.{deep}.{deep}"),
        &format!("{twice}.e30.AA"),
        &"x".repeat(MOST + 1),
    ] {
        assert_eq!(judged(odd, &issuer.keys()), Err(Untrue::Unreadable), "{odd:.60}");
    }
}
