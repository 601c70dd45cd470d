//! Which work is the same work: a score from 0 to 1 for two pieces of work, a reason in words, and what speaks against it.
//!
//! A piece of work is turned into [`Features`] once; an [`Index`] keeps those of a team; a [`Query`] finds what is like it. The
//! score is absolute: it is the cosine of two weighted texts, where a word weighs the more the rarer it is among the team's
//! texts and, while there are few of them, in a table of the words of software work (`prior`). Whole numbers add up to it, so
//! it is the same on every machine, and does not depend on the order in which items came.
//!
//! Recall comes first: whatever reaches [`WARN_FLOOR`] is told. What speaks against a match (`parallel`, `opposed`) only
//! ever takes away that somebody has to decide about it ([`is_escalatable`]).

mod bits;
mod compare;
mod features;
mod index;
mod kin;
pub(crate) mod opposed;
mod parallel;
mod postings;
mod prior;
mod reason;
mod search;
mod stem;
mod token;

#[cfg(test)]
mod battery;
#[cfg(test)]
mod tests;

pub use features::Features;
pub use index::{Index, Standing};
pub use search::{Among, Query};

/// From here on a match is told. Measured: `docs/overlap.md`.
pub const WARN_FLOOR: f64 = 0.2;
/// From here on a match is strong enough that somebody has to decide about it. Measured: `docs/overlap.md`.
pub const ESCALATION: f64 = 0.6;
/// How many matches a check tells, the best first.
pub const TOLD: usize = 10;
/// What equal titles are worth if the texts beside them have nothing in common: still enough to escalate.
const TITLE_SHARE: f64 = 0.6;
/// From here on two titles are one, but for a small word, and worth what equal ones are: two agents who were given the same work
/// describe it each in their own way.
const ONE_TITLE: f64 = 0.96;
/// The fewest bits that the shared words must say.
const LEAST_EVIDENCE: u64 = 10;

/// A piece of work that is like the one that was looked for.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is told to the agent under its own name")]
pub struct Match<K> {
    /// Which one.
    pub id: K,
    /// How much alike they are, from 0 to 1, in thousandths.
    pub score: f64,
    /// Why, in words.
    pub reason: String,
    /// The target files of the query that it has too. They inform and count for nothing.
    pub file_overlap: Vec<String>,
    /// Whether the titles are the same title ([`crate::title::key`]).
    pub same_title: bool,
    /// Whether they do the opposite of each other.
    pub action_divergent: bool,
    /// Whether they declare different components.
    pub component_divergent: bool,
    /// Whether what they share says too little to tell which work is meant.
    pub low_information: bool,
    /// Whether they are one template about different versions, names or tickets.
    pub identifiers_differ: bool,
    /// Whether it is planned, active or blocked.
    pub open: bool,
}

impl<K> Match<K> {
    /// Whether it is told at all.
    pub fn is_warned(&self) -> bool {
        self.score >= WARN_FLOOR || self.same_title
    }
}

/// Whether somebody has to decide if it is the same work before the other starts: it is strong, still open, and nothing
/// speaks against it.
pub fn is_escalatable<K>(found: &Match<K>) -> bool {
    found.open && is_same_work(found)
}

/// Whether it is strong and nothing speaks against it, be it open or over.
pub fn is_same_work<K>(found: &Match<K>) -> bool {
    found.score >= ESCALATION
        && !found.action_divergent
        && !found.component_divergent
        && !found.low_information
        && !found.identifiers_differ
}
