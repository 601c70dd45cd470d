//! The patterns of a schema that somebody else wrote: how many, how large, and what is left out because of them.
//!
//! They run in an engine whose time grows with the text alone. It knows no look-around and no back-references, which
//! honest schemas do use: such a pattern is left out of what we check, and so is everything that could turn the looser
//! check into a refusal of arguments that the server would take.

use std::collections::BTreeSet;

use jsonschema::PatternOptions;
use serde_json::{Map, Value, json};

/// How many patterns a schema may have, and how many bytes they may be written in.
const PATTERNS: usize = 64;
const WRITTEN: usize = 16 * 1024;

/// How many bytes the patterns of one schema may take compiled, and how many one of them.
const COMPILED: usize = 128 * 1024;
const COMPILED_ONE: usize = 64 * 1024;

/// What most patterns are smaller than.
const SMALL: usize = 8 * 1024;

/// The engine for such patterns, with so many bytes for each.
pub(super) fn linear(bytes: usize) -> PatternOptions<jsonschema::Regex> {
    PatternOptions::regex().size_limit(bytes).dfa_size_limit(bytes)
}

/// How many bytes each may take, so that all of them together stay small, and smaller than that room.
pub(super) fn bytes_each(patterns: &BTreeSet<&str>, room: usize) -> Result<usize, String> {
    if patterns.len() > PATTERNS {
        return Err(format!("it has {} patterns, and {PATTERNS} are the most", patterns.len()));
    }
    let written: usize = patterns.iter().map(|pattern| pattern.len()).sum();
    if written > WRITTEN {
        return Err(format!("its patterns have {written} bytes, and {WRITTEN} are the most"));
    }
    let all = COMPILED.min(room);
    Ok(all.checked_div(patterns.len()).unwrap_or(all).min(COMPILED_ONE))
}

/// Leaves out the patterns that the engine cannot take, and groups that capture, which cost much and decide nothing. How
/// many bytes the others take at most.
pub(super) fn simplify(schema: &mut Value, patterns: &BTreeSet<&str>, bytes: usize) -> usize {
    if patterns.is_empty() {
        return 0;
    }
    let (mut lost, mut taken) = (BTreeSet::new(), 0);
    for pattern in patterns {
        match [SMALL.min(bytes), bytes].into_iter().find(|bytes| takes(pattern, *bytes)) {
            Some(bytes) => taken += bytes,
            None => drop(lost.insert(*pattern)),
        }
    }
    simplify_part(schema, &lost);
    taken
}

fn takes(pattern: &str, bytes: usize) -> bool {
    jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(linear(bytes))
        .build(&json!({ "pattern": pattern }))
        .is_ok()
}

/// The same for one schema and all that stands in it. How deep it is nested was checked.
fn simplify_part(schema: &mut Value, lost: &BTreeSet<&str>) {
    let Some(members) = schema.as_object_mut() else { return };
    simplify_own(members, lost);
    if !lost.is_empty() {
        loosen(members);
    }
    for (member, value) in members {
        match (member.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(parts),
            ) => {
                for part in parts.values_mut() {
                    simplify_part(part, lost);
                }
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(parts)) => {
                for part in parts {
                    simplify_part(part, lost);
                }
            }
            (
                "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "not"
                | "if"
                | "then"
                | "else",
                part,
            ) => simplify_part(part, lost),
            _ => {}
        }
    }
}

/// The patterns of one schema itself.
fn simplify_own(members: &mut Map<String, Value>, lost: &BTreeSet<&str>) {
    if let Some(Value::String(pattern)) = members.get_mut("pattern") {
        if lost.contains(pattern.as_str()) {
            members.remove("pattern");
        } else {
            *pattern = uncaptured(pattern);
        }
    }
    let Some(Value::Object(named)) = members.get_mut("patternProperties") else { return };
    if named.keys().any(|pattern| lost.contains(pattern.as_str())) {
        members.remove("patternProperties");
        // It says what is left when those are taken away.
        members.remove("additionalProperties");
        return;
    }
    let renamed: Map<String, Value> =
        named.iter().map(|(pattern, part)| (uncaptured(pattern), part.clone())).collect();
    if renamed.len() == named.len() {
        *named = renamed;
    }
}

/// Takes away what refuses more when a part of it refuses less.
fn loosen(members: &mut Map<String, Value>) {
    for member in ["unevaluatedProperties", "unevaluatedItems", "maxContains"] {
        members.remove(member);
    }
    for member in ["not", "if", "then", "else"] {
        if members.get(member).is_some_and(|part| part.is_object() || part.is_boolean()) {
            members.remove(member);
        }
    }
    if let Some(either) = members.remove("oneOf") {
        members.entry("anyOf").or_insert(either);
    }
}

/// The same pattern with groups that do not capture.
fn uncaptured(pattern: &str) -> String {
    let mut made = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        made.push(letter);
        match letter {
            '\\' => made.extend(letters.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class && letters.peek() != Some(&'?') => made.push_str("?:"),
            _ => {}
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_lose_their_captures_and_nothing_else() {
        assert_eq!(uncaptured(r"^(a|(?:b))\(c[(\]x](d)$"), r"^(?:a|(?:b))\(c[(\]x](?:d)$");
    }
}
