//! A call of a tool: its progress passed on, its silence and its length bounded, taken back where nobody waits for it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::context::{Context, Progress};
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until};

use super::ear::{Hearing, Word};
use super::{Link, LinkError, ToolCall, in_one_line, letters};
use crate::era::Era;
use crate::members::Members;
use crate::trace::{SHOWN, Shown};
use crate::upstream::scrub::Scrub;
use crate::upstream::wire::{Ear as _, Letter, Wire};

/// How long it may take to tell a server that a call is over.
const FAREWELL: Duration = Duration::from_secs(5);

/// A caller gets so much progress in so long a time, and then the last of it.
const MOST: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);

impl Link {
    pub(super) async fn run(&self, call: ToolCall<'_>) -> Result<Box<RawValue>, LinkError> {
        let id = self.ear.id();
        let letter = letters::call(id, self.agreed.era, &call);
        let hearing = self.ear.hear(id);
        let abandoned = self.abandoned(id);
        let ended = self.attend(&letter, hearing, &call).await;
        match &ended {
            Err(LinkError::Idle(_)) => abandoned.because("it was silent for too long"),
            Err(LinkError::Total(_)) => abandoned.because("it took too long"),
            Err(LinkError::Cancelled) => abandoned.because("the caller took it back"),
            _ => abandoned.ended(),
        }
        checked(ended?, self.ear.scrub())
    }

    /// Waits for the answer as long as that makes sense.
    async fn attend(
        &self,
        letter: &Letter,
        mut hearing: Hearing<'_>,
        call: &ToolCall<'_>,
    ) -> Result<Box<RawValue>, LinkError> {
        let began = Instant::now();
        let (mut silent, mut told) = (began + call.idle, Told::new(began));
        let last = began + call.total;
        let mut asking = pin!(self.result(letter));
        let mut alarm = pin!(sleep_until(silent.min(last)));
        loop {
            tokio::select! {
                biased;
                Some(word) = hearing.word() => {
                    if told.pass(word, call.context) {
                        silent = Instant::now() + call.idle;
                    }
                }
                answer = &mut asking => {
                    while let Some(word) = hearing.said() {
                        told.pass(word, call.context);
                    }
                    told.release(call.context);
                    return answer;
                }
                () = sleep_until(told.since + WINDOW), if told.held.is_some() => told.release(call.context),
                () = call.context.cancelled().cancelled() => return Err(LinkError::Cancelled),
                () = &mut alarm => {
                    let now = Instant::now();
                    if now >= last {
                        return Err(LinkError::Total(call.total));
                    }
                    if now >= silent {
                        return Err(LinkError::Idle(call.idle));
                    }
                    alarm.as_mut().reset(silent.min(last));
                }
            }
        }
    }

    /// Takes a request back when it is dropped, unless it ended by itself.
    pub(super) fn abandoned(&self, id: u64) -> Abandoned {
        // Over HTTP a modern server sees that nobody reads its stream.
        let speaks = self.agreed.era == Era::Legacy || self.wire.transport() == "stdio";
        Abandoned {
            wire: speaks.then(|| Arc::clone(&self.wire)),
            era: self.agreed.era,
            id,
            reason: Some("nobody waits for it any more"),
        }
    }
}

/// How far the server has said it is, and what of that the caller knows.
struct Told {
    far: Option<f64>,
    /// When the present window began, and how much was passed on in it.
    since: Instant,
    passed: u32,
    /// The last progress, where that was too much.
    held: Option<Progress>,
}

impl Told {
    fn new(since: Instant) -> Self {
        Self { far: None, since, passed: 0, held: None }
    }

    /// Passes a word on to the caller; true if it shows that the server gets further.
    fn pass(&mut self, word: Word, context: &Context) -> bool {
        match word {
            Word::Log(message) => context.log(message),
            Word::Progress(progress) if self.far.is_none_or(|before| progress.progress > before) => {
                self.far = Some(progress.progress);
                self.held = Some(progress);
                if self.since.elapsed() >= WINDOW {
                    (self.since, self.passed) = (Instant::now(), 0);
                }
                if self.passed < MOST {
                    self.release(context);
                }
                return true;
            }
            Word::Progress(_) => {}
        }
        false
    }

    /// Passes on what was held back.
    fn release(&mut self, context: &Context) {
        if let Some(progress) = self.held.take() {
            self.passed += 1;
            context.progress(progress);
        }
    }
}

/// A request that may be over before its answer comes, also because whoever waits is dropped.
pub(super) struct Abandoned {
    /// Whom to tell; none where it needs no words.
    wire: Option<Arc<dyn Wire>>,
    era: Era,
    id: u64,
    /// Why it is; none once it ended by itself.
    reason: Option<&'static str>,
}

impl Abandoned {
    /// It was answered, or cannot be any more.
    pub(super) fn ended(mut self) {
        self.reason = None;
    }

    fn because(mut self, reason: &'static str) {
        self.reason = Some(reason);
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let (Some(wire), Some(reason)) = (self.wire.take(), self.reason) else { return };
        let letter = letters::cancelled(self.era, self.id, reason);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let mut telling =
            Box::pin(async move { drop(tokio::time::timeout(FAREWELL, wire.tell(&letter)).await) });
        // At once where that goes, before anything else is asked. Otherwise nobody waits for it, and a server that takes
        // no letters does not get it.
        if (&mut telling).now_or_never().is_none() {
            runtime.spawn(telling);
        }
    }
}

#[derive(Deserialize)]
struct Kind {
    #[serde(default, rename = "resultType")]
    kind: Option<String>,
}

/// A result that is one: an object, and complete. In either era: what asks something of the client comes from the gate
/// alone, whoever writes it.
pub(in crate::upstream) fn checked(raw: Box<RawValue>, scrub: &Scrub) -> Result<Box<RawValue>, LinkError> {
    let not_one = |what: String| Err(LinkError::NotAResult(format!("answered the call with {what}")));
    if !raw.get().starts_with('{') {
        return not_one("something that is no result".to_owned());
    }
    let says = |word: &str| memchr::memmem::find(raw.get().as_bytes(), word.as_bytes()).is_some();
    // A name can be written with escapes too.
    if says("resultType") || says("\\u") {
        let Ok(Kind { kind }) = serde_json::from_str(raw.get()) else {
            return not_one("a result whose type cannot be read".to_owned());
        };
        match kind.as_deref() {
            None => {}
            Some("complete") => return Ok(in_one_line(untyped(raw))),
            Some("input_required") => {
                return not_one("questions to its client, which cannot be passed on".to_owned());
            }
            Some("task") => {
                return not_one("a task to be asked for later, which we did not offer to do".to_owned());
            }
            Some(other) => {
                let other = scrub.shown(other, SHOWN);
                return not_one(format!("a result of the unknown type {}", Shown(&other)));
            }
        }
    }
    Ok(in_one_line(raw))
}

/// The result without its type: who speaks the modern era gets it anew, and nobody else knows what it is.
fn untyped(raw: Box<RawValue>) -> Box<RawValue> {
    let Ok(members) = serde_json::from_str::<Members<'_>>(raw.get()) else { return raw };
    let mut json = String::with_capacity(raw.get().len());
    for (member, value) in members.0.iter().filter(|(member, _)| member != "resultType") {
        json.push(if json.is_empty() { '{' } else { ',' });
        json.push_str(&Value::from(member.as_str()).to_string());
        json.push(':');
        json.push_str(value.get());
    }
    json.push_str(if json.is_empty() { "{}" } else { "}" });
    RawValue::from_string(json).unwrap_or(raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::scrub::known;

    #[test]
    fn a_result_loses_its_type_and_nothing_else() {
        for (said, told) in [
            (r#"{"resultType":"complete","content":[ {"a":1.0} ]}"#, r#"{"content":[ {"a":1.0} ]}"#),
            (
                r#"{"b":1,"resultType":"complete","a\n":{"resultType":"x"}}"#,
                r#"{"b":1,"a\n":{"resultType":"x"}}"#,
            ),
            (r#"{"result\u0054ype":"complete","b": [2]}"#, r#"{"b":[2]}"#),
            (r#"{"resultType":"complete"}"#, "{}"),
            (r#"{ "content" : [{"text":"resultType"}] }"#, r#"{ "content" : [{"text":"resultType"}] }"#),
        ] {
            let raw = RawValue::from_string(said.to_owned()).unwrap();
            assert_eq!(checked(raw, known::scrub()).unwrap().get(), told, "{said}");
        }
    }
}
