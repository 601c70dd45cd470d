//! Sessions by a clock that is moved by hand: when they are over, which of them goes first, and what is kept.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Theatre, UNHURRIED};
use crate::mcp_client::HttpClient;

/// Whether the session is there. Asking is using it.
fn lives(client: &mut HttpClient) -> bool {
    let ping = client.message("ping", &json!({}));
    let answer = client.send(&client.legacy(&ping));
    assert!(matches!(answer.status, 200 | 404), "{answer:?}");
    answer.status == 200
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_nobody_uses_is_over_and_one_that_is_used_is_not() {
    let theatre = Theatre::new("[rate_limit]\nrate = 0\n[http]\nsession_idle_secs = 600\n").await;
    let (mut used, mut idle) = (theatre.client("used").await, theatre.client("idle").await);
    used.initialize();
    idle.initialize();
    for _ in 0..3 {
        theatre.clock.advance(Duration::from_secs(250));
        assert!(lives(&mut used));
    }
    theatre.client("newcomer").await.initialize();
    assert!(lives(&mut used), "one that begins ends none that was used just now");
    assert!(!lives(&mut idle), "it was idle for 750 s");
    assert!(!lives(&mut idle), "and asking for it did not bring it back");
    theatre.clock.advance(Duration::from_mins(10));
    assert!(lives(&mut used), "to the very second");
    theatre.clock.advance(Duration::from_secs(601));
    assert!(!lives(&mut used));
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_not_idle_while_someone_listens_on_it_or_waits_for_a_call() {
    let theatre = Theatre::new("[rate_limit]\nrate = 0\n[http]\nsession_idle_secs = 600\n").await;
    let (mut listener, mut waiter) = (theatre.client("listener").await, theatre.client("waiter").await);
    listener.initialize();
    waiter.initialize();
    let stream = listener.listen();
    assert_eq!(stream.status, 200);
    let message = waiter.message("tools/call", &json!({"name": "work", "arguments": {}}));
    let pending = waiter.begin(&waiter.legacy(&message));
    theatre.stage.has_begun(1);
    theatre.clock.advance(Duration::from_hours(1));
    // One more session sweeps what is over.
    theatre.client("newcomer").await.initialize();
    assert!(lives(&mut listener));
    assert!(lives(&mut waiter));
    theatre.stage.go();
    assert_eq!(pending.answer().status, 200);
    drop(stream);
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_too_many_sessions_the_longest_idle_goes_first() {
    let theatre = Theatre::new("[rate_limit]\nrate = 0\n[http]\nmax_sessions = 3\n").await;
    let mut clients = Vec::new();
    for name in ["a", "b", "c"] {
        let mut client = theatre.client(name).await;
        client.initialize();
        clients.push(client);
        theatre.clock.advance(Duration::from_mins(2));
    }
    assert!(lives(&mut clients[0]), "the oldest is used again");
    theatre.clock.advance(Duration::from_mins(2));
    let mut newest = theatre.client("d").await;
    newest.initialize();
    let alive: Vec<bool> = clients.iter_mut().map(lives).collect();
    assert_eq!(alive, [true, false, true], "the one that was idle for longest made room");
    assert!(lives(&mut newest));
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_level_and_what_a_session_follows_outlive_the_daemon_however_it_ends() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("kept").await;
    client.initialize();
    let levels = |client: &mut HttpClient| -> Vec<Value> {
        let call = client.message("tools/call", &json!({"name": "say", "arguments": {}}));
        let said = client.send(&client.legacy(&call)).messages();
        said.iter()
            .filter(|message| message["method"] == "notifications/message")
            .map(|message| message["params"]["level"].clone())
            .collect()
    };
    assert_eq!(levels(&mut client), ["info", "warning", "error"], "where nothing was said");
    client.request("logging/setLevel", json!({"level": "error"}));
    assert_eq!(levels(&mut client), ["error"]);
    assert!(client.request("resources/subscribe", json!({"uri": "note:a"}))["result"].is_object());
    let after = theatre.crashed().await;
    client.moved(after.house.port());
    assert_eq!(levels(&mut client), ["error"]);
    after.house.stop().await;
    let theatre = theatre.again().await;
    client.moved(theatre.house.port());
    assert_eq!(levels(&mut client), ["error"]);
    let mut stream = client.listen();
    theatre.house.running.gate().resource_updated("note:b");
    theatre.house.running.gate().resource_updated("note:a");
    let updated = stream.event();
    assert_eq!(
        updated,
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "note:a"}})
    );
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idleness_is_counted_across_a_restart() {
    let theatre = Theatre::new("[rate_limit]\nrate = 0\n[http]\nsession_idle_secs = 600\n").await;
    let (mut used, mut idle) = (theatre.client("used").await, theatre.client("idle").await);
    used.initialize();
    idle.initialize();
    theatre.clock.advance(Duration::from_secs(400));
    assert!(lives(&mut used));
    let theatre = theatre.again().await;
    for client in [&mut used, &mut idle] {
        client.moved(theatre.house.port());
    }
    theatre.clock.advance(Duration::from_secs(400));
    assert!(lives(&mut used), "its last use was written down when the daemon stopped");
    assert!(!lives(&mut idle));
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_too_often_is_told_that_and_not_that_the_session_is_gone() {
    let theatre = Theatre::new("[rate_limit]\nrate = 0.01\nburst = 8\n").await;
    let mut client = theatre.client("hasty").await;
    client.initialize();
    let session = client.session().to_owned();
    let theatre = theatre.again().await;
    client.moved(theatre.house.port());
    client.resume(&"x".repeat(43));
    let ping = client.message("ping", &json!({}));
    let strange: Vec<u16> = (0..8).map(|_| client.send(&client.legacy(&ping)).status).collect();
    assert_eq!(strange, [404; 8]);
    client.resume(&session);
    let answer = client.send(&client.legacy(&ping));
    assert_eq!((answer.status, answer.code()), (429, -32000), "{answer:?}");
    assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    theatre.house.stop().await;
}
