//! `covenant capabilities`: who may do what.

use anstyle::AnsiColor;
use clap::{Args, Subcommand, ValueEnum};
use covenant_model::action::ActionPattern;
use covenant_model::api::{ExplainBody, Explanation, Granted, NewGrant, Removed};
use covenant_model::constraint::Constraints;
use covenant_model::grant::{Approval, Grant as Given};
use covenant_model::id::{BadId, GrantId};
use covenant_model::principal::{Principal, Subject};
use serde_json::{Map, Value};

use crate::args::{Moment, action as parse_action, constraints, moment, object};
use crate::client::segment;
use crate::exit::{Exit, Failure};
use crate::print::{self, Cell, Table};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant capabilities grant tool.call.echo --to client:claude
  covenant capabilities list
  covenant capabilities explain client:claude tool.call.echo";
const GRANT: &str = "\
Examples:
  covenant capabilities grant tool.call.echo
  covenant capabilities grant 'tool.call.github__*' --to client:claude \\
      --expires 2h
  covenant capabilities grant tool.call.workspace_write --to client:claude \\
      --where '{\"arguments\": {\"path\": {\"path\": \"notes/**\"}}, \"max_calls\": 20}'

A rule for an argument is one of \"equals\", \"one_of\", \"range\", \"glob\", \"path\";
nested ones are written a.b.";
const LIST: &str = "\
Examples:
  covenant capabilities list
  covenant capabilities list --json";
const REVOKE: &str = "\
Examples:
  covenant capabilities revoke grant_4kx2m7c9qhtw3ab

The ids are in `covenant capabilities list`.";
const EXPLAIN: &str = "\
Examples:
  covenant capabilities explain client:claude tool.call.echo
  covenant capabilities explain user@local tool.call.workspace_read \\
      --args '{\"path\": \"notes/today.md\"}'";

/// Say who may do what.
#[derive(Debug, Subcommand)]
pub(crate) enum Capabilities {
    Grant(Grant),
    List(List),
    Revoke(Revoke),
    Explain(Explain),
}

/// Allow an action.
#[derive(Debug, Args)]
#[command(after_help = GRANT)]
pub(crate) struct Grant {
    /// What, such as `tool.call.echo`; the last segment may end in `*`.
    #[arg(value_parser = parse_action)]
    action: ActionPattern,
    /// To whom: `user@local`, `client:NAME`, `agent:ID`, `dev:HANDLE`, or `any`.
    #[arg(long, value_name = "PRINCIPAL", default_value = "user@local")]
    to: Subject,
    /// Until when: a span such as `2h`, or a date.
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    expires: Option<Moment>,
    /// Within which limits, as JSON.
    #[arg(long = "where", value_name = "JSON", value_parser = constraints)]
    limits: Option<Constraints>,
    /// Whether a person is asked before each call.
    #[arg(long, value_name = "WHEN")]
    approval: Option<Asking>,
}

/// When a person is asked.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Asking {
    /// Before each call.
    Ask,
    /// Never.
    None,
}

/// List what is granted.
#[derive(Debug, Args)]
#[command(after_help = LIST)]
pub(crate) struct List {}

/// Take a grant back. It holds from the next call on.
#[derive(Debug, Args)]
#[command(after_help = REVOKE)]
pub(crate) struct Revoke {
    /// The grant's id.
    #[arg(value_parser = grant)]
    id: GrantId,
}

/// Reads the id of a grant.
fn grant(text: &str) -> Result<GrantId, String> {
    text.parse()
        .map_err(|error: BadId| format!("{error}; see which there are with: covenant capabilities list"))
}

/// Say whether a call would be allowed, by which grant, or what is missing.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN)]
pub(crate) struct Explain {
    /// Who would call.
    principal: Principal,
    /// What it would do, such as `tool.call.echo`.
    #[arg(value_parser = parse_action)]
    action: ActionPattern,
    /// With which arguments, as one JSON object.
    #[arg(long, value_name = "JSON", value_parser = object)]
    args: Option<Map<String, Value>>,
}

impl Capabilities {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::Grant(grant) => grant.run(setting),
            Self::List(_) => list(setting),
            Self::Revoke(revoke) => revoke.run(setting),
            Self::Explain(explain) => explain.run(setting),
        }
    }
}

impl Grant {
    fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let expires_at = self.expires.map(|when| when.ahead_of(setting.now()));
        if expires_at.is_some_and(|end| end <= setting.now()) {
            return Err(Failure::usage(
                "this grant would have ended before it began",
                "give --expires a span such as `2h`, or a date to come",
            ));
        }
        let body = NewGrant {
            subject: self.to,
            action: self.action,
            constraints: self.limits.unwrap_or_default(),
            approval: match self.approval {
                Some(Asking::Ask) => Approval::Ask,
                Some(Asking::None) | None => Approval::None,
            },
            expires_at,
        };
        let granted: Granted = setting.client()?.post("/api/v1/capabilities", &body)?;
        print::warn_all(&granted.warnings, "");
        if setting.json() {
            print::json(&granted.grant)?;
        } else {
            print::line(&format!("granted {}", sentence(&granted.grant)))?;
            if granted.grant.approval == Approval::Ask {
                print::note(
                    "each call waits for your word; see what waits, and decide: covenant approvals list",
                );
            }
        }
        Ok(Exit::Done)
    }
}

fn list(setting: &Setting) -> Result<Exit, Failure> {
    let grants: Vec<Given> = setting.client()?.list("/api/v1/capabilities")?;
    if setting.json() {
        print::json(&grants)?;
        return Ok(Exit::Done);
    }
    if grants.is_empty() {
        print::note("nothing is granted; grant something with: covenant capabilities grant tool.call.NAME");
        return Ok(Exit::Done);
    }
    let now = setting.now();
    let mut table = Table::new(&["ID", "SUBJECT", "ACTION", "EXPIRES", "APPROVAL", "WHERE"]);
    for grant in &grants {
        let end = grant.expires_at.map_or_else(|| "never".to_owned(), |end| short(&end.to_string()));
        table.row([
            grant.id.as_str().into(),
            grant.subject.to_string().into(),
            grant.action.as_str().into(),
            if grant.expired(now) { Cell::coloured("ended", AnsiColor::Red) } else { end.into() },
            match grant.approval {
                Approval::None => "".into(),
                Approval::Ask => Cell::coloured("ask", AnsiColor::Yellow),
            },
            limits(&grant.constraints).into(),
        ]);
    }
    table.print()?;
    Ok(Exit::Done)
}

impl Revoke {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let path = format!("/api/v1/capabilities/{}", segment(self.id.as_str()));
        let removed: Removed = setting.client()?.delete(&path)?;
        if setting.json() {
            print::json(&removed)?;
        } else {
            print::line(&format!("revoked {}", print::escape(&removed.removed)))?;
        }
        Ok(Exit::Done)
    }
}

impl Explain {
    fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let body =
            ExplainBody { principal: self.principal, action: self.action.to_string(), arguments: self.args };
        let why: Explanation = setting.client()?.post("/api/v1/capabilities/explain", &body)?;
        if setting.json() {
            print::json(&why)?;
            return Ok(Exit::Done);
        }
        let (who, what) = (body.principal, print::escape(&body.action).into_owned());
        match (&why.grant, why.allowed) {
            (Some(grant), true) if grant.approval == Approval::Ask => print::line(&format!(
                "{who} may do {what} once a person approves the exact call: {} asks",
                grant.id
            ))?,
            (Some(grant), true) => print::line(&format!("{who} may do {what}: granted {}", sentence(grant)))?,
            (None, true) => print::line(&format!("{who} may do {what}"))?,
            (_, false) => print::line(&format!("{who} may not do {what}"))?,
        }
        for near in &why.near {
            print::line(&format!("  {} does not apply: {}", near.grant.id, print::escape(&near.reason)))?;
        }
        if let Some(command) = &why.command {
            print::line(&format!("  grant it with: {}", print::escape(command)))?;
        }
        Ok(Exit::Done)
    }
}

/// A grant in words.
fn sentence(grant: &Given) -> String {
    let mut text = format!("{} to {} ({})", grant.action, grant.subject, grant.id);
    if let Some(end) = grant.expires_at {
        text += ", until ";
        text += &short(&end.to_string());
    }
    let limits = limits(&grant.constraints);
    if !limits.is_empty() {
        text += ", where ";
        text += &print::escape_json(&limits);
    }
    if grant.approval == Approval::Ask {
        text += ", asking a person each time";
    }
    text
}

fn limits(constraints: &Constraints) -> String {
    if *constraints == Constraints::default() {
        return String::new();
    }
    serde_json::to_string(constraints).unwrap_or_default()
}

/// A moment without its milliseconds.
pub(crate) fn short(moment: &str) -> String {
    match moment.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => moment.to_owned(),
    }
}
