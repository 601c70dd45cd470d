//! Spans leave for the collector that the configuration names, with its headers, redacted, and hold nobody up.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::house::House;
use crate::keeper::{Keeper, Mood, Post};

const BASE: &str = "[rate_limit]\nrate = 0\n";

fn sending_to(keeper: &Keeper, headers: &str) -> String {
    format!("{BASE}[telemetry]\notlp_endpoint = \"http://{}\"\notlp_headers = {headers}\n", keeper.address)
}

async fn call_clock(house: &House) {
    assert_eq!(house.ask("POST", "/api/v1/tools/clock/call", json!({})).await.status, 200);
}

async fn reload(house: &House, config: &str) -> Value {
    covenant_daemon::atomic::write(&house.running.home().config(), config.as_bytes()).unwrap();
    house.ask("POST", "/api/v1/reload", json!({})).await.json()
}

fn spans(post: &Post) -> Vec<Value> {
    let body: Value = serde_json::from_str(&post.body).unwrap();
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_reload_turns_it_on_and_off_and_headers_take_their_secrets() {
    let mut keeper = Keeper::new().await;
    let house = House::with(BASE).await;
    call_clock(&house).await;
    let on = sending_to(
        &keeper,
        "{ Authorization = \"Bearer ${secret:OTLP_TOKEN}\", X-Api-Key = \"hunter2hunter2\" }",
    );
    let reloaded = reload(&house, &on).await;
    assert!(reloaded["applied"].to_string().contains("telemetry.otlp_endpoint"), "{reloaded}");
    call_clock(&house).await;
    let set = house.ask("PUT", "/api/v1/secrets/OTLP_TOKEN", json!({"value": "a-token-of-ours"})).await;
    assert_eq!(set.status, 200, "{}", set.text);
    call_clock(&house).await;
    let post = keeper.next().await;
    assert_eq!((post.method.as_str(), post.target.as_str()), ("POST", "/v1/traces"));
    assert_eq!(post.headers["content-type"], "application/json");
    assert_eq!(post.headers["authorization"], "Bearer a-token-of-ours");
    assert_eq!(post.headers["x-api-key"], "hunter2hunter2");
    assert_eq!(spans(&post).len(), 1, "without the secret nothing was gathered");
    let shown = house.get("/api/v1/config").await.text;
    assert!(!shown.contains("hunter2") && shown.contains("X-Api-Key"), "{shown}");
    house
        .ask("POST", "/api/v1/capabilities", json!({"subject": "user@local", "action": "tool.call.echo"}))
        .await;
    let call = json!({"arguments": {"text": "hunter2hunter2"}});
    let echoed = house.ask("POST", "/api/v1/tools/echo/call", call).await.text;
    assert!(echoed.contains("[REDACTED:OTLP_HEADERS]"), "{echoed}");
    reload(&house, BASE).await;
    assert_eq!(spans(&keeper.next().await).len(), 1, "what was gathered still goes");
    call_clock(&house).await;
    house.stop().await;
    assert!(keeper.newest().is_none(), "nothing is sent any more");
}

#[tokio::test]
async fn a_stop_sends_what_was_gathered_and_nothing_in_it_is_a_secret() {
    let mut keeper = Keeper::new().await;
    let house = House::with(&sending_to(&keeper, "{}")).await;
    house.ask("PUT", "/api/v1/secrets/NAME", json!({"value": "hunter2hunter2"})).await;
    let added = house.ask("POST", "/api/v1/clients", json!({"name": "hunter2hunter2"})).await.json();
    let token = added["token"].as_str().unwrap().to_owned();
    for tool in ["clock", "hunter2hunter2"] {
        house.ask_as(Some(&token), "POST", &format!("/api/v1/tools/{tool}/call"), json!({})).await;
    }
    house.stop().await;
    let post = keeper.newest().expect("it was sent before the daemon ended");
    assert_eq!(spans(&post).len(), 2);
    assert!(post.body.contains("client:[REDACTED:NAME]") && !post.body.contains("hunter2"), "{}", post.body);
}

#[tokio::test]
async fn a_collector_that_never_answers_holds_up_neither_calls_nor_the_stop() {
    let mut keeper = Keeper::with(&[Mood::Silent, Mood::Silent]).await;
    let house = House::with(&sending_to(&keeper, "{}")).await;
    call_clock(&house).await;
    keeper.next().await;
    call_clock(&house).await;
    assert_eq!(house.get("/readyz").await.status, 200, "calls do not need a collector");
    let begun = Instant::now();
    house.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn many_calls_go_in_few_requests() {
    let mut keeper = Keeper::new().await;
    let house = House::with(&sending_to(&keeper, "{}")).await;
    for _ in 0..100 {
        call_clock(&house).await;
    }
    house.stop().await;
    let mut sizes = Vec::new();
    while let Some(post) = keeper.pop() {
        sizes.push(spans(&post).len());
    }
    assert_eq!(sizes.iter().sum::<usize>(), 100, "{sizes:?}");
    assert!(sizes.len() <= 10, "{sizes:?}");
}
