//! Who is let in, and how one request becomes one answer: checked, routed, and what leaves finished in one place.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::Request;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::connection::{self, PATIENCE};
use super::seats::{Engaged, Seat, Seats};
use super::via::{Port, Via};
use super::{guard, mcp, reply};
use crate::daemon::Daemon;
use crate::tls::{self, Tls};

/// How many connections of programs of this machine's own users are served at a time.
const SOCKET_CONNECTIONS: usize = 1024;

/// How many connections one port serves at a time, where the process may open enough files.
const PORT_CONNECTIONS: usize = 4096;

/// Fires when whoever asked is gone. What runs is taken back by this, never by being dropped.
#[derive(Clone)]
pub(crate) struct HungUp(pub(crate) CancellationToken);

/// How many connections one port serves in a process that may open that many files: a quarter, since there may be two
/// ports, and the socket, the database and the log need theirs.
fn port_connections(files: u64) -> usize {
    usize::try_from(files / 4).unwrap_or(usize::MAX).clamp(16, PORT_CONNECTIONS)
}

/// How many of them one principal may hold open, upgraded or listening: others must find a seat, too.
pub(crate) fn most_streams(files: u64) -> usize {
    (port_connections(files) / 4).clamp(4, PORT_CONNECTIONS / 4)
}

/// Accepts from the socket until the daemon stops.
pub(crate) async fn accept_socket(listener: UnixListener, daemon: Arc<Daemon>, router: Router) {
    let seats = Seats::new(SOCKET_CONNECTIONS);
    while let Some(accepted) = next(&daemon, &seats, async || listener.accept().await).await {
        match accepted.and_then(|((stream, _), seat)| Ok((stream.peer_cred()?, stream, seat))) {
            Ok((peer, stream, seat)) => {
                let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
                let (via, daemon, router) =
                    (Via::socket(peer.uid(), pid), Arc::clone(&daemon), router.clone());
                tokio::spawn(serve(stream, via, daemon, router, seat));
            }
            Err(error) => refused(&error).await,
        }
    }
}

/// Accepts from a port until the daemon stops, which may open that many files.
pub(crate) async fn accept_tcp(
    listener: TcpListener,
    port: Port,
    files: u64,
    daemon: Arc<Daemon>,
    router: Router,
) {
    let seats = Seats::new(port_connections(files));
    while let Some(accepted) = next(&daemon, &seats, async || listener.accept().await).await {
        match accepted {
            Ok(((stream, _), seat)) => {
                let _ = stream.set_nodelay(true);
                tokio::spawn(by_port(stream, Via::Tcp(port), Arc::clone(&daemon), router.clone(), seat));
            }
            Err(error) => refused(&error).await,
        }
    }
}

/// The next connection, and the seat it gets; `None` when the daemon stops.
async fn next<T>(
    daemon: &Daemon,
    seats: &Arc<Seats>,
    accept: impl AsyncFnOnce() -> io::Result<T>,
) -> Option<io::Result<(T, Arc<Seat>)>> {
    let seated = async {
        // Accepted first: who has not been heard yet cannot ask anyone to make room.
        let stream = match accept().await {
            Ok(stream) => stream,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok((stream, seats.take(daemon.stop.begin()?).await)))
    };
    tokio::select! {
        () = daemon.stop.closing.cancelled() => None,
        seated = seated => seated,
    }
}

/// A connection that could not be accepted: the process may be out of files, which passes.
async fn refused(error: &io::Error) {
    tracing::warn!(target: "covenant::http", "a connection could not be accepted: {error}");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Waits for the first byte and serves what comes of it. That is boxed: one who never says anything should cost little.
async fn by_port(stream: TcpStream, via: Via, daemon: Arc<Daemon>, router: Router, seat: Arc<Seat>) {
    let mut first = [0];
    let said = timeout(PATIENCE, stream.peek(&mut first));
    let Some(Ok(Ok(1))) = connection::before(said, &seat, &daemon.stop).await else { return };
    match daemon.tls.as_ref().map(Tls::config) {
        None => Box::pin(serve(stream, via, daemon, router, seat)).await,
        Some(config) => {
            let shaken = tls::handshake(stream, first, config);
            Box::pin(by_tls(shaken, via, daemon, router, seat)).await;
        }
    }
}

async fn by_tls<Io>(
    shaken: impl Future<Output = Option<Io>>,
    via: Via,
    daemon: Arc<Daemon>,
    router: Router,
    seat: Arc<Seat>,
) where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if let Some(Some(stream)) = connection::before(shaken, &seat, &daemon.stop).await {
        serve(stream, via, daemon, router, seat).await;
    }
}

async fn serve<Io>(stream: Io, via: Via, daemon: Arc<Daemon>, router: Router, seat: Arc<Seat>)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer =
        |request, engaged| answer(request, via.clone(), Arc::clone(&daemon), router.clone(), engaged);
    connection::serve(stream, seat, &daemon.stop, answer).await;
}

/// One request: checked, routed, answered, and what leaves finished.
async fn answer(
    request: Request<Incoming>,
    via: Via,
    daemon: Arc<Daemon>,
    router: Router,
    engaged: Arc<Engaged>,
) -> Response {
    let begun = Instant::now();
    let shown = tracing::enabled!(target: "covenant::http", tracing::Level::DEBUG)
        .then(|| (request.method().clone(), request.uri().path().to_owned()));
    let (parts, body) = request.into_parts();
    let response = match guard::check(&parts, &via, &daemon.config().http) {
        Ok(()) => match mcp::answer(&daemon, &parts, &via, body, &engaged).await {
            Ok(response) => response,
            Err(body) => {
                route(Request::from_parts(parts, Body::new(body)), via, &daemon, router, engaged).await
            }
        },
        Err(failure) => failure.into_response(),
    };
    let response = reply::finish(response, &daemon.gate.redactor());
    if let Some((method, path)) = shown {
        tracing::debug!(
            target: "covenant::http", %method, path, status = response.status().as_u16(),
            duration = %format_args!("{}ms", begun.elapsed().as_millis()), "answered request"
        );
    }
    response
}

/// What the router answers, in a task of its own: a peer that hangs up must not leave an act half done.
async fn route(
    mut request: Request<Body>,
    via: Via,
    daemon: &Daemon,
    router: Router,
    engaged: Arc<Engaged>,
) -> Response {
    let hung_up = daemon.stop.giving_up.child_token();
    let extensions = request.extensions_mut();
    extensions.insert(via);
    extensions.insert(Arc::clone(&engaged));
    extensions.insert(HungUp(hung_up.clone()));
    // Fires when this is dropped, which is how a peer that hung up shows.
    let _tells = hung_up.drop_guard();
    let answered = tokio::spawn(async move {
        let _until_it_ends = engaged;
        router.oneshot(request).await
    });
    match answered.await {
        Ok(Ok(response)) => response,
        Err(broken) => reply::Failure::broken(&broken).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_serves_as_many_as_the_files_allow_and_not_more_than_are_good_for_it() {
        for (files, most) in [(0, 16), (256, 64), (1024, 256), (20_000, 4096), (u64::MAX, 4096)] {
            assert_eq!(port_connections(files), most);
            assert_eq!(most_streams(files), most / 4, "and one principal can hold a quarter of that");
        }
    }
}
