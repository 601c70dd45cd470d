//! One client's conversation with the gate, whatever carries it: each message in, what becomes of it out.
//!
//! Every request is authenticated and counted before it is looked at. No method decides anything the gate decides.

mod completion;
mod flight;
mod kept;
mod lifecycle;
mod logging;
mod prompts;
mod questions;
mod report;
mod resources;
pub mod subscriptions;
mod told;
mod tools;
mod unmade;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use covenant_gate::context::{Conversation, Level, Trace};
use covenant_gate::inquiry::Kinds;
use covenant_gate::{Admitted, CallError, Caller, Context, Credential, Gate, Redacted, Refusal};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::era::{self, Era};
use crate::headers::Headers;
use crate::message::{self, Id, Incoming, Malformed, Notification, Request};
use crate::outlet::Outlet;
use crate::params::{Ask, Found, Params, kinds};
use crate::reply::{Answer, Body, Cache, INTERNAL_ERROR, RESOURCE_NOT_FOUND, RpcError};
use crate::trace;
use flight::Flights;
use questions::{Questions, Reached};
use report::Report;
use subscriptions::Listen;
use told::Told;

/// The most characters of a message or a detail of an error.
const QUOTED: usize = 1000;

/// What one client has told us, and what it has under way. Make one per connection, per session, or per stateless
/// request.
pub struct Session {
    gate: Arc<Gate>,
    flights: Flights,
    questions: Questions,
    conversation: Arc<Conversation>,
    told: Told,
    state: Mutex<State>,
}

/// What a client of the handshake's era has told us.
struct State {
    /// The least level of log messages.
    level: Level,
    /// What it can be asked for.
    kinds: Kinds,
    /// The client, as it was when it shook hands or began to listen.
    listener: Option<Admitted>,
    /// The resources it follows.
    follows: BTreeSet<String>,
}

impl Default for State {
    fn default() -> Self {
        Self { level: Level::Info, kinds: Kinds::default(), listener: None, follows: BTreeSet::new() }
    }
}

/// What became of one message.
pub enum Received {
    /// It wanted no answer.
    Nothing,
    /// It is answered.
    Answered(Answer),
    /// It was no message: the bytes of the error that says so.
    Refused(Malformed),
    /// It is being worked on.
    Running(Running),
    /// The client listens: acknowledge, and send what changes.
    Listening(Listen),
    /// A legacy client is ready to hear of changes.
    Ready,
    /// The client took that request back.
    TakenBack(Id),
}

/// A request that is being worked on. Dropping it takes the request back.
pub struct Running(Pin<Box<dyn Future<Output = Answer> + Send>>);

impl Future for Running {
    type Output = Answer;
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Answer> {
        self.0.as_mut().poll(cx)
    }
}

/// What carries a request beside its bytes, where something does.
#[derive(Default, Clone, Copy)]
pub struct Carrier<'a> {
    /// The headers, of one that has some.
    pub headers: Option<&'a dyn Headers>,
}

impl Carrier<'_> {
    fn trace(&self) -> Option<Trace> {
        Trace::from_traceparent(self.headers?.get("traceparent")?)
    }
}

/// What the eras say differently about the results of work.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Tool,
    Prompt,
    /// Of the resource with that URI, without secrets.
    Resource(String),
    /// Nothing is asked of the client for it.
    Unasking,
}

impl Kind {
    fn cache(&self, result: &Redacted) -> Cache {
        match self {
            Self::Resource(_) if !result.needs_input() => resources::FRESH,
            _ => Cache::Unsaid,
        }
    }

    /// A tool that failed says so in its result; nothing else has a result that could.
    fn body(&self, result: Redacted) -> Body {
        if *self != Self::Tool && result.is_error() {
            return Body::Error(RpcError::new(INTERNAL_ERROR, said(&result)));
        }
        let cache = self.cache(&result);
        Body::Result(result, cache)
    }

    fn error(&self, error: CallError, era: Era) -> RpcError {
        let absent = matches!(error, CallError::Refused(Refusal::NotFound { .. }));
        let mut error = RpcError::from(error);
        if let Self::Resource(uri) = self
            && absent
        {
            error.data = Some(json!({ "uri": uri }));
            if era == Era::Legacy {
                error.code = RESOURCE_NOT_FOUND;
            }
        }
        error
    }
}

/// Why something failed.
fn said(failed: &Redacted) -> String {
    let result: Value = serde_json::from_str(failed.json().get()).unwrap_or_default();
    let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or("Internal error");
    text.strip_prefix("Error: ").unwrap_or(text).to_owned()
}

/// A request that was authenticated, counted and found to be in one era.
struct Asked<'a> {
    id: Id,
    method: &'a str,
    params: Params<'a>,
    raw: Option<&'a serde_json::value::RawValue>,
    era: Era,
    admitted: Admitted,
    progress: Option<Id>,
    level: Option<Level>,
    kinds: Kinds,
    trace: Option<Trace>,
    carrier: Carrier<'a>,
}

impl Asked<'_> {
    fn own(self, text: impl Into<String>, cache: Cache) -> Received {
        let body = Body::Own(text.into(), cache);
        Received::Answered(Answer { id: self.id, era: self.era, body })
    }
}

impl Session {
    /// A conversation that begins.
    pub fn new(gate: Arc<Gate>) -> Arc<Self> {
        Self::with(gate, State::default())
    }

    fn with(gate: Arc<Gate>, state: State) -> Arc<Self> {
        let (flights, questions) = (Flights::default(), Questions::default());
        let (conversation, told) = (Arc::default(), Told::default());
        Arc::new(Self { gate, flights, questions, conversation, told, state: Mutex::new(state) })
    }

    /// Takes one message of whoever shows that credential. What the request says on its way goes to `outlet`.
    pub fn receive(
        self: &Arc<Self>,
        credential: &Credential,
        bytes: &[u8],
        outlet: &Arc<dyn Outlet>,
    ) -> Received {
        match message::read(bytes) {
            Ok(Incoming::Request(request)) => {
                let ask = Ask::read(request);
                match self.gate.authenticate(credential) {
                    Ok(caller) => self.take(&caller, &ask, Carrier::default(), outlet),
                    Err(refusal) => {
                        self.refused(None, &ask, &refusal);
                        self.answered(&ask, Era::Legacy, refusal.into())
                    }
                }
            }
            Ok(other) => self.hear(&other),
            Err(malformed) => Received::Refused(self.malformed(malformed)),
        }
    }

    /// Takes one request of that caller.
    pub fn take(
        self: &Arc<Self>,
        caller: &Caller,
        ask: &Ask<'_>,
        carrier: Carrier<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Received {
        let Request { id, method, .. } = &ask.request;
        match ask.subject().filter(|_| method == "tools/call") {
            Some(tool) => trace::received_call(&self.gate, method, id, &tool),
            None => trace::received(&self.gate, method, id),
        }
        let mut era = Era::Legacy;
        let received = match self.gate.admit(caller) {
            Ok(admitted) => {
                let asked = self.ask(admitted, ask, carrier, &mut era);
                let received = asked.and_then(|asked| self.dispatch(asked, outlet));
                // Once there is a call, the gate tells of it.
                received.inspect_err(|error| self.unfit(caller, ask, error))
            }
            Err(refusal) => {
                self.refused(Some(caller), ask, &refusal);
                Err(refusal.into())
            }
        };
        received.unwrap_or_else(|error| self.answered(ask, era, error))
    }

    /// Takes a message that wants no answer.
    pub fn hear(&self, incoming: &Incoming<'_>) -> Received {
        match incoming {
            Incoming::Request(_) => Received::Nothing,
            Incoming::Notification(notification) => self.notification(notification),
            Incoming::Response(response) => {
                self.questions.answer(response);
                Received::Nothing
            }
        }
    }

    /// What is said about a message that is none.
    pub fn malformed(&self, Malformed { id, error }: Malformed) -> Malformed {
        Malformed { id, error: Self::redacted(&self.gate, error) }
    }

    /// Whether a client shook hands.
    pub fn is_open(&self) -> bool {
        self.state.lock().listener.is_some()
    }

    /// Whether the client has something to answer.
    pub fn waits_for_answers(&self) -> bool {
        self.questions.any()
    }

    /// Takes every request under way back: the client is gone.
    pub fn abandon(&self) {
        self.flights.cancel_all();
    }

    /// An error for that request.
    pub fn answered(&self, ask: &Ask<'_>, era: Era, error: RpcError) -> Received {
        let body = Body::Error(Self::redacted(&self.gate, error));
        Received::Answered(Answer { id: ask.request.id.clone(), era, body })
    }

    /// The steps every request that was counted takes before anyone asks what it wants.
    fn ask<'r>(
        &self,
        admitted: Admitted,
        ask: &'r Ask<'r>,
        carrier: Carrier<'r>,
        era: &mut Era,
    ) -> Result<Asked<'r>, RpcError> {
        let Found { params, meta } = ask.found.as_ref().map_err(Clone::clone)?;
        let request = &ask.request;
        *era = era::of(&request.method, meta)?;
        self.flights.allow(&request.id)?;
        let (level, kinds) = match era {
            Era::Legacy => {
                let state = self.state.lock();
                (Some(state.level), state.kinds)
            }
            Era::Modern => (meta.level()?, kinds(meta.capabilities)),
        };
        Ok(Asked {
            id: request.id.clone(),
            method: &request.method,
            raw: request.params,
            era: *era,
            admitted,
            progress: meta.progress_token()?,
            level,
            kinds,
            trace: meta.trace().or_else(|| carrier.trace()),
            params: *params,
            carrier,
        })
    }

    fn dispatch(self: &Arc<Self>, asked: Asked<'_>, outlet: &Arc<dyn Outlet>) -> Result<Received, RpcError> {
        let offers = self.gate.offers();
        match (asked.method, asked.era) {
            ("tools/call", _) => self.call_tool(asked, outlet),
            ("tools/list", _) => self.list_tools(asked),
            ("initialize", Era::Legacy) => self.initialize(asked),
            ("ping", Era::Legacy) => Ok(asked.own("{}", Cache::Unsaid)),
            ("server/discover", Era::Modern) => Ok(self.discover(asked)),
            ("logging/setLevel", Era::Legacy) => self.set_level(asked),
            ("subscriptions/listen", Era::Modern) => self.listen(asked),
            ("resources/list", _) if offers.resources => self.list_resources(asked),
            ("resources/templates/list", _) if offers.resources => self.list_templates(asked),
            ("resources/read", _) if offers.resources => self.read_resource(asked, outlet),
            ("resources/subscribe", Era::Legacy) if offers.updates => self.follow(asked),
            ("resources/unsubscribe", Era::Legacy) if offers.updates => self.unfollow(asked),
            ("prompts/list", _) if offers.prompts => self.list_prompts(asked),
            ("prompts/get", _) if offers.prompts => self.get_prompt(asked, outlet),
            ("completion/complete", _) if offers.completions => self.complete(asked, outlet),
            (method, _) => Err(RpcError::method_not_found(method)),
        }
    }

    fn notification(&self, notification: &Notification<'_>) -> Received {
        match notification.method.as_ref() {
            "notifications/initialized" => self.ready(),
            "notifications/cancelled" => {
                let raw = Params::read(notification.params).ok().and_then(|params| params.request_id);
                raw.and_then(|raw| Id::of(raw.get())).map_or(Received::Nothing, |id| {
                    self.flights.cancel(&id);
                    Received::TakenBack(id)
                })
            }
            _ => Received::Nothing,
        }
    }

    /// Starts work that may take a while, with its place in the table of what can be cancelled.
    fn start<W>(
        self: &Arc<Self>,
        asked: Asked<'_>,
        outlet: &Arc<dyn Outlet>,
        kind: Kind,
        work: impl FnOnce(Arc<Gate>, Admitted, Context) -> W,
    ) -> Result<Received, RpcError>
    where
        W: Future<Output = Result<Redacted, CallError>> + Send + 'static,
    {
        let round = match (asked.era, &kind) {
            (Era::Legacy, _) | (_, Kind::Unasking) => None,
            (Era::Modern, _) => Some(asked.params.round(asked.kinds)?),
        };
        let flight = self.flights.begin(self, &asked.id)?;
        let report = Report::of(asked.progress, asked.level, outlet);
        let mut context = Context::new(flight.token().clone()).traced(asked.trace);
        if let Some(report) = &report {
            context = context.heard_by(report.clone());
        }
        // Of a request that stands alone nothing goes on.
        if self.is_open() {
            context = context.part_of(self.conversation.clone());
        }
        if let Some(round) = round {
            context = context.repeated(round);
        } else if asked.kinds != Kinds::default() && kind != Kind::Unasking && outlet.reaches() {
            let (session, outlet, kinds) = (self.clone(), outlet.clone(), asked.kinds);
            let over = flight.token().clone();
            context = context.answered_by(Arc::new(Reached { session, outlet, kinds, over }));
        }
        let work = work(self.gate.clone(), asked.admitted, context);
        let (id, era, session) = (asked.id, asked.era, self.clone());
        Ok(Received::Running(Running(Box::pin(async move {
            let result = work.await;
            session.told.by(&result);
            if let Some(report) = report {
                report.close();
            }
            let body = match (flight.end(), result) {
                (flight::End::TakenBack, _) => Body::Silent,
                (flight::End::Wanted, Ok(result)) => kind.body(result),
                (flight::End::Wanted, Err(error)) => Body::Error(kind.error(error, era)),
            };
            Answer { id, era, body }
        }))))
    }

    /// Errors of our own may quote what the client sent; secrets are not repeated, not even to who sent them. What is
    /// quoted is cut only afterwards: half a secret matches nothing.
    pub fn redacted(gate: &Gate, mut error: RpcError) -> RpcError {
        let redactor = gate.redactor();
        error.message = redactor.shown(&error.message, QUOTED);
        for text in error.data.iter_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
            redactor.redact_value(text);
            if let Value::String(text) = text {
                *text = redactor.shown(text, QUOTED);
            }
        }
        error
    }
}
