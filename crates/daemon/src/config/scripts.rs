//! `[scripts]`: where scripts lie, what a run of one may use, and which need no approval.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Invalid;
use super::workspace::{fits, place};
use crate::home::Home;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["path", "max_execution_ms", "max_memory_mb", "allowlist"];

/// How many scripts the allowlist may hold.
const MOST: usize = 1000;

/// Where scripts lie, and what a run of one may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scripts {
    /// A directory: relative to the home, or absolute.
    pub path: String,
    /// How long one may run.
    pub max_execution_ms: u64,
    /// How much memory one may use.
    pub max_memory_mb: u64,
    /// Those that need no approval.
    pub allowlist: Allowlist,
}

/// Scripts that need no approval: by name, without `.star`, the hash of their text (`sha256:…`); none where any text will
/// do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowlist(BTreeMap<String, Option<String>>);

impl Default for Scripts {
    fn default() -> Self {
        Self {
            path: "scripts".to_owned(),
            max_execution_ms: 30_000,
            max_memory_mb: 128,
            allowlist: Allowlist::default(),
        }
    }
}

impl Scripts {
    /// The directory; `~` is what the environment says.
    pub(crate) fn place(&self, home: &Home, environment: &dyn Fn(&str) -> Option<String>) -> PathBuf {
        place(home, &self.path, environment)
    }

    /// What needs no approval.
    pub(crate) fn allowed(&self) -> &BTreeMap<String, Option<String>> {
        &self.allowlist.0
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if !fits(&self.path) {
            return Err(Invalid::new("scripts.path", "is empty, or holds NUL: write a directory"));
        }
        if !(100..=300_000).contains(&self.max_execution_ms) {
            return Err(Invalid::new("scripts.max_execution_ms", "must lie between 100 and 300000"));
        }
        if !(16..=4096).contains(&self.max_memory_mb) {
            return Err(Invalid::new("scripts.max_memory_mb", "must lie between 16 and 4096"));
        }
        self.allowlist.check()
    }

    /// What a person should know about it.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let unpinned = self.allowed().iter().filter(|(_, hash)| hash.is_none());
        unpinned
            .map(|(name, _)| {
                format!(
                    "the script `{name}` in `scripts.allowlist` is unpinned: whoever can write it decides what runs; \
                     `covenant scripts show {name}` has the hash to write"
                )
            })
            .collect()
    }
}

impl Allowlist {
    fn check(&self) -> Result<(), Invalid> {
        let invalid = |reason: String| Err(Invalid::new("scripts.allowlist", reason));
        if self.0.len() > MOST {
            return invalid(format!("holds more than {MOST} scripts"));
        }
        for (name, hash) in &self.0 {
            let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
                return invalid(format!("holds `{shown}`, which no script is called"));
            }
            let digits = hash.as_ref().map(|hash| hash.strip_prefix("sha256:").unwrap_or_default());
            let sound =
                |digits: &str| digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            if digits.is_some_and(|digits| !sound(digits)) {
                return invalid(format!(
                    "has for `{shown}` no hash: write \"sha256:\" and 64 hexadecimal digits, as `covenant scripts show` has it"
                ));
            }
        }
        Ok(())
    }
}

impl Serialize for Allowlist {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // TOML has no word for nothing.
        serializer.collect_map(self.0.iter().map(|(name, hash)| (name, hash.as_deref().unwrap_or_default())))
    }
}

impl<'de> Deserialize<'de> for Allowlist {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

/// A table of names and hashes, or a list of names.
struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Allowlist;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a table such as { weather = \"sha256:…\" }, or a list of names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Allowlist, A::Error> {
        let mut listed = BTreeMap::new();
        while let Some((name, hash)) = map.next_entry::<String, String>()? {
            listed.insert(bare(&name).to_owned(), Some(hash).filter(|hash| !hash.is_empty()));
        }
        Ok(Allowlist(listed))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Allowlist, A::Error> {
        let mut listed = BTreeMap::new();
        while let Some(name) = seq.next_element::<String>()? {
            if listed.insert(bare(&name).to_owned(), None).is_some() {
                return Err(A::Error::custom("a script is listed twice"));
            }
        }
        Ok(Allowlist(listed))
    }
}

/// A script's name, whichever way it is written.
fn bare(name: &str) -> &str {
    name.strip_suffix(".star").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(text: &str) -> Result<Scripts, String> {
        let scripts: Scripts = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        scripts.check().map_err(|invalid| format!("{invalid:?}"))?;
        Ok(scripts)
    }

    #[test]
    fn scripts_are_allowed_by_hash_or_by_name() {
        let hash = format!("sha256:{}", "0a".repeat(32));
        let pinned = scripts(&format!("allowlist = {{ weather = \"{hash}\" }}")).unwrap();
        assert_eq!(pinned.allowed()["weather"], Some(hash));
        assert_eq!(pinned.warnings(), Vec::<String>::new());
        let bare = scripts("allowlist = [\"weather.star\"]").unwrap();
        assert_eq!(bare.allowed()["weather"], None);
        assert!(bare.warnings()[0].contains("`weather`") && bare.warnings()[0].contains("unpinned"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "allowlist = { weather = \"sha256:12\" }",
            "allowlist = { weather = \"12\" }",
            "allowlist = { \"a/b\" = \"sha256:12\" }",
            "allowlist = \"weather\"",
            "allowlist = [\"a\", \"a.star\"]",
            "max_execution_ms = 1",
            "max_memory_mb = 1",
            "path = \"\"",
        ] {
            assert!(scripts(text).is_err(), "{text}");
        }
    }
}
