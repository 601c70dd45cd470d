//! Untrusted JSON, checked before it is parsed: depth, number of values, and no member named twice.
//!
//! `serde_json` keeps the last of two equal members without a word; what a policy reads and what a tool reads could
//! then differ. Grammar is left to `serde_json`, which runs next on the same bytes.

use std::collections::HashSet;

/// The most levels of nesting a message may have.
pub const DEPTH: usize = 96;

/// The most values (members and elements) a message may have.
pub const VALUES: usize = 1_000_000;

/// Why a text is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Too many levels.
    #[error("nested more than {DEPTH} levels deep")]
    TooDeep,
    /// Too many values.
    #[error("more than {VALUES} values")]
    TooMany,
    /// A member stands twice in one object. Its name is not repeated: it could be a secret.
    #[error("a member stands twice in one object")]
    Duplicate,
}

enum Frame<'a> {
    Array,
    Object { first: Option<&'a [u8]>, rest: HashSet<&'a [u8]>, decoded: HashSet<String>, key_next: bool },
}

/// Checks depth, count and duplicate members. A text that is not JSON may pass: the parser says why it is not.
pub fn check(text: &[u8]) -> Result<(), Refused> {
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut values = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                if frames.len() >= DEPTH {
                    return Err(Refused::TooDeep);
                }
                frames.push(if byte == b'[' {
                    Frame::Array
                } else {
                    Frame::Object {
                        first: None,
                        rest: HashSet::new(),
                        decoded: HashSet::new(),
                        key_next: true,
                    }
                });
            }
            b'}' | b']' => {
                frames.pop();
            }
            b',' => {
                values += 1;
                if values > VALUES {
                    return Err(Refused::TooMany);
                }
                if let Some(Frame::Object { key_next, .. }) = frames.last_mut() {
                    *key_next = true;
                }
            }
            b'"' => {
                let start = at;
                let (end, escaped) = string_end(text, at);
                at = end.saturating_add(1);
                let inside = text.get(start..end).unwrap_or_default();
                if let Some(frame) = frames.last_mut() {
                    frame.key(inside, escaped)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Where the string that begins at `at` ends, and whether it holds an escape.
fn string_end(text: &[u8], mut at: usize) -> (usize, bool) {
    let mut escaped = false;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            None => return (text.len(), escaped),
            Some(step) if rest.get(step) == Some(&b'"') => return (at + step, escaped),
            Some(step) => {
                escaped = true;
                at += step + 2;
            }
        }
    }
}

impl<'a> Frame<'a> {
    /// Takes note of a string; an error if it is a member's name that this object already has.
    fn key(&mut self, inside: &'a [u8], escaped: bool) -> Result<(), Refused> {
        let Self::Object { first, rest, decoded, key_next } = self else { return Ok(()) };
        if !std::mem::take(key_next) {
            return Ok(());
        }
        if escaped || !decoded.is_empty() {
            return decoded_key(inside, first, rest, decoded).then_some(()).ok_or(Refused::Duplicate);
        }
        let new = match first {
            None => {
                *first = Some(inside);
                true
            }
            Some(one) => *one != inside && rest.insert(inside),
        };
        new.then_some(()).ok_or(Refused::Duplicate)
    }
}

/// Adds a name to the set of decoded names, which takes over all raw ones; false if it was there.
fn decoded_key(
    inside: &[u8],
    first: &mut Option<&[u8]>,
    rest: &mut HashSet<&[u8]>,
    decoded: &mut HashSet<String>,
) -> bool {
    let text = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
    decoded.extend(first.take().into_iter().map(text));
    decoded.extend(rest.drain().map(text));
    let quoted = [b"\"", inside, b"\""].concat();
    decoded.insert(serde_json::from_slice(&quoted).unwrap_or_else(|_| text(inside)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_messages_pass() {
        for text in [r#"{"a":1,"b":[{"a":2},{"a":3}],"c":"a"}"#, "[]", "1", r#"{"a":"\"a\":","b":{}}"#] {
            assert_eq!(check(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_member_that_stands_twice_is_found_in_any_spelling() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"x":{"a":1,"b":2,"c":3,"b":4}}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"\u0061":1,"a":2}"#,
            r#"{"b":0,"a":1,"c":2,"\u0061":2}"#,
            r#"[{"a":[1,2],"a":3}]"#,
        ] {
            assert!(matches!(check(text.as_bytes()), Err(Refused::Duplicate)), "{text}");
        }
    }

    #[test]
    fn depth_and_count_are_bounded() {
        assert_eq!(check("[".repeat(10_000).as_bytes()), Err(Refused::TooDeep));
        assert_eq!(check("[".repeat(DEPTH).as_bytes()), Ok(()));
        let many = format!("[{}1]", "1,".repeat(VALUES + 1));
        assert_eq!(check(many.as_bytes()), Err(Refused::TooMany));
    }
}
