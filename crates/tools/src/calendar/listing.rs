//! What happens, told day by day for people and as a list for programs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::civil::DAY;
use super::zone::Zone;
use super::{Occurrence, When, Window, civil, shortened};

/// The most events of an answer, and the most lines.
const EVENTS: usize = 400;
const LINES: usize = 2000;

/// The most characters of each text.
const TEXT: usize = 200;

/// The events of several calendars.
#[derive(Debug)]
pub struct Agenda<'a> {
    window: &'a Window,
    clocks: Zone,
    /// Each with the name of its calendar, in order.
    events: Vec<(&'a str, Occurrence)>,
    /// Whether the calendar must be said.
    several: bool,
    remarks: Vec<String>,
}

impl<'a> Agenda<'a> {
    /// The events of these calendars, and what to remark about them.
    pub fn new(
        window: &'a Window,
        calendars: Vec<(&'a str, Vec<Occurrence>)>,
        mut remarks: Vec<String>,
    ) -> Self {
        let clocks = Zone::System(window.zone.clone());
        let several = calendars.len() > 1;
        let mut events: Vec<_> = calendars
            .into_iter()
            .flat_map(|(name, all)| all.into_iter().map(move |occurrence| (name, occurrence)))
            .collect();
        events.sort_by_cached_key(|(_, occurrence)| occurrence.order(&clocks));
        if events.len() > EVENTS {
            let all = events.len();
            remarks.push(format!("There are {all} events, and {EVENTS} are shown: ask for fewer days."));
            events.truncate(EVENTS);
        }
        Self { window, clocks, events, several, remarks }
    }

    /// For people: each day with its events in order.
    pub fn text(&self) -> String {
        let (first, after) = self.window.days;
        let day = |day: i64| civil::date(day).map(|date| date.to_string()).unwrap_or_default();
        let zone = self.window.zone_name();
        let span = if after - first == 1 {
            format!("on {} ({zone})", day(first))
        } else {
            format!("from {} to {} ({zone})", day(first), day(after - 1))
        };
        let mut lines = Vec::new();
        if self.events.is_empty() {
            lines.push(format!("No events {span}"));
        } else {
            lines.push(format!("Events {span}:"));
            lines.extend(self.days());
        }
        if !self.remarks.is_empty() {
            lines.push(String::new());
        }
        lines.extend(self.remarks.iter().map(|remark| format!("Note: {remark}")));
        lines.join("\n")
    }

    fn days(&self) -> Vec<String> {
        let mut days: BTreeMap<i64, Vec<(i64, String)>> = BTreeMap::new();
        let mut count = 0;
        for (calendar, occurrence) in &self.events {
            for (day, begins, line) in self.lines(calendar, occurrence) {
                count += 1;
                if count <= LINES {
                    days.entry(day).or_default().push((begins, line));
                }
            }
        }
        let mut lines = Vec::new();
        for (day, mut events) in days {
            events.sort_by_key(|(begins, _)| *begins);
            lines.push(String::new());
            lines.extend(civil::date(day).map(|date| date.strftime("%A, %Y-%m-%d").to_string()));
            lines.extend(events.into_iter().map(|(_, line)| line));
        }
        if count > LINES {
            lines.extend([String::new(), format!("({} further lines are left out)", count - LINES)]);
        }
        lines
    }

    /// The lines of an event: for each day that it touches, which, when on it, and what.
    fn lines(&self, calendar: &str, occurrence: &Occurrence) -> Vec<(i64, i64, String)> {
        let told = &occurrence.told;
        let place = told.location.as_ref().map(|place| format!(" @ {}", shortened(place, TEXT)));
        let whose = if self.several { format!(" ({})", shortened(calendar, TEXT)) } else { String::new() };
        let what = format!("{}{}{whose}", shortened(&told.title, TEXT), place.unwrap_or_default());
        let within = |first: i64, after: i64| first.max(self.window.days.0)..after.min(self.window.days.1);
        match occurrence.when {
            When::Days { first, after } => {
                let (first, after) = (civil::day(first), civil::day(after));
                let all = after - first;
                let which = |day: i64| match all {
                    1 => String::new(),
                    all => format!(" (day {} of {all})", day - first + 1),
                };
                within(first, after).map(|day| (day, -1, format!("[All day] {what}{}", which(day)))).collect()
            }
            When::Times { start, end } => {
                let local =
                    |instant: jiff::Timestamp| self.clocks.local(instant.as_second()).unwrap_or_default();
                let (start, end) = (local(start), local(end));
                let last = (end - 1).max(start).div_euclid(DAY);
                within(start.div_euclid(DAY), last + 1)
                    .map(|day| {
                        let begins = (start - day * DAY).max(0);
                        let ends = (end - day * DAY).min(DAY);
                        (day, begins, format!("[{}-{}] {what}", clock(begins), clock(ends)))
                    })
                    .collect()
            }
        }
    }

    /// For programs: each event once.
    pub fn json(&self) -> Value {
        let events: Vec<Value> =
            self.events.iter().map(|(calendar, event)| self.event(calendar, event)).collect();
        json!({"events": events, "remarks": self.remarks})
    }

    fn event(&self, calendar: &str, occurrence: &Occurrence) -> Value {
        let told = &occurrence.told;
        let at = |instant: jiff::Timestamp| {
            instant.display_with_offset(self.window.zone.to_offset(instant)).to_string()
        };
        let (start, end, all_day) = match occurrence.when {
            When::Days { first, after } => (first.to_string(), after.to_string(), true),
            When::Times { start, end } => (at(start), at(end), false),
        };
        let mut event = json!({
            "calendar": calendar,
            "uid": shortened(&told.uid, TEXT),
            "title": shortened(&told.title, TEXT),
            "start": start,
            "end": end,
            "all_day": all_day,
            "location": told.location.as_ref().map(|place| shortened(place, TEXT)),
        });
        if let (Some(members), Some(text)) = (event.as_object_mut(), &told.description) {
            members.insert("description".to_owned(), shortened(text, TEXT).into());
        }
        event
    }
}

/// A time of day; midnight at the end of it is 24:00.
fn clock(seconds: i64) -> String {
    format!("{:02}:{:02}", seconds.div_euclid(3600), seconds.rem_euclid(3600) / 60)
}

#[cfg(test)]
mod tests;
