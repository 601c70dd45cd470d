//! docs/errors.md is complete: every refusal and every error code we can answer with stands there.

use std::collections::BTreeSet;

use super::Breach::{self, Wrong};
use super::code::code;
use super::homes::codes_in;
use crate::tree::Source;

const REFUSALS: &str = "crates/gate/src/refusal.rs";
const CATALOGUE: &str = "docs/errors.md";

/// Every variant of `Refusal` has its row.
pub(super) fn refusals(sources: &[Source]) -> Vec<Breach> {
    let Some(refusals) = text_of(sources, REFUSALS) else {
        return vec![Wrong(format!("{REFUSALS} is gone; this rule reads `enum Refusal` there"))];
    };
    let variants = variants(&code(refusals));
    if variants.is_empty() {
        return vec![Wrong(format!("{REFUSALS} holds no `enum Refusal` any more"))];
    }
    missing(sources, variants)
}

/// Every JSON-RPC code of the MCP face is explained.
pub(super) fn codes(sources: &[Source]) -> Vec<Breach> {
    let face = sources.iter().filter(|source| source.ends("rs") && source.is_in("crates/mcp/src"));
    let used: BTreeSet<String> =
        face.flat_map(|source| code(&source.text).lines().flat_map(codes_in).collect::<Vec<_>>()).collect();
    missing(sources, used)
}

fn missing(sources: &[Source], words: impl IntoIterator<Item = String>) -> Vec<Breach> {
    let Some(catalogue) = text_of(sources, CATALOGUE) else {
        return vec![Wrong(format!("{CATALOGUE} is gone"))];
    };
    let absent = words.into_iter().filter(|word| !catalogue.contains(&format!("`{word}`")));
    absent.map(|word| Wrong(format!("{CATALOGUE} does not explain `{word}`"))).collect()
}

fn text_of<'s>(sources: &'s [Source], path: &str) -> Option<&'s str> {
    sources.iter().find(|source| source.path == path).map(|source| source.text.as_str())
}

/// The names of the variants of `Refusal`, read from blanked code: identifiers that stand directly in its braces.
fn variants(code: &str) -> Vec<String> {
    let Some((_, body)) = code.split_once("pub enum Refusal {") else { return Vec::new() };
    let (mut depth, mut names, mut name) = (1_u32, Vec::new(), String::new());
    for c in body.chars() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            c if depth == 1 && (c.is_alphanumeric() || c == '_') => {
                name.push(c);
                continue;
            }
            _ => {}
        }
        if !name.is_empty() {
            names.push(std::mem::take(&mut name));
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENUM: &str = "pub enum Refusal {\n    /// No.\n    #[error(\"no {x}\")]\n    Unauthenticated,\n    \
                        /// Wait.\n    RateLimited {\n        /// How long.\n        wait: Duration,\n    },\n}\n";

    #[test]
    fn variants_are_read_without_their_fields_and_attributes() {
        assert_eq!(variants(&code(ENUM)), ["Unauthenticated", "RateLimited"]);
    }

    #[test]
    fn a_refusal_or_code_without_an_explanation_is_found() {
        let sources = [
            Source { path: REFUSALS.into(), text: ENUM.into() },
            Source { path: "crates/mcp/src/reply.rs".into(), text: "const A: i32 = -31_001;".into() },
            Source { path: CATALOGUE.into(), text: "| `RateLimited` | `-32000` |".into() },
        ];
        assert_eq!(refusals(&sources), [Wrong("docs/errors.md does not explain `Unauthenticated`".into())]);
        assert_eq!(codes(&sources), [Wrong("docs/errors.md does not explain `-31001`".into())]);
    }
}
