//! Every rule of the format, and that no split of the bytes changes what comes out.

use proptest::prelude::*;

use super::*;

/// Feeds the pieces, and takes all events after each.
fn events(limit: usize, pieces: &[&[u8]]) -> (Vec<Event>, Events) {
    let mut events = Events::new(limit);
    let mut out = Vec::new();
    for piece in pieces {
        events.feed(piece.to_vec());
        while let Some(event) = events.take() {
            out.push(event);
        }
    }
    (out, events)
}

fn all(text: &str) -> Vec<Event> {
    events(1000, &[text.as_bytes()]).0
}

fn whole(kind: &str, data: &str) -> Event {
    Event::Whole { kind: kind.to_owned(), data: data.as_bytes().to_vec() }
}

fn message(data: &str) -> Event {
    whole("message", data)
}

#[test]
fn lines_of_data_are_joined_and_the_first_space_is_no_part_of_them() {
    assert_eq!(all("data: one\ndata:two\ndata:  three\n\n"), [message("one\ntwo\n three")]);
    assert_eq!(all("data\n\n"), [message("")], "a field without a colon is empty");
    assert_eq!(all("data:\ndata: x\n\n"), [message("\nx")]);
    assert_eq!(all("data: a: b\n\n"), [message("a: b")], "only the first colon parts");
}

#[test]
fn lines_end_with_cr_or_lf_or_both() {
    let expected = [message("a\nb"), whole("x", "c")];
    assert_eq!(all("data: a\ndata: b\n\nevent: x\ndata: c\n\n"), expected);
    assert_eq!(all("data: a\rdata: b\r\revent: x\rdata: c\r\r"), expected);
    assert_eq!(all("data: a\r\ndata: b\r\n\r\nevent: x\r\ndata: c\r\n\r\n"), expected);
    let (split, _) = events(9, &[b"data: a\r", b"\ndata: b\r\n\r", b"\nevent: x\ndata: c\n", b"\n"]);
    assert_eq!(split, expected, "a CR LF that is split ends one line");
}

#[test]
fn comments_and_unknown_fields_and_a_byte_order_mark_are_skipped() {
    assert_eq!(all("\u{feff}data: a\n\n"), [message("a")]);
    let (split, _) = events(9, &[b"\xef", b"\xbb\xbfda", b"ta: a\n\n"]);
    assert_eq!(split, [message("a")]);
    assert_eq!(all(": ping\n\n:\n\ndate: x\nDATA: y\n\ndata: a\n\n"), [message("a")]);
    assert_eq!(all("data: a\n\n\u{feff}data: b\n\n"), [message("a")], "it is only skipped at the beginning");
}

#[test]
fn an_event_without_data_or_without_its_end_is_none() {
    assert_eq!(all("event: x\n\ndata: a\n\n"), [message("a")], "and its name is forgotten");
    assert_eq!(all("data: a\n"), []);
    assert_eq!(all(""), []);
}

#[test]
fn ids_and_waits_are_remembered_when_they_can_be_used() {
    let seen = |text: &str| {
        let (_, events) = events(100, &[text.as_bytes()]);
        (events.last_id().map(str::to_owned), events.retry())
    };
    let millis = |millis| Some(Duration::from_millis(millis));
    assert_eq!(seen("id: 7\nretry: 250\ndata: a\n\n"), (Some("7".to_owned()), millis(250)));
    assert_eq!(seen("id: 7\n\ndata: a\n\n"), (Some("7".to_owned()), None), "also of one without data");
    assert_eq!(seen("id: 7\ndata: a\n\nid\ndata: b\n\n"), (None, None), "an empty one takes it back");
    assert_eq!(seen("id: 7\ndata: a\n\nid: 8\ndata: b\n"), (Some("7".to_owned()), None), "once it is whole");
    assert_eq!(seen("id: 7\nid: a\0b\ndata: a\n\n").0, Some("7".to_owned()));
    for bad in ["-1", "1.5", "", "x", "99999999999999999999999"] {
        assert_eq!(seen(&format!("retry: {bad}\n\n")).1, None, "{bad}");
    }
    assert_eq!(seen(&format!("id: {}\ndata: a\n\n", "x".repeat(2000))).0, None, "nor one without an end");
}

#[test]
fn an_event_over_the_limit_is_reported_once_and_the_next_is_served() {
    let long = [b'x'; 64];
    let (out, _) = events(10, &[b"data: a\n\ndata: ", &long, &long, b"\ndata: more\n\ndata: b\n\n"]);
    assert_eq!(out, [message("a"), Event::TooLong, message("b")]);
    let (out, _) = events(10, &[b"data: 12345\ndata: 67890\ndata: x\n\ndata: b\n\n"]);
    assert_eq!(out, [Event::TooLong, message("b")], "its lines count together");
    let (out, _) = events(10, &[b": ", &long, &long, b"\n\ndata: b\n\n"]);
    assert_eq!(out, [Event::TooLong, message("b")], "no line may be longer, whatever it is");
    let (out, _) = events(10, &[b"data: 1234567890\n\n"]);
    assert_eq!(out, [message("1234567890")], "as long as may be");
}

#[test]
fn an_event_that_never_ends_is_not_held() {
    let mut events = Events::new(1000);
    events.feed(b"data: ".to_vec());
    assert_eq!(events.take(), None);
    for round in 0..1000 {
        events.feed(if round % 2 == 0 { vec![b'x'; 17 * 1000] } else { b"\ndata: y\n".to_vec() });
        assert_eq!(events.take(), None);
        let held = events.line.capacity() + events.present.data.as_ref().map_or(0, Vec::capacity);
        assert!(held < 8 * 1024, "{held}");
        assert!(events.is_too_long());
        assert_eq!(events.is_endless(), round > 1, "{round}");
    }
    events.feed(b"\n\n".to_vec());
    assert_eq!(events.take(), Some(Event::TooLong));
    assert!(!events.is_too_long() && !events.is_endless());
}

#[test]
fn a_line_feed_ends_the_line_before_it_once() {
    assert_eq!(
        events(1000, &[b"data: x\r\n", b"\ndata: y\r", b"\n\r", b"\n"]).0,
        [message("x"), message("y")]
    );
}

proptest! {
    #[test]
    fn any_split_of_any_bytes_gives_the_same_events(
        words in proptest::collection::vec(proptest::sample::select(vec![
            "data: ", "event:", "id: 1", "retry: 5", ":", "\n", "\n\n", "\r", "\r\n", "\u{feff}", "\0", "some words",
        ]), 0..60),
        cuts in proptest::collection::vec(0_usize..400, 0..8),
        limit in 1_usize..40,
    ) {
        let bytes = words.concat().into_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let (split, after) = events(limit, &pieces);
        let (at_once, same) = events(limit, &[&bytes]);
        prop_assert_eq!(split, at_once);
        prop_assert_eq!((after.last_id(), after.retry()), (same.last_id(), same.retry()));
    }
}
