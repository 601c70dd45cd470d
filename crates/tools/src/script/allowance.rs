//! Which scripts the configuration lets run without a person being asked, and the one word for how a script stands.

use std::collections::BTreeMap;

use covenant_gate::Standing;

use super::shelf::{SENT, Script};

/// How the allowlist stands to a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// It does not name this text.
    None,
    /// It names this very text by its hash.
    Pinned,
    /// It names the script; any text will do.
    Unpinned,
}

impl Allowance {
    /// What that allowlist says of that script.
    pub fn of(allowlist: &BTreeMap<String, Option<String>>, script: &Script) -> Self {
        match allowlist.get(&script.name) {
            Some(Some(hash)) if hash.eq_ignore_ascii_case(&script.sha256()) => Self::Pinned,
            // The name of a text that was sent is the beginning of its hash, and too short to stand for it.
            Some(None) if !script.name.starts_with(SENT) => Self::Unpinned,
            _ => Self::None,
        }
    }

    /// Whether it may run without a person being asked.
    pub fn is_given(self) -> bool {
        self != Self::None
    }

    /// The word for it, where there is one.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Pinned => Some("pinned"),
            Self::Unpinned => Some("unpinned"),
        }
    }
}

/// The word for how a script stands that is not on the allowlist. One that nobody asked about waits as well.
pub fn status(standing: Option<&Standing>) -> &'static str {
    match standing {
        Some(Standing::Approved) => "approved",
        Some(Standing::Modified(_)) => "modified",
        Some(Standing::Rejected { .. }) => "rejected",
        Some(Standing::Pending(_) | Standing::Full { .. }) | None => "pending",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(name: &str, text: &str) -> Script {
        Script { name: name.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_hash_allows_one_text_and_a_bare_name_any() {
        let weather = script("weather", "result = 1\n");
        let pinned = BTreeMap::from([("weather".to_owned(), Some(weather.sha256().to_uppercase()))]);
        assert_eq!(Allowance::of(&pinned, &weather), Allowance::Pinned);
        assert_eq!(Allowance::of(&pinned, &script("weather", "result = 2\n")), Allowance::None);
        assert_eq!(Allowance::of(&pinned, &script("other", "result = 1\n")), Allowance::None);
        let bare = BTreeMap::from([("weather".to_owned(), None)]);
        assert_eq!(Allowance::of(&bare, &script("weather", "anything")), Allowance::Unpinned);
        assert_eq!(Allowance::of(&bare, &script("Weather", "anything")), Allowance::None);
    }

    #[test]
    fn a_text_that_was_sent_is_allowed_by_its_whole_hash_alone() {
        let sent = script("exec-0123456789ab", "result = 1\n");
        let bare = BTreeMap::from([(sent.name.clone(), None)]);
        assert_eq!(Allowance::of(&bare, &sent), Allowance::None);
        let pinned = BTreeMap::from([(sent.name.clone(), Some(sent.sha256()))]);
        assert_eq!(Allowance::of(&pinned, &sent), Allowance::Pinned);
    }
}
