//! Calendars that are not as they should be: what cannot be read is left out, and told.

use super::*;

const GOOD: &str = "BEGIN:VEVENT\nUID:good\nSUMMARY:good\nDTSTART:20260302T080000Z\nEND:VEVENT\n";

#[test]
fn what_is_no_calendar_is_an_error() {
    for text in [
        "",
        "<!doctype html><title>Sign in</title>",
        "BEGIN:VCARD\nEND:VCARD\n",
        "BEGIN:VEVENT\nEND:VEVENT",
        "\0",
    ] {
        let error = Calendar::read(text.as_bytes(), &Veil::default()).unwrap_err();
        assert_eq!(error.to_string(), "it is no calendar: it has no line `BEGIN:VCALENDAR`", "{text}");
    }
    for text in ["BEGIN:VCALENDAR", "\u{feff}begin:vcalendar\r\nend:vcalendar\r\n", "\n\nBEGIN: VCALENDAR\n"]
    {
        assert!(Calendar::read(text.as_bytes(), &Veil::default()).is_ok(), "{text}");
    }
}

#[test]
fn each_broken_part_is_told_and_the_rest_is_shown() {
    for (lines, shown, told) in [
        ("DTSTART:soon", 0, "The event \"e\" has no start that can be read and is left out."),
        ("SUMMARY:x", 0, "The event \"e\" has no start that can be read and is left out."),
        ("DTSTART:20260302T090000Z DTEND:later", 1, "The event \"e\" has an end that cannot be read."),
        ("DTSTART:20260302T090000Z DURATION:-PT5M", 1, "The event \"e\" has an end that cannot be read."),
        (
            "DTSTART:20260302T090000Z RRULE:FREQ=SOMETIMES",
            1,
            "The event \"e\" has a repetition that is left out: FREQ is not understood.",
        ),
        (
            "DTSTART;VALUE=DATE:20260302 RRULE:FREQ=HOURLY",
            1,
            "The event \"e\" has a repetition that is left out: an event of whole days cannot repeat within a day.",
        ),
        (
            "DTSTART:20260302T090000Z RDATE:x,20260303T090000Z",
            2,
            "The event \"e\" has an RDATE that cannot be read.",
        ),
        ("DTSTART:20260302T090000Z EXDATE:x", 1, "The event \"e\" has an EXDATE that cannot be read."),
        (
            "DTSTART:20260302T090000Z RECURRENCE-ID:x",
            0,
            "The event \"e\" changes a time that cannot be read and is left out.",
        ),
        (
            "DTSTART:20260302T090000Z EXRULE:FREQ=DAILY",
            1,
            "The event \"e\" has an EXRULE, which is no longer part of the standard and is left out.",
        ),
        (
            "DTSTART;TZID=Mars/Olympus:20260302T090000",
            1,
            "The time zone \"Mars/Olympus\" is not known; its times are read as UTC.",
        ),
        ("DTSTART:20260302T090000Z nonsense", 1, "Line 11 is no property and is left out."),
        ("DTSTART:20260302T090000Z SUMMARY;X", 1, "Line 11 is no property and is left out."),
    ] {
        let (found, remarks) =
            remarks(&format!("{GOOD}{}", event(lines).replace("UID:u\n", "")), "2026-03-01", 7);
        assert_eq!(remarks, [told], "{lines}");
        assert_eq!(found.len(), shown + 1, "{lines}: {found:?}");
    }
}

#[test]
fn an_unknown_zone_is_the_files_own_where_it_says_one() {
    let lines = format!("X-WR-TIMEZONE:Asia/Tokyo\n{}", event("DTSTART;TZID=Mars:20260302T090000"));
    let (found, remarks) = remarks(&lines, "2026-03-02", 1);
    assert_eq!(found, ["2026-03-02T01:00-01:00 e"]);
    assert_eq!(remarks, ["The time zone \"Mars\" is not known; its times are read as \"Asia/Tokyo\"."]);
}

#[test]
fn components_that_never_end_end_where_the_next_begins() {
    for lines in [
        "BEGIN:VEVENT\nUID:a\nSUMMARY:e\nDTSTART:20260302T090000Z\n",
        "BEGIN:VEVENT\nUID:a\nSUMMARY:e\nDTSTART:20260302T090000Z\nBEGIN:VALARM\nSUMMARY:alarm\n",
        "BEGIN:VTODO\nUID:t\nDTSTART:20260302T090000Z\nEND:VTODO\nBEGIN:VEVENT\nSUMMARY:e\nDTSTART:20260302T090000Z\nEND:VEVENT\n",
        "END:VEVENT\nEND:X\nBEGIN:VEVENT\nSUMMARY:e\nDTSTART:20260302T090000Z\nBEGIN:STANDARD\nEND:STANDARD\nEND:VEVENT\n",
        "BEGIN:VTIMEZONE\nBEGIN:STANDARD\nBEGIN:VEVENT\nSUMMARY:e\nDTSTART:20260302T090000Z\nEND:VEVENT\n",
    ] {
        let found = berlin(&format!("{lines}{GOOD}"), "2026-03-02", 1);
        assert_eq!(found, ["2026-03-02T09:00-09:00 good", "2026-03-02T10:00-10:00 e"], "{lines}");
    }
    // Several calendars in one file are one.
    assert_eq!(
        berlin(
            &format!("{GOOD}END:VCALENDAR\nBEGIN:VCALENDAR\n{}", event("DTSTART:20260302T090000Z")),
            "2026-03-02",
            1
        )
        .len(),
        2
    );
    let cut = Calendar::read(
        format!("BEGIN:VCALENDAR\n{GOOD}BEGIN:VEVENT\nDTSTART:2026").as_bytes(),
        &Veil::default(),
    )
    .unwrap();
    let listing = cut.within(&window("2026-03-02", 1, "UTC"));
    assert_eq!(listing.occurrences.len(), 1);
    assert!(listing.remarks.sentences().contains(&"The file ends before its calendar does.".to_owned()));
}

#[test]
fn titles_in_remarks_are_short_and_on_one_line() {
    let lines = format!("BEGIN:VEVENT\nSUMMARY:{}\\n\u{1b}[31m\nEND:VEVENT", "long ".repeat(100));
    let (_, remarks) = remarks(&lines, "2026-03-02", 1);
    assert_eq!(remarks.len(), 1);
    assert!(remarks[0].len() < 150 && !remarks[0].contains(['\n', '\u{1b}']), "{remarks:?}");
}

#[test]
fn nothing_is_cut_before_its_secrets_are_gone() {
    let secret = "correct-horse,battery;staple";
    let veil = Veil::of([std::sync::Arc::new(covenant_model::redact::Redactor::new([("KEY", secret)]))]);
    let written = r"correct-horse\,battery\;staple";
    for before in [0, 40, 50, 59, 180, 190, 199, 980, 990, 999] {
        let text = format!("{}{written}", "x".repeat(before));
        let zone = format!("{}{}", "x".repeat(before), secret);
        let file = format!(
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{text}\nSUMMARY:{text}\nLOCATION:{text}\nDESCRIPTION:{text}\n\
             DTSTART;TZID=\"{zone}\":20260302T090000\nDTEND:later\nEND:VEVENT\nEND:VCALENDAR\n"
        );
        let window = window("2026-03-02", 1, "UTC");
        let listing = Calendar::read(file.as_bytes(), &veil).unwrap().within(&window);
        let remarks = listing.remarks.sentences();
        assert_eq!((listing.occurrences.len(), remarks.len()), (1, 2), "{remarks:?}");
        let agenda = Agenda::new(&window, vec![("team", listing.occurrences)], remarks);
        let told = format!("{} {}", agenda.text(), agenda.json());
        assert!(!told.contains("corr"), "{before}: {told}");
    }
}
