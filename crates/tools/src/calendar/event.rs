//! VEVENT: an event as it is written, or one instance of it that is other than the rest.

use std::sync::Arc;

use covenant_gate::Veil;

use super::line::Line;
use super::moment::{self, End, Moment, zone_of};
use super::remarks::{Remarks, quoted};
use super::rule::{Frequency, Rule};
use super::text::unescaped;

/// The most characters that are kept of a title or place, and of a description.
const SHORT: usize = 1000;
const LONG: usize = 4000;

/// The most rules of one event, and the most dates that it adds or leaves out.
const RULES: usize = 16;
const DATES: usize = 20_000;

/// What people read of an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// What its calendar knows it by.
    pub uid: String,
    /// What it is.
    pub title: String,
    /// Where it is.
    pub location: Option<String>,
    /// More about it.
    pub description: Option<String>,
}

/// An event.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) told: Arc<Told>,
    pub(super) start: Moment,
    pub(super) end: End,
    /// `STATUS:CANCELLED`.
    pub(super) cancelled: bool,
    /// Which version of it this is.
    pub(super) sequence: i64,
    pub(super) rules: Vec<Rule>,
    /// Further times, some with an end of their own.
    pub(super) added: Vec<(Moment, End)>,
    /// Times that are left out.
    pub(super) excluded: Vec<Moment>,
    /// Which instance of a series this is.
    pub(super) instance: Option<Instance>,
}

/// Which instance an event stands for.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    /// When it would have been.
    pub(super) original: Moment,
    /// Whether all later ones are as this one.
    pub(super) onward: bool,
}

impl Event {
    /// Reads one, if it has a start.
    pub(super) fn read(lines: &[Line], veil: &Veil, remarks: &mut Remarks) -> Option<Self> {
        let find = |name: &str| lines.iter().find(|line| line.name == name);
        let text = |name: &str, most| find(name).map(|line| unescaped(&line.value, most, veil));
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let told = Told {
            uid: text("UID", SHORT).unwrap_or_default(),
            title: filled(text("SUMMARY", SHORT)).unwrap_or_else(|| "(no title)".to_owned()),
            location: filled(text("LOCATION", SHORT)),
            description: filled(text("DESCRIPTION", LONG)),
        };
        let mut reading = Reading { lines, title: &told.title, remarks };
        let Some(start) = find("DTSTART").and_then(Moment::of) else {
            reading.remark("has no start that can be read and is left out");
            return None;
        };
        let instance = reading.instance().ok()?;
        let mut event = Self {
            end: reading.end(),
            cancelled: find("STATUS").is_some_and(|line| line.value.trim().eq_ignore_ascii_case("CANCELLED")),
            sequence: find("SEQUENCE").and_then(|line| line.value.trim().parse().ok()).unwrap_or(0),
            rules: Vec::new(),
            added: Vec::new(),
            excluded: Vec::new(),
            instance: None,
            start,
            told: Arc::default(),
        };
        if instance.is_none() {
            event.rules = reading.rules(&event.start);
            event.added = reading.added();
            event.excluded = reading.excluded();
        }
        event.instance = instance;
        event.told = Arc::new(told);
        Some(event)
    }
}

/// It is an instance, and nobody knows which.
struct Unclear;

/// An event while it is read.
struct Reading<'a> {
    lines: &'a [Line],
    title: &'a str,
    remarks: &'a mut Remarks,
}

impl Reading<'_> {
    fn remark(&mut self, what: &str) {
        self.remarks.add(format!("The event {} {what}.", quoted(self.title)));
    }

    fn all(&self, name: &'static str) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.name == name)
    }

    /// Which instance it is, if it is one.
    fn instance(&mut self) -> Result<Option<Instance>, Unclear> {
        let Some(line) = self.all("RECURRENCE-ID").next() else { return Ok(None) };
        let onward = line.says("RANGE", "THISANDFUTURE");
        let Some(original) = Moment::of(line) else {
            self.remark("changes a time that cannot be read and is left out");
            return Err(Unclear);
        };
        Ok(Some(Instance { original, onward }))
    }

    fn end(&mut self) -> End {
        let said = match (self.all("DTEND").next(), self.all("DURATION").next()) {
            (Some(line), _) => Moment::of(line).map(End::At),
            (None, Some(line)) => moment::duration(&line.value).map(End::After),
            (None, None) => return End::Unsaid,
        };
        said.unwrap_or_else(|| {
            self.remark("has an end that cannot be read");
            End::Unsaid
        })
    }

    fn rules(&mut self, start: &Moment) -> Vec<Rule> {
        let read: Vec<Result<Rule, String>> = self
            .all("RRULE")
            .take(RULES)
            .map(|line| Rule::parse(&line.value))
            .map(|rule| match (rule, start) {
                (Ok(rule), Moment::Day(_)) if rule.frequency < Frequency::Daily => {
                    Err("an event of whole days cannot repeat within a day".to_owned())
                }
                (Ok(rule), Moment::Day(_)) => Ok(rule.without_times()),
                (rule, _) => rule,
            })
            .collect();
        for wrong in read.iter().filter_map(|rule| rule.as_ref().err()) {
            self.remark(&format!("has a repetition that is left out: {wrong}"));
        }
        if self.all("EXRULE").next().is_some() {
            self.remark("has an EXRULE, which is no longer part of the standard and is left out");
        }
        read.into_iter().filter_map(Result::ok).collect()
    }

    fn added(&mut self) -> Vec<(Moment, End)> {
        self.dates("RDATE", |line, value| {
            let zone = zone_of(line);
            if line.says("VALUE", "PERIOD") || value.contains('/') {
                return moment::period(value, zone.as_ref());
            }
            Some((Moment::parse(value, zone.as_ref())?, End::Unsaid))
        })
    }

    fn excluded(&mut self) -> Vec<Moment> {
        self.dates("EXDATE", |line, value| Moment::parse(value, zone_of(line).as_ref()))
    }

    fn dates<T>(&mut self, name: &'static str, read: impl Fn(&Line, &str) -> Option<T>) -> Vec<T> {
        let values = self.all(name).flat_map(|line| {
            line.value.split(',').filter(|value| !value.trim().is_empty()).map(move |value| (line, value))
        });
        let all: Vec<Option<T>> = values.take(DATES + 1).map(|(line, value)| read(line, value)).collect();
        if all.len() > DATES {
            self.remark(&format!("has more than {DATES} of {name}; the rest is left out"));
        }
        if all.iter().any(Option::is_none) {
            self.remark(&format!("has an {name} that cannot be read"));
        }
        all.into_iter().flatten().take(DATES).collect()
    }
}
