//! The document's example, to the letter.

use serde_json::{Value, json};

use super::stage::{Language, Stage, put};
use crate::home;

const EXAMPLE: &str = r#"[agent]
id      = "research@local"
name    = "research"
version = "0.1.0"
runtime = "rust-bin"
entry   = "target/release/research"

[capabilities]
required = ["tool.web_search"]
optional = ["memory.write"]

[resources]
cpu_ms_per_task = 30000
memory_mb       = 512
disk_mb         = 100
network         = "outbound-https-only"

[settlement]
budget_credits_per_hour = 1000
priority                = "normal"
"#;

/// It is refused until what it requires is granted, which is on record under its id; then it runs.
/// COV-AGENT-54, COV-AGENT-55, COV-AGENT-14, COV-AGENT-06
#[test]
fn the_documents_example_works_as_written() {
    let home = home();
    home.write("agents/agent.toml", EXAMPLE);
    put(&Language::Rust.program(), &home.path().join("agents/target/release/research"));
    let stage = Stage::again(&home);
    let refused = home.run(&["intent", "say hello"]).exits(3);
    let remedy = "covenant capabilities grant tool.web_search --to user@local";
    assert!(refused.stderr.contains(remedy), "{}", refused.stderr);
    assert_eq!(refused.stdout, "");
    let rows = stage.rows();
    let about: Vec<&Value> = rows.iter().filter(|row| row["agent_id"] == "research@local").collect();
    let seen: Vec<[&Value; 4]> =
        about.iter().map(|row| [&row["kind"], &row["decision"], &row["action"], &row["principal"]]).collect();
    let (who, search) = (json!("user@local"), json!("tool.web_search"));
    assert_eq!(
        seen,
        [
            [&json!("CapabilityCheck"), &json!("refused"), &search, &who],
            [&json!("CallRefused"), &json!("refused"), &Value::Null, &who],
        ]
    );
    assert_eq!(home.run(&["intents", "list", "--json"]).ok().json(), json!([]), "nothing was run");

    home.run(&["capabilities", "grant", "tool.web_search"]).ok();
    let answered = home.run(&["intent", "say hello"]).ok();
    assert_eq!(answered.stdout, "hello\n");
    let intents = home.run(&["intents", "list", "--json"]).ok().json();
    let shown = stage.shown(intents[0]["intent_id"].as_str().unwrap());
    let checks: Vec<Value> = stage.rows().into_iter().filter(|row| row["call"] == shown["call"]).collect();
    let seen: Vec<[&Value; 4]> =
        checks.iter().map(|row| [&row["agent_id"], &row["kind"], &row["decision"], &row["action"]]).collect();
    let id = json!("research@local");
    assert_eq!(
        seen,
        [
            [&id, &json!("CapabilityCheck"), &json!("allowed"), &search],
            [&id, &json!("CapabilityCheck"), &json!("refused"), &json!("memory.write")],
            [&id, &json!("CallStarted"), &json!("allowed"), &Value::Null],
            [&id, &json!("CallFinished"), &json!("ok"), &Value::Null],
        ]
    );
    stage.nothing_left();
}
