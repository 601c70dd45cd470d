//! Which attack a word names, and the line that answers it.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::json;

use crate::{calls, files, kernel, memory, network, privileges, processes, staying, storage, terminal};

/// An attack: `Ok` is a way out, with what was found there; an error is what stopped it.
pub(crate) type Attack = fn(&str) -> io::Result<String>;

const FAMILIES: &[&[(&str, Attack)]] = &[
    files::ATTACKS,
    network::ATTACKS,
    processes::ATTACKS,
    privileges::ATTACKS,
    calls::ATTACKS,
    memory::ATTACKS,
    storage::ATTACKS,
    staying::ATTACKS,
    terminal::ATTACKS,
];

/// Tries each in turn.
pub(crate) fn each(words: &[&str]) -> ExitCode {
    for word in words {
        let (name, aim) = word.split_once('=').unwrap_or((word, ""));
        let attack = FAMILIES.iter().flat_map(|family| family.iter()).find(|(known, _)| *known == name);
        let outcome = match attack {
            Some((_, attack)) => attack(aim),
            None => Ok(format!("there is no attack called {name}")),
        };
        if line(word, outcome).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn line(word: &str, outcome: io::Result<String>) -> io::Result<()> {
    let (escaped, detail) = match outcome {
        Ok(found) => (true, found),
        Err(error) => (false, told(&error)),
    };
    let line = json!({"attack": word, "escaped": escaped, "detail": detail});
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// The name of what the kernel said, else the error's own words.
fn told(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), kernel::name)
}
