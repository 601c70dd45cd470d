//! `[audit] sink = "database"`: the log through the API, with no files, over a restart, on either database.

use covenant_gate::audit::read::{Proof, verify_file};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::UnixStream;

use crate::house::{House, home, open};
use crate::postgres;

const CONFIG: &str = "[rate_limit]\nrate = 0\n[audit]\nsink = \"database\"\n";

fn kinds(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().to_owned())
        .collect()
}

/// Exports the log; whether that verifies, and how many rows it has.
async fn verified(house: &House) -> u64 {
    let export = house.get("/api/v1/audit/export").await;
    assert!(export.text.lines().last().unwrap().starts_with(r#"{"checkpoint":"#), "{}", export.text);
    let file = house.dir.path().join("export.jsonl");
    std::fs::write(&file, &export.text).unwrap();
    let key = covenant_daemon::identity::read_public(&house.running.home().public_key()).unwrap();
    let report = verify_file(&file, &Proof::trusting(&[key])).unwrap();
    assert!(report.valid, "{report:?}");
    report.rows
}

async fn everything_works_as_with_files(config: &str) {
    let house = House::with(config).await;
    let called = house.ask("POST", "/api/v1/tools/clock/call", json!({})).await;
    assert_eq!(called.status, 200, "{}", called.text);
    let all = ["DaemonStarted", "CapabilityCheck", "CallStarted", "CallFinished"];
    assert_eq!(kinds(&house.get("/api/v1/audit").await.text)[3..], all, "after the first grants");
    assert_eq!(kinds(&house.get("/api/v1/audit?limit=1").await.text), ["CallFinished"]);
    assert_eq!(kinds(&house.get("/api/v1/audit?agent_id=tool%3Aclock").await.text).len(), 3);
    let head = house.ask("POST", "/api/v1/audit/head", json!({})).await.json();
    assert_eq!(head["checkpoint"]["seq"], 7);
    assert_eq!(verified(&house).await, 7);
    assert_eq!(house.get("/readyz").await.status, 200);
    let files = std::fs::read_dir(house.running.home().audit()).unwrap().count();
    assert_eq!(files, 0, "nothing is written into files");
    let dir = house.stop().await;

    let house = House { running: open(home(&dir)).await.unwrap(), dir };
    let rows = house.get("/api/v1/audit").await.text;
    assert_eq!(kinds(&rows)[7..], ["DaemonStopped", "DaemonStarted"], "the chain goes on");
    let second: Value = serde_json::from_str(rows.lines().last().unwrap()).unwrap();
    let pruned = house.ask("POST", "/api/v1/audit/prune", json!({"before": second["ts"]})).await.json();
    assert_eq!(pruned, json!({"rows": 8, "first_kept": 9}));
    let rows = kinds(&house.get("/api/v1/audit").await.text);
    assert_eq!(rows[..2], ["DaemonStarted", "LogPruned"]);
    assert_eq!(verified(&house).await, u64::try_from(rows.len()).unwrap());
    house.stop().await;
}

#[tokio::test]
async fn a_log_in_a_file_database_works_as_one_in_files() {
    everything_works_as_with_files(CONFIG).await;
}

#[tokio::test]
async fn a_log_on_a_server_works_as_one_in_files() {
    let Some(url) = postgres::database().unwrap() else { return };
    everything_works_as_with_files(&format!("{CONFIG}[database]\nurl = \"{url}\"\n")).await;
}

#[tokio::test]
async fn a_watcher_sees_rows_of_the_database_as_they_are_committed() {
    let house = House::with(CONFIG).await;
    let stream = UnixStream::connect(house.socket()).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::get("/api/v1/audit/watch?from=1").body(String::new()).unwrap();
    let mut body = sender.send_request(request).await.unwrap().into_body();
    let mut seen = Vec::new();
    for wanted in ["DaemonStarted", "ClientAdded"] {
        while kinds(std::str::from_utf8(&seen).unwrap()).last().is_none_or(|last| last != wanted) {
            seen.extend(body.frame().await.unwrap().unwrap().into_data().unwrap());
        }
        house.ask("POST", "/api/v1/clients", json!({"name": "claude"})).await;
    }
    house.stop().await;
}
