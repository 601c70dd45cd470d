//! Which request a line from the daemon answers, found without parsing what our own daemon writes.

use crate::message::{Id, answered};

/// The id a response carries; `None` for notifications, and for responses to what could not be read.
pub(super) fn response(line: &[u8]) -> Option<Id> {
    if line.starts_with(br#"{"jsonrpc":"2.0","method":"#) {
        return None;
    }
    let Some(rest) = line.strip_prefix(br#"{"jsonrpc":"2.0","id":"#) else { return answered(line) };
    let end = match rest.first()? {
        b'"' => string_end(rest)?,
        _ => memchr::memchr(b',', rest)?,
    };
    Id::of(std::str::from_utf8(rest.get(..end)?).ok()?)
}

/// Where the string at the beginning ends, its quote included.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        let step = memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        at += step + 1;
        if text.get(at - 1) == Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(line: &str) -> Option<String> {
        response(line.as_bytes()).map(|id| id.to_string())
    }

    #[test]
    fn ids_are_found_in_our_own_spelling_and_in_others() {
        for (line, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":"a\"b,","error":{}}"#, Some(r#""a\"b,""#)),
            (r#"{"id": 7, "jsonrpc":"2.0","result":{"method":"x"}}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, None),
            (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"id":7}}"#, None),
            (r#"{"method":"x","id":7,"jsonrpc":"2.0"}"#, None),
            (r#"{"jsonrpc":"2.0","id":"open"#, None),
            (r#"{"jsonrpc":"2.0","id":"#, None),
            ("", None),
        ] {
            assert_eq!(found(line).as_deref(), id, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_string_id_is_found_as_it_was_written(id in ".{0,60}") {
            let json = serde_json::to_string(&id).unwrap();
            prop_assert_eq!(found(&format!(r#"{{"jsonrpc":"2.0","id":{json},"result":{{}}}}"#)), Some(json));
        }

        #[test]
        fn no_bytes_break_the_scan(tail in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = response(&tail);
            let _ = response(&[br#"{"jsonrpc":"2.0","id":"#.as_slice(), &tail].concat());
        }
    }
}
