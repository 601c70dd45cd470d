//! Connections: accepted up to a limit, served one request after the other, closed when they dawdle or we stop.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use covenant_gate::Credential;
use http::Request;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::patient::Patient;
use super::{guard, mcp, reply};
use crate::daemon::Daemon;
use crate::shutdown::Busy;

/// What a connection takes up as long as anything of it goes on: also after it stopped being HTTP.
pub(crate) struct Seat {
    _busy: Busy,
    _place: OwnedSemaphorePermit,
}

/// How many connections of programs of this machine's own users are served at a time; more wait to be accepted.
const SOCKET_CONNECTIONS: usize = 1024;

/// How many connections one port serves at a time: fewer, since anyone on the machine can open one.
const PORT_CONNECTIONS: usize = 256;

/// How long the head of a request may take, and a connection may be silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long an answer that is whole may take to be sent when we stop.
const FLUSH: Duration = Duration::from_millis(100);

/// Fires when whoever asked is gone. What runs is taken back by this, never by being dropped.
#[derive(Clone)]
pub(crate) struct HungUp(pub(crate) CancellationToken);

/// By which door a request came.
#[derive(Clone)]
pub(crate) enum Via {
    /// By the socket, from that process.
    Socket(Arc<SocketPeer>),
    /// By that port.
    Tcp { port: u16 },
}

/// The process at the other end of the socket.
pub(crate) struct SocketPeer {
    pub(crate) credential: Credential,
    pub(crate) pid: Option<u32>,
}

impl Via {
    /// By the socket, from that user's process.
    pub(crate) fn socket(uid: u32, pid: Option<u32>) -> Self {
        Self::Socket(Arc::new(SocketPeer { credential: Credential::peer(uid), pid }))
    }
}

/// Accepts from the socket until the daemon stops.
pub(crate) async fn accept_socket(listener: UnixListener, daemon: Arc<Daemon>, router: Router) {
    let places = Arc::new(Semaphore::new(SOCKET_CONNECTIONS));
    while let Some((place, accepted)) = next(&daemon, &places, || listener.accept()).await {
        match accepted.and_then(|(stream, _)| Ok((stream.peer_cred()?, stream))) {
            Ok((peer, stream)) => {
                let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
                spawn(stream, Via::socket(peer.uid(), pid), &daemon, &router, place);
            }
            Err(error) => refused(&error).await,
        }
    }
}

/// Accepts from a port until the daemon stops.
pub(crate) async fn accept_tcp(listener: TcpListener, daemon: Arc<Daemon>, router: Router) {
    let places = Arc::new(Semaphore::new(PORT_CONNECTIONS));
    while let Some((place, accepted)) = next(&daemon, &places, || listener.accept()).await {
        match accepted.and_then(|(stream, _)| Ok((stream.local_addr()?.port(), stream))) {
            Ok((port, stream)) => {
                let _ = stream.set_nodelay(true);
                spawn(stream, Via::Tcp { port }, &daemon, &router, place);
            }
            Err(error) => refused(&error).await,
        }
    }
}

/// The next connection once there is a place for it; `None` when the daemon stops.
async fn next<T, F>(
    daemon: &Daemon,
    places: &Arc<Semaphore>,
    accept: impl FnOnce() -> F,
) -> Option<(OwnedSemaphorePermit, io::Result<T>)>
where
    F: Future<Output = io::Result<T>>,
{
    let accepted = async {
        let place = Arc::clone(places).acquire_owned().await.ok()?;
        Some((place, accept().await))
    };
    tokio::select! {
        () = daemon.stop.closing.cancelled() => None,
        accepted = accepted => accepted,
    }
}

/// A connection that could not be accepted: the process may be out of files, which passes.
async fn refused(error: &io::Error) {
    tracing::warn!(target: "covenant::http", "a connection could not be accepted: {error}");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

fn spawn<Io>(stream: Io, via: Via, daemon: &Arc<Daemon>, router: &Router, place: OwnedSemaphorePermit)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(busy) = daemon.stop.begin() else { return };
    let seat = Arc::new(Seat { _busy: busy, _place: place });
    let (daemon, router) = (Arc::clone(daemon), router.clone());
    tokio::spawn(async move { connection(stream, via, &daemon, router, seat).await });
}

async fn connection<Io>(stream: Io, via: Via, daemon: &Arc<Daemon>, router: Router, seat: Arc<Seat>)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| {
        answer(request, via.clone(), Arc::clone(daemon), router.clone(), Arc::clone(&seat))
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_headers(100).max_buf_size(64 * 1024);
    let mut served =
        pin!(http.serve_connection(TokioIo::new(Patient::new(stream, PATIENCE)), service).with_upgrades());
    let outcome = tokio::select! {
        outcome = served.as_mut() => outcome,
        () = daemon.stop.closing.cancelled() => {
            served.as_mut().graceful_shutdown();
            tokio::select! {
                outcome = served.as_mut() => outcome,
                () = daemon.stop.giving_up.cancelled() => return,
                () = quiet(&seat) => return,
            }
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(target: "covenant::http", "a connection ended early: {error}");
    }
}

/// Returns once nothing is being answered: a client that has sent half a request is not waited for.
async fn quiet(seat: &Arc<Seat>) {
    loop {
        tokio::time::sleep(FLUSH).await;
        if Arc::strong_count(seat) == 1 {
            return;
        }
    }
}

/// One request: checked, routed, answered, and what leaves finished in one place. The seat is held until all of it has left.
async fn answer(
    request: Request<Incoming>,
    via: Via,
    daemon: Arc<Daemon>,
    router: Router,
    seat: Arc<Seat>,
) -> Result<Response, Infallible> {
    let begun = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let (mut parts, body) = request.into_parts();
    let response = if let Err(failure) = guard::check(&parts, &via, &daemon.config().http) {
        failure.into_response()
    } else {
        let body = match mcp::answer(&daemon, &parts, &via, body, &seat).await {
            Ok(response) => return Ok(leave(response, &daemon, begun, &method, &path, seat)),
            Err(body) => body,
        };
        parts.extensions.insert(via);
        parts.extensions.insert(Arc::clone(&seat));
        let hung_up = daemon.stop.giving_up.child_token();
        parts.extensions.insert(HungUp(hung_up.clone()));
        let _tells = hung_up.drop_guard();
        // In a task of its own: a peer that hangs up drops this future, and must not leave an act half done.
        let (request, held) = (Request::from_parts(parts, Body::new(body)), Arc::clone(&seat));
        let answered = tokio::spawn(async move {
            let _until_it_ends = held;
            router.oneshot(request).await
        });
        match answered.await {
            Ok(Ok(response)) => response,
            Err(broken) => reply::Failure::broken(&broken).into_response(),
        }
    };
    Ok(leave(response, &daemon, begun, &method, &path, seat))
}

/// What leaves, finished in one place. The seat is held until all of it has left.
fn leave(
    response: Response,
    daemon: &Daemon,
    begun: Instant,
    method: &http::Method,
    path: &str,
    seat: Arc<Seat>,
) -> Response {
    let response = reply::finish(response, &daemon.gate.redactor());
    tracing::debug!(
        target: "covenant::http", %method, path, status = response.status().as_u16(),
        duration = %format_args!("{}ms", begun.elapsed().as_millis()), "answered request"
    );
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &seat;
            frame
        }))
    })
}
