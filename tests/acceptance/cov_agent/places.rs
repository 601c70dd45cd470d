//! Where the programs of agents lie: beside their manifests or wherever an absolute path leads, and nowhere secret.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::stage::{Language, Stage, manifest, put};
use crate::home;

/// From the manifest's directory on, wherever the daemon runs; an absolute path is taken as it is.
/// COV-AGENT-11, COV-AGENT-12
#[test]
fn an_entry_is_found_from_its_manifest_on_or_where_it_says() {
    let home = home();
    let elsewhere = home.beside("elsewhere/agent.py");
    put(&Language::Python.program(), &elsewhere);
    put(&Language::Python.program(), &home.path().join("agents/flat.py"));
    put(&Language::Python.program(), &home.path().join("agents/nested/src/bin/agent.py"));
    let of = |name: &str, entry: &str| manifest(name, Language::Python, "").replace("agent.py", entry);
    home.write("agents/flat.toml", &of("flat", "flat.py"));
    home.write("agents/nested/agent.toml", &of("nested", "src/bin/agent.py"));
    home.write("agents/dotted/agent.toml", &of("dotted", "./src/../agent.py"));
    put(&Language::Python.program(), &home.path().join("agents/dotted/agent.py"));
    fs::create_dir(home.path().join("agents/dotted/src")).unwrap();
    home.write("agents/absolute.toml", &of("absolute", elsewhere.to_str().unwrap()));
    let stage = Stage::up(&home);
    for (name, place) in [
        ("flat", home.path().join("agents/flat.py")),
        ("nested", home.path().join("agents/nested/src/bin/agent.py")),
        ("dotted", home.path().join("agents/dotted/agent.py")),
        ("absolute", elsewhere),
    ] {
        let told = stage.told(name, "tell");
        assert_eq!(told["words"], serde_json::json!([place]), "{name}");
    }
}

/// A run reads its own directory, not those of others or the home; one that lies in `agents/` itself reads only itself.
#[test]
fn a_run_reads_its_own_package_and_nothing_else_of_the_home() {
    let home = home();
    let own = home.path().join("agents/own");
    put(&Language::Python.program(), &own.join("agent.py"));
    home.write("agents/own/agent.toml", &manifest("own", Language::Python, ""));
    home.write("agents/own/note.txt", "mine");
    put(&Language::Python.program(), &home.path().join("agents/agent.py"));
    home.write("agents/flat.toml", &manifest("flat", Language::Python, ""));
    let stage = Stage::up(&home);
    assert_eq!(stage.said("own", &format!("read {}", own.join("note.txt").display())), "mine");
    for (agent, secret) in [
        ("own", "agents/flat.toml"),
        ("own", "identity/operator.token"),
        ("own", "config.toml"),
        ("own", "covenant.db"),
        ("flat", "agents/own/note.txt"),
        ("flat", "agents/flat.toml"),
        ("flat", "identity/local.key"),
    ] {
        let path = home.path().join(secret);
        let reply = stage.intent(agent, &format!("read {}", path.display())).exits(1).json();
        let said = reply["text"].as_str().unwrap();
        assert!(
            said.contains("FileNotFoundError") || said.contains("PermissionError"),
            "{agent} {secret}: {said}"
        );
    }
}

/// Each is listed with why it cannot be run, an intent to it says the same, and the good one answers.
#[test]
fn an_entry_that_cannot_be_run_is_told_with_what_to_do() {
    let home = home();
    let agents = home.path().join("agents");
    let (python, rust) = (Language::Python, Language::Rust);
    let mut expected = Vec::new();
    let mut add = |name: &'static str, language: Language, entry: &str, says: &'static str| {
        let known = format!("entry = \"{}\"", language.entry());
        let text = manifest(name, language, "").replace(&known, &format!("entry = {entry:?}"));
        home.write(&format!("agents/{name}/agent.toml"), &text);
        expected.push((name, says));
    };
    add("missing", python, "missing.py", "does not exist; put it there, or correct `agent.entry`");
    add("unbuilt", rust, "target/release/x", "does not exist; build it, or correct `agent.entry`");
    add("directory", python, "sub", "is a directory; name the program or script in it");
    add("plain", rust, "agent", "cannot be executed; make it a program with `chmod +x");
    add("linked", python, "linked.py", "leads out of the manifest's directory");
    add("outside", python, "../../../x.py", "leads out of the manifest's directory");
    add("nowhere", python, "nowhere.py", "is a link that leads nowhere; correct the link");
    add("device", python, "/dev/null", "is not an ordinary file");
    add("open", python, "open.py", "is not run: ");
    let secret = home.path().join("identity/local.key").display().to_string();
    add("private", python, &secret, "lies among what belongs to the daemon alone");
    fs::create_dir(agents.join("directory/sub")).unwrap();
    fs::write(agents.join("plain/agent"), "x").unwrap();
    fs::write(home.beside("x.py"), "x").unwrap();
    symlink(home.beside("x.py"), agents.join("linked/linked.py")).unwrap();
    symlink("gone.py", agents.join("nowhere/nowhere.py")).unwrap();
    put(&python.program(), &agents.join("open/open.py"));
    fs::set_permissions(agents.join("open/open.py"), fs::Permissions::from_mode(0o666)).unwrap();
    super::stage::install(&home, "good", python, "");
    let stage = Stage::up(&home);
    let listed = home.run(&["agents", "list", "--json"]).ok().json();
    let table = home.run(&["agents", "list"]).ok().stderr;
    for (name, says) in expected {
        let entry = listed.as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap();
        assert_eq!(entry["status"], "unusable", "{entry}");
        let problem = entry["problems"][0].as_str().unwrap();
        assert!(
            problem.starts_with(&format!("the entry of {name}@local, ")) && problem.contains(says),
            "{problem}"
        );
        assert!(table.contains(problem), "{table}");
        let reply = stage.intent(name, "say hi").exits(1).json();
        let said = reply["text"].as_str().unwrap();
        assert!(said.contains("could not be started: ") && said.contains(says), "{said}");
        let shown = stage.shown(reply["intent_id"].as_str().unwrap());
        assert_eq!((&shown["status"], &shown["credits"]), (&"error".into(), &0.into()), "{shown}");
        let way = stage.way(&shown["call"]);
        let kinds: Vec<&str> = way.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["CallStarted", "CallFinished"], "{name}");
    }
    assert_eq!(stage.said("good", "say good"), "good");
    stage.nothing_left();
}
