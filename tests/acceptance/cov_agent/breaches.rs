//! The contract of a run that is broken: each way has a sentence of its own, and after each everything is as before.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stage::{Language, Stage, alive, install};
use crate::unhurried;

/// Insists that the intent fails with that, is on record with both rows under the manifest's id, and leaves nothing behind; and
/// that the next intent is served.
#[track_caller]
fn fails(stage: &Stage<'_>, intent: &str, says: &str) -> Value {
    let shown_intent: String = intent.chars().take(60).collect();
    let reply = stage.intent("fixture", intent).exits(1).json();
    let said = reply["text"].as_str().unwrap();
    assert!(said.contains(says), "{shown_intent}: {said:.2000}");
    assert_eq!((&reply["status"], &reply["agent"]), (&json!("error"), &json!("fixture@local")));
    let shown = stage.shown(reply["intent_id"].as_str().unwrap());
    assert_eq!((&shown["status"], &shown["text"]), (&json!("error"), &reply["text"]));
    let rows: Vec<Value> = stage.rows().into_iter().filter(|row| row["call"] == shown["call"]).collect();
    let seen: Vec<[&Value; 3]> =
        rows.iter().map(|row| [&row["kind"], &row["decision"], &row["agent_id"]]).collect();
    let id = json!("fixture@local");
    let (started, finished) = (json!("CallStarted"), json!("CallFinished"));
    assert_eq!(
        seen,
        [[&started, &json!("allowed"), &id], [&finished, &json!("error"), &id]],
        "{shown_intent}: {rows:?}"
    );
    assert_eq!(stage.said("fixture", "say I still serve"), "I still serve", "after {shown_intent}");
    stage.nothing_left();
    reply
}

/// COV-AGENT-35
#[test]
fn whoever_breaks_the_contract_is_told_how_and_the_next_intent_is_served() {
    let home = unhurried();
    install(&home, "fixture", Language::Python, "");
    let stage = Stage::up(&home);
    let one_line = "it must answer with exactly one line of JSON on standard output";
    for (intent, says) in [
        ("twice", format!("fixture@local wrote more than one line: {one_line}")),
        ("silent", format!("fixture@local wrote no line: {one_line}")),
        ("raw nonsense", "fixture@local wrote a line that is no JSON object: ".to_owned()),
        ("raw [1]", "fixture@local wrote a line that is no JSON object: ".to_owned()),
        ("raw {\"intent_id\": ", "fixture@local wrote a line that is no JSON object: ".to_owned()),
        (
            "with {\"intent_id\": \"01234567-89ab-4cde-8f01-23456789abcd\"}",
            "answered another intent: `intent_id` is `01234567-89ab-4cde-8f01-23456789abcd`".to_owned(),
        ),
        ("with {\"intent_id\": null}", "answered without a sound `intent_id`: it is missing".to_owned()),
        ("with {\"intent_id\": 7}", "answered without a sound `intent_id`: it is no text".to_owned()),
        (
            "with {\"status\": \"done\"}",
            "answered without a sound `status`: it must be \"ok\" or \"error\"".to_owned(),
        ),
        ("with {\"status\": null}", "answered without a sound `status`".to_owned()),
        ("with {\"text\": null}", "answered without a sound `text`: it must be a text".to_owned()),
        ("with {\"text\": [\"x\"]}", "answered without a sound `text`".to_owned()),
        (
            "with {\"sources\": \"x\"}",
            "answered without a sound `sources`: it must be a list of texts".to_owned(),
        ),
        ("long 5000000", "fixture@local wrote more than 4 MiB on standard output".to_owned()),
    ] {
        fails(&stage, intent, &says);
    }
}

/// An answer does not make up for a bad end, and the end of what it said beside tells why.
#[test]
fn a_run_that_ends_badly_is_told_with_the_end_of_its_standard_error() {
    let home = unhurried();
    install(&home, "fixture", Language::Python, "");
    let stage = Stage::up(&home);
    fails(
        &stage,
        "exit 3",
        "fixture@local ended with exit code 3\nits standard error ended with:\nthis is why",
    );
    // A file that is not there: Python tells where it happened, and the last line says what.
    let reply = fails(
        &stage,
        "read /nowhere",
        "fixture@local ended with exit code 1\nits standard error ended with:\n",
    );
    assert!(
        reply["text"].as_str().unwrap().trim_end().ends_with("No such file or directory: '/nowhere'"),
        "{reply}"
    );
}

/// Another's id is no better than any other wrong one, also while that one waits for its answer.
#[test]
fn an_answer_to_somebody_elses_intent_reaches_nobody() {
    let home = unhurried();
    for name in ["fixture", "other"] {
        install(&home, name, Language::Python, "[capabilities]\noptional = [\"tool.call.workspace_*\"]\n");
    }
    let stage = Stage::up(&home);
    let waiting = stage.send("other", "until go", &[]);
    stage.stands(&waiting, "running");
    let stolen = json!({"intent_id": waiting, "text": "forged"});
    let reply = stage.intent("fixture", &format!("with {stolen}")).exits(1).json();
    assert!(
        reply["text"]
            .as_str()
            .unwrap()
            .contains(&format!("answered another intent: `intent_id` is `{waiting}`")),
        "{reply}"
    );
    assert_eq!(stage.shown(&waiting)["status"], "running");
    stage.place("go");
    assert_eq!(stage.stands(&waiting, "ok")["text"], "there it is");
    stage.nothing_left();
}

/// The budget is wall-clock time. It is killed, whatever it ignores or closes.
/// COV-AGENT-19, COV-AGENT-41, COV-AGENT-42
#[test]
fn a_run_that_overruns_its_budget_is_killed_and_is_an_error() {
    let home = unhurried();
    install(&home, "fixture", Language::Python, "[resources]\ncpu_ms_per_task = 3000\n");
    let stage = Stage::up(&home);
    for intent in ["stay", "close"] {
        let begun = Instant::now();
        let reply = fails(
            &stage,
            intent,
            "fixture@local had not ended after 3000 ms, which is all it has (`cpu_ms_per_task`), and was killed",
        );
        assert!(begun.elapsed() >= Duration::from_secs(3), "it slept, and has all of its time");
        assert!(reply["credits"].as_u64().unwrap() >= 3, "three seconds were begun: {reply}");
    }
}

#[test]
fn a_run_that_takes_too_much_memory_is_killed_and_is_an_error() {
    let home = unhurried();
    install(&home, "fixture", Language::Python, "[resources]\nmemory_mb = 64\n");
    let stage = Stage::up(&home);
    fails(&stage, "memory 300", "fixture@local used more memory than it may (64 MiB), and was killed");
}

/// They keep the contract, and try what else there is to try.
#[test]
fn noise_forks_and_litter_end_with_the_run() {
    let home = unhurried();
    install(&home, "fixture", Language::Python, "");
    let stage = Stage::up(&home);
    let mark = format!("left-{}", std::process::id());
    for (intent, answer) in
        [("noise 100", "that was loud"), (&*format!("leave {mark}"), "left"), ("litter", "/scratch")]
    {
        assert_eq!(stage.said("fixture", intent), answer);
        stage.nothing_left();
        assert_eq!(alive(&mark), Vec::<u32>::new());
        assert_eq!(stage.said("fixture", "say I still serve"), "I still serve");
    }
    let log = std::fs::metadata(home.path().join("logs/covenant.log")).unwrap().len();
    assert!(log < 64 << 20, "{log} bytes of noise in the log");
    assert!(resident_kb(stage.daemon.pid()) < 300 * 1024);
}

/// The memory of a process now.
fn resident_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
