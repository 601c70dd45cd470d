//! The whole catalogue: eighteen tools where everything is configured, and of those that are not there, why.

use serde_json::Value;

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

/// PACT-78 the categories, PACT-79 and their eighteen tools.
#[test]
fn where_everything_is_configured_all_eighteen_tools_are_there() {
    let home = home();
    home.write("config.toml", EVERYTHING);
    home.write(
        "secrets.toml",
        "[secrets]\nGITHUB_TOKEN = \"ghp_long_enough\"\nSLACK_TOKEN = \"xoxb-long-enough\"\n",
    );
    let list = home.run(&["tools", "list", "--all", "--json"]).ok().json();
    let there = names(&list);
    let documented: Vec<&str> = DOCUMENTED.iter().flat_map(|(_, tools)| tools.iter().copied()).collect();
    assert_eq!(documented.len(), 18);
    for name in documented {
        assert!(there.iter().any(|tool| tool == name), "{name} is not in {there:?}");
    }
    assert_eq!(list["_meta"]["absent"], serde_json::json!([]), "{list}");
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
    // It comes with the section, without a restart.
    home.write("config.toml", "[vault]\npath = \"vault\"\n");
    home.run(&["reload"]).ok();
    assert!(home.run(&["tools", "list"]).ok().stdout.contains("vault_read"));
}

/// PACT-80
#[test]
fn every_tool_is_described_in_the_reference_and_its_companions_are_there() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap();
    let reference = read("tools.md");
    for name in DOCUMENTED.iter().flat_map(|(_, tools)| tools.iter()) {
        assert!(reference.contains(&format!("`{name}`")), "{name}");
    }
    assert!(read("scripts.md").contains("sandbox"));
    assert!(reference.contains("[REDACTED:NAME]") && read("security.md").contains("secret"));
}
