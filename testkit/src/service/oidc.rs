//! A provider of identities, as OpenID Connect describes one: its description, the page on which somebody says who they are,
//! codes that are exchanged once with PKCE and the client's secret, signed tokens, and its keys.
//!
//! Who signs in is whatever is typed on its page. A test may let it lie: see [`Manner`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

use super::{Answer, Protocol, Request};

/// An RSA key of 2048 bits that is for tests alone.
const RSA: &str = "\
MIIEpAIBAAKCAQEAq2GTRmD8e7cld7I4HhwI3g1O8c63chSmzoe7T1oWCuHJCh6aSvmO3QE5G9SibPPrZAmDaTDjyV9PX2l3UpQW\
2iot/JcWgT74IE7faYKIQiAWtpR4YbvRMio1lbsl0i/XwOAyf2WNATfcgK/BQ/kkP9wbkRWSw+re+7ot/S0ZfDQ0r2nVSnuGPqeP\
N8+Q7xwhdxT8Jw/93UVOK+JT9s8r7xo95nXMw0wHRmcIZ0SN+5/uSvVrrzgK5LGVZBQI3dEgcZkujZpYMypDNrlIWkBaIhD1FmaR\
XaLTV0N6hbF8C67azOQxk7K1M3jATUEvP2xt4+eL6jOqZ1GtPN57sjj81QIDAQABAoIBABri7HFynrmj8mdUWNR0bnmzmcp6tTHb\
Bo5JIfwhdGrRoDILugYAH8cRPY3drnusSqX/jhOvHVVGtBOSXqtgWzNvwZYqd9ff8ppS9V6+oTTKhvWu1jHy/q9BivWKDjVq1wzF\
v3ZYDqZ9xoSTzhylVegE1nhM66D71G6mdzeMXz6qSkwtIIrHBslysxRSlpb044esQ8u5Yq8F9AwtHJxk4LosN51zqkUFDC9E1yId\
yMhVr3cBdzVSAWceLI2tZzNHSrH+gUIWGQMQKvkfh2XgIRm8eIJHvKRzEJemp4E8O/RUBi2BOuRXuo2u/LfZh8tpw4fE9NSbAp+A\
1uoBZ1MP96ECgYEA1Ukj8gQVJdcUobsGzpZXj62LD7YpTR6UeGhEe9vJolv9Sn+uFOTMAi3a7f+fVI2ELX0zB+eywkzBS+K9vp3f\
R95ATGj1eZS5CInTb83dOmxWe5ipxH2DJ8tIwiGDkJ78Q+Zo76rf4L6cN4diHSeo1th+/OApKAaz6Q+EIz8U46UCgYEAzbQMFED+\
vrXk9QGkPzCObT8OHRgYEU5K+JhAN2gcB9yRGQ6hYW1mh9VIIY1OrXgn7wyOe3a3v5ur7CMoR5GQaqBjq7yB1YoIc/LQfpDBndO+\
FC7Wr1DMpJ6V1nWwn2f3om2JU/jRdooP4O6mXzG7eW0gEAPVK3RP+J5WSotirXECgYEAz5z8om6a71Snvq7Bd4MdBLzXapnVJj6o\
I3TLhQ1y/tower5ChBAbDdv5CkcTn0iJ64W9kOpXNY9lcSrrrIscd2a+jCJ3ILxGSStwZ5qqyF4A6Rq31o6ehrP4xQ++c55uzOGS\
MAnTF4AzrFHajaq3TTs8kYbaSR4NLsZtx6l1+gkCgYBoKxlC2Hco1KwRdrdaWJiHsjrPePgXK3LD2TYL2Oj5AjVoXwRSdjhJ6TQR\
6aFCL2rpn44377K1kXvKpTMsqwZbOMXAnkGRhckqDniO33dtGWFUjzOgrGY1pylx5T+AOgIpexbkM0i/osLPwYr3AhRSNXTbJ1W4\
H7qvyF8ieNuLwQKBgQC5qM7zfz5XXyXVRkuWnNzMegYK4Jjk2z0GtTaoab6bYf94TzFscOoVRpdoP0f2CwH7b7NF9+FIS/ZUHxUQ\
SSuVRkQFtqGDzJVKDFQrqlI4u67e0bfI0GHsxhtdVEJj5Cknxb9dtT7j605hjDIpey/x8rFagrFOngfkIUUmBUHm9w==";

/// What it calls the daemon, and what shows that it is it.
pub const CLIENT: &str = "covenant";
/// The secret of that.
pub const SECRET: &str = "a secret: of 28 characters &+";

/// How it behaves: as it should, unless a test says otherwise.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// What its tokens say instead, claim by claim; null takes one away.
    pub claims: Value,
    /// How they are signed.
    pub signing: Signing,
    /// How often it has changed its key.
    pub rotations: u32,
}

/// How tokens are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signing {
    /// ECDSA, with its own key.
    #[default]
    Es256,
    /// RSA, with its own key.
    Rs256,
    /// Not at all.
    None,
    /// With the client's secret, which the client has as well.
    Hs256,
    /// With a key that it does not show.
    Hidden,
    /// By somebody else, in the name of its own key.
    Forged,
}

/// The provider.
pub struct Provider {
    manner: Arc<Mutex<Manner>>,
    random: SystemRandom,
    keys: HashMap<u32, EcdsaKeyPair>,
    rsa: RsaKeyPair,
    grants: HashMap<String, Grant>,
    issued: u32,
}

/// What a code stands for.
struct Grant {
    subject: String,
    nonce: String,
    challenge: String,
    redirect_uri: String,
}

impl Provider {
    /// One, and what a test changes it by.
    ///
    /// # Panics
    /// If its key is none.
    pub fn new() -> (Self, Arc<Mutex<Manner>>) {
        let manner = Arc::new(Mutex::new(Manner::default()));
        let rsa = RsaKeyPair::from_der(&STANDARD.decode(RSA).expect("base64")).expect("a key");
        let provider = Self {
            manner: Arc::clone(&manner),
            random: SystemRandom::new(),
            keys: HashMap::new(),
            rsa,
            grants: HashMap::new(),
            issued: 0,
        };
        (provider, manner)
    }

    fn manner(&self) -> Manner {
        self.manner.lock().expect("no test broke").clone()
    }

    /// The key of that number, made when it is first needed.
    fn key(&mut self, number: u32) -> &EcdsaKeyPair {
        let random = &self.random;
        self.keys.entry(number).or_insert_with(|| {
            let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, random).expect("a key");
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), random).expect("a key")
        })
    }

    fn description(issuer: &str) -> Answer {
        let at = |path: &str| format!("{issuer}{path}");
        Answer::json(
            200,
            json!({"issuer": issuer, "authorization_endpoint": at("/authorize"), "token_endpoint": at("/token"),
                "jwks_uri": at("/keys"), "response_types_supported": ["code"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256", "RS256"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"]}),
        )
    }

    fn shown_keys(&mut self) -> Answer {
        let rotations = self.manner().rotations;
        let point = self.key(rotations).public_key().as_ref().to_vec();
        let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let (x, y) = (point.get(1..33).unwrap_or_default(), point.get(33..).unwrap_or_default());
        let components: ring::rsa::PublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        Answer::json(
            200,
            json!({"keys": [
                {"kty": "EC", "crv": "P-256", "use": "sig", "kid": format!("es-{rotations}"), "x": encoded(x), "y": encoded(y)},
                {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "rsa", "n": encoded(&components.n), "e": encoded(&components.e)},
            ]}),
        )
    }

    /// The page on which somebody says who they are.
    fn page(request: &Request) -> Answer {
        for (name, wanted) in [
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("code_challenge_method", "S256"),
            ("scope", "openid"),
        ] {
            if request.asked(name).as_deref() != Some(wanted) {
                return Answer::html(400, &format!("<p>{name} must be {wanted}</p>"));
            }
        }
        let kept = ["state", "nonce", "code_challenge", "redirect_uri"];
        let fields = kept.map(|name| {
            let value = request.asked(name).unwrap_or_default();
            format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">")
        });
        Answer::html(
            200,
            &format!(
                "<!doctype html><title>Who are you?</title><form method=\"post\" action=\"/authorize\">{}\
                 <input id=\"subject\" name=\"subject\"><button id=\"go\">Go on</button></form>",
                fields.concat()
            ),
        )
    }

    /// Sends somebody back with a code.
    fn authorize(&mut self, request: &Request) -> Answer {
        let filled = |name: &str| request.filled(name).unwrap_or_default();
        self.issued += 1;
        let code = format!("code-{}", self.issued);
        let redirect_uri = filled("redirect_uri");
        let place = format!("{redirect_uri}?code={code}&state={}", filled("state"));
        let grant = Grant {
            subject: filled("subject"),
            nonce: filled("nonce"),
            challenge: filled("code_challenge"),
            redirect_uri,
        };
        self.grants.insert(code, grant);
        Answer::empty(302).with("Location", &place)
    }

    /// Exchanges a code for a token, once.
    fn exchange(&mut self, issuer: &str, request: &Request) -> Answer {
        let refused = |status: u16, error: &str| Answer::json(status, json!({"error": error}));
        if request.header("authorization") != credentials() {
            return refused(401, "invalid_client");
        }
        let filled = |name: &str| request.filled(name).unwrap_or_default();
        if filled("grant_type") != "authorization_code" {
            return refused(400, "unsupported_grant_type");
        }
        let Some(grant) = self.grants.remove(&filled("code")) else { return refused(400, "invalid_grant") };
        let verifier = digest(&SHA256, filled("code_verifier").as_bytes());
        let sound = URL_SAFE_NO_PAD.encode(verifier) == grant.challenge
            && filled("redirect_uri") == grant.redirect_uri;
        if !sound {
            return refused(400, "invalid_grant");
        }
        let token = self.token(issuer, &grant);
        Answer::json(
            200,
            json!({"access_token": "an access token", "token_type": "Bearer", "id_token": token}),
        )
    }

    fn token(&mut self, issuer: &str, grant: &Grant) -> String {
        let manner = self.manner();
        let access = digest(&SHA256, b"an access token");
        let mut claims = json!({"iss": issuer, "sub": grant.subject, "aud": CLIENT, "exp": now() + 300, "iat": now(),
            "nonce": grant.nonce, "at_hash": URL_SAFE_NO_PAD.encode(access.as_ref().get(..16).unwrap_or_default()),
            "email": "ada@example.org", "email_verified": true});
        for (name, value) in manner.claims.as_object().into_iter().flatten() {
            if let Some(claims) = claims.as_object_mut() {
                let _ = if value.is_null() {
                    claims.remove(name)
                } else {
                    claims.insert(name.clone(), value.clone())
                };
            }
        }
        let own = format!("es-{}", manner.rotations);
        let (algorithm, kid) = match manner.signing {
            Signing::Es256 | Signing::Forged => ("ES256", own.as_str()),
            Signing::Rs256 => ("RS256", "rsa"),
            Signing::None => ("none", own.as_str()),
            Signing::Hs256 => ("HS256", own.as_str()),
            Signing::Hidden => ("ES256", "hidden"),
        };
        let header = json!({"alg": algorithm, "kid": kid, "typ": "JWT"});
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = self.sign(&manner, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn sign(&mut self, manner: &Manner, message: &[u8]) -> Vec<u8> {
        let with = |provider: &mut Self, number: u32| {
            let random = provider.random.clone();
            provider.key(number).sign(&random, message).expect("a signature").as_ref().to_vec()
        };
        match manner.signing {
            Signing::Es256 => with(self, manner.rotations),
            Signing::Hidden | Signing::Forged => with(self, u32::MAX),
            Signing::None => Vec::new(),
            Signing::Hs256 => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
                hmac::sign(&key, message).as_ref().to_vec()
            }
            Signing::Rs256 => {
                let mut signature = vec![0; self.rsa.public().modulus_len()];
                let signed = self.rsa.sign(&RSA_PKCS1_SHA256, &self.random, message, &mut signature);
                signed.expect("a signature");
                signature
            }
        }
    }
}

impl Protocol for Provider {
    fn answer(&mut self, request: &Request) -> Answer {
        let issuer = format!("http://{}", request.header("host"));
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/.well-known/openid-configuration") => Self::description(&issuer),
            ("GET", "/keys") => self.shown_keys(),
            ("GET", "/authorize") => Self::page(request),
            ("POST", "/authorize") => self.authorize(request),
            ("POST", "/token") => self.exchange(&issuer, request),
            _ => Answer::empty(404),
        }
    }
}

/// What `Authorization` must say: each half as a form writes it, and then joined.
fn credentials() -> String {
    let encoded = SECRET.replace(':', "%3A").replace(' ', "%20").replace('&', "%26").replace('+', "%2B");
    format!("Basic {}", STANDARD.encode(format!("{CLIENT}:{encoded}")))
}

#[expect(clippy::disallowed_methods, reason = "what it signs is of now")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs()
}
