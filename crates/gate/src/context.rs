//! What a running tool may know and do beside its arguments: its deadline, cancellation, progress, log messages,
//! and what it asks its client.

mod asking;

use std::borrow::Cow;
use std::sync::{Arc, Weak};
use std::time::Duration;

use covenant_model::id::CallId;
use covenant_model::principal::Principal;
use covenant_model::redact::Redactor;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) use self::asking::Heard;
use self::asking::{Counterpart, Deliberation};
use crate::approval::{Content, Standing};
use crate::authenticate::Caller;
use crate::call::CallRequest;
use crate::gate::Gate;
use crate::inquiry::{Inquiry, Unanswered, Why};
use crate::output::Redacted;
use crate::refusal::{CallError, Fault, Refusal};
use crate::seal::Put;
pub use crate::trace::Trace;
use crate::veil::Veil;

/// How many calls may be made within each other.
pub(crate) const DEEPEST: u32 = 4;

/// How far a tool has got.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How much is done; grows with each report.
    pub progress: f64,
    /// How much there is, if known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// How much a log message matters, least first, in the protocol's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// A message for the caller's log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogMessage {
    /// How much it matters.
    pub level: Level,
    /// Which part of the tool speaks.
    pub logger: Option<String>,
    /// What it says.
    pub data: Value,
}

/// What the calls of one client have in common while it stays: for tools that keep something for each. It is over when
/// the last one who holds it lets go.
#[derive(Debug, Default)]
pub struct Conversation {
    over: CancellationToken,
}

impl Conversation {
    /// Comes back once it is over. Holding this does not keep it going.
    pub fn over(&self) -> CancellationToken {
        self.over.clone()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// Where a face delivers what a tool says while it runs. Texts arrive redacted.
pub trait Listener: Send + Sync {
    /// The tool got further.
    fn progress(&self, progress: Progress);
    /// The tool said something for the log.
    fn log(&self, message: LogMessage);
}

/// What a running tool is given beside its arguments.
pub struct Context {
    pub(crate) call: Option<CallId>,
    pub(crate) cancel: CancellationToken,
    limit: Option<Duration>,
    pub(crate) listener: Option<Arc<dyn Listener>>,
    pub(crate) redactor: Option<Arc<Redactor>>,
    pub(crate) trace: Option<Trace>,
    session: Option<Arc<Conversation>>,
    seat: Option<Seat>,
    /// The call within which this one is made, and how many there are around it.
    pub(crate) parent: Option<CallId>,
    depth: u32,
    alias: Option<String>,
    /// What the row of its end says besides.
    note: Mutex<Option<String>>,
    counterpart: Counterpart,
    /// What was asked so far, and whether it was answered.
    asked: Mutex<Vec<(String, Inquiry, Heard)>>,
    /// What this round puts to the client's person.
    put: Mutex<Option<Put>>,
    deliberation: Mutex<Deliberation>,
}

/// Where a running call sits: at which gate, and for whom.
pub(crate) struct Seat {
    pub(crate) gate: Weak<Gate>,
    pub(crate) caller: Caller,
}

impl Gate {
    /// The seat of that caller's calls.
    pub(crate) fn seat(&self, caller: &Caller) -> Seat {
        Seat { gate: self.own.clone(), caller: caller.clone() }
    }
}

impl Context {
    /// A context nobody listens to, cancelled by that token.
    pub fn new(cancel: CancellationToken) -> Self {
        Self {
            call: None,
            cancel,
            limit: None,
            listener: None,
            redactor: None,
            trace: None,
            session: None,
            seat: None,
            parent: None,
            depth: 0,
            alias: None,
            note: Mutex::default(),
            counterpart: Counterpart::Nobody,
            asked: Mutex::default(),
            put: Mutex::default(),
            deliberation: Mutex::default(),
        }
    }

    /// Delivers progress and log messages there.
    pub fn heard_by(mut self, listener: Arc<dyn Listener>) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Belongs to that trace.
    pub fn traced(mut self, trace: Option<Trace>) -> Self {
        self.trace = trace;
        self
    }

    /// Belongs to that conversation.
    pub fn part_of(mut self, session: Arc<Conversation>) -> Self {
        self.session = Some(session);
        self
    }

    /// The conversation the call belongs to, if it belongs to one that goes on after it.
    pub fn conversation(&self) -> Option<&Arc<Conversation>> {
        self.session.as_ref()
    }

    /// The trace it belongs to.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Whether anybody listens to progress.
    pub fn is_heard(&self) -> bool {
        self.listener.is_some()
    }

    /// Gives up after that long, if it would not have earlier.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(self.limit().map_or(limit, |earlier| earlier.min(limit)));
        self
    }

    /// After how long the call is given up; nothing where nobody said.
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// The context of that call, which says nothing that was not redacted.
    pub(crate) fn inside(mut self, call: &CallId, redactor: Arc<Redactor>, seat: Seat) -> Self {
        self.call = Some(call.clone());
        self.redactor = Some(redactor);
        self.seat = Some(seat);
        self
    }

    /// Whose call this is.
    pub fn principal(&self) -> Option<&Principal> {
        self.seat.as_ref().map(|seat| seat.caller.principal())
    }

    /// Whether this call is made within another, by the tool that runs there.
    pub fn is_within(&self) -> bool {
        self.parent.is_some()
    }

    /// How many calls and dispatches there are around this one.
    pub fn depth(&self) -> u32 {
        let around = self.seat.as_ref().and_then(|seat| seat.caller.mandate());
        self.depth.max(around.map_or(0, |mandate| mandate.depth))
    }

    /// The dispatch whose run makes this call, itself or by a tool that it calls.
    pub fn dispatch(&self) -> Option<&CallId> {
        self.seat.as_ref().and_then(|seat| seat.caller.dispatch())
    }

    /// Has the row of this call's end say that.
    pub fn note(&self, text: &str) {
        *self.note.lock() = Some(text.to_owned());
    }

    pub(crate) fn noted(&self) -> Option<String> {
        self.note.lock().clone()
    }

    /// Whoever asks knows what comes of it by that id.
    pub fn known_as(mut self, id: String) -> Self {
        self.alias = Some(id);
        self
    }

    /// The id by which whoever asks knows what comes of it, if they chose one.
    pub fn alias(&self) -> Option<&str> {
        self.alias.as_deref()
    }

    /// Makes a call within this one: the same caller, every check anew, cancelled with this one, and its rows name it.
    pub async fn call(&self, request: CallRequest) -> Result<Redacted, CallError> {
        let (gate, caller) = self.seated()?;
        if self.depth() >= DEEPEST {
            return Err(
                Refusal::TooDeep { tool: gate.redactor().shown(&request.name, 64), limit: DEEPEST }.into()
            );
        }
        let admitted = gate.admit(caller)?;
        let mut within = Self::new(self.cancel.child_token()).traced(self.trace.clone());
        within.parent.clone_from(&self.call);
        within.depth = self.depth() + 1;
        within.session.clone_from(&self.session);
        // One path leads into itself here; its future would otherwise hold itself.
        Box::pin(gate.call(admitted, request, within)).await
    }

    /// Whether a text may run, for this caller. Where nobody was asked yet, a person is.
    pub async fn standing(&self, content: Content<'_>) -> Result<Standing, Fault> {
        let (gate, caller) = self.seated()?;
        gate.standing(caller.principal(), content).await
    }

    /// Asks the person before this call's client about a text that waits, where there is a way to them: how it stands
    /// after that, or what the call is answered with instead.
    pub async fn put_to_person(
        &self,
        content: Content<'_>,
        standing: Standing,
    ) -> Result<Standing, Unanswered> {
        let failed = |fault: Fault| Unanswered::because(Why::Failed(fault.to_string()));
        let (gate, caller) = self.seated().map_err(failed)?;
        gate.persuaded(caller, content, standing, self).await
    }

    /// How a text stands, without asking anyone.
    pub async fn known_standing(&self, content: Content<'_>) -> Result<Option<Standing>, Fault> {
        self.seated()?.0.known_standing(content).await
    }

    pub(crate) fn seated(&self) -> Result<(Arc<Gate>, &Caller), Fault> {
        let seat = self.seat.as_ref().and_then(|seat| Some((seat.gate.upgrade()?, &seat.caller)));
        seat.ok_or_else(|| Fault::new("the daemon is stopping", "a call outlived its gate"))
    }

    /// Comes back when the caller takes the call back, or is a run that is over.
    pub(crate) async fn taken_back(&self) {
        match &self.seat {
            Some(seat) => tokio::select! {
                () = self.cancel.cancelled() => {}
                () = seat.caller.over() => {}
            },
            None => self.cancel.cancelled().await,
        }
    }

    /// Whether that has happened.
    pub(crate) fn is_taken_back(&self) -> bool {
        self.cancel.is_cancelled() || self.seat.as_ref().is_some_and(|seat| seat.caller.is_over())
    }

    /// Cancelled when the caller takes the call back, or its time is up.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Which call this is.
    pub fn call_id(&self) -> Option<&CallId> {
        self.call.as_ref()
    }

    /// Reports how far the tool has got.
    pub fn progress(&self, mut progress: Progress) {
        if let Some(listener) = &self.listener {
            progress.message = progress.message.map(|text| self.redacted(&text));
            listener.progress(progress);
        }
    }

    /// Says something for the caller's log.
    pub fn log(&self, mut message: LogMessage) {
        if let Some(listener) = &self.listener {
            self.redact(&mut message.data);
            message.logger = message.logger.map(|text| self.redacted(&text));
            listener.log(message);
        }
    }

    /// What takes secrets out of texts, for work that goes on beside the call.
    pub fn veil(&self) -> Veil {
        Veil::of(self.redactor.iter().cloned().chain(self.renewed()))
    }

    /// The text without secrets, for a tool that cuts or marks it: what is cut apart is not found afterwards.
    pub fn without_secrets<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.veil().without_secrets(text)
    }

    /// What removes secrets now, where that is not what did when the call began. A tool may have learned of either.
    fn renewed(&self) -> Option<Arc<Redactor>> {
        let now = self.seat.as_ref()?.gate.upgrade()?.redactor();
        self.redactor.as_ref().is_none_or(|then| !Arc::ptr_eq(then, &now)).then_some(now)
    }

    /// Takes secrets out of a value, for a tool that keeps it: what is shown of it later passes no gate that knows them still.
    pub fn redact(&self, value: &mut Value) {
        for redactor in self.renewed().iter().chain(&self.redactor) {
            redactor.redact_value(value);
        }
    }

    /// The text without what is a secret, or was one when the call began.
    pub(crate) fn redacted(&self, text: &str) -> String {
        self.without_secrets(text).into_owned()
    }
}
