//! Agents that send agents: each under the one that sent it, not too deep, and never in its own way.

use covenant_testkit::wait::until;
use serde_json::{Value, json};

use super::stage::{Language, Stage, install, text};
use crate::home;

/// A home in which one agent runs at a time.
fn one_at_a_time() -> covenant_testkit::Home {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[agents]\nconcurrency = 1\n");
    home
}

/// Where only one runs at a time, those it sends run all the same; a fifth within a fourth is refused.
#[test]
fn agents_send_agents_four_deep_and_never_wait_for_themselves() {
    let home = one_at_a_time();
    install(&home, "deep", Language::Python, "[capabilities]\noptional = [\"tool.call.agent__deep\"]\n");
    let stage = Stage::up(&home);
    let told = stage.told("deep", "nest agent__deep");
    let levels = told.as_array().unwrap();
    assert_eq!(levels.len(), 5, "{told}");
    assert_eq!(
        levels[4],
        "`agent__deep` was called by a call within a call 4 deep, and deeper ones are not made"
    );
    assert_eq!((&levels[0]["parent"], &levels[0]["issuer"]), (&Value::Null, &json!("user@local")));
    let shown: Vec<Value> =
        levels[..4].iter().map(|level| stage.shown(level["id"].as_str().unwrap())).collect();
    let rows = stage.rows();
    for (outer, inner) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(levels[inner]["parent"], levels[outer]["id"]);
        assert_eq!(levels[inner]["issuer"], "agent:deep@local");
        assert_eq!(shown[inner]["parent"], levels[outer]["id"]);
        assert_eq!(shown[inner]["issuer"], "agent:deep@local");
        let own: Vec<&Value> = rows.iter().filter(|row| row["call"] == shown[inner]["call"]).collect();
        assert!(!own.is_empty() && own.iter().all(|row| row["parent"] == shown[outer]["call"]), "{own:?}");
    }
    assert!(shown.iter().all(|intent| intent["status"] == "ok"), "{shown:?}");
    stage.nothing_left();
}

/// What the outer one may not do the inner one may not either, whatever its own manifest names.
#[test]
fn an_agent_lends_another_no_more_than_it_has() {
    let home = one_at_a_time();
    install(
        &home,
        "outer",
        Language::Python,
        "[capabilities]\noptional = [\"tool.call.agent__inner\", \"tool.call.clock\"]\n",
    );
    install(
        &home,
        "inner",
        Language::Python,
        "[capabilities]\noptional = [\"tool.call.echo\", \"tool.call.clock\"]\n",
    );
    install(&home, "needy", Language::Python, "[capabilities]\nrequired = [\"tool.call.echo\"]\n");
    let stage = Stage::up(&home);
    let calls = json!([
        ["tools/call", {"name": "echo", "arguments": {"text": "x"}}],
        ["tools/call", {"name": "clock", "arguments": {}}],
    ]);
    let answers = stage.called(
        "outer",
        &[
            ("agent__inner", json!({"text": format!("calls {calls}")})),
            ("agent__needy", json!({"text": "say hi"})),
            ("agent__outer", json!({"text": "say hi"})),
        ],
    );
    let inner: Value = serde_json::from_str(text(&answers[0])).unwrap();
    assert!(text(&inner[0]).contains("may not do `tool.call.echo`"), "{inner}");
    assert!(text(&inner[0]).contains("agent:outer@local"), "it is told whose manifest lacks it: {inner}");
    assert!(text(&inner[1]).starts_with("{\"epoch_ms\":"), "{inner}");
    for refused in &answers[1..] {
        assert!(text(refused).contains("its manifest names it neither"), "{refused}");
    }
    assert_eq!(stage.said("inner", "say hi"), "hi");
}

/// To take back the outer one ends the inner one.
#[test]
fn what_a_run_has_sent_ends_with_it() {
    let home = one_at_a_time();
    install(&home, "outer", Language::Python, "[capabilities]\noptional = [\"tool.call.agent__inner\"]\n");
    install(&home, "inner", Language::Python, "");
    let stage = Stage::up(&home);
    let calls = json!([["tools/call", {"name": "agent__inner", "arguments": {"text": "stay"}}]]);
    let outer = stage.send("outer", &format!("calls {calls}"), &[]);
    let inner = until("the inner one runs", || {
        let all = home.run(&["intents", "list", "--agent", "inner@local", "--json"]).ok().json();
        all.get(0).filter(|intent| intent["status"] == "running").map(|intent| intent["intent_id"].clone())
    });
    home.run(&["intents", "cancel", &outer]).ok();
    assert_eq!(stage.shown(&outer)["status"], "cancelled");
    stage.stands(inner.as_str().unwrap(), "cancelled");
    stage.nothing_left();
    assert_eq!(stage.said("inner", "say hi"), "hi");
}
