//! `covenant approvals`: what waits for you, whole, and your word on it.

use clap::{Args, Subcommand};
use covenant_model::approval::{
    Approval, ApprovalKind, ApprovalShown, ApprovalStatus, ApproveBody, RejectBody,
};
use covenant_model::id::ApprovalId;
use covenant_tools::script::header::Header;

use crate::client::{Flow, segment};
use crate::cmd::capabilities::short;
use crate::cmd::scripts::marked;
use crate::exit::{Exit, Failure};
use crate::print::{self, Table};
use crate::setting::Setting;

mod difference;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant approvals list
  covenant approvals show appr_4kx2m7c9qhtw3ab   # the whole text or call
  covenant approvals approve appr_4kx2m7c9qhtw3ab
  covenant approvals reject appr_4kx2m7c9qhtw3ab --reason \"not here\"
  covenant approvals watch                       # as they come";
const LIST: &str = "\
Examples:
  covenant approvals list
  covenant approvals list --all           # also what was decided
  covenant approvals list --json";
const SHOW: &str = "\
Examples:
  covenant approvals show appr_4kx2m7c9qhtw3ab

A text that was changed since it was approved is followed by what is
different.";
const APPROVE: &str = "\
Examples:
  covenant approvals approve appr_4kx2m7c9qhtw3ab
  covenant approvals approve appr_4kx2m7c9qhtw3ab --sha256 56379ff97e87

With --sha256 it counts only if that is what you saw: the hash that `show`
has, or at least its first 12 digits.

A script may run from then on, as long as its text stays the same. A call
may be made once.";
const REJECT: &str = "\
Examples:
  covenant approvals reject appr_4kx2m7c9qhtw3ab --reason \"not here\"
  covenant approvals reject appr_4kx2m7c9qhtw3ab --revise   # take it back";
const WATCH: &str = "\
Examples:
  covenant approvals watch
  covenant approvals watch --json";

/// Decide what waits for a person: scripts, and calls that a grant wants asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    List(List),
    Show(Show),
    Approve(Approve),
    Reject(Reject),
    Watch(Watch),
}

/// List what waits.
#[derive(Debug, Args)]
#[command(after_help = LIST)]
pub(crate) struct List {
    /// Also what was decided, used up or has expired.
    #[arg(long)]
    all: bool,
}

/// Show one whole.
#[derive(Debug, Args)]
#[command(after_help = SHOW)]
pub(crate) struct Show {
    /// Its id, as `list` has it.
    id: ApprovalId,
}

/// Let it be done.
#[derive(Debug, Args)]
#[command(after_help = APPROVE)]
pub(crate) struct Approve {
    /// Its id, as `list` has it.
    id: ApprovalId,
    /// Only if it is about the text with this hash, or one that begins so.
    #[arg(long)]
    sha256: Option<String>,
    /// Also where it was rejected before.
    #[arg(long)]
    revise: bool,
}

/// Do not let it be done.
#[derive(Debug, Args)]
#[command(after_help = REJECT)]
pub(crate) struct Reject {
    /// Its id, as `list` has it.
    id: ApprovalId,
    /// Why; whoever asked is told.
    #[arg(long)]
    reason: Option<String>,
    /// Also where it was approved before.
    #[arg(long)]
    revise: bool,
}

/// Show what waits, and what comes and is decided, until interrupted.
#[derive(Debug, Args)]
#[command(after_help = WATCH)]
pub(crate) struct Watch {}

impl Approvals {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::List(list) => list.run(setting),
            Self::Show(show) => show.run(setting),
            Self::Approve(approve) => approve.run(setting),
            Self::Reject(reject) => reject.run(setting),
            Self::Watch(_) => watch(setting),
        }
    }
}

impl List {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let path = if self.all { "/api/v1/approvals?decided=true" } else { "/api/v1/approvals" };
        let entries: Vec<Approval> = setting.client()?.list(path)?;
        if setting.json() {
            print::json(&entries)?;
        } else if entries.is_empty() {
            print::note("nothing waits for you");
        } else {
            let mut table = Table::new(&["ID", "KIND", "NAME", "STATUS", "FOR", "ASKED"]);
            for entry in &entries {
                table.row([
                    entry.id.as_str().into(),
                    entry.kind.as_str().into(),
                    (&entry.name).into(),
                    entry.status.as_str().into(),
                    entry.principal.as_str().into(),
                    short(&entry.requested_at.to_string()).into(),
                ]);
            }
            table.print()?;
        }
        Ok(Exit::Done)
    }
}

impl Show {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let client = setting.client()?;
        let shown: ApprovalShown = client.get(&path(&self.id, ""))?;
        if setting.json() {
            print::json(&shown)?;
            return Ok(Exit::Done);
        }
        let entry = &shown.approval;
        print::line(&format!("{} {} ({})", entry.kind, print::escape(&entry.name), entry.status))?;
        print::line(&format!("sha256  {}", entry.sha256))?;
        print::line(&format!(
            "for     {}, asked {}",
            entry.principal,
            short(&entry.requested_at.to_string())
        ))?;
        if entry.kind == ApprovalKind::Script {
            let secrets = marked(&client, &Header::of(&shown.content).secrets)?;
            if !secrets.is_empty() {
                print::line(&format!("secrets {}", print::escape(&secrets)))?;
            }
        }
        if let Some(by) = &entry.decided_by {
            let why =
                entry.reason.as_deref().map(|why| format!(": {}", print::escape(why))).unwrap_or_default();
            print::line(&format!("decided by {}{why}", print::escape(by)))?;
        }
        print::line("")?;
        for line in shown.content.lines() {
            print::line(&difference::visible(line))?;
        }
        if let Some(previous) = &shown.previous {
            print::line("\ndifferent from what was approved before:")?;
            for line in difference::lines(previous, &shown.content) {
                print::line(&line)?;
            }
        }
        if entry.status.waits() {
            print::note(&format!(
                "\ndecide: covenant approvals approve {0}, or: covenant approvals reject {0}",
                entry.id
            ));
        }
        Ok(Exit::Done)
    }
}

impl Approve {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let body = ApproveBody { sha256: self.sha256.clone(), revise: self.revise };
        let entry: Approval = setting.client()?.post(&path(&self.id, "/approve"), &body)?;
        told(setting, &entry)
    }
}

impl Reject {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let body = RejectBody { reason: self.reason.clone(), revise: self.revise };
        let entry: Approval = setting.client()?.post(&path(&self.id, "/reject"), &body)?;
        told(setting, &entry)
    }
}

fn told(setting: &Setting, entry: &Approval) -> Result<Exit, Failure> {
    if setting.json() {
        print::json(entry)?;
    } else {
        let (status, kind, name) = (entry.status, entry.kind, print::escape(&entry.name));
        print::line(&format!("{status} {kind} {name} ({})", entry.id))?;
    }
    Ok(Exit::Done)
}

fn watch(setting: &Setting) -> Result<Exit, Failure> {
    let client = setting.client()?;
    if !setting.json() {
        print::note("what waits for you, and what comes; Ctrl-C ends this");
    }
    client.lines("/api/v1/approvals/watch", |line| {
        if setting.json() {
            print::raw(&[line, b"\n"].concat())?;
        } else if let Ok(entry) = serde_json::from_slice::<Approval>(line) {
            let (status, kind, name) = (entry.status, entry.kind, print::escape(&entry.name));
            let next = match entry.status {
                ApprovalStatus::Pending | ApprovalStatus::Modified => {
                    format!("; covenant approvals show {}", entry.id)
                }
                _ => String::new(),
            };
            print::line(&format!("{status:8} {kind} {name} for {}{next}", entry.principal))?;
        }
        Ok(Flow::On)
    })?;
    Err(Failure::failed("the daemon ended the stream", "see whether it still runs: covenant status"))
}

fn path(id: &ApprovalId, rest: &str) -> String {
    format!("/api/v1/approvals/{}{rest}", segment(id.as_str()))
}
