//! What becomes of runs when the daemon ends in their midst: they end too, and the next daemon says so.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{Language, Stage, install, nothing_left};
use crate::unhurried;

/// Sends two intents, of which one waits, and ends the daemon so; gives how they stand for the next daemon.
fn ended_by(signal: Signal) -> (covenant_testkit::Home, Vec<String>) {
    let home = unhurried();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[agents]\nconcurrency = 1\n");
    install(&home, "py", Language::Python, "");
    let ids = {
        let stage = Stage::up(&home);
        let ids = vec![stage.send("py", "stay", &[]), stage.send("py", "say hi", &[])];
        stage.stands(&ids[0], "running");
        assert_eq!(stage.shown(&ids[1])["status"], "queued");
        stage.daemon.signal(signal);
        let (code, printed) = stage.daemon.ended();
        assert_eq!(code, if signal == Signal::TERM { 0 } else { -1 }, "{printed}");
        ids
    };
    (home, ids)
}

#[test]
fn a_daemon_that_was_killed_leaves_no_run_and_the_next_one_says_what_happened() {
    let (home, ids) = ended_by(Signal::KILL);
    let agents = home.path().join("agents");
    covenant_testkit::wait::until("no process is left", || {
        super::stage::alive(agents.to_str().unwrap()).is_empty().then_some(())
    });
    let stage = Stage::again(&home);
    for id in &ids {
        let shown = stage.shown(id);
        assert_eq!(shown["status"], "error", "{shown}");
        assert_eq!(shown["text"], "Error: the daemon ended while this was under way; send it again");
        assert!(shown["finished_at"].is_string(), "{shown}");
        let rows: Vec<Value> = stage.rows().into_iter().filter(|row| row["call"] == shown["call"]).collect();
        let kinds: Vec<&Value> = rows.iter().map(|row| &row["kind"]).collect();
        assert_eq!(kinds, ["CallStarted", "CallInterrupted"], "{rows:?}");
        assert!(rows.iter().all(|row| row["agent_id"] == "py@local"), "{rows:?}");
    }
    assert_eq!(home.run(&["memory", "recent", "--json"]).ok().json(), json!([]));
    assert_eq!(stage.said("py", "say I serve again"), "I serve again");
    nothing_left(&home);
    home.run(&["audit", "verify"]).ok();
}

#[test]
fn a_daemon_that_is_asked_to_stop_takes_its_runs_back_first() {
    let (home, ids) = ended_by(Signal::TERM);
    nothing_left(&home);
    let stage = Stage::again(&home);
    for id in &ids {
        let shown = stage.shown(id);
        assert_eq!(shown["status"], "cancelled", "{shown}");
        let way = stage.way(&shown["call"]);
        let kinds: Vec<&str> = way.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["CallStarted", "CallFinished"], "{way:?}");
    }
    assert_eq!(stage.said("py", "say I serve again"), "I serve again");
    home.run(&["audit", "verify"]).ok();
}

/// Whoever waits for an answer meanwhile is told that there will be none.
#[test]
fn whoever_waits_while_the_daemon_stops_is_told() {
    let home = unhurried();
    install(&home, "py", Language::Python, "");
    let stage = Stage::up(&home);
    let waiting = home.command(&["intent", "--agent", "py", "stay"]).spawn();
    let id = covenant_testkit::wait::until("it runs", || {
        let all = home.run(&["intents", "list", "--json"]).ok().json();
        (all[0]["status"] == "running").then(|| all[0]["intent_id"].as_str().unwrap().to_owned())
    });
    stage.daemon.signal(Signal::TERM);
    let told = waiting.wait_with_output().unwrap();
    assert_eq!((told.status.code(), told.stdout.len()), (Some(1), 0), "{told:?}");
    assert!(!told.stderr.is_empty(), "it is said why");
    let (code, printed) = stage.daemon.ended();
    assert_eq!(code, 0, "{printed}");
    nothing_left(&home);
    let stage = Stage::again(&home);
    assert_eq!(stage.shown(&id)["status"], "cancelled");
}
