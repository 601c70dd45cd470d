//! Which zone a name means, and what its walls show: the system's zones first, then what the file itself defines, then the
//! names that Windows uses, then the file's own zone, and at last UTC; the last two with a remark.

mod definition;
mod windows;

use std::collections::HashMap;
use std::sync::Arc;

use covenant_gate::Veil;
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(super) use self::definition::{Definition, Onsets};
use super::civil;
use super::moment::Wall;
use super::remarks::{Remarks, quoted};
use super::steps::Steps;

/// The most bytes of a name that is looked up.
const NAME: usize = 255;

/// The most segments of a name in the database, as in `America/Argentina/Salta`.
const SEGMENTS: usize = 3;

/// The most zones of a file: more than the world has. To find out that one is not known takes a while.
const ZONES: usize = 500;

/// A zone: what its walls show at an instant, and when they show something.
#[derive(Debug, Clone)]
pub(super) enum Zone {
    Utc,
    /// One of the system.
    System(TimeZone),
    /// One that the file defines.
    Own(Arc<Onsets>),
}

impl Zone {
    /// When the wall shows that. A time that is skipped is told with the offset before the gap, one that comes twice is the
    /// first (RFC 5545, 3.3.5).
    pub(super) fn instant(&self, local: i64) -> Option<i64> {
        match self {
            Self::Utc => Some(local),
            Self::System(zone) => {
                let time = zone.to_ambiguous_timestamp(civil::datetime(local)?);
                Some(time.compatible().ok()?.as_second())
            }
            Self::Own(onsets) => onsets.instant(local),
        }
    }

    /// What the wall shows at an instant.
    pub(super) fn local(&self, instant: i64) -> Option<i64> {
        match self {
            Self::Utc => Some(instant),
            Self::System(zone) => Some(civil::local(zone.to_datetime(Timestamp::from_second(instant).ok()?))),
            Self::Own(onsets) => onsets.local(instant),
        }
    }
}

/// The zones that a file speaks of, found once each.
pub(super) struct Zones<'a> {
    definitions: &'a HashMap<String, Definition>,
    /// `X-WR-TIMEZONE`.
    usual: Option<&'a str>,
    /// Whose walls floating times are on.
    viewer: TimeZone,
    /// Until when definitions are followed.
    until: i64,
    /// What must not be shown of their names.
    veil: &'a Veil,
    found: HashMap<Arc<str>, Zone>,
}

impl<'a> Zones<'a> {
    pub(super) fn new(
        definitions: &'a HashMap<String, Definition>,
        usual: Option<&'a str>,
        viewer: TimeZone,
        until: i64,
        veil: &'a Veil,
    ) -> Self {
        Self { definitions, usual, viewer, until, veil, found: HashMap::new() }
    }

    /// The zone of a wall.
    pub(super) fn of(&mut self, wall: &Wall, steps: &mut Steps, remarks: &mut Remarks) -> Zone {
        match wall {
            Wall::Utc => Zone::Utc,
            Wall::Floating => Zone::System(self.viewer.clone()),
            Wall::Zone(name) => {
                if let Some(zone) = self.found.get(name) {
                    return zone.clone();
                }
                if self.found.len() >= ZONES {
                    remarks.add(format!("There are more than {ZONES} time zones; others are read as UTC."));
                    return Zone::Utc;
                }
                let zone = self.find(name, steps, remarks);
                self.found.insert(Arc::clone(name), zone.clone());
                zone
            }
        }
    }

    fn find(&self, name: &str, steps: &mut Steps, remarks: &mut Remarks) -> Zone {
        if let Some(zone) = system(name) {
            return Zone::System(zone);
        }
        let definition = self.definitions.get(name);
        if let Some(onsets) = definition.and_then(|defined| defined.onsets(self.until, steps)) {
            return Zone::Own(Arc::new(onsets));
        }
        let place = definition.and_then(|defined| defined.place.as_deref());
        if let Some(zone) = place.and_then(system).or_else(|| system(windows::place(name)?)) {
            return Zone::System(zone);
        }
        if let Some((usual, zone)) = self.usual.and_then(|usual| Some((usual, system(usual)?))) {
            let (name, usual) = (self.quoted(name), self.quoted(usual));
            remarks.add(format!("The time zone {name} is not known; its times are read as {usual}."));
            return Zone::System(zone);
        }
        remarks.add(format!("The time zone {} is not known; its times are read as UTC.", self.quoted(name)));
        Zone::Utc
    }

    /// A name as a remark names it.
    fn quoted(&self, name: &str) -> String {
        quoted(&self.veil.without_secrets(name))
    }
}

/// A zone of the system's database. Some writers put a path before the name.
pub(super) fn system(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    if name.is_empty() || name.len() > NAME {
        return None;
    }
    let known = |name: &str| TimeZone::get(name).ok().filter(|zone| !zone.is_unknown());
    known(name).or_else(|| {
        let starts: Vec<usize> = name.rmatch_indices('/').map(|(at, _)| at + 1).take(SEGMENTS).collect();
        starts.into_iter().rev().filter_map(|at| name.get(at..)).find_map(known)
    })
}

#[cfg(test)]
mod tests;
