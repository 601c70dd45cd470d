//! What a client carries for us between the rounds of one call: it can neither read nor change it, nor use it for
//! another call, another caller, or later.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use covenant_model::audit::Digest;
use covenant_model::id::ApprovalId;
use covenant_model::time::Timestamp;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::random;
use crate::refusal::Fault;

/// How long a person may take over one round.
pub(crate) const OPEN_MILLIS: u64 = 10 * 60 * 1000;

/// How many rounds one call may have.
pub(crate) const ROUNDS: u32 = 16;

/// The most bytes that are carried for one call.
const LONGEST: usize = 64 * 1024;

/// What a call knows from its earlier rounds.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Carried {
    /// Which round asked.
    pub(crate) round: u32,
    /// When it asked.
    pub(crate) at: u64,
    /// Every answer so far.
    pub(crate) answers: Map<String, Value>,
    /// What the tool wants to be told again.
    pub(crate) remember: Option<Value>,
    /// What its person was asked to approve, or told of.
    #[serde(default)]
    pub(crate) put: Option<Put>,
}

/// Something that was put to a client's person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Put {
    /// The entry.
    pub(crate) id: ApprovalId,
    /// Whether all of it was shown, so that an answer can be one to it.
    pub(crate) shown: bool,
}

/// Which call something is carried for.
pub(crate) struct Bound<'a> {
    pub(crate) principal: &'a str,
    pub(crate) agent_id: &'a str,
    /// Of everything it is called with.
    pub(crate) arguments: Digest,
    /// Of what is called: another tool under the same name is another call.
    pub(crate) definition: &'a [u8],
}

impl Bound<'_> {
    /// Neither a principal nor a tool's name holds a NUL.
    fn bytes(&self) -> Vec<u8> {
        [
            self.principal.as_bytes(),
            b"\0",
            self.agent_id.as_bytes(),
            b"\0",
            &self.arguments.0,
            self.definition,
        ]
        .concat()
    }
}

/// The key that seals.
pub(crate) struct Seal(LessSafeKey);

impl Seal {
    pub(crate) fn new(key: Digest) -> Result<Self, Fault> {
        let unbound = UnboundKey::new(&CHACHA20_POLY1305, &key.0);
        unbound
            .map(|key| Self(LessSafeKey::new(key)))
            .map_err(|_| Fault::new("the key that seals cannot be made", "wrong length"))
    }

    /// Seals; `None` if it is too much to carry.
    pub(crate) fn close(&self, carried: &Carried, bound: &Bound<'_>) -> Result<Option<String>, Fault> {
        let broken = |error: &dyn std::fmt::Display| Fault::new("what to carry cannot be written", error);
        let mut bytes = serde_json::to_vec(carried).map_err(|error| broken(&error))?;
        if bytes.len() > LONGEST {
            return Ok(None);
        }
        let nonce: [u8; NONCE_LEN] = random::bytes()?;
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(bound.bytes()),
                &mut bytes,
            )
            .map_err(|error| broken(&error))?;
        Ok(Some(URL_SAFE_NO_PAD.encode([nonce.as_slice(), &bytes].concat())))
    }

    /// Opens what was sealed for that call and is not too old.
    pub(crate) fn open(&self, text: &str, bound: &Bound<'_>, now: Timestamp) -> Option<Carried> {
        if text.len() > LONGEST * 2 {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self.0.open_in_place(nonce, Aad::from(bound.bytes()), &mut sealed).ok()?;
        let carried: Carried = serde_json::from_slice(opened).ok()?;
        let age = now.millis().checked_sub(carried.at)?;
        (age <= OPEN_MILLIS).then_some(carried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(principal: &str) -> Bound<'_> {
        Bound { principal, agent_id: "tool:x", arguments: Digest([1; 32]), definition: b"d" }
    }

    #[test]
    fn only_the_same_call_of_the_same_caller_opens_it_and_only_in_time() {
        let seal = Seal::new(Digest([7; 32])).unwrap();
        let carried = Carried { round: 1, at: 1000, ..Carried::default() };
        let text = seal.close(&carried, &bound("client:a")).unwrap().unwrap();
        let at = Timestamp::from_millis;
        assert_eq!(seal.open(&text, &bound("client:a"), at(1000 + OPEN_MILLIS)), Some(carried));
        assert_eq!(seal.open(&text, &bound("client:a"), at(1001 + OPEN_MILLIS)), None);
        assert_eq!(seal.open(&text, &bound("client:a"), at(999)), None, "from a clock that ran ahead");
        assert_eq!(seal.open(&text, &bound("client:b"), at(1000)), None);
        let other = Bound { agent_id: "tool:y", ..bound("client:a") };
        assert_eq!(seal.open(&text, &other, at(1000)), None);
        let other = Bound { arguments: Digest([2; 32]), ..bound("client:a") };
        assert_eq!(seal.open(&text, &other, at(1000)), None);
        let other = Bound { definition: b"e", ..bound("client:a") };
        assert_eq!(seal.open(&text, &other, at(1000)), None);
        let another = Seal::new(Digest([8; 32])).unwrap();
        assert_eq!(another.open(&text, &bound("client:a"), at(1000)), None);
        for changed in
            [format!("{text}A"), text.replacen(text.chars().next().unwrap(), "_", 1), String::new()]
        {
            assert!(changed == text || seal.open(&changed, &bound("client:a"), at(1000)).is_none());
        }
    }

    #[test]
    fn too_much_is_not_carried() {
        let seal = Seal::new(Digest([7; 32])).unwrap();
        let remember = Some(Value::from("x".repeat(LONGEST)));
        assert_eq!(
            seal.close(&Carried { remember, ..Carried::default() }, &bound("client:a")).unwrap(),
            None
        );
    }
}
