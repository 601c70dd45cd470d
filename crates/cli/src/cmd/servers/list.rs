//! `covenant mcp list`: every server with its state, and what of it is not offered.

use anstyle::AnsiColor;
use clap::Args;
use covenant_model::server::{ServerState, ServerStatus, Servers};

use super::ALL;
use crate::client::decode;
use crate::exit::{Exit, Failure};
use crate::print::{self, Cell, Table, escape};
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant mcp list
  covenant mcp list --tools        # with the names of their tools
  covenant mcp list --json         # exactly GET /api/v1/mcp/servers

States: starting, ready, restarting (it failed and is tried again soon),
quarantined (it failed too often, and waits to be used or restarted), stopped
(it starts when it is used), disabled, failed (its entry cannot be used).
A long note is cut; --json has the whole of it, and covenant mcp test NAME more.";

/// As wide as a note gets where no terminal is narrower.
const NOTE: usize = 120;

/// List the servers: state, transport and number of tools.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {
    /// Show the names of their tools too.
    #[arg(long)]
    tools: bool,
}

impl List {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let document = setting.client()?.get_raw(ALL)?;
        if setting.json() {
            print::json_text(&document)?;
            return Ok(Exit::Done);
        }
        let servers = decode::<Servers>(&document)?.servers;
        if servers.is_empty() {
            print::note("there is no external server; add one with: covenant mcp add NAME COMMAND [ARGS...]");
            return Ok(Exit::Done);
        }
        table(&servers).print()?;
        for line in refused(&servers) {
            print::line(&line)?;
        }
        if self.tools {
            servers.iter().filter(|server| !server.tools.is_empty()).try_for_each(names)?;
        }
        Ok(Exit::Done)
    }
}

fn table(servers: &[ServerStatus]) -> Table {
    let mut table = Table::new(&["NAME", "STATE", "TRANSPORT", "TOOLS", "NOTE"]);
    for server in servers {
        table.row([
            (&server.name).into(),
            state(server.state),
            (&server.transport).into(),
            server.tool_count.to_string().into(),
            print::cut(&note(server), NOTE).into(),
        ]);
    }
    table
}

/// The word of a state, in the colour of how much it matters.
pub(super) fn state(state: ServerState) -> Cell {
    let colour = match state {
        ServerState::Ready => AnsiColor::Green,
        ServerState::Starting | ServerState::Restarting => AnsiColor::Yellow,
        ServerState::Quarantined | ServerState::Failed => AnsiColor::Red,
        ServerState::Stopped | ServerState::Disabled => return state.as_str().into(),
    };
    Cell::coloured(state.as_str(), colour)
}

/// What went wrong last, in short: its own last lines are for `logs`. One that answers again has got over it.
fn note(server: &ServerStatus) -> String {
    let error = server.error.as_deref().filter(|_| server.state != ServerState::Ready).unwrap_or_default();
    let first =
        error.lines().next().unwrap_or_default().split("; its last lines: ").next().unwrap_or_default();
    let first = first.strip_prefix(&format!("the server `{}` ", server.name)).unwrap_or(first);
    let first = in_file(&server.name, first);
    match server.refused.len() {
        0 => first,
        count if first.is_empty() => format!("{count} refused, see below"),
        count => format!("{first} ({count} refused, see below)"),
    }
}

/// What is wrong with an entry, with its file and line in short: a whole path would leave no room for the reason.
fn in_file(name: &str, error: &str) -> String {
    let Some((stand, reason)) = error.split_once(&format!(" \"{name}\": ")) else { return error.to_owned() };
    let place = stand.rsplit('/').next().unwrap_or(stand);
    let place = place.split(": ").next().unwrap_or(place);
    format!("{place}: {reason}")
}

/// A line for each tool that is not offered, below a line that is empty.
fn refused(servers: &[ServerStatus]) -> Vec<String> {
    let told = servers.iter().flat_map(|server| {
        let about = |tool: &str, reason: &str| {
            format!("refused: `{}` of {}: {}", escape(tool), escape(&server.name), escape(reason))
        };
        server.refused.iter().map(move |refused| about(&refused.tool, &refused.reason))
    });
    let mut lines: Vec<String> = told.collect();
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

fn names(server: &ServerStatus) -> Result<(), Failure> {
    print::line(&format!("\n{}", escape(&server.name)))?;
    server.tools.iter().try_for_each(|tool| print::line(&format!("  {}", escape(tool))))
}

#[cfg(test)]
mod tests {
    use covenant_model::server::RefusedTool;

    use super::*;

    fn server(name: &str, state: ServerState, error: Option<&str>) -> ServerStatus {
        ServerStatus {
            name: name.to_owned(),
            connected: state == ServerState::Ready,
            state,
            tool_count: 2,
            tools: vec!["a__x".to_owned(), "a__y".to_owned()],
            error: error.map(str::to_owned),
            refused: Vec::new(),
            prefix: "a".to_owned(),
            transport: "stdio".to_owned(),
            era: None,
            source: "config.toml".to_owned(),
            restarts: 0,
        }
    }

    #[test]
    fn a_server_is_a_line_with_the_first_line_of_what_went_wrong() {
        let one = server(
            "files",
            ServerState::Quarantined,
            Some("the server `files` ended with exit code 1; its last lines: Traceback\nTraceback"),
        );
        let text = table(&[one]).render(None);
        assert!(
            text.contains("files")
                && text.contains("quarantined")
                && text.ends_with("  ended with exit code 1\n")
        );
        assert!(!text.contains("Traceback"), "{text}");
    }

    #[test]
    fn a_long_note_is_cut_to_the_terminal_and_to_a_bearable_length_elsewhere() {
        let one = server("files", ServerState::Failed, Some(&"config.toml is wrong ".repeat(40)));
        let widest = |width| {
            let text = table(std::slice::from_ref(&one)).render(width);
            let text = anstream::adapter::strip_str(&text).to_string();
            text.lines().map(|line| line.chars().count()).max().unwrap()
        };
        assert!(widest(Some(80)) <= 80);
        assert!((NOTE..NOTE + 60).contains(&widest(None)), "{}", widest(None));
    }

    #[test]
    fn the_note_of_an_entry_that_cannot_be_used_has_room_for_the_reason() {
        let error = "/srv/some/home/config.toml, line 27: [[mcp.servers]] \"odd\": `args` uses $KEY, which is not set";
        let one = server("odd", ServerState::Failed, Some(error));
        assert_eq!(note(&one), "config.toml, line 27: `args` uses $KEY, which is not set");
    }

    #[test]
    fn what_a_server_got_over_is_not_told() {
        assert_eq!(note(&server("files", ServerState::Ready, Some("crashed"))), "");
    }

    #[test]
    fn refused_tools_stand_below_with_their_reason_and_cannot_move_the_cursor() {
        let mut one = server("files", ServerState::Ready, None);
        assert!(refused(std::slice::from_ref(&one)).is_empty());
        one.refused.push(RefusedTool { tool: "bad\u{1b}[2J".to_owned(), reason: "taken".to_owned() });
        assert_eq!(note(&one), "1 refused, see below");
        assert_eq!(refused(&[one]), ["", r"refused: `bad\u{1b}[2J` of files: taken"]);
    }
}
