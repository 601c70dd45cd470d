//! The contract of a run: exactly one line of JSON in, exactly one out, and an end in good time. Whoever breaks it is told how.

use std::time::Duration;

use covenant_model::intent::IntentId;
use covenant_model::json;
use covenant_model::manifest::Resources;
use covenant_runner::ending::{Limit, Status};
use covenant_runner::lines::{LineError, LineLimits, Lines};
use covenant_runner::pipes::{Input, Output};
use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use super::ports::Running;

/// The most bytes of an answer.
const LONGEST: usize = 4 << 20;

/// What an agent answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// Whether it says that it succeeded.
    pub(super) ok: bool,
    pub(super) text: String,
    pub(super) sources: Vec<String>,
}

/// How an agent broke its contract. Each is the end of a sentence that begins with the agent's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Breach {
    #[error("had not ended after {} ms, which is all it has (`cpu_ms_per_task`), and was killed", .0.as_millis())]
    Overdue(Duration),
    #[error("{}, and was killed", .0.told())]
    Over(Limit),
    #[error("ended with {0}")]
    Ended(Status),
    #[error("wrote no line: it must answer with exactly one line of JSON on standard output")]
    NoLine,
    #[error(
        "wrote more than one line: it must answer with exactly one line of JSON on standard output; what is said beside it belongs on standard error"
    )]
    TwoLines,
    #[error("wrote more than {} MiB on standard output", LONGEST >> 20)]
    TooLong,
    #[error("wrote a line that is no JSON object: {0}")]
    NotJson(String),
    #[error("answered another intent: `intent_id` is {0}, and must be the `id` it was given")]
    WrongIntent(String),
    #[error("answered without a sound `{0}`: {1}")]
    Member(&'static str, &'static str),
    #[error("could not be read: {0}")]
    Pipe(String),
}

impl Breach {
    /// The same, with the limit that was passed.
    pub(super) fn told(&self, limits: &Resources) -> String {
        let Self::Over(limit) = self else { return self.to_string() };
        let most = match limit {
            Limit::Memory => format!("{} MiB", limits.memory_mb),
            Limit::Scratch => format!("{} MiB", limits.disk_mb),
            Limit::Processes => limits.pids.to_string(),
        };
        format!("{} ({most}), and was killed", limit.told())
    }
}

/// Gives it the line and takes its answer. Whatever happens, it has ended when this comes back.
pub(super) async fn keep(
    run: &mut dyn Running,
    line: &[u8],
    id: &IntentId,
    budget: Duration,
    deadline: Instant,
) -> Result<Answer, Breach> {
    let (Some(input), Some(output)) = (run.take_input(), run.take_output()) else {
        return Err(Breach::Pipe("it has no pipes".to_owned()));
    };
    let Ok(said) = tokio::time::timeout_at(deadline, talk(input, output, line)).await else {
        run.kill().await;
        return Err(Breach::Overdue(budget));
    };
    if let Err(breach @ (Breach::TwoLines | Breach::TooLong)) = said {
        run.kill().await;
        return Err(breach);
    }
    // Whoever closes its output and stays has not ended.
    let Ok(ending) = run.wait_until(deadline).await else { return Err(Breach::Overdue(budget)) };
    if let Some(limit) = ending.over {
        return Err(Breach::Over(limit));
    }
    if !ending.status.is_success() {
        return Err(Breach::Ended(ending.status));
    }
    read(&said?, id)
}

/// Writes the line and reads what comes, both at once: neither side need wait for the other.
async fn talk(mut input: Input, output: Output, line: &[u8]) -> Result<Vec<u8>, Breach> {
    let write = async {
        // One that does not read its line may know what to say all the same.
        let _ = input.write_all(line).await;
        drop(input);
    };
    let limits = LineLimits { line: LONGEST, total: u64::try_from(LONGEST).unwrap_or(u64::MAX) + 64 };
    let mut lines = Lines::new(output, limits);
    let read = async {
        let mut only: Option<Vec<u8>> = None;
        loop {
            match lines.next().await {
                Ok(Some(line)) if line.trim_ascii().is_empty() => {}
                Ok(Some(_)) if only.is_some() => return Err(Breach::TwoLines),
                Ok(Some(line)) => only = Some(line),
                Ok(None) => return only.ok_or(Breach::NoLine),
                Err(LineError::TooLong(_) | LineError::TooMuch(_)) => return Err(Breach::TooLong),
                Err(LineError::Read(error)) => return Err(Breach::Pipe(error.to_string())),
            }
        }
    };
    tokio::select! {
        // Who has said everything, or too much, need not read to the end.
        said = read => said,
        never = async { write.await; std::future::pending().await } => never,
    }
}

/// What an answer says, if it is one to that intent.
fn read(line: &[u8], id: &IntentId) -> Result<Answer, Breach> {
    let text = std::str::from_utf8(line).map_err(|_| Breach::NotJson("it is not UTF-8".to_owned()))?;
    json::check(text.as_bytes()).map_err(|error| Breach::NotJson(error.to_string()))?;
    let mut answer: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| Breach::NotJson(error.to_string()))?;
    match answer.get("intent_id") {
        Some(Value::String(given)) if given == id.as_str() => {}
        None => return Err(Breach::Member("intent_id", "it is missing")),
        Some(Value::String(other)) => {
            let shown = other.parse::<IntentId>().map_or("no id at all".to_owned(), |id| format!("`{id}`"));
            return Err(Breach::WrongIntent(shown));
        }
        Some(_) => return Err(Breach::Member("intent_id", "it is no text")),
    }
    let ok = match answer.get("status").and_then(Value::as_str) {
        Some("ok") => true,
        Some("error") => false,
        _ => return Err(Breach::Member("status", "it must be \"ok\" or \"error\"")),
    };
    let Some(Value::String(text)) = answer.remove("text") else {
        return Err(Breach::Member("text", "it must be a text"));
    };
    let sources = match answer.remove("sources") {
        None | Some(Value::Null) => Vec::new(),
        Some(value) => serde_json::from_value(value)
            .map_err(|_| Breach::Member("sources", "it must be a list of texts"))?,
    };
    Ok(Answer { ok, text, sources })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> IntentId {
        IntentId::from_random([0; 16])
    }

    #[test]
    fn an_answer_says_what_the_document_says() {
        let line =
            format!(r#"{{"intent_id":"{}","status":"ok","text":"…","sources":["a","b"],"more":1}}"#, id());
        let answer =
            Answer { ok: true, text: "…".to_owned(), sources: vec!["a".to_owned(), "b".to_owned()] };
        assert_eq!(read(line.as_bytes(), &id()), Ok(answer));
        let bare = format!(r#"{{"intent_id":"{}","status":"error","text":""}}"#, id());
        assert_eq!(
            read(bare.as_bytes(), &id()),
            Ok(Answer { ok: false, text: String::new(), sources: Vec::new() })
        );
    }

    #[test]
    fn a_limit_that_was_passed_is_told_with_how_much_it_is() {
        let told = |breach: Breach| breach.told(&Resources::default());
        assert_eq!(
            told(Breach::Over(Limit::Memory)),
            "used more memory than it may (512 MiB), and was killed"
        );
        assert_eq!(
            told(Breach::Over(Limit::Processes)),
            "started more processes than it may (256), and was killed"
        );
        assert_eq!(told(Breach::NoLine), Breach::NoLine.to_string());
    }

    #[test]
    fn anything_else_is_told_as_what_it_is() {
        let with = |rest: &str| format!(r#"{{"intent_id":"{}",{rest}}}"#, id());
        let other = IntentId::from_random([1; 16]);
        for (line, told) in [
            ("hello".to_owned(), "wrote a line that is no JSON object: "),
            ("[]".to_owned(), "wrote a line that is no JSON object: "),
            (
                r#"{"status":"ok","text":"x"}"#.to_owned(),
                "answered without a sound `intent_id`: it is missing",
            ),
            (r#"{"intent_id":7}"#.to_owned(), "answered without a sound `intent_id`: it is no text"),
            (format!(r#"{{"intent_id":"{other}"}}"#), "answered another intent: `intent_id` is `01010101-"),
            (r#"{"intent_id":"mine"}"#.to_owned(), "answered another intent: `intent_id` is no id at all"),
            (with(r#""status":"done","text":"x""#), "answered without a sound `status`: it must be"),
            (with(r#""text":"x""#), "answered without a sound `status`: it must be"),
            (with(r#""status":"ok""#), "answered without a sound `text`: it must be a text"),
            (with(r#""status":"ok","text":null"#), "answered without a sound `text`"),
            (with(r#""status":"ok","text":"x","sources":"y""#), "answered without a sound `sources`"),
            (with(r#""status":"ok","text":"x","sources":[1]"#), "answered without a sound `sources`"),
            (with(r#""status":"ok","status":"error","text":"x""#), "wrote a line that is no JSON object: "),
        ] {
            let breach = read(line.as_bytes(), &id()).unwrap_err().to_string();
            assert!(breach.starts_with(told), "{line}: {breach}");
        }
        let deep = format!("{{\"intent_id\":{}1{}}}", "[".repeat(500), "]".repeat(500));
        assert!(matches!(read(deep.as_bytes(), &id()), Err(Breach::NotJson(_))));
        assert!(matches!(read(b"\xff", &id()), Err(Breach::NotJson(_))));
    }
}
