//! `covenant tokens`: what the agents of a developer show, made, listed and revoked.

use clap::{Args, Subcommand, ValueEnum};
use covenant_model::api::{NewToken, Removed, TokenEntry, TokenMade};
use covenant_model::id::TokenId;
use covenant_model::principal::AgentType;
use covenant_model::team::Label;

use crate::client::segment;
use crate::cmd::capabilities::short;
use crate::cmd::team::handle;
use crate::exit::{Exit, Failure};
use crate::print::{self, Table};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant tokens create --agent-type claude-code
  covenant tokens create --for ada --label laptop
  covenant tokens list
  covenant tokens revoke tok_b2sx7dnq8hkw3mc";
const CREATE: &str = "\
Examples:
  covenant tokens create
  covenant tokens create --agent-type codex
  TOKEN=$(covenant tokens create --for ada --agent-type cursor --label laptop)

The token is printed once, alone on standard output; only its hash is kept. A
token with a type is for that agent: it makes calls and administers nothing.";
const LIST: &str = "\
Examples:
  covenant tokens list
  covenant tokens list --for ada --json";
const REVOKE: &str = "\
Examples:
  covenant tokens revoke tok_b2sx7dnq8hkw3mc    # it stops with the next request";

/// Give a developer's agents a token each.
#[derive(Debug, Subcommand)]
pub(crate) enum Tokens {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

/// Make a token and print it, once.
#[derive(Debug, Args)]
#[command(after_help = CREATE)]
pub(crate) struct Create {
    /// For whom; for yourself, where you name nobody.
    #[arg(long = "for", value_name = "HANDLE", value_parser = handle)]
    developer: Option<String>,
    /// What to call it; by default after its type, and with a number where that is taken.
    #[arg(long, value_parser = label)]
    label: Option<String>,
    /// The agent it is for, whatever that says of itself.
    #[arg(long, value_name = "TYPE")]
    agent_type: Option<Agent>,
}

/// The agents that a token can be for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Cursor.
    Cursor,
}

/// List the tokens, without the tokens.
#[derive(Debug, Args)]
#[command(after_help = LIST)]
pub(crate) struct List {
    /// Whose; all that you may see, where you name nobody.
    #[arg(long = "for", value_name = "HANDLE", value_parser = handle)]
    developer: Option<String>,
}

/// End a token.
#[derive(Debug, Args)]
#[command(after_help = REVOKE)]
pub(crate) struct Revoke {
    /// Its id, as `tokens list` shows it.
    #[arg(value_parser = id)]
    id: TokenId,
}

fn label(text: &str) -> Result<String, String> {
    text.parse::<Label>().map(String::from).map_err(|error| error.to_string())
}

fn id(text: &str) -> Result<TokenId, String> {
    text.parse().map_err(|_| {
        "this is not the id of a token: those look like `tok_…`; see them with: covenant tokens list"
            .to_owned()
    })
}

impl Tokens {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::Create(create) => create.run(setting),
            Self::List(list) => list.run(setting),
            Self::Revoke(revoke) => revoke.run(setting),
        }
    }
}

impl Create {
    fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let agent_type = self.agent_type.map(|agent| match agent {
            Agent::ClaudeCode => AgentType::ClaudeCode,
            Agent::Codex => AgentType::Codex,
            Agent::Cursor => AgentType::Cursor,
        });
        let body = NewToken { developer: self.developer, label: self.label, agent_type };
        let made: TokenMade = setting.client()?.post("/api/v1/tokens", &body)?;
        if setting.json() {
            print::json(&made).map_err(|failure| lost(&made, &failure))?;
            return Ok(Exit::Done);
        }
        print::line(&made.token).map_err(|failure| lost(&made, &failure))?;
        print::note(&format!(
            "This is the token `{}` of {} ({}). It is not shown again.\n\
             Give it to one agent, as COVENANT_TOKEN for `covenant --mcp` or after `Authorization: Bearer`.",
            made.label, made.developer, made.id
        ));
        Ok(Exit::Done)
    }
}

/// The token was made and went nowhere. A reader that has gone away is no excuse here.
fn lost(made: &TokenMade, failure: &Failure) -> Failure {
    let why = if failure.message().is_empty() { "nobody reads standard output" } else { failure.message() };
    Failure::failed(
        format!("the token `{}` of {} was made, but is lost: {why}", made.label, made.developer),
        format!("take it back, and make another: covenant tokens revoke {}", made.id),
    )
}

impl List {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let path = match &self.developer {
            Some(handle) => format!("/api/v1/tokens?developer={}", segment(handle)),
            None => "/api/v1/tokens".to_owned(),
        };
        let tokens: Vec<TokenEntry> = setting.client()?.list(&path)?;
        if setting.json() {
            print::json(&tokens)?;
            return Ok(Exit::Done);
        }
        if tokens.is_empty() {
            print::note(&none(self.developer.as_deref()));
            return Ok(Exit::Done);
        }
        let mut table = Table::new(&["ID", "DEVELOPER", "LABEL", "TYPE", "CREATED", "REVOKED"]);
        for token in &tokens {
            table.row([
                token.id.as_str().into(),
                (&token.developer).into(),
                (&token.label).into(),
                token.agent_type.map(AgentType::as_str).unwrap_or_default().into(),
                short(&token.created_at.to_string()).into(),
                token.revoked_at.map(|moment| short(&moment.to_string())).unwrap_or_default().into(),
            ]);
        }
        table.print()?;
        Ok(Exit::Done)
    }
}

/// That there are none, and how one is made.
fn none(developer: Option<&str>) -> String {
    match developer {
        Some(handle) => {
            format!("{handle} has no token; make one with: covenant tokens create --for {handle}")
        }
        None => "there is no token that you may see; make one with: covenant tokens create".to_owned(),
    }
}

impl Revoke {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let removed: Removed = setting.client()?.delete(&format!("/api/v1/tokens/{}", self.id))?;
        if setting.json() {
            print::json(&removed)?;
            return Ok(Exit::Done);
        }
        print::line(&format!("revoked {}", print::escape(&removed.removed)))?;
        Ok(Exit::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_somebody_has_no_token_is_said_of_them_alone() {
        let bob = "bob has no token; make one with: covenant tokens create --for bob";
        assert_eq!(none(Some("bob")), bob);
        assert!(none(None).starts_with("there is no token that you may see"));
    }

    #[test]
    fn a_token_that_reached_nobody_is_a_failure_with_the_way_out() {
        let made = TokenMade {
            id: "tok_a".parse().unwrap(),
            token: "cv_secret".to_owned(),
            developer: "ada".to_owned(),
            label: "codex".to_owned(),
        };
        let failure = lost(&made, &Failure::output(&std::io::ErrorKind::BrokenPipe.into()));
        assert_eq!(failure.exit(), Exit::Failed);
        assert!(failure.help().ends_with("covenant tokens revoke tok_a"), "{failure:?}");
        assert!(!failure.sentence().contains("cv_secret"));
    }
}
