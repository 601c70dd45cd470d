//! Plain HTTP to one server, on connections of our own.
//!
//! What was sent on a kept connection that closed at that moment may or may not have been done. It is sent again, on a
//! new connection, where nothing of it went out, or where whoever sends it says that twice does no harm.

use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use covenant_mcp::upstream::ports::{Courier, Later, Reply, ReplyBody, Sent};
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use reqwest::Url;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connection::{Connection, Failed};
use super::pool::Pool;
use super::{elsewhere, headers, method, received, same_place};
use crate::outbound::{CONNECT, unreached};

/// Requests to one server over plain HTTP.
pub(super) struct Direct {
    url: Url,
    /// The path and query of `url`, which most requests have.
    target: Uri,
    host: HeaderValue,
    connect_within: Duration,
    pub(super) pool: Arc<Pool>,
}

/// A body, and the connection it comes on until its end.
struct Body {
    incoming: Incoming,
    connection: Option<Connection>,
    pool: Arc<Pool>,
}

impl Direct {
    pub(super) fn new(url: Url) -> Result<Self, String> {
        let unusable = || "has a `url` that no request can hold".to_owned();
        let name = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        let host = HeaderValue::from_str(&host).map_err(|_| unusable())?;
        let target = target(&url).ok_or_else(unusable)?;
        Ok(Self { url, target, host, connect_within: CONNECT, pool: Arc::default() })
    }

    async fn carry(&self, sent: Sent<'_>) -> Result<Reply, String> {
        let Sent { method: deed, url, headers: written, body, repeatable } = sent;
        let target = self.target_of(url)?;
        let body = Bytes::from(body);
        let write = || {
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method(deed);
            *request.uri_mut() = target.clone();
            *request.headers_mut() = headers(written)?;
            request.headers_mut().insert(header::HOST, self.host.clone());
            Ok::<_, String>(request)
        };
        let mut request = write()?;
        if let Some(mut kept) = self.pool.take().await {
            match kept.exchange(request).await {
                Ok(answer) => return Ok(self.reply(answer, kept)),
                Err(Failed::Unsent) => {}
                Err(Failed::Unanswered) if repeatable => {}
                Err(failed) => return Err(clause(failed)),
            }
            request = write()?;
        }
        let mut fresh = self.connect().await?;
        let answer = fresh.exchange(request).await.map_err(clause)?;
        Ok(self.reply(answer, fresh))
    }

    fn target_of(&self, url: &str) -> Result<Uri, String> {
        if url == self.url.as_str() {
            return Ok(self.target.clone());
        }
        let url = Url::parse(url).map_err(|_| elsewhere())?;
        if !same_place(&self.url, &url) {
            return Err(elsewhere());
        }
        target(&url).ok_or_else(elsewhere)
    }

    async fn connect(&self) -> Result<Connection, String> {
        let host = self.url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = self.url.port_or_known_default().unwrap_or(80);
        let connecting = async {
            if host == "localhost" {
                // A name server must not be able to say that we are elsewhere.
                let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
                return TcpStream::connect(here.map(|ip| SocketAddr::new(ip, port)).as_slice()).await;
            }
            TcpStream::connect((host, port)).await
        };
        let failed = |why: &str| format!("could not be reached: {}", unreached(why));
        let late = format!("no connection within {} s", self.connect_within.as_secs_f32());
        let stream = timeout(self.connect_within, connecting).await.map_err(|_| failed(&late))?;
        let stream = stream.map_err(|error| failed(&error.to_string()))?;
        // It only makes answers later, so one that cannot be set is no reason to give up.
        drop(stream.set_nodelay(true));
        Connection::new(stream).await
    }

    fn reply(&self, answer: Response<Incoming>, connection: Connection) -> Reply {
        let (head, incoming) = answer.into_parts();
        let body = Body { incoming, connection: Some(connection), pool: Arc::clone(&self.pool) };
        Reply { status: head.status.as_u16(), headers: received(&head.headers), body: Box::new(body) }
    }
}

impl Courier for Direct {
    fn send<'a>(&'a self, request: Sent<'a>) -> Later<'a, Result<Reply, String>> {
        Box::pin(self.carry(request))
    }
}

impl ReplyBody for Body {
    fn next(&mut self) -> Later<'_, Option<Result<Vec<u8>, String>>> {
        Box::pin(poll_fn(|cx| {
            let Some(connection) = &mut self.connection else { return Poll::Ready(None) };
            let piece = ready!(connection.poll_piece(&mut self.incoming, cx));
            let ended = !matches!(piece, Some(Ok(_)));
            if let Some(mut connection) = self.connection.take_if(|_| ended)
                && piece.is_none()
                && connection.rest(cx)
            {
                self.pool.put(connection);
            }
            Poll::Ready(piece.map(|piece| piece.map(Into::into)))
        }))
    }
}

/// The path and query of a URL, as a request line has them.
fn target(url: &Url) -> Option<Uri> {
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}{query}", url.path()).parse().ok()
}

fn clause(failed: Failed) -> String {
    match failed {
        Failed::Unsent | Failed::Unanswered => "closed the connection before it answered".to_owned(),
        Failed::Other(clause) => clause,
    }
}
