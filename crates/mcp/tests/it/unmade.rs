//! Calls whose requests are answered with an error: the tool that was called learns of each of them once, and why.

use std::sync::Arc;

use covenant_gate::answering::{Answering, Unserved};
use covenant_gate::arguments::Arguments;
use covenant_gate::config::Config;
use covenant_gate::tool::Run;
use covenant_gate::{CallError, Context, Credential, Permit, Tool};
use covenant_mcp::Options;
use covenant_model::tool::{ToolCallResult, ToolSpec};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::client::PATIENCE;
use crate::tools::gate;
use crate::world::{Beginning, Client, World, modern_meta};

static HEARD: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
static MORE: Notify = Notify::const_new();

/// Writes down what it hears of calls that come to nothing, its own and those of tools called like it.
pub(crate) struct Hears;

impl Tool for Hears {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("heard".parse().unwrap(), "For tests.", json!({"type": "object"}))
    }

    fn answering(&self) -> Option<Arc<dyn Answering>> {
        Some(Arc::new(Self))
    }

    fn run<'a>(&'a self, _: Permit, _: Arguments, _: &'a Context) -> Run<'a> {
        Box::pin(async { ToolCallResult::text("done").into() })
    }
}

impl Answering for Hears {
    fn unserved<'a>(&'a self, call: Unserved<'a>) -> Run<'a> {
        let who = call.principal.map_or("nobody", |principal| principal.as_str());
        let why = match call.error {
            CallError::Refused(refusal) => refusal.code(),
            CallError::Fault(_) => "fault",
        };
        HEARD.lock().push((call.name.to_owned(), format!("{who} {why}")));
        MORE.notify_waiters();
        Box::pin(async { ToolCallResult::error("no").into() })
    }

    fn is_for(&self, name: &str) -> bool {
        name.starts_with("heard")
    }
}

/// What was heard of the calls of that tool, once it is so many.
pub(crate) async fn heard(tool: &str, count: usize) -> Vec<String> {
    let heard = async {
        loop {
            let more = MORE.notified();
            let of_it: Vec<String> =
                HEARD.lock().iter().filter(|(name, _)| name == tool).map(|(_, why)| why.clone()).collect();
            if of_it.len() >= count {
                return of_it;
            }
            more.await;
        }
    };
    timeout(PATIENCE, heard).await.expect("nothing more is heard")
}

/// Sends a call of that tool with these parameters, which is answered with an error.
async fn fails(client: &mut Client, tool: &str, mut params: Value) {
    params["name"] = json!(tool);
    let answer = client.request("tools/call", params).await;
    assert!(answer["error"]["code"].is_i64(), "{answer}");
}

#[tokio::test]
async fn every_call_that_cannot_be_read_is_heard_of_once() {
    let world = World::new().await;
    let mut client = world.connect();
    let with = |member: &str, value: Value| {
        let mut meta = modern_meta();
        meta[member] = value;
        json!({ "_meta": meta })
    };
    let protocol = "io.modelcontextprotocol/protocolVersion";
    let wrong = [
        json!({"arguments": []}),
        json!({"arguments": "text"}),
        json!({"_meta": []}),
        json!({"_meta": {"progressToken": {}}}),
        with("progressToken", json!([])),
        with("io.modelcontextprotocol/logLevel", json!("loud")),
        with(protocol, json!("1999-01-01")),
        with(protocol, json!(7)),
        json!({"_meta": modern_meta(), "inputResponses": []}),
    ];
    let mut expected = Vec::new();
    for params in wrong {
        fails(&mut client, "heard_wrong", params.clone()).await;
        expected.push("user@local invalid_arguments".to_owned());
        assert_eq!(heard("heard_wrong", expected.len()).await, expected, "{params}");
    }
    // What the gate was asked for, it tells of itself.
    fails(&mut client, "heard_wrong", json!({})).await;
    expected.push("user@local unknown_tool".to_owned());
    assert_eq!(heard("heard_wrong", expected.len()).await, expected);
}

#[tokio::test]
async fn a_call_under_an_id_in_use_is_heard_of() {
    let mut client = World::new().await.connect();
    let call = |tool: &str| {
        let params = json!({"name": tool, "arguments": {"name": "twice"}});
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string()
    };
    let waits = gate("twice waits");
    client.send(call("gate")).await;
    waits.notified().await;
    client.send(call("heard_twice")).await;
    assert!(client.hear().await["error"].is_object());
    assert_eq!(heard("heard_twice", 1).await, ["user@local invalid_arguments"]);
}

#[tokio::test]
async fn a_call_of_nobody_known_and_one_that_comes_too_often_are_heard_of() {
    let config = Config { rate: 0.001, burst: 1, ..Config::default() };
    let world = World::begin(Beginning { config, ..Beginning::default() }).await;
    let mut client = world.connect();
    assert_eq!(client.call("heard", json!({})).await["result"]["isError"], false);
    fails(&mut client, "heard_often", json!({})).await;
    assert_eq!(heard("heard_often", 1).await, ["user@local rate_limited"]);
    let mut stranger = world.connect_as(Credential::bearer("cv_nobody"), Options::default());
    fails(&mut stranger, "heard_stranger", json!({"arguments": []})).await;
    assert_eq!(heard("heard_stranger", 1).await, ["nobody unauthenticated"]);
    assert!(stranger.request("tools/list", json!({})).await["error"].is_object());
    assert_eq!(heard("heard_stranger", 1).await.len(), 1, "what is no call is none");
}
