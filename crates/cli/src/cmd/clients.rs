//! `covenant clients`: MCP clients with a token of their own.

use clap::{Args, Subcommand, ValueEnum};
use covenant_model::action::ActionPattern;
use covenant_model::api::{Client as Known, ClientAdded, NewClient, Preset, Removed, Status};
use serde_json::json;

use crate::args::{action, client};
use crate::client::segment;
use crate::cmd::capabilities::short;
use crate::cmd::up::connect;
use crate::exit::{Exit, Failure};
use crate::print::{self, Table};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant clients add claude --preset read-only
  covenant clients list
  covenant clients revoke claude";
const ADD: &str = "\
Examples:
  covenant clients add claude --preset read-only
  covenant clients add ci --grant tool.call.echo --grant 'tool.call.github__*'
  TOKEN=$(covenant clients add codex --preset workspace)
  covenant clients add desk --preset all --may-approve

Presets: read-only looks and does not touch; workspace also writes there, in
memory and in the vault; all is every tool, resource and prompt there is and
will be. They are ordinary grants, listed and revocable one by one.
--may-approve: where a call or a script of this client needs a person, the
client asks the one before it, and the answer counts. Only for a client that
a person sits at, and that does not answer by itself.
The token is printed once, alone on standard output; only its hash is kept.";
const LIST: &str = "\
Examples:
  covenant clients list
  covenant clients list --json";
const REVOKE: &str = "\
Examples:
  covenant clients revoke claude    # its token stops with the next request";

/// Give MCP clients a token of their own.
#[derive(Debug, Subcommand)]
pub(crate) enum Clients {
    Add(Add),
    List(List),
    Revoke(Revoke),
}

/// Add a client and print its token, once.
#[derive(Debug, Args)]
#[command(after_help = ADD)]
pub(crate) struct Add {
    /// Its name: it becomes the principal `client:NAME`.
    #[arg(value_parser = client)]
    name: String,
    /// Grants to begin with.
    #[arg(long)]
    preset: Option<Beginning>,
    /// A further action to grant; may be repeated.
    #[arg(long = "grant", value_name = "ACTION", value_parser = action)]
    grants: Vec<ActionPattern>,
    /// Let what the person before it answers count as approval.
    #[arg(long)]
    may_approve: bool,
}

/// Grants to begin with.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Beginning {
    /// Look, do not touch.
    ReadOnly,
    /// That, and write in the workspace, memory and vault.
    Workspace,
    /// Everything there is and will be.
    All,
}

/// List the clients.
#[derive(Debug, Args)]
#[command(after_help = LIST)]
pub(crate) struct List {}

/// Take a client's token and grants back.
#[derive(Debug, Args)]
#[command(after_help = REVOKE)]
pub(crate) struct Revoke {
    /// Its name.
    #[arg(value_parser = client)]
    name: String,
}

impl Clients {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::Add(add) => add.run(setting),
            Self::List(_) => list(setting),
            Self::Revoke(revoke) => revoke.run(setting),
        }
    }
}

impl Add {
    fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let preset = self.preset.map(|preset| match preset {
            Beginning::ReadOnly => Preset::ReadOnly,
            Beginning::Workspace => Preset::Workspace,
            Beginning::All => Preset::All,
        });
        let nothing_granted = preset.is_none() && self.grants.is_empty();
        let (grants, may_approve) = (self.grants, self.may_approve);
        let body = NewClient { name: self.name, preset, grants, may_approve };
        let client = setting.client()?;
        let added: ClientAdded = client.post("/api/v1/clients", &body)?;
        print::warn_all(&added.warnings, "");
        if setting.json() {
            let document = json!({"name": added.name, "token": added.token});
            print::json(&document).map_err(|failure| lost(&added.name, &failure))?;
            return Ok(Exit::Done);
        }
        print::line(&added.token).map_err(|failure| lost(&added.name, &failure))?;
        // The token is out: where it goes is only a hint.
        if let Ok(status) = client.get("/api/v1/status") {
            hint(&added.name, setting, &status);
        }
        if nothing_granted {
            let next = format!("covenant capabilities grant tool.call.NAME --to client:{}", added.name);
            print::note(&format!(
                "\nIt has no grants of its own: it may do what everyone may, which is to call `clock` unless you \
                 changed that.\nAllow it more with: {next}"
            ));
        }
        Ok(Exit::Done)
    }
}

/// The token was made and went nowhere. A reader that has gone away is no excuse here.
fn lost(name: &str, failure: &Failure) -> Failure {
    let why = if failure.message().is_empty() { "nobody reads standard output" } else { failure.message() };
    Failure::failed(
        format!("client:{name} was added, but its token is lost: {why}"),
        format!("take it back, and add it again: covenant clients revoke {name}"),
    )
}

/// Where the token goes, without saying it again: standard error often ends up in logs.
fn hint(name: &str, setting: &Setting, status: &Status) {
    print::note(&format!(
        "\nThis is the token of client:{name}. It is not shown again. Put it in place of {} below.\n\n{}",
        connect::TOKEN,
        connect::for_client(setting, status).trim_end()
    ));
}

fn list(setting: &Setting) -> Result<Exit, Failure> {
    let clients: Vec<Known> = setting.client()?.list("/api/v1/clients")?;
    if setting.json() {
        print::json(&clients)?;
        return Ok(Exit::Done);
    }
    if clients.is_empty() {
        print::note("no client has a token; add one with: covenant clients add NAME --preset read-only");
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "PRINCIPAL", "GRANTS", "APPROVES", "ADDED", "REVOKED"]);
    for client in &clients {
        table.row([
            (&client.name).into(),
            client.principal.as_str().into(),
            client.grants.to_string().into(),
            if client.may_approve { "yes" } else { "" }.into(),
            short(&client.created_at.to_string()).into(),
            client.revoked_at.map(|moment| short(&moment.to_string())).unwrap_or_default().into(),
        ]);
    }
    table.print()?;
    Ok(Exit::Done)
}

impl Revoke {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let removed: Removed =
            setting.client()?.delete(&format!("/api/v1/clients/{}", segment(&self.name)))?;
        if setting.json() {
            print::json(&removed)?;
            return Ok(Exit::Done);
        }
        let with = match removed.also.len() {
            0 => String::new(),
            1 => " and its grant".to_owned(),
            count => format!(" and its {count} grants"),
        };
        print::line(&format!("revoked {}{with}", print::escape(&removed.removed)))?;
        Ok(Exit::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_reached_nobody_is_a_failure_with_the_way_out() {
        for kind in [std::io::ErrorKind::BrokenPipe, std::io::ErrorKind::StorageFull] {
            let failure = lost("claude", &Failure::output(&kind.into()));
            assert_eq!(failure.exit(), Exit::Failed);
            assert!(
                failure.message().contains("client:claude was added, but its token is lost"),
                "{failure:?}"
            );
            assert!(failure.help().ends_with("covenant clients revoke claude"), "{failure:?}");
        }
    }
}
