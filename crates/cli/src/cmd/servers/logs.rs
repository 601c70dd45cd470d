//! `covenant mcp logs`: what a server wrote to standard error, over its restarts.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::path;
use crate::args::{count, server};
use crate::exit::{Exit, Failure};
use crate::print::{self, escape};
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant mcp logs time
  covenant mcp logs time -n 20

The daemon keeps the last lines of each server's standard error, without
secrets, until the daemon stops. A server behind a URL has none.";

/// Show what a server wrote to standard error.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Logs {
    /// Its name.
    #[arg(value_parser = server)]
    name: String,
    /// How many lines, the last ones.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = count)]
    lines: u32,
}

/// `GET /api/v1/mcp/servers/{name}/logs`.
#[derive(Debug, Serialize, Deserialize)]
struct Log {
    name: String,
    lines: Vec<String>,
}

impl Logs {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let mut log: Log = setting.client()?.get(&path(&self.name, "/logs"))?;
        let wanted = usize::try_from(self.lines).unwrap_or(usize::MAX);
        let silent = log.lines.is_empty();
        log.lines.drain(..log.lines.len().saturating_sub(wanted));
        if setting.json() {
            print::json(&log)?;
        } else if silent {
            print::note(&format!("{} has written nothing to standard error", escape(&log.name)));
        } else {
            log.lines.iter().try_for_each(|line| print::line(&escape(line)))?;
        }
        Ok(Exit::Done)
    }
}
