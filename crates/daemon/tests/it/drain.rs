//! A stop while a call runs: it is finished if it ends in time, and taken back if it does not.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool, ToolRegistry};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::json;
use tokio::sync::Notify;

use crate::house::{Answer, House, home, options};

/// A tool that says when it has begun, and ends when it is told to.
#[derive(Default)]
struct Patient {
    begun: Notify,
    end: Notify,
}

struct Handle(Arc<Patient>);

impl Tool for Handle {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("patient".parse().unwrap(), "Waits.", json!({"type": "object"}))
    }

    fn run<'a>(&'a self, _: Permit, _: Arguments, _: &'a Context) -> Run<'a> {
        Box::pin(async {
            self.0.begun.notify_one();
            self.0.end.notified().await;
            ToolCallResult::text("done").into()
        })
    }
}

/// A daemon with that tool, and a call of it that has begun.
async fn busy(drain: Duration) -> (Arc<Patient>, House, tokio::task::JoinHandle<Answer>) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(home(&dir));
    options.drain = drain;
    let running = covenant_daemon::start(options).await.unwrap();
    let patient = Arc::new(Patient::default());
    let mut tools = ToolRegistry::default();
    tools.register(Arc::new(Handle(Arc::clone(&patient)))).unwrap();
    running.gate().set_tools(tools);
    let house = House { dir, running };
    let grant = json!({"subject": "user@local", "action": "tool.call.patient"});
    assert_eq!(house.ask("POST", "/api/v1/capabilities", grant).await.status, 201);
    let request = http::Request::post("/api/v1/tools/patient/call").body("{}".to_owned()).unwrap();
    let stream = tokio::net::UnixStream::connect(house.socket()).await.unwrap();
    let call = tokio::spawn(crate::house::send(stream, request));
    patient.begun.notified().await;
    (patient, house, call)
}

#[tokio::test]
async fn a_call_that_ends_in_time_is_answered_before_the_daemon_is_gone() {
    let (patient, house, call) = busy(Duration::from_secs(10)).await;
    let socket = house.socket();
    let stop = tokio::spawn(house.stop());
    while socket.exists() {
        tokio::task::yield_now().await;
    }
    assert!(!stop.is_finished(), "the daemon waits for the call");
    patient.end.notify_one();
    let answer = call.await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.json()["content"][0]["text"].clone()), (200, json!("done")));
    stop.await.unwrap();
}

#[tokio::test]
async fn a_call_that_does_not_end_is_taken_back_and_recorded() {
    let (_patient, house, call) = busy(Duration::from_millis(50)).await;
    let dir = tokio::time::timeout(Duration::from_secs(8), house.stop()).await.expect("the daemon stops");
    drop(call.await);
    let rows = std::fs::read_to_string(home(&dir).audit().join("000001.jsonl")).unwrap();
    let kinds: Vec<&str> =
        rows.lines().filter_map(|row| row.split("\"kind\":\"").nth(1)?.split('"').next()).collect();
    assert_eq!(&kinds[kinds.len() - 3..], ["CallStarted", "CallFinished", "DaemonStopped"], "{rows}");
    assert!(rows.contains("\"decision\":\"cancelled\""), "{rows}");
}
