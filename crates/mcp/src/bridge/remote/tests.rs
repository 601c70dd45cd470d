//! The bridge between a client on a pipe and an origin that is a function.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use covenant_model::secret::Secret;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};

use super::{Remote, run};
use crate::bridge::ExitReason;
use crate::upstream::ports::Method;
use crate::upstream::stage::{Came, Leading, Said, Stage, result, until};

const TOKEN: &str = "cv_correct_horse_battery";

/// A client, and the bridge it speaks to.
struct Client {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    bridge: tokio::task::JoinHandle<ExitReason>,
}

impl Client {
    fn of(stage: &Arc<Stage>, patience: Duration) -> Self {
        let (input, theirs) = tokio::io::duplex(64 * 1024);
        let (output, ours) = tokio::io::duplex(64 * 1024);
        let remote = Remote {
            origin: "https://a.example".to_owned(),
            token: Some(Secret::new(TOKEN.to_owned())),
            couriers: Arc::new(Leading(Arc::clone(stage))),
            patience,
        };
        let bridge = tokio::spawn(run(theirs, output, remote));
        Self { input: Some(input), output: BufReader::new(ours).lines(), bridge }
    }

    async fn say(&mut self, message: &Value) {
        self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.output.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        self.hear().await
    }

    async fn initialize(&mut self) -> Value {
        self.ask(0, "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}})).await
    }

    async fn close(mut self) -> ExitReason {
        drop(self.input.take());
        self.bridge.await.unwrap()
    }
}

fn method(came: &Came) -> String {
    let body: Value = serde_json::from_str(&came.body).unwrap_or_default();
    body["method"].as_str().unwrap_or_default().to_owned()
}

/// What any origin of the handshake's era answers, and what else that function does.
fn legacy(other: impl Fn(&Came, &str) -> Result<Said, String> + Send + Sync + 'static) -> Arc<Stage> {
    let sessions = AtomicUsize::new(0);
    Stage::new(move |came| match (came.method, method(came).as_str()) {
        (Method::Post, "initialize") => {
            let number = sessions.fetch_add(1, Ordering::Relaxed) + 1;
            let said = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}},
                "serverInfo": {"name": "origin", "version": "1"}, "instructions": "Be kind."});
            Ok(Said::json(&result(came.id(), &said.to_string()))
                .with("mcp-session-id", &format!("s{number}")))
        }
        (Method::Post, "notifications/initialized") => Ok(Said::whole(202, "", &[])),
        (_, method) => other(came, method),
    })
}

fn nothing_to_hear() -> Said {
    Said::whole(405, "", &[])
}

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_client_is_told_what_the_origin_has_and_asks_in_its_session() {
    let stage = legacy(|came, method| match method {
        "tools/list" => Ok(Said::json(&result(came.id(), "{\n\"tools\":[]}"))),
        _ => Ok(nothing_to_hear()),
    });
    let mut client = Client::of(&stage, MINUTE);
    let said = client.initialize().await["result"].clone();
    assert_eq!((&said["instructions"], &said["capabilities"]["prompts"]), (&json!("Be kind."), &json!({})));
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(
        client.ask(1, "tools/list", json!({})).await,
        json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})
    );
    assert_eq!(client.ask(2, "ping", json!({})).await["result"], json!({}));
    assert!(matches!(client.close().await, ExitReason::InputClosed));
    let came = stage.came();
    let listed = came.iter().find(|came| method(came) == "tools/list").unwrap();
    assert_eq!(listed.header("mcp-session-id"), Some("s1"));
    assert_eq!(listed.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(listed.header("authorization"), Some("Bearer cv_correct_horse_battery"));
    assert_eq!(listed.url, "https://a.example/mcp");
    assert_eq!(came.iter().filter(|came| method(came) == "notifications/initialized").count(), 1);
    assert_eq!(came.last().unwrap().method, Method::Delete, "its session is ended");
}

#[tokio::test]
async fn a_session_that_was_forgotten_is_opened_once_more_and_the_client_hears_that_tools_may_differ() {
    let stage = legacy(|came, method| match (method, came.header("mcp-session-id")) {
        ("tools/list", Some("s1")) | ("prompts/list", _) => Ok(Said::whole(404, "text/plain", &["who?"])),
        ("tools/list", _) => Ok(Said::json(&result(came.id(), "{}"))),
        _ => Ok(nothing_to_hear()),
    });
    let mut client = Client::of(&stage, MINUTE);
    client.initialize().await;
    let changed = client.ask(1, "tools/list", json!({})).await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(client.hear().await["result"], json!({}));
    assert_eq!(client.ask(2, "prompts/list", json!({})).await["method"], changed["method"]);
    let lost = client.hear().await;
    assert!(lost["error"]["message"].as_str().unwrap().contains("forgets the session"), "{lost}");
    assert_eq!(
        stage.came().iter().filter(|came| method(came) == "prompts/list").count(),
        2,
        "asked twice, not more"
    );
}

#[tokio::test]
async fn what_the_origin_asks_on_a_stream_reaches_the_client_and_its_answer_goes_back() {
    let stage = legacy(|came, method| match method {
        "tools/call" => {
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
            let asked = r#"{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{}}"#;
            Ok(Said::open(200, "text/event-stream", &[&format!("data: {progress}\n\ndata: {asked}\n\n")]))
        }
        "" if came.method == Method::Post => Ok(Said::whole(202, "", &[])),
        _ => Ok(nothing_to_hear()),
    });
    let mut client = Client::of(&stage, MINUTE);
    client.initialize().await;
    let arguments = json!({"name": "x", "arguments": {"token": "cv_mine"}});
    assert_eq!(client.ask(7, "tools/call", arguments).await["method"], "notifications/progress");
    let asked = client.hear().await;
    assert_eq!((&asked["id"], &asked["method"]), (&json!("q1"), &json!("elicitation/create")));
    client.say(&json!({"jsonrpc": "2.0", "id": "q1", "result": {"action": "accept"}})).await;
    let went_back = || {
        let came = stage.came();
        let answer = came.iter().find(|came| came.body.contains("\"accept\""));
        answer.is_some_and(|answer| answer.header("mcp-session-id") == Some("s1"))
    };
    until("the answer goes back", went_back).await;
    let call = stage.open_bodies().pop().unwrap();
    call.send(Ok(format!("data: {}\n\n", result(7, "{\"content\":[]}")).into_bytes())).unwrap();
    assert_eq!(client.hear().await["result"], json!({"content": []}));
    let came = stage.came();
    let called = came.iter().find(|came| method(came) == "tools/call").unwrap();
    assert!(called.body.contains(r#""token":"cv_mine""#), "an agent's own token is not touched");
    assert!(!called.repeatable);
}

#[tokio::test]
async fn a_request_that_is_taken_back_is_told_to_the_origin_and_answered_by_nobody() {
    let stage = legacy(|came, method| match method {
        "tools/call" => Ok(Said::open(200, "text/event-stream", &[])),
        "tools/list" => Ok(Said::json(&result(came.id(), "{}"))),
        "notifications/cancelled" => Ok(Said::whole(202, "", &[])),
        _ => Ok(nothing_to_hear()),
    });
    let mut client = Client::of(&stage, MINUTE);
    client.initialize().await;
    client.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}})).await;
    until("the call came", || stage.open_bodies().len() == 1).await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.say(&cancelled).await;
    until("the origin hears of it", || {
        stage.came().iter().any(|came| method(came) == "notifications/cancelled")
    })
    .await;
    until("nobody reads on", || {
        stage.open_bodies().iter().all(tokio::sync::mpsc::UnboundedSender::is_closed)
    })
    .await;
    assert_eq!(
        client.ask(2, "tools/list", json!({})).await["id"],
        2,
        "the next line is about something else"
    );
}

#[tokio::test(start_paused = true)]
async fn an_origin_that_hangs_is_given_up_and_one_that_is_lively_is_not() {
    let stage = legacy(|came, method| match method {
        "tools/call" => Ok(Said::open(200, "text/event-stream", &[])),
        "notifications/cancelled" => Ok(Said::whole(202, "", &[])),
        _ if came.method == Method::Get => Ok(Said::open(200, "text/event-stream", &[])),
        _ => Ok(nothing_to_hear()),
    });
    let mut client = Client::of(&stage, Duration::from_secs(10));
    client.initialize().await;
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "x"}});
    client.say(&call(1)).await;
    until("the call came", || stage.open_bodies().len() == 2).await;
    let lively = stage.open_bodies().pop().unwrap();
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(9)).await;
        lively.send(Ok(b": \n\n".to_vec())).unwrap();
    }
    lively.send(Ok(format!("data: {}\n\n", result(1, "{}")).into_bytes())).unwrap();
    assert_eq!(client.hear().await["result"], json!({}));
    client.say(&call(2)).await;
    let hung = client.hear().await["result"].clone();
    assert_eq!((&hung["isError"], &hung["structuredContent"]["status"]), (&json!(true), &json!("error")));
    let told = hung["structuredContent"]["message"].as_str().unwrap();
    assert!(told.contains("has not answered for 10 s"), "{told}");
    until("it is taken back", || stage.came().iter().any(|came| method(came) == "notifications/cancelled"))
        .await;
}

/// What a client without a handshake says of itself.
fn stateless(params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    params
}

#[tokio::test]
async fn a_stateless_request_gets_its_headers_also_those_of_arguments_nobody_has_asked_for_yet() {
    let stage = Stage::new(|came| {
        let mismatch =
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32020, "message": "Header mismatch"}});
        match method(came).as_str() {
            "tools/list" => {
                let schema = json!({"properties": {"place": {"type": "string", "x-mcp-header": "Place"}}});
                let tools = json!({"tools": [{"name": "wetter·", "inputSchema": schema}]});
                Ok(Said::json(&result(came.id(), &tools.to_string())))
            }
            "tools/call" if came.header("mcp-param-place").is_none() => {
                Ok(Said::whole(400, "application/json", &[&mismatch.to_string()]))
            }
            _ => Ok(Said::json(&result(came.id(), "{}"))),
        }
    });
    let mut client = Client::of(&stage, MINUTE);
    let params = stateless(json!({"name": "wetter·", "arguments": {"place": "Köln"}}));
    assert_eq!(client.ask(1, "tools/call", params).await["result"], json!({}));
    let came = stage.came();
    assert_eq!(came.iter().map(method).collect::<Vec<_>>(), ["tools/call", "tools/list", "tools/call"]);
    let last = came.last().unwrap();
    assert_eq!(last.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(last.header("mcp-method"), Some("tools/call"));
    assert_eq!(last.header("mcp-name"), Some("=?base64?d2V0dGVywrc=?="));
    assert_eq!(last.header("mcp-param-place"), Some("=?base64?S8O2bG4=?="));
    assert_eq!(last.header("mcp-session-id"), None);
}

#[tokio::test]
async fn whatever_an_origin_says_in_words_of_its_own_is_told_without_the_token() {
    let echo = format!("your token {TOKEN} is no good");
    let bodies = [
        (401, "text/plain", echo.clone()),
        (
            403,
            "application/json",
            json!({"error": {"code": "x", "message": echo, "action": echo}}).to_string(),
        ),
        (
            500,
            "application/json",
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 7, "message": echo}}).to_string(),
        ),
        (
            400,
            "application/json",
            json!({"status": "error", "message": echo, "data": {"t": echo},
            "feedback": {"type": "error", "required_action": echo}})
            .to_string(),
        ),
    ];
    for (status, kind, body) in bodies {
        let stage = Stage::new(move |_| Ok(Said::whole(status, kind, &[&body])));
        let mut client = Client::of(&stage, MINUTE);
        let called = client.ask(1, "tools/call", json!({"name": "x"})).await.to_string();
        assert!(called.contains("is no good") && !called.contains(TOKEN), "{called}");
        let listed = client.ask(1, "tools/list", json!({})).await.to_string();
        assert!(listed.contains("is no good") && !listed.contains(TOKEN), "{listed}");
        let greeted = client.initialize().await.to_string();
        assert!(!greeted.contains(TOKEN), "{greeted}");
    }
}

#[tokio::test]
async fn more_than_can_be_under_way_is_refused_and_the_rest_goes_on() {
    let stage = Stage::new(|_| Ok(Said::open(200, "text/event-stream", &[])));
    let mut client = Client::of(&stage, MINUTE);
    for id in 0..=super::FLIGHTS {
        client
            .say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "x"}}))
            .await;
    }
    let refused = client.hear().await;
    assert_eq!(refused["id"], super::FLIGHTS);
    assert!(
        refused["result"]["structuredContent"]["message"].as_str().unwrap().contains("too many"),
        "{refused}"
    );
    let twice = client.ask(3, "tools/list", json!({})).await;
    assert!(twice["error"]["message"].as_str().unwrap().contains("in use"), "{twice}");
}
