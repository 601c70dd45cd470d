//! The index in the database follows the log, also over restarts.

use std::time::Duration;

use covenant_store::{AuditFilter, Store};
use serde_json::json;

use crate::house::{House, home, open};

/// Waits until the index of that home holds a row of that kind; its rows.
async fn indexed(home: &covenant_daemon::Home, kind: &str) -> Vec<String> {
    let store = Store::open("sqlite:covenant.db", home.root()).await.unwrap();
    let filter = AuditFilter { limit: 1000, ..AuditFilter::default() };
    let rows = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            let rows = store.recent_audit(&filter).await.unwrap();
            if rows.iter().any(|row| row.contains(kind)) {
                return rows;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let rows = rows.await.expect("the index catches up");
    store.close().await;
    rows
}

#[tokio::test]
async fn rows_reach_the_index_as_they_stand_in_the_files() {
    let house = House::new().await;
    house.ask("POST", "/api/v1/clients", json!({"name": "claude"})).await;
    let rows = indexed(house.running.home(), "ClientAdded").await;
    assert_eq!(rows.join("\n") + "\n", house.get("/api/v1/audit").await.text);
    house.stop().await;
}

#[tokio::test]
async fn what_was_missed_at_the_end_is_caught_up_with_at_the_next_start() {
    let dir = House::new().await.stop().await;
    let running = open(home(&dir)).await.unwrap();
    let rows = indexed(running.home(), "DaemonStopped").await;
    assert!(rows.iter().any(|row| row.contains("DaemonStarted")), "{rows:?}");
    running.stop().await;
}
