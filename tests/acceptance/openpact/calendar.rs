//! `calendar_read`, from files and from a local server whose addresses are secrets.

use std::collections::BTreeMap;

use covenant_testkit::Service;
use covenant_testkit::service::Answer;
use covenant_testkit::service::ical::{Calendars, fault};
use serde_json::json;

use super::talk::{Talk, configured};

/// What the address of a calendar is protected by.
const SECRET: &str = "private-4f3c2b1a0f9e8d7c";

const TEAM: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-TIMEZONE:Europe/Berlin\r\n\
BEGIN:VTIMEZONE\r\nTZID:Office\r\n\
BEGIN:STANDARD\r\nDTSTART:16010101T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\n\
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\r\nEND:STANDARD\r\n\
BEGIN:DAYLIGHT\r\nDTSTART:16010101T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\n\
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\r\nEND:DAYLIGHT\r\nEND:VTIMEZONE\r\n\
BEGIN:VEVENT\r\nUID:standup\r\nSUMMARY:Stand-up\\, short\r\nLOCATION:Room 4\r\n\
DTSTART;TZID=Office:20200106T093000\r\nDURATION:PT15M\r\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR\r\n\
EXDATE;TZID=Office:20260401T093000\r\nEND:VEVENT\r\n\
BEGIN:VEVENT\r\nUID:standup\r\nRECURRENCE-ID;TZID=Office:20260330T093000\r\nSUMMARY:Stand-up\\, late\r\n\
DTSTART;TZID=Office:20260330T140000\r\nDURATION:PT15M\r\nEND:VEVENT\r\n\
BEGIN:VEVENT\r\nUID:easter\r\nSUMMARY:Easter\r\nDTSTART;VALUE=DATE:20260403\r\nDTEND;VALUE=DATE:20260407\r\nEND:VEVENT\r\n\
BEGIN:VEVENT\r\nUID:off\r\nSUMMARY:Called off\r\nSTATUS:CANCELLED\r\nDTSTART:20260331T080000Z\r\nEND:VEVENT\r\n\
END:VCALENDAR\r\n";

const OWN: &str = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:flight\nSUMMARY:Flight\nDTSTART:20260329T210000Z\n\
DTEND:20260330T040000Z\nEND:VEVENT\nEND:VCALENDAR\n";

/// A server with the team's calendar, and the configuration for it and a file.
fn calendars() -> (Service, covenant_testkit::Home) {
    let path = format!("/ical/{SECRET}/basic.ics");
    let published = BTreeMap::from([(path.clone(), TEAM.to_owned())]);
    let service = Service::start(Calendars { published });
    let config = format!(
        "[[calendars]]\nname = \"Team\"\nurl = \"{}\"\n[[calendars]]\nname = \"Own\"\npath = \"own.ics\"\n",
        service.url("/ical/${secret:TEAM_CALENDAR}/basic.ics")
    );
    let home = configured(&config, &[("TEAM_CALENDAR", SECRET)]);
    home.write("own.ics", OWN);
    (service, home)
}

/// PACT-34
#[test]
fn the_events_of_calendars_are_told_day_by_day() {
    let (service, home) = calendars();
    let mut talk = Talk::begin(&home);
    let week = json!({"from": "2026-03-30", "timezone": "Europe/Berlin"});
    let expected = "Events from 2026-03-30 to 2026-04-05 (Europe/Berlin):\n\n\
                    Monday, 2026-03-30\n\
                    [00:00-06:00] Flight (Own)\n\
                    [14:00-14:15] Stand-up, late (Team)\n\n\
                    Friday, 2026-04-03\n\
                    [All day] Easter (Team) (day 1 of 4)\n\
                    [09:30-09:45] Stand-up, short @ Room 4 (Team)\n\n\
                    Saturday, 2026-04-04\n\
                    [All day] Easter (Team) (day 2 of 4)\n\n\
                    Sunday, 2026-04-05\n\
                    [All day] Easter (Team) (day 3 of 4)";
    assert_eq!(talk.done("calendar_read", week.clone()), expected);
    // Asked again at once, the server is not.
    assert_eq!(talk.done("calendar_read", week), expected);
    assert_eq!(service.heard().len(), 1);
    let one = talk.call(
        "calendar_read",
        json!({"calendar": "TEAM", "days": 1, "from": "2026-03-27", "timezone": "America/New_York"}),
    );
    assert_eq!(
        one["result"]["structuredContent"],
        json!({
            "events": [{
                "calendar": "Team", "uid": "standup", "title": "Stand-up, short", "start": "2026-03-27T04:30:00-04:00",
                "end": "2026-03-27T04:45:00-04:00", "all_day": false, "location": "Room 4",
            }],
            "remarks": [],
        })
    );
    let own = talk.done(
        "calendar_read",
        json!({"calendar": "own", "days": 366, "from": "2026-04-01", "timezone": "UTC"}),
    );
    assert_eq!(own, "No events from 2026-04-01 to 2027-04-01 (UTC)");
    let failed = talk.fails("calendar_read", json!({"calendar": "nobody's"}));
    assert_eq!(failed, "calendar not found: `nobody's`; there are: `Team`, `Own`");
    for arguments in [
        json!({"days": 0}),
        json!({"days": 367}),
        json!({"days": "7"}),
        json!({"from": "tomorrow"}),
        json!({"calendar": ""}),
        json!({"calendar": 7}),
        json!({"timezone": "x".repeat(65)}),
        json!({"url": "https://example.org"}),
    ] {
        talk.refused("calendar_read", arguments);
    }
    talk.ends_without(&[SECRET]);
}

#[test]
fn a_calendar_that_cannot_be_fetched_is_told_and_hides_no_other() {
    let host = "127.0.0.1";
    let page = format!(
        "{host} sent a web page (HTML) and no calendar; in `url` write the address of its iCalendar feed, which often ends \
         in .ics"
    );
    for (answer, told) in [
        (
            fault("401"),
            format!(
                "{host} wants to know who asks (401); give its `url` a user and password, or a secret address"
            ),
        ),
        (
            fault("403"),
            format!(
                "{host} does not allow it (403); the calendar is not shared, or its secret address was changed"
            ),
        ),
        (fault("404"), format!("{host} has no calendar there (404); check its `url`")),
        (fault("500"), format!("{host} has trouble of its own (500); try again later")),
        (fault("503"), format!("{host} has trouble of its own (503); try again later")),
        (fault("page"), page),
        (
            fault(&format!("moved http://elsewhere.example/{SECRET}")),
            format!(
                "{host} redirects to elsewhere.example (302), which is not followed; write its address there as `url`"
            ),
        ),
        (
            Answer::text(200, "text/calendar", "hello"),
            "it is no calendar: it has no line `BEGIN:VCALENDAR`".to_owned(),
        ),
    ] {
        // A failure is kept for a minute: each begins anew.
        let (service, home) = calendars();
        let mut talk = Talk::begin(&home);
        service.will(answer);
        let failed = talk.fails("calendar_read", json!({"calendar": "team"}));
        assert_eq!(failed, format!("failed to fetch the calendar `Team`: {told}"));
        let others = talk.done("calendar_read", json!({"from": "2026-03-30", "timezone": "UTC"}));
        assert!(others.contains("[00:00-04:00] Flight\n"), "{others}");
        assert!(others.ends_with(&format!("\n\nNote: {failed}")), "{others}");
        assert_eq!(service.heard().len(), 1, "it was asked once");
        talk.ends_without(&[SECRET]);
    }
    let (service, home) = calendars();
    let mut talk = Talk::begin(&home);
    service.will(Answer::hang_up());
    let failed = talk.fails("calendar_read", json!({"calendar": "team"}));
    assert!(failed.starts_with("failed to fetch the calendar `Team`: "), "{failed}");
    talk.ends_without(&[SECRET]);
    // From one place to another of the same server is no matter.
    let (service, home) = calendars();
    let mut talk = Talk::begin(&home);
    service.will(fault(&format!("moved /ical/{SECRET}/basic.ics")));
    talk.done("calendar_read", json!({"calendar": "team"}));
    assert_eq!(service.heard().len(), 2);
    talk.ends_without(&[SECRET]);
}

#[test]
fn without_calendars_the_tool_is_not_there() {
    let home = configured("", &[]);
    let mut talk = Talk::begin(&home);
    assert!(!talk.tools().contains(&"calendar_read".to_owned()));
}
