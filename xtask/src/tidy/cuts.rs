//! What servers say is cut in one place, which takes the secrets out first; and tools cut where it is known that they are
//! gone.

use super::Breach::{self, Wrong};
use super::code::code;
use crate::tree::Source;

/// Where the words of servers are.
const FOLDERS: [&str; 2] = ["crates/mcp/src/upstream", "crates/mcp/src/fleet"];

/// The place that cuts, and the one whose lines have lost their secrets before they come.
const MAY: [&str; 2] = ["crates/mcp/src/upstream/scrub.rs", "crates/mcp/src/fleet/ring.rs"];

/// Where tools are.
const TOOLS: &str = "crates/tools/src";

/// The files of tools that cut a text, and why half a secret cannot be left there.
const SAFE: [(&str, &str); 17] = [
    ("crates/tools/src/agent/remember.rs", "what is remembered comes without secrets"),
    ("crates/tools/src/agent/voice.rs", "lines lose their secrets before they come"),
    ("crates/tools/src/calendar.rs", "a list of events, not a text"),
    ("crates/tools/src/calendar/listing.rs", "a list of events, not a text"),
    ("crates/tools/src/calendar/text.rs", "veiled there, or when the event was read"),
    ("crates/tools/src/covibe.rs", "a name that the caller wrote"),
    ("crates/tools/src/files/error.rs", "a path that the caller wrote"),
    ("crates/tools/src/native/web_fetch.rs", "veiled when the page was read"),
    (
        "crates/tools/src/native/workspace_read.rs",
        "the end of a letter, of what was veiled with all around it",
    ),
    ("crates/tools/src/note.rs", "lists, not texts"),
    ("crates/tools/src/note/snippet.rs", "veiled when the note was read"),
    ("crates/tools/src/page.rs", "veiled there"),
    ("crates/tools/src/page", "veiled when the page was read"),
    ("crates/tools/src/recall.rs", "veiled there"),
    ("crates/tools/src/script/functions.rs", "veiled there"),
    ("crates/tools/src/script/header.rs", "a word of the operator's own file, told to the operator"),
    ("crates/tools/src/script/shelf.rs", "a name that the caller wrote"),
];

/// How a text is cut.
const CUTS: [&str; 4] = ["chars().take(", ".truncate(", "floor_char_boundary(", "char_indices().nth("];

/// Texts of servers are shortened by `Scrub` and by nobody else.
pub(super) fn cuts(sources: &[Source]) -> Vec<Breach> {
    let mut found = Vec::new();
    let theirs = |source: &&Source| FOLDERS.iter().any(|folder| source.is_in(folder)) && source.ends("rs");
    for source in sources.iter().filter(theirs).filter(|source| !MAY.contains(&source.path.as_str())) {
        for (line, text) in (1..).zip(code(&source.text).lines()) {
            for cut in CUTS.iter().filter(|cut| text.contains(**cut)) {
                let reason = "half a secret is found by nobody, so `Scrub` takes it out and then cuts";
                found.push(Wrong(format!("{}:{line} says `{cut}`: {reason}", source.path)));
            }
        }
    }
    found.extend(of_tools(sources));
    found
}

/// Texts of tools are cut where secrets are gone already: a `Veil` takes them out.
fn of_tools(sources: &[Source]) -> Vec<Breach> {
    let mut found = Vec::new();
    let safe = |source: &Source| SAFE.iter().any(|(place, _)| source.path == *place || source.is_in(place));
    let theirs = |source: &&Source| source.is_in(TOOLS) && source.ends("rs") && !safe(source);
    for source in sources.iter().filter(theirs).filter(|source| !source.path.contains("tests")) {
        for (line, text) in (1..).zip(code(&source.text).lines()) {
            for cut in CUTS.iter().filter(|cut| text.contains(**cut)) {
                let reason = "take secrets out first with `Context::without_secrets` or a `Veil`, and name the file here";
                found.push(Wrong(format!("{}:{line} says `{cut}`: {reason}", source.path)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_server_that_is_cut_elsewhere_is_found() {
        let breaches = |path: &str| {
            let text = "let short: String = text.chars().take(200).collect();".to_owned();
            cuts(&[Source { path: path.to_owned(), text }]).len()
        };
        assert_eq!(breaches("crates/mcp/src/upstream/heard.rs"), 1);
        assert_eq!(breaches("crates/mcp/src/fleet/call.rs"), 1);
        assert_eq!(breaches("crates/mcp/src/upstream/scrub.rs"), 0);
        assert_eq!(breaches("crates/tools/src/native/echo.rs"), 1);
        assert_eq!(breaches("crates/tools/src/native/web_fetch.rs"), 0);
        assert_eq!(breaches("crates/tools/src/page/markdown/sheet.rs"), 0);
        assert_eq!(breaches("crates/cli/src/print.rs"), 0);
    }
}
