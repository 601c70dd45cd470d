//! A web that follows a script, for whatever speaks to a service, and what a service may show.

use std::collections::VecDeque;
use std::sync::Mutex;

use bytes::Bytes;
use covenant_gate::clock::HandClock;

use super::*;
use crate::ports::Later;

/// Gives the answers it was told to, in order, and keeps what was sent.
#[derive(Default)]
pub(crate) struct Script {
    answers: Mutex<VecDeque<Result<Response, String>>>,
    sent: Mutex<Vec<Request>>,
}

impl Script {
    pub(crate) fn new(answers: impl IntoIterator<Item = Result<Response, String>>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), sent: Mutex::default() })
    }

    pub(crate) fn sent(&self) -> Vec<Request> {
        self.sent.lock().unwrap().clone()
    }
}

impl Web for Script {
    fn send(&self, request: Request) -> Later<'_, Result<Response, String>> {
        self.sent.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async { answer.unwrap_or_else(|| Err("nothing more was expected".to_owned())) })
    }
}

/// An answer with that status, those headers (`name: value`) and that body.
#[expect(clippy::unnecessary_wraps, reason = "it stands where there may be none")]
pub(crate) fn answer(status: u16, headers: &[&str], body: &str) -> Result<Response, String> {
    let pairs = headers.iter().map(|line| line.split_once(": ").unwrap());
    let pairs = pairs.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    Ok(Response {
        url: Url::parse("https://service.example/").unwrap(),
        status,
        headers: pairs.collect::<HeaderMap>(),
        body: Bytes::from(body.to_owned()),
        cut: false,
    })
}

/// A service at that address, by that script, at noon of 2026-11-16.
pub(crate) fn service(base: &str, web: Arc<dyn Web>) -> Service {
    let place = Place {
        name: "Example",
        section: "chat.team".to_owned(),
        base: Url::parse(base).unwrap(),
        hidden: Hidden::default(),
        web,
        clock: Arc::new(HandClock::at(Timestamp::from_millis(1_794_830_400_000))),
    };
    let token = Secret::new("token-of-the-team".to_owned());
    Service::new(place, Some(&token)).authorized("Bearer", &token).unwrap()
}

#[test]
fn a_segment_stays_one_whatever_is_in_it() {
    let service = service("https://host.example/api/v3/?debug=1#top", Script::new([]));
    for (segments, path) in [
        (&["repos", "a", "b"][..], "/api/v3/repos/a/b"),
        (&["rooms", "#a/b?c:d"], "/api/v3/rooms/%23a%2Fb%3Fc:d"),
        (&["rooms", "!ä b%2F\\"], "/api/v3/rooms/!%C3%A4%20b%252F%5C"),
    ] {
        let url = service.address(segments);
        assert_eq!(url.as_str(), format!("https://host.example{path}"));
    }
}

#[test]
fn a_wait_is_read_in_seconds_and_as_a_date() {
    let now = Timestamp::from_millis(1_794_830_400_000);
    for (value, wait) in [
        ("30", Some(30.0)),
        ("0", Some(0.0)),
        ("1.5", Some(1.5)),
        ("Mon, 16 Nov 2026 12:00:07 GMT", Some(7.0)),
        ("Mon, 16 Nov 2026 11:00:00 GMT", Some(0.0)),
        ("-1", None),
        ("NaN", None),
        ("1e300", None),
        ("soon", None),
    ] {
        let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
        assert_eq!(retry_after(&headers, now).map(|wait| wait.as_secs_f64()), wait, "{value}");
    }
    assert_eq!(retry_after(&HeaderMap::new(), now), None);
}

#[test]
fn a_wait_is_told_in_whole_seconds() {
    for (millis, told) in [(0, "1 second"), (200, "1 second"), (1001, "2 seconds"), (64_570, "65 seconds")] {
        assert_eq!(seconds(Duration::from_millis(millis)), told);
    }
}

#[test]
fn what_a_service_says_is_shown_in_one_line_and_without_credentials() {
    let base = "https://user:long-password@host.example/services/T0000000001/kept?key=value-of-key";
    let service = service(base, Script::new([]));
    let said = "no\r\n T0000000001, value-of-key, long-password or token-of-the-team, but `services`";
    assert_eq!(
        service.shown(said),
        "no   [REDACTED:url], [REDACTED:url], [REDACTED:url] or [REDACTED:token], but `services`"
    );
    assert_eq!(service.shown(&"x".repeat(1000)).chars().count(), SHOWN + 1);
}

#[test]
fn a_credential_that_came_from_a_secret_is_called_by_its_name() {
    let base = Url::parse("https://host.example/services/T0000000001").unwrap();
    let hidden = Hidden { token: "TEAM_TOKEN".to_owned(), url: "HOOK_URL".to_owned() };
    let own = own(&base, Some(&Secret::new("token-of-the-team".to_owned())), &hidden);
    assert_eq!(
        own.redact("token-of-the-team at T0000000001"),
        "[REDACTED:TEAM_TOKEN] at [REDACTED:HOOK_URL]"
    );
}

#[test]
fn what_a_service_says_is_cut_after_every_secret_is_gone() {
    let secret = "correct-horse-battery-staple";
    let veil = Veil::of([Arc::new(Redactor::new([("OTHER", secret)]))]);
    let service = service("https://host.example", Script::new([])).veiled(veil);
    for before in SHOWN - 30..=SHOWN {
        let shown = service.shown(&format!("{}{secret}", "x".repeat(before)));
        assert!(!shown.contains("corr"), "{shown}");
    }
}

#[test]
fn a_token_is_sent_but_never_printed() {
    let service = service("https://host.example", Script::new([]));
    let request = service.get(service.address(&["x"]));
    assert_eq!(request.headers[AUTHORIZATION], "Bearer token-of-the-team");
    assert!(!format!("{request:?}").contains("token-of-the-team"));
}

#[test]
fn a_token_that_no_header_may_hold_is_refused_without_being_said() {
    let place = Place {
        name: "Example",
        section: "github".to_owned(),
        base: Url::parse("https://host.example").unwrap(),
        hidden: Hidden::default(),
        web: Script::new([]),
        clock: Arc::new(HandClock::at(Timestamp::from_millis(1))),
    };
    let token = Secret::new("two\nlines".to_owned());
    let refused = Service::new(place, Some(&token)).authorized("Bearer", &token).err().unwrap();
    assert_eq!(
        refused,
        "the token of [github] has characters that no header may hold: store it again, in one line"
    );
}
