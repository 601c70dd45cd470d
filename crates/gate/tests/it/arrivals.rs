//! Calls of tools that are on their way.

use std::sync::{Arc, Weak};

use covenant_gate::arrivals::{Arrivals, Arriving};
use covenant_gate::{CallError, CallRequest, Context, Gate, Refusal, ToolRegistry};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{Fixture, bench_of_tools, refusal};

/// Brings all tools when it is told to.
struct Cart {
    gate: Arc<Gate>,
    go: CancellationToken,
}

impl Arrivals for Cart {
    fn awaited<'a>(&'a self, name: &'a str) -> Option<Arriving<'a>> {
        (name == "echo").then(|| -> Arriving<'a> {
            Box::pin(async move {
                self.go.cancelled().await;
                self.gate.set_tools(bench_of_tools::registry());
            })
        })
    }
}

/// A gate that has no tools yet, and who brings them.
async fn empty() -> (Fixture, Arc<Cart>) {
    let fixture = Fixture::new().await;
    fixture.gate.set_tools(ToolRegistry::default());
    let cart = Arc::new(Cart { gate: Arc::clone(&fixture.gate), go: CancellationToken::new() });
    let weak: Weak<Cart> = Arc::downgrade(&cart);
    fixture.gate.expect(weak);
    (fixture, cart)
}

#[tokio::test]
async fn a_call_waits_for_a_tool_that_is_expected() {
    let (fixture, cart) = empty().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let other = refusal(fixture.call("other", json!({})).await);
    assert!(matches!(other, Refusal::UnknownTool { .. }), "{other:?}");
    let (result, ()) = tokio::join!(fixture.call("echo", json!({"text": "hi"})), async { cart.go.cancel() });
    assert!(result.unwrap().json().get().contains("hi"));
}

#[tokio::test]
async fn who_may_not_call_it_does_not_wait() {
    let (fixture, _cart) = empty().await;
    let refused = refusal(fixture.call("echo", json!({"text": "hi"})).await);
    assert!(matches!(refused, Refusal::UnknownTool { .. }), "{refused:?}");
}

#[tokio::test]
async fn who_takes_the_call_back_waits_no_longer() {
    let (fixture, _cart) = empty().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let cancel = CancellationToken::new();
    let request = CallRequest { name: "echo".to_owned(), arguments: serde_json::Map::new() };
    let call = fixture.gate.call(fixture.admitted(), request, Context::new(cancel.clone()));
    let (ended, ()) = tokio::join!(call, async { cancel.cancel() });
    assert!(matches!(ended, Err(CallError::Refused(Refusal::UnknownTool { .. }))));
}
