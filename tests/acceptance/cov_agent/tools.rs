//! Agents that use tools: through the gate, wherever they are, with less power than whoever sent them.

use serde_json::{Value, json};

use super::stage::{Language, Stage, install, text};
use crate::unhurried;

const NAMED: &str = "[capabilities]\nrequired = [\"tool.call.echo\"]\n\
    optional = [\"tool.call.clock\", \"tool.call.workspace_read\"]\n";

/// A Rust, a Python and a Node agent in every network mode: what the manifest names and the issuer holds is done, what only
/// one of them has is refused, and each call is on record under the run and its intent.
/// COV-AGENT-15
#[test]
fn a_run_may_do_what_its_manifest_names_and_its_issuer_may() {
    let home = unhurried();
    for language in Language::ALL {
        for network in ["off", "outbound-https-only", "full"] {
            let more = format!("{NAMED}[resources]\nnetwork = \"{network}\"\n");
            install(&home, &format!("{}-{network}", language.runtime()), language, &more);
        }
    }
    let stage = Stage::again(&home);
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    home.run(&["capabilities", "grant", "tool.call.memory_read"]).ok();
    let calls = json!([
        ["tools/call", {"name": "echo", "arguments": {"text": "for the run"}}],
        ["tools/call", {"name": "clock", "arguments": {}}],
        ["tools/call", {"name": "memory_read", "arguments": {}}],
        ["tools/call", {"name": "workspace_read", "arguments": {"path": "x"}}],
        ["tools/list", {}],
    ]);
    for language in Language::ALL {
        for network in ["off", "outbound-https-only", "full"] {
            let agent = format!("{}-{network}", language.runtime());
            let reply = stage.intent(&agent, &format!("calls {calls}")).ok().json();
            let answers: Value = serde_json::from_str(reply["text"].as_str().unwrap()).unwrap();
            assert_eq!(text(&answers[0]), "for the run", "{agent}: {answers}");
            assert!(text(&answers[1]).starts_with("{\"epoch_ms\":"), "{agent}: {answers}");
            assert_eq!(
                text(&answers[2]),
                format!(
                    "agent:{agent}@local may not do `tool.call.memory_read`: its manifest names it neither in `required` nor in `optional` of [capabilities]"
                ),
            );
            let lacks = text(&answers[3]);
            assert!(
                lacks.contains("may not do `tool.call.workspace_read`") && lacks.contains("user@local"),
                "{lacks}"
            );
            let tools = answers[4]["result"]["tools"].as_array().unwrap();
            let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
            assert_eq!(names, ["clock", "echo"], "{agent}");
            on_record(&stage, &agent, &reply);
        }
    }
    stage.nothing_left();
}

/// The rows of those calls: by the run, within the dispatch.
#[track_caller]
fn on_record(stage: &Stage<'_>, agent: &str, reply: &Value) {
    let dispatch = stage.shown(reply["intent_id"].as_str().unwrap())["call"].clone();
    let rows = stage.rows();
    let inner: Vec<&Value> = rows.iter().filter(|row| row["parent"] == dispatch).collect();
    let seen: Vec<[&str; 3]> = inner
        .iter()
        .map(|row| ["agent_id", "kind", "decision"].map(|member| row[member].as_str().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            ["tool:echo", "CapabilityCheck", "allowed"],
            ["tool:echo", "CallStarted", "allowed"],
            ["tool:echo", "CallFinished", "ok"],
            ["tool:clock", "CapabilityCheck", "allowed"],
            ["tool:clock", "CallStarted", "allowed"],
            ["tool:clock", "CallFinished", "ok"],
            ["tool:memory_read", "CapabilityCheck", "refused"],
            ["tool:memory_read", "CallRefused", "refused"],
            ["tool:workspace_read", "CapabilityCheck", "refused"],
            ["tool:workspace_read", "CallRefused", "refused"],
        ],
        "{agent}"
    );
    assert!(inner.iter().all(|row| row["principal"] == format!("agent:{agent}@local")), "{inner:?}");
    let checks: Vec<[&Value; 3]> = rows
        .iter()
        .filter(|row| row["call"] == dispatch && row["kind"] == "CapabilityCheck")
        .map(|row| [&row["action"], &row["decision"], &row["reason"]])
        .collect();
    let optional = json!("optional");
    assert_eq!(
        checks[1],
        [&json!("tool.call.clock"), &json!("allowed"), &optional],
        "recorded, and not enforced"
    );
    assert_eq!(checks[2], [&json!("tool.call.workspace_read"), &json!("refused"), &optional]);
}

/// To grant the agent itself what its issuer lacks changes nothing; to grant the issuer does.
/// COV-AGENT-56
#[test]
fn it_is_the_issuers_grants_that_count_and_never_the_agents() {
    let home = unhurried();
    install(&home, "py", Language::Python, NAMED);
    let stage = Stage::again(&home);
    for action in ["tool.call.echo", "tool.call.workspace_read", "tool.call.*"] {
        home.run(&["capabilities", "grant", action, "--to", "agent:py@local"]);
    }
    stage.intent("py", "say hi").exits(3);
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let answers = stage.called("py", &[("workspace_read", json!({"path": "x"}))]);
    assert!(text(&answers[0]).contains("may not do `tool.call.workspace_read`"), "{answers:?}");
    // Another issuer, with grants of its own.
    let token = stage.client("ada", &["tool.call.agent__py", "tool.call.echo", "tool.call.workspace_read"]);
    let calls = json!([["tools/call", {"name": "workspace_read", "arguments": {"path": "nothing"}}]]);
    let (status, reply) =
        stage.ask(&token, "POST", "intents", &json!({"agent": "py", "text": format!("calls {calls}")}));
    assert_eq!(status, 200, "{reply}");
    assert!(!reply["text"].as_str().unwrap().contains("may not do"), "{reply}");
}

/// For anyone but the operator, to send an agent is a call like any other: it is granted by name, besides what is required.
#[test]
fn a_client_needs_the_agents_tool_and_what_the_agent_requires() {
    let home = unhurried();
    install(&home, "py", Language::Python, NAMED);
    let stage = Stage::again(&home);
    let body = json!({"agent": "py", "text": "say hi"});
    for (name, grants, lacks) in [
        ("neither", &["tool.call.clock"][..], "tool.call.echo"),
        ("required", &["tool.call.echo"], "tool.call.agent__py"),
        ("tool", &["tool.call.agent__py"], "tool.call.echo"),
    ] {
        let token = stage.client(name, grants);
        let (status, refused) = stage.ask(&token, "POST", "intents", &body);
        assert_eq!((status, &refused["error"]["code"]), (403, &json!("not_granted")), "{name}: {refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(lacks), "{name}: {refused}");
    }
    let token = stage.client("both", &["tool.call.agent__py", "tool.call.echo"]);
    let (status, reply) = stage.ask(&token, "POST", "intents", &body);
    assert_eq!((status, &reply["text"]), (200, &json!("hi")), "{reply}");
    let rows = stage.rows();
    let is_check = |row: &&Value| row["principal"] == "client:both" && row["kind"] == "CapabilityCheck";
    let checks: Vec<[&str; 3]> = rows
        .iter()
        .filter(is_check)
        .map(|row| ["agent_id", "action", "decision"].map(|member| row[member].as_str().unwrap()))
        .collect();
    for action in ["tool.call.echo", "tool.call.agent__py"] {
        assert!(checks.contains(&["py@local", action, "allowed"]), "{checks:?}");
    }
    let sees = |token: &str| {
        let listed = stage.ask(token, "GET", "tools", &Value::Null).1;
        listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "agent__py")
    };
    assert!(sees(&token), "whoever may send it finds it");
    assert!(!sees(&stage.client("half", &["tool.call.agent__py"])), "and nobody else");
}

/// A grant that goes while the run is under way is gone for it too.
#[test]
fn what_an_issuer_loses_its_runs_lose_at_once() {
    let home = unhurried();
    install(&home, "py", Language::Python, "[capabilities]\noptional = [\"tool.call.*\"]\n");
    let stage = Stage::again(&home);
    home.run(&["capabilities", "grant", "tool.call.workspace_*"]).ok();
    let echo = home.run(&["capabilities", "grant", "tool.call.echo", "--json"]).ok().json();
    let id = stage.send("py", "hand-out token go", &[]);
    let token = super::tokens::handed(&stage, "token");
    let call =
        |text: &str| stage.ask(&token, "POST", "tools/echo/call", &json!({"arguments": {"text": text}}));
    assert_eq!(call("before").0, 200);
    home.run(&["capabilities", "revoke", echo["id"].as_str().unwrap()]).ok();
    let (status, refused) = call("after");
    assert_eq!((status, &refused["error"]["code"]), (403, &json!("not_granted")), "{refused}");
    stage.place("go");
    stage.stands(&id, "ok");
}
