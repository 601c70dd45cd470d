//! Servers that stand in files: at the start, at a reload, and when a file changes.

use std::fs;

use serde_json::{Value, json};

use super::fixture::{SCRIPT, SERVERS, entry, house, python};
use crate::house::House;

const BEGIN: &str = "[rate_limit]\nrate = 0\n";

fn write(house: &House, config: &str) {
    let home = house.running.home();
    covenant_daemon::atomic::write(&home.config(), format!("{BEGIN}{config}").as_bytes()).unwrap();
}

async fn reload(house: &House) -> Value {
    house.ask("POST", "/api/v1/reload", json!({})).await.json()
}

#[tokio::test]
async fn servers_of_the_configuration_are_started_and_a_broken_one_harms_no_other() {
    let Some(python) = python() else { return };
    let broken = "[[mcp.servers]]\nname = \"broken\"\ncommand = \"x\"\nargs = [\"$NOT_SET_ANYWHERE\"]\n";
    let house = house(&format!("{}{broken}", entry(&python, "sound", &["say"]))).await;
    assert_eq!(house.get("/readyz").await.status, 200, "servers are no part of being ready");
    house.until_ready("sound").await;
    assert_eq!(house.said("sound__say", json!({"text": "x"})).await, "x");
    let status = house.get(&format!("{SERVERS}/broken")).await.json();
    assert_eq!(status["state"], "failed");
    assert!(status["error"].as_str().unwrap().contains("$NOT_SET_ANYWHERE"), "{status}");
    let tested = house.ask("POST", &format!("{SERVERS}/broken/test"), json!({})).await.json();
    assert_eq!((&tested["ok"], &tested["phases"][0]["phase"]), (&json!(false), &json!("entry")), "{tested}");
    house.stop().await;
}

#[tokio::test]
async fn a_reload_names_the_servers_that_came_changed_and_went() {
    let Some(python) = python() else { return };
    let house = house(&entry(&python, "one", &["say", "pid"])).await;
    house.until_ready("one").await;
    let pid = house.said("one__pid", json!({})).await;
    write(&house, &format!("{}{}", entry(&python, "one", &["say", "pid"]), entry(&python, "two", &["say"])));
    let reloaded = reload(&house).await;
    // The watch may have been quicker.
    let applied = reloaded["applied"].as_array().unwrap();
    assert!(applied.is_empty() || *applied == [json!("mcp.servers.two")], "{reloaded}");
    house.until_ready("two").await;
    assert_eq!(house.said("one__pid", json!({})).await, pid, "what has not changed goes on");
    write(&house, &entry(&python, "one", &["pid"]));
    reload(&house).await;
    house.until_gone("two").await;
    let one = house.until("one", |answer| answer.json()["tool_count"] == 1).await;
    assert_eq!(one["tools"], json!(["one__pid"]));
    assert_ne!(house.said("one__pid", json!({})).await, pid, "what has changed starts anew");
    house.stop().await;
}

#[tokio::test]
async fn a_file_that_changes_is_read_by_itself() {
    let Some(python) = python() else { return };
    let house = house("").await;
    write(&house, &format!("[limits]\noutput_bytes = 2048\n{}", entry(&python, "one", &["say"])));
    house.until_ready("one").await;
    let config = house.get("/api/v1/config").await.json();
    assert_ne!(config["limits"]["output_bytes"], 2048, "other settings wait for a reload");
    // In place, as some editors write.
    let home = house.running.home();
    fs::write(home.config(), format!("{BEGIN}{}", entry(&python, "two", &["say"]))).unwrap();
    house.until_ready("two").await;
    house.until_gone("one").await;
    let rows = house.rows().await;
    let row = rows.lines().find(|row| row.contains("ConfigLoaded")).unwrap();
    assert!(row.contains("mcp.servers.one"), "{row}");
    for (kind, what) in [("ServerAdded", "one: config.toml"), ("ServerRemoved", "one: config.toml")] {
        let found = rows.lines().filter(|row| row.contains(kind) && row.contains(what)).count();
        assert_eq!(found, 1, "{kind} {what}: {rows}");
    }
    // What cannot be read changes nothing, and what can be read again counts again.
    fs::write(home.config(), "[[mcp.servers]\n").unwrap();
    assert_eq!(house.ask("POST", "/api/v1/reload", json!({})).await.code(), "invalid_configuration");
    assert_eq!(house.get(&format!("{SERVERS}/two")).await.json()["state"], "ready");
    write(&house, &entry(&python, "three", &["say"]));
    house.until_ready("three").await;
    house.stop().await;
}

#[tokio::test]
async fn a_secret_that_changes_restarts_who_uses_it() {
    let Some(python) = python() else { return };
    let secret = async |house: &House, value: &str| {
        let set = house.ask("PUT", "/api/v1/secrets/KEY", json!({ "value": value })).await;
        assert_eq!(set.status, 200, "{}", set.text);
    };
    let with = format!("{}env = {{ TOKEN = \"${{secret:KEY}}\" }}\n", entry(&python, "s", &["token", "pid"]));
    let house = house(&with).await;
    let failed = house.until("s", |answer| answer.json()["state"] == "failed").await;
    assert!(failed["error"].as_str().unwrap().contains("covenant secrets set KEY"), "{failed}");
    secret(&house, "the-first-value").await;
    house.until_ready("s").await;
    let pid = house.said("s__pid", json!({})).await;
    assert_eq!(house.said("s__token", json!({})).await, "[REDACTED:KEY]");
    secret(&house, "the-second-value").await;
    house.until_ready("s").await;
    assert_ne!(house.said("s__pid", json!({})).await, pid);
    house.stop().await;
}

#[tokio::test]
async fn a_plugin_comes_and_goes_with_its_servers() {
    let Some(python) = python() else { return };
    let house = house("").await;
    let plugins = house.running.home().plugins();
    let plugin = plugins.join("small");
    let text = format!(
        "[plugin]\nname = \"small\"\n[[mcp_servers]]\nname = \"fromplugin\"\ncommand = {python:?}\nargs = [\"-I\", \"-S\", {SCRIPT:?}, \"say\", \"token\"]\nenv = {{ TOKEN = \"literal-of-the-plugin\" }}\n"
    );
    fs::create_dir_all(&plugin).unwrap();
    fs::write(plugin.join("plugin.toml"), text).unwrap();
    let status = house.until_ready("fromplugin").await;
    assert!(status["source"].as_str().unwrap().contains("plugin.toml"), "{status}");
    assert_eq!(house.said("fromplugin__token", json!({})).await, "[REDACTED:TOKEN]");
    fs::remove_dir_all(&plugin).unwrap();
    house.until_gone("fromplugin").await;
    house.stop().await;
}

#[tokio::test]
async fn a_daemon_that_stops_records_the_end_of_each_server_before_its_own() {
    let Some(python) = python() else { return };
    let house = house(&["a", "b", "c"].map(|name| entry(&python, name, &["say"])).concat()).await;
    for name in ["a", "b", "c"] {
        house.until_ready(name).await;
    }
    let audit = house.running.home().audit();
    let House { dir, running } = house;
    running.stop().await;
    let rows: Vec<String> = fs::read_dir(audit)
        .unwrap()
        .map(|file| fs::read(file.unwrap().path()).unwrap())
        .flat_map(|bytes| String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let stopped = rows.iter().filter(|row| row.contains("ServerStopped")).count();
    assert_eq!(stopped, 3, "{rows:?}");
    drop(dir);
}
