//! An origin that a bridge speaks to: which texts are one, and who carries requests there.

use std::sync::Arc;

use covenant_mcp::upstream::ports::Couriers;
use reqwest::Url;

use crate::outbound::courier::Dispatch;
use crate::outbound::{Address, BadAddress};

/// Scheme, host and port of a daemon: encrypted, or on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// Why a text is none: a sentence that says what to write. It never quotes the text, which may hold credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadOrigin {
    /// It is no URL.
    #[error(
        "the origin of the daemon is not one; write scheme and host, such as https://covenant.example.org"
    )]
    NotAUrl,
    /// It is neither HTTP nor HTTPS.
    #[error("the origin of the daemon has a scheme that is not spoken; write one that begins with https://")]
    Scheme,
    /// Whoever is on the way could read the token.
    #[error(
        "the origin of the daemon is http:// to another machine, and whoever is on the way could read the token; write \
         https://, or an origin on this machine such as http://127.0.0.1:8421"
    )]
    Plain,
    /// It holds a user or a password.
    #[error(
        "the origin of the daemon holds a user or a password; leave that away, and put the token into COVIBE_MCP_TOKEN"
    )]
    Credentials,
    /// It is more than an origin.
    #[error(
        "the origin of the daemon has a path, a query or a fragment; write scheme, host and port alone: `/mcp` is added to it"
    )]
    More,
}

impl Origin {
    /// Reads one. A `/` at the end is no path.
    pub fn parse(text: &str) -> Result<Self, BadOrigin> {
        let text = text.trim();
        let address = Address::parse(text).map_err(|bad| match bad {
            BadAddress::NotAUrl => BadOrigin::NotAUrl,
            BadAddress::Scheme => BadOrigin::Scheme,
            BadAddress::Plain => BadOrigin::Plain,
        });
        let url = Url::parse(text).map_err(|_| BadOrigin::NotAUrl)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadOrigin::Credentials);
        }
        let address = address?;
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(BadOrigin::More);
        }
        Ok(Self(address.origin()))
    }

    /// As it is written everywhere: without a `/` at its end, and without the port that its scheme means.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who carries requests to an origin: the trusted roots and proxies are the system's, and no redirect is followed.
pub fn couriers() -> Arc<dyn Couriers> {
    Arc::new(Dispatch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_one_text_however_it_is_written() {
        for (written, origin) in [
            ("https://covenant.example.org", "https://covenant.example.org"),
            ("HTTPS://Covenant.Example.org:443/", "https://covenant.example.org"),
            (" http://127.0.0.1:8421/\n", "http://127.0.0.1:8421"),
            ("http://localhost:8421", "http://localhost:8421"),
            ("http://[::1]:1", "http://[::1]:1"),
        ] {
            assert_eq!(Origin::parse(written).unwrap().as_str(), origin);
        }
    }

    #[test]
    fn what_is_more_than_an_origin_is_refused_without_being_repeated() {
        for (bad, why) in [
            ("", BadOrigin::NotAUrl),
            ("covenant.example.org", BadOrigin::NotAUrl),
            ("ftp://a.example", BadOrigin::Scheme),
            ("http://a.example", BadOrigin::Plain),
            ("http://10.0.0.1:8421", BadOrigin::Plain),
            ("https://ada:hunter2@a.example", BadOrigin::Credentials),
            ("http://hunter2@a.example", BadOrigin::Credentials),
            ("https://a.example/mcp", BadOrigin::More),
            ("https://a.example/?token=hunter2", BadOrigin::More),
            ("https://a.example/#hunter2", BadOrigin::More),
        ] {
            let refused = Origin::parse(bad).unwrap_err();
            assert_eq!(refused, why, "{bad}");
            assert!(!refused.to_string().contains("hunter2") && refused.to_string().contains("; "));
        }
    }
}
