//! What manifests say, what they may leave out, and when they are read.

use serde_json::{Value, json};

use super::stage::{Language, Stage, install, manifest};
use crate::home;

/// Everything that can be written is shown again.
/// COV-AGENT-02, COV-AGENT-03
#[test]
fn a_manifest_says_who_it_is_what_it_runs_what_it_needs_and_what_it_costs() {
    let home = home();
    let more = "description = \"Looks things up\"\n\
        [capabilities]\nrequired = [\"tool.call.echo\"]\noptional = [\"memory.write\", \"agent.x.*\"]\n\
        [resources]\ncpu_ms_per_task = 1000\nmemory_mb = 64\ndisk_mb = 10\nnetwork = \"off\"\npids = 20\n\
        [settlement]\nbudget_credits_per_hour = 7\npriority = \"high\"\n[sandbox]\nrequired = true\n";
    install(&home, "whole", Language::Python, more);
    let _daemon = home.up();
    let shown = home.run(&["agents", "show", "whole@local", "--json"]).ok().json();
    assert_eq!(
        shown,
        json!({
            "agent": {
                "id": "whole@local", "name": "whole", "version": "0.1.0", "runtime": "python3",
                "entry": "agent.py", "description": "Looks things up",
            },
            "capabilities": {"required": ["tool.call.echo"], "optional": ["memory.write", "agent.x.*"]},
            "resources": {"cpu_ms_per_task": 1000, "memory_mb": 64, "disk_mb": 10, "network": "off", "pids": 20},
            "settlement": {"budget_credits_per_hour": 7, "priority": "high"},
            "sandbox": {"required": true},
        })
    );
}

/// COV-AGENT-13, COV-AGENT-18, COV-AGENT-23, COV-AGENT-24
#[test]
fn what_a_manifest_leaves_out_is_as_the_document_says() {
    let home = home();
    install(&home, "bare", Language::Python, "");
    let _daemon = home.up();
    let shown = home.run(&["agents", "show", "bare", "--json"]).ok().json();
    assert_eq!(shown["capabilities"], json!({"required": [], "optional": []}));
    assert_eq!(
        shown["resources"],
        json!({"cpu_ms_per_task": 30000, "memory_mb": 512, "disk_mb": 100, "network": "outbound-https-only", "pids": 256})
    );
    assert_eq!(shown["settlement"], json!({"budget_credits_per_hour": 0, "priority": "normal"}));
    assert_eq!(shown["sandbox"], json!({"required": false}));
}

/// What a later release may mean by them is not lost on this one, and they change nothing.
/// COV-AGENT-50, COV-AGENT-58
#[test]
fn sections_of_a_later_release_are_kept_as_they_are() {
    let home = home();
    let more = "[telemetry]\nlevel = 3\nratio = 0.5\non = true\nsince = 2026-02-28\nnames = [\"a\", \"ü\"]\n\
        [telemetry.deep]\nmore = { x = [1, [2]] }\n[[peers]]\nid = \"one\"\n[[peers]]\nid = \"two\"\n";
    install(&home, "later", Language::Python, more);
    let stage = Stage::up(&home);
    let shown = home.run(&["agents", "show", "later", "--json"]).ok().json();
    assert_eq!(
        shown["telemetry"],
        json!({
            "level": 3, "ratio": 0.5, "on": true, "since": "2026-02-28", "names": ["a", "ü"],
            "deep": {"more": {"x": [1, [2]]}},
        })
    );
    assert_eq!(shown["peers"], json!([{"id": "one"}, {"id": "two"}]));
    let checked =
        home.run(&["agents", "check", home.path().join("agents/later/agent.toml").to_str().unwrap()]);
    assert_eq!(checked.ok().stderr, "", "nobody is warned of them");
    assert_eq!(stage.said("later", "say hi"), "hi");
}

/// The name stands in lists as it is written; a version is whatever its author writes.
/// COV-AGENT-08, COV-AGENT-09
#[test]
fn names_and_versions_are_listed_as_they_are_written() {
    let home = home();
    for (place, name, version) in
        [("a", "Größe & more", "spring-2026 (β)"), ("b", "plain", "1"), ("c", "semantic", "1.0.0-rc.1+5")]
    {
        install(&home, place, Language::Python, "");
        let text = manifest(place, Language::Python, "")
            .replace(&format!("name = \"{place}\""), &format!("name = \"{name}\""))
            .replace("0.1.0", version);
        home.write(&format!("agents/{place}/agent.toml"), &text);
    }
    let stage = Stage::up(&home);
    let listed = home.run(&["agents", "list", "--json"]).ok().json();
    let seen: Vec<[&Value; 5]> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| [&agent["id"], &agent["name"], &agent["version"], &agent["tool"], &agent["status"]])
        .collect();
    let ready = json!("ready");
    assert_eq!(
        seen,
        [
            [
                &json!("a@local"),
                &json!("Größe & more"),
                &json!("spring-2026 (β)"),
                &json!("agent__Gr__e___more"),
                &ready
            ],
            [&json!("b@local"), &json!("plain"), &json!("1"), &json!("agent__plain"), &ready],
            [
                &json!("c@local"),
                &json!("semantic"),
                &json!("1.0.0-rc.1+5"),
                &json!("agent__semantic"),
                &ready
            ],
        ]
    );
    let table = home.run(&["agents", "list"]).ok();
    assert!(
        table.stdout.contains("Größe & more") && table.stdout.contains("spring-2026 (β)"),
        "{}",
        table.stdout
    );
    assert_eq!(table.stderr, "");
    assert_eq!(stage.said("Größe & more", "say by name"), "by name");
}

/// A file is all it takes, in one of two places; who comes while the daemon runs waits for its next start, or for
/// the operator's word. Nobody registers by the API.
/// COV-AGENT-01, COV-AGENT-51, COV-AGENT-52, COV-AGENT-53
#[test]
fn agents_come_with_files_and_the_next_start() {
    let home = home();
    install(&home, "first", Language::Python, "");
    home.write(
        "agents/second.toml",
        &manifest("second", Language::Python, "").replace("agent.py", "first/agent.py"),
    );
    home.write("agents/readme.md", "not a manifest");
    home.write("agents/.hidden.toml", "not a manifest");
    home.write("agents/first/deep/agent.toml", "too deep to be one");
    let stage = Stage::up(&home);
    let ids = || {
        let listed = home.run(&["agents", "list", "--json"]).ok().json();
        listed.as_array().unwrap().iter().map(|agent| agent["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(), ["first@local", "second@local"]);
    assert_eq!(stage.said("second@local", "say I am here"), "I am here");

    install(&home, "third", Language::Python, "");
    home.write(
        "agents/second.toml",
        &manifest("other", Language::Python, "").replace("agent.py", "first/agent.py"),
    );
    assert_eq!(ids(), ["first@local", "second@local"], "nothing is read while it runs");
    stage.intent("third@local", "say hi").exits(2);
    let document = json!({"agent": {"id": "online@local", "name": "online", "version": "1", "runtime": "python3", "entry": "/x"}});
    for (method, path) in [
        ("POST", "agents"),
        ("PUT", "agents/online@local"),
        ("PUT", "agents"),
        ("PATCH", "agents/first@local"),
    ] {
        let (status, _) = stage.ask(&stage.operator(), method, path, &document);
        assert!([404, 405].contains(&status), "{method} {path}: {status}");
    }

    let Stage { daemon, .. } = stage;
    daemon.stop();
    let stage = Stage::again(&home);
    assert_eq!(ids(), ["first@local", "other@local", "third@local"]);
    assert_eq!(stage.said("third@local", "say hi"), "hi");
    stage.intent("second@local", "say hi").exits(2);
}

/// The operator's word is enough: new, changed and removed ones are told, and runs under way stay.
#[test]
fn a_reload_reads_manifests_again_and_leaves_runs_alone() {
    let home = crate::unhurried();
    for name in ["stays", "goes"] {
        install(&home, name, Language::Python, "[capabilities]\noptional = [\"tool.call.workspace_*\"]\n");
    }
    let stage = Stage::up(&home);
    let running = stage.send("goes", "until go", &[]);
    stage.stands(&running, "running");
    std::fs::remove_file(home.path().join("agents/goes/agent.toml")).unwrap();
    install(&home, "comes", Language::Python, "");
    let read = home.run(&["agents", "reload", "--json"]).ok().json();
    assert_eq!(
        read,
        json!({"agents": ["comes@local", "stays@local"], "changed": ["comes@local"], "removed": ["goes@local"], "problems": [], "warnings": []})
    );
    assert_eq!(stage.said("comes", "say hi"), "hi");
    stage.intent("goes", "say hi").exits(2);
    stage.place("go");
    assert_eq!(stage.stands(&running, "ok")["text"], "there it is");
    home.write(
        "agents/comes/agent.toml",
        &manifest("comes", Language::Python, "[settlement]\npriority = \"high\"\n"),
    );
    let told = home.run(&["agents", "reload"]).ok();
    assert_eq!((told.stdout.as_str(), told.stderr.as_str()), ("2 agents, 1 changed, 0 gone\n", ""));
    let loaded = stage.rows().into_iter().filter(|row| row["kind"] == "AgentsLoaded").count();
    assert_eq!(loaded, 2);
    let client = stage.client("ada", &["tool.call.*"]);
    assert_eq!(stage.ask(&client, "POST", "agents/reload", &json!({})).0, 403, "only the operator's");
}
