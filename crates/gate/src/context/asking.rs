//! What a tool asks its client while it runs: of one that answers meanwhile, or of one that repeats the call with the answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::Context;
use crate::inquiry::{Client, Inquiry, Kind, Kinds, Round, Unanswered, Why};
use crate::seal::{Carried, Put};

/// The most questions of one call, over all its rounds.
const QUESTIONS: usize = 16;

/// The key of what is put to the person of a client that repeats its calls.
const APPROVAL: &str = "covenant.approval";

/// Whom a tool can ask.
pub(super) enum Counterpart {
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
        if let Some((_, missing)) = questions.iter().find(|(_, inquiry)| !kinds.can(inquiry)) {
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
        let put = self.put.lock().clone();
        if put.is_some() {
            // The tool did not run, or will run again: what it was to be told waits with the question.
            let told = round.responses.iter().filter(|(key, answer)| *key != APPROVAL && answer.is_object());
            answers.extend(told.map(|(key, answer)| (key.clone(), answer.clone())));
        }
        for (key, inquiry, heard) in self.asked.lock().iter() {
            if *heard == Heard::Later {
                let request =
                    serde_json::json!({ "method": inquiry.kind.method(), "params": inquiry.params });
                requests.insert(key.clone(), request);
            } else if let Some(answer) = round.responses.get(key).filter(|answer| answer.is_object()) {
                answers.insert(key.clone(), answer.clone());
            }
        }
        let remember = remember.or_else(|| carried.remember.clone().filter(|_| put.is_some()));
        let carried = Carried { round: carried.round + 1, at: now, answers, remember, put };
        (!requests.is_empty()).then_some((requests, carried))
    }

    /// Whether the client answers while the call runs.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.counterpart, Counterpart::Live(_))
    }

    /// Puts something to the person of a client that answers while the call runs; nothing where no answer comes. The time
    /// that takes is not the call's.
    pub(crate) async fn put_now(&self, mut inquiry: Inquiry) -> Option<Value> {
        let Counterpart::Live(client) = &self.counterpart else { return None };
        self.redact(&mut inquiry.params);
        let _paused = Paused::of(self);
        client.ask(&inquiry).await.ok()
    }

    /// Sends something to the person of a client that answers while the call runs, whatever it says to it.
    pub(crate) fn tell(&self, mut inquiry: Inquiry) {
        if let Counterpart::Live(client) = &self.counterpart {
            self.redact(&mut inquiry.params);
            client.tell(&inquiry);
        }
    }

    /// Puts something to the person of a client that repeats its calls.
    pub(crate) fn put_later(&self, put: Put, mut inquiry: Inquiry) {
        self.redact(&mut inquiry.params);
        *self.put.lock() = Some(put);
        self.asked.lock().push((APPROVAL.to_owned(), inquiry, Heard::Later));
    }

    /// What was put to the person in the round before this one, and what they answered. It was sealed for this very call.
    pub(crate) fn brought(&self) -> Option<(&Put, &Value)> {
        let Counterpart::Repeats(round, carried) = &self.counterpart else { return None };
        let answer = round.responses.get(APPROVAL).filter(|answer| answer.is_object())?;
        Some((carried.put.as_ref()?, answer))
    }

    /// Comes back once the call has taken that long, without the time in which a person was asked to decide.
    pub(crate) async fn spent(&self, limit: Duration) {
        let begun = Instant::now();
        loop {
            let taken = begun.elapsed().saturating_sub(self.deliberation.lock().so_far());
            match limit.checked_sub(taken).filter(|left| !left.is_zero()) {
                Some(left) => tokio::time::sleep(left).await,
                None => return,
            }
        }
    }
}

/// How long a person was asked to decide within a call.
#[derive(Default)]
pub(super) struct Deliberation {
    before: Duration,
    since: Option<Instant>,
}

impl Deliberation {
    fn so_far(&self) -> Duration {
        self.before + self.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

/// The call stands still until this is dropped.
struct Paused<'c>(&'c Context);

impl<'c> Paused<'c> {
    fn of(context: &'c Context) -> Self {
        context.deliberation.lock().since = Some(Instant::now());
        Self(context)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let mut deliberation = self.0.deliberation.lock();
        deliberation.before = deliberation.so_far();
        deliberation.since = None;
    }
}
