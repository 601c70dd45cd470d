//! A file, line by line: which component each property belongs to. Components are made into what they mean as soon as they
//! end, so that a large file is never held twice; what is open when another begins ends there.

use std::collections::HashMap;

use covenant_gate::Veil;

use super::event::Event;
use super::line::{Line, joined};
use super::remarks::Remarks;
use super::zone::Definition;

/// The most components of a file.
const COMPONENTS: usize = 100_000;

/// The most properties of a component, of those that are kept.
const PROPERTIES: usize = 2000;

/// The properties that mean something here; all others are dropped unread.
const KEPT: [&str; 19] = [
    "UID",
    "DTSTART",
    "DTEND",
    "DURATION",
    "SUMMARY",
    "LOCATION",
    "DESCRIPTION",
    "STATUS",
    "SEQUENCE",
    "RRULE",
    "RDATE",
    "EXDATE",
    "EXRULE",
    "RECURRENCE-ID",
    "TZID",
    "TZOFFSETFROM",
    "TZOFFSETTO",
    "X-LIC-LOCATION",
    "X-WR-TIMEZONE",
];

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) events: Vec<Event>,
    pub(super) zones: HashMap<String, Definition>,
    /// `X-WR-TIMEZONE`.
    pub(super) usual_zone: Option<String>,
    pub(super) remarks: Remarks,
    /// What must not be shown of it.
    pub(super) veil: Veil,
}

/// Reads a file; nothing if no calendar begins in it.
pub(super) fn read(bytes: &[u8], veil: &Veil) -> Option<Contents> {
    let mut reader = Reader::default();
    reader.contents.veil = veil.clone();
    for line in joined(bytes) {
        let number = line.number;
        match line.bytes.as_deref() {
            None => reader.odd(|| format!("Line {number} is too long and is left out.")),
            Some(bytes) => reader.line(bytes, number),
        }
        if reader.components > COMPONENTS {
            reader.odd(|| format!("The file has more than {COMPONENTS} parts; the rest is left out."));
            break;
        }
    }
    if reader.calendar {
        reader.odd(|| "The file ends before its calendar does.".to_owned());
    }
    reader.close();
    reader.seen.then_some(reader.contents)
}

#[derive(Default)]
struct Reader {
    contents: Contents,
    components: usize,
    /// Whether a calendar began, and whether one is open.
    seen: bool,
    calendar: bool,
    /// How deep within components that mean nothing here.
    foreign: usize,
    event: Option<Vec<Line>>,
    zone: Option<(String, Definition)>,
    observance: Option<Vec<Line>>,
}

impl Reader {
    /// Remarks, once a calendar began.
    fn odd(&mut self, sentence: impl FnOnce() -> String) {
        if self.seen {
            self.contents.remarks.add(sentence());
        }
    }

    fn line(&mut self, bytes: &[u8], number: usize) {
        let name = bytes.split(|byte| matches!(byte, b':' | b';')).next().unwrap_or_default();
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let frame = is("BEGIN") || is("END");
        if !frame && (!self.calendar || self.foreign > 0) {
            return;
        }
        if !frame && !KEPT.iter().any(|known| is(known)) {
            if name.len() == bytes.len() {
                self.odd(|| format!("Line {number} is no property and is left out."));
            }
            return;
        }
        let Some(line) = Line::parse(bytes) else {
            self.odd(|| format!("Line {number} is no property and is left out."));
            return;
        };
        match line.name.as_str() {
            "BEGIN" => self.begin(&line.value.trim().to_ascii_uppercase()),
            "END" => self.end(&line.value.trim().to_ascii_uppercase()),
            _ => self.property(line),
        }
    }

    fn begin(&mut self, name: &str) {
        self.components += 1;
        match name {
            "VCALENDAR" => {
                self.close();
                (self.seen, self.calendar) = (true, true);
            }
            "VEVENT" | "VTIMEZONE" if self.calendar => {
                self.close();
                self.calendar = true;
                if name == "VEVENT" {
                    self.event = Some(Vec::new());
                } else {
                    self.zone = Some((String::new(), Definition::default()));
                }
            }
            "STANDARD" | "DAYLIGHT" if self.zone.is_some() => {
                self.close_observance();
                self.foreign = 0;
                self.observance = Some(Vec::new());
            }
            _ => self.foreign += 1,
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "VCALENDAR" => self.close(),
            "VEVENT" if self.event.is_some() => self.close_event(),
            "VTIMEZONE" if self.zone.is_some() => self.close_zone(),
            "STANDARD" | "DAYLIGHT" if self.observance.is_some() => self.close_observance(),
            _ => {
                self.foreign = self.foreign.saturating_sub(1);
                return;
            }
        }
        self.foreign = 0;
    }

    fn property(&mut self, line: Line) {
        if let Some(lines) = self.observance.as_mut().or(self.event.as_mut()) {
            if lines.len() < PROPERTIES {
                lines.push(line);
            } else {
                self.odd(|| format!("An event has more than {PROPERTIES} properties; the rest is left out."));
            }
        } else if let Some((name, definition)) = &mut self.zone {
            match line.name.as_str() {
                "TZID" => line.value.trim().clone_into(name),
                "X-LIC-LOCATION" => definition.place = Some(line.value),
                _ => {}
            }
        } else if line.name == "X-WR-TIMEZONE" {
            self.contents.usual_zone.get_or_insert(line.value);
        }
    }

    /// Ends whatever is open.
    fn close(&mut self) {
        self.close_event();
        self.close_zone();
        self.calendar = false;
        self.foreign = 0;
    }

    fn close_event(&mut self) {
        if let Some(lines) = self.event.take() {
            let Contents { events, remarks, veil, .. } = &mut self.contents;
            events.extend(Event::read(&lines, veil, remarks));
        }
    }

    fn close_zone(&mut self) {
        self.close_observance();
        if let Some((name, definition)) = self.zone.take() {
            self.contents.zones.entry(name).or_insert(definition);
        }
    }

    fn close_observance(&mut self) {
        if let (Some(lines), Some((_, definition))) = (self.observance.take(), &mut self.zone) {
            definition.observe(&lines);
        }
    }
}
