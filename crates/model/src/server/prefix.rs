//! What stands before the names of a server's tools: as it is written, or made from the server's name, always the same.

use sha2::{Digest as _, Sha256};

use super::plan::Prefix;
use super::reserved::PREFIXES;
use super::resolve::BadEntry;

/// The most characters of a prefix.
pub(super) const LONGEST: usize = 16;

/// How many characters of a hash tell two long names apart.
const SHORT_HASH: usize = 4;

impl Prefix {
    /// The prefix of the server with that name: what its entry says, else what the name gives.
    pub fn of(name: &str, written: Option<&str>) -> Result<Self, BadEntry> {
        match written {
            None => Ok(Self::Named(derived(name))),
            Some("none") => Ok(Self::None),
            Some(prefix) => checked(prefix).map(|()| Self::Named(prefix.to_owned())),
        }
    }

    /// The text of it; empty where there is none.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Named(prefix) => prefix,
            Self::None => "",
        }
    }
}

fn checked(prefix: &str) -> Result<(), BadEntry> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !(1..=LONGEST).contains(&prefix.len()) || !prefix.bytes().all(plain) {
        let shown: String = prefix.chars().take(64).flat_map(char::escape_debug).collect();
        let reason = format!(
            "is `{shown}`, and must be 1 to {LONGEST} of a-z, 0-9 and `-`; \"none\" leaves the tools their own names"
        );
        return Err(BadEntry::new("prefix", reason));
    }
    if PREFIXES.contains(&prefix) {
        let reason = format!("is `{prefix}`, which tools of our own have: choose another");
        return Err(BadEntry::new("prefix", reason));
    }
    Ok(())
}

/// The prefix a name gives: in lower case, with `-` for what cannot stand there, and with a hash where the name is too
/// long, gives nothing, or gives what is reserved.
fn derived(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mapped: String = name.chars().map(plain).collect();
    let words: Vec<&str> = mapped.split('-').filter(|word| !word.is_empty()).collect();
    let stem = words.join("-");
    if stem.is_empty() {
        return format!("server-{}", hash(name, 8));
    }
    if stem.len() <= LONGEST && !PREFIXES.contains(&stem.as_str()) {
        return stem;
    }
    let kept: String = stem.chars().take(LONGEST - 1 - SHORT_HASH).collect();
    format!("{}-{}", kept.trim_end_matches('-'), hash(name, SHORT_HASH))
}

/// The first hexadecimal digits, at most eight, of the text's SHA-256.
pub(super) fn hash(text: &str, digits: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let first = digest.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    format!("{first:08x}").chars().take(digits).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_gives_a_prefix_that_never_changes() {
        for (name, prefix) in [
            ("github", "github"),
            ("GitHub", "github"),
            ("My Notes", "my-notes"),
            ("__my..notes__", "my-notes"),
            ("a", "a"),
            ("sixteen-letters-", "sixteen-letters"),
            ("exactly-16-chars", "exactly-16-chars"),
            ("none", "none"),
            ("agents", "agents"),
            ("café", "caf"),
        ] {
            assert_eq!(Prefix::of(name, None), Ok(Prefix::Named(prefix.to_owned())), "{name}");
        }
        // These are in people's grants: a change of the way they are made would break them.
        assert_eq!(derived("agent"), format!("agent-{}", hash("agent", 4)));
        assert_eq!(hash("agent", 8), "d4f0bc5a");
        assert_eq!(derived("sequential-thinking"), format!("sequential-{}", hash("sequential-thinking", 4)));
    }

    #[test]
    fn what_gives_nothing_or_too_much_gets_a_hash() {
        for name in [
            "日本語",
            "!!!",
            "__",
            "a-very-long-name-of-a-server",
            "Agent",
            "covenant",
            "-covenant-",
            "covibe",
        ] {
            let prefix = derived(name);
            assert!(checked(&prefix).is_ok() && prefix.contains('-'), "{name}: {prefix}");
        }
        assert_ne!(derived("日本語"), derived("中文"));
        assert_ne!(derived("filesystem-of-ada"), derived("filesystem-of-bob"));
    }

    #[test]
    fn a_written_prefix_is_taken_as_it_is_or_refused() {
        assert_eq!(Prefix::of("x", Some("none")), Ok(Prefix::None));
        assert_eq!(Prefix::of("x", Some("a-1")), Ok(Prefix::Named("a-1".to_owned())));
        for prefix in ["", "A", "a_b", "a b", "ä", "seventeen-letters", "agent", "covenant", "covibe", "None"]
        {
            let refused = Prefix::of("x", Some(prefix)).unwrap_err().to_string();
            assert!(refused.starts_with("`prefix` is `"), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn every_name_gives_a_sound_prefix(name in ".{0,80}") {
            let prefix = derived(&name);
            prop_assert!(checked(&prefix).is_ok(), "{}", prefix);
            prop_assert_eq!(prefix, derived(&name));
        }
    }
}
