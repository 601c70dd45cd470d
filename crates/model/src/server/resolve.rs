//! Whether an entry makes sense, and the plan it becomes: every word and number checked, everything filled in.

mod reach;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::entry::Entry;
use super::expand::{Lookup, NotExpanded, Sight, expand};
use super::plan::{Plan, Prefix};

/// The longest time anything may be given.
const WEEK: u64 = 7 * 24 * 3600;

/// The most characters of a name.
const LONGEST_NAME: usize = 64;

/// The most patterns of a list, and the most bytes of one: each tool of the server is held against all of them.
const PATTERNS: (usize, usize) = (256, 256);

/// Why an entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {reason}", shown(key))]
pub struct BadEntry {
    /// The key, such as `args`, or `env.TOKEN` for what stands in a table.
    pub key: String,
    /// The end of a sentence that begins with the key. It quotes no value that may be secret.
    pub reason: String,
}

impl BadEntry {
    /// One about that key.
    pub fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), reason: reason.into() }
    }
}

impl Entry {
    /// Checks every key and fills in variables and secrets.
    pub fn resolve(&self, lookup: &dyn Lookup) -> Result<Plan, BadEntry> {
        check_name(&self.name)?;
        self.check_numbers()?;
        check_patterns("include", &self.include)?;
        check_patterns("exclude", &self.exclude)?;
        one_of("pin", &self.pin, &["quarantine", "warn", "off"])?;
        Ok(Plan {
            name: self.name.clone(),
            prefix: Prefix::of(&self.name, self.prefix.as_deref())?,
            reach: reach::of(self, lookup)?,
            era: self.era,
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            start: self.start,
            isolation: self.isolation,
            idle_stop: (self.idle_stop_secs > 0).then(|| Duration::from_secs(self.idle_stop_secs)),
            start_timeout: Duration::from_secs(self.start_timeout_secs),
            list_timeout: Duration::from_secs(self.list_timeout_secs),
            call_timeout: Duration::from_secs(self.call_timeout_secs),
            call_total: Duration::from_secs(self.call_total_secs),
            max_in_flight: usize::try_from(self.max_in_flight).unwrap_or(usize::MAX),
        })
    }

    fn check_numbers(&self) -> Result<(), BadEntry> {
        within("idle_stop_secs", self.idle_stop_secs, 0, 52 * WEEK)?;
        within("start_timeout_secs", self.start_timeout_secs, 1, WEEK)?;
        within("list_timeout_secs", self.list_timeout_secs, 1, WEEK)?;
        within("call_timeout_secs", self.call_timeout_secs, 1, WEEK)?;
        within("call_total_secs", self.call_total_secs, 1, WEEK)?;
        within("max_in_flight", u64::from(self.max_in_flight), 1, 1024)
    }
}

/// A key or a name as it may stand in a message: short, and without characters that steer a terminal.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

/// That text with everything filled in. Nothing that is handed to a server may hold NUL.
pub(super) fn filled_in(
    key: &str,
    text: &str,
    sight: Sight,
    lookup: &dyn Lookup,
) -> Result<String, BadEntry> {
    whole(key, expand(text, sight, lookup))
}

/// What a text became; nothing that is handed to a server may hold NUL.
pub(super) fn whole(key: &str, filled: Result<String, NotExpanded>) -> Result<String, BadEntry> {
    let filled = filled.map_err(|error| BadEntry::new(key, error.to_string()))?;
    if filled.contains('\0') {
        return Err(BadEntry::new(key, "holds a NUL character, which cannot be passed on"));
    }
    Ok(filled)
}

fn within(key: &str, value: u64, least: u64, most: u64) -> Result<(), BadEntry> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(BadEntry::new(key, format!("is {value}, and must lie between {least} and {most}")))
}

fn one_of(key: &str, word: &str, words: &[&str]) -> Result<(), BadEntry> {
    if words.contains(&word) {
        return Ok(());
    }
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    Err(BadEntry::new(key, format!("is \"{}\", and must be one of {}", shown(word), words.join(", "))))
}

/// Whether a server can be called that.
pub fn check_name(name: &str) -> Result<(), BadEntry> {
    let wrong = |reason: String| Err(BadEntry::new("name", reason));
    if name.is_empty() {
        return wrong("is missing: say what the server is called".to_owned());
    }
    if name.chars().count() > LONGEST_NAME {
        return wrong(format!("is longer than {LONGEST_NAME} characters: choose a shorter one"));
    }
    // `escape_debug` knows what can be printed; quotes and backslashes it escapes for another reason.
    let unquoted: String = name.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
    if unquoted.escape_debug().to_string() != unquoted {
        return wrong(format!("is `{}`, which holds characters that cannot be printed", shown(name)));
    }
    if name.trim() != name {
        return wrong(format!("is `{}`, with a space at its beginning or end: leave it out", shown(name)));
    }
    // Paths of URLs hold names.
    if name == "." || name == ".." {
        return wrong(format!("is `{name}`, which means a directory: choose another"));
    }
    Ok(())
}

fn check_patterns(key: &str, patterns: &[String]) -> Result<(), BadEntry> {
    let (most, longest) = PATTERNS;
    if patterns.len() > most {
        return Err(BadEntry::new(key, format!("holds more than {most} patterns")));
    }
    if let Some(long) = patterns.iter().find(|pattern| pattern.len() > longest) {
        let reason = format!("holds a pattern of {} bytes, where {longest} are allowed", long.len());
        return Err(BadEntry::new(key, reason));
    }
    if patterns.iter().any(String::is_empty) {
        return Err(BadEntry::new(key, "holds an empty pattern, which no tool matches: remove it"));
    }
    Ok(())
}
