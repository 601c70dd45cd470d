//! What a provider says of itself: where people are sent, where codes are exchanged, where its keys are.

use covenant_tools::ports::Web;
use serde::Deserialize;

use super::fetch;
use super::trouble::Trouble;
use crate::outbound::Address;

/// Where a provider describes itself, below its issuer.
const PATH: &str = "/.well-known/openid-configuration";

/// What this document is called.
const WHAT: &str = "description of itself";

/// The document, as far as it is used.
#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// A provider as it describes itself.
#[derive(Debug, Clone)]
pub(super) struct Metadata {
    pub(super) authorization: Address,
    pub(super) token: Address,
    pub(super) keys: Address,
    /// How we show our secret.
    pub(super) shown: Shown,
}

/// How a client shows its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// In `Authorization`, which is usual.
    Header,
    /// In the form.
    Form,
}

/// Asks the provider of that issuer.
pub(super) async fn ask(web: &dyn Web, issuer: &str) -> Result<Metadata, Trouble> {
    let address =
        Address::parse(&format!("{}{PATH}", issuer.trim_end_matches('/'))).map_err(|_| Trouble::NotSetUp)?;
    judge(issuer, fetch::get(web, WHAT, &address).await?)
}

fn judge(issuer: &str, document: Document) -> Result<Metadata, Trouble> {
    let unfit = |why: String| Trouble::Unfit { what: WHAT, why };
    if document.issuer != issuer {
        // Not the one that we were told to trust, or written in another way: then nothing it says would fit.
        return Err(unfit("its `issuer` is not that of [oidc], letter by letter".to_owned()));
    }
    let here = issuer.starts_with("http://");
    let address = |key: &str, text: &str| match Address::parse(text) {
        // Only a provider on this machine may send us to this machine unencrypted.
        Ok(address) if here || text.starts_with("https://") => Ok(address),
        _ => Err(unfit(format!("its `{key}` is no address that is sent to: it must begin with https://"))),
    };
    let methods = document.token_endpoint_auth_methods_supported;
    let offers = |name: &str| methods.as_ref().is_none_or(|methods| methods.iter().any(|it| it == name));
    let shown = match (offers("client_secret_basic"), offers("client_secret_post")) {
        (true, _) => Shown::Header,
        (false, true) => Shown::Form,
        (false, false) => {
            let why = "it takes neither `client_secret_basic` nor `client_secret_post`";
            return Err(unfit(why.to_owned()));
        }
    };
    Ok(Metadata {
        authorization: address("authorization_endpoint", &document.authorization_endpoint)?,
        token: address("token_endpoint", &document.token_endpoint)?,
        keys: address("jwks_uri", &document.jwks_uri)?,
        shown,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn judged(issuer: &str, change: &Value) -> Result<Metadata, Trouble> {
        let mut document = json!({
            "issuer": issuer,
            "authorization_endpoint": "https://id.example.org/authorize?tenant=a",
            "token_endpoint": "https://id.example.org/token",
            "jwks_uri": "https://keys.example.org/jwks",
        });
        for (key, value) in change.as_object().unwrap() {
            document[key] = value.clone();
        }
        judge(issuer, serde_json::from_value(document).unwrap())
    }

    #[test]
    fn a_description_is_of_the_issuer_and_leads_to_encrypted_places() {
        const ISSUER: &str = "https://id.example.org/";
        assert!(judged(ISSUER, &json!({})).is_ok());
        for (change, why) in [
            (json!({"issuer": "https://id.example.org"}), "letter by letter"),
            (json!({"issuer": "https://evil.example.org"}), "letter by letter"),
            (json!({"token_endpoint": "http://id.example.org/token"}), "`token_endpoint`"),
            (json!({"token_endpoint": "http://127.0.0.1:9/token"}), "`token_endpoint`"),
            (json!({"jwks_uri": "file:///etc/passwd"}), "`jwks_uri`"),
            (json!({"authorization_endpoint": "javascript:alert(1)"}), "`authorization_endpoint`"),
            (json!({"token_endpoint_auth_methods_supported": ["private_key_jwt"]}), "client_secret_post"),
        ] {
            let told = judged(ISSUER, &change).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
        }
        let local = json!({"token_endpoint": "http://127.0.0.1:9/token"});
        assert!(judged("http://localhost:9000", &local).is_ok());
    }

    #[test]
    fn the_secret_is_shown_as_the_provider_takes_it() {
        for (methods, shown) in [
            (json!(null), Shown::Header),
            (json!(["client_secret_post", "client_secret_basic"]), Shown::Header),
            (json!(["client_secret_post"]), Shown::Form),
        ] {
            let change = json!({"token_endpoint_auth_methods_supported": methods});
            assert_eq!(judged("https://id.example.org", &change).unwrap().shown, shown);
        }
    }
}
