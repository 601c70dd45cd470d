//! Values that are written in every way there is, and in some that there are not.

use super::*;

fn shown(text: &str) -> Option<String> {
    let zone: Arc<str> = Arc::from("Europe/Berlin");
    Some(match Moment::parse(text, Some(&zone))? {
        Moment::Day(day) => civil::date(day).unwrap().to_string(),
        Moment::Time { local, wall } => {
            let wall = match wall {
                Wall::Floating => "floating",
                Wall::Utc => "UTC",
                Wall::Zone(_) => "zone",
            };
            format!("{} {wall}", civil::datetime(local).unwrap())
        }
    })
}

#[test]
fn dates_and_times_are_read() {
    for (text, expected) in [
        ("20240229", "2024-02-29"),
        (" 20240101T090000 ", "2024-01-01T09:00:00 zone"),
        ("20240101T090000Z", "2024-01-01T09:00:00 UTC"),
        ("20240101t235960z", "2024-01-01T23:59:59 UTC"),
        ("00010101", "0001-01-01"),
    ] {
        assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
    }
    let floating = Moment::parse("20240101T090000", None).unwrap();
    assert!(matches!(floating, Moment::Time { wall: Wall::Floating, .. }));
}

#[test]
fn what_is_no_time_is_none() {
    for text in [
        "",
        "2024",
        "20230229",
        "20241301",
        "00000101",
        "99991231",
        "20240101T",
        "20240101T0900",
        "20240101T240000",
        "20240101T096000",
        "20240101T090000+0100",
        "2024-01-01",
        "+2024011",
        "20240101T-1-1-1",
        "２０２４０１０１",
        "2024é101",
    ] {
        assert_eq!(shown(text), None, "{text}");
    }
}

#[test]
fn durations_are_days_and_seconds() {
    for (text, expected) in [
        ("P1W", Some((7, 0))),
        ("P15DT5H0M20S", Some((15, 18_020))),
        ("+PT1H30M", Some((0, 5400))),
        ("pt15m", Some((0, 900))),
        ("P0D", Some((0, 0))),
        ("-PT15M", None),
        ("P", None),
        ("PT", None),
        ("P1H", None),
        ("PT1D", None),
        ("P1D2W", None),
        ("PD", None),
        ("P101Y", None),
        ("P99999999999999999999D", None),
        ("P9223372036854775807W", None),
        ("P40000D", None),
        ("1D", None),
        ("", None),
    ] {
        assert_eq!(duration(text).map(|extent| (extent.days, extent.seconds)), expected, "{text}");
    }
}

#[test]
fn periods_end_or_last() {
    let ends = period("20240101T090000Z/20240101T100000Z", None).unwrap();
    assert!(matches!(ends.1, End::At(Moment::Time { wall: Wall::Utc, .. })));
    let lasts = period("20240101T090000Z/PT2H", None).unwrap();
    assert_eq!(lasts.1, End::After(Extent { days: 0, seconds: 7200 }));
    for text in ["20240101T090000Z", "20240101T090000Z/", "/PT1H", "x/PT1H"] {
        assert_eq!(period(text, None), None, "{text}");
    }
}
