//! Names that no tool of an external server may have: those of our own tools, present or to come. People grant them by
//! these names, and a grant must never reach another tool.

/// Prefixes that no server may have, and that no name may begin with: of agents, of ourselves, of the team's tools.
pub(super) const PREFIXES: [&str; 3] = ["agent", "covenant", "covibe"];

/// What no name may begin with.
const BEGINNINGS: [&str; 3] = ["agent__", "covenant__", "covibe_"];

/// The tools that are built in. Also those that this version does not have: what was granted for them would wait for
/// whoever takes the name first.
pub const BUILT_IN: [&str; 20] = [
    "calendar_read",
    "chat_send",
    "clock",
    "echo",
    "github_create_issue",
    "github_list_issues",
    "memory_read",
    "memory_write",
    "script_exec",
    "script_list",
    "script_reload",
    "script_run",
    "vault_list",
    "vault_read",
    "vault_search",
    "vault_write",
    "web_fetch",
    "workspace_list",
    "workspace_read",
    "workspace_write",
];

/// Why no external tool may be called that; nothing where it may.
pub fn reserved(name: &str) -> Option<String> {
    if BUILT_IN.contains(&name) {
        return Some(built_in(name));
    }
    let beginning = BEGINNINGS.iter().find(|beginning| name.starts_with(**beginning))?;
    let whose = "as only built-in tools may";
    Some(format!("`{name}` begins with `{beginning}`, {whose}: set `prefix` in the entry of this server"))
}

/// Says that a built-in tool is called that.
pub fn built_in(name: &str) -> String {
    format!("`{name}` is the name of a built-in tool: set `prefix` in the entry of this server")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_our_own_tools_are_reserved_with_a_sentence_that_says_what_to_do() {
        for name in BUILT_IN {
            let why = reserved(name).unwrap();
            assert_eq!(
                why,
                format!("`{name}` is the name of a built-in tool: set `prefix` in the entry of this server")
            );
        }
        for (name, beginning) in [
            ("agent__x", "agent__"),
            ("agent__", "agent__"),
            ("covenant__status", "covenant__"),
            ("covibe_task", "covibe_"),
            ("covibe__task", "covibe_"),
        ] {
            let why = reserved(name).unwrap();
            assert!(why.starts_with(&format!("`{name}` begins with `{beginning}`")), "{why}");
            assert!(why.ends_with("set `prefix` in the entry of this server"), "{why}");
        }
    }

    #[test]
    fn other_names_are_free() {
        for name in [
            "",
            "echo2",
            "test_simple_text",
            "json_schema_2020_12_tool",
            "agent_x",
            "agents__x",
            "covenant_x",
            "covibe-x",
            "fs__echo",
            "github__list_issues",
            "read_file",
        ] {
            assert_eq!(reserved(name), None, "{name}");
        }
    }
}
