//! What the tool answers to whom asks well or badly, from files.

use std::path::Path;

use covenant_gate::clock::HandClock;
use covenant_model::time::Timestamp as Moment;

use super::*;
use crate::ports::{Later, Request, Response};
use crate::settings::{Calendar, CalendarSource};

struct Nowhere;

impl Web for Nowhere {
    fn send(&self, request: Request) -> Later<'_, Result<Response, String>> {
        Box::pin(
            async move { Err(format!("{} cannot be reached", request.url.host_str().unwrap_or_default())) },
        )
    }
}

/// A tool with the calendars `Team` and `Own`, which are files, and `Far`, which cannot be reached. It is a Monday, just
/// before midnight in UTC.
fn tool(directory: &Path) -> CalendarRead {
    let write = |name: &str, lines: &str| {
        let path = directory.join(name);
        std::fs::write(&path, format!("BEGIN:VCALENDAR\n{lines}END:VCALENDAR\n")).unwrap();
        CalendarSource::File(path)
    };
    let event =
        |title: &str, start: &str| format!("BEGIN:VEVENT\nSUMMARY:{title}\nDTSTART:{start}\nEND:VEVENT\n");
    let team = format!("{}{}", event("Standup", "20260303T090000Z"), event("Broken", "never"));
    let places = [
        ("Team", write("team.ics", &team)),
        ("Own", write("own.ics", &event("Dentist", "20260302T100000Z"))),
        ("Far", CalendarSource::Address("https://cal.example/hunter2.ics".parse().unwrap())),
    ];
    let calendars = places.map(|(name, source)| Calendar { name: name.to_owned(), source });
    CalendarRead {
        sources: calendars.iter().map(Source::new).map(Arc::new).collect(),
        turns: Arc::new(Semaphore::new(1)),
        web: Arc::new(Nowhere),
        clock: Arc::new(HandClock::at(Moment::from_millis(1_772_495_940_000))),
    }
}

fn asked(calendar: &str, from: &str, zone: &str) -> Asked {
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Asked { calendar: said(calendar), days: Some(2), from: said(from), zone: said(zone) }
}

async fn answer(asked: Asked) -> (String, Value) {
    let directory = tempfile::tempdir().unwrap();
    let result =
        tool(directory.path()).read(asked, &Veil::default()).await.unwrap_or_else(ToolCallResult::error);
    let result = serde_json::to_value(result).unwrap();
    (result["content"][0]["text"].as_str().unwrap().to_owned(), result)
}

#[tokio::test]
async fn all_calendars_are_told_together_and_one_that_fails_hides_no_other() {
    let (text, result) = answer(asked("", "", "UTC")).await;
    assert_eq!(
        text,
        "Events from 2026-03-02 to 2026-03-03 (UTC):\n\n\
         Monday, 2026-03-02\n\
         [10:00-10:00] Dentist (Own)\n\n\
         Tuesday, 2026-03-03\n\
         [09:00-09:00] Standup (Team)\n\n\
         Note: In `Team`: The event \"Broken\" has no start that can be read and is left out.\n\
         Note: failed to fetch the calendar `Far`: cal.example cannot be reached"
    );
    let titles: Vec<_> =
        result["structuredContent"]["events"].as_array().unwrap().iter().map(|e| &e["title"]).collect();
    assert_eq!(titles, ["Dentist", "Standup"]);
    assert_eq!(result["isError"], false);
}

#[tokio::test]
async fn today_is_that_of_the_zone() {
    let (text, _) = answer(asked("own", "", "Asia/Tokyo")).await;
    assert_eq!(text, "No events from 2026-03-03 to 2026-03-04 (Asia/Tokyo)");
    let (text, _) = answer(asked(" OWN ", "", "America/New_York")).await;
    assert!(text.contains("Monday, 2026-03-02\n[05:00-05:00] Dentist"), "{text}");
}

#[tokio::test]
async fn hostile_arguments_have_their_answers() {
    for (calendar, from, zone, told) in [
        ("nobody", "", "UTC", "calendar not found: `nobody`; there are: `Team`, `Own`, `Far`"),
        ("../Team", "", "UTC", "calendar not found: `../Team`; there are: `Team`, `Own`, `Far`"),
        ("far", "", "UTC", "failed to fetch the calendar `Far`: cal.example cannot be reached"),
        ("own", "2026-02-30", "UTC", "there is no day `2026-02-30`; write `from` as in 2026-01-31"),
        ("own", "tomorrow", "UTC", "there is no day `tomorrow`; write `from` as in 2026-01-31"),
        ("own", "9999-12-31", "UTC", "the day 9999-12-31 is too far away; ask for a nearer one"),
        (
            "own",
            "",
            "Mars/Olympus",
            "there is no time zone `Mars/Olympus`; write one as in Europe/Berlin, America/New_York or UTC",
        ),
        (
            "own",
            "",
            "../../etc/passwd",
            "there is no time zone `../../etc/passwd`; write one as in Europe/Berlin, America/New_York or UTC",
        ),
    ] {
        let (text, result) = answer(asked(calendar, from, zone)).await;
        assert_eq!(text, format!("Error: {told}"));
        assert_eq!(result["isError"], true);
        assert_eq!(result.get("structuredContent"), None);
    }
}
