//! `[chat.NAME]`: ways to people, each under a name of its own.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Invalid, fill};

/// The keys of each.
pub(super) const KEYS: &[&str] = &["provider", "token", "base_url", "url"];

/// How many there may be.
const MOST: usize = 64;

/// A way to people.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// What is spoken there.
    pub provider: Provider,
    /// What it knows us by, mostly `${secret:NAME}`.
    #[serde(default)]
    pub token: String,
    /// Where its API is, if elsewhere than usual. Matrix has no usual place.
    #[serde(default)]
    pub base_url: String,
    /// Where a webhook is posted to.
    #[serde(default)]
    pub url: String,
}

/// What chat services speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are their own")]
pub enum Provider {
    Slack,
    Discord,
    Telegram,
    Matrix,
    Webhook,
}

impl Chat {
    /// Where it is reached, as it is written.
    pub(crate) fn place(&self) -> &str {
        if self.provider == Provider::Webhook { &self.url } else { &self.base_url }
    }

    /// The same without credentials.
    pub(super) fn shown(&self) -> Self {
        Self {
            provider: self.provider,
            token: fill::hidden(&self.token),
            base_url: fill::hidden_address(&self.base_url),
            // A webhook's address is its credential.
            url: fill::hidden(&self.url),
        }
    }

    fn fault(&self, name: &str) -> Option<String> {
        let missing = |key: &str| Some(format!("holds `{name}` without `{key}`, which its provider needs"));
        let webhook = self.provider == Provider::Webhook;
        match self.provider {
            Provider::Webhook if self.url.is_empty() => return missing("url"),
            Provider::Matrix if self.base_url.is_empty() => return missing("base_url"),
            _ if !webhook && self.token.is_empty() => return missing("token"),
            _ if !webhook && !self.url.is_empty() => {
                return Some(format!("holds `{name}` with `url`, which is for a webhook: write base_url"));
            }
            _ => {}
        }
        if let Err(reason) = fill::could_be_filled(&self.token) {
            return Some(format!("holds `{name}` whose `token` {reason}"));
        }
        let place = self.place();
        let reason = (!place.is_empty()).then(|| fill::could_be_address(place).err()).flatten()?;
        let key = if webhook { "url" } else { "base_url" };
        Some(format!("holds `{name}` whose `{key}` {reason}"))
    }
}

pub(super) fn check(chats: &BTreeMap<String, Chat>) -> Result<(), Invalid> {
    let invalid = |reason: String| Err(Invalid::new("chat", reason));
    if chats.len() > MOST {
        return invalid(format!("holds more than {MOST} of them"));
    }
    for (name, chat) in chats {
        let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            return invalid(format!("holds `{shown}`: a name has 1 to 64 letters, digits, `_` and `-`"));
        }
        if let Some(fault) = chat.fault(&shown) {
            return invalid(fault);
        }
    }
    Ok(())
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, token, base_url, url } = self.shown();
        let mut shown = f.debug_struct("Chat");
        shown.field("provider", &provider).field("token", &token);
        shown.field("base_url", &base_url).field("url", &url).finish()
    }
}
