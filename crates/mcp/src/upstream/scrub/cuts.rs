//! Every place where a server's words are cut, each with a secret across the cut.

use std::sync::Arc;

use covenant_model::server::{EraChoice, WebTransport};
use serde_json::json;

use super::known::{SECRET, assert_hidden, scrub, straddling};
use crate::upstream::http::HttpWire;
use crate::upstream::link::{Link, LinkEar};
use crate::upstream::sse::SseWire;
use crate::upstream::stage::{Heed, Said, Stage, letter, result, web};
use crate::upstream::stdio::StdioWire;
use crate::upstream::tests::{LONG, program};
use crate::upstream::wire::{Answer, Wire as _};

const LIMIT: usize = 1 << 22;
const URL: &str = "http://a.example:1/mcp";

/// What is told of a server that answers everything like that.
async fn told_of(said: impl Fn(u16, &str, &str) -> Said, status: u16, kind: &str, text: &str) -> String {
    let said = parking_lot::Mutex::new(Some(said(status, kind, text)));
    let stage = Stage::new(move |_| said.lock().take().ok_or_else(|| "is gone".to_owned()));
    let web = web(URL, WebTransport::Http);
    let wire = HttpWire::new(stage, &web, URL.to_owned(), Arc::new(Heed::default()), LIMIT);
    match wire.ask(&letter(7, "tools/list")).await {
        Ok(Answer::Result(raw)) => panic!("{raw}"),
        Ok(Answer::Error(failure)) => failure.to_string(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn no_status_body_or_header_of_a_server_shows_a_part_of_a_secret() {
    let whole = |status, kind: &str, text: &str| Said::whole(status, kind, &[text]);
    for text in straddling(200) {
        for status in [401, 403, 404, 500] {
            assert_hidden(&told_of(whole, status, "text/plain", &text).await);
            for body in [json!({"error": {"message": text}}), json!({"detail": text}), json!({"error": text})]
            {
                assert_hidden(&told_of(whole, status, "application/json", &body.to_string()).await);
            }
            let nameless = json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": text}});
            assert_hidden(&told_of(whole, status, "application/json", &nameless.to_string()).await);
        }
    }
    for text in straddling(4096) {
        let answer = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": text}});
        for status in [200, 400] {
            assert_hidden(&told_of(whole, status, "application/json", &answer.to_string()).await);
        }
        let event = format!("data: {answer}\n\n");
        assert_hidden(&told_of(whole, 200, "text/event-stream", &event).await);
    }
    for text in straddling(64) {
        assert_hidden(&told_of(whole, 200, &format!("text/{text}"), "").await);
    }
    // What is read of a body ends within it.
    for before in [64 * 1024 - 30, 64 * 1024 - 8] {
        let text = format!("{}{SECRET}", " ".repeat(before));
        assert_hidden(&told_of(whole, 401, "text/plain", &text).await);
    }
    let moved = |status, _: &str, text: &str| Said::whole(status, "", &[]).with("location", text);
    assert_hidden(&told_of(moved, 302, "", &format!("https://{SECRET}.example/")).await);
}

#[tokio::test]
async fn no_stream_of_the_first_revision_shows_a_part_of_a_secret() {
    for text in straddling(200) {
        let elsewhere = format!("event: endpoint\ndata: http://{SECRET}.example/\n\n");
        let error = json!({"id": null, "error": {"code": 1, "message": text}}).to_string();
        for (status, kind, body) in [
            (200, "text/event-stream", elsewhere),
            (400, "application/json", error),
            (400, "text/plain", text),
        ] {
            let stage = Stage::new(move |_| Ok(Said::whole(status, kind, &[&body])));
            let (web, ear) = (web(URL, WebTransport::Sse), Arc::new(Heed::default()));
            let opened = SseWire::open(stage, &web, URL.to_owned(), ear, LIMIT, LONG).await;
            assert_hidden(&opened.err().expect("it is none").to_string());
        }
    }
}

#[tokio::test]
async fn no_handshake_and_no_result_shows_a_part_of_a_secret() {
    for text in straddling(128) {
        let answer = json!({"protocolVersion": text, "capabilities": {}}).to_string();
        let stage = Stage::new(move |came| Ok(Said::json(&result(came.id(), &answer))));
        let (web, ear) = (web(URL, WebTransport::Http), LinkEar::new(scrub().clone()));
        let wire = HttpWire::new(stage, &web, URL.to_owned(), Arc::clone(&ear) as _, LIMIT);
        let opened = Link::open(wire, ear, EraChoice::Legacy, LONG).await;
        let told = opened.err().expect("nobody speaks that").to_string();
        assert!(told.contains("speaks revision"), "{told}");
        assert_hidden(&told);
        let raw = serde_json::value::to_raw_value(&json!({"resultType": text})).unwrap();
        let told = crate::upstream::link::checked(raw, scrub()).unwrap_err().to_string();
        assert!(told.contains("unknown type"), "{told}");
        assert_hidden(&told);
    }
}

#[tokio::test]
async fn no_line_of_a_program_shows_a_part_of_a_secret() {
    for (repeated, then) in [(100, ""), (128, ""), (24 * 1024 - 8, ""), (32 * 1024 - 8, "y * 9999999")] {
        let script = format!("y = 'y'\nwrite(' ' * {repeated} + '{SECRET}' + str({then}) + '\\n')");
        let wire = StdioWire::new(program(&script).await, Arc::new(Heed::default()), LIMIT);
        let lost = wire.lost().await;
        assert!(lost.starts_with("ended with"), "{lost}");
        assert_hidden(&lost);
        assert_hidden(&wire.strays().1.unwrap_or_default());
    }
    let script = format!("refuse(hear(), -1, 'x' * 4090 + '{SECRET}')");
    let wire = StdioWire::new(program(&script).await, Arc::new(Heed::default()), LIMIT);
    let Ok(Answer::Error(failure)) = wire.ask(&letter(1, "tools/list")).await else { panic!() };
    assert_hidden(&failure.message);
}
