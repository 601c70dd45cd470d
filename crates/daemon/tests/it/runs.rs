//! What an earlier daemon left running is ended, and the settings of runs can be changed while the daemon runs.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::house::{House, home, open};
use crate::wait;

/// A process that carries the mark of that run.
#[expect(clippy::disallowed_methods, reason = "it plays what an earlier daemon started")]
fn left(run: &str) -> Child {
    Command::new("sleep").arg("600").env("COVENANT_RUN", run).stdin(Stdio::null()).spawn().unwrap()
}

#[tokio::test]
async fn what_an_earlier_daemon_left_running_is_ended_at_the_start_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let home = home(&dir);
    home.prepare_runs().unwrap();
    let (run, other) = (format!("left-{}", std::process::id()), format!("other-{}", std::process::id()));
    let scratch = home.scratch().join(&run);
    fs::create_dir(&scratch).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let record = json!({"run": run, "name": "left", "boot": boot.trim(), "host": null, "launcher": null, "program": null, "scratch": scratch});
    fs::write(home.children().join(format!("{run}.json")), record.to_string()).unwrap();
    let (mut ours, mut others) = (left(&run), left(&other));
    let running = open(home.clone()).await.unwrap();
    let status = wait::until("it was killed", || ours.try_wait().unwrap());
    assert!(!status.success(), "{status}");
    assert_eq!(fs::read_dir(home.children()).unwrap().count(), 0, "the record is cleared");
    assert!(!scratch.exists(), "and its directory");
    assert_eq!(others.try_wait().unwrap(), None, "what is not on record goes on");
    others.kill().unwrap();
    others.wait().unwrap();
    running.stop().await;
}

#[tokio::test]
async fn a_reload_applies_the_settings_of_runs() {
    let house = House::new().await;
    let text =
        "[rate_limit]\nrate = 0\n[web]\nallow_hosts = [\"git.corp.example\"]\n[sandbox]\nrequired = true\n";
    covenant_daemon::atomic::write(&house.running.home().config(), text.as_bytes()).unwrap();
    let reloaded = house.ask("POST", "/api/v1/reload", json!({})).await.json();
    assert_eq!(reloaded["applied"], json!(["sandbox.required", "web.allow_hosts"]));
    assert_eq!((&reloaded["needs_restart"], &reloaded["warnings"]), (&json!([]), &json!([])));
    let shown = house.get("/api/v1/config").await.json();
    assert_eq!(shown["web"]["allow_hosts"], json!(["git.corp.example"]));
    assert_eq!(shown["sandbox"]["required"], true);
    house.stop().await;
}
