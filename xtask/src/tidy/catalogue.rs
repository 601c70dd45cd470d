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

/// Every JSON-RPC code of the MCP face and every word of the REST face is explained.
pub(super) fn codes(sources: &[Source]) -> Vec<Breach> {
    let face = |folder| sources.iter().filter(move |source| source.ends("rs") && source.is_in(folder));
    let mut used: BTreeSet<String> = face("crates/mcp/src")
        .flat_map(|source| code(&source.text).lines().flat_map(codes_in).collect::<Vec<_>>())
        .collect();
    let words: Vec<String> =
        face("crates/daemon/src/http").flat_map(|source| words_in(&source.text)).collect();
    if words.is_empty() && face("crates/daemon/src/http").next().is_some() {
        return vec![Wrong(
            "crates/daemon/src/http makes no `Failure::new(StatusCode::…, \"word\", …)` any more".into(),
        )];
    }
    used.extend(words);
    missing(sources, used)
}

/// The words of the REST errors that are made there: what follows the status in `Failure::new(StatusCode::…, "word", …)`.
fn words_in(text: &str) -> Vec<String> {
    let made = text.split("::new(").skip(1).filter_map(|rest| {
        let (status, behind) = rest.trim_start().strip_prefix("StatusCode::")?.split_once(',')?;
        let plain = status.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let word = behind.trim_start().strip_prefix('"')?.split_once('"')?.0;
        plain.then(|| word.to_owned())
    });
    made.collect()
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

    #[test]
    fn a_word_of_the_rest_face_without_an_explanation_is_found() {
        let made = "Self::new(StatusCode::BAD_REQUEST, \"malformed\", message, CORRECT);\n\
                    Failure::new(\n    StatusCode::CONFLICT,\n    \"decided\",\n    x,\n);\n\
                    Response::new(StatusCode::OK, other); Finding::new(\"no\");";
        let sources = [
            Source { path: "crates/daemon/src/http/reply.rs".into(), text: made.into() },
            Source { path: CATALOGUE.into(), text: "| `malformed` | 400 |".into() },
        ];
        assert_eq!(codes(&sources), [Wrong("docs/errors.md does not explain `decided`".into())]);
    }
}
