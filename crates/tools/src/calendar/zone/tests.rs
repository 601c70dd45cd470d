//! Zones as files define them, held against those of the system.

use super::super::civil::DAY;
use super::super::line::Line;
use super::*;

fn lines(text: &str) -> Vec<Line> {
    text.split_whitespace().map(|line| Line::parse(line.as_bytes()).unwrap()).collect()
}

fn definition(observances: &[&str]) -> Definition {
    let mut definition = Definition::default();
    for observance in observances {
        definition.observe(&lines(observance));
    }
    definition
}

fn berlin() -> Definition {
    // As Outlook writes it.
    definition(&[
        "DTSTART:16010101T030000 TZOFFSETFROM:+0200 TZOFFSETTO:+0100 RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10",
        "DTSTART:16010101T020000 TZOFFSETFROM:+0100 TZOFFSETTO:+0200 RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3",
    ])
}

fn at(text: &str) -> i64 {
    civil::local(text.parse().unwrap())
}

#[test]
fn a_zone_that_a_file_defines_is_as_the_systems() {
    let until = at("2032-01-01T00:00:00");
    let own = Zone::Own(Arc::new(berlin().onsets(until, &mut Steps::of(1_000_000)).unwrap()));
    let system = Zone::System(TimeZone::get("Europe/Berlin").unwrap());
    // Every ten minutes of days on which the clocks change, and every seven hours of years.
    let changes = ["2026-03-29T00:00:00", "2026-10-25T00:00:00", "2027-03-28T00:00:00"].map(at);
    let days = changes.into_iter().flat_map(|day| (0..288).map(move |n| day - DAY + n * 600));
    let years = (0..6000).map(|n| at("2026-01-01T00:00:00") + n * 7 * 3600);
    for moment in days.chain(years) {
        assert_eq!(own.instant(moment), system.instant(moment), "{:?}", civil::datetime(moment));
        assert_eq!(own.local(moment), system.local(moment), "{:?}", civil::datetime(moment));
    }
}

#[test]
fn onsets_come_from_rules_that_end_and_from_dates() {
    let zone = definition(&[
        "DTSTART:19700101T000000 TZOFFSETFROM:+0000 TZOFFSETTO:+0100",
        "DTSTART:20200301T000000 TZOFFSETFROM:+0100 TZOFFSETTO:+0300 RRULE:FREQ=YEARLY;UNTIL=20210228T230000Z",
        "DTSTART:20200901T000000 TZOFFSETFROM:+0300 TZOFFSETTO:+0100 RDATE:20210901T000000",
    ]);
    let zone = Zone::Own(Arc::new(zone.onsets(at("2030-01-01T00:00:00"), &mut Steps::of(100_000)).unwrap()));
    for (moment, hours) in [
        ("1960-01-01T00:00:00", 0),
        ("1980-01-01T00:00:00", 1),
        ("2020-06-01T00:00:00", 3),
        ("2020-12-01T00:00:00", 1),
        ("2021-06-01T00:00:00", 3),
        ("2021-12-01T00:00:00", 1),
        ("2022-06-01T00:00:00", 1),
    ] {
        assert_eq!(zone.local(at(moment)), Some(at(moment) + hours * 3600), "{moment}");
    }
}

#[test]
fn observances_that_make_no_sense_are_none() {
    for text in [
        "TZOFFSETFROM:+0100 TZOFFSETTO:+0200",
        "DTSTART:19700101T000000 TZOFFSETTO:+0200",
        "DTSTART:19700101T000000 TZOFFSETFROM:+0100",
        "DTSTART:19700101T000000 TZOFFSETFROM:0100 TZOFFSETTO:+0200",
        "DTSTART:19700101T000000 TZOFFSETFROM:+01 TZOFFSETTO:+0200",
        "DTSTART:19700101T000000 TZOFFSETFROM:+2400 TZOFFSETTO:+0200",
        "DTSTART:19700101T000000 TZOFFSETFROM:+0é00 TZOFFSETTO:+0200",
        "DTSTART:x TZOFFSETFROM:+0100 TZOFFSETTO:+0200",
    ] {
        assert!(definition(&[text]).onsets(0, &mut Steps::of(1000)).is_none(), "{text}");
    }
    let seconds = definition(&["DTSTART:19700101T000000 TZOFFSETFROM:+001730 TZOFFSETTO:-001730"]);
    let onsets = seconds.onsets(0, &mut Steps::of(1000)).unwrap();
    assert_eq!(onsets.local(at("2000-01-01T00:00:00")), Some(at("1999-12-31T23:42:30")));
}

#[test]
fn a_name_leads_to_the_systems_zone_then_the_files_then_that_of_windows() {
    let mut definitions = HashMap::new();
    definitions.insert("Europe/Berlin".to_owned(), berlin());
    definitions.insert("Tokyo Standard Time".to_owned(), berlin());
    let mut empty = Definition::default();
    empty.place = Some("Asia/Tokyo".to_owned());
    definitions.insert("Empty".to_owned(), empty);
    let veil = Veil::default();
    let mut zones = Zones::new(&definitions, None, TimeZone::UTC, at("2030-01-01T00:00:00"), &veil);
    let (mut steps, mut remarks) = (Steps::of(1_000_000), Remarks::default());
    let mut find = |name: &str| match zones.of(&Wall::Zone(Arc::from(name)), &mut steps, &mut remarks) {
        Zone::Utc => "UTC".to_owned(),
        Zone::System(zone) => zone.iana_name().unwrap_or_default().to_owned(),
        Zone::Own(_) => "own".to_owned(),
    };
    for (name, expected) in [
        ("Europe/Berlin", "Europe/Berlin"),
        ("Tokyo Standard Time", "own"),
        ("Empty", "Asia/Tokyo"),
        ("Korea Standard Time", "Asia/Seoul"),
        ("/mozilla.org/20070129_1/America/Argentina/Salta", "America/Argentina/Salta"),
        ("/citadel.org/20210210_1/Europe/Paris", "Europe/Paris"),
        ("../../../etc/passwd", "UTC"),
        ("/", "UTC"),
        ("Etc/Unknown", "UTC"),
    ] {
        assert_eq!(find(name), expected, "{name}");
    }
    assert_eq!(find(&"a/".repeat(1000)), "UTC");
    assert_eq!(remarks.sentences().len(), 4);
}
