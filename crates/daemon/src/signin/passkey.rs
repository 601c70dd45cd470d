//! Passkeys (WebAuthn): what a browser is asked, and whether what it brings back is of a passkey, for this place, and of now.

mod cbor;
mod told;

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use covenant_gate::Fault;
use covenant_gate::ports::passkeys::{NewPasskey, Passkey};
use covenant_model::id::DeveloperId;
use covenant_model::json;
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use self::cbor::Unreadable;
use self::told::Told;
use super::pace::Pace;
use super::pending::Pending;
use super::signature::Form;

/// How long a challenge may be answered.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// The most bytes of what a browser says it was asked.
const CLIENT_DATA: usize = 4096;

/// How many signatures of passkeys are looked at in a minute. Nobody guesses one: it bounds what that costs us.
const A_MINUTE: usize = 600;

/// What a challenge is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To sign in.
    SignIn,
    /// To choose a passkey with that invite.
    Invite(String),
    /// To add a passkey to those of somebody who is signed in.
    Add(Principal),
}

/// The challenges that wait for an answer, and the signatures that were looked at of late.
pub(crate) struct Challenges {
    waiting: Pending<Purpose>,
    looked_at: Pace,
}

/// Where passkeys are used: the page's origin, and the name they are bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) origin: String,
    pub(crate) name: String,
}

/// A passkey that was just made, as a browser brings it.
pub(crate) struct Made<'a> {
    pub(crate) client_data: &'a [u8],
    pub(crate) attestation: &'a [u8],
}

/// A passkey that was just used, as a browser brings it.
pub(crate) struct Used<'a> {
    pub(crate) client_data: &'a [u8],
    pub(crate) told: &'a [u8],
    pub(crate) signature: &'a [u8],
    /// Whose it is, by the device's word.
    pub(crate) user: &'a [u8],
}

/// Why a passkey is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Wrong {
    #[error("What the browser sent of the passkey cannot be read: {0}.")]
    Unreadable(#[from] Unreadable),
    #[error("What the browser says it was asked cannot be read.")]
    ClientData,
    #[error("The passkey was asked for something else.")]
    Kind,
    #[error(
        "The passkey answers what was asked more than five minutes ago, or was answered already, or was never asked here."
    )]
    Challenge,
    #[error("The passkey was asked by a page of another place.")]
    Origin,
    #[error("The passkey is for another place.")]
    Place,
    #[error("Nobody touched the device of the passkey.")]
    Absent,
    #[error(
        "The device did not make sure that it is you: set up a PIN, a fingerprint or your face on it, and use the passkey again."
    )]
    Unverified,
    #[error("The device made a key of a kind that is not taken: ES256, EdDSA and RS256 are.")]
    Key,
    #[error("The passkey's signature is not of its key.")]
    Signature,
    #[error("Too many passkeys are used at this moment.")]
    TooOften,
    #[error("Nobody here has that passkey, or has it any more.")]
    Unknown,
    #[error("That passkey is somebody else's.")]
    Another,
    #[error(
        "This passkey was used fewer times than it was seen here: it may have been copied. Sign in in another way, remove it, and \
         tell whoever looks after this home."
    )]
    CountedBack,
}

#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(rename = "crossOrigin", default)]
    cross_origin: bool,
    #[serde(rename = "topOrigin")]
    top_origin: Option<String>,
}

impl Site {
    /// The one at that origin; none at an address without a name, which passkeys cannot be bound to.
    pub(crate) fn at(origin: &str) -> Option<Self> {
        let (_, host) = origin.split_once("://")?;
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let named = !name.is_empty() && !name.starts_with('[') && name.parse::<IpAddr>().is_err();
        named.then(|| Self { origin: origin.to_owned(), name: name.to_owned() })
    }
}

impl Default for Challenges {
    fn default() -> Self {
        Self { waiting: Pending::lasting(PATIENCE), looked_at: Pace::of(A_MINUTE) }
    }
}

impl Challenges {
    /// A challenge, as a browser is given it.
    pub(crate) fn begin(&self, purpose: Purpose, now: Timestamp) -> Result<String, Fault> {
        Ok(URL_SAFE_NO_PAD.encode(self.waiting.begin(purpose, now)?.reveal()))
    }

    /// Whether that is the answer to a challenge of ours for that purpose, by a page of ours. Whatever comes of it, the challenge
    /// is used up.
    fn answered(
        &self,
        client_data: &[u8],
        kind: &str,
        purpose: &Purpose,
        site: &Site,
        now: Timestamp,
    ) -> Result<(), Wrong> {
        let sound = client_data.len() <= CLIENT_DATA && json::check(client_data).is_ok();
        let said = sound.then(|| serde_json::from_slice::<ClientData>(client_data).ok()).flatten();
        let said = said.ok_or(Wrong::ClientData)?;
        let challenge = URL_SAFE_NO_PAD.decode(&said.challenge).map_err(|_| Wrong::Challenge)?;
        let challenge = String::from_utf8(challenge).map_err(|_| Wrong::Challenge)?;
        if self.waiting.take(&challenge, now).as_ref() != Some(purpose) {
            return Err(Wrong::Challenge);
        }
        if said.kind != kind {
            return Err(Wrong::Kind);
        }
        let framed = said.cross_origin || said.top_origin.is_some();
        if framed || said.origin != site.origin { Err(Wrong::Origin) } else { Ok(()) }
    }

    /// The passkey that was made, as it is to be kept.
    pub(crate) fn made(
        &self,
        made: &Made<'_>,
        purpose: &Purpose,
        site: &Site,
        now: Timestamp,
    ) -> Result<NewPasskey, Wrong> {
        self.answered(made.client_data, "webauthn.create", purpose, site, now)?;
        let told = Told::read(told::attested(made.attestation)?)?;
        told.check(site)?;
        let (id, key) = told.new.ok_or(Unreadable::Cut)?;
        told::public_key(key).ok_or(Wrong::Key)?;
        Ok(NewPasskey { id: id.to_vec(), key: key.to_vec(), counter: told.counter })
    }

    /// What a passkey has counted that was used to sign in.
    pub(crate) fn used(
        &self,
        used: &Used<'_>,
        known: Option<(&DeveloperId, &Passkey)>,
        site: &Site,
        now: Timestamp,
    ) -> Result<u32, Wrong> {
        self.answered(used.client_data, "webauthn.get", &Purpose::SignIn, site, now)?;
        let (owner, passkey) = known.ok_or(Wrong::Unknown)?;
        if used.user != owner.as_str().as_bytes() {
            return Err(Wrong::Another);
        }
        let told = Told::read(used.told)?;
        told.check(site)?;
        let key = told::public_key(&passkey.key).ok_or(Wrong::Key)?;
        // Only here it costs something, and only who knows an id of somebody's passkey comes so far: a stranger uses nothing up.
        if !self.looked_at.has_room(now) {
            return Err(Wrong::TooOften);
        }
        self.looked_at.count(now);
        let signed = [used.told, Sha256::digest(used.client_data).as_slice()].concat();
        if !key.verifies(Form::Der, &signed, used.signature) {
            return Err(Wrong::Signature);
        }
        Ok(told.counter)
    }
}

impl Told<'_> {
    /// That it is for this place, and somebody was there and has shown that it is them.
    fn check(&self, site: &Site) -> Result<(), Wrong> {
        if self.rp_id_hash != Sha256::digest(&site.name).as_slice() {
            return Err(Wrong::Place);
        }
        match (self.is_present(), self.is_verified()) {
            (false, _) => Err(Wrong::Absent),
            (true, false) => Err(Wrong::Unverified),
            (true, true) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
