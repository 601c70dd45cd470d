//! `covenant audit`: what happened, who did it, and the proof that nothing was changed since.

mod export;
mod row;
mod verify;

pub(crate) use verify::{check_home, is_in_database};

use std::path::PathBuf;

use clap::{Args, Subcommand};
use covenant_model::api::{PruneBody, Pruned};
use covenant_model::time::Timestamp;
use http::Method;
use serde_json::json;

use crate::args::{Moment, count, moment};
use crate::client::{Flow, segment};
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::{Output, Setting};

/// The most rows the daemon gives at once.
const MOST: u32 = 100_000;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant audit recent --since 1h
  covenant audit verify
  covenant audit export --out audit.jsonl";
const RECENT: &str = "\
Examples:
  covenant audit recent
  covenant audit recent -n 100 --since 1h --agent-id tool:echo
  covenant audit recent --json | jq 'select(.decision == \"refused\")'";
const WATCH: &str = "\
Examples:
  covenant audit watch             # rows as they are written, until Ctrl-C
  covenant audit watch --json";
const EXPORT: &str = "\
Examples:
  covenant audit export --out audit.jsonl
  covenant audit export | gzip > audit.jsonl.gz

An export holds rows and signed checkpoints, and ends with one; anybody can
verify it with the public key alone:

  covenant audit verify audit.jsonl --key local.pub";
const VERIFY: &str = "\
Examples:
  covenant audit verify                               # this home's log
  covenant audit verify audit.jsonl --key local.pub   # an export, anywhere
  gunzip < audit.jsonl.gz | covenant audit verify - --key local.pub
  covenant audit verify ~/.covenant/audit-before-restore \\
      --key ~/.covenant/audit-before-restore/local.pub
  covenant audit verify --anchor kept.json    # against a checkpoint kept
                                              # elsewhere

Exit code 1 and the first bad row where something was edited, swapped, removed,
cut or forged. Without a checkpoint kept elsewhere (see `covenant audit head`)
the owner of the home could have signed everything anew. No daemon is needed;
one that runs is asked to sign what it has written, and believed in nothing.
Only a log in the database (`[audit] sink`) is read through a daemon.";
const HEAD: &str = "\
Examples:
  covenant audit head >> kept.json

Keep it where the owner of this home cannot write.";
const PRUNE: &str = "\
Examples:
  covenant audit prune --before 2026-01-01
  covenant audit prune --before 90d

Whole segments go, and a signed mark with the hash at the cut stays: `verify`
still works.";

/// See what happened, and prove it.
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    Recent(Recent),
    Watch(Watch),
    Export(Export),
    Verify(Verify),
    Head(Head),
    Prune(Prune),
}

/// Show the latest rows, newest last.
#[derive(Debug, Args)]
#[command(after_help = RECENT)]
pub(crate) struct Recent {
    /// How many rows.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = count)]
    limit: u32,
    /// Only rows since then: a span such as `1h`, or a date.
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    since: Option<Moment>,
    /// Only rows about that: `tool:NAME`, or an agent's id.
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
}

/// Show rows as they are written.
#[derive(Debug, Args)]
#[command(after_help = WATCH)]
pub(crate) struct Watch {}

/// Write the whole log, with its checkpoints.
#[derive(Debug, Args)]
#[command(after_help = EXPORT)]
pub(crate) struct Export {
    /// The file to write; standard output without it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Check that no row was changed, moved or removed. Works offline.
#[derive(Debug, Args)]
#[command(after_help = VERIFY)]
pub(crate) struct Verify {
    /// An export, `-` for standard input, or a directory with a log; without it, this home's log.
    file: Option<PathBuf>,
    /// The public key to verify with; without it, this home's identity/local.pub.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// A file with checkpoints kept elsewhere, one per line, as `covenant audit head` prints them.
    #[arg(long, value_name = "CHECKPOINT-FILE")]
    anchor: Option<PathBuf>,
}

/// Print a signed checkpoint to keep elsewhere.
#[derive(Debug, Args)]
#[command(after_help = HEAD)]
pub(crate) struct Head {}

/// Remove old rows, in whole segments.
#[derive(Debug, Args)]
#[command(after_help = PRUNE)]
pub(crate) struct Prune {
    /// Rows before that go: a date, or a span such as `90d` ago.
    #[arg(long, value_name = "DATE", value_parser = moment)]
    before: Moment,
}

impl Audit {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::Recent(recent) => recent.run(setting),
            Self::Watch(_) => watch(setting),
            Self::Export(export) => export::run(export.out.as_deref(), setting),
            Self::Verify(verify) => verify.run(setting),
            Self::Head(_) => head(setting),
            Self::Prune(prune) => prune.run(setting),
        }
    }
}

impl Recent {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let limit = self.limit.min(MOST);
        let since = self.since.map(|since| since.before(setting.now()).to_string());
        let mut asked = vec![format!("limit={limit}")];
        asked.extend(since.map(|since| format!("since={}", segment(&since))));
        asked.extend(self.agent_id.as_ref().map(|id| format!("agent_id={}", segment(id))));
        let path = format!("/api/v1/audit?{}", asked.join("&"));
        let mut table = row::table();
        let times = match print::terminal_width() {
            Some(_) => row::Times::Today(setting.now()),
            None => row::Times::Dated,
        };
        let mut count = 0_u32;
        setting.client()?.lines(&path, |line| {
            count += 1;
            if setting.json() {
                print::raw(&[line, b"\n"].concat())?;
            } else {
                table.row(row::cells(line, times));
            }
            Ok(Flow::On)
        })?;
        match (setting.json(), count) {
            (true, _) => {}
            (false, 0) => print::note("no such rows"),
            (false, _) => table.print()?,
        }
        if count == MOST && limit < self.limit {
            print::warn(&format!(
                "only the newest {MOST} rows are shown; `covenant audit export` has them all"
            ));
        }
        Ok(Exit::Done)
    }
}

fn watch(setting: &Setting) -> Result<Exit, Failure> {
    setting.client()?.lines("/api/v1/audit/watch", |line| {
        match setting.output {
            Output::Machines => print::raw(&[line, b"\n"].concat())?,
            Output::People => print::line(&row::line(line))?,
        }
        Ok(Flow::On)
    })?;
    Err(Failure::failed("the daemon ended the stream", "see whether it still runs: covenant status"))
}

fn head(setting: &Setting) -> Result<Exit, Failure> {
    let checkpoint = setting.client()?.send(Method::POST, "/api/v1/audit/head", &json!({}))?;
    // Byte for byte: this line is what a later `verify --anchor` compares with.
    print::raw(checkpoint.trim_ascii_end())?;
    print::raw(b"\n")?;
    Ok(Exit::Done)
}

impl Prune {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let body = PruneBody { before: past(self.before, setting.now())? };
        let pruned: Pruned = setting.client()?.post("/api/v1/audit/prune", &body)?;
        if setting.json() {
            print::json(&pruned)?;
        } else if pruned.rows == 0 {
            print::line(&format!("nothing to prune: nothing that can go lies before {}", body.before))?;
        } else {
            let rows = verify::rows(pruned.rows);
            print::line(&format!("pruned {rows}; the log now begins with row {}", pruned.first_kept))?;
        }
        Ok(Exit::Done)
    }
}

/// Rows that are not written yet cannot be old.
fn past(before: Moment, now: Timestamp) -> Result<Timestamp, Failure> {
    let before = before.before(now);
    if before > now {
        return Err(Failure::usage(
            format!("{before} is still to come: rows that are not written yet cannot be pruned"),
            "give --before a date in the past, or a span such as `90d` ago",
        ));
    }
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_past_is_pruned() {
        let now = Timestamp::from_millis(86_400_000);
        assert_eq!(past(moment("1h").unwrap(), now).unwrap().millis(), 82_800_000);
        assert_eq!(past(Moment::At(now), now).unwrap(), now);
        let future = past(moment("2100-01-01").unwrap(), now).unwrap_err();
        assert_eq!(future.exit(), Exit::Usage);
        assert!(future.message().contains("2100-01-01"), "{future:?}");
    }
}
