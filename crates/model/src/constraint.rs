//! Limits of a grant, as data: rules for arguments, a number of calls, a rate. No policy language.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Number, Value};

/// The limits of a grant; nothing set means unlimited.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Constraints {
    /// A rule per property, nested ones written `a.b`. Every rule must match; an absent property does not.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, Rule>,
    /// Calls in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// Calls per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// What a property must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Exactly that value.
    Equals(Value),
    /// One of these.
    OneOf(Vec<Value>),
    /// A number between two bounds, both included.
    Range(Range),
    /// A text: `*` stands for any characters, `?` for one.
    Glob(String),
    /// A relative path: `*` and `?` stay within a segment, `**` stands for any segments. A value that is absolute
    /// or has `..`, `//`, a backslash or NUL never matches.
    Path(String),
}

/// Bounds of a number. Written `{"min": 1, "max": 9}` or `[1, 9]`; one of them may be left out or null.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Range {
    /// The least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Number>,
    /// The most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Number>,
}

/// Limits that make no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadConstraints {
    /// The rate is not a positive number.
    #[error("`rate` must be a number of calls per second above 0")]
    Rate,
    /// No call would ever be allowed.
    #[error("`max_calls` must be at least 1")]
    MaxCalls,
    /// More than anyone writes by hand.
    #[error("{0}")]
    TooLarge(&'static str),
    /// A property has no name.
    #[error("a property in `arguments` has an empty name")]
    EmptyName,
    /// A range without bounds, or upside down.
    #[error("the range for `{0}` needs `min` or `max`, and `min` not above `max`")]
    Range(String),
    /// A path pattern that could never match.
    #[error(
        "the path pattern for `{0}` must be relative and without `..`, `//`, backslash or NUL: no value outside could match it"
    )]
    Path(String),
}

impl Constraints {
    /// Whether calls are counted, which a database must remember.
    pub fn counted(&self) -> bool {
        self.max_calls.is_some() || self.rate.is_some()
    }

    /// Whether these limits can be kept.
    pub fn check(&self) -> Result<(), BadConstraints> {
        if self.rate.is_some_and(|rate| !(rate.is_finite() && (1e-6..=1e6).contains(&rate))) {
            return Err(BadConstraints::Rate);
        }
        if self.max_calls == Some(0) || self.max_calls.is_some_and(|calls| i64::try_from(calls).is_err()) {
            return Err(BadConstraints::MaxCalls);
        }
        if self.arguments.len() > 64 {
            return Err(BadConstraints::TooLarge("more than 64 properties are constrained"));
        }
        self.arguments.iter().try_for_each(|(property, rule)| rule.check(property))
    }

    /// The first property whose rule these arguments break; `None` where all match.
    pub fn broken_by<'c>(&'c self, arguments: &Map<String, Value>) -> Option<&'c str> {
        self.arguments
            .iter()
            .find(|(property, rule)| {
                !property_of(arguments, property).is_some_and(|value| rule.matches(value))
            })
            .map(|(property, _)| property.as_str())
    }
}

/// The value of a property, nested ones written `a.b`.
fn property_of<'v>(arguments: &'v Map<String, Value>, property: &str) -> Option<&'v Value> {
    let mut names = property.split('.');
    let first = arguments.get(names.next()?)?;
    names.try_fold(first, |value, name| value.as_object()?.get(name))
}

impl Rule {
    fn check(&self, property: &str) -> Result<(), BadConstraints> {
        if property.split('.').any(str::is_empty) {
            return Err(BadConstraints::EmptyName);
        }
        match self {
            Self::OneOf(values) if values.len() > 256 => {
                Err(BadConstraints::TooLarge("`one_of` has more than 256 values"))
            }
            Self::Glob(pattern) | Self::Path(pattern) if pattern.len() > 1024 => {
                Err(BadConstraints::TooLarge("a pattern is longer than 1,024 bytes"))
            }
            Self::Path(pattern) if !is_plain_relative(pattern) => {
                Err(BadConstraints::Path(property.to_owned()))
            }
            Self::Range(range) if !range.is_sound() => Err(BadConstraints::Range(property.to_owned())),
            Self::Equals(_) | Self::OneOf(_) | Self::Range(_) | Self::Glob(_) | Self::Path(_) => Ok(()),
        }
    }

    /// Whether that value satisfies the rule.
    pub fn matches(&self, value: &Value) -> bool {
        match self {
            Self::Equals(wanted) => wanted == value,
            Self::OneOf(wanted) => wanted.contains(value),
            Self::Range(range) => value.as_number().is_some_and(|number| range.holds(number)),
            Self::Glob(pattern) => value.as_str().is_some_and(|text| glob(pattern, text)),
            Self::Path(pattern) => value.as_str().is_some_and(|text| path(pattern, text)),
        }
    }
}

impl Range {
    fn is_sound(&self) -> bool {
        match (&self.min, &self.max) {
            (None, None) => false,
            (Some(min), Some(max)) => at_most(min, max),
            _ => true,
        }
    }

    fn holds(&self, number: &Number) -> bool {
        self.min.as_ref().is_none_or(|min| at_most(min, number))
            && self.max.as_ref().is_none_or(|max| at_most(number, max))
    }
}

/// Whether `a <= b`: exactly for integers, as floating point otherwise.
fn at_most(a: &Number, b: &Number) -> bool {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a <= b,
        _ => a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a <= b),
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounds;
        impl<'de> de::Visitor<'de> for Bounds {
            type Value = Range;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("{\"min\": a, \"max\": b} or [a, b]")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Range, A::Error> {
                let min = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
                let max = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
                match seq.next_element::<de::IgnoredAny>()? {
                    None => Ok(Range { min, max }),
                    Some(_) => Err(de::Error::invalid_length(3, &self)),
                }
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Range, A::Error> {
                let mut range = Range::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "min" => range.min = map.next_value()?,
                        "max" => range.max = map.next_value()?,
                        other => return Err(de::Error::unknown_field(other, &["min", "max"])),
                    }
                }
                Ok(range)
            }
        }
        deserializer.deserialize_any(Bounds)
    }
}

/// Whether the text matches a pattern of `*` (any characters) and `?` (one character).
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    wildcard(&pattern, &text, |p| *p == '*', |p, t| *p == '?' || p == t)
}

/// Whether a relative path matches a pattern of segments with `**`.
pub fn path(pattern: &str, text: &str) -> bool {
    if !is_plain_relative(text) {
        return false;
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    let text: Vec<&str> = text.split('/').collect();
    wildcard(&pattern, &text, |p| *p == "**", |p, t| glob(p, t))
}

fn is_plain_relative(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains("//")
        && !path.contains(['\0', '\\'])
        && path.split('/').all(|segment| segment != "..")
}

/// Matches with one kind of wildcard, remembering only the last one: never worse than quadratic.
fn wildcard<P, T>(
    pattern: &[P],
    text: &[T],
    star: impl Fn(&P) -> bool,
    one: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(item) = text.get(t) {
        match pattern.get(p) {
            Some(part) if star(part) => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(part) if one(part, item) => (p, t) = (p + 1, t + 1),
            _ => match &mut retry {
                Some((after, from)) => {
                    *from += 1;
                    (p, t) = (*after, *from);
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(star)
}

#[cfg(test)]
mod tests;
