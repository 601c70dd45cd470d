//! What `covenant up` says once it serves: where it is, and how MCP clients reach it, ready to be pasted.

use std::path::Path;

use covenant_daemon::home::Home;
use covenant_model::api::Status;
use serde_json::json;

use crate::autostart;
use crate::exit::Failure;
use crate::print;
use crate::setting::Setting;

/// What stands for a token.
pub(crate) const TOKEN: &str = "cv_…";

/// As whom an MCP client acts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    /// As the operator, for calls only.
    Operator,
    /// As itself, by a token in its environment.
    Client,
}

/// Says where the daemon is and how to reach it.
pub(crate) fn show(status: &Status, setting: &Setting) -> Result<(), Failure> {
    if setting.json() {
        return print::json(status);
    }
    print::line(&format!("Covenant {} is up (pid {}).\n", status.version, status.pid))?;
    print::facts(&[
        ("home", status.home.clone()),
        ("socket", status.socket.clone()),
        ("http", status.urls().join(" ")),
        ("database", status.database.clone()),
        ("log", setting.home.log().display().to_string()),
    ])?;
    print::line("")?;
    print::line(print::escape_block(&snippets(&command(setting), As::Operator)).trim_end())?;
    print::line("\nConnected like this, a client acts as you, with what you granted yourself.\n")?;
    print::line(print::escape_block(&over_http(&status.origin())).trim_end())?;
    print::line(
        "\nTo give one a token and grants of its own: covenant clients add NAME --preset read-only\n\
         What there is to grant: covenant tools list",
    )
}

/// How MCP clients reach this home with a token of their own.
pub(crate) fn for_client(setting: &Setting, status: &Status) -> String {
    format!("{}\n{}", snippets(&command(setting), As::Client), over_http(&status.origin()))
}

/// The same for clients that are given a URL. Nobody is let in there without a token.
fn over_http(origin: &str) -> String {
    let url = format!("{origin}/mcp");
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let headers = format!(r#""headers":{{"Authorization":"Bearer {TOKEN}"}}"#);
    let cursor = format!(r#"{{"mcpServers":{{"covenant":{{"url":{},{headers}}}}}}}"#, json!(url));
    let code = quoted(&format!(r#"{{"name":"covenant","type":"http","url":{},{headers}}}"#, json!(url)));
    let shell = quoted(&url);
    format!(
        "Or over HTTP, with a token: {url} and the header `{bearer}`\n\
         \x20 Claude Code   claude mcp add --transport http covenant {shell} --header \"{bearer}\"\n\
         \x20 Codex         codex mcp add covenant --url {shell} --bearer-token-env-var COVENANT_TOKEN\n\
         \x20               with the token in that variable where Codex runs\n\
         \x20 Cursor        in ~/.cursor/mcp.json:\n\
         \x20                 {cursor}\n\
         \x20 VS Code       code --add-mcp {code}\n"
    )
}

/// The program and arguments that an MCP client runs for this home.
fn command(setting: &Setting) -> Vec<String> {
    let mut words = vec![program(), "--mcp".to_owned()];
    // A client's environment is not this one: any home but the default has to be named.
    let default =
        std::env::var_os("HOME").and_then(|home| Home::at(&Path::new(&home).join(".covenant")).ok());
    if default.as_ref() != Some(&setting.home) {
        words.extend(["--home".to_owned(), setting.home.root().display().to_string()]);
    }
    words
}

/// `covenant`, if that is this program for everyone with this PATH; else where it lies.
fn program() -> String {
    let Ok(path) = autostart::program() else { return "covenant".to_owned() };
    let same = |candidate: &Path| match (candidate.canonicalize(), path.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&directories)
        .map(|directory| directory.join("covenant"))
        .find(|file| file.is_file());
    match found {
        Some(file) if same(&file) => "covenant".to_owned(),
        _ => path.display().to_string(),
    }
}

fn snippets(command: &[String], who: As) -> String {
    let (program, arguments) =
        command.split_first().map_or(("", command), |(first, rest)| (first.as_str(), rest));
    let shell = command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    // Written by hand: people read these, and expect the command before its arguments.
    let (name, list) = (json!(program), json!(arguments));
    let (option, member, line) = match who {
        As::Operator => (String::new(), String::new(), String::new()),
        As::Client => (
            format!("--env COVENANT_TOKEN={TOKEN} "),
            format!(r#","env":{{"COVENANT_TOKEN":"{TOKEN}"}}"#),
            format!("\n                  env = {{ COVENANT_TOKEN = \"{TOKEN}\" }}"),
        ),
    };
    let cursor = format!(r#"{{"mcpServers":{{"covenant":{{"command":{name},"args":{list}{member}}}}}}}"#);
    let code = quoted(&format!(r#"{{"name":"covenant","command":{name},"args":{list}{member}}}"#));
    format!(
        "Connect an MCP client:\n\
         \x20 Claude Code   claude mcp add covenant {option}-- {shell}\n\
         \x20 Codex         codex mcp add covenant {option}-- {shell}\n\
         \x20               or in ~/.codex/config.toml:\n\
         \x20                 [mcp_servers.covenant]\n\
         \x20                 command = {name}\n\
         \x20                 args = {list}{line}\n\
         \x20 Cursor        in ~/.cursor/mcp.json:\n\
         \x20                 {cursor}\n\
         \x20 VS Code       code --add-mcp {code}\n"
    )
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_gets_its_own_spelling() {
        let text = snippets(&["covenant".to_owned(), "--mcp".to_owned()], As::Operator);
        for line in [
            "claude mcp add covenant -- covenant --mcp\n",
            "[mcp_servers.covenant]\n",
            "command = \"covenant\"\n",
            "args = [\"--mcp\"]\n",
            r#"{"mcpServers":{"covenant":{"command":"covenant","args":["--mcp"]}}}"#,
            r#"code --add-mcp '{"name":"covenant","command":"covenant","args":["--mcp"]}'"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_client_with_a_token_gets_the_same_lines_with_a_place_for_it() {
        let text = snippets(&["covenant".to_owned(), "--mcp".to_owned()], As::Client);
        for line in [
            "claude mcp add covenant --env COVENANT_TOKEN=cv_… -- covenant --mcp\n",
            "codex mcp add covenant --env COVENANT_TOKEN=cv_… -- covenant --mcp\n",
            "                 args = [\"--mcp\"]\n                  env = { COVENANT_TOKEN = \"cv_…\" }\n",
            r#""args":["--mcp"],"env":{"COVENANT_TOKEN":"cv_…"}}}}"#,
            r#"code --add-mcp '{"name":"covenant","command":"covenant","args":["--mcp"],"env":{"COVENANT_TOKEN":"cv_…"}}'"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn over_http_each_client_gets_the_address_and_the_header() {
        let text = over_http("https://covenant.example.org");
        for line in [
            "https://covenant.example.org/mcp and the header `Authorization: Bearer cv_…`\n",
            "claude mcp add --transport http covenant https://covenant.example.org/mcp --header \"Authorization: Bearer cv_…\"\n",
            "codex mcp add covenant --url https://covenant.example.org/mcp --bearer-token-env-var COVENANT_TOKEN\n",
            r#"{"mcpServers":{"covenant":{"url":"https://covenant.example.org/mcp","headers":{"Authorization":"Bearer cv_…"}}}}"#,
            r#"code --add-mcp '{"name":"covenant","type":"http","url":"https://covenant.example.org/mcp","headers":{"Authorization":"Bearer cv_…"}}'"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_path_with_blanks_and_quotes_survives_a_shell() {
        assert_eq!(quoted("/home/ada/covenant"), "/home/ada/covenant");
        assert_eq!(quoted("/home/ada l/it's"), r"'/home/ada l/it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
