//! Requests of tools: one is sent, judged anew after each redirect, and its answer read up to a limit.
//!
//! Each leg of the way has a client of its own, which can go nowhere but where [`judge`] said. That costs a few
//! milliseconds, and there is no other connection that an answer could come from.

mod judge;
mod redirect;
#[cfg(test)]
mod tests;
mod trouble;

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::BytesMut;
use covenant_tools::ports::{Later, Request, Response, Web};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use http::{HeaderMap, HeaderValue};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Proxy, Url};
use tokio::time::timeout;

use self::judge::{Judge, Way};
use self::redirect::Leg;
use self::trouble::{Trouble, shown};
use super::{CONNECT, careful};
use crate::egress::Allows;
use crate::egress::lookup::{self, Resolver};

/// Which proxies there are, asked anew for each leg.
type Proxies = Arc<dyn Fn() -> Matcher + Send + Sync>;

/// Sends the requests of tools.
pub(crate) struct Errands {
    judge: Judge,
}

impl Errands {
    /// With this machine's resolver and proxies, and the names that may be reached wherever they lead.
    pub(crate) fn new(allows: Allows) -> Self {
        Self::with(allows, lookup::system(), Arc::new(Matcher::from_system))
    }

    fn with(allows: Allows, resolver: Resolver, proxies: Proxies) -> Self {
        Self { judge: Judge::new(allows, resolver, proxies) }
    }

    async fn go(&self, request: &Request) -> Result<Response, Trouble> {
        let mut leg = Leg::first(request);
        let mut from = None;
        for followed in 0..=request.redirects {
            let way = self.judge.way(&leg.url, request.reach).await;
            let way = way.map_err(|trouble| trouble.after(from.take()))?;
            let answer = leg.go(way, request).await?;
            match leg.next(answer.status(), answer.headers(), request)? {
                Some(next) if followed < request.redirects => {
                    from = Some(shown(&leg.url));
                    leg = next;
                }
                Some(_) => break,
                None => return read(leg.url, answer, request.most).await,
            }
        }
        Err(Trouble::Wandering { host: shown(&request.url), most: request.redirects })
    }
}

impl Web for Errands {
    fn send(&self, request: Request) -> Later<'_, Result<Response, String>> {
        Box::pin(async move {
            let late = |_| Trouble::Late { host: shown(&request.url), within: request.within };
            let done = timeout(request.within, self.go(&request)).await.map_err(late);
            done.flatten().map_err(|trouble| trouble.to_string())
        })
    }
}

impl Leg {
    /// Sends this leg's request that way, and waits for the head of the answer.
    async fn go(&self, way: Way, request: &Request) -> Result<reqwest::Response, Trouble> {
        let unreached = |reason| Trouble::Unreachable { host: shown(&self.url), reason };
        let url = self.url.clone();
        // It reads the system's certificates, and waiting for files must block no one.
        let client = tokio::task::spawn_blocking(move || client(&url, way)).await;
        let client = client.map_err(|error| unreached(error.to_string()))?;
        let client = client.map_err(|error| unreached(cause(&error)))?;
        let sent = client
            .request(request.method.clone(), self.url.clone())
            .headers(self.headers.clone())
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            .body(request.body.clone());
        sent.send().await.map_err(|error| unreached(cause(&error)))
    }
}

/// A client that goes that way and no other.
fn client(url: &Url, way: Way) -> reqwest::Result<Client> {
    let client = careful(url).connect_timeout(CONNECT).pool_max_idle_per_host(0);
    let client = match way {
        Way::Open => client,
        Way::Proxy(proxy) => client.no_proxy().proxy(by(&proxy)?),
        Way::Direct(found) => {
            let client = client.no_proxy().dns_resolver(Arc::new(Judged(found)));
            // What never speaks TLS needs no certificates, which take the longest to read.
            if url.scheme() == "http" { client.tls_certs_only([]) } else { client }
        }
    };
    client.build()
}

/// That proxy, whatever is asked of it.
fn by(proxy: &Intercept) -> reqwest::Result<Proxy> {
    let made = Proxy::all(proxy.uri().to_string())?;
    Ok(match proxy.basic_auth() {
        Some(credentials) => made.custom_http_auth(credentials.clone()),
        None => made,
    })
}

/// The addresses that were judged, whatever name is asked for: what was judged is what is connected to.
struct Judged(Vec<IpAddr>);

impl Resolve for Judged {
    fn resolve(&self, _: Name) -> Resolving {
        // A port of zero: the URL's.
        let found: Vec<_> = self.0.iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
        let found: Addrs = Box::new(found.into_iter());
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// Reads an answer up to so many bytes, and never holds more.
async fn read(url: Url, mut answer: reqwest::Response, most: usize) -> Result<Response, Trouble> {
    let host = shown(&url);
    let status = answer.status();
    let headers = std::mem::take(answer.headers_mut());
    if status.is_success() && is_encoded(&headers) {
        return Err(Trouble::Encoded { host });
    }
    let mut body = BytesMut::new();
    let mut cut = false;
    loop {
        let piece = answer.chunk().await;
        let piece =
            piece.map_err(|error| Trouble::BrokenOff { host: host.clone(), reason: cause(&error) })?;
        let Some(piece) = piece else { break };
        let room = most.saturating_sub(body.len());
        body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if piece.len() > room {
            cut = true;
            break;
        }
    }
    Ok(Response { url, status: status.as_u16(), headers, body: body.freeze(), cut })
}

/// Whether a body is compressed although we asked for it as it is. What a failure says is not worth another one.
fn is_encoded(headers: &HeaderMap) -> bool {
    let plain = |value: &HeaderValue| {
        let value = value.as_bytes().trim_ascii();
        value.is_empty() || value.eq_ignore_ascii_case(b"identity")
    };
    !headers.get_all(CONTENT_ENCODING).iter().all(plain)
}

/// What an error comes from in the end: it names no address.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let Some(itself) = cause.downcast_ref::<reqwest::Error>() else { return cause.to_string() };
    match itself {
        error if error.is_timeout() => format!("no connection within {} seconds", CONNECT.as_secs()),
        _ => "the request could not be sent".to_owned(),
    }
}
