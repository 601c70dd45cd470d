//! Who is calling: the operator, a named client, a run of an agent, or a member of a team.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::team::Handle;

/// Someone a grant can name. Cheap to clone; its text form is its identity.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Principal(Arc<str>);

/// The kinds of principal, told apart by their prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The person this home belongs to.
    Operator,
    /// A named MCP client with a token of its own.
    Client,
    /// A run of an agent's manifest.
    Agent,
    /// A member of a workspace.
    Developer,
}

/// The agents that a developer's token can be made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentType {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Cursor.
    Cursor,
}

/// A text that names no such agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a type of agent: write `claude-code`, `codex` or `cursor`")]
pub struct BadAgentType(String);

impl AgentType {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::Cursor];

    /// As people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
        }
    }
}

impl fmt::Display for AgentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AgentType {
    type Err = BadAgentType;

    fn from_str(text: &str) -> Result<Self, BadAgentType> {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == text);
        known.ok_or_else(|| BadAgentType(text.chars().take(64).collect()))
    }
}

/// A text that names no principal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a principal: write `user@local`, `client:NAME`, `agent:ID` or `dev:HANDLE`")]
pub struct BadPrincipal(String);

const OPERATOR: &str = "user@local";

impl Principal {
    /// The person this home belongs to.
    pub fn operator() -> Self {
        Self(OPERATOR.into())
    }

    /// The principal of the client with that name.
    pub fn client(name: &str) -> Result<Self, BadPrincipal> {
        format!("client:{name}").parse()
    }

    /// The principal of the developer with that handle.
    pub fn developer(handle: &str) -> Result<Self, BadPrincipal> {
        format!("dev:{handle}").parse()
    }

    /// Which kind this is.
    pub fn kind(&self) -> Kind {
        match self.0.split_once(':') {
            Some(("client", _)) => Kind::Client,
            Some(("agent", _)) => Kind::Agent,
            Some(("dev", _)) => Kind::Developer,
            _ => Kind::Operator,
        }
    }

    /// What stands behind the prefix; for the operator, the whole.
    pub fn name(&self) -> &str {
        self.0.split_once(':').map_or(&*self.0, |(_, name)| name)
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Principal {
    type Err = BadPrincipal;

    fn from_str(text: &str) -> Result<Self, BadPrincipal> {
        let sound = text == OPERATOR
            || text.split_once(':').is_some_and(|(kind, name)| {
                let extra: &[u8] = if kind == "agent" { b"_-.@/" } else { b"_-." };
                matches!(kind, "client" | "agent" | "dev")
                    && (1..=64).contains(&name.len())
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || extra.contains(&byte))
            });
        if sound { Ok(Self(text.into())) } else { Err(BadPrincipal(text.to_owned())) }
    }
}

impl From<&Handle> for Principal {
    fn from(handle: &Handle) -> Self {
        Self(format!("dev:{handle}").into())
    }
}

impl TryFrom<String> for Principal {
    type Error = BadPrincipal;
    fn try_from(text: String) -> Result<Self, BadPrincipal> {
        text.parse()
    }
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.as_str().to_owned()
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whom a grant is for: one principal, or anyone.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Subject {
    /// Every authenticated caller.
    Any,
    /// That one.
    One(Principal),
}

impl Subject {
    /// Whether the grant's subject includes that caller.
    pub fn includes(&self, principal: &Principal) -> bool {
        match self {
            Self::Any => true,
            Self::One(one) => one == principal,
        }
    }
}

impl FromStr for Subject {
    type Err = BadPrincipal;
    fn from_str(text: &str) -> Result<Self, BadPrincipal> {
        if text == "any" { Ok(Self::Any) } else { text.parse().map(Self::One) }
    }
}

impl TryFrom<String> for Subject {
    type Error = BadPrincipal;
    fn try_from(text: String) -> Result<Self, BadPrincipal> {
        text.parse()
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        subject.to_string()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::One(one) => one.fmt(f),
        }
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_spellings_are_read_and_written_back() {
        for text in ["user@local", "client:claude", "agent:notes@local", "dev:ada"] {
            let principal: Principal = text.parse().unwrap();
            assert_eq!(principal.to_string(), text);
        }
        let ada = "dev:ada".parse::<Principal>().unwrap();
        assert_eq!((ada.kind(), &ada), (Kind::Developer, &Principal::from(&"ada".parse().unwrap())));
    }

    #[test]
    fn anything_else_is_refused() {
        let long = format!("client:{}", "x".repeat(65));
        for text in ["", "root", "client:", "client:a b", "client:a\n", "any", "user@remote", &long] {
            assert!(text.parse::<Principal>().is_err(), "{text}");
        }
    }
}
