//! `covenant mcp add`: what can be typed, and the entry that becomes of it.

mod misplaced;
pub(super) mod mistaken;

use std::path::Path;

use clap::Args;
use serde_json::{Map, Value, json};

use super::{added, credential};
use crate::args::server;
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant mcp add time uvx mcp-server-time --local-timezone=Europe/Berlin
  covenant mcp add files npx -y @modelcontextprotocol/server-filesystem ~/notes
  covenant mcp add github --env 'TOKEN=${secret:GITHUB_TOKEN}' ./github-server
  covenant mcp add wiki --url https://wiki.example.com/mcp \\
      --header 'Authorization=Bearer ${secret:WIKI_TOKEN}'

Options stand before COMMAND, before or after NAME. All that follows COMMAND is
the server's, also what begins with `-`; a `--` before COMMAND is not needed.
A value such as ${secret:NAME} is filled in by the daemon (see: covenant secrets
set), and so are $NAME and ~ where the shell left them; put it in single quotes.
The entry is written to config.toml, where its other keys can be set; comments
and order stay. A server that does not answer is kept, and the exit code is 1.";

/// Add a server: a command that is started here, or a URL.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    override_usage = "covenant mcp add [OPTIONS] <NAME> <COMMAND> [ARGS]...\n       \
                      covenant mcp add [OPTIONS] <NAME> --url <URL>"
)]
pub(crate) struct Add {
    /// What you call it; the prefix of its tools comes from it.
    #[arg(value_parser = server)]
    name: String,
    /// A variable it gets beside the few every server gets; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    env: Vec<Pair>,
    /// Where a server is that runs elsewhere.
    #[arg(long, value_name = "URL", conflicts_with_all = ["program", "env", "cwd"])]
    url: Option<String>,
    /// A header sent with every request to a URL; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = header)]
    header: Vec<Pair>,
    /// As other programs call `--env`.
    #[arg(short = 'e', hide = true)]
    short_env: Option<String>,
    /// As other programs call `--header`.
    #[arg(short = 'H', hide = true)]
    short_header: Option<String>,
    /// What stands before its tools' names; `none` leaves them bare.
    #[arg(long, value_name = "WORD")]
    prefix: Option<String>,
    /// How it is spoken to; by default stdio for a command and http for a URL.
    #[arg(long, value_name = "KIND", value_parser = ["stdio", "http", "sse"])]
    transport: Option<String>,
    /// Which era of the protocol; by default it is asked.
    #[arg(long, value_name = "ERA", value_parser = ["auto", "legacy", "modern"])]
    era: Option<String>,
    /// Who shares one process or session of it; by default everybody.
    #[arg(long, value_name = "WHO", value_parser = ["shared", "principal", "session"])]
    isolation: Option<String>,
    /// Where it runs; by default in your home directory.
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Start it with its first call, not with the daemon.
    #[arg(long)]
    lazy: bool,
    /// Do not connect now.
    #[arg(long)]
    no_connect: bool,
    /// Keep it until the daemon stops, and write no file.
    #[arg(long)]
    until_restart: bool,
    /// The program, by path or by its name on PATH, and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    program: Vec<String>,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    key: String,
    value: String,
}

impl Add {
    pub(super) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let here = std::env::current_dir().ok();
        mistaken::check(&self, here.as_deref())?;
        let body = self.body(here.as_deref());
        for remark in self.remarks(here.as_deref()) {
            print::warn(&remark);
        }
        added::add(setting, &self.name, &body)
    }

    /// The entry as the daemon takes it: the keys that were typed, and no others.
    fn body(&self, here: Option<&Path>) -> Value {
        let mut body = Map::new();
        let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
        put("name", json!(self.name));
        if let Some((command, args)) = self.program.split_first() {
            let by_path = command.contains('/');
            put("command", json!(if by_path { absolute(command, here) } else { command.clone() }));
            if !args.is_empty() {
                put("args", json!(args));
            }
        }
        for (key, pairs) in [("env", &self.env), ("headers", &self.header)] {
            if !pairs.is_empty() {
                let pairs = pairs.iter().map(|pair| (pair.key.clone(), json!(pair.value)));
                put(key, Value::Object(pairs.collect()));
            }
        }
        let cwd = self.cwd.as_deref().map(|cwd| absolute(cwd, here));
        for (key, value) in [
            ("url", &self.url),
            ("transport", &self.transport),
            ("prefix", &self.prefix),
            ("era", &self.era),
            ("isolation", &self.isolation),
            ("cwd", &cwd),
        ] {
            if let Some(value) = value {
                put(key, json!(value));
            }
        }
        if self.lazy {
            put("start", json!("lazy"));
        }
        put("connect", json!(!self.no_connect));
        put("persist", json!(!self.until_restart));
        Value::Object(body)
    }

    /// What a person should know of what was typed.
    fn remarks(&self, here: Option<&Path>) -> Vec<String> {
        let typed = |option, pairs: &[Pair]| {
            let remark = |pair: &Pair| credential::remark(option, &pair.key, &pair.value);
            pairs.iter().filter_map(remark).collect::<Vec<_>>()
        };
        let mut remarks = typed("--env", &self.env);
        remarks.extend(typed("--header", &self.header));
        remarks.extend(self.url.as_deref().and_then(credential::remark_url));
        let args = self.program.get(1..).unwrap_or_default();
        remarks.extend(misplaced::remarks(args));
        if self.cwd.is_none() {
            remarks.extend(here.and_then(|here| args.iter().find_map(|word| relative(word, here))));
        }
        remarks
    }
}

/// An argument that is a path from here. It is the server's own, and the server runs elsewhere.
fn relative(word: &str, here: &Path) -> Option<String> {
    let is_path = word.contains(['/', '.']) && !word.starts_with(['/', '~', '$', '-']);
    let at_home = std::env::var_os("HOME").is_some_and(|home| Path::new(&home) == here);
    (is_path && !at_home && here.join(word).exists()).then(|| {
        format!(
            "`{word}` is there from here, and the server runs in your home directory: write the whole path, or put \
             --cwd . before the command"
        )
    })
}

/// A path that was typed here: the daemon runs elsewhere. What begins with a variable or `~` is for the daemon to expand.
fn absolute(path: &str, here: Option<&Path>) -> String {
    match here.and_then(Path::to_str) {
        Some(here) if !path.starts_with(['/', '~', '$']) => {
            let rest = if path == "." { "" } else { path.strip_prefix("./").unwrap_or(path) };
            let whole = format!("{}/{rest}", here.trim_end_matches('/'));
            whole.trim_end_matches('/').to_owned()
        }
        _ => path.to_owned(),
    }
}

/// Reads `KEY=VALUE`.
fn variable(text: &str) -> Result<Pair, String> {
    pair(text.split_once('=')).ok_or_else(|| {
        let key = text.split('=').next().unwrap_or(text);
        let key = if key.is_empty() { "LOG_LEVEL" } else { key };
        format!("a variable is written KEY=VALUE, such as --env {key}=info")
    })
}

/// Reads `KEY=VALUE`, or `KEY: VALUE` as other programs take it.
fn header(text: &str) -> Result<Pair, String> {
    let parts = match text.find(['=', ':']) {
        Some(at) if text.get(at..=at) == Some(":") => {
            text.split_once(':').map(|(key, value)| (key, value.trim_start()))
        }
        _ => text.split_once('='),
    };
    pair(parts).ok_or_else(|| "a header is written KEY=VALUE, such as --header X-Team=blue".to_owned())
}

fn pair(parts: Option<(&str, &str)>) -> Option<Pair> {
    let (key, value) = parts.filter(|(key, _)| !key.trim().is_empty())?;
    Some(Pair { key: key.trim().to_owned(), value: value.to_owned() })
}

#[cfg(test)]
mod tests;
