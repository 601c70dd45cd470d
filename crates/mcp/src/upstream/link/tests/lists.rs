//! Lists over many pages, lists without end, and changes.

use super::*;
use crate::upstream::tests::until;

async fn tools(link: &Link) -> Result<Vec<String>, String> {
    match link.tools(LONG).await {
        Ok(tools) => Ok(tools.iter().map(|tool| tool.get().to_owned()).collect()),
        Err(error) => Err(error.to_string()),
    }
}

/// A server whose answer to every list is that expression of `page`, from 0, and `params`.
fn server(page: &str) -> String {
    format!(
        "
legacy()
for page in range(1000):
    request = hear_method('tools/list')
    params = request.get('params', {{}})
    answer(request, {page})
"
    )
}

#[tokio::test]
async fn pages_are_followed_and_tools_come_as_they_were_written() {
    let script = r#"
legacy()
request = hear()
assert "cursor" not in request["params"]
write('{"id":%d,"result":{"tools":[{"name":"a", "weird" : 1.0}],"nextCursor":"p\\u00e4ge 2"}}\n' % request["id"])
request = hear()
assert request["params"]["cursor"] == "p\u00e4ge 2", request
answer(request, {"tools": [{"name": "b"}], "nextCursor": ""})
stay()
"#;
    let link = open(script).await;
    assert_eq!(tools(&link).await.unwrap(), [r#"{"name":"a", "weird" : 1.0}"#, r#"{"name": "b"}"#]);
}

#[tokio::test]
async fn lists_that_go_in_circles_or_on_for_ever_end_with_an_error() {
    for (page, error) in [
        ("{'tools': [], 'nextCursor': 'again'}", "answered `tools/list` with the same page again"),
        ("{'tools': [], 'nextCursor': str(page)}", "answered `tools/list` with more than 64 pages"),
        (
            "{'tools': [{}] * 1500, 'nextCursor': str(page)}",
            "answered `tools/list` with more than 2000 tools",
        ),
        (
            "{'tools': ['x' * 3000000], 'nextCursor': str(page)}",
            "answered `tools/list` with more than 16777216 bytes",
        ),
    ] {
        let link = open(&server(page)).await;
        assert_eq!(tools(&link).await.unwrap_err(), error);
    }
    let link = open(&server("{'tools': [0] * 3000}")).await;
    let error = tools(&link).await.unwrap_err();
    assert!(
        error.starts_with("answered `tools/list` with no list of tools: more than 2000 tools"),
        "{error}"
    );
    let link = open(&server("{'tool': []}")).await;
    let error = tools(&link).await.unwrap_err();
    assert!(error.starts_with("answered `tools/list` with no list of tools: missing field"), "{error}");
}

#[tokio::test]
async fn a_list_that_does_not_come_is_given_up_and_taken_back() {
    let link = open("legacy()\nasked = hear()\nback = hear()\nassert back['params']['requestId'] == asked['id']\nos._exit(9)").await;
    let error = link.tools(Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(error.to_string(), "did not finish within 300 ms");
    assert_eq!(&*link.lost().await, "ended with exit code 9", "it heard of it");
}

#[tokio::test]
async fn a_server_that_never_spoke_of_tools_has_none() {
    let without = r#"
request = hear()
answer(request, {"protocolVersion": "2025-11-25", "capabilities": {"prompts": {}}})
while True:
    request = hear()
    if "id" in request: refuse(request, -32601, "unknown method")
"#;
    let link = try_open(without, EraChoice::Legacy, LONG).await.unwrap();
    assert_eq!(tools(&link).await, Ok(vec![]));
    let link = open("legacy()\nrefuse(hear(), -32601, 'unknown method')\nstay()").await;
    assert_eq!(tools(&link).await.unwrap_err(), "answered with error -32601: unknown method");
}

#[tokio::test]
async fn a_change_is_counted_in_the_legacy_era() {
    let link =
        open("legacy()\nhear()\nfor _ in range(3): notify('notifications/tools/list_changed')\nstay()").await;
    let changed = link.changed();
    let asking = link.tools(Duration::from_millis(300));
    let _ = tokio::join!(asking, until("three changes", || *changed.borrow() == 3));
}

#[tokio::test]
async fn changes_are_subscribed_to_in_the_modern_era_and_again_when_that_ends() {
    let script = r#"
def listening():
    request = hear_method("subscriptions/listen")
    assert request["params"]["notifications"] == {"toolsListChanged": True}, request
    assert request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28", request
    notify("notifications/subscriptions/acknowledged", notifications={"toolsListChanged": True})
    return request
modern(listChanged=True)
request = listening()
notify("notifications/tools/list_changed")
answer(request, {"resultType": "complete"})
listening()
stay()
"#;
    let link = open(script).await;
    let changed = link.changed();
    until("a change, and the time between two subscriptions", || *changed.borrow() == 2).await;
}
