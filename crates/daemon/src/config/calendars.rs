//! `[[calendars]]`: calendars that tools may read, from an address or a file.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::workspace::fits;
use super::{Invalid, fill};

/// The keys of each.
pub(super) const KEYS: &[&str] = &["name", "url", "path"];

/// How many there may be.
const MOST: usize = 64;

/// A calendar.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calendar {
    /// What people call it.
    pub name: String,
    /// Where it is published. The address may hold a credential, and secrets as `${secret:NAME}`.
    #[serde(default)]
    pub url: String,
    /// A file instead: relative to the home, or absolute.
    #[serde(default)]
    pub path: String,
}

impl Calendar {
    /// The address; `webcal:` is what calendars call `https:`.
    pub(crate) fn address(&self) -> String {
        match self.url.strip_prefix("webcal://") {
            Some(rest) => format!("https://{rest}"),
            None => self.url.clone(),
        }
    }

    /// The same without credentials.
    pub(super) fn shown(&self) -> Self {
        // What a calendar is published under is mostly all that protects it.
        Self { name: self.name.clone(), url: fill::hidden(&self.url), path: self.path.clone() }
    }

    fn fault(&self) -> Option<String> {
        let shown: String = self.name.chars().take(64).flat_map(char::escape_debug).collect();
        if self.name.trim().is_empty() || self.name.chars().count() > 64 {
            return Some("holds one whose `name` is empty or longer than 64 characters".to_owned());
        }
        match (self.url.is_empty(), self.path.is_empty()) {
            (true, true) => Some(format!("holds `{shown}` with neither `url` nor `path`: write one of them")),
            (false, false) => Some(format!("holds `{shown}` with both `url` and `path`: write one of them")),
            (true, false) if !fits(&self.path) => Some(format!("holds `{shown}` whose `path` holds NUL")),
            (true, false) => None,
            (false, true) => {
                let reason = fill::could_be_address(&self.address()).err()?;
                Some(format!("holds `{shown}` whose `url` {reason}"))
            }
        }
    }
}

pub(super) fn check(calendars: &[Calendar]) -> Result<(), Invalid> {
    let invalid = |reason: String| Err(Invalid::new("calendars", reason));
    if calendars.len() > MOST {
        return invalid(format!("holds more than {MOST} of them"));
    }
    if let Some(fault) = calendars.iter().find_map(Calendar::fault) {
        return invalid(fault);
    }
    let mut names: Vec<String> = calendars.iter().map(|calendar| calendar.name.to_lowercase()).collect();
    names.sort();
    match names.windows(2).find_map(|pair| (pair.first() == pair.last()).then(|| pair.first()).flatten()) {
        Some(twice) => {
            let twice: String = twice.chars().flat_map(char::escape_debug).collect();
            invalid(format!("holds `{twice}` twice: give each a name of its own"))
        }
        None => Ok(()),
    }
}

impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, url, path } = self.shown();
        f.debug_struct("Calendar").field("name", &name).field("url", &url).field("path", &path).finish()
    }
}
