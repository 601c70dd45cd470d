//! An event's own view of the window: on which wall it counts, and what lies within. To an event of whole days the wall is
//! the calendar itself, without any zone.

use super::civil::DAY;
use super::moment::{self, End, Extent, Moment, Wall};
use super::remarks::Remarks;
use super::steps::Steps;
use super::zone::{Zone, Zones};
use super::{When, Window, civil};
use jiff::Timestamp;

/// What is needed to look at events, and shared by all of a calendar.
pub(super) struct Frames<'a> {
    pub(super) zones: Zones<'a>,
    pub(super) window: &'a Window,
    pub(super) steps: Steps,
    pub(super) remarks: Remarks,
}

impl Frames<'_> {
    /// The view of an event that starts then.
    pub(super) fn of(&mut self, start: &Moment) -> Frame {
        match start {
            Moment::Day(_) => {
                let (first, after) = self.window.days;
                Frame { zone: Zone::Utc, by_days: true, from: first * DAY, to: after * DAY }
            }
            Moment::Time { wall, .. } => {
                let (from, to) = self.window.instants;
                Frame { zone: self.zone(wall), by_days: false, from, to }
            }
        }
    }

    fn zone(&mut self, wall: &Wall) -> Zone {
        self.zones.of(wall, &mut self.steps, &mut self.remarks)
    }

    /// The instant of a moment in an event's view. A time without a zone is on the event's wall; of a time, an event of
    /// whole days sees the day; of a day, an event with times sees its midnight.
    pub(super) fn instant(&mut self, frame: &Frame, moment: &Moment) -> Option<i64> {
        match moment {
            Moment::Time { local, .. } if frame.by_days => Some(local.div_euclid(DAY) * DAY),
            Moment::Time { local, wall: Wall::Floating } => frame.zone.instant(*local),
            Moment::Time { local, wall } => self.zone(wall).instant(*local),
            Moment::Day(day) => frame.zone.instant(day * DAY),
        }
    }

    /// How long an event lasts that starts and ends so.
    pub(super) fn extent(&mut self, frame: &Frame, start: &Moment, end: &End) -> Option<Extent> {
        let extent = match end {
            End::Unsaid => Extent::default(),
            End::After(extent) => *extent,
            End::At(end) => {
                let (start, end) = (self.instant(frame, start)?, self.instant(frame, end)?);
                Extent { days: 0, seconds: moment::between(start, end) }
            }
        };
        if frame.by_days {
            let days = extent.reach().div_euclid(DAY) + i64::from(extent.reach() % DAY != 0);
            return Some(Extent { days: days.max(1), seconds: 0 });
        }
        Some(extent)
    }
}

/// An event's view.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) zone: Zone,
    pub(super) by_days: bool,
    /// The window, in instants of this view.
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Frame {
    /// What an instance is that starts at this time of the wall and lasts so long; nothing if it does not touch the window.
    pub(super) fn place(&self, local: i64, extent: Extent) -> Option<When> {
        let start = self.zone.instant(local)?;
        let ends = local.checked_add(extent.days.checked_mul(DAY)?)?;
        let end = self.zone.instant(ends)?.checked_add(extent.seconds)?.max(start);
        let touches = start < self.to && (end > self.from || start >= self.from);
        if !touches {
            return None;
        }
        Some(if self.by_days {
            When::Days {
                first: civil::date(start.div_euclid(DAY))?,
                after: civil::date(end.div_euclid(DAY))?,
            }
        } else {
            When::Times { start: Timestamp::from_second(start).ok()?, end: Timestamp::from_second(end).ok()? }
        })
    }

    /// The times of the wall at which something may start that touches the window, if it reaches so far; with a day to
    /// spare for whatever the clocks do.
    pub(super) fn range(&self, reach: i64) -> Option<std::ops::RangeInclusive<i64>> {
        let from = self.zone.local(self.from)?.saturating_sub(reach).saturating_sub(DAY);
        let to = self.zone.local(self.to)?.saturating_add(DAY);
        Some(from..=to)
    }

    /// A time of another event's wall, on this one.
    pub(super) fn translate(&self, other: &Self, local: i64) -> Option<i64> {
        match (self.by_days, other.by_days) {
            (true, _) => Some(local.div_euclid(DAY) * DAY),
            (false, true) => Some(local),
            (false, false) => self.zone.local(other.zone.instant(local)?),
        }
    }
}
