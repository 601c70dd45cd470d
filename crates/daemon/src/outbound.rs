//! How the daemon reaches other servers over HTTP: which addresses may be given to it, and the client that goes there.
//!
//! Later parts that call out take their client from here, so that redirects, proxies and trusted roots are decided once.

pub(crate) mod courier;
pub(crate) mod errand;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use covenant_gate::random;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

use crate::tls;

/// What we call ourselves.
const AGENT: &str = concat!("covenant/", env!("CARGO_PKG_VERSION"));

/// How long a connection to an external server may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// The longest that a connection without requests is kept for the next one.
const KEPT: Duration = Duration::from_secs(30);

/// What stands where something is not shown.
pub(crate) const HIDDEN: &str = "[REDACTED]";

/// An address the daemon may send to: encrypted, or on this machine.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address(Url);

/// Why something is no such address: the end of a sentence that begins with the key it stands at. It never quotes the
/// address, which may hold credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadAddress {
    #[error("is not a URL: write one with scheme and host, such as \"https://HOST/PATH\"")]
    NotAUrl,
    #[error("has a scheme that is not sent to: write a URL that begins with https://")]
    Scheme,
    #[error(
        "is http:// to another machine, and whoever is on the way could read and change what is sent: write https://, \
         or send to this machine, such as \"http://127.0.0.1:PORT/PATH\""
    )]
    Plain,
}

impl Address {
    /// Reads one.
    pub(crate) fn parse(text: &str) -> Result<Self, BadAddress> {
        let url = Url::parse(text).map_err(|_| BadAddress::NotAUrl)?;
        match url.scheme() {
            "https" => {}
            "http" if is_here(&url) => {}
            "http" => return Err(BadAddress::Plain),
            _ => return Err(BadAddress::Scheme),
        }
        Ok(Self(url))
    }

    /// The same with that path behind its own, unless it ends with it already.
    pub(crate) fn ending_with(mut self, path: &str) -> Self {
        let own = self.0.path().trim_end_matches('/');
        if !own.ends_with(path) {
            let whole = format!("{own}{path}");
            self.0.set_path(&whole);
        }
        self
    }

    /// Where a request goes.
    pub(crate) fn url(&self) -> Url {
        self.0.clone()
    }

    /// Scheme, host and port: what a log line may say.
    pub(crate) fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// The whole of it, user and query hidden.
    pub(crate) fn shown(&self) -> String {
        let user = match (self.0.username(), self.0.password()) {
            ("", None) => String::new(),
            _ => format!("{HIDDEN}@"),
        };
        let host = self.0.host_str().unwrap_or_default();
        let port = self.0.port().map(|port| format!(":{port}")).unwrap_or_default();
        let query = self.0.query().map(|_| format!("?{HIDDEN}")).unwrap_or_default();
        format!("{}://{user}{host}{port}{}{query}", self.0.scheme(), self.0.path())
    }

    /// What in it may be a credential, with a name that says where it stands: the password, or a user without one, and
    /// the parameters of the query.
    pub(crate) fn credentials(&self) -> Vec<(String, String)> {
        let user = Some(self.0.username()).filter(|user| !user.is_empty());
        let password = self.0.password().or(user).map(|value| ("password".to_owned(), value.to_owned()));
        let pairs = self.0.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned()));
        password.into_iter().chain(pairs).collect()
    }

    /// A client for this address, made where waiting for files blocks no one; otherwise why there is none.
    pub(crate) async fn open(self) -> Result<Client, String> {
        let made = tokio::task::spawn_blocking(move || self.client()).await;
        made.map_err(|error| error.to_string())?.map_err(told)
    }

    /// A client for this address. It follows no redirects, and asks the system which certificates to trust and which
    /// proxy to use; what goes to this machine goes there directly. This reads files: not for a thread that must not
    /// wait.
    fn client(&self) -> reqwest::Result<Client> {
        // Requests are rare: a connection kept for the next one would be found dead then.
        let client = careful(&self.0).pool_max_idle_per_host(0);
        if is_here(&self.0) { client.build() } else { client.https_only(true).build() }
    }
}

/// A client for an external server, which is asked often: connections are kept. As [`Address::client`], this reads files.
fn keeping_client(url: &Url) -> reqwest::Result<Client> {
    careful(url).connect_timeout(CONNECT).pool_idle_timeout(KEPT).build()
}

/// What every client to that place has in common.
#[expect(clippy::disallowed_methods, reason = "the home of HTTP clients")]
fn careful(url: &Url) -> ClientBuilder {
    tls::provide();
    let client = Client::builder().user_agent(AGENT).redirect(Policy::none()).referer(false);
    if !is_here(url) {
        return client;
    }
    // A name server must not be able to say that we are elsewhere.
    let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let client = client.no_proxy().resolve_to_addrs("localhost", &here.map(|ip| SocketAddr::new(ip, 0)));
    if url.scheme() == "http" {
        // It never speaks TLS, and must work on a system without certificates.
        return client.tls_certs_only([]);
    }
    client
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.shown())
    }
}

/// Whether it is on this machine, without asking anyone.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let number = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || number.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// How long to wait after a failure that so many came before: twice as long each time. Between half of it and all of it
/// is drawn: many homes that lost the same server should not come back at the same moment.
pub(crate) fn backoff(shortest: Duration, longest: Duration, failures: u32) -> Duration {
    let doubled = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    let whole = shortest.saturating_mul(doubled).min(longest);
    // Without random bytes there are worse troubles than meeting others.
    let [drawn] = random::bytes::<1>().unwrap_or_default();
    whole / 2 + (whole / 2) * u32::from(drawn) / 255
}

/// An error of the client in one line, with its causes and without the address.
pub(crate) fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut told = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        let text = next.to_string();
        if !told.ends_with(&text) {
            told = format!("{told}: {text}");
        }
        cause = next.source();
    }
    told
}

/// Why a server was not reached, in one clause, by what the layers below say of it one after another.
fn unreached(told: &str) -> String {
    if told.contains("InvalidContentType") {
        return "what answers there does not speak TLS; is it `http://`?".to_owned();
    }
    if let Some((_, why)) = told.split_once("failed to lookup address information: ") {
        return format!("its host was not found ({why})");
    }
    let told = told.strip_prefix("error sending request: ").unwrap_or(told);
    told.strip_prefix("client error (Connect): ").unwrap_or(told).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_encrypted_addresses_and_this_machine_are_sent_to() {
        for good in [
            "https://anchor.example.org/covenant",
            "https://10.0.0.1",
            "http://localhost:8080/x",
            "HTTP://LOCALHOST/",
            "http://127.0.0.1:1/",
            "http://127.9.9.9/",
            "http://[::1]:9/x?y",
        ] {
            assert!(Address::parse(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("http://anchor.example.org/", BadAddress::Plain),
            ("http://10.0.0.1/", BadAddress::Plain),
            ("http://0.0.0.0/", BadAddress::Plain),
            ("http://[::ffff:10.0.0.1]/", BadAddress::Plain),
            ("http://localhost.example.org/", BadAddress::Plain),
            ("http://localhost@example.org/", BadAddress::Plain),
            ("http://127.0.0.1.example.org/", BadAddress::Plain),
            ("ftp://x/", BadAddress::Scheme),
            ("file:///etc/passwd", BadAddress::Scheme),
            ("anchor.example.org", BadAddress::NotAUrl),
            ("https://", BadAddress::NotAUrl),
            ("", BadAddress::NotAUrl),
        ] {
            assert_eq!(Address::parse(bad), Err(why), "{bad}");
        }
    }

    #[test]
    fn users_and_queries_are_never_shown() {
        for (text, shown) in [
            ("https://a.example/p", "https://a.example/p"),
            ("https://ada:hunter2hunter2@a.example:444/p", "https://[REDACTED]@a.example:444/p"),
            ("https://hunter2hunter2@a.example/p", "https://[REDACTED]@a.example/p"),
            ("https://a.example/p?key=hunter2hunter2#hunter2", "https://a.example/p?[REDACTED]"),
            ("http:\\\\u:hunter2@[::1]\\p", "http://[REDACTED]@[::1]/p"),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.shown(), shown);
            assert!(!format!("{address:?} {}", address.origin()).contains("hunter2"));
            assert_eq!(Address::parse(&address.shown()).unwrap().shown(), shown, "what is shown reads back");
        }
    }

    #[test]
    fn what_may_be_a_credential_is_found_where_it_stands() {
        let found = |text: &str| Address::parse(text).unwrap().credentials();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found("https://a.example/"), []);
        assert_eq!(found("https://ada:one@a.example/"), [pair("password", "one")]);
        assert_eq!(found("https://one@a.example/?key=t%77o"), [pair("password", "one"), pair("key", "two")]);
    }

    #[test]
    fn why_a_server_was_not_reached_is_one_clause() {
        let all = "error sending request: client error (Connect): ";
        for (told, clause) in [
            (
                "dns error: failed to lookup address information: Name or service not known",
                "its host was not found (Name or service not known)",
            ),
            (
                "tcp connect error: Connection refused (os error 111)",
                "tcp connect error: Connection refused (os error 111)",
            ),
            (
                "received corrupt message of type InvalidContentType",
                "what answers there does not speak TLS; is it `http://`?",
            ),
        ] {
            assert_eq!(unreached(&format!("{all}{told}")), clause);
        }
    }

    #[test]
    fn there_is_a_client_for_this_machine_even_without_certificates() {
        assert!(Address::parse("http://localhost:1/").unwrap().client().is_ok());
    }

    #[tokio::test]
    async fn a_failure_is_told_without_the_address() {
        let address = Address::parse("http://ada:hunter2@127.0.0.1:1/path?hunter2").unwrap();
        let error = address.client().unwrap().get(address.url()).send().await.unwrap_err();
        let told = told(error);
        assert!(told.contains("refused") && !told.contains("hunter2") && !told.contains("path"), "{told}");
    }
}
