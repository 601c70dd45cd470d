//! How a daemon begins, changes and ends.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::json;

use crate::house::{House, home, open};

#[tokio::test]
async fn a_fresh_home_is_served_at_once_and_holds_what_is_documented() {
    let house = House::new().await;
    let status = house.get("/api/v1/status").await.json();
    assert_eq!((status["ready"].clone(), status["tools"].clone()), (json!(true), json!(19)));
    assert_eq!(status["version"], covenant_model::VERSION);
    assert_eq!(status["socket"], house.socket().display().to_string());
    let root = house.running.home().root().to_owned();
    for name in
        ["sock", "lock", "covenant.db", "identity/operator.token", "identity/local.key", "logs/covenant.log"]
    {
        let mode = root.join(name).metadata().unwrap_or_else(|error| panic!("{name}: {error}")).mode();
        assert_eq!(mode & 0o077, 0, "{name} is private");
    }
    house.stop().await;
    assert!(!root.join("sock").exists(), "the socket is removed");
}

#[tokio::test]
async fn one_daemon_per_home_and_the_second_is_told_about_the_first() {
    let house = House::new().await;
    let refused = open(house.running.home().clone()).await.err().unwrap().to_string();
    assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
    assert_eq!(house.get("/healthz").await.text, "ok", "the first is not disturbed");
    let dir = house.stop().await;
    open(home(&dir)).await.unwrap().stop().await;
}

#[tokio::test]
async fn a_socket_left_by_a_dead_daemon_is_no_obstacle() {
    let dir = House::new().await.stop().await;
    let home = home(&dir);
    drop(std::os::unix::net::UnixListener::bind(home.root().join("sock")).unwrap());
    let running = open(home).await.unwrap();
    assert!(tokio::net::UnixStream::connect(running.socket()).await.is_ok());
    running.stop().await;
}

#[tokio::test]
async fn a_malformed_configuration_stops_the_start_with_its_place() {
    let dir = House::new().await.stop().await;
    let home = home(&dir);
    covenant_daemon::atomic::write(&home.config(), b"[http]\nlisten = 8421\n").unwrap();
    let refused = open(home.clone()).await.err().unwrap().to_string();
    assert!(refused.contains("config.toml, line 2, column 10"), "{refused}");
    covenant_daemon::atomic::write(&home.config(), b"").unwrap();
    open(home).await.unwrap().stop().await;
}

#[tokio::test]
async fn anyone_may_ask_the_time_until_the_operator_says_otherwise_for_good() {
    let house = House::new().await;
    let grants = house.get("/api/v1/capabilities").await.json();
    assert_eq!(
        (grants[0]["subject"].clone(), grants[0]["action"].clone()),
        (json!("any"), json!("tool.call.clock"))
    );
    let id = grants[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(house.ask("DELETE", &format!("/api/v1/capabilities/{id}"), json!(null)).await.status, 200);
    let dir = house.stop().await;
    let running = open(home(&dir)).await.unwrap();
    let house = House { dir, running };
    let left = house.get("/api/v1/capabilities").await.json();
    let actions: Vec<_> = left.as_array().unwrap().iter().map(|grant| &grant["action"]).collect();
    assert_eq!(actions, ["tool.call.covibe_*"; 2], "the revocation sticks, and takes nothing with it");
    house.stop().await;
}

#[tokio::test]
async fn a_stop_by_request_ends_the_daemon_in_order() {
    let house = House::new().await;
    assert_eq!(house.ask("POST", "/api/v1/stop", json!({})).await.status, 202);
    let House { dir, running } = house;
    tokio::time::timeout(std::time::Duration::from_secs(5), running.wait()).await.expect("it ends");
    let home = home(&dir);
    assert_eq!(covenant_daemon::lock::holder(&home), None);
    let rows = fs::read_to_string(home.audit().join("000001.jsonl")).unwrap();
    let last = rows.lines().last().unwrap();
    assert!(last.contains(r#""kind":"DaemonStopped""#), "{last}");
    let checkpoints = fs::read_to_string(home.audit().join("checkpoints.jsonl")).unwrap();
    let seq = format!("\"seq\":{}", rows.lines().count());
    assert!(checkpoints.lines().last().unwrap().contains(&seq), "the last checkpoint covers the last row");
}

#[tokio::test]
async fn a_reload_applies_what_it_can_and_says_what_needs_a_restart() {
    let house = House::new().await;
    let home = house.running.home().clone();
    let text = "[rate_limit]\nrate = 0\nburst = 5\n[http]\nlisten = \"127.0.0.1:1\"\nlisen = 1\n[secrets]\nfrom_env = [\"FROM_ENV\"]\n[logging]\nlevel = \"debug\"\n[audit]\ndurability = \"strict\"\n";
    covenant_daemon::atomic::write(&home.config(), text.as_bytes()).unwrap();
    let reloaded = house.ask("POST", "/api/v1/reload", json!({})).await.json();
    assert_eq!(
        reloaded["applied"],
        json!(["logging.level", "rate_limit.burst", "secrets.from_env", "secret FROM_ENV"])
    );
    assert_eq!(reloaded["needs_restart"], json!(["audit.durability"]), "the address is overridden anyway");
    assert!(reloaded["warnings"][0].as_str().unwrap().contains("http.lisen"), "{reloaded}");
    let shown = house.get("/api/v1/config").await.json();
    assert_eq!(
        (shown["rate_limit"]["burst"].clone(), shown["audit"]["durability"].clone()),
        (json!(5), json!("group"))
    );
    covenant_daemon::atomic::write(&home.config(), b"[http").unwrap();
    let broken = house.ask("POST", "/api/v1/reload", json!({})).await;
    assert_eq!((broken.status.as_u16(), broken.code().as_str()), (422, "invalid_configuration"));
    assert_eq!(
        house.get("/api/v1/config").await.json()["rate_limit"]["burst"],
        5,
        "what was in effect stays"
    );
    house.stop().await;
}
