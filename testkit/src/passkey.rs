//! A device with one passkey, written from the specification (WebAuthn level 2): what a browser would bring of it, and what
//! somebody who cheats would.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

/// A device with a key on P-256.
pub struct Device {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    /// What its passkey is known by.
    pub id: Vec<u8>,
    /// Whose it is; as it was told when it was made.
    pub user: String,
    /// How often it was used.
    pub counter: u32,
    /// What it says of whoever sits there: that somebody touched it (1), and that it made sure who (4).
    pub flags: u8,
    /// The page that asks, by a browser's word.
    pub origin: String,
    /// The name it is for.
    pub name: String,
}

/// The fields of a form.
pub type Fields = Vec<(&'static str, String)>;

impl Device {
    /// One for that page.
    ///
    /// # Panics
    /// If there is no randomness.
    pub fn new(origin: &str) -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("a key");
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random).expect("a key");
        let mut id = vec![0; 20];
        random.fill(&mut id).expect("randomness");
        let host = origin.split_once("://").map(|(_, host)| host).unwrap_or_default();
        let name = host.split(':').next().unwrap_or_default().to_owned();
        Self { pair, random, id, user: String::new(), counter: 1, flags: 5, origin: origin.to_owned(), name }
    }

    /// What a browser brings of the passkey that it was asked to make.
    pub fn make(&mut self, asked: &Value) -> Fields {
        let user = asked.pointer("/user/id").and_then(Value::as_str);
        user.unwrap_or_default().clone_into(&mut self.user);
        let length = u16::try_from(self.id.len()).unwrap_or_default().to_be_bytes();
        let new = [&[0; 16][..], &length, &self.id, &self.key()].concat();
        let told = self.told(self.flags | 0x40, &new);
        let object = [
            &[0xa3][..],
            &text("fmt"),
            &text("none"),
            &text("attStmt"),
            &[0xa0],
            &text("authData"),
            &run(2, &told),
        ];
        let client_data = self.client_data("webauthn.create", asked);
        vec![("client_data", encoded(&client_data)), ("attestation", encoded(&object.concat()))]
    }

    /// What a browser brings of the passkey that it was asked to use.
    ///
    /// # Panics
    /// If there is no randomness.
    pub fn sign(&mut self, asked: &Value) -> Fields {
        self.counter += 1;
        let told = self.told(self.flags, &[]);
        let client_data = self.client_data("webauthn.get", asked);
        let signed = [&told[..], digest(&SHA256, &client_data).as_ref()].concat();
        let signature = self.pair.sign(&self.random, &signed).expect("a signature");
        vec![
            ("id", encoded(&self.id)),
            ("client_data", encoded(&client_data)),
            ("authenticator_data", encoded(&told)),
            ("signature", encoded(signature.as_ref())),
            ("user", self.user.clone()),
        ]
    }

    fn client_data(&self, kind: &str, asked: &Value) -> Vec<u8> {
        json!({"type": kind, "challenge": asked.get("challenge"), "origin": self.origin, "crossOrigin": false})
            .to_string()
            .into_bytes()
    }

    fn told(&self, flags: u8, more: &[u8]) -> Vec<u8> {
        let name = digest(&SHA256, self.name.as_bytes());
        [name.as_ref(), &[flags], &self.counter.to_be_bytes(), more].concat()
    }

    /// Its public key, as COSE writes it.
    fn key(&self) -> Vec<u8> {
        let point = self.pair.public_key().as_ref();
        let (x, y) = (point.get(1..33).unwrap_or_default(), point.get(33..).unwrap_or_default());
        [&[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21][..], &run(2, x), &[0x22], &run(2, y)].concat()
    }
}

/// A run of bytes, or of text, as CBOR writes it.
fn run(major: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap_or_default().to_be_bytes();
    [&[(major << 5) | 0x19][..], &length, content].concat()
}

fn text(content: &str) -> Vec<u8> {
    run(3, content.as_bytes())
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
