//! `calendar_read`: what happens on the next days, by the calendars of the configuration.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Clock, Context, Permit, RawOutput, Tool, Veil};
use covenant_model::tool::{Content, ToolCallResult, ToolSpec};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Absent, Parts, named, whole};
use crate::calendar::{Agenda, Listing, Source, Window};
use crate::ports::Web;
use crate::settings::Outside;

const NAME: &str = "calendar_read";

/// How many days are read where nobody says, and how many at most.
const DAYS: u16 = 7;
const MOST_DAYS: u16 = 366;

/// How many calendars are read at a time, by all calls together: each may be large.
const AT_A_TIME: usize = 8;

struct CalendarRead {
    sources: Vec<Arc<Source>>,
    turns: Arc<Semaphore>,
    web: Arc<dyn Web>,
    clock: Arc<dyn Clock>,
}

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    let calendars = &parts.settings.calendars;
    if calendars.is_empty() {
        let reason =
            "no calendar is configured: write [[calendars]] with `name` and `url` or `path` in config.toml";
        return Err(Absent { name: NAME, reason: parts.settings.why_not(Outside::Calendars, reason) });
    }
    Ok(Arc::new(CalendarRead {
        sources: calendars.iter().map(Source::new).map(Arc::new).collect(),
        turns: Arc::new(Semaphore::new(AT_A_TIME)),
        web: Arc::clone(&parts.web),
        clock: Arc::clone(&parts.clock),
    }))
}

impl Tool for CalendarRead {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "calendar": {
                    "type": "string", "minLength": 1, "maxLength": 200,
                    "description": "The name of the calendar, in upper or lower case; all calendars if it is left out",
                },
                "days": {
                    "type": "integer", "minimum": 1, "maximum": MOST_DAYS, "default": DAYS,
                    "description": "How many days",
                },
                "from": {
                    "type": "string", "maxLength": 10, "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
                    "description": "The first day, as in 2026-01-31; today if it is left out",
                },
                "timezone": {
                    "type": "string", "minLength": 1, "maxLength": 64,
                    "description": "The time zone that times are told in, as in Europe/Berlin; the machine's if it is left out",
                },
            },
            "additionalProperties": false,
        });
        let annotations = json!({
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true
        });
        ToolSpec::new(named(NAME), "Reads the events of the configured calendars, day by day.", schema)
            .with("outputSchema", output())
            .with("annotations", annotations)
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            let read = self.read(Asked::of(&arguments), &context.veil()).await;
            RawOutput::from(read.unwrap_or_else(ToolCallResult::error))
        })
    }
}

fn output() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "type": "object",
        "properties": {
            "events": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "calendar": text("The name of the calendar"),
                    "uid": text("What the calendar knows it by; all instances of a series have the same"),
                    "title": text("What it is"),
                    "start": text("When it begins: a date if it is all day, otherwise a time with its offset"),
                    "end": text("When it ends: the day after the last if it is all day"),
                    "all_day": {"type": "boolean"},
                    "location": {"type": ["string", "null"], "description": "Where it is"},
                    "description": text("The beginning of what is written about it"),
                },
                "required": ["calendar", "uid", "title", "start", "end", "all_day", "location"],
            }},
            "remarks": {"type": "array", "items": text("What was left out or guessed")},
        },
        "required": ["events", "remarks"],
    })
}

impl CalendarRead {
    async fn read(&self, asked: Asked, veil: &Veil) -> Result<ToolCallResult, String> {
        let wanted = self.wanted(asked.calendar.as_deref())?;
        let now = self.clock.now().millis();
        // Zones are read from files.
        let window = tokio::task::spawn_blocking(move || asked.window(now)).await;
        let window =
            window.map_err(|_| "the time zones could not be read; try again".to_owned()).flatten()?;
        let mut remarks = Vec::new();
        let mut listed = Vec::new();
        for (source, read) in self.listings(&wanted, &window, veil).await {
            match read {
                Err(reason) => remarks.push(reason),
                Ok(listing) => {
                    let said = listing.remarks.sentences();
                    remarks.extend(said.into_iter().map(|said| format!("In `{}`: {said}", source.name())));
                    listed.push((source.name(), listing.occurrences));
                }
            }
        }
        if listed.is_empty() {
            return Err(remarks.join("; "));
        }
        let agenda = Agenda::new(&window, listed, remarks);
        Ok(ToolCallResult {
            content: vec![Content::Text { text: agenda.text() }, Content::Json { value: agenda.json() }],
            ..ToolCallResult::default()
        })
    }

    /// The calendars of that name, or all.
    fn wanted(&self, name: Option<&str>) -> Result<Vec<&Arc<Source>>, String> {
        let Some(name) = name else { return Ok(self.sources.iter().collect()) };
        let wanted = name.trim().to_lowercase();
        let found: Vec<_> =
            self.sources.iter().filter(|source| source.name().to_lowercase() == wanted).collect();
        if found.is_empty() {
            let names: Vec<_> = self.sources.iter().map(|source| format!("`{}`", source.name())).collect();
            return Err(format!("calendar not found: `{name}`; there are: {}", names.join(", ")));
        }
        Ok(found)
    }

    /// What each calendar says, all asked at once, in the order of the configuration.
    async fn listings<'s>(
        &self,
        wanted: &[&'s Arc<Source>],
        window: &Window,
        veil: &Veil,
    ) -> Vec<(&'s Source, Result<Listing, String>)> {
        let mut asked = JoinSet::new();
        for (place, source) in wanted.iter().enumerate() {
            let (source, window, veil) = (Arc::clone(source), window.clone(), veil.clone());
            let (web, clock) = (Arc::clone(&self.web), Arc::clone(&self.clock));
            let turns = Arc::clone(&self.turns);
            asked.spawn(async move {
                let _turn = turns.acquire().await;
                (place, source.within(window, veil, &*web, &*clock).await)
            });
        }
        let mut answers: Vec<_> = wanted.iter().map(|_| None).collect();
        while let Some(answered) = asked.join_next().await {
            if let Ok((place, answer)) = answered
                && let Some(slot) = answers.get_mut(place)
            {
                *slot = Some(answer);
            }
        }
        let broken =
            |source: &Source| Err(format!("the calendar `{}` could not be read; try again", source.name()));
        let each = wanted.iter().zip(answers);
        each.map(|(source, answer)| (&***source, answer.unwrap_or_else(|| broken(source)))).collect()
    }
}

/// What is asked for.
#[derive(Debug, Default)]
struct Asked {
    calendar: Option<String>,
    days: Option<u16>,
    from: Option<String>,
    zone: Option<String>,
}

impl Asked {
    fn of(arguments: &Arguments) -> Self {
        let text = |property| arguments.text(property).map(str::to_owned);
        let days = arguments.get("days").and_then(whole).and_then(|days| u16::try_from(days).ok());
        Self { calendar: text("calendar"), days, from: text("from"), zone: text("timezone") }
    }

    /// The days that are asked for, at that moment.
    fn window(&self, now: u64) -> Result<Window, String> {
        let zone = match &self.zone {
            None => TimeZone::system(),
            Some(name) => TimeZone::get(name.trim()).map_err(|_| {
                format!(
                    "there is no time zone `{name}`; write one as in Europe/Berlin, America/New_York or UTC"
                )
            })?,
        };
        let from = if let Some(text) = &self.from {
            let parsed = text.parse::<Date>();
            parsed.map_err(|_| format!("there is no day `{text}`; write `from` as in 2026-01-31"))?
        } else {
            let now = i64::try_from(now).ok().and_then(|now| Timestamp::from_millisecond(now).ok());
            zone.to_datetime(now.unwrap_or_default()).date()
        };
        let days = self.days.unwrap_or(DAYS).clamp(1, MOST_DAYS);
        Window::new(from, days, zone)
            .ok_or_else(|| format!("the day {from} is too far away; ask for a nearer one"))
    }
}

#[cfg(test)]
mod tests;
