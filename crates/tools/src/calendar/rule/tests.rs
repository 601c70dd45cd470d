//! Rules and their times, as the standard and other readers have them.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::super::civil;
use super::super::steps::Steps;
use super::*;

mod table;

fn local(text: &str) -> i64 {
    Moment::parse(text, None).unwrap().local()
}

fn shown(local: i64) -> String {
    civil::datetime(local).unwrap().strftime("%Y%m%dT%H%M%S").to_string()
}

/// The first times within a range, and how many steps they took.
fn unrolled(start: &str, rule: &str, range: (&str, &str), most: usize) -> (Vec<String>, u64) {
    let budget = 1_000_000;
    let mut steps = Steps::of(budget);
    let mut times = Vec::new();
    let range = local(range.0)..=local(range.1);
    let followed = Rule::parse(rule).unwrap().unroll(local(start), range, &mut steps, &mut |time| {
        times.push(shown(time));
        if times.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(followed.is_ok(), "{rule}");
    (times, budget - steps.left())
}

#[test]
fn what_is_no_rule_is_told() {
    for (rule, told) in [
        ("", "it has no FREQ"),
        ("COUNT=3", "it has no FREQ"),
        ("FREQ", "a part has no value"),
        ("FREQ=FORTNIGHTLY", "FREQ is not understood"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL is not understood"),
        ("FREQ=DAILY;INTERVAL=-1", "INTERVAL is not understood"),
        ("FREQ=DAILY;INTERVAL=99999999999", "INTERVAL is not understood"),
        ("FREQ=DAILY;COUNT=0", "COUNT is not understood"),
        ("FREQ=DAILY;UNTIL=soon", "UNTIL is not understood"),
        ("FREQ=DAILY;BYHOUR=24", "BYHOUR is not understood"),
        ("FREQ=DAILY;BYMINUTE=60", "BYMINUTE is not understood"),
        ("FREQ=DAILY;BYSECOND=61", "BYSECOND is not understood"),
        ("FREQ=MONTHLY;BYDAY=0MO", "BYDAY is not understood"),
        ("FREQ=MONTHLY;BYDAY=54MO", "BYDAY is not understood"),
        ("FREQ=MONTHLY;BYDAY=XX", "BYDAY is not understood"),
        ("FREQ=MONTHLY;BYDAY=é", "BYDAY is not understood"),
        ("FREQ=MONTHLY;BYDAY=", "BYDAY is not understood"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY is not understood"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "BYMONTHDAY is not understood"),
        ("FREQ=YEARLY;BYYEARDAY=367", "BYYEARDAY is not understood"),
        ("FREQ=YEARLY;BYWEEKNO=54", "BYWEEKNO is not understood"),
        ("FREQ=YEARLY;BYMONTH=13", "BYMONTH is not understood"),
        ("FREQ=YEARLY;BYSETPOS=0", "BYSETPOS is not understood"),
        ("FREQ=YEARLY;WKST=1MO", "WKST is not understood"),
        ("FREQ=YEARLY;RSCALE=HEBREW", "RSCALE is not understood"),
        ("FREQ=YEARLY;FREQ=DAILY", "a part stands there twice"),
        ("FREQ=YEARLY;BYEASTER=1", "BYEASTER is not understood"),
        ("FREQ=YEARLY;\u{1b}[31m=1", "a part is not understood"),
    ] {
        assert_eq!(Rule::parse(rule).unwrap_err(), told, "{rule}");
    }
    for rule in
        ["freq=daily", "FREQ=DAILY;", " FREQ = DAILY ; X-OTHER=1", "FREQ=YEARLY;RSCALE=GREGORIAN;SKIP=OMIT"]
    {
        assert!(Rule::parse(rule).is_ok(), "{rule}");
    }
}

#[test]
fn the_work_does_not_grow_with_the_years_since_the_start() {
    for rule in [
        "FREQ=SECONDLY;INTERVAL=7",
        "FREQ=SECONDLY;INTERVAL=7;COUNT=4000000000",
        "FREQ=MINUTELY;BYHOUR=9;BYMINUTE=0",
        "FREQ=HOURLY;INTERVAL=5",
        "FREQ=DAILY;INTERVAL=3;COUNT=100000",
        "FREQ=WEEKLY;BYDAY=MO,WE",
        "FREQ=MONTHLY;BYDAY=1FR;BYSETPOS=1",
        "FREQ=YEARLY;BYWEEKNO=2,20,53;BYDAY=MO",
        "FREQ=YEARLY;BYMONTHDAY=1,2,3;BYHOUR=1,2;BYMINUTE=0;BYSECOND=0,30",
    ] {
        let window = ("20260101T000000", "20260110T000000");
        let (times, steps) = unrolled("18000101T000000", rule, window, 300);
        assert!(!times.is_empty(), "{rule}");
        assert!(steps < 2000, "{rule}: {steps}");
    }
}

#[test]
fn a_candidate_for_every_second_of_a_year_costs_nothing() {
    let all = |most: u32| (0..most).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let every = format!("BYHOUR={};BYMINUTE={};BYSECOND={}", all(24), all(60), all(60));
    let days = "BYDAY=MO,TU,WE,TH,FR,SA,SU";
    let rule = format!("FREQ=YEARLY;{days};{every};COUNT=4000000000");
    let (times, steps) = unrolled("20200101T000000", &rule, ("20261231T235958", "20270101T000001"), 10);
    assert_eq!(times, ["20261231T235958", "20261231T235959", "20270101T000000", "20270101T000001"]);
    assert!(steps < 4000, "{steps}");
    let last = format!("FREQ=YEARLY;{days};{every};BYSETPOS=-1,366");
    let (times, _) = unrolled("20200101T000000", &last, ("20260101T000000", "20270101T000000"), 10);
    assert_eq!(times, ["20260101T000605", "20261231T235959"]);
}

#[test]
fn a_rule_that_never_matches_ends() {
    for rule in [
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30,31",
        "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=5",
        "FREQ=MINUTELY;BYSETPOS=5",
    ] {
        let (times, _) = unrolled("19700101T000000", rule, ("20260101T000000", "20260301T000000"), 300);
        assert!(times.is_empty(), "{rule}: {times:?}");
    }
    // Who counts from the beginning of time is stopped by the steps.
    let rule = Rule::parse("FREQ=SECONDLY;BYMINUTE=1;BYSETPOS=2;COUNT=3").unwrap();
    let mut steps = Steps::of(10_000);
    let range = local("20260101")..=local("20270101");
    let followed =
        rule.unroll(local("19000101T000000"), range, &mut steps, &mut |_| ControlFlow::Continue(()));
    assert!(followed.is_err());
    assert_eq!(steps.left(), 0);
}

fn part() -> impl Strategy<Value = String> {
    let numbers = |name: &'static str, low: i64, high: i64| {
        prop::collection::vec(low..=high, 1..5).prop_map(move |all| {
            let all: Vec<_> =
                all.iter().map(|n| if low < 0 && *n == 0 { 1 } else { *n }.to_string()).collect();
            format!(";{name}={}", all.join(","))
        })
    };
    prop_oneof![
        numbers("BYSECOND", 0, 60),
        numbers("BYMINUTE", 0, 59),
        numbers("BYHOUR", 0, 23),
        numbers("BYMONTHDAY", -31, 31),
        numbers("BYYEARDAY", -366, 366),
        numbers("BYWEEKNO", -53, 53),
        numbers("BYMONTH", 1, 12),
        numbers("BYSETPOS", -366, 366),
        (1u32..=u32::MAX).prop_map(|n| format!(";INTERVAL={n}")),
        (1u32..40).prop_map(|n| format!(";INTERVAL={n}")),
        (1u32..=u32::MAX).prop_map(|n| format!(";COUNT={n}")),
        (1u32..40).prop_map(|n| format!(";COUNT={n}")),
        "(-?[1-5])?(MO|TU|WE|TH|FR|SA|SU)".prop_map(|day| format!(";BYDAY={day}")),
        "(MO|SU|WE)".prop_map(|day| format!(";WKST={day}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    /// Any rule, however far its window, takes its steps and no more, and its times are in order, within the window, and
    /// the same wherever the window begins.
    #[test]
    fn every_rule_ends_within_its_steps_and_in_order(
        frequency in "(YEAR|MONTH|WEEK|HOUR|MINUTE|SECOND)LY|DAILY",
        parts in prop::collection::btree_map(0usize..14, part(), 0..5),
        start in -30_000i64..40_000,
        time in 0i64..86_400,
        begin in -2000i64..20_000,
        length in 1i64..400,
    ) {
        let mut text = format!("FREQ={frequency}");
        for part in parts.into_values() {
            let name = part.split('=').next().unwrap().to_owned();
            if !text.contains(&name) {
                text.push_str(&part);
            }
        }
        let rule = Rule::parse(&text).unwrap();
        let start = start * civil::DAY + time;
        let (from, to) = (start + begin * civil::DAY, start + (begin + length) * civil::DAY);
        let budget = 60_000;
        let times = |from: i64| {
            let mut steps = Steps::of(budget);
            let mut times = Vec::new();
            let done = rule.unroll(start, from..=to, &mut steps, &mut |time| {
                times.push(time);
                if times.len() < 500 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            (done.is_ok(), times)
        };
        let (whole, found) = times(from);
        prop_assert!(found.iter().all(|time| (from..=to).contains(time) && *time >= start), "{text}");
        prop_assert!(found.is_sorted_by(|a, b| a < b), "{text}");
        // From a little earlier, the same times come, if there were steps enough for both.
        let (whole_before, before) = times(from - 40 * civil::DAY);
        if whole && whole_before && before.len() < 500 {
            let later: Vec<_> = before.into_iter().filter(|time| *time >= from).collect();
            prop_assert_eq!(later, found, "{}", text);
        }
    }
}
