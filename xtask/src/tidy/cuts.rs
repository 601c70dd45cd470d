//! What servers say is cut in one place, which takes the secrets out first.

use super::Breach::{self, Wrong};
use super::code::code;
use crate::tree::Source;

/// Where the words of servers are.
const FOLDERS: [&str; 2] = ["crates/mcp/src/upstream", "crates/mcp/src/fleet"];

/// The place that cuts, and the one whose lines have lost their secrets before they come.
const MAY: [&str; 2] = ["crates/mcp/src/upstream/scrub.rs", "crates/mcp/src/fleet/ring.rs"];

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
        assert_eq!(breaches("crates/cli/src/print.rs"), 0);
    }
}
