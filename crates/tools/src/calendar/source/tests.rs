//! Files and addresses, good and bad.

use std::sync::Arc;

use covenant_gate::clock::HandClock;
use jiff::tz::TimeZone;

use super::*;
use crate::ports::Later;
use crate::settings;

const ICS: &str =
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:e\nDTSTART:20260302T090000Z\nEND:VEVENT\nEND:VCALENDAR\n";

type Answer = Result<(u16, Vec<(HeaderName, &'static str)>, Bytes, bool), String>;

/// Answers in turn, and remembers what was asked.
struct Answers {
    next: Mutex<Vec<Answer>>,
    asked: Mutex<Vec<Request>>,
}

impl Web for Answers {
    fn send(&self, request: Request) -> Later<'_, Result<Response, String>> {
        let url = request.url.clone();
        self.asked.lock().unwrap().push(request);
        let answer = self.next.lock().unwrap().remove(0);
        Box::pin(async move {
            let (status, said, body, cut) = answer?;
            let headers =
                said.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
            Ok(Response { url, status, headers, body, cut })
        })
    }
}

fn answers(next: Vec<Answer>) -> Answers {
    Answers { next: Mutex::new(next), asked: Mutex::default() }
}

#[expect(clippy::unnecessary_wraps, reason = "one of the answers there are")]
fn said(status: u16, headers: &[(HeaderName, &'static str)], body: &'static str) -> Answer {
    Ok((status, headers.to_vec(), Bytes::from_static(body.as_bytes()), false))
}

fn source(place: CalendarSource) -> Source {
    Source::new(&settings::Calendar { name: "team".to_owned(), source: place })
}

fn secret() -> Source {
    source(CalendarSource::Address(
        "https://ada:pw@cal.example/hunter2/basic.ics?key=hunter3".parse().unwrap(),
    ))
}

fn clock() -> Arc<HandClock> {
    Arc::new(HandClock::at(Timestamp::from_millis(1_000_000_000)))
}

fn window() -> Window {
    Window::new("2026-03-02".parse().unwrap(), 1, TimeZone::UTC).unwrap()
}

async fn count(source: &Source, web: &Answers, clock: &HandClock) -> Result<usize, String> {
    source.within(window(), Veil::default(), web, clock).await.map(|listing| listing.occurrences.len())
}

#[tokio::test]
async fn an_answer_is_good_for_a_minute_and_then_only_a_change_is_asked_for() {
    let kept = [(ETAG, "\"one\""), (LAST_MODIFIED, "Mon, 02 Mar 2026 00:00:00 GMT")];
    let web = answers(vec![
        said(200, &kept, ICS),
        said(304, &[], ""),
        said(200, &[], "BEGIN:VCALENDAR\n"),
        said(200, &[], ICS),
    ]);
    let (source, clock) = (secret(), clock());
    let asked = || web.asked.lock().unwrap().len();
    assert_eq!(count(&source, &web, &clock).await, Ok(1));
    clock.advance(Duration::from_secs(59));
    assert_eq!((count(&source, &web, &clock).await, asked()), (Ok(1), 1));
    clock.advance(Duration::from_secs(1));
    assert_eq!((count(&source, &web, &clock).await, asked()), (Ok(1), 2));
    // Not changed: good for another minute.
    clock.advance(Duration::from_secs(59));
    assert_eq!((count(&source, &web, &clock).await, asked()), (Ok(1), 2));
    clock.advance(Duration::from_secs(2));
    assert_eq!((count(&source, &web, &clock).await, asked()), (Ok(0), 3));
    // A clock that was put back does not make an answer good for long.
    clock.set(Timestamp::from_millis(5));
    assert_eq!((count(&source, &web, &clock).await, asked()), (Ok(1), 4));
    let requests = web.asked.lock().unwrap();
    for (number, conditional) in [(0, false), (1, true), (2, true), (3, false)] {
        let headers = &requests[number].headers;
        assert_eq!(headers.get(IF_NONE_MATCH).is_some_and(|tag| tag == "\"one\""), conditional, "{number}");
        assert_eq!(headers.get(IF_MODIFIED_SINCE).is_some(), conditional, "{number}");
        assert_eq!((requests[number].redirects, requests[number].most), (3, MOST_BYTES));
    }
}

#[tokio::test]
async fn every_failure_names_the_calendar_and_nothing_of_its_address_but_the_host() {
    let html = [(CONTENT_TYPE, "text/html; charset=utf-8")];
    let page = "cal.example sent a web page (HTML) and no calendar; in `url` write the address of its iCalendar feed, which \
                often ends in .ics";
    let big = Ok((200, Vec::new(), Bytes::from_static(ICS.as_bytes()), true));
    for (answer, told) in [
        (Err("cal.example cannot be reached".to_owned()), "cal.example cannot be reached"),
        (
            said(401, &[], ""),
            "cal.example wants to know who asks (401); give its `url` a user and password, or a secret address",
        ),
        (
            said(403, &[], ""),
            "cal.example does not allow it (403); the calendar is not shared, or its secret address was changed",
        ),
        (said(404, &[], ""), "cal.example has no calendar there (404); check its `url`"),
        (said(410, &[], ""), "cal.example has no calendar there (410); check its `url`"),
        (said(429, &[], ""), "cal.example was asked too often (429); try again later"),
        (said(500, &[], ""), "cal.example has trouble of its own (500); try again later"),
        (said(503, &[], ""), "cal.example has trouble of its own (503); try again later"),
        (said(418, &[], ""), "cal.example answered with status 418"),
        (said(304, &[], ""), "cal.example answered with status 304"),
        (
            said(302, &[(LOCATION, "https://other.example/hunter2?x=hunter3")], ""),
            "cal.example redirects to other.example (302), which is not followed; write its address there as `url`",
        ),
        (said(200, &html, "<p>Sign in"), page),
        (said(200, &[], " \n<!DOCTYPE HTML><p>Sign in"), page),
        (said(200, &[], "<html>"), page),
        (said(200, &[], "hello"), "it is no calendar: it has no line `BEGIN:VCALENDAR`"),
        (big, "cal.example sent more than 10 MiB"),
    ] {
        let failed = count(&secret(), &answers(vec![answer]), &clock()).await.unwrap_err();
        assert_eq!(failed, format!("failed to fetch the calendar `team`: {told}"));
    }
    // A calendar is one whatever its server calls it.
    assert_eq!(count(&secret(), &answers(vec![said(200, &html, ICS)]), &clock()).await, Ok(1));
}

#[tokio::test]
async fn a_failure_is_good_for_a_minute_too_and_then_all_is_asked_for() {
    let web = answers(vec![
        said(200, &[(ETAG, "\"w\"")], ICS),
        Err("cal.example cannot be reached".to_owned()),
        said(503, &[], ""),
        said(200, &[(ETAG, "\"x\"")], "hello"),
        said(200, &[], ICS),
    ]);
    let (source, clock) = (secret(), clock());
    let asked = || web.asked.lock().unwrap().len();
    assert_eq!((count(&source, &web, &clock).await, asked()), (Ok(1), 1));
    for failures in 1..=3 {
        clock.advance(Duration::from_mins(1));
        let first = count(&source, &web, &clock).await.unwrap_err();
        clock.advance(Duration::from_secs(59));
        assert_eq!((count(&source, &web, &clock).await, asked()), (Err(first), 1 + failures));
    }
    clock.advance(Duration::from_secs(2));
    assert_eq!((count(&source, &web, &clock).await, asked()), (Ok(1), 5));
    assert_eq!(web.asked.lock().unwrap()[4].headers.get(IF_NONE_MATCH), None);
}

#[tokio::test]
async fn files_are_read_anew_each_time_and_within_bounds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("team.ics");
    let source = source(CalendarSource::File(path.clone()));
    let web = answers(Vec::new());
    let failed = |told: &str| Err(format!("failed to read the calendar `team`: {told}"));
    assert_eq!(count(&source, &web, &clock()).await, failed("its file is not there; check its `path`"));
    std::fs::write(&path, ICS).unwrap();
    assert_eq!(count(&source, &web, &clock()).await, Ok(1));
    std::fs::write(&path, "BEGIN:VCALENDAR\n").unwrap();
    assert_eq!(count(&source, &web, &clock()).await, Ok(0));
    std::fs::write(&path, vec![b'\n'; MOST_BYTES + 1]).unwrap();
    assert_eq!(count(&source, &web, &clock()).await, failed("its file has more than 10 MiB"));
    std::fs::write(&path, "hello").unwrap();
    assert_eq!(
        count(&source, &web, &clock()).await,
        failed("it is no calendar: it has no line `BEGIN:VCALENDAR`")
    );
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(count(&source, &web, &clock()).await, failed("its `path` leads to something that is no file"));
}
