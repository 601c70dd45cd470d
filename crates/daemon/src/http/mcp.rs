//! `/mcp`: MCP over HTTP, in both eras, on one endpoint.
//!
//! A POST is authenticated, read, decided ([`covenant_mcp::http::way`]) and given to a session, all in the task of its
//! connection. A request that ends before it says anything is answered as one JSON document; one that speaks first, or
//! takes long, as a stream. There is no second set of rules for either.

pub(crate) mod accept;
mod early;
pub(crate) mod letters;
pub(crate) mod sessions;
mod stream;
mod underway;

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use covenant_gate::{CallError, Caller, Credential, Fault, Refusal};
use covenant_mcp::era;
use covenant_mcp::headers::{Headers, UNREADABLE};
use covenant_mcp::http::{SESSION, Said, VERSION, Way, status, way};
use covenant_mcp::message::Id;
use covenant_mcp::outlet::{Outlet, Unheard};
use covenant_mcp::reply::{Answer, RATE_LIMITED, RpcError};
use covenant_mcp::server::subscriptions::{Change, Listen, Watch};
use covenant_mcp::server::{Carrier, Received, Session};
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

use super::seats::Engaged;
use super::via::Via;
use super::{auth, upgrade};
use crate::daemon::Daemon;
use accept::{Accepts, accepts};
use early::{Early, json};
use letters::Letters;
use sessions::{Known, Limits, Slot};
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
        self.0.get(name).map(|value| value.to_str().unwrap_or(UNREADABLE))
    }
}

/// Who asks, and how.
struct Asker<'a> {
    daemon: &'a Arc<Daemon>,
    headers: Read<'a>,
    credential: Credential,
    caller: Caller,
    accepts: Accepts,
    engaged: &'a Arc<Engaged>,
}

/// How long sessions may be idle, and how many there may be.
pub(crate) fn limits(daemon: &Daemon) -> Limits {
    let http = &daemon.config().http;
    Limits { idle: Duration::from_secs(http.session_idle_secs), in_all: http.max_sessions }
}

/// Answers what is MCP over HTTP; the body of what is not is given back.
pub(crate) async fn answer(
    daemon: &Arc<Daemon>,
    parts: &Parts,
    via: &Via,
    body: Incoming,
    engaged: &Arc<Engaged>,
) -> Result<Response, Incoming> {
    if parts.uri.path() != PATH || (parts.method == Method::GET && upgrade::wanted(&parts.headers)) {
        return Err(body);
    }
    let asker = || Asker::of(daemon, &parts.headers, via, engaged);
    // What is rare is boxed: this future is moved about with every request, and should be small.
    let answered = match (&parts.method, asker()) {
        (&Method::POST, Ok(asker)) => asker.post(body).await,
        (&Method::POST, Err(early)) => {
            // What it wanted is not read. It may have been a call of a team's tool.
            Box::pin(daemon.account.stranger(via.door(), Refusal::Unauthenticated.code())).await;
            Err(early)
        }
        (&Method::GET, Ok(asker)) => Box::pin(asker.get()).await,
        (&Method::DELETE, Ok(asker)) => Box::pin(asker.delete()).await,
        (&Method::GET | &Method::DELETE, Err(early)) => Err(early),
        _ => Err(Early::no_method()),
    };
    Ok(answered.unwrap_or_else(Early::response))
}

impl<'a> Asker<'a> {
    fn of(
        daemon: &'a Arc<Daemon>,
        headers: &'a HeaderMap,
        via: &Via,
        engaged: &'a Arc<Engaged>,
    ) -> Result<Self, Early> {
        let credential = auth::shown(headers, Some(via));
        let caller =
            daemon.gate.authenticate(&credential).map_err(|refusal| Early::refused(None, refusal))?;
        Ok(Self { daemon, headers: Read(headers), credential, caller, accepts: accepts(headers), engaged })
    }

    /// Takes one message.
    async fn post(&self, body: Incoming) -> Result<Response, Early> {
        if !accept::is_json(self.headers.0) {
            let error =
                RpcError::invalid_request("the body must be JSON: send `Content-Type: application/json`");
            return Err(Early::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, error));
        }
        let limit = self.daemon.config().limits.request_bytes;
        let bytes = self.daemon.bodies.read(body, limit, Some(self.engaged)).await?;
        let gate = &self.daemon.gate;
        let said = Said::read(&bytes).map_err(|malformed| {
            let error = Session::redacted(gate, malformed.error);
            Early::new(StatusCode::BAD_REQUEST, malformed.id.as_ref(), error)
        })?;
        let arrived = self.arrive(&said).await.inspect_err(|early| {
            if let Said::Request(ask) = &said {
                Session::turned_away(gate, &self.caller, ask, early.error());
            }
        });
        let (way, slot) = arrived?;
        self.serve(&said, way, slot).await
    }

    /// How a message is served, and in which session.
    async fn arrive<'s>(&'s self, said: &Said<'_>) -> Result<(Way<'s>, Option<Arc<Slot>>), Early> {
        let bad = |error| {
            let error = Session::redacted(&self.daemon.gate, error);
            Early::new(StatusCode::BAD_REQUEST, said.id(), error)
        };
        let way = way(&self.headers, said).map_err(bad)?;
        if way != Way::Plain && !self.accepts.json && !self.accepts.stream {
            return Err(Early::not_acceptable(said.id()));
        }
        let slot = match way {
            Way::Session(id) => Some(self.slot(id, said.id()).await?),
            _ => None,
        };
        Ok((way, slot))
    }

    async fn serve(&self, said: &Said<'_>, way: Way<'_>, slot: Option<Arc<Slot>>) -> Result<Response, Early> {
        // A person who types a command did not choose what it says it accepts.
        let json = self.accepts.json || way == Way::Plain;
        let session = match &slot {
            Some(slot) => slot.session.clone(),
            None => Session::new(self.daemon.gate.clone()),
        };
        let ask = match said {
            Said::Request(ask) => ask,
            Said::Other(other) => {
                session.hear(other);
                return Ok(StatusCode::ACCEPTED.into_response());
            }
        };
        let letters = (self.accepts.streams && way != Way::Plain).then(Letters::new);
        let outlet: Arc<dyn Outlet> = match &letters {
            Some(letters) => letters.clone(),
            None => Arc::new(Unheard),
        };
        match session.take(&self.caller, ask, Carrier { headers: Some(&self.headers) }, &outlet) {
            Received::Answered(answer) => {
                if let Some(slot) = slot.filter(|_| TOLD.contains(&ask.request.method.as_ref())) {
                    let daemon = self.daemon.clone();
                    let kept = self.whole(async move { daemon.sessions.keep(&slot).await });
                    let kept = Box::pin(kept).await;
                    kept.map_err(|fault| Early::broken(Some(&answer.id), &fault))?;
                }
                let opened = match way {
                    Way::Opening if session.is_open() => {
                        Some(Box::pin(self.open(session, &answer.id)).await?)
                    }
                    _ => None,
                };
                // A client that takes only streams is told what went wrong all the same, under its status.
                let mut response = if json || status(&answer) != 200 {
                    document(&answer)
                } else {
                    stream::response(Call::ended(answer, Letters::new()))
                };
                response.headers_mut().extend(opened.map(|id| (HeaderName::from_static(SESSION), id)));
                Ok(response)
            }
            Received::Running(running) => {
                let (held, giving_up) = (slot.as_ref().map(Slot::held), self.daemon.stop.giving_up.clone());
                let underway =
                    Underway::new(running, session, held, letters.clone(), self.engaged.clone(), giving_up);
                Ok(run(underway, letters, json).await)
            }
            Received::Listening(listen) => self.listen(listen),
            Received::Refused(_) | Received::Nothing | Received::Ready | Received::TakenBack(_) => {
                Ok(StatusCode::ACCEPTED.into_response())
            }
        }
    }

    /// The stream of a stateless client that listens.
    fn listen(&self, listen: Listen) -> Result<Response, Early> {
        if !self.accepts.stream {
            return Err(Early::not_acceptable(Some(listen.id())));
        }
        let place = self.place(None, Some(listen.id()))?;
        let watch = Watch::new(self.daemon.gate.clone(), self.credential.clone(), listen.admitted().clone());
        let listen = Arc::new(listen);
        let changes = listen.clone();
        let listening = Listening {
            first: Some(listen.acknowledgement()),
            changed: move |change: &Change| changes.changed(change),
            last: move || Some(listen.ended()),
            closing: self.daemon.stop.closing.clone(),
            over: CancellationToken::new(),
        };
        Ok(stream::listen(watch, listening, place))
    }

    /// Opens the stream on which a session hears of changes.
    async fn get(&self) -> Result<Response, Early> {
        let slot = self.named().await?;
        if !self.accepts.stream {
            return Err(Early::not_acceptable(None));
        }
        let admitted =
            self.daemon.gate.admit(&self.caller).map_err(|refusal| Early::refused(None, refusal))?;
        let place = self.place(Some(&slot), None)?;
        let watch = Watch::new(self.daemon.gate.clone(), self.credential.clone(), admitted);
        let listening = Listening {
            first: None,
            over: slot.take_over(),
            changed: move |change: &Change| slot.session.changed(change),
            last: || None,
            closing: self.daemon.stop.closing.clone(),
        };
        Ok(stream::listen(watch, listening, place))
    }

    /// Ends a session.
    async fn delete(&self) -> Result<Response, Early> {
        let (slot, daemon) = (self.named().await?, self.daemon.clone());
        let closed = self.whole(async move { daemon.sessions.close(&slot).await }).await;
        match closed {
            Ok(true) => Ok(StatusCode::NO_CONTENT.into_response()),
            Ok(false) => Err(Early::no_session(None)),
            Err(fault) => Err(Early::broken(None, &fault)),
        }
    }

    /// The session the headers name. Without one there is nothing here but POST: so it is for a stateless client.
    async fn named(&self) -> Result<Arc<Slot>, Early> {
        let session = self.headers.get(SESSION).ok_or_else(Early::sessions_only)?;
        match self.headers.get(VERSION) {
            Some(version) if !era::SUPPORTED.contains(&version) => {
                let error = Session::redacted(&self.daemon.gate, era::unsupported(version));
                Err(Early::new(StatusCode::BAD_REQUEST, None, error))
            }
            _ => self.slot(session, None).await,
        }
    }

    /// The session of that id, if it is this caller's.
    async fn slot(&self, session: &str, id: Option<&Id>) -> Result<Arc<Slot>, Early> {
        let (now, limits) = (self.daemon.clock.now(), limits(self.daemon));
        let sessions = &self.daemon.sessions;
        let found = match sessions.known(session, &self.caller, now, limits) {
            Known::Here(slot) => Ok(slot),
            Known::Elsewhere(key) => {
                Box::pin(sessions.restore(key, &self.daemon.gate, &self.caller, now, limits)).await
            }
        };
        match found {
            Ok(slot) => slot.ok_or_else(|| Early::no_session(id)),
            Err(CallError::Refused(refusal)) => Err(Early::refused(id, refusal)),
            Err(CallError::Fault(fault)) => Err(Early::broken(id, &fault)),
        }
    }

    /// Keeps a session that has begun; the id its client shows from now on.
    async fn open(&self, session: Arc<Session>, id: &Id) -> Result<HeaderValue, Early> {
        let (now, limits) = (self.daemon.clock.now(), limits(self.daemon));
        let (daemon, caller) = (self.daemon.clone(), self.caller.clone());
        let opened = self.whole(async move {
            let (id, slot) = daemon.sessions.open(session, &caller, now, limits).await?;
            if caller.dispatch().is_some() {
                tokio::spawn(async move { daemon.sessions.close_with_its_run(&slot).await });
            }
            Ok(id)
        });
        let opened = opened.await;
        let value = opened.and_then(|id| {
            HeaderValue::try_from(id).map_err(|error| Fault::new("no session id could be made", error))
        });
        value.map_err(|fault| Early::broken(Some(id), &fault))
    }

    /// Sees it through, also when the client hangs up meanwhile: a session is not half kept, nor half over.
    async fn whole<T: Send + 'static>(
        &self,
        act: impl Future<Output = Result<T, Fault>> + Send + 'static,
    ) -> Result<T, Fault> {
        let engaged = self.engaged.clone();
        let done = tokio::spawn(async move {
            let done = act.await;
            drop(engaged);
            done
        });
        done.await.unwrap_or_else(|error| Err(Fault::new("the session could not be kept", error)))
    }

    /// A place among those who listen.
    fn place(&self, slot: Option<&Arc<Slot>>, id: Option<&Id>) -> Result<sessions::Place, Early> {
        self.daemon.sessions.place(&self.caller, slot).ok_or_else(|| {
            let error = RpcError::new(RATE_LIMITED, "you listen on too many streams already: end one first");
            Early::new(StatusCode::TOO_MANY_REQUESTS, id, error)
        })
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
    json(StatusCode::from_u16(status(answer)).unwrap_or(StatusCode::OK), body)
}
