//! `GET /mcp` with `Upgrade: mcp`: the connection stops being HTTP and carries MCP, one message per line.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::{Buf as _, Bytes};
use covenant_gate::Credential;
use covenant_mcp::{Ended, Options, serve};
use http::StatusCode;
use http::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use super::auth;
use super::patient::Patient;
use super::reply::{self, Failure};
use super::seats::Engaged;
use super::via::Via;
use crate::daemon::Daemon;

/// Checks who asks, and takes the connection over.
pub(crate) async fn mcp(State(daemon): State<Arc<Daemon>>, request: Request) -> Result<Response, Failure> {
    let (mut parts, _) = request.into_parts();
    if !wanted(&parts.headers) {
        return Err(reply::upgrade_required());
    }
    let credential = auth::credential(&parts);
    let caller = match daemon.gate.authenticate(&credential) {
        Ok(caller) => caller,
        Err(refusal) => {
            let door = parts.extensions.get::<Via>().map_or("port", Via::door);
            daemon.account.stranger(door, refusal.code()).await;
            return Err(refusal.into());
        }
    };
    let upgrade = parts.extensions.remove::<OnUpgrade>().ok_or_else(reply::upgrade_required)?;
    // It takes a seat for as long as it likes. Those of the socket are this machine's own, and a burst there is theirs whole.
    let place = if let Some(Via::Socket(_)) = parts.extensions.get() {
        None
    } else {
        daemon.gate.admit(&caller)?;
        Some(daemon.sessions.place(&caller, None).ok_or_else(too_many)?)
    };
    let engaged = parts.extensions.remove::<Arc<Engaged>>();
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => converse(upgraded, &daemon, credential).await,
            Err(error) => tracing::debug!(target: "mcp", "a connection was not taken over: {error}"),
        }
        drop((engaged, place));
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static("mcp"));
    Ok(response)
}

fn too_many() -> Failure {
    let message =
        "you hold too many connections open already, of MCP by upgrade and of streams you listen on";
    let action = "end one first, or POST to /mcp, which holds none";
    Failure::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", message, action)
}

pub(crate) fn wanted(headers: &HeaderMap) -> bool {
    let has = |name: HeaderName, word: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    has(CONNECTION, "upgrade") && has(UPGRADE, "mcp")
}

/// Speaks MCP until either side ends it. The raw stream is taken out of HTTP's wrapping where it can be.
async fn converse(upgraded: Upgraded, daemon: &Daemon, credential: Credential) {
    let ended = match upgraded.downcast::<TokioIo<Patient<UnixStream>>>() {
        Ok(parts) => speak(Rewound::of(parts), daemon, credential).await,
        Err(upgraded) => match upgraded.downcast::<TokioIo<Patient<TcpStream>>>() {
            Ok(parts) => speak(Rewound::of(parts), daemon, credential).await,
            Err(upgraded) => speak(TokioIo::new(upgraded), daemon, credential).await,
        },
    };
    match ended {
        Some(Ended::Failed(error)) => tracing::debug!(target: "mcp", "connection failed: {error}"),
        Some(ended) => tracing::debug!(target: "mcp", how = ?ended, "connection ended"),
        None => tracing::debug!(target: "mcp", "connection given up"),
    }
}

async fn speak<Io>(stream: Io, daemon: &Daemon, credential: Credential) -> Option<Ended>
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let options = Options {
        request_bytes: daemon.config().limits.request_bytes,
        stop: daemon.stop.closing.child_token(),
        ..Options::default()
    };
    tokio::select! {
        ended = serve(stream, Arc::clone(&daemon.gate), credential, options) => Some(ended),
        // Calls that outlast the drain are taken back by dropping them; the gate writes how they ended.
        () = daemon.stop.giving_up.cancelled() => None,
    }
}

/// A stream some of whose bytes were read already.
struct Rewound<Io> {
    head: Bytes,
    stream: Io,
}

impl<Io> Rewound<Io> {
    fn of(parts: hyper::upgrade::Parts<TokioIo<Patient<Io>>>) -> Self {
        Self { head: parts.read_buf, stream: parts.io.into_inner().into_inner() }
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for Rewound<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.head.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let length = self.head.len().min(buffer.remaining());
        if let Some(part) = self.head.get(..length) {
            buffer.put_slice(part);
        }
        self.head.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Rewound<Io> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn bytes_that_came_with_the_request_are_read_first() {
        let mut stream = Rewound { head: Bytes::from_static(b"one"), stream: &b" two"[..] };
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "one two");
    }

    #[test]
    fn an_upgrade_is_asked_for_in_both_headers() {
        let headers = |pairs: &[(HeaderName, &'static str)]| {
            pairs
                .iter()
                .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
                .collect::<HeaderMap>()
        };
        assert!(wanted(&headers(&[(CONNECTION, "keep-alive, Upgrade"), (UPGRADE, "MCP")])));
        assert!(!wanted(&headers(&[(UPGRADE, "mcp")])));
        assert!(!wanted(&headers(&[(CONNECTION, "upgrade"), (UPGRADE, "websocket")])));
    }
}
