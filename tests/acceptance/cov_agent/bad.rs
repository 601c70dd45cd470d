//! Manifests that cannot be used: each is told with its file, its line and what stands there, and none hides another.

use covenant_testkit::Home;

use super::stage::{Language, Stage, install, manifest};
use crate::home;

/// A manifest, the line of what is wrong with it, and what is said of it.
type Bad<'t> = (String, usize, &'t str);

/// Insists that each is refused for that, wherever a person looks: before it is put into place, in lists, at the start, and
/// when it is read again. One that is good answers all the same.
#[track_caller]
fn are_refused(bad: &[Bad<'_>]) {
    let home = home();
    install(&home, "good", Language::Python, "");
    let path = |number: usize| home.path().join(format!("agents/bad-{number:02}.toml"));
    for (number, (text, ..)) in bad.iter().enumerate() {
        home.write(&format!("agents/bad-{number:02}.toml"), text);
    }
    let stage = Stage::up(&home);
    let listed = home.run(&["agents", "list", "--json"]).ok().json();
    let table = home.run(&["agents", "list"]).ok();
    let read = home.run(&["agents", "reload", "--json"]).ok().json();
    let printed = stage.daemon.printed();
    for (number, (text, line, says)) in bad.iter().enumerate() {
        let file = path(number).display().to_string();
        let checked = home.run(&["agents", "check", &file]).exits(1);
        let place = format!("{file}:{line}:");
        let found = checked.stderr.lines().find(|told| told.contains(&place) && told.contains(says));
        assert!(found.is_some(), "{text}\nline {line}: {says}\n{}", checked.stderr);
        let place = format!("{file}, line {line}, column ");
        let entry = listed.as_array().unwrap().iter().find(|agent| agent["file"] == *file).unwrap();
        assert_eq!(
            (&entry["status"], &entry["id"]),
            (&"refused".into(), &serde_json::Value::Null),
            "{entry}"
        );
        let told = |what: &serde_json::Value| {
            let problems = what["problems"].as_array().unwrap();
            problems
                .iter()
                .filter_map(|one| one.as_str())
                .any(|one| one.starts_with(&place) && one.contains(says))
        };
        assert!(told(entry), "{entry}\nline {line}: {says}");
        assert!(told(&read), "{read}");
        assert!(
            table.stderr.lines().any(|one| one.contains(&place) && one.contains(says)),
            "{}",
            table.stderr
        );
        assert!(printed.lines().any(|one| one.contains(&place) && one.contains(says)), "{printed}");
    }
    assert_eq!(stage.said("good", "say good"), "good");
    assert_eq!(read["agents"], serde_json::json!(["good@local"]));
}

/// The manifest with that line in place of the one that begins so.
fn with(key: &str, line: &str) -> String {
    let text = manifest("bad", Language::Python, "");
    let replaced = text.lines().map(|known| if known.starts_with(key) { line } else { known });
    replaced.map(|line| format!("{line}\n")).collect()
}

/// COV-AGENT-43, COV-AGENT-44, COV-AGENT-45, COV-AGENT-46
#[test]
fn a_manifest_without_an_id_a_name_a_version_or_an_entry_is_refused() {
    let mut bad = Vec::new();
    for (key, line) in [("id", 2), ("name", 3), ("version", 4), ("entry", 6)] {
        let (missing, empty) = (format!("`agent.{key}` is missing"), format!("`agent.{key}` is empty"));
        bad.push((with(key, ""), 1, missing));
        for nothing in ["\"\"", "\"  \"", "'''\n'''"] {
            bad.push((with(key, &format!("{key} = {nothing}")), line, empty.clone()));
        }
        bad.push((with(key, &format!("{key} = 7")), line, format!("`agent.{key}` is `7`")));
        bad.push((with(key, &format!("{key} = [\"x\"]")), line, format!("`agent.{key}` is a list")));
    }
    let bad: Vec<Bad<'_>> =
        bad.iter().map(|(text, line, says)| (text.clone(), *line, says.as_str())).collect();
    are_refused(&bad);
}

/// COV-AGENT-04, COV-AGENT-10
#[test]
fn an_id_is_name_at_host_and_a_runtime_one_of_three() {
    let of_form = "which is not of the form name@host";
    let others = "has other characters than letters, digits, `_`, `-` and `.` around one `@`";
    are_refused(&[
        (with("id", "id = \"research\""), 2, of_form),
        (with("id", "id = \"@local\""), 2, of_form),
        (with("id", "id = \"research@\""), 2, of_form),
        (with("id", "id = \"a@b@c\""), 2, others),
        (with("id", "id = \"a b@local\""), 2, others),
        (with("id", "id = \"../x@local\""), 2, "`agent.id` is \"../x@local\""),
        (with("id", "id = \"user@local\""), 2, "is the person this home belongs to"),
        (with("runtime", ""), 1, "`agent.runtime` is missing"),
        (
            with("runtime", "runtime = \"ruby\""),
            5,
            "`agent.runtime` is \"ruby\"; write \"rust-bin\", \"python3\" or \"node\"",
        ),
        (with("runtime", "runtime = \"Python3\""), 5, "`agent.runtime` is \"Python3\""),
        (with("runtime", "runtime = 3"), 5, "`agent.runtime` is `3`"),
    ]);
}

/// Every namespace that is reserved may be named, and no other.
/// COV-AGENT-16, COV-AGENT-17, COV-AGENT-47, COV-AGENT-48
#[test]
fn actions_lie_in_reserved_namespaces() {
    let named = |key: &str, action: &str| {
        manifest(
            "bad",
            Language::Python,
            &format!("[capabilities]\n{key} = [\"tool.call.echo\",\n  \"{action}\"]\n"),
        )
    };
    let mut bad = Vec::new();
    for key in ["required", "optional"] {
        for action in ["filesystem.read", "tools.call.echo", "tool", "*", "Tool.call", "", "x.tool.call"] {
            let says = format!(
                "`capabilities.{key}` holds \"{action}\"; an action begins with `intent.`, `memory.`, `identity.`, `tool.` or `agent.`"
            );
            bad.push((named(key, action), 9, says));
        }
        for action in ["tool.", "tool..x", "tool.*.x", "agent.a b"] {
            let says = format!("`capabilities.{key}` holds \"{action}\", which is not an action");
            bad.push((named(key, action), 9, says));
        }
        let text =
            manifest("bad", Language::Python, &format!("[capabilities]\n{key} = \"tool.call.echo\"\n"));
        bad.push((text, 8, format!("`capabilities.{key}` is the text \"tool.call.echo\"; write a list")));
    }
    let bad: Vec<Bad<'_>> =
        bad.iter().map(|(text, line, says)| (text.clone(), *line, says.as_str())).collect();
    are_refused(&bad);

    let home = home();
    let all = "[capabilities]\nrequired = [\"intent.a\", \"memory.b\", \"identity.c\", \"tool.d\", \"agent.e\"]\n\
        optional = [\"intent.*\", \"memory.*\", \"identity.*\", \"tool.call.x\", \"agent.a.b.c\"]\n";
    install(&home, "all", Language::Python, all);
    let _daemon = home.up();
    let listed = home.run(&["agents", "list", "--json"]).ok().json();
    assert_eq!(listed[0]["status"], "ready", "{listed}");
}

/// COV-AGENT-49
#[test]
fn what_is_not_toml_is_refused_where_it_stops_being_toml() {
    are_refused(&[
        ("[agent\nid = 1\n".to_owned(), 1, "this is not TOML"),
        ("[agent]\nid = \"a@b\"\nid = \"a@c\"\n".to_owned(), 3, "this is not TOML"),
        ("{\"agent\": {\"id\": \"a@b\"}}".to_owned(), 1, "this is not TOML"),
        ("[agent]\nname = \"never closed\n".to_owned(), 2, "this is not TOML"),
        ("<html>".to_owned(), 1, "this is not TOML"),
        (String::new(), 1, "there is no [agent]"),
        ("# only a remark\n".to_owned(), 1, "there is no [agent]"),
        ("agent = \"research\"\n".to_owned(), 1, "`agent` is a text; write it as a section"),
    ]);
}

#[test]
fn numbers_and_words_out_of_range_are_told_with_what_is_in_range() {
    let more =
        |section: &str, line: &str| manifest("bad", Language::Python, &format!("[{section}]\n{line}\n"));
    are_refused(&[
        (
            more("resources", "cpu_ms_per_task = 0"),
            8,
            "`resources.cpu_ms_per_task` is `0`; write a whole number from 1 to",
        ),
        (more("resources", "cpu_ms_per_task = -1"), 8, "`resources.cpu_ms_per_task` is `-1`"),
        (
            more("resources", "cpu_ms_per_task = \"fast\""),
            8,
            "`resources.cpu_ms_per_task` is the text \"fast\"",
        ),
        (more("resources", "memory_mb = 1.5"), 8, "`resources.memory_mb` is `1.5`"),
        (more("resources", "disk_mb = 99999999999"), 8, "`resources.disk_mb` is `99999999999`"),
        (
            more("resources", "network = \"on\""),
            8,
            "`resources.network` is \"on\"; write \"off\", \"outbound-https-only\" or \"full\"",
        ),
        (more("resources", "pids = 0"), 8, "`resources.pids` is `0`"),
        (
            more("settlement", "budget_credits_per_hour = -5"),
            8,
            "`settlement.budget_credits_per_hour` is `-5`",
        ),
        (
            more("settlement", "priority = \"urgent\""),
            8,
            "`settlement.priority` is \"urgent\"; write \"low\", \"normal\" or \"high\"",
        ),
        (more("sandbox", "required = 1"), 8, "`sandbox.required` is `1`; write true or false"),
    ]);
}

/// Whatever lies there, each is told in a sentence, and the good one answers.
#[test]
fn files_that_are_huge_or_foreign_or_taken_hide_nobody() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let home = home();
    install(&home, "good", Language::Python, "");
    let agents = home.path().join("agents");
    let at = |name: &str| agents.join(name);
    home.write("agents/huge.toml", &manifest("huge", Language::Python, &"# x\n".repeat(100_000)));
    std::fs::write(at("latin.toml"), b"[agent]\nid = \"a@b\"\nname = \"caf\xe9\"\n").unwrap();
    symlink("/nowhere/agent.toml", at("dangling.toml")).unwrap();
    symlink("loop.toml", at("loop.toml")).unwrap();
    home.write("agents/open.toml", &manifest("open", Language::Python, ""));
    std::fs::set_permissions(at("open.toml"), std::fs::Permissions::from_mode(0o666)).unwrap();
    std::fs::create_dir(at("dir.toml")).unwrap();
    home.write(
        "agents/same-id.toml",
        &manifest("good", Language::Python, "").replace("name = \"good\"", "name = \"x\""),
    );
    home.write(
        "agents/same-name.toml",
        &manifest("x", Language::Python, "").replace("name = \"x\"", "name = \"good\""),
    );
    home.write("agents/zero.toml", "\0\0\0");
    let stage = Stage::up(&home);
    let told = home.run(&["agents", "reload"]).ok().stderr;
    for (name, says) in [
        ("huge.toml", "the file has more than 256 KiB"),
        ("latin.toml", "line 3, column 12: this byte is not UTF-8"),
        ("dangling.toml", "is a link that leads nowhere"),
        ("loop.toml", ""),
        ("open.toml", "can be written by other users (mode 666), so it is not used"),
        ("same-id.toml", "`agent.id` is \"good@local\", and so it is in"),
        ("same-name.toml", "which makes the tool agent__good, and so does the name in"),
        ("zero.toml", "line 1, column 4: this is not TOML"),
    ] {
        let file = at(name).display().to_string();
        let line = told.lines().find(|line| line.contains(&file) && line.contains(says));
        assert!(line.is_some(), "{name}: {says}\n{told}");
        let of = home.run(&["agents", "list", "--json"]).ok().json();
        let entry = of.as_array().unwrap().iter().find(|agent| agent["file"] == *file).cloned();
        assert_eq!(entry.unwrap()["status"], "refused", "{name}");
    }
    assert_eq!(stage.said("good@local", "say good"), "good");
    let doctor = home.run(&["doctor"]).stdout;
    assert!(doctor.contains("huge.toml"), "{doctor}");
    let read = home.run(&["agents", "reload", "--json"]).ok().json();
    assert_eq!(read["agents"], serde_json::json!(["good@local"]));
}

/// What was meant is told, for keys and sections that have no effect.
#[test]
fn a_slip_of_the_pen_is_told_and_harms_nobody() {
    let home: Home = home();
    let more = "color = \"red\"\n[capabilites]\nrequired = [\"nonsense\"]\n[resources]\nmemory = 5\n";
    install(&home, "slips", Language::Python, more);
    let stage = Stage::up(&home);
    let told = home.run(&["agents", "reload"]).ok();
    for says in [
        "line 7, column 1: `agent.color` has no effect",
        "line 8, column 2: [capabilites] has no effect; did you mean [capabilities]?",
        "line 11, column 1: `resources.memory` has no effect",
    ] {
        assert!(told.stderr.contains(says), "{}", told.stderr);
    }
    assert_eq!(stage.said("slips", "say fine"), "fine");
}
