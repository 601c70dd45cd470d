//! What calls say when something goes wrong, and which are made once more.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use covenant_model::secret::Secret;
use covenant_model::server::{Plan, Reach, ServerState, Web, WebTransport};
use serde_json::{Value, json};

use super::puppets::{Begin, tool};
use super::{World, plan};
use crate::upstream::dial::HANDSHAKE;

fn web(name: &str) -> Plan {
    let url = Secret::new("http://localhost/mcp".to_owned());
    Plan {
        reach: Reach::Web(Web { url, headers: BTreeMap::new(), transport: WebTransport::Http }),
        ..plan(name)
    }
}

async fn with(plan: Plan, tools: Value) -> World {
    let world = World::new().await;
    world.stage.lists(&plan.name, tools);
    let name = plan.name.clone();
    world.apply([plan]).await;
    assert_eq!(world.fleet.settled(&name).await.unwrap().state, ServerState::Ready);
    world
}

#[tokio::test]
async fn every_failure_names_the_server_and_what_to_change() {
    let mut hasty = plan("a");
    (hasty.call_timeout, hasty.call_total) = (Duration::from_secs(5), Duration::from_secs(8));
    let world = with(hasty, json!([tool("hang"), tool("refuse")])).await;
    let told = world.call("a", "hang").await;
    assert_eq!(told, "the server `a` said nothing for 5 s, so the call was given up (`call_timeout_secs`)");
    let told = world.call("a", "refuse").await;
    assert_eq!(told, "no such thing (code -32602, from the server `a`)");
}

#[tokio::test]
async fn a_crash_is_followed_by_one_more_try_only_of_what_is_safe_to_repeat() {
    let safe = json!({"name": "crash_safely", "annotations": {"readOnlyHint": true}});
    let world = with(plan("a"), json!([tool("crash"), safe])).await;
    world.call("a", "crash").await;
    world.until("a", ServerState::Ready).await;
    let told = world.call("a", "crash_safely").await;
    assert!(told.as_str().unwrap().contains("exit code 1"), "{told}");
    world.until("a", ServerState::Ready).await;
    let calls: Vec<_> =
        world.stage.all("a").iter().map(|puppet| puppet.calls.load(Ordering::SeqCst)).collect();
    assert_eq!(calls, [1, 1, 1, 0], "one of the first tool, two of the second");
}

#[tokio::test]
async fn a_lost_session_is_made_anew_and_the_call_repeated_once() {
    let world = with(web("a"), json!([tool("forget"), tool("echo")])).await;
    let told = world.call("a", "forget").await;
    assert_eq!(told, "the server `a` no longer knows our session");
    assert_eq!(
        world.stage.all("a").iter().map(|puppet| puppet.calls.load(Ordering::SeqCst)).sum::<usize>(),
        2
    );
    assert!(world.call("a", "echo").await.is_object());
    assert!(world.status("a").error.is_none());
}

#[tokio::test]
async fn a_server_out_of_reach_is_reached_anew_and_the_failure_counts() {
    let world = with(web("a"), json!([tool("unreachable"), tool("echo")])).await;
    assert_eq!(world.call("a", "unreachable").await, "the server `a` could not be reached");
    assert!(world.call("a", "echo").await.is_object());
    assert_eq!(world.stage.all("a").len(), 2);
    world.stage.begins("a", [Begin::Fails(HANDSHAKE)]);
    world.call("a", "unreachable").await;
    world.until("a", ServerState::Quarantined).await;
}

#[tokio::test]
async fn more_calls_than_a_server_takes_wait_and_then_are_refused() {
    let mut narrow = plan("a");
    narrow.max_in_flight = 1;
    let world = with(narrow, json!([tool("hang")])).await;
    let calls = futures_util::future::join_all((0..6).map(|_| world.call("a", "hang"))).await;
    let full = calls.iter().filter(|told| told.as_str().unwrap().contains("all that `max_in_flight` allows"));
    assert_eq!(full.count(), 1, "{calls:?}");
}

#[tokio::test]
async fn a_server_that_does_not_come_in_time_fails_the_call_with_why() {
    let world = with(plan("a"), json!([tool("echo")])).await;
    world.stage.begins("a", [Begin::Hangs]);
    world.stage.puppet("a").crashes();
    world.until("a", ServerState::Restarting).await;
    let told = world.call("a", "echo").await;
    let told = told.as_str().unwrap();
    assert!(
        told.contains("`list_timeout_secs`); the last that went wrong: it did not answer within 30 s"),
        "{told}"
    );
}

#[tokio::test]
async fn a_call_waits_for_the_start_of_its_server_and_for_its_list() {
    let hasty = Plan { start_timeout: Duration::from_secs(2), ..plan("a") };
    let world = with(hasty, json!([tool("echo")])).await;
    world.stage.begins("a", [Begin::ListsLate(Duration::from_secs(8))]);
    world.stage.puppet("a").crashes();
    world.until("a", ServerState::Restarting).await;
    assert!(world.call("a", "echo").await.is_object());
}
