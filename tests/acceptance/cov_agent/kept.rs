//! What is kept of runs: what agents answered, and what they used.

use std::time::Instant;

use serde_json::{Value, json};

use super::stage::{Language, Stage, install};
use crate::{home, unhurried};

/// Under the agent's id and the intent's, and found by its words; what failed is not remembered.
/// COV-AGENT-07
#[test]
fn what_an_agent_answered_is_a_memory_of_its_own() {
    let home = unhurried();
    for name in ["py", "other"] {
        install(&home, name, Language::Python, "[capabilities]\noptional = [\"tool.call.memory_*\"]\n");
    }
    let stage = Stage::up(&home);
    let reply = stage.intent("py", "say pumpernickel is bread").ok().json();
    stage.intent("py", "fail sauerkraut").exits(1);
    stage.intent("py", "silent").exits(1);
    stage.intent("other", "say croissants too").ok();
    for command in [&["memory", "recent", "--json"][..], &["memory", "search", "pumpernickel", "--json"]] {
        let found = home.run(command).ok().json();
        let own: Vec<&Value> =
            found.as_array().unwrap().iter().filter(|record| record["owner"] == "py@local").collect();
        assert_eq!(own.len(), 1, "{found}");
        assert_eq!(
            (&own[0]["intent_id"], &own[0]["text"]),
            (&reply["intent_id"], &json!("pumpernickel is bread"))
        );
        assert!(own[0]["created_at"].is_string() && own[0]["id"].is_string(), "{found}");
    }
    // No tool reaches it: not of another agent, not of its own.
    let id = reply["intent_id"].as_str().unwrap();
    for agent in ["py", "other"] {
        for file in [format!("intents/{id}.md"), format!("../agent-py@local/intents/{id}.md")] {
            let answers = stage.called(agent, &[("memory_read", json!({ "file": file }))]);
            assert_eq!(answers[0]["result"]["isError"], true, "{agent}: {answers:?}");
        }
    }
}

/// One credit for each second begun; the hour's use is there also after a restart.
#[test]
fn runs_cost_credits_and_what_was_used_is_told() {
    let home = unhurried();
    install(&home, "py", Language::Python, "[resources]\ncpu_ms_per_task = 3000\n");
    install(&home, "idle", Language::Python, "[settlement]\nbudget_credits_per_hour = 5\n");
    let stage = Stage::up(&home);
    let costs = |reply: &Value| reply["credits"].as_u64().unwrap();
    let begun = Instant::now();
    let short = costs(&stage.intent("py", "say hi").ok().json());
    assert!((1..=begun.elapsed().as_secs() + 1).contains(&short), "{short}");
    let begun = Instant::now();
    let long = costs(&stage.intent("py", "stay").exits(1).json());
    assert!((3..=begun.elapsed().as_secs() + 1).contains(&long), "what failed has cost as well: {long}");
    let usage = json!([
        {"agent": "idle@local", "runs": 0, "credits": 0, "cap": 5},
        {"agent": "py@local", "runs": 2, "credits": short + long, "cap": 0},
    ]);
    assert_eq!(home.run(&["agents", "usage", "--json"]).ok().json(), usage);
    let table = home.run(&["agents", "usage"]).ok().stdout;
    let row = ["py@local", "2", &(short + long).to_string(), "0"];
    assert!(table.lines().any(|line| line.split_whitespace().eq(row)), "{table}");
    let Stage { daemon, .. } = stage;
    daemon.stop();
    let _stage = Stage::again(&home);
    assert_eq!(home.run(&["agents", "usage", "--since", "1d", "--json"]).ok().json(), usage);
}

/// A cap is soft: whoever is beyond it runs, and it is said. With `enforce_budget` it is refused, also after a restart.
#[test]
fn a_cap_is_soft_unless_the_operator_says_otherwise() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n");
    install(&home, "capped", Language::Python, "[settlement]\nbudget_credits_per_hour = 2\n");
    install(&home, "free", Language::Python, "[settlement]\nbudget_credits_per_hour = 0\n");
    let stage = Stage::up(&home);
    let (mut used, mut over) = (0, Value::Null);
    while used <= 2 {
        over = stage.intent("capped", "say on").ok().json();
        used += over["credits"].as_u64().unwrap();
        assert_eq!((&over["over_budget"], &over["text"]), (&json!(used > 2), &json!("on")), "{used}");
    }
    let warned = home.run(&["intent", "--agent", "capped", "say still on"]).ok();
    assert_eq!(warned.stdout, "still on\n");
    let warning = "capped@local has used more credits this hour than its manifest says";
    assert!(warned.stderr.contains(warning), "{}", warned.stderr);
    let shown = stage.shown(over["intent_id"].as_str().unwrap());
    assert_eq!(shown["over_budget"], true);
    let rows = stage.rows();
    let end = rows.iter().find(|row| row["call"] == shown["call"] && row["kind"] == "CallFinished").unwrap();
    assert!(end["reason"].as_str().unwrap().contains("over its 2 an hour"), "{end}");
    for _ in 0..3 {
        assert_eq!(stage.intent("free", "say hi").ok().json()["over_budget"], false, "0 is no cap");
    }
    let Stage { daemon, .. } = stage;
    daemon.stop();

    home.write("config.toml", "[rate_limit]\nrate = 0\n[agents]\nenforce_budget = true\n");
    let stage = Stage::again(&home);
    let refused = home.run(&["intent", "--agent", "capped", "say four"]).exits(3);
    assert!(
        refused
            .stderr
            .contains("capped@local has used the 2 credits it may use in an hour; there is room again in "),
        "{}",
        refused.stderr
    );
    let (status, answer) =
        stage.ask(&stage.operator(), "POST", "intents", &json!({"text": "say hi", "agent": "capped"}));
    assert_eq!((status, &answer["error"]["code"]), (429, &json!("over_budget")), "{answer}");
    let rows = stage.rows();
    let last = rows.iter().rfind(|row| row["agent_id"] == "capped@local").unwrap();
    assert_eq!((&last["kind"], &last["reason"]), (&json!("CallRefused"), &json!("over_budget")), "{last}");
    assert_eq!(stage.said("free", "say hi"), "hi");
}
