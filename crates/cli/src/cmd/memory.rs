//! `covenant memory`: what agents and clients remember.

use clap::{Args, Subcommand};
use covenant_model::api::MemoryEntry;

use crate::args::portion;
use crate::client::segment;
use crate::cmd::capabilities::short;
use crate::exit::{Exit, Failure};
use crate::print::{self, Table};
use crate::setting::Setting;

/// How much of a note a line shows.
const SHOWN: usize = 100;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant memory search deploy key
  covenant memory recent -n 20";
const SEARCH: &str = "\
Examples:
  covenant memory search deploy key           # notes with both words
  covenant memory search '\"deploy key\"'       # with that phrase
  covenant memory search deploy -- -staging   # without another word
  covenant memory search deploy --json";
const RECENT: &str = "\
Examples:
  covenant memory recent
  covenant memory recent -n 50 --json";

/// See what agents and clients remember.
#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    Search(Search),
    Recent(Recent),
}

/// Find notes by their words, best first.
#[derive(Debug, Args)]
#[command(after_help = SEARCH)]
pub(crate) struct Search {
    /// What to look for.
    #[arg(required = true)]
    words: Vec<String>,
    /// How many notes.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = portion)]
    limit: u32,
}

/// Show the notes that were written last, newest first.
#[derive(Debug, Args)]
#[command(after_help = RECENT)]
pub(crate) struct Recent {
    /// How many notes.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = portion)]
    limit: u32,
}

impl Memory {
    pub(crate) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let path = match self {
            Self::Search(Search { words, limit }) => {
                format!("/api/v1/memory/search?q={}&limit={limit}", segment(&words.join(" ")))
            }
            Self::Recent(Recent { limit }) => format!("/api/v1/memory/recent?limit={limit}"),
        };
        let found: Vec<MemoryEntry> = setting.client()?.get(&path)?;
        if setting.json() {
            print::json(&found)?;
            return Ok(Exit::Done);
        }
        if found.is_empty() {
            print::note("nothing was found; agents and clients remember with the tool memory_write");
            return Ok(Exit::Done);
        }
        let mut table = Table::new(&["WHEN", "OWNER", "ID", "TEXT"]);
        for entry in &found {
            let text: String = entry.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let text = print::cut(&text, SHOWN).into_owned();
            let when = short(&entry.created_at.to_string());
            table.row([when.into(), (&entry.owner).into(), (&entry.id).into(), text.into()]);
        }
        table.print()?;
        Ok(Exit::Done)
    }
}
