//! Whose answer a line that is too long was, from its ends alone: ids stand first or last.

use crate::framing::Overlong;
use crate::upstream::inbound::ours;

/// Whom a line that is too long concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The letter with that id.
    Letter(u64),
    /// It may be anyone's.
    Unknown,
    /// It is no answer.
    Nobody,
}

/// Decides as soon as it can be; [`Whose::Unknown`] before the line ended may change with its end.
pub(super) fn whose(line: &Overlong) -> Whose {
    match first(&line.head) {
        Whose::Unknown if line.ended => last(&line.tail).map_or(Whose::Unknown, Whose::Letter),
        decided => decided,
    }
}

/// What the members before the long one say.
fn first(head: &[u8]) -> Whose {
    let mut rest = match head.trim_ascii_start().split_first() {
        Some((b'{', rest)) => rest.trim_ascii_start(),
        Some((b'[', _)) => return Whose::Unknown,
        _ => return Whose::Nobody,
    };
    while let Some((name, value)) = member(rest) {
        match name {
            b"\"method\"" => return Whose::Nobody,
            b"\"id\"" => return number(value).map_or(Whose::Unknown, |(id, _)| Whose::Letter(id)),
            _ => {}
        }
        let Some(after) = skip(value).and_then(|after| after.strip_prefix(b",")) else { break };
        rest = after.trim_ascii_start();
    }
    Whose::Unknown
}

/// The id in the last member, or the last but `jsonrpc`.
fn last(tail: &[u8]) -> Option<u64> {
    let from = memchr::memmem::rfind(tail, b"\"id\"")?;
    let (id, after) = number(member(tail.get(from..)?)?.1)?;
    let after = match after.strip_prefix(b",") {
        Some(more) => {
            let (name, value) = member(more.trim_ascii_start())?;
            (name == b"\"jsonrpc\"").then(|| skip(value)).flatten()?
        }
        None => after,
    };
    (after.trim_ascii_end() == b"}").then_some(id)
}

/// A member's name, with its quotes, and what stands at its value.
fn member(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = string(text)?;
    let value = rest.trim_ascii_start().strip_prefix(b":")?;
    Some((name, value.trim_ascii_start()))
}

/// A string at the beginning, with its quotes, and what follows.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 1;
    text.first().filter(|byte| **byte == b'"')?;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return text.split_at_checked(at + 1),
            _ => at += 2,
        }
    }
}

/// What follows a short value: a string, a number, a word. None for an array or an object, which is the long one.
fn skip(text: &[u8]) -> Option<&[u8]> {
    if let Some((_, rest)) = string(text) {
        return Some(rest.trim_ascii_start());
    }
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte))?;
    (end > 0).then(|| text.get(end..).map(<[u8]>::trim_ascii_start))?
}

/// An id of ours, and what follows.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let rest = skip(text)?;
    let value = text.get(..text.len() - rest.len())?.trim_ascii_end();
    Some((ours(std::str::from_utf8(value).ok()?)?, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ends(head: &str, tail: &str) -> Overlong {
        Overlong { head: head.into(), tail: tail.into(), ended: true }
    }

    #[test]
    fn an_id_is_found_first_or_last() {
        for (head, tail, whose_it_is) in [
            (r#"{"jsonrpc":"2.0","id":5,"result":{"#, "xx", Whose::Letter(5)),
            (r#" { "id" : "5" , "result":{"#, "xx", Whose::Letter(5)),
            (r#"{"jsonrpc":"2.0","result":{"id":7"#, r#"x"}],"id":7},"id":5}"#, Whose::Letter(5)),
            (r#"{"result":{"#, r#"x"},"id" : 5, "jsonrpc" : "2.0" }"#, Whose::Letter(5)),
            (r#"{"result":{"#, r#"x"},"jsonrpc":"2.0","id":5} "#, Whose::Letter(5)),
            (r#"{"result":{"#, r#"x","id":5}}"#, Whose::Unknown),
            (r#"{"result":{"#, r#"x","id":5,"other":1}"#, Whose::Unknown),
            (r#"{"result":{"#, r#"text says \"id\":5}"#, Whose::Unknown),
            (r#"[{"jsonrpc":"2.0","id":5,"#, "x}]", Whose::Unknown),
            (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"#, r#","id":5}"#, Whose::Nobody),
            ("a banner that never ends", r#""id":5}"#, Whose::Nobody),
            (r#"{"id":05,"result":{"#, "}", Whose::Unknown),
            (r#"{"id":{"a":5},"result":{"#, "}", Whose::Unknown),
        ] {
            assert_eq!(whose(&ends(head, tail)), whose_it_is, "{head} … {tail}");
        }
    }

    #[test]
    fn the_end_is_looked_at_only_when_it_is_the_end() {
        let line = Overlong { ended: false, ..ends(r#"{"result":{"#, r#"},"id":5}"#) };
        assert_eq!(whose(&line), Whose::Unknown);
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_search(head in ".{0,60}", tail in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = whose(&Overlong { head: format!("{{{head}").into(), tail: tail.clone(), ended: true });
            let _ = whose(&Overlong { head: tail.clone(), tail: [b"\"id\":".as_slice(), &tail].concat(), ended: true });
        }
    }
}
