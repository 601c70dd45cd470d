//! Which schemas may decide over arguments: those that need nothing from elsewhere and cannot cost without end.
//!
//! A schema may come from a server that means harm. Nothing is fetched for it, its patterns are bounded, and so is what
//! one look at a value can cost: references that lead to each other, or that double at every step, are refused.

mod effort;
mod patterns;
mod walk;

#[cfg(test)]
mod tests;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

pub(crate) use effort::within;

/// What a pattern of our own may take: steps back, and bytes.
const BACKTRACKS: usize = 100_000;
const PATTERN_BYTES: usize = 1024 * 1024;

/// Makes a validator of a schema of our own; otherwise says why not.
pub(super) fn compile(schema: &Value) -> Result<Validator, String> {
    walk::check(schema, false)?;
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACKS)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    let (draft, stripped) = draft_of(schema);
    jsonschema::options()
        .with_draft(draft)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns)
        .build(stripped.as_ref().unwrap_or(schema))
        .map_err(|error| error.to_string())
}

/// Makes a validator of a schema that somebody else wrote. Its patterns never step back, and those that would have to,
/// or that are too large for that room, are left out: the server checks them itself, and what lists show stays whole.
/// Comes back also with how much of the room its patterns took.
pub(super) fn compile_foreign(schema: &Value, room: usize) -> Result<(Validator, usize), String> {
    let found = walk::check(schema, true)?;
    let bytes = patterns::bytes_each(&found, room)?;
    let (draft, stripped) = draft_of(schema);
    let mut copy = stripped.unwrap_or_else(|| schema.clone());
    let taken = patterns::simplify(&mut copy, &found, bytes);
    let validator = jsonschema::options()
        .with_draft(draft)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns::linear(bytes))
        .build(&copy)
        .map_err(|error| error.to_string())?;
    Ok((validator, taken))
}

/// The draft a schema is written in; one that nobody knows counts as the newest, and its name is left out.
fn draft_of(schema: &Value) -> (Draft, Option<Value>) {
    let said = schema.get("$schema").and_then(Value::as_str).map(|uri| uri.trim_end_matches('#'));
    let path = said.map(|uri| uri.trim_start_matches("https").trim_start_matches("http"));
    let draft = match path {
        None | Some("://json-schema.org/draft/2020-12/schema") => return (Draft::Draft202012, None),
        Some("://json-schema.org/draft/2019-09/schema") => Draft::Draft201909,
        Some("://json-schema.org/draft-07/schema") => Draft::Draft7,
        Some("://json-schema.org/draft-06/schema") => Draft::Draft6,
        Some("://json-schema.org/draft-04/schema") => Draft::Draft4,
        Some(_) => {
            let mut stripped = schema.clone();
            if let Some(members) = stripped.as_object_mut() {
                members.remove("$schema");
            }
            return (Draft::Draft202012, Some(stripped));
        }
    };
    (draft, None)
}
