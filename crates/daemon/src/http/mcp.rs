//! `/mcp`: MCP over HTTP, in both eras, on one endpoint.
//!
//! A POST is authenticated, read, decided ([`covenant_mcp::http::way`]) and given to a session, all in the task of its
//! connection. A request that ends before it says anything is answered as one JSON document; one that speaks first, or
//! takes long, as a stream. There is no second set of rules for either.

pub(crate) mod accept;
pub(crate) mod letters;
pub(crate) mod sessions;
mod stream;
mod underway;

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use covenant_gate::{Caller, Credential, Fault, Refusal};
use covenant_mcp::headers::Headers;
use covenant_mcp::http::{SESSION, Said, VERSION, Way, status, way};
use covenant_mcp::message::Id;
use covenant_mcp::outlet::{Outlet, Unheard};
use covenant_mcp::reply::{Answer, INTERNAL_ERROR, RATE_LIMITED, RpcError, encode_error};
use covenant_mcp::server::subscriptions::{Change, Watch};
use covenant_mcp::server::{Carrier, Received, Session};
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use hyper::body::Incoming;

use super::serve::{Seat, Via};
use super::{auth, document, upgrade};
use crate::daemon::Daemon;
use accept::{Accepts, accepts};
use letters::Letters;
use sessions::{Limits, Slot};
use stream::{Call, Listening};
use underway::Underway;

/// Where it is.
const PATH: &str = "/mcp";

/// How long a call may be silent before its answer becomes a stream, so that whoever waits knows it lives.
const SILENCE: Duration = Duration::from_secs(5);

/// What changes what is kept of a session.
const TOLD: [&str; 3] = ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// The headers of a request, as the protocol asks for them.
struct Read<'a>(&'a HeaderMap);

impl Headers for Read<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Who asks, and on what.
struct Asker<'a> {
    daemon: &'a Arc<Daemon>,
    headers: &'a HeaderMap,
    credential: Credential,
    caller: Caller,
    accepts: Accepts,
    seat: &'a Arc<Seat>,
}

/// An answer that ends the matter early.
type Early = Box<Response>;

/// How long sessions may be idle, and how many there may be.
pub(crate) fn limits(daemon: &Daemon) -> Limits {
    let http = &daemon.config().http;
    Limits { idle: Duration::from_secs(http.session_idle_secs), in_all: http.max_sessions }
}

/// Answers what is MCP over HTTP; what is not is given back.
pub(crate) async fn answer(
    daemon: &Arc<Daemon>,
    parts: &Parts,
    via: &Via,
    body: Incoming,
    seat: &Arc<Seat>,
) -> Result<Response, Incoming> {
    if parts.uri.path() != PATH {
        return Err(body);
    }
    let credential = || auth::shown(&parts.headers, Some(via));
    let response = match parts.method {
        Method::POST => post(daemon, credential(), parts, body, seat).await,
        Method::DELETE => delete(daemon, credential(), parts, seat).await,
        Method::GET if !upgrade::wanted(&parts.headers) => get(daemon, credential(), parts, seat).await,
        _ => return Err(body),
    };
    Ok(response)
}

/// Takes one message.
async fn post<B>(
    daemon: &Arc<Daemon>,
    credential: Credential,
    parts: &Parts,
    body: B,
    seat: &Arc<Seat>,
) -> Response
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<axum::BoxError>,
{
    match take(daemon, credential, parts, body, seat).await {
        Ok(response) => response,
        Err(early) => *early,
    }
}

async fn take<B>(
    daemon: &Arc<Daemon>,
    credential: Credential,
    parts: &Parts,
    body: B,
    seat: &Arc<Seat>,
) -> Result<Response, Early>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<axum::BoxError>,
{
    let asker = asker(daemon, credential, &parts.headers, seat)?;
    if !accept::is_json(&parts.headers) {
        let error = RpcError::invalid_request("the body must be JSON: send `Content-Type: application/json`");
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, &error));
    }
    if !asker.accepts.json && !asker.accepts.stream {
        return Err(refused(StatusCode::NOT_ACCEPTABLE, None, &not_acceptable()));
    }
    let limit = daemon.config().limits.request_bytes;
    let bytes = document::read(body, limit, document::PATIENCE).await.map_err(|failure| {
        let (status, message) = (failure.status(), failure.message().to_owned());
        let mut response = refused(status, None, &RpcError::invalid_request(message));
        failure.headers().for_each(|(name, value)| drop(response.headers_mut().insert(name, value)));
        response
    })?;
    asker.message(&bytes).await
}

fn asker<'a>(
    daemon: &'a Arc<Daemon>,
    credential: Credential,
    headers: &'a HeaderMap,
    seat: &'a Arc<Seat>,
) -> Result<Asker<'a>, Early> {
    let caller = daemon.gate.authenticate(&credential).map_err(|refusal| unauthenticated(refusal))?;
    Ok(Asker { daemon, headers, credential, caller, accepts: accepts(headers), seat })
}

impl Asker<'_> {
    async fn message(&self, bytes: &[u8]) -> Result<Response, Early> {
        let gate = &self.daemon.gate;
        let said = Said::read(bytes).map_err(|malformed| {
            let error = Session::redacted(gate, malformed.error);
            refused(StatusCode::BAD_REQUEST, malformed.id.as_ref(), &error)
        })?;
        let headers = Read(self.headers);
        let way = way(&headers, &said)
            .map_err(|error| refused(StatusCode::BAD_REQUEST, said.id(), &Session::redacted(gate, error)))?;
        let slot = match way {
            Way::Session(id) => Some(self.slot(id, said.id()).await?),
            _ => None,
        };
        let session = slot.as_ref().map_or_else(|| Session::new(gate.clone()), |slot| slot.session.clone());
        let ask = match &said {
            Said::Request(ask) => ask,
            Said::Other(other) => {
                session.hear(other);
                return Ok(StatusCode::ACCEPTED.into_response());
            }
        };
        let streams = self.accepts.streams && way != Way::Plain;
        let letters = streams.then(Letters::new);
        let outlet: Arc<dyn Outlet> = match &letters {
            Some(letters) => letters.clone(),
            None => Arc::new(Unheard),
        };
        let carrier = Carrier { headers: Some(&headers) };
        match session.take(&self.caller, ask, carrier, &outlet) {
            Received::Answered(answer) => {
                if let Some(slot) = slot.filter(|_| TOLD.contains(&ask.request.method.as_ref())) {
                    self.daemon
                        .sessions
                        .keep(&slot)
                        .await
                        .map_err(|fault| broken(Some(&answer.id), &fault))?;
                }
                let mut response = document(&answer);
                if way == Way::Opening && response.status() == StatusCode::OK && session.is_open() {
                    let id = self.open(session, &answer.id).await?;
                    response.headers_mut().insert(SESSION, id);
                }
                Ok(response)
            }
            Received::Running(running) => {
                let giving_up = self.daemon.stop.giving_up.clone();
                let outlasts = slot.is_some();
                let underway = Underway::new(running, session, outlasts, self.seat.clone(), giving_up);
                Ok(run(underway, letters, self.accepts.json).await)
            }
            Received::Listening(listen) => {
                if !self.accepts.stream {
                    return Err(refused(StatusCode::NOT_ACCEPTABLE, said.id(), &not_acceptable()));
                }
                let place = self.place(None, said.id())?;
                let watch = Watch::new(gate.clone(), self.credential.clone(), listen.admitted().clone());
                let listen = Arc::new(listen);
                let changes = listen.clone();
                Ok(stream::listen(
                    watch,
                    Listening {
                        first: Some(listen.acknowledgement()),
                        changed: move |change: &Change| changes.changed(change),
                        last: move || Some(listen.ended()),
                        closing: self.daemon.stop.closing.clone(),
                        over: tokio_util::sync::CancellationToken::new(),
                    },
                    place,
                ))
            }
            Received::Refused(_) | Received::Nothing | Received::Ready | Received::TakenBack(_) => {
                Ok(StatusCode::ACCEPTED.into_response())
            }
        }
    }

    /// The session of that id, if it is this caller's.
    async fn slot(&self, session: &str, id: Option<&Id>) -> Result<Arc<Slot>, Early> {
        let (now, limits) = (self.daemon.clock.now(), limits(self.daemon));
        let found = self.daemon.sessions.find(session, &self.daemon.gate, &self.caller, now, limits).await;
        found.map_err(|fault| broken(id, &fault))?.ok_or_else(|| {
            let error = RpcError::invalid_request("there is no such session: send `initialize` to begin one");
            refused(StatusCode::NOT_FOUND, id, &error)
        })
    }

    async fn open(&self, session: Arc<Session>, id: &Id) -> Result<HeaderValue, Early> {
        let (now, limits) = (self.daemon.clock.now(), limits(self.daemon));
        let opened = self.daemon.sessions.open(session, self.caller.principal(), now, limits).await;
        let value = opened.and_then(|id| {
            HeaderValue::try_from(id).map_err(|error| Fault::new("no session id could be made", error))
        });
        value.map_err(|fault| broken(Some(id), &fault))
    }

    /// A place among those who listen.
    fn place(&self, slot: Option<&Arc<Slot>>, id: Option<&Id>) -> Result<sessions::Place, Early> {
        self.daemon.sessions.place(&self.caller, slot).ok_or_else(|| {
            let error = RpcError::new(RATE_LIMITED, "you listen on too many streams already: end one first");
            refused(StatusCode::TOO_MANY_REQUESTS, id, &error)
        })
    }
}

/// Opens the stream on which a session hears of changes.
async fn get(daemon: &Arc<Daemon>, credential: Credential, parts: &Parts, seat: &Arc<Seat>) -> Response {
    let opened = async {
        let asker = asker(daemon, credential, &parts.headers, seat)?;
        let slot = asker.named().await?;
        if !asker.accepts.stream {
            return Err(refused(StatusCode::NOT_ACCEPTABLE, None, &not_acceptable()));
        }
        let admitted = daemon
            .gate
            .admit(&asker.caller)
            .map_err(|refusal| refused(StatusCode::TOO_MANY_REQUESTS, None, &refusal.into()))?;
        let place = asker.place(Some(&slot), None)?;
        let watch = Watch::new(daemon.gate.clone(), asker.credential.clone(), admitted);
        let listening = Listening {
            first: None,
            over: slot.take_over(),
            changed: move |change: &Change| slot.session.changed(change),
            last: || None,
            closing: daemon.stop.closing.clone(),
        };
        Ok(stream::listen(watch, listening, place))
    };
    opened.await.unwrap_or_else(|early: Early| *early)
}

/// Ends a session.
async fn delete(daemon: &Arc<Daemon>, credential: Credential, parts: &Parts, seat: &Arc<Seat>) -> Response {
    let ended = async {
        let asker = asker(daemon, credential, &parts.headers, seat)?;
        let slot = asker.named().await?;
        daemon.sessions.close(&slot).await.map_err(|fault| broken(None, &fault))?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    ended.await.unwrap_or_else(|early: Early| *early)
}

impl Asker<'_> {
    /// The session the headers name. Without one there is nothing here but POST: so it is for a stateless client.
    async fn named(&self) -> Result<Arc<Slot>, Early> {
        let headers = Read(self.headers);
        let Some(session) = headers.get(SESSION) else {
            let error =
                RpcError::invalid_request("this is for sessions only: send `Mcp-Session-Id`, or POST");
            let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, None, &error);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return Err(response);
        };
        if let Some(version) = headers.get(VERSION)
            && !covenant_mcp::era::SUPPORTED.contains(&version)
        {
            let error = Session::redacted(&self.daemon.gate, covenant_mcp::era::unsupported(version));
            return Err(refused(StatusCode::BAD_REQUEST, None, &error));
        }
        self.slot(session, None).await
    }
}

/// Sees a request through: to its end, if it says nothing before; otherwise to where it becomes a stream.
async fn run(mut underway: Underway, letters: Option<Arc<Letters>>, json: bool) -> Response {
    let mut silence = pin!(None::<tokio::time::Sleep>);
    let ended = std::future::poll_fn(|cx| {
        if let Poll::Ready(answer) = underway.poll(cx) {
            return Poll::Ready(Some(answer));
        }
        let Some(letters) = &letters else { return Poll::Pending };
        if letters.poll_any(cx) || !json {
            return Poll::Ready(None);
        }
        if silence.is_none() {
            silence.set(Some(tokio::time::sleep(SILENCE)));
        }
        match silence.as_mut().as_pin_mut() {
            Some(silence) => silence.poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await;
    match (ended, letters) {
        // It may have spoken and ended in one breath.
        (Some(answer), Some(letters)) if !json || letters.any() => {
            stream::response(Call::ended(answer, letters))
        }
        (Some(answer), _) => document(&answer),
        (None, Some(letters)) => stream::response(Call::new(underway, letters)),
        (None, None) => StatusCode::ACCEPTED.into_response(),
    }
}

/// An answer as one document; a request that was taken back has none.
fn document(answer: &Answer) -> Response {
    let mut body = Vec::with_capacity(256);
    answer.encode(&mut body);
    if body.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    let status = StatusCode::from_u16(status(answer)).unwrap_or(StatusCode::OK);
    json(status, body)
}

fn json(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refused(status: StatusCode, id: Option<&Id>, error: &RpcError) -> Early {
    let mut body = Vec::new();
    encode_error(id, error, &mut body);
    Box::new(json(status, body))
}

fn unauthenticated(refusal: Refusal) -> Early {
    let mut response = refused(StatusCode::UNAUTHORIZED, None, &refusal.into());
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn broken(id: Option<&Id>, fault: &Fault) -> Early {
    tracing::error!(target: "mcp", cause = fault.cause(), "a session could not be kept: {fault}");
    refused(StatusCode::SERVICE_UNAVAILABLE, id, &RpcError::new(INTERNAL_ERROR, fault.to_string()))
}

fn not_acceptable() -> RpcError {
    RpcError::invalid_request("send `Accept: application/json, text/event-stream`")
}
