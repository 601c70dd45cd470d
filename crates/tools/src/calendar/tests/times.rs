//! When a single event is: days, times, zones, ends.

use super::*;

#[test]
fn every_way_to_write_a_time_is_read_on_its_wall() {
    for (lines, expected) in [
        ("DTSTART:20260302T090000Z DTEND:20260302T100000Z", "2026-03-02T10:00-11:00 e"),
        ("DTSTART:20260302T090000 DTEND:20260302T100000", "2026-03-02T09:00-10:00 e"),
        ("DTSTART;TZID=America/New_York:20260302T090000 DURATION:PT90M", "2026-03-02T15:00-16:30 e"),
        ("DTSTART;TZID=\"america/new_york\":20260302T090000", "2026-03-02T15:00-15:00 e"),
        (
            "DTSTART;TZID=/freeassociation.sourceforge.net/America/New_York:20260302T090000",
            "2026-03-02T15:00-15:00 e",
        ),
        ("DTSTART;TZID=\"tzone://Microsoft/Utc\":20260302T090000", "2026-03-02T10:00-10:00 e"),
        (
            "DTSTART;TZID=Asia/Tokyo:20260302T090000 DTEND;TZID=Europe/London:20260302T010000",
            "2026-03-02T01:00-02:00 e",
        ),
        ("DTSTART;VALUE=DATE-TIME:20260302T090000Z", "2026-03-02T10:00-10:00 e"),
        ("DTSTART;VALUE=DATE:20260302", "2026-03-02/2026-03-03 e"),
        ("DTSTART:20260302", "2026-03-02/2026-03-03 e"),
        ("DTSTART;VALUE=DATE:20260301 DTEND;VALUE=DATE:20260304", "2026-03-01/2026-03-04 e"),
        ("DTSTART;VALUE=DATE:20260302 DTEND;VALUE=DATE:20260302", "2026-03-02/2026-03-03 e"),
        ("DTSTART;VALUE=DATE:20260302 DURATION:P2D", "2026-03-02/2026-03-04 e"),
        ("DTSTART;VALUE=DATE:20260302 DURATION:PT30H", "2026-03-02/2026-03-04 e"),
        ("DTSTART;VALUE=DATE:20260301 DTEND:20260304T000000Z", "2026-03-01/2026-03-04 e"),
        ("DTSTART:20260301T230000Z DTEND:20260303T020000Z", "2026-03-02T00:00-2026-03-03T03:00 e"),
        // It would end before it begins.
        ("DTSTART:20260302T090000Z DTEND:20260302T080000Z", "2026-03-02T10:00-10:00 e"),
    ] {
        assert_eq!(berlin(&event(lines), "2026-03-02", 1), [expected], "{lines}");
    }
}

#[test]
fn outlooks_names_of_zones_are_known_without_a_definition() {
    let lines = event("DTSTART;TZID=X:20260302T090000");
    for (name, expected) in [
        ("W. Europe Standard Time", "2026-03-02T09:00-09:00 e"),
        ("Eastern Standard Time", "2026-03-02T15:00-15:00 e"),
        ("\"India Standard Time\"", "2026-03-02T04:30-04:30 e"),
    ] {
        assert_eq!(berlin(&lines.replace("TZID=X", &format!("TZID={name}")), "2026-03-02", 1), [expected]);
    }
}

#[test]
fn an_event_is_listed_on_every_day_that_it_touches_and_on_no_other() {
    for (lines, days) in [
        ("DTSTART;VALUE=DATE:20260302", vec![2]),
        ("DTSTART;VALUE=DATE:20260302 DTEND;VALUE=DATE:20260305", vec![2, 3, 4]),
        // The clocks of Berlin are an hour ahead.
        ("DTSTART:20260301T230000Z DTEND:20260302T230000Z", vec![2]),
        ("DTSTART:20260301T225959Z DTEND:20260302T230001Z", vec![1, 2, 3]),
        ("DTSTART:20260302T230000Z", vec![3]),
        ("DTSTART:20260301T230000Z", vec![2]),
    ] {
        let lines = event(lines);
        let found: Vec<i8> =
            (1..=5).filter(|day| !berlin(&lines, &format!("2026-03-0{day}"), 1).is_empty()).collect();
        assert_eq!(found, days, "{lines}");
    }
}

#[test]
fn what_is_cancelled_is_not_shown() {
    assert!(berlin(&event("DTSTART:20260302T090000Z STATUS:cancelled"), "2026-03-02", 1).is_empty());
    for status in ["CONFIRMED", "TENTATIVE"] {
        let lines = event(&format!("DTSTART:20260302T090000Z STATUS:{status}"));
        assert_eq!(berlin(&lines, "2026-03-02", 1).len(), 1);
    }
}

#[test]
fn events_come_in_the_order_of_the_viewers_wall_with_whole_days_first() {
    let lines = [
        event("DTSTART:20260302T090000Z"),
        event("DTSTART;VALUE=DATE:20260302"),
        event("DTSTART:20260302T083000Z"),
        event("DTSTART;TZID=Asia/Tokyo:20260302T120000"),
        event("DTSTART;VALUE=DATE:20260301"),
    ];
    let lines: String =
        lines.iter().zip('a'..).map(|(e, n)| e.replace("UID:u", &format!("UID:{n}"))).collect();
    let expected = [
        "2026-03-01/2026-03-02 e",
        "2026-03-02/2026-03-03 e",
        "2026-03-02T04:00-04:00 e",
        "2026-03-02T09:30-09:30 e",
        "2026-03-02T10:00-10:00 e",
    ];
    assert_eq!(berlin(&lines, "2026-03-01", 7), expected);
}

#[test]
fn a_time_that_the_clocks_skip_or_repeat_is_told_with_the_offset_from_before() {
    let lines = |start: &str| event(&format!("DTSTART;TZID=Europe/Berlin:{start} DURATION:PT15M"));
    // At two it was three.
    assert_eq!(berlin(&lines("20260329T023000"), "2026-03-29", 1), ["2026-03-29T03:30-03:45 e"]);
    // At three it was two again: the first is meant, at 00:30 UTC.
    let first = window("2026-10-25", 1, "UTC");
    let listing = calendar(&lines("20261025T023000")).within(&first);
    assert_eq!(shown(&listing, &first), ["2026-10-25T00:30-00:45 e"]);
}

#[test]
fn days_on_the_wall_and_exact_hours_differ_where_the_clocks_change() {
    let night = |lines: &str| berlin(&event(lines), "2026-03-28", 3);
    let start = "DTSTART;TZID=Europe/Berlin:20260328T120000";
    assert_eq!(night(&format!("{start} DURATION:P1D")), ["2026-03-28T12:00-2026-03-29T12:00 e"]);
    assert_eq!(night(&format!("{start} DURATION:PT24H")), ["2026-03-28T12:00-2026-03-29T13:00 e"]);
    // An exact end stays exact in each repetition: 23 hours once, and then always.
    let rule = "RRULE:FREQ=DAILY;COUNT=2";
    let exact = format!("{start} DTEND;TZID=Europe/Berlin:20260329T120000 {rule}");
    assert_eq!(night(&exact), ["2026-03-28T12:00-2026-03-29T12:00 e", "2026-03-29T12:00-2026-03-30T11:00 e"]);
}

#[test]
fn floating_times_are_on_the_wall_of_whoever_looks() {
    let calendar = calendar(&format!("X-WR-TIMEZONE:Asia/Tokyo\n{}", event("DTSTART:20260302T090000")));
    for zone in ["Europe/Berlin", "America/New_York", "Pacific/Kiritimati"] {
        let window = window("2026-03-02", 1, zone);
        assert_eq!(shown(&calendar.within(&window), &window), ["2026-03-02T09:00-09:00 e"], "{zone}");
    }
}
