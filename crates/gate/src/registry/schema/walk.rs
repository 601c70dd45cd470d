//! A walk through a whole schema before it is compiled: how deep, how large, and how much one value can cost.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

/// How deep a schema may be nested.
pub(super) const DEPTH: usize = 64;

/// How many schemas may have to be looked at for one place of the arguments: in our own, and in others'.
const STEPS: u64 = 10_000;
const FOREIGN_STEPS: u64 = 2_000;

/// How many objects a schema that is not our own may be made of.
const OBJECTS: usize = 4_000;

/// How long a chain of references may be.
const CHAIN: usize = 100;

/// How many references may lead elsewhere than to a place in the schema: we cannot follow those.
const OPAQUE: usize = 16;

/// How often the parts of a schema with `unevaluated…` are looked at: once for themselves, and to know what they saw.
pub(super) const UNEVALUATED: u8 = 3;

/// Whether a look at a value is bounded.
/// Comes back with the patterns in it.
pub(super) fn check(schema: &Value, foreign: bool) -> Result<BTreeSet<&str>, String> {
    let mut walk = Walk::of(schema, foreign);
    walk.survey(schema, 0)?;
    if foreign && walk.all.len() > OBJECTS {
        return Err(format!("it is made of more than {OBJECTS} objects"));
    }
    let all = std::mem::take(&mut walk.all);
    for place in all {
        walk.cost(place, 0)?;
    }
    Ok(walk.patterns)
}

/// A walk through a schema.
struct Walk<'s> {
    root: &'s Value,
    /// Whether somebody else wrote it.
    foreign: bool,
    /// The patterns in it, each once.
    patterns: BTreeSet<&'s str>,
    /// Every object in it.
    all: Vec<&'s Value>,
    anchors: HashMap<&'s str, &'s Value>,
    /// Whether a part of it has an address of its own, so that pointers in it begin elsewhere.
    divided: bool,
    opaque: usize,
    costs: HashMap<*const Value, u64>,
    open: HashSet<*const Value>,
}

impl<'s> Walk<'s> {
    fn of(root: &'s Value, foreign: bool) -> Self {
        Self {
            root,
            foreign,
            patterns: BTreeSet::new(),
            all: Vec::new(),
            anchors: HashMap::new(),
            divided: false,
            opaque: 0,
            costs: HashMap::new(),
            open: HashSet::new(),
        }
    }

    /// Finds all objects and anchors.
    fn survey(&mut self, value: &'s Value, depth: usize) -> Result<(), String> {
        if depth > DEPTH {
            return Err(format!("it is nested deeper than {DEPTH} levels"));
        }
        match value {
            Value::Object(members) => {
                self.all.push(value);
                for anchor in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = members.get(anchor).and_then(Value::as_str) {
                        self.anchors.entry(name).or_insert(value);
                    }
                }
                self.patterns.extend(patterns_of(members));
                self.divided |= depth > 0 && self.has_address(members);
                members.values().try_for_each(|member| self.survey(member, depth + 1))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.survey(item, depth + 1)),
            _ => Ok(()),
        }
    }

    /// Only the oldest draft spells it `id`; elsewhere that is data.
    fn has_address(&self, members: &Map<String, Value>) -> bool {
        let draft = self.root.get("$schema").and_then(Value::as_str);
        let oldest = draft.is_some_and(|draft| draft.contains("draft-04"));
        is_address(members.get("$id")) || (oldest && is_address(members.get("id")))
    }

    /// How many schemas are looked at for one value that this one is held against.
    fn cost(&mut self, schema: &'s Value, chain: usize) -> Result<u64, String> {
        let place = std::ptr::from_ref(schema);
        if let Some(known) = self.costs.get(&place) {
            return Ok(*known);
        }
        if chain > CHAIN {
            return Err(format!("its references are chained longer than {CHAIN}"));
        }
        if !self.open.insert(place) {
            return Err("its references lead in a circle".to_owned());
        }
        let mut sum: u64 = 1;
        for next in self.beside(schema)? {
            // A schema that names itself adds nothing.
            if !std::ptr::eq(next, schema) {
                sum = sum.saturating_add(self.cost(next, chain + 1)?);
            }
        }
        if self.foreign {
            sum = sum.saturating_mul(looks(schema).into());
        }
        let most = if self.foreign { FOREIGN_STEPS } else { STEPS };
        if sum > most {
            return Err(format!("one value would have to be held against more than {most} schemas"));
        }
        self.open.remove(&place);
        self.costs.insert(place, sum);
        Ok(sum)
    }

    /// The schemas that the same value is held against too.
    fn beside(&mut self, schema: &'s Value) -> Result<Vec<&'s Value>, String> {
        let mut found = Vec::new();
        for beside in beside(schema) {
            match beside {
                Beside::Part(part) => found.push(part),
                Beside::Reference(target) => found.extend(self.target(target)?),
            }
        }
        Ok(found)
    }

    fn target(&mut self, reference: &str) -> Result<Option<&'s Value>, String> {
        if self.foreign {
            // What a call will cost is reckoned from the schema as it stands, so every step must be found in it.
            let found = local(self.root, reference).filter(|_| !self.divided);
            // Not cut here: whoever shows it takes secrets out first.
            return found.map(Some).ok_or_else(|| {
                format!("its reference `{reference}` does not lead to a place in it by a `#/…` path")
            });
        }
        let local = reference.strip_prefix('#').filter(|_| !self.divided);
        let found = match local {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => self.root.pointer(pointer),
            Some(anchor) => self.anchors.get(anchor).copied(),
            None => None,
        };
        if found.is_none() {
            self.opaque += 1;
            if self.opaque > OPAQUE {
                return Err(format!("more than {OPAQUE} of its references lead elsewhere than into itself"));
            }
        }
        Ok(found)
    }
}

/// What the same value is held against too.
pub(super) enum Beside<'s> {
    Part(&'s Value),
    Reference(&'s str),
}

pub(super) fn beside(schema: &Value) -> Vec<Beside<'_>> {
    let Some(members) = schema.as_object() else { return Vec::new() };
    let mut found = Vec::new();
    for (member, value) in members {
        match (member.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(items)) => {
                found.extend(items.iter().map(Beside::Part));
            }
            ("not" | "if" | "then" | "else", Value::Object(_)) => found.push(Beside::Part(value)),
            ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                found.extend(parts.values().filter(|part| part.is_object()).map(Beside::Part));
            }
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                found.push(Beside::Reference(target));
            }
            _ => {}
        }
    }
    found
}

/// The place that a `#` or `#/…` leads to.
pub(super) fn local<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let path = reference.strip_prefix('#')?;
    if path.contains('%') { root.pointer(&decoded(path)?) } else { root.pointer(path) }
}

/// How often the parts of a schema are looked at for one value.
pub(super) fn looks(schema: &Value) -> u8 {
    let again =
        ["unevaluatedProperties", "unevaluatedItems"].iter().any(|member| schema.get(*member).is_some());
    if again { UNEVALUATED } else { 1 }
}

/// A path without its `%` signs.
fn decoded(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn patterns_of(members: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let keys = members.get("patternProperties").and_then(Value::as_object);
    let keys = keys.into_iter().flat_map(Map::keys).map(String::as_str);
    members.get("pattern").and_then(Value::as_str).into_iter().chain(keys)
}

fn is_address(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|address| !address.starts_with('#'))
}
