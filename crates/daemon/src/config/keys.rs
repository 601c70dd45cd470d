//! Which keys there are, so that a misspelt one is noticed, and which of them only later versions use.

use std::path::Path;

use toml_edit::{Item, Table};

use super::place;

/// A section of the file.
struct Section {
    name: &'static str,
    used: &'static [&'static str],
    later: &'static [&'static str],
}

/// The sections this version reads.
const SECTIONS: &[Section] = &[
    Section { name: "http", used: super::http::KEYS, later: &[] },
    Section { name: "operator", used: super::operator::KEYS, later: &[] },
    Section { name: "cluster", used: super::cluster::KEYS, later: &[] },
    Section { name: "database", used: super::database::KEYS, later: &[] },
    Section { name: "logging", used: super::logging::KEYS, later: &[] },
    Section { name: "rate_limit", used: super::rate_limit::KEYS, later: &[] },
    Section { name: "audit", used: super::audit::KEYS, later: &[] },
    Section { name: "secrets", used: super::secrets::KEYS, later: &[] },
    Section { name: "limits", used: super::limits::KEYS, later: &[] },
    Section { name: "approvals", used: super::approvals::KEYS, later: &[] },
    Section { name: "telemetry", used: super::telemetry::KEYS, later: &[] },
    Section { name: "web", used: super::web::KEYS, later: &[] },
    Section { name: "sandbox", used: super::sandbox::KEYS, later: &[] },
    Section { name: "plugins", used: super::plugins::KEYS, later: &[] },
    Section { name: "workspace", used: super::workspace::KEYS, later: &[] },
    Section { name: "vault", used: super::vault::KEYS, later: &[] },
    Section { name: "calendars", used: super::calendars::KEYS, later: &[] },
    Section { name: "github", used: super::github::KEYS, later: &[] },
    Section { name: "oidc", used: super::oidc::KEYS, later: &[] },
    Section { name: "chat", used: super::chat::KEYS, later: &[] },
    Section { name: "scripts", used: super::scripts::KEYS, later: &[] },
    Section { name: "agents", used: super::agents::KEYS, later: &[] },
];

/// The section of external servers, whose entries are warned about where they are read.
const SERVERS: &str = "mcp";

/// The section whose tables have names people gave them.
const NAMED: &str = "chat";

/// What other hosts call it.
const MEANT_SERVERS: &[&str] = &["mcpServers", "mcp_servers", "mcp-servers", "mcp_server", "servers"];

/// What is wrong with a section that has no effect.
fn unread(name: &str) -> &'static str {
    if MEANT_SERVERS.contains(&name) {
        "is not a known section; write each server as [[mcp.servers]]"
    } else {
        "is not a known section"
    }
}

/// Whether a table of a plugin was meant to hold servers.
pub(crate) fn means_servers(name: &str) -> bool {
    MEANT_SERVERS.contains(&name)
}

/// One sentence for each table of `secrets.toml` that has no effect.
pub(crate) fn unread_tables(path: &Path, root: &Table) -> Vec<String> {
    let unread = root.iter().filter(|(name, _)| *name != "secrets" && *name != SERVERS);
    let remark =
        |(name, _): (&str, &Item)| format!("{}: [{}] {}", path.display(), shown(name), self::unread(name));
    unread.map(remark).collect()
}

/// One sentence for each key that has no effect.
pub(super) fn warnings(path: &Path, text: &str, root: &Table) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut say = |key: String, table: &Table, name: &str, rest: &str| {
        let span = table.key(name).and_then(toml_edit::Key::span);
        let (line, _) = place::of(text, span.map_or(0, |span| span.start));
        warnings.push(format!("{}, line {line}: {key} {rest}", path.display()));
    };
    for (name, item) in root.iter().filter(|(name, _)| *name != SERVERS) {
        let Some(section) = SECTIONS.iter().find(|section| section.name == name) else {
            say(format!("[{}]", shown(name)), root, name, unread(name));
            continue;
        };
        for (called, table) in tables(name, item) {
            for (key, _) in table {
                let full = format!("`{called}.{}`", shown(key));
                if section.later.contains(&key) {
                    say(full, table, key, "is not used by this version");
                } else if !section.used.contains(&key) {
                    let known = section.used.join(", ");
                    say(full, table, key, &format!("is not a known key; [{called}] has {known}"));
                }
            }
        }
    }
    warnings
}

/// The tables of a section, each with what it is called: one, or one for each of several things.
fn tables<'t>(name: &str, item: &'t Item) -> Vec<(String, &'t Table)> {
    match item {
        Item::Table(named) if name == NAMED => {
            let tables = named.iter().filter_map(|(key, item)| Some((key, item.as_table()?)));
            tables.map(|(key, table)| (format!("{name}.{}", shown(key)), table)).collect()
        }
        Item::Table(table) => vec![(name.to_owned(), table)],
        Item::ArrayOfTables(list) => list.iter().map(|table| (name.to_owned(), table)).collect(),
        _ => Vec::new(),
    }
}

/// A key as it may stand in a message: short, and without characters that steer a terminal.
pub(crate) fn shown(key: &str) -> String {
    key.chars().take(64).flat_map(char::escape_debug).collect()
}
