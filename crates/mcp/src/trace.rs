//! The documented debug lines, and how ids and names that strangers chose are written into them.

use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use covenant_gate::Gate;
use covenant_model::redact::Redactor;

use crate::message::Id;

/// The most characters of a stranger's text in a line.
pub(crate) const SHOWN: usize = 128;

/// A text as a line can hold it: short, and quoted with escapes unless it is harmless.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let harmless = |c: char| c.is_ascii_alphanumeric() || "_-./:@*".contains(c);
        if self.0.len() <= SHOWN && !self.0.is_empty() && self.0.chars().all(harmless) {
            return f.write_str(self.0);
        }
        f.write_char('"')?;
        for c in self.0.chars().take(SHOWN) {
            if c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric() {
                if matches!(c, '"' | '\\') {
                    f.write_char('\\')?;
                }
                f.write_char(c)?;
            } else {
                write!(f, "{}", c.escape_unicode())?;
            }
        }
        f.write_str(if self.0.chars().nth(SHOWN).is_some() { "…\"" } else { "\"" })
    }
}

/// An id, without the quotes of a string.
fn shown(id: &Id) -> Shown<'_> {
    let json = id.as_json();
    Shown(json.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(json))
}

/// Redacts before the text is cut: half a secret matches nothing.
fn clean(redactor: &Redactor, text: &str) -> String {
    redactor.shown(text, SHOWN)
}

fn is_on() -> bool {
    tracing::enabled!(target: "mcp", tracing::Level::DEBUG)
}

pub(crate) fn received(gate: &Gate, method: &str, id: &Id) {
    if !is_on() {
        return;
    }
    let method = clean(&gate.redactor(), method);
    tracing::debug!(target: "mcp", method = %Shown(&method), id = %shown(id), "received request");
}

pub(crate) fn received_call(gate: &Gate, method: &str, id: &Id, tool: &str) {
    if !is_on() {
        return;
    }
    let redactor = &gate.redactor();
    let (method, tool) = (clean(redactor, method), clean(redactor, tool));
    tracing::debug!(
        target: "mcp", method = %Shown(&method), id = %shown(id), tool = %Shown(&tool), "received request"
    );
}

pub(crate) fn listed(id: &Id, tools: usize) {
    tracing::debug!(target: "mcp", id = %shown(id), tools, "sending response");
}

/// When a call began, if anyone will be told how long it took.
pub(crate) fn started() -> Option<Instant> {
    is_on().then(Instant::now)
}

pub(crate) fn completed(id: &Id, started: Option<Instant>, success: bool) {
    if let Some(started) = started {
        let duration = Millis(started.elapsed());
        tracing::debug!(target: "mcp", id = %shown(id), %duration, success, "tool execution completed");
    }
}

struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_ids_and_names_stand_as_they_are() {
        for text in ["1", "tools/call", "workspace_read", "a-b.c"] {
            assert_eq!(Shown(text).to_string(), text);
        }
        assert_eq!(shown(&Id::of("\"req-7\"").unwrap()).to_string(), "req-7");
    }

    #[test]
    fn a_text_cannot_forge_a_line_or_a_field() {
        assert_eq!(Shown("a\nDEBUG mcp: x").to_string(), "\"a\\u{a}DEBUG mcp: x\"");
        assert_eq!(Shown("a success=true").to_string(), "\"a success=true\"");
        assert_eq!(Shown("\"\u{202e}").to_string(), "\"\\\"\\u{202e}\"");
        assert_eq!(Shown(&"x".repeat(9000)).to_string().chars().count(), SHOWN + 3);
    }
}
