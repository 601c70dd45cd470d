//! A device of our own making, honest and otherwise: what it brings is taken whole or not at all.

use covenant_model::id::RANDOM_BYTES;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::*;

const UP_UV: u8 = 0b101;

struct Device {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000).plus(Duration::from_secs(seconds))
}

fn site() -> Site {
    Site::at("https://covenant.example.org").unwrap()
}

fn owner() -> DeveloperId {
    DeveloperId::from_random([7; RANDOM_BYTES])
}

fn bytes(major: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[(major << 5) | 0x19][..], &length, content].concat()
}

fn text(content: &str) -> Vec<u8> {
    bytes(3, content.as_bytes())
}

/// What a browser says it was asked.
fn client_data(kind: &str, challenge: &str, change: &Value) -> Vec<u8> {
    let mut data = json!({"type": kind, "challenge": challenge, "origin": "https://covenant.example.org",
        "crossOrigin": false, "a member of tomorrow": {"x": [1]}});
    for (name, value) in change.as_object().unwrap() {
        data[name] = value.clone();
    }
    data.to_string().into_bytes()
}

/// What a device signs.
fn told(name: &str, flags: u8, counter: u32, more: &[u8]) -> Vec<u8> {
    [Sha256::digest(name).as_slice(), &[flags], &counter.to_be_bytes(), more].concat()
}

impl Device {
    fn new() -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random).unwrap();
        Self { pair, random }
    }

    fn key(&self) -> Vec<u8> {
        let point = self.pair.public_key().as_ref();
        let head = [0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21];
        [&head[..], &bytes(2, &point[1..33]), &[0x22], &bytes(2, &point[33..])].concat()
    }

    /// The part with a new key.
    fn new_key(&self) -> Vec<u8> {
        [&[0; 16][..], &[0, 4], b"iiii", &self.key()].concat()
    }

    fn attestation(&self, name: &str, flags: u8) -> Vec<u8> {
        object(&told(name, flags | 0x40, 3, &self.new_key()))
    }

    fn sign(&self, told: &[u8], client_data: &[u8]) -> Vec<u8> {
        let signed = [told, Sha256::digest(client_data).as_slice()].concat();
        self.pair.sign(&self.random, &signed).unwrap().as_ref().to_vec()
    }

    fn kept(&self) -> Passkey {
        Passkey { id: b"iiii".to_vec(), key: self.key(), created_at: at(0), used_at: None }
    }
}

fn object(told: &[u8]) -> Vec<u8> {
    [&[0xa3][..], &text("fmt"), &text("none"), &text("attStmt"), &[0xa0], &text("authData"), &bytes(2, told)]
        .concat()
}

fn invite() -> Purpose {
    Purpose::Invite("cv_invite".to_owned())
}

fn make(client_data: &[u8], attestation: &[u8], challenges: &Challenges) -> Result<NewPasskey, Wrong> {
    challenges.made(&Made { client_data, attestation }, &invite(), &site(), at(10))
}

#[test]
fn a_passkey_that_was_made_here_is_kept_as_the_device_wrote_it() {
    let (device, challenges) = (Device::new(), Challenges::default());
    let challenge = challenges.begin(invite(), at(0)).unwrap();
    let data = client_data("webauthn.create", &challenge, &json!({}));
    let attestation = device.attestation("covenant.example.org", UP_UV);
    let made = make(&data, &attestation, &challenges).unwrap();
    assert_eq!(made, NewPasskey { id: b"iiii".to_vec(), key: device.key(), counter: 3 });
    assert_eq!(make(&data, &attestation, &challenges), Err(Wrong::Challenge), "replayed");
}

#[test]
fn what_is_wrong_with_a_new_passkey_is_said() {
    let (device, challenges) = (Device::new(), Challenges::default());
    let good = device.attestation("covenant.example.org", UP_UV);
    let created = |change: Value| {
        let challenge = challenges.begin(invite(), at(0)).unwrap();
        client_data("webauthn.create", &challenge, &change)
    };
    for (change, why) in [
        (json!({"origin": "https://evil.example.org"}), Wrong::Origin),
        (json!({"origin": "https://covenant.example.org:8443"}), Wrong::Origin),
        (json!({"origin": "http://covenant.example.org"}), Wrong::Origin),
        (json!({"crossOrigin": true}), Wrong::Origin),
        (json!({"topOrigin": "https://evil.example.org"}), Wrong::Origin),
        (json!({"type": "webauthn.get"}), Wrong::Kind),
        (json!({"challenge": "AAAA"}), Wrong::Challenge),
        (json!({"challenge": "!"}), Wrong::Challenge),
        (json!({"challenge": 1}), Wrong::ClientData),
        (json!({"padding": "x".repeat(5000)}), Wrong::ClientData),
    ] {
        assert_eq!(make(&created(change.clone()), &good, &challenges), Err(why), "{change}");
    }
    assert_eq!(make(b"{", &good, &challenges), Err(Wrong::ClientData));
    let twice = format!("{{\"type\":\"x\",{}", std::str::from_utf8(&created(json!({}))[1..]).unwrap());
    assert_eq!(make(twice.as_bytes(), &good, &challenges), Err(Wrong::ClientData));

    let here = "covenant.example.org";
    let rsa_short =
        [&[0xa4, 1, 3, 3, 0x39, 1, 0, 0x20][..], &bytes(2, &[1; 64]), &[0x21, 0x43, 1, 0, 1]].concat();
    let attested = |key: &[u8]| object(&told(here, 0x45, 0, &[&[0; 16][..], &[0, 4], b"iiii", key].concat()));
    for (attestation, why) in [
        (device.attestation("evil.example.org", UP_UV), Wrong::Place),
        (device.attestation(here, 0b100), Wrong::Absent),
        (device.attestation(here, 0b001), Wrong::Unverified),
        (object(&told(here, UP_UV, 0, &[])), Wrong::Unreadable(Unreadable::Cut)),
        (object(&told(here, UP_UV, 0, &[0])), Wrong::Unreadable(Unreadable::Foreign)),
        (object(&told(here, 0x45, 0, &[0; 17])), Wrong::Unreadable(Unreadable::Cut)),
        (object(&told(here, 0x45, 0, &[0; 40])), Wrong::Unreadable(Unreadable::Foreign)),
        (
            object(&told(here, 0x45, 0, &[&[0; 16][..], &[0xff, 0xff], &[0; 100]].concat())),
            Wrong::Unreadable(Unreadable::Foreign),
        ),
        (attested(&[0xa1; 9000]), Wrong::Unreadable(Unreadable::Deep)),
        (attested(&rsa_short), Wrong::Key),
        (attested(&[0xa0]), Wrong::Key),
        (vec![0x81; 5000], Wrong::Unreadable(Unreadable::Foreign)),
        (Vec::new(), Wrong::Unreadable(Unreadable::Cut)),
        (vec![0xa0], Wrong::Unreadable(Unreadable::Foreign)),
    ] {
        assert_eq!(
            make(&created(json!({})), &attestation, &challenges),
            Err(why),
            "{:02x?}",
            &attestation.get(..60)
        );
    }
    for length in 0..good.len() {
        let cut = make(&created(json!({})), &good[..length], &challenges);
        assert!(matches!(cut, Err(Wrong::Unreadable(_))), "{length}: {cut:?}");
    }
    let longer = [&good[..], &[0]].concat();
    assert!(make(&created(json!({})), &longer, &challenges).is_err(), "nothing may be left over");
    let extended =
        told(here, 0xc5, 0, &[&device.new_key()[..], &[0xa1], &text("credProtect"), &[2]].concat());
    assert!(make(&created(json!({})), &object(&extended), &challenges).is_ok(), "extensions are passed over");
}

#[test]
fn a_challenge_is_for_one_purpose_and_five_minutes() {
    let (device, challenges) = (Device::new(), Challenges::default());
    let good = device.attestation("covenant.example.org", UP_UV);
    for purpose in [
        Purpose::SignIn,
        Purpose::Invite("cv_another".to_owned()),
        Purpose::Add(Principal::developer("ada").unwrap()),
    ] {
        let data = client_data("webauthn.create", &challenges.begin(purpose, at(0)).unwrap(), &json!({}));
        assert_eq!(make(&data, &good, &challenges), Err(Wrong::Challenge));
    }
    let data = client_data("webauthn.create", &challenges.begin(invite(), at(0)).unwrap(), &json!({}));
    let late = Made { client_data: &data, attestation: &good };
    assert_eq!(challenges.made(&late, &invite(), &site(), at(300)), Err(Wrong::Challenge));
}

#[test]
fn a_passkey_that_is_used_is_its_owners_and_has_signed_this() {
    let (device, other, challenges) = (Device::new(), Device::new(), Challenges::default());
    let (here, user) = ("covenant.example.org", owner());
    let asked =
        || client_data("webauthn.get", &challenges.begin(Purpose::SignIn, at(0)).unwrap(), &json!({}));
    let judge = |data: &[u8], told: &[u8], signature: &[u8], user: &[u8], kept: Option<&Passkey>| {
        let id = owner();
        let answer = Used { client_data: data, told, signature, user };
        challenges.used(&answer, kept.map(|kept| (&id, kept)), &site(), at(10))
    };
    let kept = device.kept();
    let good = told(here, UP_UV, 9, &[]);
    let data = asked();
    let signature = device.sign(&good, &data);
    let own = user.as_str().as_bytes();
    assert_eq!(judge(&data, &good, &signature, own, Some(&kept)), Ok(9));
    assert_eq!(judge(&data, &good, &signature, own, Some(&kept)), Err(Wrong::Challenge), "replayed");

    let elsewhere = told("evil.example.org", UP_UV, 9, &[]);
    let unverified = told(here, 0b001, 9, &[]);
    let absent = told(here, 0b100, 9, &[]);
    for (told, why) in [
        (&elsewhere, Wrong::Place),
        (&unverified, Wrong::Unverified),
        (&absent, Wrong::Absent),
        (&Vec::new(), Wrong::Unreadable(Unreadable::Cut)),
    ] {
        let data = asked();
        assert_eq!(judge(&data, told, &device.sign(told, &data), own, Some(&kept)), Err(why));
    }
    let try_with = |signer: &Device, user: &[u8], kept: Option<&Passkey>| {
        let data = asked();
        judge(&data, &good, &signer.sign(&good, &data), user, kept)
    };
    assert_eq!(try_with(&other, own, Some(&kept)), Err(Wrong::Signature));
    assert_eq!(try_with(&device, own, Some(&other.kept())), Err(Wrong::Signature));
    assert_eq!(try_with(&device, b"dev_other", Some(&kept)), Err(Wrong::Another));
    assert_eq!(try_with(&device, b"", Some(&kept)), Err(Wrong::Another));
    assert_eq!(try_with(&device, own, None), Err(Wrong::Unknown));
    let data = asked();
    assert_eq!(judge(&data, &good, &device.sign(&good, &asked()), own, Some(&kept)), Err(Wrong::Signature));
    let data = asked();
    assert_eq!(judge(&data, &good, &[], own, Some(&kept)), Err(Wrong::Signature));
}

#[test]
fn only_who_has_a_passkey_here_uses_up_what_is_looked_at_in_a_minute() {
    let (device, challenges) = (Device::new(), Challenges::default());
    let (kept, id) = (device.kept(), owner());
    let good = told("covenant.example.org", UP_UV, 9, &[]);
    let asked =
        |now| client_data("webauthn.get", &challenges.begin(Purpose::SignIn, at(now)).unwrap(), &json!({}));
    let judge = |data: &[u8], known: Option<&Passkey>, signature: &[u8], now| {
        let answer = Used { client_data: data, told: &good, signature, user: id.as_str().as_bytes() };
        challenges.used(&answer, known.map(|kept| (&id, kept)), &site(), at(now))
    };
    let old = asked(10);
    assert_eq!(judge(&old, None, &[], 10), Err(Wrong::Unknown));
    for _ in 0..A_MINUTE + 10 {
        assert_eq!(judge(&asked(10), None, &[], 10), Err(Wrong::Unknown));
        assert_eq!(judge(&old, Some(&kept), &[], 10), Err(Wrong::Challenge));
    }
    let signs_in = |now| {
        let data = asked(now);
        judge(&data, Some(&kept), &device.sign(&good, &data), now)
    };
    assert_eq!(signs_in(10), Ok(9), "a flood of strangers keeps nobody out");
    for _ in 1..A_MINUTE {
        assert_eq!(judge(&asked(10), Some(&kept), &[], 10), Err(Wrong::Signature));
    }
    assert_eq!(signs_in(11), Err(Wrong::TooOften));
    assert_eq!(signs_in(70), Ok(9), "a minute later");
}

#[test]
fn passkeys_are_bound_to_a_name() {
    let named = |origin: &str| Site::at(origin).map(|site| site.name);
    assert_eq!(named("http://localhost:8421").as_deref(), Some("localhost"));
    assert_eq!(named("https://covenant.example.org").as_deref(), Some("covenant.example.org"));
    for number in ["http://127.0.0.1:8421", "http://[::1]:8421", "https://10.0.0.1", "nothing", "https://"] {
        assert_eq!(named(number), None, "{number}");
    }
}
