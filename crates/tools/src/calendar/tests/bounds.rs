//! However large, strange or hostile a calendar is: it is read within bounds, and never panics.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

#[test]
fn a_flood_of_instances_is_cut_and_told() {
    let (found, remarks) = remarks(&event("DTSTART:19700101T000000Z RRULE:FREQ=SECONDLY"), "2026-03-02", 366);
    assert_eq!(found.len(), OF_EVENT);
    assert_eq!(found[0], "2026-03-02T00:00-00:00 e");
    assert_eq!(remarks, ["The event \"e\" has 1000 instances or more; the rest is left out."]);
}

#[test]
fn a_repetition_that_takes_too_long_is_told() {
    let never = "DTSTART:16000101T000000Z RRULE:FREQ=SECONDLY;BYMINUTE=1;BYSETPOS=2;COUNT=3";
    let (found, remarks) = remarks(&event(never), "2026-03-02", 366);
    assert!(found.is_empty());
    let told = "The repetition of \"e\" takes too long to follow; some of its instances may be missing.";
    assert_eq!(remarks, [told]);
}

#[test]
fn many_events_of_one_uid_take_no_longer_than_as_many_of_many() {
    let mut lines = String::new();
    for n in 0..8000 {
        let (minute, hour) = (n % 60, n / 60 % 24);
        let _ = write!(
            lines,
            "BEGIN:VEVENT\nUID:u\nDTSTART:20260302T{hour:02}{minute:02}00Z\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:u\nRECURRENCE-ID;RANGE=THISANDFUTURE:19{:02}0302T{hour:02}{minute:02}00Z\n\
             DTSTART:19750302T000000Z\nEND:VEVENT\n",
            n % 100,
        );
    }
    let (found, remarks) = remarks(&lines, "2026-03-02", 1);
    assert!(found.len() <= OF_CALENDAR);
    assert!(remarks.iter().any(|remark| remark.contains("takes too long")), "{remarks:?}");
}

#[test]
fn more_components_than_a_calendar_has_are_left_out() {
    let mut lines = "BEGIN:VEVENT\nDTSTART:20260302T090000Z\nEND:VEVENT\n".to_owned();
    lines.push_str(&"BEGIN:X\nEND:X\n".repeat(100_001));
    lines.push_str("BEGIN:VEVENT\nDTSTART:20260302T090000Z\nEND:VEVENT\n");
    let (found, remarks) = remarks(&lines, "2026-03-02", 1);
    assert_eq!(found.len(), 1);
    assert!(remarks.contains(&"The file has more than 100000 parts; the rest is left out.".to_owned()));
}

#[test]
fn more_zones_than_the_world_has_are_not_looked_for() {
    let lines: String =
        (0..20_000).map(|n| event(&format!("DTSTART;TZID=Nowhere/Z{n}:20260302T090000"))).collect();
    let begun = std::time::Instant::now();
    let (found, remarks) = remarks(&lines, "2026-03-02", 1);
    assert!(
        !found.is_empty() && begun.elapsed() < std::time::Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    assert!(remarks.last().unwrap().ends_with("further remarks are left out."), "{remarks:?}");
}

#[test]
fn a_zone_without_end_is_not_followed_for_ever() {
    let zone = "BEGIN:VTIMEZONE\nTZID:Odd\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n\
                RRULE:FREQ=SECONDLY\nEND:STANDARD\nEND:VTIMEZONE\n";
    let lines = format!("{zone}{}", event("DTSTART;TZID=Odd:20260302T090000"));
    let (found, remarks) = remarks(&lines, "2026-03-02", 1);
    assert_eq!(found, ["2026-03-02T10:00-10:00 e"]);
    assert_eq!(remarks, ["The time zone \"Odd\" is not known; its times are read as UTC."]);
}

#[test]
fn windows_end_where_the_years_do() {
    let zone = || TimeZone::get("Europe/Berlin").unwrap();
    for (from, there) in
        [("9999-01-01", false), ("9998-12-01", true), ("0001-01-01", true), ("-009999-01-02", false)]
    {
        assert_eq!(Window::new(from.parse().unwrap(), 366, zone()).is_some(), there, "{from}");
    }
    let lines = event("DTSTART:00010101T000000Z DURATION:P36000D RRULE:FREQ=DAILY;INTERVAL=4000000000");
    assert_eq!(calendar(&lines).within(&window("0001-01-01", 1, "UTC")).occurrences.len(), 1);
    let late = event("DTSTART:99981201T000000Z DURATION:P36000D RRULE:FREQ=YEARLY;BYYEARDAY=-1");
    let _ = calendar(&late).within(&window("9998-12-01", 366, "Pacific/Kiritimati"));
}

/// Pieces of which calendars are made, good and bad.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("BEGIN:VEVENT\r\n".to_owned()),
        Just("END:VEVENT\r\n".to_owned()),
        Just("BEGIN:VTIMEZONE\r\nTZID:Z\r\n".to_owned()),
        Just("BEGIN:STANDARD\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:-1200\r\n".to_owned()),
        Just("END:STANDARD\r\nEND:VTIMEZONE\r\n".to_owned()),
        Just("STATUS:CANCELLED\r\n".to_owned()),
        "UID:[ab]\r\n",
        "(DTSTART|DTEND|EXDATE|RDATE|RECURRENCE-ID)(;TZID=(Z|Europe/Berlin|X|Pacific/Apia))?:(0001|1600|2025|2026|9999)(01|03|12|13)(01|29|31)(T(00|02|23)(00|30|59)(00|60)Z?)?\r\n",
        "RECURRENCE-ID;RANGE=THISANDFUTURE:2026030[1-4]T080000Z\r\n",
        "DURATION:P([0-9]{1,6}[WD])?(T[0-9]{1,9}[HMS])?\r\n",
        "RRULE:FREQ=(YEAR|MONTH|WEEK|HOUR|MINUTE|SECOND)LY(;INTERVAL=[1-9][0-9]{0,9})?(;COUNT=[1-9][0-9]{0,8})?(;BYDAY=-?[1-9]MO,TU)?(;BYSETPOS=-?[1-9])?(;UNTIL=20260302)?\r\n",
        "RRULE:FREQ=DAILY(;BYHOUR=[0-9]{1,2})?(;BYMONTH=[1-9])?(;BYMONTHDAY=-?[1-9])?\r\n",
        "RDATE;VALUE=PERIOD:20260302T0[0-9]0000Z/(PT[0-9]H|20260303T000000Z)\r\n",
        "[A-Z]{1,8}(;[A-Z]{1,4}=\"?[a-z:;,]{0,6}\"?)?:\\PC{0,20}\r\n",
        "\\PC{0,30}\r\n [a-z]{0,5}\r\n",
    ]
}

fn look(bytes: &[u8]) {
    if let Ok(calendar) = Calendar::read(bytes, &Veil::default()) {
        for (from, days, zone) in [("2026-03-01", 7, "Europe/Berlin"), ("2025-12-30", 366, "Pacific/Apia")] {
            let listing = calendar.within(&window(from, days, zone));
            assert!(listing.occurrences.len() <= OF_CALENDAR);
            assert!(listing.remarks.sentences().len() <= 21);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        look(&bytes);
        look(&[b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260302\n", bytes.as_slice()].concat());
    }

    #[test]
    fn no_calendar_however_odd_makes_it_panic_or_never_end(pieces in prop::collection::vec(piece(), 0..25)) {
        look(format!("BEGIN:VCALENDAR\r\n{}", pieces.concat()).as_bytes());
    }
}
