//! What becomes of a home whose keys are not in the archive: it gets new ones, and what the old key signed is handed over to
//! the new one as far as that can be done honestly.
//!
//! Grants that the old key signed are signed anew, by whoever restores them: that is the operator, who could grant them
//! again one by one. The log cannot be: it is proof of what happened under the old key. It is kept aside with that key's
//! public half, by which it can still be verified, and a new one begins.

use std::fs;
use std::path::PathBuf;

use covenant_gate::audit::read::{self, Proof};
use covenant_model::audit::Report;
use covenant_store::{HandedOver, Store};
use ed25519_dalek::VerifyingKey;

use super::EARLIER;
use crate::config::Config;
use crate::first;
use crate::home::Home;
use crate::identity::{Identity, to_hex};

/// What went on to new keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Succession {
    /// Its grants.
    pub grants: HandedOver,
    /// What the log of the old key is called now; none if there was none.
    pub log: Option<String>,
}

/// What a log is worth, with the key that signed it.
pub(super) fn verdict(home: &Home, key: Option<&VerifyingKey>) -> Option<Report> {
    let directory = home.audit();
    let key = key.filter(|_| directory.is_dir())?;
    read::verify_dir(&directory, &Proof::trusting(&[*key])).ok()
}

/// Gives a home new keys.
pub(super) async fn succeed(home: &Home, old: Option<&VerifyingKey>) -> Result<Succession, String> {
    let log = set_aside(home, old).map_err(|error| format!("the log cannot be set aside: {error}"))?;
    home.prepare().map_err(|error| error.to_string())?;
    let identity = Identity::load_or_make(home).map_err(|error| error.to_string())?;
    if !home.database().exists() {
        return Ok(Succession { grants: HandedOver::default(), log });
    }
    // What the first start did is done: what was revoked since stays revoked.
    first::mark_as_done(home).map_err(|error| error.to_string())?;
    let Some(old) = old else { return Ok(Succession { grants: HandedOver::default(), log }) };
    let url = Config::default().database.url;
    let store = Store::open(&url, home.root()).await.map_err(|error| error.to_string())?;
    let [before, now] = [to_hex(old.as_bytes()), to_hex(identity.signing.verifying_key().as_bytes())];
    let sign = |signed: covenant_model::grant::SignedGrant| {
        // One that the old key did not sign counted for nothing, or counts by the key of another daemon.
        signed.is_signed_by(&[*old]).then(|| signed.grant.sign(&identity.signing))
    };
    let grants = store.hand_over([&before, &now], sign).await;
    store.close().await;
    let grants = grants.map_err(|fault| format!("{fault} ({})", fault.cause()))?;
    Ok(Succession { grants, log })
}

/// Moves the log of the old key aside, with the key it is verified by.
fn set_aside(home: &Home, old: Option<&VerifyingKey>) -> std::io::Result<Option<String>> {
    let directory = home.audit();
    let is_empty = fs::read_dir(&directory)
        .map_or(Ok(true), |mut entries| entries.next().transpose().map(|entry| entry.is_none()))?;
    if is_empty {
        return Ok(None);
    }
    let name = (1..1000)
        .map(|number: u32| if number == 1 { EARLIER.to_owned() } else { format!("{EARLIER}-{number}") })
        .find(|name| home.root().join(name).symlink_metadata().is_err())
        .unwrap_or_else(|| EARLIER.to_owned());
    let aside: PathBuf = home.root().join(&name);
    fs::rename(&directory, &aside)?;
    if let Some(old) = old {
        crate::atomic::write(&aside.join("local.pub"), format!("{}\n", to_hex(old.as_bytes())).as_bytes())?;
    }
    Ok(Some(name))
}
