//! The log through the API: the newest rows, a stream of new ones, an export that verifies, pruning.

use std::time::Duration;

use covenant_gate::audit::read::{Proof, verify_file};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::UnixStream;

use crate::house::House;

fn kinds(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_newest_rows_come_last_and_can_be_filtered() {
    let house = House::new().await;
    house.ask("POST", "/api/v1/tools/clock/call", json!({})).await;
    let recent = house.get("/api/v1/audit").await;
    assert_eq!(recent.headers["content-type"], "application/x-ndjson");
    assert_eq!(kinds(&recent.text)[..3], ["GrantAdded"; 3], "the first grants");
    assert_eq!(kinds(&recent.text)[3..], ["DaemonStarted", "CapabilityCheck", "CallStarted", "CallFinished"]);
    assert_eq!(kinds(&house.get("/api/v1/audit?limit=2").await.text), ["CallStarted", "CallFinished"]);
    assert_eq!(kinds(&house.get("/api/v1/audit?agent_id=tool%3Aclock").await.text).len(), 3);
    assert_eq!(house.get("/api/v1/audit?since=2099-01-01T00%3A00%3A00Z").await.text, "");
    for wrong in ["limit=x", "limit=1000000", "since=now", "no=1"] {
        let status = house.get(&format!("/api/v1/audit?{wrong}")).await.status.as_u16();
        assert!(status == 400 || status == 422, "{wrong}: {status}");
    }
    house.stop().await;
}

#[tokio::test]
async fn a_watcher_sees_rows_as_they_are_written_and_ends_with_the_daemon() {
    let house = House::new().await;
    let stream = UnixStream::connect(house.socket()).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::get("/api/v1/audit/watch?from=1").body(String::new()).unwrap();
    let mut body = sender.send_request(request).await.unwrap().into_body();
    let mut seen = String::new();
    while kinds(&seen).len() < 2 {
        seen.push_str(
            std::str::from_utf8(&body.frame().await.unwrap().unwrap().into_data().unwrap()).unwrap(),
        );
    }
    house.ask("POST", "/api/v1/clients", json!({"name": "claude"})).await;
    while kinds(&seen).last().unwrap() != "ClientAdded" {
        seen.push_str(
            std::str::from_utf8(&body.frame().await.unwrap().unwrap().into_data().unwrap()).unwrap(),
        );
    }
    tokio::time::timeout(Duration::from_secs(5), house.stop())
        .await
        .expect("a watcher does not hold the daemon up");
    assert!(
        body.frame().await.is_none_or(|frame| frame.is_err() || frame.unwrap().is_data()),
        "and its stream ends"
    );
}

#[tokio::test]
async fn an_export_ends_with_a_checkpoint_and_verifies_with_the_public_key() {
    let house = House::new().await;
    house.ask("POST", "/api/v1/tools/clock/call", json!({})).await;
    let export = house.get("/api/v1/audit/export").await;
    assert!(export.text.lines().last().unwrap().starts_with(r#"{"checkpoint":"#), "{}", export.text);
    let file = house.dir.path().join("export.jsonl");
    std::fs::write(&file, &export.text).unwrap();
    let key = covenant_daemon::identity::read_public(&house.running.home().public_key()).unwrap();
    let report = verify_file(&file, &Proof::trusting(&[key])).unwrap();
    assert!(report.valid, "{report:?}");
    std::fs::write(&file, export.text.replacen("user@local", "user@lokal", 1)).unwrap();
    assert!(!verify_file(&file, &Proof::trusting(&[key])).unwrap().valid);
    house.stop().await;
}

#[tokio::test]
async fn a_head_is_a_checkpoint_of_now_and_a_prune_is_recorded() {
    let house = House::new().await;
    let head = house.ask("POST", "/api/v1/audit/head", json!({})).await.json();
    assert_eq!(head["checkpoint"]["seq"], 4);
    let pruned = house.ask("POST", "/api/v1/audit/prune", json!({"before": "2000-01-01"})).await.json();
    assert_eq!(pruned, json!({"rows": 0, "first_kept": 1}));
    assert_eq!(kinds(&house.get("/api/v1/audit?limit=1").await.text), ["LogPruned"]);
    house.stop().await;
}
