//! Series: rules with zones, ends in either form, added dates.

use super::*;

/// The starts alone.
#[track_caller]
fn starts(lines: &str, from: &str, days: u16) -> Vec<String> {
    let all = berlin(&event(lines), from, days);
    all.iter().map(|line| line.split(['-', '/', ' ']).take(3).collect::<Vec<_>>().join("-")).collect()
}

#[test]
fn a_series_keeps_its_time_on_the_wall_when_the_clocks_change() {
    let weekly = "DTSTART;TZID=Europe/Berlin:20200106T090000 DURATION:PT1H RRULE:FREQ=WEEKLY";
    let expected = ["2026-03-23T09:00", "2026-03-30T09:00", "2026-04-06T09:00"];
    assert_eq!(starts(weekly, "2026-03-23", 15), expected);
    let in_utc = weekly.replace(";TZID=Europe/Berlin", "").replace("T090000", "T090000Z");
    let expected = ["2026-03-23T10:00", "2026-03-30T11:00", "2026-04-06T11:00"];
    assert_eq!(starts(&in_utc, "2026-03-23", 15), expected);
}

#[test]
fn an_instance_in_a_gap_is_shown_after_it_and_never_twice() {
    let daily = "DTSTART;TZID=Europe/Berlin:20260301T023000 RRULE:FREQ=DAILY";
    assert_eq!(starts(daily, "2026-03-28", 3), ["2026-03-28T02:30", "2026-03-29T03:30", "2026-03-30T02:30"]);
    let hourly = "DTSTART;TZID=Europe/Berlin:20260329T003000 RRULE:FREQ=HOURLY;COUNT=6";
    let expected =
        ["2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T03:30", "2026-03-29T04:30", "2026-03-29T05:30"];
    assert_eq!(starts(hourly, "2026-03-29", 1), expected);
}

#[test]
fn until_ends_a_series_in_either_form() {
    let start = "DTSTART;TZID=Europe/Berlin:20260302T090000";
    for (until, last) in [
        // The same time in UTC, and a second before it.
        ("20260304T080000Z", 4),
        ("20260304T075959Z", 3),
        // A day counts to its end.
        ("20260304", 4),
        // On the wall of the start.
        ("20260304T090000", 4),
        ("20260304T085959", 3),
        // Before the start there is nothing.
        ("20260301", 1),
    ] {
        let found = starts(&format!("{start} RRULE:FREQ=DAILY;UNTIL={until}"), "2026-03-01", 9);
        assert_eq!(found.len(), last - 1, "{until}: {found:?}");
    }
    for (until, count) in [("20260304", 3), ("20260304T000000Z", 3), ("20260304T230000", 3)] {
        let lines = format!("DTSTART;VALUE=DATE:20260302 RRULE:FREQ=DAILY;UNTIL={until}");
        assert_eq!(starts(&lines, "2026-03-01", 9).len(), count, "{until}");
    }
}

#[test]
fn until_is_exact_where_the_clocks_repeat_an_hour() {
    // 02:30 comes first at 00:30 UTC; half past two is before quarter past the second time.
    let start = "DTSTART;TZID=Europe/Berlin:20261024T023000";
    let found =
        |until: &str| starts(&format!("{start} RRULE:FREQ=DAILY;UNTIL={until}"), "2026-10-24", 5).len();
    assert_eq!(found("20261025T011500Z"), 2);
    assert_eq!(found("20261025T002959Z"), 1);
}

#[test]
fn a_count_holds_however_late_one_looks() {
    let lines = "DTSTART;TZID=Europe/Berlin:20200101T090000 RRULE:FREQ=DAILY;COUNT=2254";
    assert_eq!(starts(lines, "2026-03-01", 5), ["2026-03-01T09:00", "2026-03-02T09:00", "2026-03-03T09:00"]);
    let lines = "DTSTART;VALUE=DATE:20240229 RRULE:FREQ=YEARLY;COUNT=3";
    assert_eq!(starts(lines, "2032-02-20", 20), ["2032-02-29"]);
    assert!(starts(lines, "2036-02-20", 20).is_empty());
}

#[test]
fn whole_days_repeat_without_any_zone() {
    let lines = "DTSTART;VALUE=DATE:20200106 DTEND;VALUE=DATE:20200108 RRULE:FREQ=WEEKLY;BYHOUR=5";
    for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"] {
        let window = window("2026-03-03", 1, zone);
        let listing = calendar(&event(lines)).within(&window);
        assert_eq!(shown(&listing, &window), ["2026-03-02/2026-03-04 e"], "{zone}");
    }
}

#[test]
fn a_long_event_of_a_series_is_found_days_after_it_began() {
    let lines = "DTSTART:20260101T120000Z DURATION:P40D RRULE:FREQ=YEARLY";
    assert_eq!(berlin(&event(lines), "2027-02-10", 1), ["2027-01-01T13:00-2027-02-10T13:00 e"]);
    assert!(berlin(&event(lines), "2027-02-11", 1).is_empty());
}

#[test]
fn dates_are_added_each_with_its_own_end_if_it_has_one() {
    let start = "DTSTART;TZID=Europe/Berlin:20260302T090000 DURATION:PT1H";
    for (lines, expected) in [
        ("RDATE;TZID=Europe/Berlin:20260304T120000", "2026-03-04T12:00-13:00 e"),
        ("RDATE:20260304T120000Z", "2026-03-04T13:00-14:00 e"),
        ("RDATE:20260304T120000", "2026-03-04T12:00-13:00 e"),
        ("RDATE;VALUE=DATE:20260304", "2026-03-04T09:00-10:00 e"),
        ("RDATE;VALUE=PERIOD:20260304T120000Z/20260304T123000Z", "2026-03-04T13:00-13:30 e"),
        ("RDATE;VALUE=PERIOD;TZID=Europe/Berlin:20260304T120000/PT2H", "2026-03-04T12:00-14:00 e"),
    ] {
        let found = berlin(&event(&format!("{start} {lines}")), "2026-03-01", 7);
        assert_eq!(found, ["2026-03-02T09:00-10:00 e", expected], "{lines}");
    }
    // What a rule gives as well is there once.
    let twice = "RRULE:FREQ=DAILY;COUNT=2 RDATE;TZID=Europe/Berlin:20260303T090000,20260305T090000";
    assert_eq!(berlin(&event(&format!("{start} {twice}")), "2026-03-01", 7).len(), 3);
    let days = "DTSTART;VALUE=DATE:20260302 RDATE;VALUE=DATE:20260304,20260306";
    assert_eq!(berlin(&event(days), "2026-03-01", 7).len(), 3);
    // Two rules are one series.
    let rules = "RRULE:FREQ=DAILY;COUNT=2 RRULE:FREQ=WEEKLY;COUNT=2";
    assert_eq!(berlin(&event(&format!("{start} {rules}")), "2026-03-01", 14).len(), 3);
}
