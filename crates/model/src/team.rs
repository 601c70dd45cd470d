//! Who works together: workspaces, their developers, and what these and their tokens may be called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{DeveloperId, WorkspaceId};
use crate::principal::Principal;
use crate::time::Timestamp;

/// The most characters of a handle.
const LONGEST_HANDLE: usize = 39;

/// The most characters of the name of a workspace, and of the label of a token.
const LONGEST_NAME: usize = 64;

/// Words that mean something else where a handle could stand, or that somebody could pose as.
const RESERVED: [&str; 24] = [
    "admin", "agent", "all", "any", "anyone", "client", "covenant", "daemon", "dev", "everyone", "here",
    "local", "me", "member", "nobody", "none", "null", "operator", "private", "root", "system", "team",
    "unknown", "user",
];

/// What a developer is called: lower-case, so that no two are told apart by their letters' case alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Handle(Box<str>);

/// What a workspace is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkspaceName(Box<str>);

/// What a token is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(Box<str>);

/// A text that cannot be what someone or something is called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// It is no handle.
    #[error(
        "`{0}` is not a handle: those have 1 to 39 lower-case letters, digits, `.`, `_` and `-`, and begin with a letter or a digit"
    )]
    Handle(String),
    /// It means something else.
    #[error("`{0}` has a meaning of its own and cannot be anybody's handle: choose another")]
    Reserved(String),
    /// It is no name of a workspace.
    #[error(
        "`{0}` cannot be the name of a workspace: those have 1 to 64 characters that can be seen, and no space at either end"
    )]
    Workspace(String),
    /// It is the name that every home begins with.
    #[error("`local` is what a workspace is called before it has a name: choose another")]
    Local,
    /// It is no label.
    #[error(
        "`{0}` cannot be the label of a token: those have 1 to 64 characters that can be seen, and no space at either end"
    )]
    Label(String),
}

/// What a developer may do for the others of their workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Invite and remove people, and make and end their tokens.
    Admin,
    /// Nothing; they have tokens of their own.
    #[default]
    Member,
}

/// A workspace: those who work together, and their work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// What it is known by, whatever it is called.
    pub id: WorkspaceId,
    /// What it is called.
    pub name: WorkspaceName,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Somebody who works in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Developer {
    /// What they are known by.
    pub id: DeveloperId,
    /// Where they work.
    pub workspace: WorkspaceId,
    /// What they are called; theirs alone in the whole database.
    pub handle: Handle,
    /// What they may do for the others.
    pub role: Role,
    /// Whether they are `@private` to everybody else.
    pub private: bool,
    /// Since when they are here.
    pub created_at: Timestamp,
    /// Since when they no longer are; their work stays.
    pub removed_at: Option<Timestamp>,
}

impl Developer {
    /// What stands in place of the handle of somebody private.
    pub const PRIVATE: &str = "@private";

    /// Who they are to the gate.
    pub fn principal(&self) -> Principal {
        Principal::from(&self.handle)
    }
}

impl Handle {
    /// The developer that the operator is.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// The handle of somebody who is invited: no word with a meaning of its own.
    pub fn of_person(text: &str) -> Result<Self, BadName> {
        let handle: Self = text.parse()?;
        if RESERVED.contains(&text) {
            return Err(BadName::Reserved(text.to_owned()));
        }
        Ok(handle)
    }

    /// As people write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl WorkspaceName {
    /// What a workspace is called before anybody named it.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// The name that somebody gives to a workspace.
    pub fn given(text: &str) -> Result<Self, BadName> {
        let name: Self = text.parse()?;
        if name.is_like(&Self::local()) { Err(BadName::Local) } else { Ok(name) }
    }

    /// Whether people would take the two for one.
    pub fn is_like(&self, other: &Self) -> bool {
        self.is_meant_by(&other.0)
    }

    /// Whether that is what somebody types who means it.
    pub fn is_meant_by(&self, typed: &str) -> bool {
        self.0.to_lowercase() == typed.to_lowercase()
    }

    /// As people write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Label {
    /// The first of `stem`, `stem 2`, `stem 3`… that is not taken.
    pub fn free(stem: &str, taken: impl Fn(&str) -> bool) -> Self {
        let stem: String = stem.chars().take(LONGEST_NAME - 12).collect();
        let further = (2_u32..).map(|number| format!("{stem} {number}"));
        let first = std::iter::once(stem.clone()).chain(further).find(|label| !taken(label));
        Self(first.unwrap_or_default().into())
    }

    /// As people write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Role {
    /// As people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "admin" => Ok(Self::Admin),
            "member" => Ok(Self::Member),
            _ => Err(format!("`{}` is not a role: write `admin` or `member`", shown(text))),
        }
    }
}

impl FromStr for Handle {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let sound = (1..=LONGEST_HANDLE).contains(&text.len())
            && text.bytes().all(|byte| plain(byte) || b"._-".contains(&byte))
            && text.bytes().next().is_some_and(plain);
        if sound { Ok(Self(text.into())) } else { Err(BadName::Handle(shown(text))) }
    }
}

impl FromStr for WorkspaceName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        if is_seen(text) { Ok(Self(text.into())) } else { Err(BadName::Workspace(shown(text))) }
    }
}

impl FromStr for Label {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        if is_seen(text) { Ok(Self(text.into())) } else { Err(BadName::Label(shown(text))) }
    }
}

/// Whether a name can be seen as it is: no control characters, none that are invisible or turn the direction of others.
fn is_seen(text: &str) -> bool {
    let hidden = |character: char| {
        character.is_control()
            || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(character, '\u{e0000}'..='\u{e007f}')
    };
    (1..=LONGEST_NAME).contains(&text.chars().count()) && text.trim() == text && !text.contains(hidden)
}

/// The beginning of what somebody wrote, for the sentence that refuses it.
fn shown(text: &str) -> String {
    if text.chars().count() <= LONGEST_NAME {
        return text.to_owned();
    }
    text.chars().take(LONGEST_NAME).chain(['…']).collect()
}

macro_rules! text_form {
    ($($name:ident),+) => {
        $(
            impl TryFrom<String> for $name {
                type Error = BadName;
                fn try_from(text: String) -> Result<Self, BadName> {
                    text.parse()
                }
            }

            impl From<$name> for String {
                fn from(name: $name) -> Self {
                    name.0.into()
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(&self.0)
                }
            }
        )+
    };
}

text_form!(Handle, WorkspaceName, Label);

#[cfg(test)]
mod tests;
