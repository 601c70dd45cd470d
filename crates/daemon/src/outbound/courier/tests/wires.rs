//! The wires of MCP on real connections: servers that do what other people's servers have been seen to do.

use std::sync::LazyLock;
use std::time::Duration;

use covenant_mcp::message::Id;
use covenant_mcp::upstream::http::HttpWire;
use covenant_mcp::upstream::link::{Link, LinkEar};
use covenant_mcp::upstream::scrub::Scrub;
use covenant_mcp::upstream::sse::SseWire;
use covenant_mcp::upstream::wire::{Answer, Ear, Letter, Wire, WireError};
use covenant_model::redact::Redactor;
use covenant_model::secret::Secret;
use covenant_model::server::{EraChoice, Web, WebTransport};
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::*;

const LIMIT: usize = 64 * 1024;

const SOON: Duration = Duration::from_secs(20);

struct Deaf;

static SCRUB: LazyLock<Scrub> = LazyLock::new(|| Scrub::new(|| Arc::new(Redactor::none())));

impl Ear for Deaf {
    fn notification(&self, _: &str, _: Option<&RawValue>, _: Option<u64>) {}

    fn request(&self, _: &Id, _: &str, _: Option<&RawValue>) -> Vec<u8> {
        Vec::new()
    }

    fn scrub(&self) -> &Scrub {
        &SCRUB
    }
}

fn web(url: &str) -> Web {
    Web { url: Secret::new(url.to_owned()), headers: [].into(), transport: WebTransport::Http }
}

async fn wire(server: &Server) -> Arc<HttpWire> {
    let courier = open(&server.url).await.unwrap();
    HttpWire::new(courier, &web(&server.url), server.url.clone(), Arc::new(Deaf), LIMIT)
}

fn call(id: u64) -> Letter {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#).into_bytes();
    Letter { id: Some(id), method: "tools/call", name: None, arguments: Vec::new(), body }
}

async fn ask(server: &Server) -> Result<Answer, WireError> {
    let wire = wire(server).await;
    timeout(SOON, wire.ask(&call(7))).await.expect("an answer, either way")
}

async fn why(said: impl Fn() -> Said + Send + Sync + 'static) -> String {
    let server = Server::new(move |_| said()).await;
    ask(&server).await.unwrap_err().to_string()
}

fn result(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":{id}}}}}"#)
}

fn is_result(answer: &Result<Answer, WireError>, id: u64) -> bool {
    matches!(answer, Ok(Answer::Result(raw)) if raw.get() == format!(r#"{{"n":{id}}}"#))
}

const JSON: &str = "content-type: application/json\r\n";
const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[tokio::test]
async fn answers_come_as_documents_and_as_streams_on_one_connection() {
    let server = Server::new(|came| {
        let id = came.body.split("\"id\":").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        if id % 2 == 0 {
            return Said::Answer(answer("200 OK", JSON, &result(id)));
        }
        let event = chunk(&format!("event: message\ndata: {}\n\n", result(id)));
        Said::Answer(format!("{EVENTS}{event}0\r\n\r\n"))
    })
    .await;
    let wire = wire(&server).await;
    for id in 1..10 {
        assert!(is_result(&wire.ask(&call(id)).await, id));
    }
    assert_eq!(server.came().last().unwrap().connection, 1, "a stream that was answered is read to its end");
}

#[tokio::test]
async fn an_answer_that_comes_twice_or_in_pieces_is_one() {
    let event = format!("data: {}\n\n", result(7));
    let pieces: String = event.chars().map(|c| chunk(&c.to_string())).collect();
    let server = Server::new(move |_| Said::Hang(format!("{EVENTS}{pieces}{}", chunk(&event)))).await;
    assert!(is_result(&ask(&server).await, 7), "and nobody waits for the end of its stream");
}

#[tokio::test]
async fn a_server_that_goes_mid_stream_fails_that_call_and_no_other() {
    let cut = format!("{EVENTS}{}", chunk("data: {\"jsonrpc\""));
    let server = Server::new(move |came| match came.connection {
        1 => Said::Last(cut.clone()),
        _ => Said::Answer(answer("200 OK", JSON, &result(8))),
    })
    .await;
    let wire = wire(&server).await;
    let why = wire.ask(&call(7)).await.unwrap_err();
    assert_eq!(why.to_string(), "closed its stream without an answer to tools/call");
    assert!(is_result(&wire.ask(&call(8)).await, 8));
    assert_eq!(server.came().len(), 2, "the call that broke off came once");
}

#[tokio::test]
async fn what_is_no_answer_is_a_clause() {
    let html = || Said::Answer(answer("200 OK", "content-type: text/html\r\n", "<html>"));
    assert!(why(html).await.contains("text/html"));
    let redirect = || Said::Answer(answer("301 Moved", "location: https://b.example/mcp\r\n", ""));
    assert!(why(redirect).await.contains("https://b.example, which is not followed"));
    let garbage = || Said::Last(format!("{EVENTS}zz\r\n"));
    assert!(why(garbage).await.contains("without an answer"));
    let short = || Said::Last(format!("HTTP/1.1 200 OK\r\n{JSON}content-length: 99\r\n\r\n{{"));
    assert!(why(short).await.starts_with("broke off its answer"));
    assert!(why(|| Said::Last("hello\r\n\r\n".to_owned())).await.contains("not HTTP"));
    let asked = why(|| Said::Answer(answer("401 Unauthorized", "www-authenticate: Bearer\r\n", ""))).await;
    assert_eq!(asked, "answered 401 to tools/call: check `headers` in its entry");
}

#[tokio::test]
async fn a_body_without_an_end_is_let_go() {
    let letters = "x".repeat(1000);
    let chunked = format!("HTTP/1.1 200 OK\r\n{JSON}transfer-encoding: chunked\r\n\r\n");
    for head in [chunked, EVENTS.to_owned()] {
        let again = chunk(&letters);
        let server = Server::new(move |_| Said::Endless(head.clone(), again.clone())).await;
        assert_eq!(ask(&server).await.unwrap_err(), WireError::TooLarge(LIMIT));
        until("the connection is closed", || server.closed() == 1).await;
    }
}

#[tokio::test]
async fn a_link_opens_lists_and_ends_its_session() {
    let server = Server::new(|came| {
        let id = came.body.split("\"id\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
        let says = |result: &str, headers: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.unwrap());
            Said::Answer(answer("200 OK", &format!("{JSON}{headers}"), &body))
        };
        let initialized = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{}}"#;
        match came.body.as_str() {
            body if body.contains("\"initialize\"") => says(initialized, "mcp-session-id: s-1\r\n"),
            body if body.contains("tools/list") => says(r#"{"tools":[{"name":"echo"}]}"#, ""),
            _ if id.is_some() => Said::Answer(answer("400 Bad Request", "", "")),
            "" => Said::Answer(answer("405 Method Not Allowed", "", "")),
            _ => Said::Answer(answer("202 Accepted", "", "")),
        }
    })
    .await;
    let ear = LinkEar::new(SCRUB.clone());
    let courier = open(&server.url).await.unwrap();
    let wire = HttpWire::new(courier, &web(&server.url), server.url.clone(), Arc::clone(&ear) as _, LIMIT);
    let link = Link::open(wire, ear, EraChoice::Auto, SOON).await.unwrap();
    assert_eq!(link.tools(SOON).await.unwrap()[0].get(), r#"{"name":"echo"}"#);
    let list = server.came().pop().unwrap();
    for line in ["mcp-session-id: s-1", "mcp-protocol-version: 2025-06-18"] {
        assert!(list.head.lines().any(|found| found == line), "{line}: {}", list.head);
    }
    link.close().await;
    let end = server.came().pop().unwrap().head;
    assert!(end.starts_with("delete /mcp") && end.contains("mcp-session-id: s-1"), "{end}");
}

#[tokio::test]
async fn the_older_transport_is_lost_with_its_stream() {
    let greeting = chunk("event: endpoint\ndata: /m\n\n");
    let server = Server::new(move |came| match came.head.split_whitespace().next() {
        Some("get") => Said::Last(format!("{EVENTS}{greeting}")),
        _ => Said::Answer(answer("202 Accepted", "", "")),
    })
    .await;
    let courier = open(&server.url).await.unwrap();
    let web = web(&server.url);
    let wire = SseWire::open(courier, &web, server.url.clone(), Arc::new(Deaf), LIMIT, SOON).await.unwrap();
    assert_eq!(timeout(SOON, wire.lost()).await.unwrap().as_ref(), "closed its stream");
    assert!(matches!(wire.ask(&call(1)).await, Err(WireError::Lost(_))));
}
