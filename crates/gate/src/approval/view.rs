//! A call as a person sees it before they decide: the whole of it, or it is not asked.

use std::io;

use covenant_model::redact::Redactor;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};

/// Up to this many bytes a call is laid out over lines, which may take many times what it takes in one.
const LAID_OUT: usize = 64 << 10;

/// The most bytes that are kept of a call.
pub(super) const LONGEST: usize = 256 << 10;

/// What stands for the member that speaks for its caller.
const NOT_SHOWN: &str = "[not shown]";

/// The call without secrets; nothing where that would be too long to be kept.
pub(super) fn of(tool: &str, arguments: &Map<String, Value>, redactor: &Redactor) -> Option<String> {
    let view = View { tool, arguments };
    let pretty = written(LAID_OUT, |out| serde_json::to_writer_pretty(out, &view));
    let view = pretty.or_else(|| written(LONGEST, |out| serde_json::to_writer(out, &view)))?;
    let redacted = redactor.redact(&view).into_owned();
    // A name may be longer than what it stands for.
    (redacted.len() <= LONGEST).then_some(redacted)
}

struct View<'v> {
    tool: &'v str,
    arguments: &'v Map<String, Value>,
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(Some(2))?;
        members.serialize_entry("tool", self.tool)?;
        members.serialize_entry("arguments", &Shown(self.arguments))?;
        members.end()
    }
}

struct Shown<'v>(&'v Map<String, Value>);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            if name == "token" {
                members.serialize_entry(name, NOT_SHOWN)?;
            } else {
                members.serialize_entry(name, value)?;
            }
        }
        members.end()
    }
}

fn written(most: usize, write: impl FnOnce(&mut Bounded) -> serde_json::Result<()>) -> Option<String> {
    let mut out = Bounded { bytes: Vec::new(), most };
    write(&mut out).ok()?;
    String::from_utf8(out.bytes).ok()
}

/// Takes bytes as long as there is room: what is too long is not built first.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(bytes.len()) > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(arguments: &Value) -> Option<String> {
        let redactor = Redactor::new([("A_NAME_LONGER_THAN_ITS_VALUE", "s3cret")]);
        of("echo", arguments.as_object().unwrap(), &redactor)
    }

    #[test]
    fn a_call_is_laid_out_and_a_token_is_there_but_not_shown() {
        let shown = view(&json!({"text": "a s3cret", "token": "hunter22"})).unwrap();
        let expected = "{\n  \"tool\": \"echo\",\n  \"arguments\": {\n    \"text\": \"a [REDACTED:A_NAME_LONGER_THAN_ITS_VALUE]\",\n    \"token\": \"[not shown]\"\n  }\n}";
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_would_grow_is_written_in_one_line_and_what_is_too_long_not_at_all() {
        let nested = (0..100).fold(json!([]), |inner, _| json!([inner]));
        let wide = json!({"a": vec![nested; 200]});
        let shown = view(&wide).unwrap();
        assert!(!shown.contains('\n') && shown.len() < LAID_OUT, "{}", shown.len());
        let room = LONGEST - r#"{"tool":"echo","arguments":{"text":""}}"#.len();
        assert_eq!(view(&json!({"text": "x".repeat(room)})).unwrap().len(), LONGEST);
        assert_eq!(view(&json!({"text": "x".repeat(room + 1)})), None);
        assert_eq!(view(&json!({"text": "s3cret ".repeat(LONGEST / 16)})), None, "as it is kept");
    }
}
