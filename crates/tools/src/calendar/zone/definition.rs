//! VTIMEZONE: a zone as a file defines it, by the moments from which an offset holds.

use std::ops::ControlFlow;

use super::super::civil::DAY;
use super::super::line::Line;
use super::super::moment::{Moment, Wall};
use super::super::rule::Rule;
use super::super::steps::{Exhausted, Steps};

/// The most observances of a definition, and the most onsets that follow from them.
const OBSERVANCES: usize = 1000;
const ONSETS: usize = 4000;

/// 1900-01-01: nobody asks for the offsets of earlier repetitions.
const EARLIEST: i64 = -25_567 * DAY;

/// A zone as it is written.
#[derive(Debug, Clone, Default)]
pub(in crate::calendar) struct Definition {
    observances: Vec<Observance>,
    /// The name of the zone in the database, where the writer says so.
    pub(in crate::calendar) place: Option<String>,
}

/// From when which offset holds, again and again.
#[derive(Debug, Clone)]
struct Observance {
    start: i64,
    from: i64,
    to: i64,
    rules: Vec<Rule>,
    dates: Vec<i64>,
}

impl Definition {
    /// Reads a `STANDARD` or `DAYLIGHT` of it; one that makes no sense is left out.
    pub(in crate::calendar) fn observe(&mut self, lines: &[Line]) {
        if self.observances.len() < OBSERVANCES {
            self.observances.extend(observance(lines));
        }
    }

    /// All its onsets until then, if it has any and they can be found.
    pub(in crate::calendar) fn onsets(&self, until: i64, steps: &mut Steps) -> Option<Onsets> {
        let mut all = Vec::new();
        for observance in &self.observances {
            steps.share(|steps| observance.onsets(until, steps, &mut all)).ok()?;
        }
        all.sort_unstable_by_key(|onset| onset.at);
        all.dedup_by_key(|onset| onset.at);
        (1..ONSETS).contains(&all.len()).then_some(Onsets(all))
    }
}

fn observance(lines: &[Line]) -> Option<Observance> {
    let find = |name: &str| lines.iter().find(|line| line.name == name);
    let (from, to) = (offset(&find("TZOFFSETFROM")?.value)?, offset(&find("TZOFFSETTO")?.value)?);
    let all = |name: &'static str| lines.iter().filter(move |line| line.name == name);
    let rules = all("RRULE").filter_map(|line| Rule::parse(&line.value).ok()).collect();
    let dates = all("RDATE").flat_map(|line| line.value.split(','));
    let dates = dates.filter_map(|date| Some(Moment::parse(date, None)?.local())).take(ONSETS).collect();
    Some(Observance { start: Moment::of(find("DTSTART")?)?.local(), from, to, rules, dates })
}

/// `+0100`, `-053000`.
fn offset(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    if !matches!(digits.len(), 4 | 6) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |at: usize| digits.get(at..at + 2).map_or(Some(0), |two| two.parse::<i64>().ok());
    let (hours, minutes, seconds) = (part(0)?, part(2)?, part(4)?);
    (hours < 24 && minutes < 60 && seconds < 60).then_some(sign * (hours * 3600 + minutes * 60 + seconds))
}

impl Observance {
    fn onsets(&self, until: i64, steps: &mut Steps, all: &mut Vec<Onset>) -> Result<(), Exhausted> {
        let onset = |local: i64| Onset { at: local - self.from, from: self.from, to: self.to };
        all.push(onset(self.start));
        all.extend(self.dates.iter().map(|local| onset(*local)));
        for rule in &self.rules {
            let last = match &rule.until {
                Some(Moment::Day(day)) => day * DAY + DAY - 1,
                Some(Moment::Time { local, wall: Wall::Utc }) => local + self.from,
                Some(Moment::Time { local, .. }) => *local,
                None => i64::MAX,
            };
            rule.unroll(self.start, EARLIEST..=last.min(until), steps, &mut |local| {
                all.push(onset(local));
                if all.len() > ONSETS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        Ok(())
    }
}

/// A moment from which another offset holds.
#[derive(Debug, Clone, Copy)]
struct Onset {
    at: i64,
    from: i64,
    to: i64,
}

/// All of a zone, in order; at least one.
#[derive(Debug)]
pub(in crate::calendar) struct Onsets(Vec<Onset>);

impl Onsets {
    /// When the wall shows that. In a gap and where a time comes twice, the offset before the onset holds.
    pub(super) fn instant(&self, local: i64) -> Option<i64> {
        let passed = self.0.partition_point(|onset| local >= onset.at + onset.from.max(onset.to));
        Some(local - self.offset(passed)?)
    }

    /// What the wall shows then.
    pub(super) fn local(&self, instant: i64) -> Option<i64> {
        let passed = self.0.partition_point(|onset| instant >= onset.at);
        Some(instant + self.offset(passed)?)
    }

    /// The offset that holds after so many of them.
    fn offset(&self, passed: usize) -> Option<i64> {
        match passed.checked_sub(1) {
            Some(last) => self.0.get(last).map(|onset| onset.to),
            None => self.0.first().map(|onset| onset.from),
        }
    }
}
