//! The transport of 2024, kept and broken.

use covenant_model::server::WebTransport;

use super::*;
use crate::upstream::ports::Method;
use crate::upstream::stage::{Came, Heed, LIMIT, Said, Stage, letter, notice, result, until, web};

const URL: &str = "http://a.example:1/sse";

const SOON: Duration = Duration::from_secs(20);

/// A server whose stream begins like that, and that takes what is posted.
async fn open(first: &'static str) -> (Result<Arc<SseWire>, WireError>, Arc<Stage>, Arc<Heed>) {
    served(move |came| {
        Ok(match came.method {
            Method::Get => Said::open(200, "text/event-stream", &[first]),
            _ => Said::whole(202, "", &["Accepted"]),
        })
    })
    .await
}

async fn served(
    server: impl Fn(&Came) -> Result<Said, String> + Send + Sync + 'static,
) -> (Result<Arc<SseWire>, WireError>, Arc<Stage>, Arc<Heed>) {
    let (stage, ear) = (Stage::new(server), Arc::new(Heed::default()));
    let web = web(URL, WebTransport::Sse);
    let courier = Arc::clone(&stage) as _;
    let wire = SseWire::open(courier, &web, URL.to_owned(), Arc::clone(&ear) as _, LIMIT, SOON).await;
    (wire, stage, ear)
}

const GREETING: &str = "event: endpoint\ndata: /message?sessionId=x\n\n";

fn say(stage: &Stage, event: &str) {
    stage.open_bodies()[0].send(Ok(format!("data: {event}\n\n").into_bytes())).unwrap();
}

#[tokio::test]
async fn answers_come_on_the_stream_in_any_order() {
    let (wire, stage, ear) = open(GREETING).await;
    let wire = wire.unwrap();
    let (first, second) = (letter(1, "tools/call"), letter(2, "tools/call"));
    let answering = async {
        until("both", || stage.came().len() == 3).await;
        say(&stage, "nonsense");
        say(&stage, &result(9, "{}"));
        say(&stage, r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#);
        say(&stage, &result(2, "2"));
        say(&stage, &result(2, "3"));
        say(&stage, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#);
    };
    let (one, two, ()) = tokio::join!(wire.ask(&first), wire.ask(&second), answering);
    assert!(matches!(one, Ok(Answer::Error(failure)) if failure.message == "no"));
    assert!(matches!(two, Ok(Answer::Result(raw)) if raw.get() == "2"));
    assert_eq!(*ear.0.lock(), ["notifications/progress  None"]);
    let [get, post, _] = &stage.came()[..] else { panic!() };
    assert_eq!((get.method, get.header("accept")), (Method::Get, Some("text/event-stream")));
    assert_eq!((post.method, post.url.as_str()), (Method::Post, "http://a.example:1/message?sessionId=x"));
    assert_eq!(post.header("Authorization"), Some("Bearer hunter2"));
}

#[tokio::test]
async fn requests_of_the_server_are_answered_by_post() {
    let (wire, stage, _) = open(GREETING).await;
    let wire = wire.unwrap();
    say(&stage, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    until("the answer", || stage.came().len() == 2).await;
    assert_eq!(stage.came()[1].body, r#"{"jsonrpc":"2.0","id":"p","result":"ping"}"#);
    wire.tell(&notice("notifications/initialized")).await.unwrap();
    assert_eq!(stage.came().len(), 3);
}

#[tokio::test]
async fn when_the_stream_ends_everybody_is_told() {
    let (wire, stage, _) = open(GREETING).await;
    let wire = wire.unwrap();
    let call = letter(1, "tools/call");
    let ending = async {
        until("the call", || stage.came().len() == 2).await;
        stage.close_bodies();
    };
    let (answer, ()) = tokio::join!(wire.ask(&call), ending);
    let lost = WireError::Lost("closed its stream".into());
    assert_eq!(answer.unwrap_err(), lost);
    assert_eq!(wire.lost().await.as_ref(), "closed its stream");
    assert_eq!(wire.ask(&call).await.unwrap_err(), lost);
    assert_eq!(wire.tell(&notice("x")).await.unwrap_err(), lost);
    assert_eq!(stage.came().len(), 2, "nothing more is sent");
    wire.close().await;
    assert_eq!(wire.lost().await.as_ref(), "closed its stream", "the first reason stays");
}

#[tokio::test]
async fn to_close_it_closes_the_stream() {
    let (wire, stage, _) = open(GREETING).await;
    let wire = wire.unwrap();
    wire.close().await;
    assert_eq!(wire.lost().await.as_ref(), "was let go");
    until("the end of the stream", || stage.open_bodies()[0].is_closed()).await;
    let (dropped, stage, _) = open(GREETING).await;
    drop(dropped);
    until("the end of the stream", || stage.open_bodies()[0].is_closed()).await;
}

#[tokio::test]
async fn a_post_that_is_refused_fails_its_own_letter() {
    let (wire, _, _) = served(|came| {
        Ok(match (came.method, came.body.contains("\"id\":1")) {
            (Method::Get, _) => Said::open(200, "text/event-stream", &[GREETING]),
            (_, true) => Said::whole(404, "text/plain", &["no such session"]),
            _ => Said::whole(
                400,
                "application/json",
                &[r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad"}}"#],
            ),
        })
    })
    .await;
    let wire = wire.unwrap();
    let why = wire.ask(&letter(1, "tools/call")).await.unwrap_err();
    assert_eq!(why.to_string(), "answered 404 to tools/call (no such session)");
    let answer = wire.ask(&letter(2, "tools/call")).await;
    assert!(matches!(answer, Ok(Answer::Error(failure)) if failure.message == "bad"));
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_the_one_it_can_only_be_for() {
    let (wire, stage, _) = open(GREETING).await;
    let wire = wire.unwrap();
    let call = letter(1, "tools/call");
    let answering = async {
        until("the call", || stage.came().len() == 2).await;
        say(&stage, &result(1, &"1".repeat(LIMIT)));
    };
    let (answer, ()) = tokio::join!(wire.ask(&call), answering);
    assert_eq!(answer.unwrap_err(), WireError::TooLarge(LIMIT));
    for _ in 0..20 {
        stage.open_bodies()[0].send(Ok(vec![b'x'; LIMIT])).unwrap();
    }
    assert_eq!(wire.lost().await.as_ref(), "sent an event without an end");
}

#[tokio::test]
async fn a_stream_that_begins_wrongly_is_no_wire() {
    let why = async |first| open(first).await.0.err().map(|error| error.to_string());
    assert!(why("event: endpoint\ndata: http://b.example/m\n\n").await.unwrap().contains("http://b.example"));
    assert!(why("event: endpoint\ndata: \n\n").await.unwrap().contains("no usable place"));
    let said = async |status, kind: &'static str, body: &'static str| {
        let (wire, _, _) = served(move |_| Ok(Said::whole(status, kind, &[body]))).await;
        wire.err().unwrap()
    };
    for (status, kind, body, told) in [
        (200, "text/html", "<p>", "no stream of events"),
        (200, "text/event-stream", "data: hello\n\n", "before it named a place"),
        (405, "", "", "answered 405 to GET"),
        (401, "", "", "check `headers`"),
        (302, "", "", "redirects to another place"),
    ] {
        let error = said(status, kind, body).await;
        assert!(error.to_string().contains(told), "{error}");
        assert!(matches!(error, WireError::Failed { status: Some(found), .. } if found == status));
    }
}

#[tokio::test]
async fn a_stream_that_never_names_a_place_is_given_up() {
    let stage = Stage::new(|_| Ok(Said::open(200, "text/event-stream", &[": hello\n\n"])));
    let (web, ear) = (web(URL, WebTransport::Sse), Arc::new(Heed::default()));
    let within = Duration::from_millis(50);
    let wire = SseWire::open(Arc::clone(&stage) as _, &web, URL.to_owned(), ear, LIMIT, within).await;
    assert_eq!(wire.err().unwrap().to_string(), "named no place for messages within 0.05 s");
    assert!(stage.open_bodies()[0].is_closed());
}

#[tokio::test]
async fn a_server_that_never_stops_talking_is_not_listened_to_any_longer() {
    for message in
        [r#"{"method":"notifications/x"}"#, r#"{"id":5,"result":{}}"#, "hello", "\nevent: other\ndata: x"]
    {
        let (wire, stage, _) = open(GREETING).await;
        let wire = wire.unwrap();
        for _ in 0..101 {
            let many = format!("data: {message}\n\n").repeat(1000);
            if stage.open_bodies()[0].send(Ok(many.into_bytes())).is_err() {
                break;
            }
        }
        let reason = timeout(SOON, wire.lost()).await.expect("it is lost");
        let told = "wrote more than 100000 messages that nobody asked for within 10 s, and is not listened to any longer";
        assert_eq!(&*reason, told, "{message}");
    }
}
