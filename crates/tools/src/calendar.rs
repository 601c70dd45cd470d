//! Calendars as files have them (iCalendar, RFC 5545): read once, then asked what happens on which days.
//!
//! Whoever wrote the file is not trusted. What cannot be read is left out with a remark, all work is bounded, and only a
//! file in which no calendar begins is an error. Where the standard leaves room:
//!
//! - DTSTART is always the first instance, also where its rule would not give it, unless UNTIL lies before it.
//! - A time that the clocks skip is shown with the offset from before the gap, one that comes twice is its first, also for
//!   the instances of a rule; and rules repeat on the wall, not on the sun: hourly means every hour that the wall shows.
//! - An instance that is changed with `RANGE=THISANDFUTURE` gives its title, place and length to all later ones, and moves
//!   each by as much as it was moved itself, up to a year. Rules of its own are not followed.
//! - Floating times are on the wall of whoever looks. In EXDATE, RDATE, RECURRENCE-ID and UNTIL, a time without a zone
//!   is on the wall of DTSTART.

mod civil;
mod event;
mod frame;
mod line;
mod listing;
mod moment;
mod read;
mod remarks;
mod rule;
mod series;
mod source;
mod steps;
mod text;
mod zone;

use std::collections::HashMap;

use covenant_gate::Veil;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use self::civil::DAY;
pub use self::event::Told;
use self::frame::Frames;
pub use self::listing::Agenda;
use self::read::Contents;
pub use self::remarks::Remarks;
use self::series::Series;
pub use self::source::Source;
use self::steps::Steps;
pub use self::text::shortened;
use self::zone::{Zone, Zones};

/// The most bytes of a calendar.
pub const MOST_BYTES: usize = 10 << 20;

/// The most instances of one event, and of one calendar, that are listed.
const OF_EVENT: usize = 1000;
const OF_CALENDAR: usize = 20_000;

/// A calendar.
#[derive(Debug)]
pub struct Calendar(Contents);

/// A file in which no calendar begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no calendar: it has no line `BEGIN:VCALENDAR`")]
pub struct NotACalendar;

/// The days that are looked at, and by whose clocks.
#[derive(Debug, Clone)]
pub struct Window {
    zone: TimeZone,
    /// The first day, and the one after the last.
    days: (i64, i64),
    /// The same as instants.
    instants: (i64, i64),
}

/// One instance of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// What people read of it.
    pub told: std::sync::Arc<Told>,
    /// When it is.
    pub when: When,
}

/// When an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// All day.
    Days {
        /// The first.
        first: Date,
        /// The one after the last.
        after: Date,
    },
    /// From one instant to another, or at one.
    Times {
        /// When it begins.
        start: Timestamp,
        /// When it ends.
        end: Timestamp,
    },
}

/// What happens, in order, and what to know about it.
#[derive(Debug, Default)]
pub struct Listing {
    /// The instances, by when they begin on the viewer's wall, all-day ones first.
    pub occurrences: Vec<Occurrence>,
    /// What was left out or guessed.
    pub remarks: Remarks,
}

impl Window {
    /// So many days from a date on, if there are so many.
    pub fn new(from: Date, days: u16, zone: TimeZone) -> Option<Self> {
        let days = (civil::day(from), civil::day(from) + i64::from(days));
        // A margin, so that a day before and after exists in every zone.
        civil::date(days.0 - 3).and(civil::date(days.1 + 3))?;
        let clocks = Zone::System(zone.clone());
        let instants = (clocks.instant(days.0 * DAY)?, clocks.instant(days.1 * DAY)?);
        Some(Self { zone, days, instants })
    }

    /// By whose clocks.
    pub fn zone_name(&self) -> &str {
        match self.zone.iana_name() {
            Some(name) => name,
            None if self.zone.is_unknown() => "UTC",
            None => "local time",
        }
    }
}

impl Calendar {
    /// Reads one, without the secrets in it.
    pub fn read(bytes: &[u8], veil: &Veil) -> Result<Self, NotACalendar> {
        read::read(bytes, veil).map(Self).ok_or(NotACalendar)
    }

    /// What happens on those days.
    pub fn within(&self, window: &Window) -> Listing {
        let Contents { events, zones, usual_zone, remarks, veil } = &self.0;
        let until = window.instants.1 + 400 * DAY;
        let mut frames = Frames {
            zones: Zones::new(zones, usual_zone.as_deref(), window.zone.clone(), until, veil),
            window,
            steps: Steps::of_calendar(),
            remarks: remarks.clone(),
        };
        let clocks = Zone::System(window.zone.clone());
        let mut found = Vec::new();
        let mut dropped = false;
        for series in in_series(events) {
            series.list(&mut frames, &mut found);
            if found.len() > 2 * OF_CALENDAR {
                dropped |= cut(&mut found, &clocks);
            }
        }
        dropped |= cut(&mut found, &clocks);
        if dropped {
            frames
                .remarks
                .add(format!("There are more than {OF_CALENDAR} instances; later ones are left out."));
        }
        Listing { occurrences: found, remarks: frames.remarks }
    }
}

/// Puts them in order and leaves out what is too much.
fn cut(found: &mut Vec<Occurrence>, clocks: &Zone) -> bool {
    found.sort_by_cached_key(|occurrence| occurrence.order(clocks));
    let more = found.len() > OF_CALENDAR;
    found.truncate(OF_CALENDAR);
    more
}

impl Occurrence {
    /// What it is sorted by: where it begins on the viewer's wall, days before times.
    fn order(&self, clocks: &Zone) -> (i64, bool, i64) {
        match self.when {
            When::Days { first, after } => (civil::day(first) * DAY, false, civil::day(after)),
            When::Times { start, end } => {
                (clocks.local(start.as_second()).unwrap_or_default(), true, end.as_second())
            }
        }
    }
}

/// The events of each UID together, in the order of the file. Those without one are alone.
fn in_series(events: &[event::Event]) -> Vec<Series<'_>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut all: Vec<Series<'_>> = Vec::new();
    for event in events {
        let uid = event.told.uid.as_str();
        let place = if uid.is_empty() { all.len() } else { *places.entry(uid).or_insert(all.len()) };
        match all.get_mut(place) {
            Some(series) => series.add(event),
            None => all.push(Series::of(event)),
        }
    }
    all
}

#[cfg(test)]
mod tests;
