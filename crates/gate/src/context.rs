//! What a running tool may know and do beside its arguments: its deadline, cancellation, progress, log messages,
//! and what it asks its client.

use std::borrow::Cow;
use std::sync::{Arc, Weak};
use std::time::Duration;

use covenant_model::id::CallId;
use covenant_model::principal::Principal;
use covenant_model::redact::Redactor;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::approval::{Content, Standing};
use crate::authenticate::Caller;
use crate::call::CallRequest;
use crate::gate::Gate;
use crate::inquiry::{Client, Inquiry, Kind, Kinds, Round, Unanswered, Why};
use crate::output::Redacted;
use crate::refusal::{CallError, Fault, Refusal};
use crate::seal::Carried;
pub use crate::trace::Trace;
use crate::veil::Veil;

/// How many calls may be made within each other.
const DEEPEST: u32 = 4;

/// The most questions of one call, over all its rounds.
const QUESTIONS: usize = 16;

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
    counterpart: Counterpart,
    /// What was asked so far, and whether it was answered.
    asked: Mutex<Vec<(String, Inquiry, Heard)>>,
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

/// Whom a tool can ask.
enum Counterpart {
    Nobody,
    /// A client that answers while the call runs.
    Live(Arc<dyn Client>),
    /// A client that repeats the call, with what it and we know from earlier rounds.
    Repeats(Round, Carried),
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    Answered,
    Unanswered,
    /// The answer comes with the next round.
    Later,
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
            counterpart: Counterpart::Nobody,
            asked: Mutex::default(),
        }
    }

    /// Questions go to that client, which answers while the call runs.
    pub fn answered_by(mut self, client: Arc<dyn Client>) -> Self {
        self.counterpart = Counterpart::Live(client);
        self
    }

    /// Questions end the call; the client repeats it with the answers.
    pub fn repeated(mut self, round: Round) -> Self {
        self.counterpart = Counterpart::Repeats(round, Carried::default());
        self
    }

    /// What the client brought back for the gate to open.
    pub(crate) fn to_open(&self) -> Option<&str> {
        match &self.counterpart {
            Counterpart::Repeats(round, _) => round.state.as_deref(),
            _ => None,
        }
    }

    /// Knows what earlier rounds of the call left.
    pub(crate) fn carry(&mut self, earlier: Carried) {
        if let Counterpart::Repeats(_, carried) = &mut self.counterpart {
            *carried = earlier;
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

    /// Whether this call is made within another.
    pub fn is_within(&self) -> bool {
        self.depth > 0
    }

    /// Makes a call within this one: the same caller, every check anew, cancelled with this one, and its rows name it.
    pub async fn call(&self, request: CallRequest) -> Result<Redacted, CallError> {
        let (gate, caller) = self.seated()?;
        if self.depth >= DEEPEST {
            return Err(
                Refusal::TooDeep { tool: gate.redactor().shown(&request.name, 64), limit: DEEPEST }.into()
            );
        }
        let admitted = gate.admit(caller)?;
        let mut within = Self::new(self.cancel.child_token()).traced(self.trace.clone());
        within.parent.clone_from(&self.call);
        within.depth = self.depth + 1;
        within.session.clone_from(&self.session);
        // One path leads into itself here; its future would otherwise hold itself.
        Box::pin(gate.call(admitted, request, within)).await
    }

    /// Whether a text may run, for this caller. Where nobody was asked yet, a person is.
    pub async fn standing(&self, content: Content<'_>) -> Result<Standing, Fault> {
        let (gate, caller) = self.seated()?;
        gate.standing(caller.principal(), content).await
    }

    /// How a text stands, without asking anyone.
    pub async fn known_standing(&self, content: Content<'_>) -> Result<Option<Standing>, Fault> {
        self.seated()?.0.known_standing(content).await
    }

    fn seated(&self) -> Result<(Arc<Gate>, &Caller), Fault> {
        let seat = self.seat.as_ref().and_then(|seat| Some((seat.gate.upgrade()?, &seat.caller)));
        seat.ok_or_else(|| Fault::new("the daemon is stopping", "a call outlived its gate"))
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

    /// What the client said it can be asked for.
    pub fn kinds(&self) -> Kinds {
        match &self.counterpart {
            Counterpart::Nobody => Kinds::default(),
            Counterpart::Live(client) => client.kinds(),
            Counterpart::Repeats(round, _) => round.kinds,
        }
    }

    /// What an earlier round of this call left with [`Unanswered::remembering`].
    pub fn remembered(&self) -> Option<&Value> {
        match &self.counterpart {
            Counterpart::Repeats(_, carried) => carried.remember.as_ref(),
            _ => None,
        }
    }

    /// Asks the client one thing, under a key that is the same in every round.
    pub async fn ask(&self, key: &str, inquiry: Inquiry) -> Result<Value, Unanswered> {
        let mut answers = self.ask_all([(key, inquiry)]).await?;
        answers
            .remove(key)
            .ok_or_else(|| Unanswered::because(Why::Failed("the answer is missing".to_owned())))
    }

    /// Asks the client several things in one round, each under its key.
    pub async fn ask_all<'k>(
        &self,
        questions: impl IntoIterator<Item = (&'k str, Inquiry)>,
    ) -> Result<Map<String, Value>, Unanswered> {
        let questions: Vec<_> = questions.into_iter().collect();
        let kinds = self.kinds();
        if let Some((_, missing)) = questions.iter().find(|(_, inquiry)| !kinds.has(inquiry.kind)) {
            return Err(Unanswered::because(Why::Unsupported(missing.kind)));
        }
        if self.asked.lock().len() + questions.len() > QUESTIONS {
            let reason = format!("a call may ask its client at most {QUESTIONS} things");
            return Err(Unanswered::because(Why::Failed(reason)));
        }
        let mut answers = Map::new();
        let mut later = false;
        for (key, mut inquiry) in questions {
            self.redact(&mut inquiry.params);
            let answer = match &self.counterpart {
                Counterpart::Nobody => None,
                Counterpart::Live(client) => match client.ask(&inquiry).await {
                    Ok(answer) => Some(answer),
                    Err(reason) => {
                        self.asked.lock().push((key.to_owned(), inquiry, Heard::Unanswered));
                        return Err(Unanswered::because(Why::Failed(reason)));
                    }
                },
                Counterpart::Repeats(round, carried) => {
                    let sound = |answer: &&Value| answer.is_object();
                    round.responses.get(key).filter(sound).or(carried.answers.get(key)).cloned()
                }
            };
            let heard = if answer.is_some() { Heard::Answered } else { Heard::Later };
            later |= answer.is_none();
            self.asked.lock().push((key.to_owned(), inquiry, heard));
            answers.extend(answer.map(|answer| (key.to_owned(), answer)));
        }
        if later { Err(Unanswered::because(Why::Later)) } else { Ok(answers) }
    }

    /// What was asked, for the log.
    pub(crate) fn asked(&self) -> Vec<(Kind, Heard)> {
        self.asked.lock().iter().map(|(_, inquiry, heard)| (inquiry.kind, *heard)).collect()
    }

    /// What is still to be answered, as the protocol writes it, and what must be carried until it is.
    pub(crate) fn outstanding(
        &self,
        remember: Option<Value>,
        now: u64,
    ) -> Option<(Map<String, Value>, Carried)> {
        let Counterpart::Repeats(round, carried) = &self.counterpart else { return None };
        let mut requests = Map::new();
        let mut answers = carried.answers.clone();
        for (key, inquiry, heard) in self.asked.lock().iter() {
            if *heard == Heard::Later {
                let request =
                    serde_json::json!({ "method": inquiry.kind.method(), "params": inquiry.params });
                requests.insert(key.clone(), request);
            } else if let Some(answer) = round.responses.get(key).filter(|answer| answer.is_object()) {
                answers.insert(key.clone(), answer.clone());
            }
        }
        let carried = Carried { round: carried.round + 1, at: now, answers, remember };
        (!requests.is_empty()).then_some((requests, carried))
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

    fn redact(&self, value: &mut Value) {
        for redactor in self.renewed().iter().chain(&self.redactor) {
            redactor.redact_value(value);
        }
    }

    /// The text without what is a secret, or was one when the call began.
    pub(crate) fn redacted(&self, text: &str) -> String {
        self.without_secrets(text).into_owned()
    }
}
