//! `covenant mcp list`: every server with its state and its tools, what of it is not offered, and what is wrong with files.

use anstyle::AnsiColor;
use clap::Args;
use covenant_model::server::{ServerState, ServerStatus, Servers};

use super::{ALL, UNUSED};
use crate::client::decode;
use crate::exit::{Exit, Failure};
use crate::print::{self, Cell, Table, escape};
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant mcp list
  covenant mcp list --tools        # every tool, in a line of its own
  covenant mcp list --json         # exactly GET /api/v1/mcp/servers

States: starting, ready, restarting (it failed and is tried again soon),
quarantined (it failed too often, and waits to be used or restarted), stopped
(it starts when it is used), disabled, failed (its entry cannot be used).
A long note is cut; --json has the whole of it, and covenant mcp test NAME more.";

/// As wide as a note gets where no terminal is narrower.
const NOTE: usize = 120;

/// How many tools of a server are named where not all are asked for.
const FEW: usize = 6;

/// List the servers: state, transport and tools.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {
    /// Name every tool of theirs, one per line.
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
        let Servers { servers, warnings, .. } = decode(&document)?;
        if servers.is_empty() {
            remark(&warnings);
            print::note("there is no external server; add one with: covenant mcp add NAME COMMAND [ARGS...]");
            return Ok(Exit::Done);
        }
        table(&servers).print()?;
        for line in refused(&servers) {
            print::line(&line)?;
        }
        let tools = if self.tools { every_tool(&servers) } else { few_tools(&servers) };
        tools.iter().try_for_each(|line| print::line(line))?;
        remark(&warnings);
        Ok(Exit::Done)
    }
}

/// What is wrong with the files, beside what stands in the table.
fn remark(warnings: &[String]) {
    let beside: Vec<String> = warnings.iter().filter(|warning| !warning.ends_with(UNUSED)).cloned().collect();
    print::warn_all(&beside, "covenant mcp list --json");
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

/// A line for each server that has tools, with the first of them, below a line that is empty.
fn few_tools(servers: &[ServerStatus]) -> Vec<String> {
    let line = |server: &ServerStatus| {
        let (shown, left_out) = print::first_few(&server.tools, FEW);
        let shown = shown.iter().map(|tool| escape(tool)).collect::<Vec<_>>().join(", ");
        let more = if left_out > 0 { format!(" and {left_out} more") } else { String::new() };
        format!("{}: {shown}{more}", escape(&server.name))
    };
    let mut lines: Vec<String> = servers.iter().filter(|server| !server.tools.is_empty()).map(line).collect();
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// The name of each server that has tools, with all of them below it.
fn every_tool(servers: &[ServerStatus]) -> Vec<String> {
    let lines = |server: &ServerStatus| {
        let tools = server.tools.iter().map(|tool| format!("  {}", escape(tool)));
        [String::new(), escape(&server.name).into_owned()].into_iter().chain(tools).collect::<Vec<_>>()
    };
    servers.iter().filter(|server| !server.tools.is_empty()).flat_map(lines).collect()
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
    fn tools_are_named_and_of_many_the_first() {
        let (mut many, mut none) =
            (server("many", ServerState::Ready, None), server("none", ServerState::Failed, None));
        many.tools = (1..=9).map(|number| format!("many__t{number}")).collect();
        none.tools.clear();
        let all = [server("a", ServerState::Ready, None), many, none];
        let many = "many: many__t1, many__t2, many__t3, many__t4, many__t5, many__t6 and 3 more";
        assert_eq!(few_tools(&all), ["", "a: a__x, a__y", many]);
        assert!(few_tools(&all[2..]).is_empty());
        let every = every_tool(&all);
        assert_eq!(every[..6], ["", "a", "  a__x", "  a__y", "", "many"]);
        assert_eq!((every.len(), every[14].as_str()), (15, "  many__t9"));
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
