//! What a team would have been told: each text checked against those before it, with the product's own thresholds.

use covenant_team::overlap::{Among, Features, Index, Match, Query, Standing, TOLD, is_escalatable};

use crate::data::{Doc, Set};

/// How many texts before it a text is checked against.
pub(crate) const WINDOW: usize = 400;

/// What came of some checks.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Part {
    /// Texts with a true duplicate in the window, and for how many of them it was told or escalated.
    pub(crate) duplicates: usize,
    pub(crate) warned: usize,
    pub(crate) escalated: usize,
    /// Texts with none, and how many of them were told something, or had to decide.
    pub(crate) others: usize,
    pub(crate) others_warned: usize,
    pub(crate) others_escalated: usize,
}

/// What came of all checks.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    earlier: Part,
    later: Part,
    /// Linked pairs of which the earlier text was not told of, with what the score was and why: each of them, also where
    /// another duplicate of the same text was told.
    pub(crate) missed: Vec<String>,
    /// Other checks that escalated.
    pub(crate) annoyed: Vec<String>,
}

impl Replay {
    /// The figures of all, of the earlier half by date, and of the later.
    pub(crate) fn parts(&self) -> [(&'static str, Part); 3] {
        let (a, b) = (self.earlier, self.later);
        let all = Part {
            duplicates: a.duplicates + b.duplicates,
            warned: a.warned + b.warned,
            escalated: a.escalated + b.escalated,
            others: a.others + b.others,
            others_warned: a.others_warned + b.others_warned,
            others_escalated: a.others_escalated + b.others_escalated,
        };
        [("all", all), ("earlier", a), ("later", b)]
    }
}

/// Replays a set. A check whose title was there before is neither a duplicate nor another text, unless it is linked.
pub(crate) fn of(set: &Set) -> Replay {
    let mut replay = Replay::default();
    let mut index = Index::default();
    for (at, doc) in set.docs.iter().enumerate() {
        let start = at.saturating_sub(WINDOW);
        let window = set.docs.get(start..at).unwrap_or_default();
        let query = Query::of(&doc.brief);
        let found = index.search(&query, &Among::all(), TOLD);
        let partners: Vec<usize> =
            doc.duplicates.iter().copied().filter(|other| (start..at).contains(other)).collect();
        let mut part = if at < set.docs.len() / 2 { replay.earlier } else { replay.later };
        if !partners.is_empty() {
            let true_ones = || found.iter().filter(|found| partners.contains(&found.id));
            part.duplicates += 1;
            part.warned += usize::from(true_ones().next().is_some());
            part.escalated += usize::from(true_ones().any(is_escalatable));
            let untold: Vec<usize> = partners
                .iter()
                .copied()
                .filter(|other| true_ones().all(|found| found.id != *other))
                .collect();
            if !untold.is_empty() {
                let all = index.ranked(&query, &Among::all(), WINDOW);
                replay.missed.extend(untold.iter().map(|other| {
                    missed(doc, set.docs.get(*other), all.iter().find(|found| found.id == *other))
                }));
            }
        } else if window.iter().all(|before| before.title_key != doc.title_key) {
            part.others += 1;
            part.others_warned += usize::from(!found.is_empty());
            let first = found.iter().find(|found| is_escalatable(found));
            part.others_escalated += usize::from(first.is_some());
            if let Some(first) = first {
                let other = set.docs.get(first.id).map_or("", |other| other.brief.title.as_str());
                replay
                    .annoyed
                    .push(format!("{:.3} {} / {other}: {}", first.score, doc.brief.title, first.reason));
            }
        }
        *(if at < set.docs.len() / 2 { &mut replay.earlier } else { &mut replay.later }) = part;
        index.put(at, &Features::of(&doc.brief), Standing::Open);
        if at >= WINDOW {
            index.remove(&(at - WINDOW));
        }
    }
    replay
}

fn missed(doc: &Doc, other: Option<&Doc>, found: Option<&Match<usize>>) -> String {
    let other = other.map_or("", |other| other.brief.title.as_str());
    match found {
        Some(found) => format!("{:.3} {} / {other}: {}", found.score, doc.brief.title, found.reason),
        None => format!("0     {} / {other}: nothing in common", doc.brief.title),
    }
}

/// That share in percent.
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    let real = |count: usize| u32::try_from(count).map_or(f64::MAX, f64::from);
    if whole == 0 { 0.0 } else { 100.0 * real(part) / real(whole) }
}
