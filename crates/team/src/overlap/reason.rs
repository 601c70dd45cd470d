//! Why two pieces of work are taken for the same, in words: what they share, and what speaks against it.

use super::Match;
use super::bits::Hash;
use super::search::Query;

/// A term that both have.
pub(super) struct Shared {
    pub(super) hash: Hash,
    pub(super) rarity: u64,
    pub(super) titled: bool,
}

/// How many words are named of titles and of texts, how many files, and the longest of each in characters.
const WORDS: usize = 4;
const FILES: usize = 3;
const LONGEST: usize = 40;
/// Words that say less than this, in parts of 256 bits, are not worth naming.
const WORTH: u64 = 3 * 256;

/// A sentence without its end. What both have is given in the query's own words.
pub(super) fn of<K>(found: &Match<K>, query: &Query, shared: &[Shared], other: Option<Hash>) -> String {
    let mut parts = Vec::new();
    let in_titles = named(query, shared, true);
    let in_texts = named(query, shared, false);
    if found.same_title {
        parts.push("same title".to_owned());
    } else if !in_titles.is_empty() {
        parts.push(format!("titles share {}", in_titles.join(", ")));
    }
    if !in_texts.is_empty() {
        parts.push(format!("texts share {}", in_texts.join(", ")));
    }
    if !found.file_overlap.is_empty() {
        parts.push(files(&found.file_overlap));
    }
    if parts.is_empty() {
        parts.push("only common words in common".to_owned());
    }
    let mut text = parts.join("; ");
    let against = against(found, query, other);
    if !against.is_empty() {
        text = format!("{text}; but {}", against.join(", "));
    }
    text
}

/// The words that say most, without those that are part of one already named.
fn named(query: &Query, shared: &[Shared], titled: bool) -> Vec<String> {
    let mut named: Vec<&str> = Vec::new();
    for shared in shared.iter().filter(|shared| shared.titled == titled && shared.rarity >= WORTH) {
        let Some(word) = query.words.get(&shared.hash) else { continue };
        if !named.iter().any(|known| known.contains(word.as_str())) {
            named.push(word);
        }
        if named.len() == WORDS {
            break;
        }
    }
    named.into_iter().map(|word| format!("`{}`", short(word))).collect()
}

fn files(paths: &[String]) -> String {
    let named: Vec<_> = paths.iter().take(FILES).map(|path| short(path)).collect();
    let more = match paths.len().saturating_sub(FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("same file{} {}{more}", if paths.len() == 1 { "" } else { "s" }, named.join(", "))
}

fn against<K>(found: &Match<K>, query: &Query, other: Option<Hash>) -> Vec<String> {
    let mut against = Vec::new();
    if found.identifiers_differ {
        let name = other.and_then(|hash| query.words.get(&hash));
        against.push(name.map_or_else(
            || "each names something else".to_owned(),
            |name| format!("it names something else than `{}`", short(name)),
        ));
    }
    let signals = [
        (found.action_divergent, "they do opposite things"),
        (found.component_divergent, "they touch other components"),
        (found.low_information, "that says little"),
    ];
    against.extend(signals.iter().filter(|(holds, _)| *holds).map(|(_, text)| (*text).to_owned()));
    against
}

/// A word or path, cut in the middle if it is long.
fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let head: String = text.chars().take(LONGEST / 2).collect();
    let tail: String = text.chars().skip(count - (LONGEST / 2 - 1)).collect();
    format!("{head}…{tail}")
}
