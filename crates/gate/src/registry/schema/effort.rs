//! What it would cost to hold arguments against a schema that somebody else wrote: reckoned first, in bounded time.
//!
//! A schema that refers to itself twice for the same place costs twice as much with each level of the arguments, so its
//! size alone says nothing. This goes the way the check would go, without checking, and stops at the limit.

use serde_json::Value;

use super::walk::{Beside, beside, local, looks};

/// How many schemas may stand over each other for one place of the arguments: the check goes down as deep.
const DEEP: usize = 200;

/// What a schema costs for one value, measured in bytes of a text that a small pattern looks at.
const LOOK: u64 = 10;

/// How many steps may wait at a time.
const WAITING: usize = 1_000_000;

/// Whether the check of these arguments costs at most so many steps.
pub(crate) fn within(most: u64, schema: &Value, arguments: &Value) -> bool {
    let mut effort = Effort { root: schema, left: most, waiting: Vec::new() };
    effort.add(Held::Value(arguments), schema, 0);
    effort.reckon().is_some()
}

/// What is held against a schema.
#[derive(Clone, Copy)]
enum Held<'v> {
    Value(&'v Value),
    /// The name of a member.
    Name(&'v str),
}

impl<'v> Held<'v> {
    fn text(self) -> Option<&'v str> {
        match self {
            Self::Value(value) => value.as_str(),
            Self::Name(name) => Some(name),
        }
    }
}

struct Effort<'s, 'v> {
    root: &'s Value,
    left: u64,
    waiting: Vec<(Held<'v>, &'s Value, usize)>,
}

impl<'s, 'v> Effort<'s, 'v> {
    /// Nothing where it would be too much.
    fn reckon(&mut self) -> Option<()> {
        while let Some((held, schema, depth)) = self.waiting.pop() {
            if depth > DEEP || self.waiting.len() > WAITING {
                return None;
            }
            self.left = self.left.checked_sub(own_weight(held, schema))?;
            for _ in 0..looks(schema) {
                self.beside(held, schema, depth);
            }
            match held {
                Held::Value(Value::Object(members)) => {
                    for (name, value) in members {
                        self.member(name, value, schema, depth)?;
                    }
                }
                Held::Value(Value::Array(items)) => {
                    for (at, item) in items.iter().enumerate() {
                        self.item(at, item, schema, depth)?;
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn add(&mut self, held: Held<'v>, schema: &'s Value, depth: usize) {
        if schema.is_object() {
            self.waiting.push((held, schema, depth));
        }
    }

    fn beside(&mut self, held: Held<'v>, schema: &'s Value, depth: usize) {
        for beside in beside(schema) {
            let part = match beside {
                Beside::Part(part) => Some(part),
                Beside::Reference(target) => local(self.root, target),
            };
            // A schema that names itself adds nothing.
            if let Some(part) = part.filter(|part| !std::ptr::eq(*part, schema)) {
                self.add(held, part, depth + 1);
            }
        }
    }

    /// Every schema that may be held against a member; which patterns its name matches is not asked.
    fn member(&mut self, name: &'v str, value: &'v Value, schema: &'s Value, depth: usize) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let held = Held::Value(value);
        if let Some(part) = schema.get("properties").and_then(|parts| parts.get(name)) {
            self.add(held, part, depth + 1);
        }
        for (pattern, part) in
            schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten()
        {
            self.left = self.left.checked_sub(pattern_weight(pattern, name))?;
            self.add(held, part, depth + 1);
        }
        for rest in ["additionalProperties", "unevaluatedProperties"] {
            if let Some(part) = schema.get(rest) {
                self.add(held, part, depth + 1);
            }
        }
        if let Some(part) = schema.get("propertyNames") {
            self.add(Held::Name(name), part, depth + 1);
        }
        Some(())
    }

    fn item(&mut self, at: usize, item: &'v Value, schema: &'s Value, depth: usize) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let held = Held::Value(item);
        for rule in ["prefixItems", "items", "additionalItems", "unevaluatedItems", "contains"] {
            match schema.get(rule) {
                Some(Value::Array(parts)) => {
                    if let Some(part) = parts.get(at) {
                        self.add(held, part, depth + 1);
                    }
                }
                Some(part) => self.add(held, part, depth + 1),
                None => {}
            }
        }
        Some(())
    }
}

/// What a schema costs by itself.
fn own_weight(held: Held<'_>, schema: &Value) -> u64 {
    let length =
        |member: &str| schema.get(member).and_then(Value::as_array).map_or(0, |items| count(items.len()));
    let mut weight = LOOK + length("enum") + length("required");
    if let Some(text) = held.text() {
        weight = weight.saturating_add(count(text.len()) / 64);
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            weight = weight.saturating_add(pattern_weight(pattern, text));
        }
    }
    weight
}

/// A pattern costs with each byte of the text as much as it has states, and it has as many as its counts multiply to.
fn pattern_weight(pattern: &str, text: &str) -> u64 {
    let counts = pattern.split('{').skip(1).map(|after| {
        let inside = after.split('}').next().unwrap_or_default();
        inside.split(',').filter_map(|number| number.trim().parse::<u64>().ok()).max().unwrap_or(1).max(1)
    });
    let states = counts.fold(count(pattern.len()), u64::saturating_mul).min(2_048);
    (1 + states / 32).saturating_mul(1 + count(text.len()))
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
