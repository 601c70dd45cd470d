//! What is made of a text of a server by whoever waits for one answer: the answer, and what goes to the ear.

use super::inbound::{self, Inbound};
use super::wire::{Answer, Ear};

/// The most requests of a server in one text that are answered.
const REQUESTS: usize = 64;

/// The most characters of a server's own words in one of our clauses.
pub(crate) const QUOTE: usize = 200;

/// What was in a text.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The answer, where it was there; the first, where it was there twice.
    pub(crate) answer: Option<Answer>,
    /// Our answers to requests of the server, to be sent back.
    pub(crate) back: Vec<Vec<u8>>,
    /// How much was there that is no such answer.
    pub(crate) unasked: u32,
    /// Whether it was a message, or a list of them.
    pub(crate) sound: bool,
}

/// Reads a text on which the answer to that letter may be. What is for the ear goes there; other answers are nothing.
pub(crate) fn hear(text: &[u8], ear: &dyn Ear, wanted: Option<u64>) -> Heard {
    let mut heard = Heard::default();
    heard.sound = inbound::each(text, |message| {
        match message {
            Inbound::Answer(id, said) if Some(id) == wanted && heard.answer.is_none() => {
                heard.answer = Some(said.cut(ear.scrub()));
                return;
            }
            Inbound::Notification { method, params } => ear.notification(&method, params, wanted),
            Inbound::Request { id, method, params } if heard.back.len() < REQUESTS => {
                heard.back.push(ear.request(&id, &method, params));
            }
            Inbound::Answer(..) | Inbound::Request { .. } | Inbound::Stray => {}
        }
        heard.unasked = heard.unasked.saturating_add(1);
    });
    if !heard.sound {
        heard.unasked = heard.unasked.saturating_add(1);
    }
    heard
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use serde_json::value::RawValue;

    use super::*;
    use crate::message::Id;
    use crate::upstream::scrub::{Scrub, known};

    #[derive(Default)]
    struct Heed(Mutex<Vec<String>>);

    impl Ear for Heed {
        fn notification(&self, method: &str, _: Option<&RawValue>, about: Option<u64>) {
            self.0.lock().push(format!("{method} {about:?}"));
        }

        fn request(&self, id: &Id, method: &str, _: Option<&RawValue>) -> Vec<u8> {
            format!("{id} {method}").into_bytes()
        }

        fn scrub(&self) -> &Scrub {
            known::scrub()
        }
    }

    fn heard(text: &str) -> Heard {
        hear(text.as_bytes(), &Heed::default(), Some(3))
    }

    #[test]
    fn the_answer_is_found_among_whatever_else_is_there() {
        let ear = Heed::default();
        let text = br#"[{"jsonrpc":"2.0","method":"notifications/progress"}, 7, {"jsonrpc":"2.0","id":2,"result":{}},
            {"jsonrpc":"2.0","id":"x","method":"ping"}, {"jsonrpc":"2.0","id":3,"result":{"a": 1}},
            {"jsonrpc":"2.0","id":3,"result":{"a": 2}}]"#;
        let heard = hear(text, &ear, Some(3));
        assert!(heard.sound);
        assert!(matches!(heard.answer, Some(Answer::Result(raw)) if raw.get() == r#"{"a": 1}"#));
        assert_eq!(heard.back, [br#""x" ping"#]);
        assert_eq!(*ear.0.lock(), ["notifications/progress Some(3)"]);
        assert_eq!(heard.unasked, 5);
    }

    #[test]
    fn what_is_no_message_is_not_sound_and_an_answer_to_others_is_none() {
        for text in ["", "hello", "7", "{", "[{", "<html>"] {
            assert!(!heard(text).sound, "{text}");
        }
        for text in
            [r#"{"jsonrpc":"2.0","id":4,"result":{}}"#, r#"{"jsonrpc":"2.0","result":{}}"#, "[]", "{}"]
        {
            let heard = heard(text);
            assert!(heard.sound && heard.answer.is_none(), "{text}");
        }
    }

    #[test]
    fn a_flood_of_requests_is_not_answered_to_its_end() {
        let flood = vec![r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#; 10_000].join(",");
        assert_eq!(heard(&format!("[{flood}]")).back.len(), REQUESTS);
    }
}
