//! Every rule of the transport, kept and broken. The same over real connections: `daemon::outbound::courier`.

use std::time::Duration;

use covenant_model::server::WebTransport;
use tokio::time::timeout;

use super::*;
use crate::upstream::ports::Method;
use crate::upstream::stage::{Came, Heed, LIMIT, Said, Stage, letter, notice, result, until, web};

const URL: &str = "http://a.example:1/mcp";

fn wire(
    server: impl Fn(&Came) -> Result<Said, String> + Send + Sync + 'static,
) -> (Arc<HttpWire>, Arc<Stage>, Arc<Heed>) {
    let (stage, ear) = (Stage::new(server), Arc::new(Heed::default()));
    let web = web(URL, WebTransport::Http);
    let wire = HttpWire::new(Arc::clone(&stage) as _, &web, URL.to_owned(), Arc::clone(&ear) as _, LIMIT);
    (wire, stage, ear)
}

/// Asks one thing of a server that answers everything like that.
async fn ask(said: impl Fn() -> Said + Send + Sync + 'static) -> Result<Answer, WireError> {
    let (wire, _, _) = wire(move |_| Ok(said()));
    timeout(Duration::from_secs(20), wire.ask(&letter(7, "tools/call"))).await.expect("an answer, either way")
}

/// The reason why that failed, and with which status.
fn reason(answer: Result<Answer, WireError>) -> (Option<u16>, String) {
    match answer {
        Err(WireError::Failed { status, reason }) => (status, reason),
        other => panic!("{other:?}"),
    }
}

fn raw(answer: Result<Answer, WireError>) -> String {
    match answer {
        Ok(Answer::Result(raw)) => raw.get().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_letter_is_a_post_with_our_headers_and_those_of_the_entry() {
    let (wire, stage, _) = wire(|came| Ok(Said::json(&result(came.id(), r#"{"a": 1}"#))));
    assert_eq!(raw(wire.ask(&letter(7, "tools/call")).await), r#"{"a": 1}"#, "as it was written");
    wire.ask(&letter(8, "tools/list")).await.unwrap();
    let [call, list] = &stage.came()[..] else { panic!() };
    assert_eq!((call.method, call.url.as_str()), (Method::Post, URL));
    assert_eq!(call.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(call.header("content-type"), Some("application/json"));
    assert_eq!(call.header("Authorization"), Some("Bearer hunter2"));
    assert_eq!(call.headers.len(), 3, "the entry cannot write what is ours: {:?}", call.headers);
    assert!(!call.repeatable && list.repeatable, "a call is never sent twice");
}

#[tokio::test]
async fn a_session_and_a_revision_are_told_from_the_handshake_on() {
    let (wire, stage, _) = wire(|came| match came.id().as_str() {
        "1" => Ok(Said::json(&result(1, "{}")).with("mcp-session-id", "s-1")),
        "null" => Ok(Said::whole(202, "", &[])),
        id => Ok(Said::json(&result(id, "{}"))),
    });
    wire.ask(&letter(1, "initialize")).await.unwrap();
    wire.agreed("2025-06-18", false);
    wire.tell(&notice("notifications/initialized")).await.unwrap();
    wire.ask(&letter(2, "tools/call")).await.unwrap();
    wire.ask(&letter(1, "initialize")).await.unwrap();
    let told: Vec<_> = stage
        .came()
        .iter()
        .map(|came| {
            (
                came.header("mcp-protocol-version").map(str::to_owned),
                came.header("mcp-session-id").map(str::to_owned),
            )
        })
        .collect();
    let within = (Some("2025-06-18".to_owned()), Some("s-1".to_owned()));
    assert_eq!(told, [(None, None), within.clone(), within, (None, None)]);
    assert!(
        stage.came().iter().all(|came| came.header("mcp-method").is_none()),
        "which legacy servers do not know"
    );
}

#[tokio::test]
async fn a_modern_server_is_told_in_headers_what_the_body_says() {
    let (wire, stage, _) = wire(|came| Ok(Said::json(&result(came.id(), "{}")).with("mcp-session-id", "s")));
    wire.agreed(crate::era::MODERN, true);
    wire.ask(&letter(1, "server/discover")).await.unwrap();
    let arguments = vec![("Region".to_owned(), "eu".to_owned())];
    wire.ask(&Letter { name: Some("grün".to_owned()), arguments, ..letter(2, "tools/call") }).await.unwrap();
    let [discover, call] = &stage.came()[..] else { panic!() };
    assert_eq!(discover.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(discover.header("mcp-method"), Some("server/discover"));
    assert_eq!(call.header("mcp-method"), Some("tools/call"));
    assert_eq!(call.header("mcp-name"), Some("=?base64?Z3LDvG4=?="));
    assert_eq!(call.header("mcp-param-Region"), Some("eu"));
    assert_eq!(call.header("mcp-session-id"), None);
    wire.listen();
    wire.close().await;
    assert_eq!(stage.came().len(), 2, "there is no stream and no session to end");
}

#[tokio::test]
async fn an_answer_may_be_one_of_a_list() {
    let list = format!("[{}, {}]", result(3, "{}"), result(7, "true"));
    assert_eq!(raw(ask(move || Said::json(&list)).await), "true");
    let body = result(7, "1");
    assert_eq!(raw(ask(move || Said::whole(200, "Application/JSON; charset=utf-8", &[&body])).await), "1");
    assert_eq!(
        raw(ask(|| Said::whole(200, "", &[&result(7, "1")])).await),
        "1",
        "a type that is not told is JSON"
    );
    assert_eq!(raw(ask(|| Said::json(&result("\"7\"", "1"))).await), "1");
}

#[tokio::test]
async fn an_answer_may_come_on_a_stream_after_other_things() {
    let (wire, stage, ear) = wire(|came| {
        if came.id() != "7" {
            return Ok(Said::whole(202, "", &[]));
        }
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
        let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
        let (other, own) = (result(6, "{}"), result(7, r#"{"n":1}"#));
        let twice = result(7, r#"{"n":2}"#);
        let text = format!(
            ": hello\n\nid: 1\ndata:\n\ndata: {progress}\n\ndata: nonsense\n\nevent: message\ndata: {ping}\n\n\
             data: {other}\n\ndata: {own}\n\ndata: {twice}\n\n"
        );
        let (head, tail) = text.split_at(text.len() / 2);
        Ok(Said::events(&[head, tail]))
    });
    assert_eq!(raw(wire.ask(&letter(7, "tools/call")).await), r#"{"n":1}"#, "the first of two");
    assert_eq!(*ear.0.lock(), [r#"notifications/progress {"progress":1} Some(7)"#]);
    let back = &stage.came()[1];
    assert_eq!(back.body, r#"{"jsonrpc":"2.0","id":"p","result":"ping"}"#);
    assert_eq!(back.header("content-type"), Some("application/json"));
    assert_eq!(stage.came().len(), 2);
}

#[tokio::test]
async fn the_answer_does_not_wait_for_the_end_of_its_stream() {
    let text = format!("data: {}\n\n", result(7, "1"));
    assert_eq!(raw(ask(move || Said::open(200, "text/event-stream", &[&text])).await), "1");
}

#[tokio::test]
async fn a_stream_that_ends_too_early_is_taken_up_where_it_broke() {
    let (wire, stage, _) = wire(|came| {
        Ok(match (came.method, came.header("last-event-id")) {
            (Method::Post, _) => Said::events(&["retry: 1\nid: e1\ndata:\n\n"]),
            (Method::Get, Some("e1")) => Said::events(&["id: e2\ndata: {\"half"]),
            (Method::Get, Some("e2")) => panic!("an event that was cut off counts for nothing"),
            _ => Said::events(&[]),
        })
    });
    let (status, why) = reason(wire.ask(&letter(7, "tools/call")).await);
    assert_eq!((status, why.as_str()), (Some(200), "closed its stream without an answer to tools/call"));
    assert_eq!(stage.came().len(), 18, "and not for ever");
    let (wire, _, _) = self::wire(|came| {
        Ok(match came.method {
            Method::Post => Said::events(&["retry: 1\nid: e1\ndata:\n\n"]),
            _ => Said::events(&[&format!("data: {}\n\n", result(7, "1"))]),
        })
    });
    assert_eq!(raw(wire.ask(&letter(7, "tools/call")).await), "1");
}

#[tokio::test]
async fn a_stream_without_ids_or_of_the_modern_era_is_not_taken_up() {
    let (wire, stage, _) = wire(|_| Ok(Said::events(&["data: {}\n\n"])));
    assert!(reason(wire.ask(&letter(7, "tools/call")).await).1.contains("without an answer"));
    let (modern, other, _) = self::wire(|_| Ok(Said::events(&["id: e1\nretry: 1\ndata: {}\n\n"])));
    modern.agreed(crate::era::MODERN, true);
    assert!(reason(modern.ask(&letter(7, "tools/call")).await).1.contains("without an answer"));
    assert_eq!((stage.came().len(), other.came().len()), (1, 1));
}

#[tokio::test]
async fn an_error_of_the_protocol_is_an_answer_whatever_its_status() {
    for (status, id) in [(200, "7"), (200, "null"), (400, "7"), (400, "null"), (404, "7"), (500, "7")] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#);
        match ask(move || Said::whole(status, "application/json", &[&body])).await {
            Ok(Answer::Error(failure)) => {
                assert_eq!((failure.code, failure.message.as_str()), (-32601, "no"));
            }
            other => panic!("{status} {id}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_asked_no_more_and_a_newer_one_is() {
    let unknown = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}"#;
    for (status, body) in [(404, ""), (404, "<p>gone</p>"), (400, unknown)] {
        let (wire, stage, _) = wire(move |came| match came.id().as_str() {
            "1" => Ok(Said::json(&result(1, "{}")).with("mcp-session-id", "s-1")),
            _ if came.header("mcp-session-id") == Some("s-1") => {
                Ok(Said::whole(status, "application/json", &[body]))
            }
            id => Ok(Said::json(&result(id, "{}"))),
        });
        wire.ask(&letter(1, "initialize")).await.unwrap();
        assert_eq!(wire.ask(&letter(2, "tools/call")).await.unwrap_err(), WireError::SessionLost);
        wire.forgotten().await;
        assert_eq!(wire.ask(&letter(3, "tools/call")).await.unwrap_err(), WireError::SessionLost);
        assert_eq!(stage.came().len(), 2, "a letter of that session is not sent without it");
        wire.way.begin(Some("s-2")).unwrap();
        assert!(!wire.way.spend(&"s-1".into()));
        wire.ask(&letter(4, "tools/call")).await.unwrap();
        assert_eq!(stage.came()[2].header("mcp-session-id"), Some("s-2"));
    }
    let (status, why) = reason(ask(|| Said::whole(404, "", &[])).await);
    assert_eq!(
        (status, why.as_str()),
        (Some(404), "answered 404 to tools/call"),
        "without a session it is a status"
    );
}

#[tokio::test]
async fn a_session_id_that_no_header_can_hold_is_refused() {
    for id in ["a b", "a\nb", "ü", &"x".repeat(2000)] {
        let id = id.to_owned();
        let (wire, _, _) = wire(move |_| Ok(Said::json(&result(1, "{}")).with("mcp-session-id", &id)));
        assert!(reason(wire.ask(&letter(1, "initialize")).await).1.contains("session id"));
    }
}

#[tokio::test]
async fn what_is_no_answer_is_told_for_what_it_is() {
    let html = "<html>Sign in</html>";
    for (said, status, told) in [
        (Said::whole(200, "text/html", &[html]), 200, "text/html where JSON or a stream"),
        (Said::json(html), 200, "answered tools/call with no JSON"),
        (Said::json("{\"jsonrpc\":"), 200, "answered tools/call with no JSON"),
        (Said::json(&result(8, "{}")), 200, "answered tools/call with another id"),
        (Said::json("[]"), 200, "answered tools/call with another id"),
        (Said::json(""), 200, "answered tools/call with no JSON"),
        (Said::whole(202, "", &[]), 202, "which is no answer"),
        (Said::whole(204, "", &[]), 204, "which is no answer"),
        (
            Said::whole(401, "application/json", &[r#"{"error":"invalid_token"}"#]),
            401,
            "(invalid_token): check `headers`",
        ),
        (Said::whole(403, "text/html", &[html]), 403, "answered 403 to tools/call: check `headers`"),
        (Said::whole(307, "", &[]).with("location", "https://b.example/x"), 307, "https://b.example,"),
        (Said::whole(502, "text/html", &[html]), 502, "answered 502 to tools/call"),
        (Said::whole(429, "text/plain", &["slow down"]), 429, "answered 429 to tools/call (slow down)"),
    ] {
        let once = std::sync::Mutex::new(Some(said));
        let (found, why) = reason(ask(move || once.lock().unwrap().take().unwrap()).await);
        assert!(why.contains(told) && found == Some(status), "{found:?} {why}");
        assert!(!why.contains("<html>") && !why.contains("hunter2"));
    }
    let (wire, _, _) = wire(|_| Err("could not be reached: refused".to_owned()));
    assert_eq!(
        reason(wire.ask(&letter(7, "tools/call")).await),
        (None, "could not be reached: refused".to_owned())
    );
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_held() {
    let long = "x".repeat(LIMIT + 1);
    let announced = || Said::open(200, "application/json", &[]).with("content-length", "1001");
    assert_eq!(ask(announced).await.unwrap_err(), WireError::TooLarge(LIMIT), "nothing of it is waited for");
    let endless = {
        let long = long.clone();
        move || Said::open(200, "application/json", &["{", &long])
    };
    assert_eq!(ask(endless).await.unwrap_err(), WireError::TooLarge(LIMIT));
    let event = format!("data: {long}");
    let event = move || Said::events(&[&event, "\n\n"]);
    assert_eq!(ask(event).await.unwrap_err(), WireError::TooLarge(LIMIT));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_failure_of_its_own_letter() {
    let (wire, stage, _) = wire(|came| match came.id().as_str() {
        "7" => Ok(Said::open(200, "application/json", &["{"])),
        id => Ok(Said::json(&result(id, "1"))),
    });
    let (first, asked) = (letter(7, "tools/call"), letter(8, "tools/call"));
    let broken = async {
        until("the body", || !stage.open_bodies().is_empty()).await;
        stage.open_bodies()[0].send(Err("broke off its answer".to_owned())).unwrap();
    };
    let (answer, ()) = tokio::join!(wire.ask(&first), broken);
    assert_eq!(reason(answer), (Some(200), "broke off its answer".to_owned()));
    assert_eq!(raw(wire.ask(&asked).await), "1", "and of no other");
}

#[tokio::test]
async fn what_the_server_says_of_itself_is_heard_and_its_stream_is_opened_again() {
    let (wire, stage, ear) = wire(|came| {
        Ok(match came.method {
            Method::Get => Said::open(
                200,
                "text/event-stream",
                &["retry: 1\nid: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"],
            ),
            _ => Said::whole(202, "", &[]),
        })
    });
    wire.agreed("2025-06-18", false);
    wire.listen();
    until("the first", || ear.0.lock().len() == 1).await;
    assert_eq!(*ear.0.lock(), ["x  None"], "it belongs to no letter");
    assert_eq!(stage.came()[0].header("accept"), Some("text/event-stream"));
    stage.close_bodies();
    until("the second", || ear.0.lock().len() == 2).await;
    assert_eq!(stage.came()[1].header("last-event-id"), Some("e1"));
    wire.close().await;
    until("the end", || stage.open_bodies()[0].is_closed()).await;
    assert_eq!(wire.lost().await.as_ref(), "was let go");
}

#[tokio::test]
async fn a_server_without_such_a_stream_is_left_alone() {
    for said in [(405, ""), (404, ""), (401, ""), (200, "text/html"), (200, "application/json")] {
        let (wire, stage, _) = wire(move |_| Ok(Said::whole(said.0, said.1, &["{}"])));
        wire.way.begin(Some("s-1")).unwrap();
        wire.listen();
        until("it was asked", || stage.came().len() == 1).await;
        let ended = || wire.listening.lock().as_ref().is_some_and(AbortHandle::is_finished);
        until("it is given up", ended).await;
        assert_eq!(stage.came().len(), 1);
        assert!(!wire.forgotten.is_cancelled(), "its session is not in doubt");
    }
}

#[tokio::test]
async fn a_server_that_had_a_stream_and_does_not_find_the_session_has_forgotten_it() {
    let gets = std::sync::atomic::AtomicUsize::new(0);
    let (wire, stage, _) = wire(move |came| match came.method {
        Method::Get if gets.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 => {
            Ok(Said::whole(200, "text/event-stream", &["retry: 1\ndata: x\n\n"]))
        }
        Method::Get => Ok(Said::whole(404, "", &[])),
        _ => Ok(Said::json(&result(came.id(), "{}")).with("mcp-session-id", "s-1")),
    });
    wire.ask(&letter(1, "initialize")).await.unwrap();
    wire.listen();
    timeout(Duration::from_secs(20), wire.forgotten()).await.expect("it is told");
    wire.close().await;
    assert!(stage.came().iter().all(|came| came.method != Method::Delete), "there is nothing to end");
}

#[tokio::test]
async fn a_session_is_ended_with_the_wire_and_whoever_waits_is_told() {
    let (wire, stage, _) = wire(|came| match came.method {
        Method::Delete => Err("could not be reached".to_owned()),
        _ if came.id() == "1" => Ok(Said::json(&result(1, "{}")).with("mcp-session-id", "s-1")),
        _ => Ok(Said::open(200, "text/event-stream", &[])),
    });
    wire.ask(&letter(1, "initialize")).await.unwrap();
    wire.agreed("2025-06-18", false);
    let call = letter(2, "tools/call");
    let closing = async {
        until("the call", || stage.came().len() == 2).await;
        wire.close().await;
    };
    let (answer, ()) = tokio::join!(wire.ask(&call), closing);
    assert_eq!(answer.unwrap_err(), WireError::Lost("was let go".into()));
    let delete = stage.came().pop().unwrap();
    assert_eq!((delete.method, delete.header("mcp-session-id")), (Method::Delete, Some("s-1")));
    assert_eq!(delete.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(wire.ask(&call).await.unwrap_err(), WireError::Lost("was let go".into()));
    assert_eq!(stage.came().len(), 3, "nothing more is sent");
}

#[tokio::test]
async fn to_give_up_waiting_closes_the_stream() {
    let (wire, stage, _) = wire(|_| Ok(Said::open(200, "text/event-stream", &[])));
    let call = letter(7, "tools/call");
    tokio::select! {
        _ = wire.ask(&call) => panic!("there is no answer"),
        () = until("the call", || stage.came().len() == 1) => {}
    }
    assert!(stage.open_bodies()[0].is_closed());
}

#[tokio::test]
async fn what_wants_no_answer_is_taken_or_refused() {
    for status in [200, 202, 204] {
        let (wire, _, _) = wire(move |_| Ok(Said::open(status, "", &[])));
        timeout(Duration::from_secs(20), wire.tell(&notice("x")))
            .await
            .expect("no body is waited for")
            .unwrap();
    }
    let (wire, _, _) = wire(|_| Ok(Said::whole(500, "", &[])));
    let why = wire.tell(&notice("x")).await.unwrap_err();
    assert_eq!(why.to_string(), "answered 500 to x");
}

const FLOODED: &str =
    "wrote more than 100000 messages that nobody asked for within 10 s, and is not listened to any longer";

#[tokio::test]
async fn a_server_that_never_stops_talking_is_not_listened_to_any_longer() {
    let soon = Duration::from_secs(20);
    for message in [r#"{"method":"notifications/x"}"#, r#"{"id":5,"result":{}}"#, "hello"] {
        let many = format!("data: {message}\n\n").repeat(1000);
        let (wire, _, _) = wire(move |_| Ok(Said::whole(200, "text/event-stream", &[many.as_str(); 101])));
        for _ in 0..2 {
            let answer = timeout(soon, wire.ask(&letter(7, "tools/call"))).await.expect("an answer");
            assert!(matches!(&answer, Err(WireError::Lost(reason)) if &**reason == FLOODED), "{answer:?}");
        }
        assert_eq!(&*timeout(soon, wire.lost()).await.expect("it is lost"), FLOODED, "{message}");
    }
}

#[tokio::test]
async fn nor_is_one_whose_own_stream_never_stops() {
    let many = "data: {\"method\":\"notifications/x\"}\n\n".repeat(1000);
    let (wire, _, _) = wire(move |came| {
        Ok(match came.method {
            Method::Get => Said::open(200, "text/event-stream", &[many.as_str(); 101]),
            _ => Said::json(&result(came.id(), "{}")),
        })
    });
    wire.listen();
    assert_eq!(&*timeout(Duration::from_secs(20), wire.lost()).await.expect("it is lost"), FLOODED);
}
