//! What is in a text of the origin: the answer that is waited for, an error that names no request, and what else it says.

use serde_json::value::RawValue;

use crate::message::{Envelope, Id, text};
use crate::reply::one_line;

/// One message of the origin.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The answer, as it is passed on.
    Answer(Vec<u8>),
    /// An error without an id, or with none that could be read: the error itself.
    Nameless(String),
    /// A notification, or a request to the client, as it is passed on.
    Said(Vec<u8>),
}

/// The messages in those bytes: one, or the elements of a batch. `None` if they are no JSON object or array.
pub(super) fn messages(bytes: &[u8], wanted: Option<&Id>) -> Option<Vec<Message>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.trim_start_matches('\u{feff}').trim_ascii();
    if text.starts_with('[') {
        let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return Some(elements.into_iter().filter_map(|raw| message(raw.get(), wanted).ok()?).collect());
    }
    if !text.starts_with('{') {
        return None;
    }
    message(text, wanted).ok().map(|message| message.into_iter().collect())
}

fn message(written: &str, wanted: Option<&Id>) -> Result<Option<Message>, serde_json::Error> {
    let envelope: Envelope<'_> = serde_json::from_str(written)?;
    if envelope.method.is_some() {
        let known = envelope.method.and_then(text).is_some();
        return Ok(known.then(|| Message::Said(line(written))));
    }
    let error = envelope.error.filter(|error| error.get().starts_with('{'));
    let id = envelope.id.filter(|id| id.get() != "null");
    Ok(match (id, error) {
        (None, Some(error)) => Some(Message::Nameless(one(error.get()))),
        (Some(id), error) if wanted.is_some_and(|wanted| wanted.as_json() == id.get()) => {
            (error.is_some() || envelope.result.is_some()).then(|| Message::Answer(line(written)))
        }
        _ => None,
    })
}

/// The error in an answer, if it is one.
pub(super) fn error(answer: &[u8]) -> Option<String> {
    let envelope: Envelope<'_> = serde_json::from_slice(answer).ok()?;
    envelope.error.filter(|error| error.get().starts_with('{')).map(|error| one(error.get()))
}

/// The result in an answer, if it is one.
pub(super) fn result(answer: &[u8]) -> Option<&RawValue> {
    let envelope: Envelope<'_> = serde_json::from_slice(answer).ok()?;
    envelope.result
}

fn line(written: &str) -> Vec<u8> {
    let mut line = written.as_bytes().to_vec();
    one_line(&mut line, 0);
    line
}

fn one(written: &str) -> String {
    written.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Option<Vec<Message>> {
        messages(text.as_bytes(), Id::of("7").as_ref())
    }

    fn said(text: &str) -> Message {
        Message::Said(text.as_bytes().to_vec())
    }

    #[test]
    fn the_answer_is_found_among_whatever_else_is_there_and_is_one_line() {
        let batch = "[{\"jsonrpc\":\"2.0\",\"method\":\"a\"}, 7, {\"id\":\"7\",\"result\":{}},\n {\"id\":7,\n\"result\":{}}]";
        let answer = Message::Answer(b"{\"id\":7, \"result\":{}}".to_vec());
        assert_eq!(found(batch).unwrap(), [said(r#"{"jsonrpc":"2.0","method":"a"}"#), answer]);
        let asked = r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create"}"#;
        assert_eq!(found(asked).unwrap(), [said(asked)], "a request of the origin may have any id");
    }

    #[test]
    fn an_error_for_nobody_is_told_from_an_answer_to_others() {
        for nameless in [r#"{"id":null,"error":{"code":1}}"#, r#"{"error":{"code":1}}"#] {
            assert_eq!(found(nameless).unwrap(), [Message::Nameless(r#"{"code":1}"#.to_owned())]);
        }
        for nothing in
            [r#"{"id":8,"error":{"code":1}}"#, r#"{"id":7}"#, r#"{"error":"no"}"#, "{}", "[]", "[[]]"]
        {
            assert_eq!(found(nothing).unwrap(), [], "{nothing}");
        }
        for none in ["", "<html>", "7", "{", "[{", "\u{0}"] {
            assert_eq!(found(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_it_and_no_line_has_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in "\\PC{0,60}") {
            for bytes in [bytes, text.into_bytes()] {
                for message in messages(&bytes, None).unwrap_or_default() {
                    if let Message::Said(line) | Message::Answer(line) = message {
                        prop_assert!(!line.contains(&b'\n'));
                    }
                }
            }
        }
    }
}
