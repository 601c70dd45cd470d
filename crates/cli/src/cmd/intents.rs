//! `covenant intent` and `covenant intents`: what is wanted of agents, what came of it, and taking it back.

use clap::{Args, Subcommand, ValueEnum};
use covenant_model::intent::{
    IntentBody, IntentEntry, IntentId, IntentReply, IntentShown, IntentStatus, Priority,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{Client, Flow, decode, segment};
use crate::exit::{Exit, Failure};
use crate::print::{self, Table};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant intents list
  covenant intents show 0190a6e2-5c1f-4a3b-9f70-1d2c3b4a5e6f
  covenant intents cancel 0190a6e2-5c1f-4a3b-9f70-1d2c3b4a5e6f";
const INTENT: &str = "\
Examples:
  covenant intent \"what is new about heat pumps?\"
  covenant intent --agent research@local --priority high \"and in Norway?\"
  covenant intent --stream \"summarise the week\"    # with what it says meanwhile
  covenant intent --no-wait \"summarise the week\"   # prints the intent's id

Without --agent it goes to the only agent there is, or to the one whose name,
description and capabilities clearly fit best. The answer is on standard
output. The exit code is 1 where the agent failed, and 3 where you may not
send it: its manifest says in `required` what you must be granted.";
const LIST: &str = "\
Examples:
  covenant intents list
  covenant intents list --agent research@local -n 5 --json";
const SHOW: &str = "\
Examples:
  covenant intents show 0190a6e2-5c1f-4a3b-9f70-1d2c3b4a5e6f --json

It says what the sandbox enforced, and which call of the audit log it was.";

const CANCEL: &str = "\
Examples:
  covenant intents cancel 0190a6e2-5c1f-4a3b-9f70-1d2c3b4a5e6f";

/// Send an agent what you want, and get its answer.
#[derive(Debug, Args)]
#[command(after_help = INTENT)]
pub(crate) struct Send {
    /// What you want, in words.
    #[arg(required = true)]
    text: Vec<String>,
    /// Which agent, by its id or its name.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// How urgent it is; by default as the agent's manifest says.
    #[arg(long)]
    priority: Option<Urgency>,
    /// The intent within which this one is issued.
    #[arg(long, value_name = "INTENT")]
    parent: Option<IntentId>,
    /// Show what the agent says on its standard error while it runs.
    #[arg(long, conflicts_with = "no_wait")]
    stream: bool,
    /// Print the intent's id as soon as it is taken in, and do not wait.
    #[arg(long)]
    no_wait: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Urgency {
    Low,
    Normal,
    High,
}

/// See what was wanted of agents, and take it back.
#[derive(Debug, Subcommand)]
pub(crate) enum Intents {
    List(List),
    Show(Show),
    Cancel(Cancel),
}

/// List intents, newest first.
#[derive(Debug, Args)]
#[command(after_help = LIST)]
pub(crate) struct List {
    /// How many.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: u16,
    /// Of that agent alone, by its id.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// Show one whole, with what its sandbox enforced.
#[derive(Debug, Args)]
#[command(after_help = SHOW)]
pub(crate) struct Show {
    /// Its id.
    id: IntentId,
}

/// Take one back: its agent is ended.
#[derive(Debug, Args)]
#[command(after_help = CANCEL)]
pub(crate) struct Cancel {
    /// Its id.
    id: IntentId,
}

impl Send {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let body = IntentBody {
            text: self.text.join(" "),
            agent: self.agent,
            priority: self.priority.map(|urgency| match urgency {
                Urgency::Low => Priority::Low,
                Urgency::Normal => Priority::Normal,
                Urgency::High => Priority::High,
            }),
            parent: self.parent,
            wait: !self.stream && !self.no_wait,
        };
        let client = setting.client()?;
        let answer = client.call_long("/api/v1/intents", &body)?;
        if body.wait {
            return told(setting, &decode(&answer)?);
        }
        let taken: Taken = decode(&answer)?;
        if self.no_wait {
            if setting.json() {
                print::json_text(&answer)?;
            } else {
                print::line(taken.intent_id.as_str())?;
            }
            return Ok(Exit::Done);
        }
        follow(setting, &client, &taken.intent_id)?;
        told(setting, &client.get(&path(&taken.intent_id, ""))?)
    }
}

#[derive(Deserialize)]
struct Taken {
    intent_id: IntentId,
}

/// Shows what happens until it is over.
fn follow(setting: &Setting, client: &Client, id: &IntentId) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct News {
        event: String,
        text: Option<String>,
    }
    if !setting.json() {
        print::note(&format!("intent {id}; it goes on if you leave: covenant intents show {id}"));
    }
    client.lines(&path(id, "/events"), |line| {
        let Ok(News { event, text }) = serde_json::from_slice(line) else { return Ok(Flow::On) };
        let over = IntentStatus::read(&event).is_some_and(IntentStatus::is_over);
        if setting.json() && !over {
            print::raw(&[line, b"\n"].concat())?;
        } else if !over {
            print::note(&print::escape(text.as_deref().unwrap_or(&event)));
        }
        Ok(if over { Flow::Enough } else { Flow::On })
    })
}

/// The answer: the agent's words, and nothing else on standard output.
fn told(setting: &Setting, reply: &IntentReply) -> Result<Exit, Failure> {
    if setting.json() {
        print::json(reply)?;
    } else {
        print::line(&print::escape_block(&reply.text))?;
        for source in &reply.sources {
            print::note(&format!("source: {}", print::escape(source)));
        }
        let gaps: Vec<&str> =
            reply.enforcement.iter().filter(|one| !one.enforced).map(|one| &*one.limit).collect();
        if !gaps.is_empty() {
            let show = format!("covenant intents show {}", reply.intent_id);
            print::warn(&format!("the sandbox could not enforce in full: {}; see {show}", gaps.join(", ")));
        }
        if reply.over_budget {
            print::warn(&format!("{} has used more credits this hour than its manifest says", reply.agent));
        }
    }
    Ok(if reply.status == IntentStatus::Ok { Exit::Done } else { Exit::Failed })
}

impl Intents {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::List(list) => list.run(setting),
            Self::Show(show) => show.run(setting),
            Self::Cancel(cancel) => cancel.run(setting),
        }
    }
}

impl List {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let agent = self.agent.as_deref().map(|agent| format!("&agent={}", segment(agent)));
        let wanted = format!("/api/v1/intents?limit={}{}", self.count, agent.unwrap_or_default());
        let intents: Vec<IntentEntry> = setting.client()?.get(&wanted)?;
        if setting.json() {
            print::json(&intents)?;
        } else if intents.is_empty() {
            print::note("nothing was sent to an agent yet; do it with: covenant intent \"what you want\"");
        } else {
            let mut table = Table::new(&["INTENT", "AGENT", "STATUS", "PRIORITY", "ISSUED"]);
            for intent in &intents {
                table.row([
                    intent.intent_id.as_str().into(),
                    (&intent.agent).into(),
                    intent.status.as_str().into(),
                    intent.priority.as_str().into(),
                    intent.issued_at.to_string().into(),
                ]);
            }
            table.print()?;
        }
        Ok(Exit::Done)
    }
}

impl Show {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let shown: IntentShown = setting.client()?.get(&path(&self.id, ""))?;
        if setting.json() {
            print::json(&shown)?;
            return Ok(Exit::Done);
        }
        show(&shown)?;
        Ok(Exit::Done)
    }
}

fn show(shown: &IntentShown) -> Result<(), Failure> {
    let moment =
        |at: Option<covenant_model::time::Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let facts = [
        ("intent", shown.intent_id.to_string()),
        ("agent", shown.agent.clone()),
        ("status", shown.status.as_str().to_owned()),
        ("priority", shown.priority.as_str().to_owned()),
        ("issuer", shown.issuer.to_string()),
        ("parent", shown.parent.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("call", shown.call.to_string()),
        ("issued", shown.issued_at.to_string()),
        ("started", moment(shown.started_at)),
        ("finished", moment(shown.finished_at)),
        ("credits", shown.credits.to_string() + if shown.over_budget { " (over its budget)" } else { "" }),
    ];
    let facts: Vec<(&str, String)> = facts.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    print::facts(&facts)?;
    print::line(&format!("\nwanted:\n{}", print::escape_block(&shown.request)))?;
    if !shown.text.is_empty() {
        print::line(&format!("\nanswer:\n{}", print::escape_block(&shown.text)))?;
    }
    for source in &shown.sources {
        print::line(&format!("source: {}", print::escape(source)))?;
    }
    if shown.enforcement.is_empty() {
        return Ok(());
    }
    print::line("")?;
    let mut table = Table::new(&["LIMIT", "ENFORCED", "BY"]);
    for one in &shown.enforcement {
        let enforced = if one.enforced { "yes" } else { "not in full" };
        table.row([(&one.limit).into(), enforced.into(), (&one.by).into()]);
    }
    table.print()
}

impl Cancel {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let shown: Value = setting.client()?.post(&path(&self.id, "/cancel"), &json!({}))?;
        if setting.json() {
            print::json(&shown)?;
        } else {
            print::line(&format!("cancelled {}", self.id))?;
        }
        Ok(Exit::Done)
    }
}

fn path(id: &IntentId, rest: &str) -> String {
    format!("/api/v1/intents/{}{rest}", segment(id.as_str()))
}
