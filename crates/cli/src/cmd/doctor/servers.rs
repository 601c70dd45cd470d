//! Checks of the external servers: how they are, where a daemon runs, and what is wrong with entries and plugins.

use std::collections::BTreeMap;

use covenant_daemon::config::{Config, Overrides};
use covenant_daemon::secrets::Secrets;
use covenant_model::server::{ServerState, Servers};

use super::Finding;
use crate::client::Client;
use crate::cmd::servers::{UNUSED, tally};
use crate::setting::Setting;

const NAME: &str = "servers";

/// How many servers are named, and how many entries are told of; `mcp list` has them all.
const SHOWN: usize = 10;

/// Everything about the servers.
pub(super) fn all(setting: &Setting) -> Vec<Finding> {
    let Ok(loaded) = Config::load(&setting.home, &Overrides::from_environment()) else {
        return vec![Finding::skip(NAME, "not checked: the configuration cannot be read")];
    };
    let loaded = Secrets::load(&setting.home, &loaded.config, &|name| std::env::var(name).ok());
    let Ok(loaded) = loaded else {
        return vec![Finding::skip(NAME, "not checked: the files with entries cannot be read")];
    };
    let (first, wrong) = if let Some(servers) = running(setting) {
        // What the daemon tells with the server itself, it tells from its own environment.
        let written = loaded.server_warnings.into_iter().filter(|warning| !warning.ends_with(UNUSED));
        (states(&servers), unusable(&servers).into_iter().chain(written).collect())
    } else {
        (waiting(loaded.server_count()), loaded.server_warnings)
    };
    let mut findings = vec![first];
    findings.extend(entries(wrong));
    findings
}

/// The servers of the daemon, as the operator; that it does not answer is told elsewhere.
fn running(setting: &Setting) -> Option<Servers> {
    let client = Client::new(&setting.home.socket().ok()?, None).ok()?;
    client.is_served().ok().filter(|&served| served)?;
    client.get("/api/v1/mcp/servers").ok()
}

/// Without a daemon none runs.
fn waiting(count: usize) -> Finding {
    Finding::ok(
        NAME,
        match count {
            0 => "there is no entry of one".to_owned(),
            1 => "1 entry; it is started with a daemon".to_owned(),
            count => format!("{count} entries; they are started with a daemon"),
        },
    )
}

/// How they are.
fn states(servers: &Servers) -> Finding {
    let mut counts = BTreeMap::new();
    for server in &servers.servers {
        *counts.entry(server.state.as_str().to_owned()).or_default() += 1;
    }
    let bad =
        |state| matches!(state, ServerState::Restarting | ServerState::Quarantined | ServerState::Failed);
    let bad: Vec<&str> = servers
        .servers
        .iter()
        .filter(|server| bad(server.state))
        .map(|server| server.name.as_str())
        .collect();
    if bad.is_empty() {
        return Finding::ok(NAME, tally(&counts));
    }
    let more = bad.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names = bad.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    Finding::warn(NAME, format!("{}: look at {names}{more}", tally(&counts)), "see why: covenant mcp list")
}

/// Why entries cannot be used, as the daemon says.
fn unusable(servers: &Servers) -> Vec<String> {
    let failed = servers.servers.iter().filter(|server| server.state == ServerState::Failed);
    failed.filter_map(|server| server.error.clone()).collect()
}

/// A line for each of them, whole: what it says is not always what to do.
fn entries(warnings: Vec<String>) -> Vec<Finding> {
    let more = warnings.len().saturating_sub(SHOWN);
    let told = |warning| Finding::warn(NAME, warning, "correct it there; docs/servers.md has every key");
    let mut findings: Vec<Finding> = warnings.into_iter().take(SHOWN).map(told).collect();
    if more > 0 {
        let detail = format!("{more} more entries or plugins have something wrong");
        findings.push(Finding::warn(NAME, detail, "correct these, and look again: covenant doctor"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cmd::doctor::State;

    fn servers(list: &[(&str, &str, Option<&str>)]) -> Servers {
        let servers: Vec<_> = list
            .iter()
            .map(|(name, state, error)| {
                json!({"name": name, "state": state, "connected": false, "tool_count": 0, "tools": [], "error": error})
            })
            .collect();
        serde_json::from_value(json!({"servers": servers, "total": list.len(), "connected": 0})).unwrap()
    }

    #[test]
    fn servers_that_are_well_or_asleep_are_counted() {
        let finding = states(&servers(&[("a", "ready", None), ("b", "stopped", None), ("c", "ready", None)]));
        assert_eq!((finding.state, finding.detail.as_str()), (State::Ok, "2 ready, 1 stopped"));
        assert_eq!(states(&servers(&[])).detail, "none");
    }

    #[test]
    fn servers_that_fail_are_named_with_the_next_command() {
        let list = [
            ("a", "ready", None),
            ("b", "restarting", None),
            ("c", "quarantined", None),
            ("d", "failed", None),
        ];
        let finding = states(&servers(&list));
        assert_eq!(finding.state, State::Warn);
        assert_eq!(finding.detail, "1 ready, 1 restarting, 1 quarantined, 1 failed: look at b, c, d");
        assert!(finding.action.ends_with("covenant mcp list"), "{finding:?}");
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_told_whole_and_not_cut_at_a_semicolon() {
        let sentence = "config.toml, line 3: `comand` is not known; did you mean `command`?";
        let [finding] = entries(vec![sentence.to_owned()]).try_into().unwrap();
        assert_eq!((finding.name, finding.state, finding.detail.as_str()), (NAME, State::Warn, sentence));
        assert!(finding.action.contains("docs/servers.md"), "{finding:?}");
    }

    #[test]
    fn of_very_many_the_first_are_told_and_the_rest_counted() {
        let findings = entries(vec!["odd".to_owned(); SHOWN + 3]);
        assert_eq!(findings.len(), SHOWN + 1);
        assert!(findings[SHOWN].detail.starts_with("3 more"), "{findings:?}");
    }

    #[test]
    fn an_entry_that_cannot_be_used_is_told_by_the_daemons_own_sentence() {
        let list = [
            ("a", "failed", Some("config.toml, line 3: $KEY is not set")),
            ("b", "quarantined", Some("ended")),
        ];
        assert_eq!(unusable(&servers(&list)), ["config.toml, line 3: $KEY is not set"]);
    }
}
