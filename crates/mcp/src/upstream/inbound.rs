//! What one message of a server is. Members stay the text they came in; only what decides the kind is decoded.
//!
//! More is taken here than from clients: a server that forgets `jsonrpc`, or writes `"error": null` beside a result, is
//! understood all the same.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::scrub::Scrub;
use super::wire::{Answer, RpcFailure};
use crate::message::{Envelope, Id, text};
use crate::reply::INTERNAL_ERROR;

/// The most characters of an error's sentence that are kept.
const SENTENCE: usize = 4096;

/// The most bytes of an error's `data` that are decoded.
const DETAILS: usize = 64 * 1024;

/// One message of a server.
#[derive(Debug)]
pub enum Inbound<'a> {
    /// It answers the letter with that id.
    Answer(u64, Said<'a>),
    /// It wants no answer.
    Notification {
        /// What happened.
        method: Cow<'a, str>,
        /// The parameters.
        params: Option<&'a RawValue>,
    },
    /// It wants an answer.
    Request {
        /// What the answer must carry.
        id: Id,
        /// What is asked.
        method: Cow<'a, str>,
        /// The parameters.
        params: Option<&'a RawValue>,
    },
    /// JSON that is no message to us: an answer to nothing we asked, a value that is no object.
    Stray,
}

/// What an answer says, where it stands in what was read.
#[derive(Debug, Clone, Copy)]
pub enum Said<'a> {
    /// A result.
    Result(&'a RawValue),
    /// An error.
    Error(&'a RawValue),
}

impl Said<'_> {
    /// The answer on its own; of an error's words, what may be shown.
    pub fn cut(self, scrub: &Scrub) -> Answer {
        match self {
            Self::Result(raw) => Answer::Result(raw.to_owned()),
            Self::Error(raw) => Answer::Error(failure(raw, scrub)),
        }
    }
}

/// Hands every message in those bytes to `with`: one, or the elements of a batch. False if they are no JSON object or
/// array; what stood before the fault in a batch was handed over.
pub fn each<'a>(bytes: &'a [u8], mut with: impl FnMut(Inbound<'a>)) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let text = text.trim_start_matches('\u{feff}').trim_ascii_start();
    if text.starts_with('{') {
        return serde_json::from_str(text).is_ok_and(|envelope| {
            with(kind(&envelope));
            true
        });
    }
    if !text.starts_with('[') {
        return false;
    }
    let element = |raw: &'a RawValue| {
        // An element that is no object, or another array, is nothing.
        with(serde_json::from_str(raw.get()).map_or(Inbound::Stray, |envelope| kind(&envelope)));
    };
    let mut batch = serde_json::Deserializer::from_str(text);
    batch.deserialize_seq(Each(element)).is_ok() && batch.end().is_ok()
}

fn kind<'a>(envelope: &Envelope<'a>) -> Inbound<'a> {
    if let Some(method) = envelope.method {
        let (Some(method), params) = (text(method), envelope.params) else { return Inbound::Stray };
        return match envelope.id.map(|id| Id::of(id.get())) {
            None => Inbound::Notification { method, params },
            Some(Some(id)) => Inbound::Request { id, method, params },
            Some(None) => Inbound::Stray,
        };
    }
    let Some(id) = envelope.id.and_then(|id| ours(id.get())) else { return Inbound::Stray };
    match (envelope.result, envelope.error.filter(|error| error.get() != "null")) {
        (_, Some(error)) => Inbound::Answer(id, Said::Error(error)),
        (Some(result), None) => Inbound::Answer(id, Said::Result(result)),
        (None, None) => Inbound::Stray,
    }
}

/// The number that an id of ours is: as we wrote it, or as a string of exactly that.
pub(crate) fn ours(id: &str) -> Option<u64> {
    let digits = id.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(id);
    let exact =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if exact { digits.parse().ok() } else { None }
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(default)]
    code: Option<i64>,
    #[serde(default)]
    message: Option<String>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

fn failure(raw: &RawValue, scrub: &Scrub) -> RpcFailure {
    let unread = || Failure { code: None, message: None, data: None };
    let failure: Failure<'_> = serde_json::from_str(raw.get()).unwrap_or_else(|_| unread());
    let message = failure.message.unwrap_or_else(|| "an error that says nothing of itself".to_owned());
    let data = failure.data.filter(|data| data.get().len() <= DETAILS);
    RpcFailure {
        code: failure.code.unwrap_or(i64::from(INTERNAL_ERROR)),
        message: scrub.shown(&message, SENTENCE),
        data: data.and_then(|data| serde_json::from_str(data.get()).ok()),
    }
}

/// Takes the elements of an array one by one, so that a long one is never held as a list.
struct Each<F>(F);

impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for Each<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a batch of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element()? {
            (self.0)(element);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::scrub::known;

    /// What is in a line, in short; none if it is garbage.
    fn read(line: &str) -> Option<Vec<String>> {
        let mut all = Vec::new();
        let understood = each(line.as_bytes(), |message| {
            all.push(match message {
                Inbound::Answer(id, Said::Result(raw)) => format!("{id} result {}", raw.get()),
                Inbound::Answer(id, said) => match said.cut(known::scrub()) {
                    Answer::Error(failure) => format!("{id} error {} {}", failure.code, failure.message),
                    Answer::Result(_) => unreachable!(),
                },
                Inbound::Notification { method, .. } => format!("notification {method}"),
                Inbound::Request { id, method, .. } => format!("request {id} {method}"),
                Inbound::Stray => "stray".to_owned(),
            });
        });
        understood.then_some(all)
    }

    #[test]
    fn every_kind_of_message_is_told_apart() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":5,"result":{"a": 1}}"#, r#"5 result {"a": 1}"#),
            (r#"{"id":5,"result":{}}"#, "5 result {}"),
            (r#"{"id":"5","result":{},"error":null}"#, "5 result {}"),
            (r#"{"id":5,"result":null}"#, "5 result null"),
            (r#"{"id":5,"error":{"code":-3,"message":"no"}}"#, "5 error -3 no"),
            (r#"{"id":5,"error":"what"}"#, "5 error -32603 an error that says nothing of itself"),
            (r#"{"method":"notifications/x"}"#, "notification notifications/x"),
            (r#"{"id":"a","method":"ping"}"#, r#"request "a" ping"#),
            ("\u{feff} {\"id\":5,\"result\":{}}", "5 result {}"),
        ] {
            assert_eq!(read(line).unwrap(), [expected], "{line}");
        }
    }

    #[test]
    fn an_id_that_is_not_exactly_ours_answers_nothing() {
        for id in [r#""x""#, "null", r#""05""#, r#"" 5""#, "5.0", "-5", "99999999999999999999", r#""""#, "{}"]
        {
            assert_eq!(read(&format!(r#"{{"id":{id},"result":{{}}}}"#)).unwrap(), ["stray"], "{id}");
        }
    }

    #[test]
    fn a_batch_is_taken_one_by_one_and_its_nonsense_left_out() {
        let line = r#"[{"id":1,"result":{}},7,[{"id":3,"result":{}}],{"method":"m"},{"id":2,"result":{}}]"#;
        assert_eq!(read(line).unwrap(), ["1 result {}", "stray", "stray", "notification m", "2 result {}"]);
    }

    #[test]
    fn what_is_no_message_is_garbage() {
        for line in
            ["Server listening on port 3000", "", "7", "{", "[{}", r#"{"id":1,"id":2,"result":{}}"#, "{} x"]
        {
            assert_eq!(read(line), None, "{line}");
        }
        assert!(!each(b"\xff\xfe{}", |_| ()));
    }

    #[test]
    fn an_errors_words_and_details_are_bounded() {
        let long = "\u{e4}".repeat(10_000);
        let raw = format!(r#"{{"code":1,"message":"{long}","data":"{}"}}"#, "x".repeat(DETAILS));
        let failure = failure(&RawValue::from_string(raw).unwrap(), known::scrub());
        assert_eq!((failure.message.chars().count(), failure.data), (SENTENCE + 1, None));
    }
}
