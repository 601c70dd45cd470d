//! Capability actions, and the patterns grants are written in. Only the last segment of a pattern may end in `*`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What stands in a grant: an action, or a pattern over the last segment (`tool.call.*`, `tool.call.github__*`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ActionPattern(Box<str>);

/// A text that is no action or pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an action: write dotted segments of letters, digits, `_`, `-`, such as `tool.call.echo`; \
     only the last segment may be `*` or end in `*`"
)]
pub struct BadAction(String);

/// How closely a pattern names an action: longer literal parts and exact names come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity {
    exact: bool,
    literal: usize,
}

impl ActionPattern {
    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The literal part before a `*`, or `None` for an exact action.
    pub fn prefix(&self) -> Option<&str> {
        self.0.strip_suffix('*')
    }

    /// Whether this pattern covers that action.
    pub fn covers(&self, action: &str) -> bool {
        match self.prefix() {
            None => *self.0 == *action,
            Some(prefix) => {
                action.strip_prefix(prefix).is_some_and(|rest| !rest.contains('.') && !rest.is_empty())
            }
        }
    }

    /// How closely it names what it covers.
    pub fn specificity(&self) -> Specificity {
        match self.prefix() {
            None => Specificity { exact: true, literal: self.0.len() },
            Some(prefix) => Specificity { exact: false, literal: prefix.len() },
        }
    }
}

impl FromStr for ActionPattern {
    type Err = BadAction;

    fn from_str(text: &str) -> Result<Self, BadAction> {
        let bad = || BadAction(text.chars().take(200).collect());
        let segments: Vec<&str> = text.split('.').collect();
        let (last, front) = segments.split_last().ok_or_else(bad)?;
        let plain = |segment: &str| segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        let literal = last.strip_suffix('*');
        let sound = text.len() <= 256
            && !front.is_empty()
            && front.iter().all(|segment| !segment.is_empty() && plain(segment))
            && plain(literal.unwrap_or(last))
            && !last.is_empty();
        if sound { Ok(Self(text.into())) } else { Err(bad()) }
    }
}

impl TryFrom<String> for ActionPattern {
    type Error = BadAction;
    fn try_from(text: String) -> Result<Self, BadAction> {
        text.parse()
    }
}

impl From<ActionPattern> for String {
    fn from(pattern: ActionPattern) -> Self {
        pattern.0.into()
    }
}

impl fmt::Display for ActionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ActionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
