//! Which agent an intent is for: the one that was named, the only one, or the one whose own words clearly fit best.

use std::collections::BTreeMap;
use std::fmt;

use covenant_model::manifest::Manifest;
use covenant_model::spelling::nearest;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// What a word of the intent is worth that is also a word of the name, of the description, of a capability.
const NAME: u32 = 6;
const DESCRIPTION: u32 = 3;
const CAPABILITY: u32 = 2;

/// By how much the best must lead, at least; and which part of its own score, at least.
const LEAD: u32 = 2;
const PART: u32 = 4;

/// How many words of an intent are looked at.
const READ: usize = 4096;

/// The most agents that are listed.
const LISTED: usize = 10;

/// Words that say nothing about what is wanted.
const STOP: [&str; 88] = [
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been",
    "before", "but", "by", "can", "could", "do", "does", "down", "for", "from", "get", "has", "have", "he",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "make", "me", "my", "need", "no",
    "not", "now", "of", "off", "on", "one", "or", "our", "out", "over", "please", "she", "should", "so",
    "some", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
    "too", "up", "us", "very", "want", "was", "we", "what", "when", "where", "which", "who", "why", "will",
    "with", "would", "you", "your",
];

/// Words of actions that say how, not what: every agent may have them.
const VERBS: [&str; 4] = ["call", "read", "write", "use"];

/// Why it is for nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRoute {
    /// There are no agents.
    #[error("there are no agents; make one with: covenant agents new NAME")]
    Nobody,
    /// Several could be meant, or none seems to be.
    #[error("it is not clear which agent this is for; name one with --agent: {0}")]
    Unclear(Candidates),
    /// None has that id or name.
    #[error("there is no agent `{wanted}`{0}; there are: {candidates}", meant.as_ref().map(|meant| format!(" (did you mean `{meant}`?)")).unwrap_or_default())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Unknown { wanted: String, meant: Option<String>, candidates: Candidates },
}

/// Agents to choose from, by their names and ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates(Vec<(String, String)>);

impl Candidates {
    fn of(agents: &[&Manifest]) -> Self {
        Self(agents.iter().map(|agent| (agent.name.clone(), agent.id.clone())).collect())
    }
}

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, id)) in self.0.iter().take(LISTED).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{} ({id})", name.escape_debug())?;
        }
        match self.0.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The agent with that id, else with that name.
pub fn named<'m>(wanted: &str, agents: &[&'m Manifest]) -> Result<&'m Manifest, NoRoute> {
    if agents.is_empty() {
        return Err(NoRoute::Nobody);
    }
    let by_id = agents.iter().find(|agent| agent.id == wanted);
    if let Some(agent) = by_id.or_else(|| agents.iter().find(|agent| agent.name == wanted)) {
        return Ok(agent);
    }
    let small = wanted.to_lowercase();
    let names = agents.iter().flat_map(|agent| [agent.id.as_str(), agent.name.as_str()]);
    let same = names.clone().find(|name| name.to_lowercase() == small);
    Err(NoRoute::Unknown {
        wanted: shown(wanted),
        meant: same.or_else(|| nearest(wanted, names)).map(|meant| meant.escape_debug().to_string()),
        candidates: Candidates::of(agents),
    })
}

/// The agent that text is for: the only one, else the one that fits it best, if it clearly leads.
pub fn route<'m>(text: &str, agents: &[&'m Manifest]) -> Result<&'m Manifest, NoRoute> {
    match agents {
        [] => return Err(NoRoute::Nobody),
        [only] => return Ok(only),
        _ => {}
    }
    let wanted: Vec<String> = {
        let mut words: Vec<String> = words(text).take(READ).filter(|word| !is_stop(word)).collect();
        words.sort();
        words.dedup();
        words
    };
    let mut scores: Vec<(u32, &'m Manifest)> =
        agents.iter().map(|agent| (score(&wanted, agent), *agent)).collect();
    // The sort is stable, so that among equals nothing depends on chance.
    scores.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    match scores.as_slice() {
        [(best, agent), (second, _), ..] if best - second >= LEAD.max(best.div_ceil(PART)) => Ok(agent),
        _ => {
            let best_first: Vec<&Manifest> = scores.into_iter().map(|(_, agent)| agent).collect();
            Err(NoRoute::Unclear(Candidates::of(&best_first)))
        }
    }
}

/// How well an agent fits those words. A word that stands in several places counts where it counts most.
fn score(wanted: &[String], agent: &Manifest) -> u32 {
    let mut worth: BTreeMap<String, u32> = BTreeMap::new();
    let actions = agent.required.iter().chain(&agent.optional);
    let segments = actions.filter_map(|action| action.as_str().split_once('.').map(|(_, rest)| rest));
    let capabilities = segments.flat_map(words).filter(|word| !VERBS.contains(&word.as_str()));
    // What counts most comes last, and stays.
    worth.extend(capabilities.map(|word| (word, CAPABILITY)));
    worth.extend(words(&agent.description).map(|word| (word, DESCRIPTION)));
    worth.extend(words(&agent.name).map(|word| (word, NAME)));
    let found = wanted.iter().filter_map(|word| worth.get(word));
    found.fold(0, |sum, worth| sum.saturating_add(*worth))
}

/// The words of a text as they are compared: in small letters, without accents, apart where anything else stands.
fn words(text: &str) -> impl Iterator<Item = String> {
    let apart = |c: char| !c.is_alphanumeric() && !is_combining_mark(c);
    text.split(apart).filter(|word| !word.is_empty()).map(fold)
}

fn fold(word: &str) -> String {
    word.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect()
}

fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// A name as it may stand in a sentence. One that is too long for any agent is not shown at all: of a secret that was
/// typed there by mistake, a part would not be known for one.
fn shown(wanted: &str) -> String {
    if wanted.len() > 256 { "…".to_owned() } else { wanted.escape_debug().to_string() }
}

#[cfg(test)]
mod tests;
