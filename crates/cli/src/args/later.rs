//! What is documented and comes with a later version: typed today, it is told apart from a mistake.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::Failure;

/// Commands that come later.
const COMMANDS: [&str; 1] = ["local"];

/// Commands of the group `mcp` that come later.
const SERVERS: [&str; 4] = ["approve", "diff", "import", "login"];

/// Commands of the group `team` that come later.
const TEAM: [&str; 2] = ["summary", "usage"];

/// Options that come later.
const OPTIONS: [&str; 1] = ["--tool-mode"];

/// What to say about a word that is not known, where a later version knows it.
pub(crate) fn unknown(error: &clap::Error) -> Option<Failure> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let later = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = word(ContextKind::InvalidSubcommand)?;
            let (later, group) = if is_in(error, "covenant mcp ") {
                (&SERVERS[..], "covenant mcp")
            } else if is_in(error, "covenant team ") {
                (&TEAM[..], "covenant team")
            } else {
                (&COMMANDS[..], "covenant")
            };
            later.iter().find(|later| **later == name).map(|name| format!("`{group} {name}`"))
        }
        ErrorKind::UnknownArgument if !is_in(error, "covenant mcp ") => {
            let typed = word(ContextKind::InvalidArg)?;
            let name = typed.split('=').next().unwrap_or(typed);
            OPTIONS.iter().find(|later| **later == name).map(|name| format!("`{name}`"))
        }
        _ => None,
    };
    later.map(|what| {
        let help = "see what there is: covenant --help";
        Failure::usage(format!("{what} is not part of this version yet"), help)
    })
}

/// Whether it was typed behind that group; the usage that goes with the error says so.
fn is_in(error: &clap::Error, group: &str) -> bool {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => return false,
    };
    usage.contains(group)
}
