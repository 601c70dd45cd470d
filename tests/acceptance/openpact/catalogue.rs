//! The whole catalogue: eighteen tools where everything is configured, and of those that are not there, why.

use std::collections::{BTreeMap, BTreeSet};

use covenant_testkit::Home;
use serde_json::{Value, json};

use super::token;
use crate::home;

/// The tools of the document, by category.
const DOCUMENTED: [(&str, &[&str]); 8] = [
    ("Workspace", &["workspace_read", "workspace_write", "workspace_list"]),
    ("Memory", &["memory_read", "memory_write"]),
    ("Vault", &["vault_read", "vault_write", "vault_list", "vault_search"]),
    ("Chat", &["chat_send"]),
    ("Calendar", &["calendar_read"]),
    ("GitHub", &["github_list_issues", "github_create_issue"]),
    ("Web", &["web_fetch"]),
    ("Scripts", &["script_list", "script_run", "script_exec", "script_reload"]),
];

const EVERYTHING: &str = "\
[vault]\npath = \"vault\"\n[[calendars]]\nname = \"team\"\npath = \"team.ics\"\n\
[github]\ntoken = \"${secret:GITHUB_TOKEN}\"\n\
[chat.team]\nprovider = \"slack\"\ntoken = \"${secret:SLACK_TOKEN}\"\n";

fn names(list: &Value) -> Vec<String> {
    let tools = list["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A home in which everything is configured.
pub(crate) fn everything() -> Home {
    let home = home();
    home.write("config.toml", EVERYTHING);
    home.write(
        "secrets.toml",
        "[secrets]\nGITHUB_TOKEN = \"ghp_long_enough\"\nSLACK_TOKEN = \"xoxb-long-enough\"\n",
    );
    home
}

/// PACT-79: these eighteen, `echo` and `clock`, and no other.
#[test]
fn where_everything_is_configured_all_eighteen_tools_are_there() {
    let home = everything();
    let list = home.run(&["tools", "list", "--all", "--json"]).ok().json();
    let mut there: BTreeSet<String> = names(&list).into_iter().collect();
    there.retain(|name| !name.starts_with("covibe_"));
    let documented: Vec<&str> = DOCUMENTED.iter().flat_map(|(_, tools)| tools.iter().copied()).collect();
    assert_eq!(documented.len(), 18);
    assert_eq!(there, documented.iter().chain(&["echo", "clock"]).map(ToString::to_string).collect());
    assert_eq!(list["_meta"]["absent"], json!([]), "{list}");
}

/// What each tool says of itself: it only reads, it destroys, twice is as once, it reaches beyond this machine. Nothing is
/// said where nothing follows from it.
#[test]
fn every_tool_says_what_it_does_to_the_world() {
    let (yes, no, unsaid) = (Some(true), Some(false), None);
    let table: BTreeMap<&str, [Option<bool>; 4]> = BTreeMap::from([
        ("echo", [yes, unsaid, yes, no]),
        ("clock", [yes, unsaid, unsaid, no]),
        ("workspace_read", [yes, no, yes, no]),
        ("workspace_write", [no, yes, yes, no]),
        ("workspace_list", [yes, no, yes, no]),
        ("memory_read", [yes, no, yes, no]),
        ("memory_write", [no, yes, no, no]),
        ("vault_read", [yes, no, yes, no]),
        ("vault_write", [no, yes, yes, no]),
        ("vault_list", [yes, no, yes, no]),
        ("vault_search", [yes, no, yes, no]),
        ("chat_send", [no, no, no, yes]),
        ("calendar_read", [yes, no, yes, yes]),
        ("github_list_issues", [yes, no, yes, yes]),
        ("github_create_issue", [no, no, no, yes]),
        ("web_fetch", [yes, no, yes, yes]),
        ("script_list", [yes, no, yes, no]),
        ("script_run", [no, yes, no, yes]),
        ("script_exec", [no, yes, no, yes]),
        ("script_reload", [yes, no, yes, no]),
        ("covibe_task", [no, no, no, no]),
        ("covibe_workstream", [no, no, no, no]),
        ("covibe_session", [no, no, no, no]),
        ("covibe_note", [no, no, no, no]),
        ("covibe_team", [no, no, no, no]),
        ("covibe_warning", [no, no, no, no]),
        ("covibe_coordination", [no, no, no, no]),
    ]);
    let home = everything();
    let list = home.run(&["tools", "list", "--json"]).ok().json();
    let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    let said =
        |tool: &Value| hints.map(|hint| tool["annotations"].get(hint).map(|said| said.as_bool().unwrap()));
    let listed = list["tools"].as_array().unwrap();
    let told = listed.iter().map(|tool| (tool["name"].as_str().unwrap(), said(tool)));
    assert_eq!(told.collect::<BTreeMap<_, _>>(), table);
}

#[test]
fn what_is_not_configured_is_not_there_and_says_what_to_write() {
    let home = home();
    let list = home.run(&["tools", "list", "--all", "--json"]).ok().json();
    let absent = list["_meta"]["absent"].as_array().unwrap();
    for (name, section) in [
        ("vault_read", "[vault]"),
        ("calendar_read", "[[calendars]]"),
        ("chat_send", "[chat."),
        ("github_list_issues", "[github]"),
    ] {
        let entry = absent.iter().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("{name}"));
        assert!(entry["reason"].as_str().unwrap().contains(section), "{entry}");
        assert!(!names(&list).iter().any(|tool| tool == name));
    }
    let text = home.run(&["tools", "list", "--all"]).ok().stdout;
    assert!(text.contains("NOT THERE") && text.contains("chat_send"), "{text}");
    let plain = home.run(&["tools", "list"]).ok().stdout;
    assert!(!plain.contains("chat_send"), "{plain}");
    // Who asks for one of them is told the same; others hear only that it is unknown.
    for arguments in [["tools", "show", "vault_read"], ["tools", "call", "vault_read"]] {
        let told = home.run(&arguments).exits(2);
        assert!(told.stderr.contains("`vault_read` is not there: no vault is configured"), "{told:?}");
        let other = home.command(&arguments).env("COVENANT_TOKEN", token(&home, arguments[1], &["*"])).run();
        assert!(other.code() == 2 && !other.stderr.contains("configured"), "{other:?}");
        assert!(other.stderr.contains("unknown tool `vault_read`"), "{other:?}");
    }
    // It comes with the section, without a restart.
    home.write("config.toml", "[vault]\npath = \"vault\"\n");
    home.run(&["reload"]).ok();
    assert!(home.run(&["tools", "list"]).ok().stdout.contains("vault_read"));
}

/// A section that cannot be used is no section that is missing.
#[test]
fn what_is_configured_and_cannot_be_used_says_why() {
    let home = home();
    let calendar = "[[calendars]]\nname = \"team\"\nurl = \"https://a.example/${secret:CAL}\"\n";
    let config = EVERYTHING.split("[[calendars]]").next().unwrap().to_owned() + calendar;
    let rest = EVERYTHING.split("[github]").nth(1).unwrap();
    home.write("config.toml", &format!("{config}[github]{rest}"));
    let list = home.run(&["tools", "list", "--all", "--json"]).ok().json();
    let absent = list["_meta"]["absent"].as_array().unwrap();
    for (name, secret) in [
        ("calendar_read", "CAL"),
        ("chat_send", "SLACK_TOKEN"),
        ("github_create_issue", "GITHUB_TOKEN"),
        ("github_list_issues", "GITHUB_TOKEN"),
    ] {
        let entry = absent.iter().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("{name}"));
        let reason = entry["reason"].as_str().unwrap();
        assert!(reason.contains(&format!("covenant secrets set {secret}")), "{reason}");
        assert!(reason.contains("is not used: there is no secret"), "{reason}");
    }
    home.write("config.toml", "[workspace]\npath = \".\"\n[vault]\npath = \"nowhere\"\n");
    for told in [home.run(&["reload"]).ok().stderr, home.run(&["doctor"]).stdout] {
        assert!(told.contains("holds what the daemon keeps for itself"), "{told}");
        assert!(told.contains("nowhere is not there"), "{told}");
    }
    let told = home.run(&["tools", "call", "workspace_read"]).exits(2);
    assert!(told.stderr.contains("holds what the daemon keeps for itself"), "{told:?}");
    home.write("config.toml", "[github]\ntoken = \"${secret:nope}\"\n");
    let refused = home.run(&["reload"]).exits(2);
    assert!(
        refused.stderr.contains("`github.token` cannot be used: `nope` cannot name a secret"),
        "{refused:?}"
    );
}

/// A page of the documentation.
fn page(name: &str) -> String {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The cells of the first table in a page whose header begins with that, row by row.
fn table(page: &str, header: &str) -> Vec<Vec<String>> {
    let lines = page.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// PACT-78: the reference has these categories, each with these tools, and nothing else beside what is there to try.
#[test]
fn the_reference_has_every_tool_in_its_category() {
    let (reference, mut written) = (page("tools.md"), Vec::<(String, Vec<String>)>::new());
    for row in table(&reference, "| category |") {
        let tools = quoted(&row[1]).into_iter().map(str::to_owned);
        match written.last_mut() {
            Some((_, of_it)) if row[0].is_empty() => of_it.extend(tools),
            _ => written.push((row[0].clone(), tools.collect())),
        }
    }
    let (_, to_try) = written.pop().unwrap();
    assert_eq!(to_try, ["echo", "clock"]);
    let documented: Vec<(String, Vec<String>)> = DOCUMENTED
        .iter()
        .map(|(category, tools)| (category.to_string(), tools.iter().map(ToString::to_string).collect()))
        .collect();
    assert_eq!(written, documented);
}

/// PACT-80: the reference and its companions on scripts, sandboxing and secrets are there, name each argument of each tool,
/// and lead to each other.
#[test]
fn every_argument_is_described_in_the_reference_and_its_companions_are_there() {
    let rows: Vec<Vec<String>> = [("notes.md", "| tool |"), ("scripts.md", "| tool |")]
        .iter()
        .flat_map(|(name, header)| table(&page(name), header))
        .chain(table(&page("tools.md"), "| category |").into_iter().map(|row| row[1..].to_vec()))
        .collect();
    let home = everything();
    let list = home.run(&["tools", "list", "--json"]).ok().json();
    for tool in list["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        if name.starts_with("covibe_") {
            // Their operations are described in teams.md; their many arguments describe themselves.
            assert!(page("teams.md").contains(&format!("| `{name}` |")), "{name}");
            continue;
        }
        let row = rows.iter().find(|row| quoted(&row[0]).contains(&name)).unwrap_or_else(|| panic!("{name}"));
        for argument in tool["inputSchema"]["properties"].as_object().unwrap().keys() {
            assert!(quoted(&row[1]).contains(&argument.as_str()), "{argument} of {name}: {row:?}");
        }
    }
    for companion in ["tools.md", "scripts.md", "notes.md", "sandbox.md", "security.md"] {
        let text = page(companion);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let name = link.split('#').next().filter(|name| !name.is_empty());
            page(name.unwrap_or(companion));
        }
    }
    let reached = |from: &str, to: &str| assert!(page(from).contains(&format!("]({to})")), "{from} to {to}");
    reached("tools.md", "scripts.md");
    reached("scripts.md", "sandbox.md");
    reached("tools.md", "security.md");
}
