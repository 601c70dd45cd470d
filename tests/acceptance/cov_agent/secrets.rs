//! Secrets that an agent comes by: whatever it says, and wherever, nobody is told them.

use covenant_testkit::Home;
use covenant_testkit::wait::until;
use serde_json::json;

use super::stage::{Language, Stage, install};
use crate::unhurried;

const SECRET: &str = "pumpernickel-7f3a9c2e51d84b60-pumpernickel";

/// Insists that no part of it, as long as somebody could use it, is in that.
#[track_caller]
fn holds_no_secret(text: &str, place: &str) {
    for part in ["7f3a9c2e", "51d84b60"] {
        assert!(!text.contains(part), "{place}: {text:.2000}");
    }
}

fn with_a_secret() -> Home {
    let home = unhurried();
    home.write("secrets.toml", &format!("[secrets]\nKEY = \"{SECRET}\"\n"));
    install(&home, "py", Language::Python, "");
    home
}

/// In its answer, its sources, the errors it is told of, beside it, cut in the middle, and in all that is kept of it.
#[test]
fn a_secret_in_what_an_agent_says_reaches_nobody() {
    let home = with_a_secret();
    let stage = Stage::up(&home);
    let padded = |length: usize| format!("{}{SECRET}", "x".repeat(length));
    let mut intents = vec![
        format!("say {SECRET}"),
        format!("fail {SECRET}"),
        format!("mutter {SECRET}"),
        format!("raw {SECRET}"),
        format!("read /{SECRET}"),
        format!("with {}", json!({"sources": [SECRET, padded(490)]})),
        format!("with {}", json!({"status": SECRET})),
    ];
    for length in [40, 45, 50, 55, 60] {
        intents.push(format!("with {}", json!({"intent_id": padded(length)})));
    }
    for length in [480, 1970] {
        intents.push(format!("mutter {}", padded(length)));
        intents.push(format!("read /{}", padded(length.min(200))));
    }
    for intent in &intents {
        let ran = home.run(&["intent", "--stream", "--json", "--agent", "py", intent]);
        holds_no_secret(&ran.stdout, intent);
        holds_no_secret(&ran.stderr, intent);
        let reply = ran.json_lines().pop().unwrap();
        let shown = stage.shown(reply["intent_id"].as_str().unwrap());
        holds_no_secret(&shown.to_string(), intent);
    }
    until("all of it is in the log", || {
        let log = std::fs::read_to_string(home.path().join("logs/covenant.log")).unwrap();
        (log.matches("REDACTED:KEY").count() >= 3).then_some(())
    });
    let kept = home.run(&["memory", "recent", "-n", "100", "--json"]).ok().stdout;
    assert!(kept.contains("[REDACTED:KEY]"), "{kept}");
    let Stage { daemon, .. } = stage;
    let printed = daemon.printed();
    daemon.stop();
    holds_no_secret(&printed, "what the daemon printed");
    // The file of secrets is where it may be.
    for directory in ["audit", "logs", "memory", "index", "run"] {
        holds_nothing(&home.path().join(directory));
    }
    for file in ["covenant.db", "covenant.db-wal"] {
        let bytes = std::fs::read(home.path().join(file)).unwrap_or_default();
        holds_no_secret(&String::from_utf8_lossy(&bytes), file);
    }
}

fn holds_nothing(directory: &std::path::Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            holds_nothing(&path);
        } else {
            let bytes = std::fs::read(&path).unwrap_or_default();
            holds_no_secret(&String::from_utf8_lossy(&bytes), path.to_str().unwrap());
        }
    }
}
