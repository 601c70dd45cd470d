//! `covenant team`: who works together.

use clap::{Args, Subcommand, ValueEnum};
use covenant_model::api::{Invited, Member, NewMember, NewWorkspace, Removed, TeamEvent, WorkspaceMade};
use covenant_model::envelope::Envelope;
use covenant_model::team::{Handle, Role, WorkspaceName};

use crate::client::segment;
use crate::cmd::capabilities::short;
use crate::exit::{Exit, Failure};
use crate::print::{self, Table};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant team init acme
  covenant team invite ada --role admin
  covenant team members
  covenant team events -n 20
  covenant team summary
  covenant team remove ada";
const EVENTS: &str = "\
Examples:
  covenant team events                       # what changed, newest last
  covenant team events --kind feedback       # what agents were warned of
  covenant team events --kind usage -n 100 --json";
const SUMMARY: &str = "\
Examples:
  covenant team summary                # the last seven days, as Markdown
  covenant team summary > week.md
  covenant team summary --json";
const INIT: &str = "\
Examples:
  covenant team init acme
  covenant team init 'Acme Platform'    # another one, once the first has a name

The first name is for the workspace that you have worked in so far, so that
your work stays with the team. Every further name makes a new workspace.";
const INVITE: &str = "\
Examples:
  covenant team invite ada
  covenant team invite grace --role admin --workspace 'Acme Platform'
  covenant team invite eve --private    # the others see her as @private

  covenant team invite ada --again      # another link, where one is lost

They may then use the tools of teams (an ordinary grant, tool.call.covibe_*),
and you can make them a token: covenant tokens create --for ada
On the link they choose how they sign in; it is good once, for seven days. With
--again the earlier link ends, and they choose anew: that ends their sessions,
and their tokens without a type.";
const MEMBERS: &str = "\
Examples:
  covenant team members
  covenant team members --workspace acme --json";
const REMOVE: &str = "\
Examples:
  covenant team remove ada    # her tokens and grants end, her work stays";

/// Say who works together.
#[derive(Debug, Subcommand)]
pub(crate) enum Team {
    Init(Init),
    Invite(Invite),
    Members(Members),
    Events(Events),
    /// Tell the last seven days of your workspace.
    #[command(after_help = SUMMARY)]
    Summary,
    Remove(Remove),
}

/// Name the workspace, or make another.
#[derive(Debug, Args)]
#[command(after_help = INIT)]
pub(crate) struct Init {
    /// What it is to be called.
    #[arg(value_parser = named)]
    name: String,
}

/// Take somebody into a workspace.
#[derive(Debug, Args)]
#[command(after_help = INVITE)]
pub(crate) struct Invite {
    /// What they are called, such as `ada`: they become the principal `dev:HANDLE`.
    #[arg(value_parser = newcomer)]
    handle: String,
    /// What they may do for the others.
    #[arg(long, default_value = "member")]
    role: Position,
    /// Show them to the other members as `@private`.
    #[arg(long)]
    private: bool,
    /// Which workspace; yours, where you name none.
    #[arg(long, value_name = "NAME", value_parser = workspace)]
    workspace: Option<String>,
    /// Give somebody who is in already another link: they choose how they sign in anew.
    #[arg(long, conflicts_with_all = ["role", "private", "workspace"])]
    again: bool,
}

/// What somebody may do for the others.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Position {
    /// Invite and remove people, make and revoke their tokens.
    Admin,
    /// Nothing; they make and revoke tokens of their own.
    Member,
}

/// List who works together.
#[derive(Debug, Args)]
#[command(after_help = MEMBERS)]
pub(crate) struct Members {
    /// Of which workspace; of all that are yours, where you name none.
    #[arg(long, value_name = "NAME", value_parser = workspace)]
    workspace: Option<String>,
}

/// Show what happened, that calls were made, and what agents were told.
#[derive(Debug, Args)]
#[command(after_help = EVENTS)]
pub(crate) struct Events {
    /// Which of the three.
    #[arg(long, default_value = "work")]
    kind: EventKind,
    /// How many of the newest.
    #[arg(short = 'n', long = "number", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    number: u16,
}

/// What sort of events.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EventKind {
    /// What changed.
    Work,
    /// That calls were made, and how they ended.
    Usage,
    /// What agents were warned of, or kept from.
    Feedback,
}

/// Remove somebody: their tokens and grants end, their work stays.
#[derive(Debug, Args)]
#[command(after_help = REMOVE)]
pub(crate) struct Remove {
    /// What they are called.
    #[arg(value_parser = handle)]
    handle: String,
}

/// Reads the name that a workspace is given.
fn named(text: &str) -> Result<String, String> {
    WorkspaceName::given(text).map(String::from).map_err(|error| error.to_string())
}

/// Reads the name of a workspace; which ones there are, the daemon knows.
fn workspace(text: &str) -> Result<String, String> {
    text.parse::<WorkspaceName>().map(String::from).map_err(|error| error.to_string())
}

/// Reads a handle; people write it as they mention it.
pub(crate) fn handle(text: &str) -> Result<String, String> {
    let bare = text.strip_prefix('@').unwrap_or(text);
    bare.parse::<Handle>().map(String::from).map_err(|error| error.to_string())
}

/// Reads the handle of somebody who is invited.
fn newcomer(text: &str) -> Result<String, String> {
    let bare = text.strip_prefix('@').unwrap_or(text);
    Handle::of_person(bare).map(String::from).map_err(|error| error.to_string())
}

impl Team {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::Init(init) => init.run(setting),
            Self::Invite(invite) => invite.run(setting),
            Self::Members(members) => members.run(setting),
            Self::Events(events) => events.run(setting),
            Self::Summary => summary(setting),
            Self::Remove(remove) => remove.run(setting),
        }
    }
}

impl Init {
    fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let body = NewWorkspace { name: self.name };
        let made: WorkspaceMade = setting.client()?.post("/api/v1/team/workspaces", &body)?;
        if setting.json() {
            print::json(&made)?;
            return Ok(Exit::Done);
        }
        let name = print::escape(made.name.as_str());
        match made.was {
            Some(_) => print::line(&format!("your workspace is called {name} now"))?,
            None => print::line(&format!("made the workspace {name}"))?,
        }
        print::note("invite people with: covenant team invite HANDLE");
        Ok(Exit::Done)
    }
}

impl Invite {
    fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let role = match self.role {
            Position::Admin => Role::Admin,
            Position::Member => Role::Member,
        };
        let invited: Invited = if self.again {
            let path = format!("/api/v1/team/members/{}/invite", segment(&self.handle));
            setting.client()?.post(&path, &serde_json::json!({}))?
        } else {
            let body =
                NewMember { handle: self.handle, role, private: self.private, workspace: self.workspace };
            setting.client()?.post("/api/v1/team/members", &body)?
        };
        if setting.json() {
            print::json(&invited)?;
            return Ok(Exit::Done);
        }
        let handle = print::escape(&invited.handle);
        let workspace = print::escape(invited.workspace.as_str());
        print::line(&format!("{handle} is {} of {workspace}", as_what(invited.role)))?;
        print::line(&print::escape(&invited.link))?;
        if self.again {
            print::note(&format!(
                "The earlier link has ended. Once {handle} uses this one, every other way in ends, and with it \
                 {handle}'s sessions and the tokens that were not made for an agent."
            ));
        }
        print::note(&format!(
            "On this link {handle} chooses how they sign in, once, until {}; give it to nobody else.",
            short(&invited.link_expires_at.to_string())
        ));
        print::note(&format!("give their agents a token each: covenant tokens create --for {handle}"));
        if is_loopback(&invited.link) {
            print::note(
                "the link opens on this machine alone; for people elsewhere see \"Teammates on other machines\" in \
                 docs/teams.md",
            );
        }
        Ok(Exit::Done)
    }
}

/// Whether a link leads to the machine it is opened on.
fn is_loopback(link: &str) -> bool {
    let host = link.split_once("://").map_or(link, |(_, rest)| rest);
    ["127.", "localhost:", "localhost/", "[::1]"].iter().any(|here| host.starts_with(here))
}

fn as_what(role: Role) -> &'static str {
    match role {
        Role::Admin => "an admin",
        Role::Member => "a member",
    }
}

impl Events {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let kind = match self.kind {
            EventKind::Work => "work",
            EventKind::Usage => "usage",
            EventKind::Feedback => "feedback",
        };
        let path = format!("/api/v1/team/events?kind={kind}&limit={}", self.number);
        let mut events: Vec<TeamEvent> = setting.client()?.get(&path)?;
        events.reverse();
        if setting.json() {
            print::json(&events)?;
            return Ok(Exit::Done);
        }
        if events.is_empty() {
            print::note("nothing happened yet");
            return Ok(Exit::Done);
        }
        let mut table = Table::new(&["AT", "DEVELOPER", "EVENT", "STATUS", "SUBJECT", "ABOUT"]);
        for event in &events {
            table.row([
                short(&event.at.to_string()).into(),
                event.developer.as_deref().unwrap_or("-").into(),
                event.event.as_str().into(),
                event.status.as_str().into(),
                event.subject_id.as_deref().unwrap_or("-").into(),
                about(event).into(),
            ]);
        }
        table.print()?;
        Ok(Exit::Done)
    }
}

/// What the work is called that an event is about, where it says so.
fn about(event: &TeamEvent) -> &str {
    event.payload_json.get("title").and_then(serde_json::Value::as_str).unwrap_or_default()
}

fn summary(setting: &Setting) -> Result<Exit, Failure> {
    let told: Envelope = setting.client()?.post("/api/weekly-summary", &serde_json::json!({}))?;
    if setting.json() {
        print::json(&told.data)?;
        return Ok(Exit::Done);
    }
    let markdown = told.data.get("markdown").and_then(serde_json::Value::as_str).unwrap_or_default();
    for line in markdown.lines() {
        print::line(&print::escape(line))?;
    }
    Ok(Exit::Done)
}

impl Members {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let path = match &self.workspace {
            Some(name) => format!("/api/v1/team/members?workspace={}", segment(name)),
            None => "/api/v1/team/members".to_owned(),
        };
        let members: Vec<Member> = setting.client()?.list(&path)?;
        if setting.json() {
            print::json(&members)?;
            return Ok(Exit::Done);
        }
        if members.is_empty() {
            print::note(
                "nobody is in it yet; invite people with: covenant team invite HANDLE --workspace NAME",
            );
            return Ok(Exit::Done);
        }
        let mut table = Table::new(&["HANDLE", "ROLE", "WORKSPACE", "SINCE", "PRIVATE"]);
        for member in &members {
            table.row([
                (&member.handle).into(),
                member.role.as_str().into(),
                member.workspace.as_str().into(),
                short(&member.created_at.to_string()).into(),
                if member.private { "private" } else { "" }.into(),
            ]);
        }
        table.print()?;
        Ok(Exit::Done)
    }
}

impl Remove {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let path = format!("/api/v1/team/members/{}", segment(&self.handle));
        let removed: Removed = setting.client()?.delete(&path)?;
        if setting.json() {
            print::json(&removed)?;
            return Ok(Exit::Done);
        }
        let handle = print::escape(&removed.removed);
        print::line(&format!("removed {handle}, whose tokens and grants end with that"))?;
        Ok(Exit::Done)
    }
}
