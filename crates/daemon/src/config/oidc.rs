//! `[oidc]`: the provider of identities by which people may sign in, and what we are to it.

use std::fmt;

use covenant_model::secret::Secret;
use serde::{Deserialize, Serialize};

use super::{Invalid, fill};
use crate::outbound::Address;
use crate::secrets::Secrets;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["issuer", "client_id", "client_secret"];

/// The most characters of an issuer or a client's id.
const LONGEST: usize = 512;

/// A provider that speaks OpenID Connect.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Oidc {
    /// What the provider calls itself, letter by letter; its description lies below that.
    pub issuer: String,
    /// What it calls us.
    pub client_id: String,
    /// What shows that we are that, mostly `${secret:OIDC_CLIENT_SECRET}`.
    pub client_secret: String,
}

impl Oidc {
    /// The host of the provider, as people know it.
    pub(crate) fn host(&self) -> String {
        let address = Address::parse(&self.issuer).map(|address| address.origin()).unwrap_or_default();
        address.split_once("://").map(|(_, host)| host.to_owned()).unwrap_or_default()
    }

    /// The client's secret, or which one is missing.
    pub(crate) fn secret(&self, secrets: &Secrets) -> Result<Secret, String> {
        fill::with(&self.client_secret, secrets)
    }

    /// Why nobody can sign in by the provider although they should.
    pub(crate) fn warning(&self, secrets: &Secrets) -> Option<String> {
        let reason = self.secret(secrets).err()?;
        Some(format!("nobody can sign in by {}, because of `oidc.client_secret`: {reason}", self.host()))
    }

    /// The same without credentials.
    pub(super) fn shown(&self) -> Self {
        Self { client_secret: fill::hidden(&self.client_secret), ..self.clone() }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let written = |key, text: &str, example: &str| match text {
            "" => Err(Invalid::new(key, format!("is missing: write {example}"))),
            text if text.len() > LONGEST || text.chars().any(char::is_control) => {
                Err(Invalid::new(key, format!("must be one line of at most {LONGEST} characters")))
            }
            _ => Ok(()),
        };
        written("oidc.issuer", &self.issuer, "issuer = \"https://HOST\", as the provider writes it")?;
        let address =
            Address::parse(&self.issuer).map_err(|bad| Invalid::new("oidc.issuer", bad.to_string()))?;
        if !address.credentials().is_empty() || self.issuer.contains(['?', '#']) {
            let reason =
                "must be a bare address: no user, no query and no fragment, such as \"https://HOST/PATH\"";
            return Err(Invalid::new("oidc.issuer", reason));
        }
        written("oidc.client_id", &self.client_id, "client_id = \"…\", as the provider calls this daemon")?;
        let example = "client_secret = \"${secret:OIDC_CLIENT_SECRET}\"";
        written("oidc.client_secret", &self.client_secret, example)?;
        let filled = fill::could_be_filled(&self.client_secret);
        filled.map(drop).map_err(|reason| Invalid::new("oidc.client_secret", reason))
    }
}

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issuer, client_id, client_secret } = self.shown();
        f.debug_struct("Oidc")
            .field("issuer", &issuer)
            .field("client_id", &client_id)
            .field("client_secret", &client_secret)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oidc(issuer: &str, client_id: &str, client_secret: &str) -> Oidc {
        let [issuer, client_id, client_secret] = [issuer, client_id, client_secret].map(str::to_owned);
        Oidc { issuer, client_id, client_secret }
    }

    #[test]
    fn what_is_wrong_with_the_section_is_said_by_its_key() {
        let good = oidc("https://id.example.org/realms/acme", "covenant", "${secret:OIDC_CLIENT_SECRET}");
        assert_eq!(good.check(), Ok(()));
        assert_eq!(oidc("http://localhost:9000", "c", "s").check(), Ok(()));
        for (bad, key, why) in [
            (oidc("", "c", "s"), "oidc.issuer", "is missing"),
            (oidc("http://id.example.org", "c", "s"), "oidc.issuer", "write https://"),
            (oidc("id.example.org", "c", "s"), "oidc.issuer", "is not a URL"),
            (oidc("https://id.example.org/?x=1", "c", "s"), "oidc.issuer", "bare address"),
            (oidc("https://ada:pw@id.example.org", "c", "s"), "oidc.issuer", "bare address"),
            (oidc("https://id.example.org/#x", "c", "s"), "oidc.issuer", "bare address"),
            (oidc("https://id.example.org", "", "s"), "oidc.client_id", "is missing"),
            (oidc("https://id.example.org", "a\nb", "s"), "oidc.client_id", "one line"),
            (oidc("https://id.example.org", "c", ""), "oidc.client_secret", "is missing"),
            (
                oidc("https://id.example.org", "c", "${secret:x}"),
                "oidc.client_secret",
                "cannot name a secret",
            ),
        ] {
            let invalid = bad.check().unwrap_err();
            assert_eq!(invalid.key, key, "{bad:?}");
            assert!(invalid.reason.contains(why), "{}", invalid.reason);
        }
    }

    #[test]
    fn a_secret_is_never_shown_and_its_absence_is_said() {
        let literal = oidc("https://id.example.org:8443/x", "c", "hunter2hunter2");
        assert!(
            !format!("{literal:?}").contains("hunter2") && literal.warning(&Secrets::default()).is_none()
        );
        assert_eq!(literal.host(), "id.example.org:8443");
        let told = oidc("https://id.example.org", "c", "${secret:OIDC}").warning(&Secrets::default());
        assert_eq!(
            told.unwrap(),
            "nobody can sign in by id.example.org, because of `oidc.client_secret`: there is no secret OIDC; set it with: \
             covenant secrets set OIDC"
        );
    }
}
