//! Manifests as the founding document has them, manifests with everything wrong, and what is said of each.

use std::path::PathBuf;

use serde_json::json;

use super::*;

/// The example of the founding document, as it stands there.
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

/// The least there can be.
const LEAST: &str =
    "[agent]\nid = \"a@b\"\nname = \"a\"\nversion = \"1\"\nruntime = \"node\"\nentry = \"main.js\"\n";

fn parse(text: &str) -> Result<Reading, Vec<Problem>> {
    read(Path::new("/agents/x/agent.toml"), text.as_bytes())
}

fn problems(text: &str) -> Vec<String> {
    parse(text).expect_err(text).iter().map(ToString::to_string).collect()
}

fn texts(patterns: &[covenant_model::action::ActionPattern]) -> Vec<&str> {
    patterns.iter().map(covenant_model::action::ActionPattern::as_str).collect()
}

#[test]
fn the_example_of_the_founding_document_is_read_as_it_stands() {
    let Reading { manifest, warnings } = parse(EXAMPLE).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!((manifest.id.as_str(), manifest.name.as_str()), ("research@local", "research"));
    assert_eq!((manifest.version.as_str(), manifest.runtime), ("0.1.0", Runtime::RustBin));
    assert_eq!(manifest.entry, "target/release/research");
    assert_eq!(manifest.program, PathBuf::from("/agents/x/target/release/research"));
    assert_eq!(texts(&manifest.required), ["tool.web_search"]);
    assert_eq!(texts(&manifest.optional), ["memory.write"]);
    assert_eq!(manifest.resources, Resources::default());
    let settlement = Settlement { budget_credits_per_hour: 1000, priority: Priority::Normal };
    assert_eq!(manifest.settlement, settlement);
    assert_eq!(manifest.tool(), "agent__research");
}

#[test]
fn what_is_left_out_has_the_documented_defaults_also_where_it_is_shown() {
    let manifest = parse(LEAST).unwrap().manifest;
    assert_eq!(manifest.resources, Resources::default());
    assert_eq!(manifest.settlement, Settlement::default());
    assert!(manifest.required.is_empty() && manifest.optional.is_empty() && !manifest.sandbox_required);
    assert_eq!(
        json!(manifest.document),
        json!({
            "agent": {
                "id": "a@b", "name": "a", "version": "1", "description": "", "runtime": "node", "entry": "main.js",
            },
            "capabilities": {"required": [], "optional": []},
            "resources": {
                "cpu_ms_per_task": 30000, "memory_mb": 512, "disk_mb": 100, "network": "outbound-https-only", "pids": 256,
            },
            "settlement": {"budget_credits_per_hour": 0, "priority": "normal"},
            "sandbox": {"required": false},
        })
    );
}

#[test]
fn every_key_is_read() {
    let text = r#"
        agent = { id = "a@b", name = "a", version = "1", runtime = "python3", entry = "/opt/a.py", description = "Says a" }
        capabilities.required = ["tool.call.*", "agent.x", "tool.call.*"]
        [resources]
        cpu_ms_per_task = 86_400_000
        memory_mb = 0x10
        disk_mb = 1
        network = "full"
        pids = 65536
        [settlement]
        budget_credits_per_hour = 9223372036854775807
        priority = "high"
        [sandbox]
        required = true
    "#;
    let Reading { manifest, warnings } = parse(text).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!((manifest.description.as_str(), manifest.runtime), ("Says a", Runtime::Python3));
    assert_eq!(manifest.program, PathBuf::from("/opt/a.py"));
    assert_eq!(texts(&manifest.required), ["tool.call.*", "agent.x"], "each once");
    let Resources { cpu_ms_per_task, memory_mb, disk_mb, network, pids } = manifest.resources;
    assert_eq!((cpu_ms_per_task, memory_mb, disk_mb, pids), (86_400_000, 16, 1, 65_536));
    assert_eq!(network, Network::Full);
    assert_eq!(manifest.settlement.budget_credits_per_hour, 9_223_372_036_854_775_807);
    assert_eq!(manifest.settlement.priority, Priority::High);
    assert!(manifest.sandbox_required);
}

#[test]
fn sections_that_mean_nothing_are_kept_and_keys_that_mean_nothing_are_told() {
    let text = format!(
        "{LEAST}colour = \"red\"\n[mesh]\npeers = [1, 2.5, {{ at = 2026-11-17T10:00:00Z, far = inf }}]\n\
         [[probe]]\nevery = \"5m\"\n[resourses]\nmemory_mb = 9\n[sandbox]\nrequried = true\n"
    );
    let Reading { manifest, warnings } = parse(&text).unwrap();
    let at = json!({"at": "2026-11-17T10:00:00Z", "far": "inf"});
    assert_eq!(manifest.document["mesh"], json!({"peers": [1, 2.5, at]}));
    assert_eq!(manifest.document["probe"], json!([{"every": "5m"}]));
    assert_eq!(manifest.document["agent"]["colour"], "red");
    assert_eq!(manifest.document["resourses"]["memory_mb"], 9);
    assert_eq!(manifest.document["sandbox"], json!({"required": false, "requried": true}));
    let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "line 7, column 1: `agent.colour` has no effect; [agent] has id, name, version, description, runtime, entry",
            "line 12, column 2: [resourses] has no effect; did you mean [resources]?",
            "line 15, column 1: `sandbox.requried` has no effect; [sandbox] has required",
        ]
    );
    assert_eq!(
        warnings[1].of(Path::new("a.toml")),
        "a.toml, line 12, column 2: [resourses] has no effect; did you mean [resources]?"
    );
}

/// The least there can be, with one line changed.
fn with(key: &str, line: &str) -> String {
    let lines = LEAST.lines().map(|old| if old.starts_with(&format!("{key} ")) { line } else { old });
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn each_text_that_is_missing_empty_or_something_else_is_told_with_its_place() {
    let id = "name@host, such as `id = \"research@local\"`";
    let wrong_id = |id: &str, why: &str| format!("line 2, column 6: `agent.id` is \"{id}\", which {why}");
    let long = "x".repeat(70);
    for (key, line, told) in [
        ("id", "", format!("line 1, column 2: `agent.id` is missing; write {id}")),
        ("id", "id = \"\"", format!("line 2, column 6: `agent.id` is empty; write {id}")),
        ("id", "id = \" \\t\"", format!("line 2, column 6: `agent.id` is empty; write {id}")),
        ("id", "id = 5", format!("line 2, column 6: `agent.id` is `5`; write {id}")),
        ("id", "id = true", format!("line 2, column 6: `agent.id` is `true`; write {id}")),
        ("id", "id = [\"a@b\"]", format!("line 2, column 6: `agent.id` is a list; write {id}")),
        ("id", "id = {a = 1}", format!("line 2, column 6: `agent.id` is a table; write {id}")),
        ("id", "id = 2026-01-01", format!("line 2, column 6: `agent.id` is `2026-01-01`; write {id}")),
        ("id", "id = \"research\"", wrong_id("research", "is not of the form name@host")),
        ("id", "id = \"@local\"", wrong_id("@local", "is not of the form name@host")),
        ("id", "id = \"a@\"", wrong_id("a@", "is not of the form name@host")),
        ("id", "id = \"a@b@c\"", wrong_id("a@b@c", "has other characters than letters, digits, `_`, `-` and `.`")),
        ("id", "id = \"a b@c\"", wrong_id("a b@c", "has other characters")),
        ("id", "id = \"../x@c\"", wrong_id("../x@c", "has other characters")),
        ("id", "id = \"a@b\\u001b[31m\"", wrong_id("a@b\\u{1b}[31m", "has other characters")),
        ("id", "id = \"user@local\"", wrong_id("user@local", "is the person this home belongs to")),
        ("name", "", "line 1, column 2: `agent.name` is missing; write a short name".to_owned()),
        ("name", "name = \"\"", "line 3, column 8: `agent.name` is empty; write a short name".to_owned()),
        ("name", "name = \"a\\nb\"", "`agent.name` is \"a\\nb\", which has control characters; leave".to_owned()),
        ("version", "", "line 1, column 2: `agent.version` is missing; write a version in quotes".to_owned()),
        ("version", "version = ''", "line 4, column 11: `agent.version` is empty; write a version".to_owned()),
        ("version", "version = 1.0", "line 4, column 11: `agent.version` is `1.0`; write a version".to_owned()),
        (
            "runtime",
            "",
            "line 1, column 2: `agent.runtime` is missing; write `runtime = \"python3\"`, or \"rust-bin\", or \"node\""
                .to_owned(),
        ),
        (
            "runtime",
            "runtime = \"ruby\"",
            "line 5, column 11: `agent.runtime` is \"ruby\"; write \"rust-bin\", \"python3\" or \"node\"".to_owned(),
        ),
        ("runtime", "runtime = \"\"", "line 5, column 11: `agent.runtime` is \"\"; write \"rust-bin\"".to_owned()),
        ("runtime", "runtime = 3", "line 5, column 11: `agent.runtime` is `3`; write \"rust-bin\"".to_owned()),
        ("entry", "", "line 1, column 2: `agent.entry` is missing; write the path of the program".to_owned()),
        ("entry", "entry = \"\"", "line 6, column 9: `agent.entry` is empty; write the path".to_owned()),
        ("entry", "entry = \"a\\u0000\"", "`agent.entry` is \"a\\0\", which has control characters".to_owned()),
        ("entry", "entry = \"a\"\ndescription = 1", "line 7, column 15: `agent.description` is `1`; write".to_owned()),
        ("id", &format!("id = \"{long}@b\""), format!("`agent.id` is \"{}…\", which is longer than", &long[..64])),
    ] {
        let found = problems(&with(key, line));
        assert!(matches!(&found[..], [one] if one.contains(&told)), "{line}\n  {told}\n  {found:?}");
    }
}

#[test]
fn a_name_that_makes_no_tool_is_refused() {
    let named = |name: &str| with("name", &format!("name = \"{name}\""));
    assert_eq!(parse(&named(&"ä".repeat(40))).unwrap().manifest.tool().len(), 47);
    let told = problems(&named(&"ä".repeat(41)));
    let end = "and so long that no tool can be named after it; write at most 40 characters";
    assert!(told[0].starts_with("line 3, column 8: `agent.name` is ") && told[0].ends_with(end), "{told:?}");
}

#[test]
fn each_value_of_the_other_sections_is_held_to_what_it_may_be() {
    let whole = |from: &str, to: &str| format!("write a whole number from {from} to {to}");
    let (milliseconds, mebibytes) = (whole("1", "86400000"), whole("1", "1048576"));
    let actions = "an action begins with `intent.`, `memory.`, `identity.`, `tool.` or `agent.`";
    for (lines, told) in [
        ("[resources]\ncpu_ms_per_task = 0", format!("line 8, column 19: `resources.cpu_ms_per_task` is `0`; {milliseconds}")),
        ("[resources]\ncpu_ms_per_task = -1", format!("`resources.cpu_ms_per_task` is `-1`; {milliseconds}")),
        ("[resources]\ncpu_ms_per_task = 1.5", format!("`resources.cpu_ms_per_task` is `1.5`; {milliseconds}")),
        ("[resources]\ncpu_ms_per_task = \"1s\"", format!("is the text \"1s\"; {milliseconds}")),
        ("[resources]\ncpu_ms_per_task = 86400001", format!("is `86400001`; {milliseconds}")),
        ("[resources]\nmemory_mb = 0", format!("line 8, column 13: `resources.memory_mb` is `0`; {mebibytes}")),
        ("[resources]\nmemory_mb = 1048577", format!("`resources.memory_mb` is `1048577`; {mebibytes}")),
        ("[resources]\nmemory_mb = [1]", format!("`resources.memory_mb` is a list; {mebibytes}")),
        ("[resources]\ndisk_mb = true", format!("`resources.disk_mb` is `true`; {mebibytes}")),
        ("[resources]\npids = 4294967296", format!("`resources.pids` is `4294967296`; {}", whole("1", "65536"))),
        ("[resources]\nnetwork = \"on\"", "line 8, column 11: `resources.network` is \"on\"; write \"off\", \"outbound-https-only\" or \"full\"".to_owned()),
        ("[resources]\nnetwork = false", "`resources.network` is `false`; write \"off\"".to_owned()),
        ("resources = 5", "line 7, column 1: `agent.resources` has no effect".to_owned()),
        ("[settlement]\nbudget_credits_per_hour = -5", format!("`settlement.budget_credits_per_hour` is `-5`; {}", whole("0", "9223372036854775807"))),
        ("[settlement]\npriority = \"urgent\"", "line 8, column 12: `settlement.priority` is \"urgent\"; write \"low\", \"normal\" or \"high\"".to_owned()),
        ("[sandbox]\nrequired = \"yes\"", "line 8, column 12: `sandbox.required` is the text \"yes\"; write true or false".to_owned()),
        ("[[sandbox]]\nrequired = true", "line 7, column 3: `sandbox` is a list of sections; write it as a section, once: [sandbox]".to_owned()),
        ("[[agent]]\nid = \"a@b\"", "line 7".to_owned()),
        ("[capabilities]\nrequired = \"tool.x\"", "line 8, column 12: `capabilities.required` is the text \"tool.x\"; write a list of actions".to_owned()),
        ("[capabilities]\nrequired = [\"net.http\"]", format!("line 8, column 13: `capabilities.required` holds \"net.http\"; {actions}")),
        ("[capabilities]\noptional = [\"tool.x\", \"web\"]", format!("line 8, column 23: `capabilities.optional` holds \"web\"; {actions}")),
        ("[capabilities]\noptional = [\"tools.x\"]", format!("`capabilities.optional` holds \"tools.x\"; {actions}")),
        ("[capabilities]\noptional = [\"\"]", format!("`capabilities.optional` holds \"\"; {actions}")),
        ("[capabilities]\noptional = [\"*\"]", format!("`capabilities.optional` holds \"*\"; {actions}")),
        ("[capabilities]\noptional = [\"tool\"]", format!("`capabilities.optional` holds \"tool\"; {actions}")),
        ("[capabilities]\noptional = [\"tool.\"]", "`capabilities.optional` holds \"tool.\", which is not an action; write dotted segments".to_owned()),
        ("[capabilities]\noptional = [\"tool.*.x\"]", "holds \"tool.*.x\", which is not an action".to_owned()),
        ("[capabilities]\noptional = [\"tool.a b\"]", "holds \"tool.a b\", which is not an action".to_owned()),
        ("[capabilities]\noptional = [7]", "holds `7`; write each action in quotes".to_owned()),
        ("[capabilities]\noptional = [[\"tool.x\"]]", "holds a list; write each action in quotes".to_owned()),
        ("[resources", "line 7, column ".to_owned()),
        ("resources.memory_mb = 5\n[resources]", "line".to_owned()),
        ("[x]\ny = 1\ny = 2", "line 9, column 1: this is not TOML: duplicate key".to_owned()),
        ("[resources]\nmemory_mb = 99999999999999999999", "line 8, column 13: this is not TOML".to_owned()),
    ] {
        let text = format!("{LEAST}{lines}\n");
        let found = match parse(&text) {
            Ok(reading) => reading.warnings.iter().map(ToString::to_string).collect(),
            Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        };
        assert!(matches!(&found[..], [one] if one.contains(&told)), "{lines}\n  {told}\n  {found:?}");
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once_in_the_order_of_the_file() {
    let text = "[settlement]\npriority = 1\n[agent]\nname = \"\"\nversion = \"1\"\nruntime = \"perl\"\n\
                [capabilities]\nrequired = [\"x.y\", 3]\n";
    let found = problems(text);
    let starts: Vec<&str> = found.iter().map(|told| told.split(';').next().unwrap()).collect();
    assert_eq!(
        starts,
        [
            "line 2, column 12: `settlement.priority` is `1`",
            "line 3, column 2: `agent.id` is missing",
            "line 3, column 2: `agent.entry` is missing",
            "line 4, column 8: `agent.name` is empty",
            "line 6, column 11: `agent.runtime` is \"perl\"",
            "line 8, column 13: `capabilities.required` holds \"x.y\"",
            "line 8, column 20: `capabilities.required` holds `3`",
        ]
    );
}

#[test]
fn what_is_no_manifest_at_all_is_one_problem() {
    let none = "line 1, column 1: there is no [agent]; write that section, with id, name, version, runtime and entry";
    for text in ["", "\n\n", "# nothing\n", "[agents]\nid = \"a@b\"\n", "id = \"a@b\"\n"] {
        assert_eq!(problems(text), [none], "{text:?}");
    }
    let list = problems("[[agent]]\nid = \"a@b\"\n");
    assert_eq!(
        list,
        ["line 1, column 3: `agent` is a list of sections; write it as a section, once: [agent]"]
    );
    let number = problems("agent = 5\n");
    assert_eq!(number, ["line 1, column 1: `agent` is a number; write it as a section, once: [agent]"]);
    let json = problems("{\"agent\": {}}");
    assert!(json.len() == 1 && json[0].starts_with("line 1, column 1: this is not TOML: "), "{json:?}");
}

#[test]
fn bytes_that_are_no_text_and_files_that_are_too_large_are_refused() {
    let read = |bytes: &[u8]| read(Path::new("a.toml"), bytes).unwrap_err();
    let [latin] = &read(b"[agent]\nname = \"caf\xe9\"\n")[..] else { panic!("one problem") };
    assert_eq!(latin.to_string(), "line 2, column 12: this byte is not UTF-8; save the file as UTF-8");
    let [zeros] = &read(&[0; 100])[..] else { panic!("one problem") };
    assert!(zeros.to_string().starts_with("line 1, column 101: this is not TOML"), "{zeros}");
    let mut large = LEAST.to_owned();
    large.push_str(&"#".repeat(LIMIT - large.len()));
    assert!(parse(&large).is_ok());
    large.push('#');
    let told = "line 1, column 1: the file has more than 256 KiB, and a manifest may not";
    assert_eq!(problems(&large), [told]);
}

#[test]
fn very_many_actions_are_refused_and_very_many_problems_are_cut_short() {
    let list = |many: usize, action: &str| {
        let actions: Vec<String> = (0..many).map(|n| format!("\"{action}{n}\"")).collect();
        let actions = actions.join(", ");
        format!("{LEAST}[capabilities]\nrequired = [{actions}]\n")
    };
    assert_eq!(parse(&list(128, "tool.x")).unwrap().manifest.required.len(), 128);
    let many = problems(&list(129, "tool.x"));
    assert!(many[0].contains("`capabilities.required` has 129 actions; write at most 128"), "{many:?}");
    let bad = problems(&list(128, "x"));
    assert_eq!(bad.len(), 50);
    assert!(bad[49].ends_with("(and 78 more problems after this one)"), "{bad:?}");
}

#[test]
fn what_is_nested_without_end_is_refused_on_a_small_stack() {
    let nested = |open: &str, close: &str, many: usize| {
        format!("{LEAST}[x]\ny = {}1{}\n", open.repeat(many), close.repeat(many))
    };
    let dotted = "a.".repeat(70);
    let texts = [
        nested("[", "]", 70),
        nested("[", "]", 60_000),
        nested("{a = ", "}", 70),
        nested("{a = ", "}", 30_000),
        nested(&format!("{{{dotted}a = "), "}", 75),
        format!("{LEAST}[x.{}a]\n", "a.".repeat(60_000)),
        format!("{LEAST}[x]\n{}a = 1\n", "a.".repeat(60_000)),
    ];
    let small = std::thread::Builder::new().stack_size(1024 * 1024);
    let told =
        small.spawn(move || texts.iter().map(|text| problems(text)).collect::<Vec<_>>()).unwrap().join();
    for (at, found) in told.unwrap().iter().enumerate() {
        assert!(found.len() == 1 && found[0].len() < 300, "{at}: {found:?}");
    }
    assert!(parse(&nested("[", "]", 30)).is_ok());
}
