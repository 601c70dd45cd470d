//! Who carries requests to external servers: connections of our own where that is enough, and reqwest where a server is
//! reached encrypted or by a proxy.
//!
//! Nothing is sent anywhere but to the origin a courier was opened for, and no redirect is followed. `http://` to other
//! machines is allowed here, unlike elsewhere: people have servers in their own network, and it is theirs to know who else is in it.

mod client;
mod connection;
mod direct;
mod pool;

use std::sync::Arc;

use covenant_mcp::upstream::ports::{self, Courier, Couriers, Later};
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use self::client::Client;
use self::direct::Direct;
use super::{AGENT, is_here};

/// Makes couriers, with the proxies that the environment names.
pub(crate) struct Dispatch;

impl Couriers for Dispatch {
    fn open<'a>(&'a self, url: &'a str) -> Later<'a, Result<Arc<dyn Courier>, String>> {
        Box::pin(open(url))
    }
}

/// A courier to the server at that URL.
async fn open(url: &str) -> Result<Arc<dyn Courier>, String> {
    let none = "has a `url` that is none: write one such as \"https://HOST/PATH\"";
    let url = Url::parse(url).map_err(|_| none)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("has a `url` that begins with neither http:// nor https://".to_owned());
    }
    if goes_directly(&url, &Matcher::from_system()) {
        return Ok(Arc::new(Direct::new(url)?));
    }
    Ok(Arc::new(Client::open(url).await?))
}

/// Whether connections of our own are enough: no encryption, nobody in between, no user in the URL.
fn goes_directly(url: &Url, proxies: &Matcher) -> bool {
    let named = !url.username().is_empty() || url.password().is_some();
    let detour = || url.as_str().parse().is_ok_and(|uri: Uri| proxies.intercept(&uri).is_some());
    url.scheme() == "http" && !named && (is_here(url) || !detour())
}

/// What is done, as HTTP calls it.
fn method(deed: ports::Method) -> Method {
    match deed {
        ports::Method::Post => Method::POST,
        ports::Method::Get => Method::GET,
        ports::Method::Delete => Method::DELETE,
    }
}

/// The headers of a request; otherwise a clause that names the one that is none. No value is shown.
fn headers(written: &[(&str, &str)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(written.len() + 4);
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    for (name, value) in written {
        let bad = |why| format!("cannot be sent the header `{name}`: {why}");
        let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("no header has such a name"))?;
        let value = HeaderValue::from_str(value).map_err(|_| bad("its value holds what no header can"))?;
        headers.insert(known, value);
    }
    Ok(headers)
}

/// The headers of an answer, as far as they are texts.
fn received(headers: &HeaderMap) -> Vec<(String, String)> {
    let texts = headers.iter().filter_map(|(name, value)| Some((name, value.to_str().ok()?)));
    texts.map(|(name, value)| (name.as_str().to_owned(), value.to_owned())).collect()
}

/// Whether that is the same server.
fn same_place(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// What is said of a URL that leads elsewhere.
fn elsewhere() -> String {
    "was to be sent something at another place than its entry says".to_owned()
}

#[cfg(test)]
mod tests;
