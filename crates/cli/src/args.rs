//! The command line: what can be typed, and how single values are read. What a command then does is in `cmd`.

mod called;
mod later;
mod limits;

pub(crate) use called::typed;
pub(crate) use later::unknown;
pub(crate) use limits::constraints;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use covenant_model::action::{ActionPattern, BadAction};
use covenant_model::json;
use covenant_model::principal::Principal;
use covenant_model::time::{self, Timestamp};
use serde_json::{Map, Value};

use crate::cmd;
use crate::setting::Output;

/// The most bytes of JSON an argument may have.
pub(crate) const JSON_LIMIT: usize = 4 * 1024 * 1024;

const GLOBAL: &str = "Options of every command";

const EXAMPLES: &str = "\
Examples:
  covenant up                                   # run the daemon here
  covenant tools list                           # see what tools there are
  covenant capabilities grant tool.call.echo    # allow yourself one of them
  covenant tools call echo --args '{\"text\":\"hi\"}'
  covenant clients add claude --preset read-only   # a token for an MCP client
  covenant mcp add time uvx mcp-server-time     # a server behind the gate
  covenant intent \"what is new?\"                # ask an agent
  covenant --mcp                                # speak MCP on stdin and stdout
  covenant audit recent                         # see what happened

Exit codes: 0 done, 1 the thing failed, 2 wrong usage or bad input, 3 refused,
4 no daemon. With --json an error is one line of JSON on standard error.";

/// One door between AI agents and everything they may touch.
///
/// A daemon holds every tool behind one call path that authenticates, limits, checks a capability, runs the tool,
/// removes secrets from what comes back and writes a tamper-evident record.
#[derive(Debug, Parser)]
#[command(name = "covenant", version = cmd::version::text(), after_help = EXAMPLES)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) global: Global,
    /// Speak MCP on standard input and output, bridged to the daemon.
    ///
    /// This is what an MCP client starts. It acts as the client whose token is in `COVENANT_TOKEN`, or as you, for calls
    /// only, where there is none.
    #[arg(long)]
    pub(crate) mcp: bool,
    /// With `--mcp`: the origin of a daemon elsewhere, such as `https://covenant.example.org`; by default `$COVIBE_BASE_URL`.
    #[arg(long, requires = "mcp", value_name = "ORIGIN")]
    pub(crate) url: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Answer in JSON: one document, or one per line for streams.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// The home directory; by default `$COVENANT_HOME`, else `~/.covenant`.
    // Not by clap's `env`: it would then show in the usage of every error as if it were required.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Do not start a daemon where none runs; exit with 4 instead.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) no_start: bool,
}

impl Global {
    /// For whom answers are written.
    pub(crate) fn output(&self) -> Output {
        if self.json { Output::Machines } else { Output::People }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(cmd::up::Up),
    Status(cmd::lifecycle::Status),
    Stop(cmd::lifecycle::Stop),
    Reload(cmd::lifecycle::Reload),
    Logs(cmd::logs::Logs),
    Doctor(cmd::doctor::Doctor),
    Dashboard(cmd::dashboard::Dashboard),
    #[command(subcommand, after_help = cmd::tools::EXAMPLES)]
    Tools(cmd::tools::Tools),
    #[command(subcommand, after_help = cmd::servers::EXAMPLES)]
    Mcp(cmd::servers::Servers),
    #[command(subcommand, after_help = cmd::capabilities::EXAMPLES)]
    Capabilities(cmd::capabilities::Capabilities),
    #[command(subcommand, after_help = cmd::clients::EXAMPLES)]
    Clients(cmd::clients::Clients),
    #[command(subcommand, after_help = cmd::team::EXAMPLES)]
    Team(cmd::team::Team),
    #[command(subcommand, after_help = cmd::tokens::EXAMPLES)]
    Tokens(cmd::tokens::Tokens),
    #[command(subcommand, after_help = cmd::approvals::EXAMPLES)]
    Approvals(cmd::approvals::Approvals),
    #[command(subcommand, after_help = cmd::scripts::EXAMPLES)]
    Scripts(cmd::scripts::Scripts),
    #[command(subcommand, after_help = cmd::agents::EXAMPLES)]
    Agents(cmd::agents::Agents),
    Intent(cmd::intents::Send),
    #[command(subcommand, after_help = cmd::intents::EXAMPLES)]
    Intents(cmd::intents::Intents),
    #[command(subcommand, after_help = cmd::audit::EXAMPLES)]
    Audit(cmd::audit::Audit),
    #[command(subcommand, after_help = cmd::sandbox::EXAMPLES)]
    Sandbox(cmd::sandbox::Sandbox),
    #[command(subcommand, after_help = cmd::secrets::EXAMPLES)]
    Secrets(cmd::secrets::Secrets),
    #[command(subcommand, after_help = cmd::memory::EXAMPLES)]
    Memory(cmd::memory::Memory),
    #[command(subcommand, after_help = cmd::config::EXAMPLES)]
    Config(cmd::config::Config),
    Backup(cmd::backup::Backup),
    Restore(cmd::restore::Restore),
    #[command(subcommand, after_help = cmd::store::EXAMPLES)]
    Store(cmd::store::Store),
    Completions(cmd::completions::Completions),
}

/// A moment as people write it: `2h` from or before now, or a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// That far from now.
    Span(Duration),
    /// Then.
    At(Timestamp),
}

impl Moment {
    /// The moment, where a span leads into the future.
    pub(crate) fn ahead_of(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Span(span) => now.plus(span),
            Self::At(moment) => moment,
        }
    }

    /// The moment, where a span leads into the past.
    pub(crate) fn before(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Span(span) => now.minus(span),
            Self::At(moment) => moment,
        }
    }
}

/// Reads `2h` or a date.
pub(crate) fn moment(text: &str) -> Result<Moment, String> {
    if let Ok(moment) = text.parse() {
        return Ok(Moment::At(moment));
    }
    time::span(text).map(Moment::Span).map_err(|_| {
        format!(
            "`{text}` is neither a span of time such as `30m`, `2h` or `7d`, nor a date such as `2026-11-16`"
        )
    })
}

/// Reads how many.
pub(crate) fn count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a count: write a whole number, such as `20`"))
}

/// Reads how many of a list, which holds at most a thousand.
pub(crate) fn portion(text: &str) -> Result<u32, String> {
    let many = count(text)?;
    if (1..=1000).contains(&many) {
        return Ok(many);
    }
    Err(format!("`{text}` is too few or too many: write a number from 1 to 1000"))
}

/// Reads an action, or a pattern of them. A bare tool's name is what people try first.
pub(crate) fn action(text: &str) -> Result<ActionPattern, String> {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-*".contains(&byte);
    text.parse().map_err(|error: BadAction| match format!("tool.call.{text}").parse::<ActionPattern>() {
        Ok(meant) if text.bytes().all(bare) => {
            format!("`{text}` is not an action; did you mean `{meant}`?")
        }
        _ => error.to_string(),
    })
}

/// Reads the name of a tool; which ones there are, the daemon knows.
pub(crate) fn tool(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("a tool's name is not empty; see which there are: covenant tools list".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads the name of a script; which ones there are, the daemon knows.
pub(crate) fn script(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("a script's name is not empty; see which there are: covenant scripts list".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads the name of a client.
pub(crate) fn client(text: &str) -> Result<String, String> {
    match Principal::client(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => {
            Err("a client's name is 1 to 64 letters, digits, `_`, `-` and `.`, such as `claude`".to_owned())
        }
    }
}

/// Reads the name of an external server; which ones there are, the daemon knows.
pub(crate) fn server(text: &str) -> Result<String, String> {
    let fits = (1..=64).contains(&text.chars().count()) && !text.trim().is_empty();
    if fits && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    Err("a server's name is 1 to 64 printable characters, such as `github`; see which there are: covenant mcp list"
        .to_owned())
}

/// Reads the arguments of a call: one JSON object.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, String> {
    members(text, "write one JSON object, such as '{\"text\": \"hi\"}'")
}

/// Reads one JSON object; `shape` says what it should look like.
fn members(text: &str, shape: &str) -> Result<Map<String, Value>, String> {
    if text.len() > JSON_LIMIT {
        return Err("this is longer than 4 MiB".to_owned());
    }
    json::check(text.as_bytes()).map_err(|error| format!("{error}; {shape}"))?;
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(format!("this is JSON, but not an object; {shape}")),
        Err(error) => Err(format!("this is not JSON ({error}); {shape}")),
    }
}

#[cfg(test)]
mod tests;
