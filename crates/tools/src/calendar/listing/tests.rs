//! What people and programs are told.

use covenant_gate::Veil;
use jiff::tz::TimeZone;

use super::super::Calendar;
use super::*;

fn listed(lines: &str, window: &Window) -> Vec<Occurrence> {
    let text = format!("BEGIN:VCALENDAR\n{lines}END:VCALENDAR\n");
    Calendar::read(text.as_bytes(), &Veil::default()).unwrap().within(window).occurrences
}

fn event(title: &str, lines: &str) -> String {
    let lines: Vec<&str> = lines.split(' ').collect();
    format!("BEGIN:VEVENT\nUID:{title}@x\nSUMMARY:{title}\n{}\nEND:VEVENT\n", lines.join("\n"))
}

fn week() -> Window {
    Window::new("2026-03-02".parse().unwrap(), 7, TimeZone::get("Europe/Berlin").unwrap()).unwrap()
}

#[test]
fn days_are_told_in_order_with_their_events() {
    let window = week();
    let team = [
        event(
            "Standup",
            "DTSTART;TZID=Europe/Berlin:20260302T090000 DURATION:PT15M RRULE:FREQ=DAILY;COUNT=2 LOCATION:Room\\;4",
        ),
        event("Fair", "DTSTART;VALUE=DATE:20260301 DTEND;VALUE=DATE:20260304"),
        event("Holiday", "DTSTART;VALUE=DATE:20260308"),
    ];
    let own = event("Flight", "DTSTART:20260302T210000Z DTEND:20260304T050000Z");
    let calendars = vec![("team", listed(&team.concat(), &window)), ("own", listed(&own, &window))];
    let agenda = Agenda::new(&window, calendars, vec!["Something is odd.".to_owned()]);
    assert_eq!(
        agenda.text(),
        "Events from 2026-03-02 to 2026-03-08 (Europe/Berlin):\n\n\
         Monday, 2026-03-02\n\
         [All day] Fair (team) (day 2 of 3)\n\
         [09:00-09:15] Standup @ Room;4 (team)\n\
         [22:00-24:00] Flight (own)\n\n\
         Tuesday, 2026-03-03\n\
         [All day] Fair (team) (day 3 of 3)\n\
         [00:00-24:00] Flight (own)\n\
         [09:00-09:15] Standup @ Room;4 (team)\n\n\
         Wednesday, 2026-03-04\n\
         [00:00-06:00] Flight (own)\n\n\
         Sunday, 2026-03-08\n\
         [All day] Holiday (team)\n\n\
         Note: Something is odd."
    );
}

#[test]
fn programs_get_each_event_once_with_its_offset() {
    let window = week();
    let lines = [
        event("Fair", "DTSTART;VALUE=DATE:20260301 DTEND;VALUE=DATE:20260304"),
        event(
            "Call",
            "DTSTART:20260302T090000Z DURATION:PT1H LOCATION:Online DESCRIPTION:https://meet.example/1\\nBring\\,tea",
        ),
    ];
    let agenda = Agenda::new(&window, vec![("team", listed(&lines.concat(), &window))], Vec::new());
    let expected = json!({
        "events": [
            {
                "calendar": "team", "uid": "Fair@x", "title": "Fair", "start": "2026-03-01", "end": "2026-03-04",
                "all_day": true, "location": null,
            },
            {
                "calendar": "team", "uid": "Call@x", "title": "Call", "start": "2026-03-02T10:00:00+01:00",
                "end": "2026-03-02T11:00:00+01:00", "all_day": false, "location": "Online",
                "description": "https://meet.example/1 Bring,tea",
            },
        ],
        "remarks": [],
    });
    assert_eq!(agenda.json(), expected);
}

#[test]
fn no_events_are_told_in_one_line() {
    let window = week();
    let text = |window: &Window| Agenda::new(window, vec![("team", Vec::new())], Vec::new()).text();
    assert_eq!(text(&window), "No events from 2026-03-02 to 2026-03-08 (Europe/Berlin)");
    let day = Window::new("2026-03-02".parse().unwrap(), 1, TimeZone::UTC).unwrap();
    assert_eq!(text(&day), "No events on 2026-03-02 (UTC)");
}

#[test]
fn a_title_cannot_make_lines_of_its_own() {
    let window = week();
    let lines = event("Lunch", "DTSTART:20260302T110000Z LOCATION:a\\n[10:00-11:00]\u{2028}Fire\\nNote:x");
    let text = Agenda::new(&window, vec![("team", listed(&lines, &window))], Vec::new()).text();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert_eq!(text.lines().last(), Some("[12:00-12:00] Lunch @ a [10:00-11:00] Fire Note:x"));
}

#[test]
fn too_many_events_are_cut_and_told() {
    let window = week();
    let lines: String = (0..450).map(|n| event(&format!("e{n}"), "DTSTART:20260302T110000Z")).collect();
    let agenda = Agenda::new(&window, vec![("team", listed(&lines, &window))], Vec::new());
    assert_eq!(agenda.json()["events"].as_array().unwrap().len(), 400);
    assert!(
        agenda.text().ends_with("\n\nNote: There are 450 events, and 400 are shown: ask for fewer days.")
    );
    let long = Window::new("2026-03-02".parse().unwrap(), 366, TimeZone::UTC).unwrap();
    let years: String =
        (0..10).map(|n| event(&format!("e{n}"), "DTSTART:20260101T110000Z DURATION:P900D")).collect();
    let text = Agenda::new(&long, vec![("team", listed(&years, &long))], Vec::new()).text();
    assert!(text.ends_with("(1660 further lines are left out)"), "{}", text.len());
}
