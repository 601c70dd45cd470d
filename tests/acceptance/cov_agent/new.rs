//! `covenant agents new`: what it writes works as it is, in each of the three runtimes.

use serde_json::{Value, json};

use super::stage::{Language, Stage};
use crate::home;

/// Makes one, does what it says comes next, and gets an answer that a tool had a part in.
fn works(language: Language) {
    let home = home();
    let stage = Stage::again(&home);
    let runtime = language.runtime();
    let made = home.run(&["agents", "new", "helper", "--runtime", runtime, "--json"]).ok().json();
    assert_eq!((&made["id"], &made["runtime"]), (&json!("helper@local"), &json!(runtime)));
    let manifest = made["manifest"].as_str().unwrap();
    assert_eq!(manifest, home.path().join("agents/helper/agent.toml").to_str().unwrap());
    home.run(&["agents", "check", manifest]).ok();
    let next: Vec<&str> = made["next"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    if let [build, _, _] = &next[..] {
        assert_eq!(language, Language::Rust, "{next:?}");
        built(build);
    }
    let rest = &next[next.len() - 2..];
    assert_eq!(rest, ["covenant agents reload", "covenant intent --agent helper \"what time is it?\""]);
    let read = home.run(&["agents", "reload", "--json"]).ok().json();
    assert_eq!(
        (&read["changed"], &read["problems"], &read["warnings"]),
        (&json!(["helper@local"]), &json!([]), &json!([]))
    );
    let reply = home.run(&["intent", "--json", "--agent", "helper", "what time is it?"]).ok().json();
    let said = reply["text"].as_str().unwrap();
    assert!(said.starts_with("You said: what time is it?. It is "), "{said}");
    assert_eq!(reply["sources"], json!(["tool:clock"]));
    // Without the grant it still answers, and says why it knows no more.
    let grants = home.run(&["capabilities", "list", "--json"]).ok().json();
    for grant in grants.as_array().unwrap() {
        home.run(&["capabilities", "revoke", grant["id"].as_str().unwrap()]).ok();
    }
    let reply = home.run(&["intent", "--json", "what time is it?"]).ok().json();
    let said = reply["text"].as_str().unwrap();
    assert!(said.contains("I may not look at the clock: ") && said.contains("tool.call.clock"), "{said}");
    assert_eq!(reply["sources"], json!([]));
    // What is there is not written over.
    let again = home.run(&["agents", "new", "helper", "--runtime", runtime]).exits(2);
    assert!(again.stderr.contains("choose another name"), "{}", again.stderr);
    stage.nothing_left();
}

/// Builds what was made, from what this machine has already if that is enough.
fn built(command: &str) {
    let build = |offline: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).env("CARGO_NET_OFFLINE", offline).env_remove("CARGO_TARGET_DIR");
        shell.output().unwrap()
    };
    let mut ran = build("true");
    if !ran.status.success() {
        ran = build("false");
    }
    assert!(ran.status.success(), "{command}\n{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_new_agent_in_rust_works() {
    works(Language::Rust);
}

#[test]
fn a_new_agent_in_python_works() {
    works(Language::Python);
}

#[test]
fn a_new_agent_in_node_works() {
    works(Language::Node);
}
