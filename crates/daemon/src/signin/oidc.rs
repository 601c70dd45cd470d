//! Signing in by a provider of identities (OpenID Connect): where somebody is sent, and who they are when they come back.
//!
//! The code flow with PKCE. What binds its two halves to one browser is a [`Flow`], known by a cookie, and used once.

mod discovery;
mod exchange;
mod fetch;
mod id_token;
mod keys;
mod lane;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use covenant_gate::ports::signin::Identity;
use covenant_gate::{Fault, random};
use covenant_model::secret::Secret;
use covenant_model::time::Timestamp;
use covenant_tools::ports::Web;
use parking_lot::Mutex;
use reqwest::Url;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Semaphore, SemaphorePermit};

use self::discovery::Metadata;
use self::exchange::Exchanged;
use self::id_token::{Expected, Untrue};
use self::keys::Keys;
use self::lane::Lane;
pub(crate) use self::trouble::Trouble;
use super::pending::Pending;

/// How long somebody may take at the provider's.
const PATIENCE: Duration = Duration::from_mins(10);

/// How long what a provider says of itself and its keys is believed without asking again.
const FRESH: Duration = Duration::from_mins(10);

/// How many speak to the provider at a time on the way there.
const AT_A_TIME: usize = 16;

/// How often its keys are asked for anew in [`FRESH`], because a token names one that we do not know.
const RENEWALS: u32 = 20;

/// The provider, and what is under way with it.
pub(crate) struct Provider {
    pub(crate) flows: Pending<Flow>,
    known: Mutex<Option<Known>>,
    /// On the way there, which everybody may begin.
    ways: Semaphore,
    /// On the way back.
    exchanges: Lane,
}

/// What we are to a provider, and by what it is reached.
pub(crate) struct Client {
    pub(crate) issuer: String,
    pub(crate) id: String,
    pub(crate) secret: Secret,
    pub(crate) web: Arc<dyn Web>,
    pub(crate) now: Timestamp,
}

/// A sign-in that is under way, in one browser.
pub(crate) struct Flow {
    /// What comes back with the code, and nobody else knows.
    pub(crate) state: String,
    /// What stands in the token.
    nonce: String,
    /// What shows that it was us who asked for the code.
    verifier: String,
    /// Where they come back to.
    redirect_uri: String,
    /// The invite that is used by it, if one is.
    pub(crate) invite: Option<String>,
}

/// What is known of a provider.
#[derive(Clone)]
struct Known {
    issuer: String,
    metadata: Metadata,
    since: Timestamp,
    keys: Option<Keys>,
    renewals: u32,
}

impl Default for Provider {
    fn default() -> Self {
        Self {
            flows: Pending::lasting(PATIENCE),
            known: Mutex::default(),
            ways: Semaphore::new(AT_A_TIME),
            exchanges: Lane::default(),
        }
    }
}

impl Flow {
    /// One that comes back to there.
    pub(crate) fn new(redirect_uri: String, invite: Option<String>) -> Result<Self, Fault> {
        let drawn = || random::bytes::<32>().map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        Ok(Self { state: drawn()?, nonce: drawn()?, verifier: drawn()?, redirect_uri, invite })
    }

    /// What a provider is told of the verifier before it sees it.
    fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))
    }
}

impl Provider {
    /// Where somebody is sent who signs in so.
    pub(crate) async fn way(&self, client: &Client, flow: &Flow) -> Result<Url, Trouble> {
        let _turn = turn(&self.ways)?;
        let mut url = self.known(client).await?.metadata.authorization.url();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("scope", "openid")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", &flow.redirect_uri)
            .append_pair("state", &flow.state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &flow.challenge())
            .append_pair("code_challenge_method", "S256");
        Ok(url)
    }

    /// Who came back with that code.
    pub(crate) async fn identity(
        &self,
        client: &Client,
        flow: &Flow,
        code: &str,
    ) -> Result<Identity, Trouble> {
        let place = self.exchanges.place().await?;
        let identity = self.exchange(client, flow, code).await?;
        place.let_go();
        Ok(identity)
    }

    async fn exchange(&self, client: &Client, flow: &Flow, code: &str) -> Result<Identity, Trouble> {
        let known = self.known(client).await?;
        let exchanged = exchange::ask(client, &known.metadata, flow, code).await?;
        let keys = self.keys(client, &known).await?;
        let subject = match subject(client, flow, &exchanged, &keys) {
            // It may have new keys.
            Err(Untrue::UnknownKey) if self.may_renew() => {
                let keys = self.ask_for_keys(client, &known.metadata).await?;
                subject(client, flow, &exchanged, &keys)
            }
            other => other,
        };
        Ok(Identity { issuer: client.issuer.clone(), subject: subject? })
    }

    /// What is known of it, or what it says now.
    async fn known(&self, client: &Client) -> Result<Known, Trouble> {
        let fresh = |known: &&Known| {
            let young = known.since <= client.now && client.now.since(known.since) < FRESH;
            known.issuer == client.issuer && young
        };
        if let Some(known) = self.known.lock().as_ref().filter(fresh) {
            return Ok(known.clone());
        }
        let metadata = discovery::ask(&*client.web, &client.issuer).await?;
        let issuer = client.issuer.clone();
        let known = Known { issuer, metadata, since: client.now, keys: None, renewals: 0 };
        *self.known.lock() = Some(known.clone());
        Ok(known)
    }

    async fn keys(&self, client: &Client, known: &Known) -> Result<Keys, Trouble> {
        match &known.keys {
            Some(keys) => Ok(keys.clone()),
            None => self.ask_for_keys(client, &known.metadata).await,
        }
    }

    async fn ask_for_keys(&self, client: &Client, metadata: &Metadata) -> Result<Keys, Trouble> {
        let keys = Keys::of(fetch::get(&*client.web, "list of keys", &metadata.keys).await?);
        if let Some(known) = self.known.lock().as_mut().filter(|known| known.issuer == client.issuer) {
            known.keys = Some(keys.clone());
        }
        Ok(keys)
    }

    /// Whether the keys may be asked for once more; whoever names unknown ones again and again is not served by that.
    fn may_renew(&self) -> bool {
        let mut known = self.known.lock();
        let Some(known) = known.as_mut() else { return false };
        known.renewals = known.renewals.saturating_add(1);
        known.renewals <= RENEWALS
    }
}

fn turn(talks: &Semaphore) -> Result<SemaphorePermit<'_>, Trouble> {
    talks.try_acquire().map_err(|_| Trouble::Busy)
}

fn subject(client: &Client, flow: &Flow, exchanged: &Exchanged, keys: &Keys) -> Result<String, Untrue> {
    let expected = Expected {
        issuer: &client.issuer,
        client_id: &client.id,
        nonce: &flow.nonce,
        access_token: exchanged.access_token.as_deref(),
        now: client.now,
    };
    id_token::subject(&exchanged.id_token, keys, &expected)
}

/// An error code of a provider, as it may be shown: a word, and no more.
pub(crate) fn word(error: &str) -> String {
    let sound = (1..=64).contains(&error.len())
        && error.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if sound { error.to_owned() } else { "an error without a name".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_specification() {
        let mut flow = Flow::new(String::new(), None).unwrap();
        "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".clone_into(&mut flow.verifier);
        assert_eq!(flow.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[tokio::test]
    async fn who_crowds_the_way_there_does_not_hold_up_who_comes_back() {
        let provider = Provider::default();
        let crowd: Vec<_> = (0..AT_A_TIME).map(|_| turn(&provider.ways).unwrap()).collect();
        assert_eq!(turn(&provider.ways).err(), Some(Trouble::Busy));
        assert!(provider.exchanges.place().await.is_ok(), "{}", crowd.len());
    }

    #[test]
    fn what_a_provider_says_is_shown_as_a_word_or_not_at_all() {
        assert_eq!(word("invalid_grant"), "invalid_grant");
        for odd in ["", "<script>", "two words", &"x".repeat(65)] {
            assert_eq!(word(odd), "an error without a name");
        }
    }
}
