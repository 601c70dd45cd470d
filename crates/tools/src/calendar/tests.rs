//! Whole calendars, and what happens on which days by them.

use super::*;

mod bounds;
mod broken;
mod exceptions;
mod repetition;
mod times;

/// A calendar with these lines in it.
fn calendar(lines: &str) -> Calendar {
    let text = format!("BEGIN:VCALENDAR\nVERSION:2.0\n{}\nEND:VCALENDAR\n", lines.trim());
    Calendar::read(text.replace('\n', "\r\n").as_bytes(), &Veil::default()).unwrap()
}

/// An event with these lines in it, which stand apart by spaces.
fn event(lines: &str) -> String {
    let lines: Vec<&str> = lines.split_whitespace().collect();
    format!("BEGIN:VEVENT\nUID:u\nSUMMARY:e\n{}\nEND:VEVENT\n", lines.join("\n"))
}

fn window(from: &str, days: u16, zone: &str) -> Window {
    Window::new(from.parse().unwrap(), days, TimeZone::get(zone).unwrap()).unwrap()
}

/// The instances as `2026-01-31T09:00+10:00 title`, with the end where it is on another day.
fn shown(listing: &Listing, window: &Window) -> Vec<String> {
    let at = |instant: Timestamp| window.zone.to_datetime(instant);
    let each = listing.occurrences.iter().map(|occurrence| {
        let title = &occurrence.told.title;
        match occurrence.when {
            When::Days { first, after } => format!("{first}/{after} {title}"),
            When::Times { start, end } => {
                let (start, end) = (at(start), at(end));
                let until = if start.date() == end.date() { "%H:%M" } else { "%Y-%m-%dT%H:%M" };
                format!("{}-{} {title}", start.strftime("%Y-%m-%dT%H:%M"), end.strftime(until))
            }
        }
    });
    each.collect()
}

/// What happens by the clocks of Berlin, without remarks.
#[track_caller]
fn berlin(lines: &str, from: &str, days: u16) -> Vec<String> {
    let window = window(from, days, "Europe/Berlin");
    let listing = calendar(lines).within(&window);
    assert_eq!(listing.remarks.sentences(), Vec::<String>::new());
    shown(&listing, &window)
}

/// The remarks about a calendar, by the clocks of Berlin.
fn remarks(lines: &str, from: &str, days: u16) -> (Vec<String>, Vec<String>) {
    let window = window(from, days, "Europe/Berlin");
    let listing = calendar(lines).within(&window);
    (shown(&listing, &window), listing.remarks.sentences())
}

#[test]
fn what_people_read_of_an_event_is_unescaped_and_unfolded() {
    let lines = "BEGIN:VEVENT\nUID:7@x\nDTSTART:20260301T090000Z\nSUMMARY;LANGUAGE=en:One\\, two\\; a ve\n ry long \
                 tit\n\tle\nLOCATION:Room \\\\4\nDESCRIPTION:first\\nsecond\nBEGIN:VALARM\nSUMMARY:alarm\nEND:VALARM\nEND:VEVENT";
    let listing = calendar(lines).within(&window("2026-03-01", 1, "UTC"));
    let told = Told {
        uid: "7@x".to_owned(),
        title: "One, two; a very long title".to_owned(),
        location: Some("Room \\4".to_owned()),
        description: Some("first\nsecond".to_owned()),
    };
    assert_eq!(listing.occurrences.len(), 1);
    assert_eq!(*listing.occurrences[0].told, told);
    let bare = calendar("BEGIN:VEVENT\nDTSTART:20260301T090000Z\nSUMMARY: \nLOCATION:\nEND:VEVENT");
    let listing = bare.within(&window("2026-03-01", 1, "UTC"));
    let told = Told { title: "(no title)".to_owned(), ..Told::default() };
    assert_eq!(*listing.occurrences[0].told, told);
}
