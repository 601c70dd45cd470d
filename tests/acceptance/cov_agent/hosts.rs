//! What the sandbox of a run kept of its promises, told wherever the run is; and hosts on which it cannot keep all.

use std::os::unix::fs::PermissionsExt as _;

use covenant_testkit::Home;
use serde_json::{Value, json};

use super::stage::{Language, Stage, install, manifest, put, text};
use crate::{home, unhurried};

/// The promises that were not kept in full.
fn gaps(reply: &Value) -> Vec<&str> {
    let measures = reply["enforcement"].as_array().unwrap();
    measures.iter().filter(|one| one["enforced"] != true).map(|one| one["limit"].as_str().unwrap()).collect()
}

/// The reply, the audit row and `intents show` say the same.
#[track_caller]
fn told_alike(stage: &Stage<'_>, reply: &Value) {
    let shown = stage.shown(reply["intent_id"].as_str().unwrap());
    assert_eq!(shown["enforcement"], reply["enforcement"]);
    let names: Vec<&str> =
        reply["enforcement"].as_array().unwrap().iter().map(|one| one["limit"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "lifetime",
            "files",
            "scratch",
            "network",
            "neighbours",
            "memory",
            "processes",
            "privileges",
            "calls"
        ]
    );
    assert!(reply["enforcement"].as_array().unwrap().iter().all(|one| one["by"] != ""), "{reply}");
    let rows = stage.rows();
    let end = rows.iter().find(|row| row["call"] == shown["call"] && row["kind"] == "CallFinished").unwrap();
    let gaps = gaps(reply);
    let says = if gaps.is_empty() {
        "sandbox: every promise kept".to_owned()
    } else {
        format!("sandbox: not kept in full: {}", gaps.join(", "))
    };
    assert!(end["reason"].as_str().unwrap().contains(&says), "{end}");
    let table = stage.home.run(&["intents", "show", reply["intent_id"].as_str().unwrap()]).ok().stdout;
    for gap in gaps {
        assert!(table.lines().any(|line| line.starts_with(gap) && line.contains("not in full")), "{table}");
    }
}

#[test]
fn what_the_sandbox_enforced_is_in_the_reply_the_audit_row_and_the_intent() {
    let home = home();
    for network in ["off", "outbound-https-only", "full"] {
        install(&home, network, Language::Python, &format!("[resources]\nnetwork = \"{network}\"\n"));
    }
    let stage = Stage::up(&home);
    for network in ["off", "outbound-https-only", "full"] {
        let reply = stage.intent(network, "say hi").ok().json();
        told_alike(&stage, &reply);
        // It could start, so that it ended badly is no reason to say less.
        let failed = stage.intent(network, "silent").exits(1).json();
        assert_eq!(failed["enforcement"], reply["enforcement"]);
    }
}

/// A home whose commands and daemon run on a host that lacks something.
fn poorer(lacks: &str) -> Home {
    let home = unhurried();
    let covenant = home.program().to_owned();
    let escape = covenant.with_file_name("escape");
    assert!(escape.is_file(), "build the fixture first: cargo build -p covenant-testkit --bin escape");
    let line = format!("'{}' host {lacks} -- '{}'", escape.display(), covenant.display());
    through(home, &line)
}

/// That home, whose commands and daemon are started by that line.
fn through(home: Home, line: &str) -> Home {
    let program = home.beside("covenant-there");
    std::fs::write(&program, format!("#!/bin/sh\nexec {line} \"$@\"\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.run_by(program)
}

/// Gives everything of that home to a user who owns nothing else, and starts its commands and its daemon as that one.
fn given_away(home: Home, lacks: &str) -> Home {
    for program in ["covenant", "escape"] {
        put(&home.program().with_file_name(program), &home.beside("programs").join(program));
    }
    let place = |name: &str| home.beside("programs").join(name).display().to_string();
    let host =
        if lacks.is_empty() { String::new() } else { format!("'{}' host {lacks} -- ", place("escape")) };
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let line = format!("{nobody} {host}'{}'", place("covenant"));
    let home = through(home, &line);
    let given = std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(home.beside("")).status();
    assert!(given.unwrap().success());
    home
}

/// Whoever runs the daemon: agents work for an ordinary user as they do for root, also on a poorer host.
#[test]
fn agents_of_an_ordinary_user_use_tools_in_every_network_mode() {
    if !rustix::process::geteuid().is_root() {
        // Then every other test is one of an ordinary user.
        return;
    }
    for lacks in ["", "namespaces"] {
        let home = unhurried();
        for language in Language::ALL {
            for network in ["off", "outbound-https-only", "full"] {
                let more = format!(
                    "[capabilities]\noptional = [\"tool.call.echo\"]\n[resources]\nnetwork = \"{network}\"\n"
                );
                install(&home, &format!("{}-{network}", language.runtime()), language, &more);
            }
        }
        let home = given_away(home, lacks);
        let stage = Stage::up(&home);
        for language in Language::ALL {
            for network in ["off", "outbound-https-only", "full"] {
                let agent = format!("{}-{network}", language.runtime());
                let answers = stage.called(&agent, &[("echo", json!({"text": "for nobody"}))]);
                assert_eq!(text(&answers[0]), "for nobody", "{agent} without {lacks:?}: {answers:?}");
            }
        }
        stage.nothing_left();
    }
}

/// Where a promise cannot be kept the run says which, and a manifest or the configuration that insists is refused.
#[test]
fn a_host_that_cannot_keep_every_promise_says_so_or_refuses() {
    let home = poorer("namespaces");
    // Without namespaces a run is an ordinary user among others, and sees what they do.
    let program = home.beside("shared/agent.py");
    put(&Language::Python.program(), &program);
    std::fs::set_permissions(home.beside(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (name, more) in [("easy", ""), ("strict", "[sandbox]\nrequired = true\n")] {
        let text = manifest(name, Language::Python, more).replace("agent.py", program.to_str().unwrap());
        home.write(&format!("agents/{name}.toml"), &text);
    }
    install(&home, "inside", Language::Python, "");
    let stage = Stage::up(&home);
    let closed = stage.intent("inside", "say hi");
    if rustix::process::geteuid().is_root() {
        let said = closed.exits(1).json()["text"].as_str().unwrap().to_owned();
        let told = "so a run is the user nobody, who may not enter ";
        assert!(said.contains(told) && said.contains("write its `entry` as a full path"), "{said}");
    }
    let reply = stage.intent("easy", "say hi").ok().json();
    assert_eq!(reply["text"], "hi");
    assert!(gaps(&reply).contains(&"files"), "{reply}");
    told_alike(&stage, &reply);
    let warned = home.run(&["intent", "--agent", "easy", "say hi"]).ok();
    assert!(warned.stderr.contains("the sandbox could not enforce in full: "), "{}", warned.stderr);

    let refused = stage.intent("strict", "say hi").exits(1).json();
    let said = refused["text"].as_str().unwrap();
    assert!(said.contains("strict@local could not be started: "), "{said}");
    assert_eq!((&refused["status"], &refused["credits"]), (&json!("error"), &json!(0)));
    // The poorer host makes no difference to tools.
    let called = stage.told("easy", "calls [[\"tools/list\", {}]]");
    assert!(called[0]["result"]["tools"].is_array(), "{called}");
    let Stage { daemon, .. } = stage;
    daemon.stop();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[sandbox]\nrequired = true\n");
    let stage = Stage::again(&home);
    let refused = stage.intent("easy", "say hi").exits(1).json();
    assert!(refused["text"].as_str().unwrap().contains("easy@local could not be started: "), "{refused}");
}
