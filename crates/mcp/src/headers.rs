//! Headers that repeat what the body says: how a value is written there, and that both say the same.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use covenant_gate::registry::HeaderArgument;
use serde_json::{Map, Value};

use crate::reply::{HEADER_MISMATCH, RpcError};

/// Stands for a value that is no text: it agrees with nothing, and names nothing.
pub const UNREADABLE: &str = "=?base64?\u{fffd}?=";

/// The headers of one request.
pub trait Headers: Sync {
    /// The value of the one of that name, in lower case; [`UNREADABLE`] if it is no text.
    fn get(&self, name: &str) -> Option<&str>;
}

/// A header's value as it was meant: texts that a header cannot hold are written `=?base64?…?=`.
pub fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let Some(inside) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(Cow::Borrowed(value));
    };
    let bytes = STANDARD.decode(inside).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// A text as a header can hold it: as it is where that is plain ASCII that no one would trim or mistake, else
/// `=?base64?…?=`.
pub fn encoded(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let trimmed = text.starts_with(' ') || text.ends_with(' ');
    let mistaken = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && !trimmed && !mistaken {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(text)))
}

/// What is said where a header and the body disagree.
pub fn mismatch(reason: impl std::fmt::Display) -> RpcError {
    RpcError::new(HEADER_MISMATCH, format!("Header mismatch: {reason}"))
}

/// Whether a header says what the body says.
pub fn agree(name: &str, header: Option<&str>, body: &str) -> Result<(), RpcError> {
    let Some(value) = header else { return Err(mismatch(format_args!("the header `{name}` is missing"))) };
    match decoded(value) {
        Some(text) if text == body => Ok(()),
        Some(text) => Err(mismatch(format_args!("the header `{name}` says `{text}`, and the body `{body}`"))),
        None => Err(mismatch(format_args!("the header `{name}` is not valid base64 of a text"))),
    }
}

/// Whether the header of one argument says what the argument is.
pub(crate) fn check(
    argument: &HeaderArgument,
    arguments: &Map<String, Value>,
    headers: &dyn Headers,
) -> Result<(), RpcError> {
    let name = format!("mcp-param-{}", argument.header);
    match (argument.text(arguments), headers.get(&name)) {
        (None, None) => Ok(()),
        (None, Some(_)) => {
            Err(mismatch(format_args!("the header `{name}` is there and its argument is not")))
        }
        (Some(text), given) => agree(&name, given, &text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_base64_only_between_both_marks() {
        assert_eq!(decoded("=?base64?SGVsbG8=?=").unwrap(), "Hello");
        for literal in ["SGVsbG8=", "=?base64?SGVsbG8=", "SGVsbG8=?=", "", "plain"] {
            assert_eq!(decoded(literal).unwrap(), literal);
        }
        for bad in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?//79?="] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_a_header_cannot_hold_is_encoded_and_reads_back() {
        for plain in ["", "plain", "two words", "SGVsbG8=", "=?base64?open", "a\"b"] {
            assert_eq!(encoded(plain), plain);
        }
        for other in [" edge", "edge ", "tab\tbed", "line\nfeed", "grün", "=?base64?SGVsbG8=?=", "\u{7f}"] {
            let written = encoded(other);
            assert!(written.bytes().all(|byte| byte.is_ascii_graphic()), "{written}");
            assert_eq!(decoded(&written).unwrap(), other);
            assert_eq!(agree("mcp-param-x", Some(&written), other), Ok(()));
        }
    }

    #[test]
    fn a_header_that_is_missing_or_says_something_else_is_a_mismatch() {
        assert_eq!(agree("mcp-name", Some("echo"), "echo"), Ok(()));
        assert_eq!(agree("mcp-name", Some("=?base64?ZWNobw==?="), "echo"), Ok(()));
        for header in [None, Some("Echo"), Some("echo "), Some("=?base64?!?="), Some(UNREADABLE)] {
            assert_eq!(agree("mcp-name", header, "echo").unwrap_err().code, -32020);
        }
        assert!(agree("mcp-name", Some(UNREADABLE), UNREADABLE).is_err(), "not even with itself");
    }
}
