//! What is kept of a session, and that it goes on from there.

use std::sync::Arc;

use covenant_gate::Credential;
use covenant_mcp::outlet::Outlet;
use covenant_mcp::server::subscriptions::Change;
use covenant_mcp::server::{Received, Running, Session};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::following::boards;
use crate::world::{OPERATOR, World};

#[derive(Default)]
struct Heard(Mutex<Vec<Value>>);

impl Outlet for Heard {
    fn notify(&self, message: &[u8]) {
        self.0.lock().push(serde_json::from_slice(message).unwrap());
    }
    fn request(&self, message: &[u8]) -> bool {
        self.notify(message);
        true
    }
    fn reaches(&self) -> bool {
        true
    }
}

fn send(session: &Arc<Session>, heard: &Arc<Heard>, message: &Value) -> Received {
    let outlet: Arc<dyn Outlet> = heard.clone();
    session.receive(&Credential::peer(OPERATOR), message.to_string().as_bytes(), &outlet)
}

fn request(session: &Arc<Session>, method: &str, params: &Value) {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    assert!(matches!(send(session, &Arc::default(), &message), Received::Answered(_)), "{message}");
}

fn call(session: &Arc<Session>, heard: &Arc<Heard>, tool: &str) -> Running {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}});
    match send(session, heard, &message) {
        Received::Running(running) => running,
        _ => panic!("{tool} does not run"),
    }
}

/// A session that has said everything that is kept.
fn spoken(world: &World) -> Arc<Session> {
    let session = Session::new(world.gate.clone());
    let capabilities = json!({"elicitation": {}, "roots": {}});
    request(&session, "initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": capabilities}));
    request(&session, "logging/setLevel", &json!({"level": "error"}));
    for uri in ["board:b", "board:a"] {
        request(&session, "resources/subscribe", &json!({"uri": uri}));
    }
    session
}

#[tokio::test]
async fn a_restored_session_has_the_level_the_abilities_and_the_follows_it_was_kept_with() {
    let world = boards(vec!["tool.call.*", "tool.resource.board"]).await;
    let text = spoken(&world).kept();
    let session = Session::restored(world.gate.clone(), &text).unwrap();
    assert_eq!(session.kept(), text);

    let told = |uri: &str| session.changed(&Change::Resource(uri.into())).len();
    assert_eq!((told("board:a"), told("board:b"), told("board:c")), (1, 1, 0));

    let heard = Arc::new(Heard::default());
    call(&session, &heard, "steps").await;
    let levels: Vec<_> = heard.0.lock().iter().map(|said| said["params"]["level"].clone()).collect();
    assert_eq!(levels, ["error"]);

    let heard = Arc::new(Heard::default());
    let mut running = call(&session, &heard, "curious");
    let answer = async {
        while heard.0.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        let id = heard.0.lock()[0]["id"].clone();
        send(&session, &heard, &json!({"jsonrpc": "2.0", "id": id, "result": {"content": "Ada"}}));
    };
    let (answer, ()) = tokio::join!(&mut running, answer);
    assert_eq!(heard.0.lock()[0]["method"], "elicitation/create");
    let mut written = Vec::new();
    answer.encode(&mut written);
    let answer: Value = serde_json::from_slice(&written).unwrap();
    let missing = json!({"requiredCapabilities": {"sampling": {}}});
    assert_eq!(answer["error"]["data"], missing, "it declared elicitation and no sampling: {answer}");
}

#[tokio::test]
async fn a_broken_text_restores_nothing() {
    let world = boards(vec!["tool.resource.board"]).await;
    let text = spoken(&world).kept();
    let loud = text.replace("error", "loud");
    for broken in ["", "null", "{}", "[]", "7", &text[1..], &text[..text.len() - 1], &loud] {
        assert!(Session::restored(world.gate.clone(), broken).is_none(), "{broken}");
    }
    assert!(Session::restored(world.gate.clone(), &text).is_some());
}

#[tokio::test]
async fn a_session_that_follows_much_is_kept_in_a_text_of_bounded_length() {
    let world = boards(vec!["tool.resource.board"]).await;
    let session = spoken(&world);
    for at in 0..200 {
        let uri = format!("board:{at}:{}", "x".repeat(1000));
        request(&session, "resources/subscribe", &json!({"uri": uri}));
    }
    let text = session.kept();
    assert!((20_000..40_000).contains(&text.len()), "{}", text.len());
    assert_eq!(Session::restored(world.gate.clone(), &text).unwrap().kept(), text);
}
