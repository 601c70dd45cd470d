//! Where a passphrase comes from: a terminal, which does not show it, or a file that nobody else can read. Never an argument.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use covenant_daemon::backup::SHORTEST_PASSPHRASE;
use covenant_daemon::trust::{self, Kind};
use covenant_model::secret::Secret;

use crate::exit::{Exit, Failure};

/// Longer than any that is typed.
const LONGEST: u64 = 4096;

/// One for something new: typed twice, and long enough.
pub(crate) fn new(file: Option<&Path>) -> Result<Secret, Failure> {
    let passphrase = read(file, "passphrase for keys and secrets (not shown): ")?;
    if passphrase.reveal().chars().count() < SHORTEST_PASSPHRASE {
        return Err(Failure::usage(
            format!("a passphrase has at least {SHORTEST_PASSPHRASE} characters"),
            "take a longer one: several words are easy to keep",
        ));
    }
    if file.is_none() && read(None, "the same again: ")? != passphrase {
        return Err(Failure::usage("these were two different passphrases", "try again"));
    }
    Ok(passphrase)
}

/// One for something that is there.
pub(crate) fn known(file: Option<&Path>) -> Result<Secret, Failure> {
    read(file, "passphrase of this backup (not shown): ")
}

fn read(file: Option<&Path>, prompt: &str) -> Result<Secret, Failure> {
    let unread = |error: std::io::Error| {
        Failure::usage(
            format!("the passphrase could not be read: {error}"),
            "name a file with --passphrase-file",
        )
    };
    let text = match file {
        None if std::io::stdin().is_terminal() => rpassword::prompt_password(prompt).map_err(unread)?,
        None => {
            return Err(Failure::usage(
                "a passphrase is needed, and there is no terminal to ask on",
                "name a file that holds it: --passphrase-file FILE, or `-` for standard input",
            ));
        }
        Some(file) if file == Path::new("-") => {
            let mut text = String::new();
            std::io::stdin().take(LONGEST).read_to_string(&mut text).map_err(unread)?;
            text
        }
        Some(file) => {
            let content =
                trust::read(file, Kind::Private).map_err(|error| Failure::told(Exit::Usage, &error))?;
            let missing = || {
                Failure::usage(
                    format!("{} does not exist", file.display()),
                    "name the file that holds the passphrase",
                )
            };
            String::from_utf8(content.ok_or_else(missing)?.bytes)
                .map_err(|_| Failure::usage(format!("{} is not UTF-8 text", file.display()), ""))?
        }
    };
    Ok(Secret::new(text.trim_end_matches(['\r', '\n']).to_owned()))
}
