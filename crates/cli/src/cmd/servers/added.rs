//! What is said of a server that was added: its tools and the grant they need, or why it does not answer.

use covenant_model::server::{RefusedTool, ServerAdded, ServerStatus};
use serde_json::Value;

use super::add::mistaken;
use super::advice::{self, Kind};
use super::waiting::wait;
use super::{ALL, clause, counted, path, word};
use crate::client::{Client, decode};
use crate::exit::{Exit, Failure};
use crate::print::{self, escape};
use crate::setting::Setting;

/// What to do about an entry that makes no sense, beside what its sentence says.
const HELP: &str = "covenant mcp add --help shows what can be typed, and docs/servers.md describes every key";

/// How long a server may take to start where its entry says nothing else, and `mcp add` writes nothing else.
const LIMIT: &str = ", up to 30 s";

/// Adds it, and says how that went.
pub(super) fn add(setting: &Setting, name: &str, body: &Value) -> Result<Exit, Failure> {
    let client = setting.client()?;
    let answer = wait(setting, name, LIMIT, || client.call(ALL, body))
        .map_err(|failure| failure.help_for("invalid", HELP))?;
    let added: ServerAdded = decode(&answer)?;
    if setting.json() {
        print::json_text(&answer)?;
    }
    if let Some(error) = &added.error {
        let url = body.get("url").and_then(Value::as_str);
        return Err(unanswered(url, &added.name, error));
    }
    if !setting.json() {
        let lasting = body.get("persist").and_then(Value::as_bool).unwrap_or(true);
        show(&added, lasting)?;
        hint(&client, name, &added);
    }
    Ok(Exit::Done)
}

/// It is there and does not answer; `url` is what was typed for one that runs elsewhere.
fn unanswered(url: Option<&str>, name: &str, error: &str) -> Failure {
    let kind = if url.is_some() { Kind::Web } else { Kind::Program };
    let place = url.map(|url| word(mistaken::shown(url))).unwrap_or_default();
    let (next, word) = (advice::next(kind, name, error, &place), word(name));
    Failure::failed(
        format!("`{name}` was added, and {}", clause(name, error)),
        format!("{next}; or take it back: covenant mcp remove {word}"),
    )
}

fn show(added: &ServerAdded, lasting: bool) -> Result<(), Failure> {
    let until = if lasting { "" } else { ", until the daemon stops" };
    let tools = counted(added.tool_count, "tool");
    let state = match (added.connected, added.tool_count) {
        (true, _) => format!(": ready, {tools}"),
        (false, 0) => "; it is not connected".to_owned(),
        (false, _) => format!(": {tools}; it starts with its first call"),
    };
    print::line(&format!("added {}{until}{state}", escape(&added.name)))?;
    added.tools.iter().try_for_each(|tool| print::line(&format!("  {}", escape(tool))))
}

/// What to do next, beside the answer.
fn hint(client: &Client, name: &str, added: &ServerAdded) {
    if !added.connected && added.tools.is_empty() {
        print::note(&format!("\nconnect it with: covenant mcp restart {}", word(name)));
        return;
    }
    // Only a hint: the server is added.
    let status: Option<ServerStatus> = client.get(&path(name, "")).ok();
    print::warn_all(&status.as_ref().map(left_out).unwrap_or_default(), "covenant mcp list");
    let Some(first) = added.tools.first() else { return };
    print::note(&next(first, status.map(|status| status.prefix).unwrap_or_default().as_str()));
}

/// A sentence for each tool of it that is not offered, also where no other is.
fn left_out(status: &ServerStatus) -> Vec<String> {
    let told = |refused: &RefusedTool| {
        format!("its tool `{}` is not offered: {}", escape(&refused.tool), escape(&refused.reason))
    };
    status.refused.iter().map(told).collect()
}

/// The grants that let the operator call it.
fn next(first: &str, prefix: &str) -> String {
    let one =
        format!("\nA call needs a grant. Allow yourself one: covenant capabilities grant tool.call.{first}");
    if prefix.is_empty() {
        return one;
    }
    format!(
        "{one}\nor a client all of them: covenant capabilities grant 'tool.call.{prefix}__*' --to client:NAME"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_answer_is_kept_and_the_next_commands_are_named() {
        let failure = unanswered(None, "time", "the server `time` could not be started: there is no `uvx`");
        assert_eq!(failure.exit(), Exit::Failed);
        assert_eq!(failure.message(), "`time` was added, and could not be started: there is no `uvx`");
        for command in ["test", "logs", "remove"] {
            assert!(failure.help().contains(&format!("covenant mcp {command} time")), "{failure:?}");
        }
    }

    #[test]
    fn a_url_that_does_not_answer_is_told_without_a_log() {
        let url = Some("https://a.example/mcp?key=hunter2");
        let failure = unanswered(url, "wiki", "the server `wiki` could not be reached: refused");
        assert!(failure.help().contains("curl -i https://a.example/mcp;"), "{failure:?}");
        let failure = unanswered(url, "wiki", "the server `wiki` answered 401 to initialize");
        assert!(failure.help().starts_with("it wants a credential"), "{failure:?}");
        assert!(failure.help().contains("covenant mcp remove wiki") && !failure.help().contains("logs"));
    }

    #[test]
    fn every_tool_that_is_refused_is_told_with_its_reason() {
        let status = serde_json::json!({"name": "a", "connected": true, "state": "ready", "tool_count": 0, "tools": [],
            "refused": [{"tool": "x", "reason": "the name `x` is taken"}, {"tool": "y", "reason": "its schema is none"}]});
        let told = left_out(&serde_json::from_value(status).unwrap());
        assert_eq!(told[0], "its tool `x` is not offered: the name `x` is taken");
        assert!(told.len() == 2 && told[1].ends_with("its schema is none"), "{told:?}");
    }

    #[test]
    fn the_grant_is_told_for_one_tool_and_for_all_where_they_share_a_prefix() {
        assert!(next("time__now", "time").contains("'tool.call.time__*' --to client:NAME"));
        let bare = next("now", "");
        assert!(bare.ends_with("grant tool.call.now"), "{bare}");
    }
}
