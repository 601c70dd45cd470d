//! The events of one UID: a series, and the instances of it that are other than the rest.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use super::civil::DAY;
use super::event::{Event, Instance};
use super::frame::{Frame, Frames};
use super::moment::{End, Extent, Moment};
use super::remarks::quoted;
use super::rule::Rule;
use super::{OF_EVENT, Occurrence};

/// The furthest that a change of all later instances may move them.
const FURTHEST: i64 = 366 * DAY;

/// How many steps a change costs.
const CHANGE: usize = 10;

/// The events of one UID.
#[derive(Debug)]
pub(super) struct Series<'a> {
    /// Usually one; some writers give one UID to several. By when they start.
    masters: BTreeMap<&'a Moment, &'a Event>,
    changes: Vec<(&'a Event, &'a Instance)>,
}

impl<'a> Series<'a> {
    /// A series of one event.
    pub(super) fn of(event: &'a Event) -> Self {
        let mut series = Self { masters: BTreeMap::new(), changes: Vec::new() };
        series.add(event);
        series
    }

    /// Adds an event. Of versions of the same, the latest counts.
    pub(super) fn add(&mut self, event: &'a Event) {
        match &event.instance {
            None => {
                let known = self.masters.entry(&event.start).or_insert(event);
                if known.sequence <= event.sequence {
                    *known = event;
                }
            }
            Some(instance) => self.changes.push((event, instance)),
        }
    }

    /// Lists what touches the window.
    pub(super) fn list(&self, frames: &mut Frames<'_>, found: &mut Vec<Occurrence>) {
        let changes = self.latest();
        for master in self.masters.values().filter(|master| !master.cancelled) {
            if let Some(mut unrolling) = Unrolling::new(master, &changes, frames) {
                unrolling.all(frames, found);
            }
        }
        let whole = self.masters.is_empty();
        for (event, _) in changes.iter().filter(|(event, instance)| {
            !event.cancelled && (whole || !instance.onward || moved(event, instance).is_none())
        }) {
            let frame = frames.of(&event.start);
            let extent = frames.extent(&frame, &event.start, &event.end);
            let when = extent.and_then(|extent| frame.place(event.start.local(), extent));
            found.extend(when.map(|when| Occurrence { told: event.told.clone(), when }));
        }
    }

    /// The changes without those that a later version replaced.
    fn latest(&self) -> Vec<(&'a Event, &'a Instance)> {
        let mut latest: BTreeMap<(&Moment, bool), (&'a Event, &'a Instance)> = BTreeMap::new();
        for change in &self.changes {
            let known = latest.entry((&change.1.original, change.1.onward)).or_insert(*change);
            if known.0.sequence <= change.0.sequence {
                *known = *change;
            }
        }
        latest.into_values().collect()
    }
}

/// By how much a change of all later instances moves them on the wall, roughly; nothing if that is too far.
fn moved(event: &Event, instance: &Instance) -> Option<i64> {
    let distance = event.start.local().saturating_sub(instance.original.local()).saturating_abs();
    (distance <= FURTHEST).then_some(distance.saturating_add(DAY))
}

fn too_long(event: &Event, frames: &mut Frames<'_>) {
    let title = quoted(&event.told.title);
    frames.remarks.add(format!(
        "The repetition of {title} takes too long to follow; some of its instances may be missing."
    ));
}

/// An event from which its instances follow.
struct Unrolling<'a> {
    event: &'a Event,
    frame: Frame,
    extent: Extent,
    /// The instances that are not there, or are other: by instant and by day.
    out: HashSet<i64>,
    out_days: HashSet<i64>,
    onward: Vec<Onward<'a>>,
    seen: HashSet<i64>,
}

/// A change of all later instances.
struct Onward<'a> {
    event: &'a Event,
    since: i64,
    frame: Frame,
    extent: Extent,
    shift: i64,
    reach: i64,
}

impl<'a> Unrolling<'a> {
    fn new(event: &'a Event, changes: &[(&'a Event, &'a Instance)], frames: &mut Frames<'_>) -> Option<Self> {
        let work = CHANGE * changes.len() + event.excluded.len() + event.added.len();
        if frames.steps.spend(u64::try_from(work).ok()?).is_err() {
            too_long(event, frames);
            return None;
        }
        let frame = frames.of(&event.start);
        let extent = frames.extent(&frame, &event.start, &event.end)?;
        let mut unrolling = Self {
            event,
            frame,
            extent,
            out: HashSet::new(),
            out_days: HashSet::new(),
            onward: Vec::new(),
            seen: HashSet::new(),
        };
        for moment in &event.excluded {
            unrolling.exclude(moment, frames);
        }
        for (change, instance) in changes {
            match moved(change, instance).filter(|_| instance.onward) {
                Some(reach) => unrolling.onward.extend(unrolling.change(change, instance, reach, frames)),
                None => unrolling.exclude(&instance.original, frames),
            }
        }
        unrolling.onward.sort_by_key(|onward| onward.since);
        Some(unrolling)
    }

    fn exclude(&mut self, moment: &Moment, frames: &mut Frames<'_>) {
        match moment {
            Moment::Day(day) if !self.frame.by_days => {
                self.out_days.insert(*day);
            }
            _ => self.out.extend(frames.instant(&self.frame, moment)),
        }
    }

    fn change(
        &self,
        event: &'a Event,
        instance: &Instance,
        reach: i64,
        frames: &mut Frames<'_>,
    ) -> Option<Onward<'a>> {
        let frame = frames.of(&event.start);
        let extent = frames.extent(&frame, &event.start, &event.end)?;
        let since = frames.instant(&self.frame, &instance.original)?;
        let before = frame.translate(&self.frame, self.frame.zone.local(since)?)?;
        let shift = event.start.local() - before;
        Some(Onward { event, since, reach: reach.saturating_add(extent.reach()), frame, extent, shift })
    }

    /// Takes every instance that touches the window.
    fn all(&mut self, frames: &mut Frames<'_>, found: &mut Vec<Occurrence>) {
        let before = found.len();
        if self.event.rules.is_empty() {
            let _ = self.take(self.event.start.local(), self.extent, found);
        }
        for rule in &self.event.rules {
            self.follow(rule, frames, found);
        }
        for (moment, end) in &self.event.added {
            if self.add(moment, end, frames, found).is_some_and(|flow| flow.is_break()) {
                break;
            }
        }
        if found.len() - before >= OF_EVENT {
            let title = quoted(&self.event.told.title);
            frames
                .remarks
                .add(format!("The event {title} has {OF_EVENT} instances or more; the rest is left out."));
        }
    }

    fn follow(&mut self, rule: &Rule, frames: &mut Frames<'_>, found: &mut Vec<Occurrence>) {
        let reach = self.onward.iter().map(|onward| onward.reach).max().unwrap_or(0);
        let Some(range) = self.frame.range(reach.max(self.extent.reach())) else { return };
        let shifted = range.end().saturating_add(reach);
        let Some((until, last)) = self.until(rule, frames) else { return };
        let range = *range.start()..=shifted.min(last);
        let start = self.event.start.local();
        let extent = self.extent;
        let followed = frames.steps.share(|steps| {
            rule.unroll(start, range, steps, &mut |local| {
                if self.frame.zone.instant(local).is_none_or(|instant| instant > until) {
                    return ControlFlow::Continue(());
                }
                self.take(local, extent, found)
            })
        });
        if followed.is_err() {
            too_long(self.event, frames);
        }
    }

    /// The last instant of a rule, and a time of the wall that is not before it.
    fn until(&self, rule: &Rule, frames: &mut Frames<'_>) -> Option<(i64, i64)> {
        let Some(until) = &rule.until else { return Some((i64::MAX, i64::MAX)) };
        let last = match until {
            // A day counts to its end.
            Moment::Day(day) => self.frame.zone.instant(day * DAY + DAY - 1)?,
            Moment::Time { .. } => frames.instant(&self.frame, until)?,
        };
        Some((last, self.frame.zone.local(last)?.saturating_add(DAY)))
    }

    /// Takes a date that is added to the rest: a day has the time of day of the start.
    fn add(
        &mut self,
        moment: &Moment,
        end: &End,
        frames: &mut Frames<'_>,
        found: &mut Vec<Occurrence>,
    ) -> Option<ControlFlow<()>> {
        let local = match moment {
            Moment::Day(day) if !self.frame.by_days => day * DAY + self.event.start.local().rem_euclid(DAY),
            _ => self.frame.zone.local(frames.instant(&self.frame, moment)?)?,
        };
        let extent = match end {
            End::Unsaid => self.extent,
            end => frames.extent(&self.frame, moment, end)?,
        };
        Some(self.take(local, extent, found))
    }

    /// Takes an instance, or what became of it, if it touches the window; until there are enough.
    fn take(&mut self, local: i64, extent: Extent, found: &mut Vec<Occurrence>) -> ControlFlow<()> {
        let go_on = ControlFlow::Continue(());
        let Some(instant) = self.frame.zone.instant(local) else { return go_on };
        if self.out.contains(&instant) || self.out_days.contains(&local.div_euclid(DAY)) {
            return go_on;
        }
        let changes = self.onward.partition_point(|onward| onward.since <= instant);
        let change = changes.checked_sub(1).and_then(|last| self.onward.get(last));
        let (told, when) = match change {
            None => (&self.event.told, self.frame.place(local, extent)),
            Some(change) if change.event.cancelled => return go_on,
            Some(change) => {
                let there = change.frame.translate(&self.frame, local).map(|there| there + change.shift);
                (&change.event.told, there.and_then(|there| change.frame.place(there, change.extent)))
            }
        };
        let Some(when) = when.filter(|_| self.seen.insert(instant)) else { return go_on };
        found.push(Occurrence { told: told.clone(), when });
        if self.seen.len() < OF_EVENT { go_on } else { ControlFlow::Break(()) }
    }
}
