//! What is documented and comes with a later version: typed today, it is told apart from a mistake.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::Failure;

/// Commands that come later.
const COMMANDS: [&str; 14] = [
    "agents",
    "approvals",
    "backup",
    "dashboard",
    "intent",
    "intents",
    "local",
    "mcp",
    "memory",
    "restore",
    "scripts",
    "store",
    "team",
    "tokens",
];

/// Options that come later.
const OPTIONS: [&str; 3] = ["--may-approve", "--tool-mode", "--url"];

/// What to say about a word that is not known, where a later version knows it.
pub(crate) fn unknown(error: &clap::Error) -> Option<Failure> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let later = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = word(ContextKind::InvalidSubcommand)?;
            COMMANDS.iter().find(|later| **later == name).map(|name| format!("`covenant {name}`"))
        }
        ErrorKind::UnknownArgument => {
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
