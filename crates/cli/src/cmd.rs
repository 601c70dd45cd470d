//! One file per group of commands. Here only: which words lead to which file, and how it all ends.

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod capabilities;
pub(crate) mod clients;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dashboard;
pub(crate) mod doctor;
pub(crate) mod intents;
pub(crate) mod lifecycle;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod restore;
pub(crate) mod sandbox;
pub(crate) mod scripts;
pub(crate) mod secrets;
pub(crate) mod servers;
pub(crate) mod store;
pub(crate) mod team;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod up;
pub(crate) mod version;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::args::{self, Command, CommandLine};
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::{Output, Setting};

/// Does what the command line says.
pub(crate) fn run() -> ExitCode {
    let line = match CommandLine::try_parse_from(args::typed(std::env::args_os())) {
        Ok(line) => line,
        Err(error) => return misread(&error).into(),
    };
    let output = line.global.output();
    match dispatch(line) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.report(output);
            failure.exit().into()
        }
    }
}

/// What was typed is no command, or asks for help.
fn misread(error: &clap::Error) -> Exit {
    let wants_json = std::env::args_os().any(|word| word == "--json");
    if !error.use_stderr() || (!wants_json && args::unknown(error).is_none()) {
        // Help and versions go to standard output; a reader that has gone away is no failure.
        let _ = error.print();
        return if error.use_stderr() { Exit::Usage } else { Exit::Done };
    }
    let output = if wants_json { Output::Machines } else { Output::People };
    let failure = args::unknown(error).unwrap_or_else(|| told(&error.to_string()));
    failure.report(output);
    failure.exit()
}

/// The parser's own words, without the usage below them.
fn told(text: &str) -> Failure {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let message = text.split("\n\n").next().unwrap_or(text).trim();
    Failure::usage(message, "add --help to see what can be typed")
}

fn dispatch(line: CommandLine) -> Result<Exit, Failure> {
    let setting = || Setting::new(&line.global);
    match (line.mcp, line.command) {
        (true, None) => mcp::run(&setting()?, line.url.as_deref()),
        (true, Some(_)) => {
            Err(Failure::usage("`--mcp` stands alone: it takes no command", "start it as: covenant --mcp"))
        }
        (false, None) => {
            print::note(&CommandLine::command().render_help().to_string());
            Ok(Exit::Usage)
        }
        (false, Some(command)) => match command {
            Command::Up(up) => up.run(&setting()?),
            Command::Status(status) => status.run(&setting()?),
            Command::Stop(stop) => stop.run(&setting()?),
            Command::Reload(reload) => reload.run(&setting()?),
            Command::Logs(logs) => logs.run(&setting()?),
            Command::Doctor(doctor) => doctor.run(&setting()?),
            Command::Dashboard(dashboard) => dashboard.run(&setting()?),
            Command::Tools(tools) => tools.run(&setting()?),
            Command::Mcp(servers) => servers.run(&setting()?),
            Command::Capabilities(capabilities) => capabilities.run(&setting()?),
            Command::Clients(clients) => clients.run(&setting()?),
            Command::Team(team) => team.run(&setting()?),
            Command::Tokens(tokens) => tokens.run(&setting()?),
            Command::Approvals(approvals) => approvals.run(&setting()?),
            Command::Scripts(scripts) => scripts.run(&setting()?),
            Command::Agents(agents) => agents.run(&setting()?),
            Command::Intent(intent) => intent.run(&setting()?),
            Command::Intents(intents) => intents.run(&setting()?),
            Command::Audit(audit) => audit.run(&setting()?),
            Command::Sandbox(sandbox) => sandbox.run(&setting()?),
            Command::Secrets(secrets) => secrets.run(&setting()?),
            Command::Memory(memory) => memory.run(&setting()?),
            Command::Config(config) => config.run(&setting()?),
            Command::Backup(backup) => backup.run(&setting()?),
            Command::Restore(restore) => restore.run(&setting()?),
            Command::Store(store) => store.run(&setting()?),
            Command::Completions(completions) => completions.run(),
        },
    }
}

/// Runs something that waits, in a command that has nothing else to do.
fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = covenant_daemon::runtime();
    let runtime =
        runtime.map_err(|error| Failure::failed(format!("no thread could be started: {error}"), ""))?;
    Ok(runtime.block_on(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_the_command_line_is_one_sentence_for_programs() {
        let error = CommandLine::try_parse_from(["covenant", "audit", "recent", "-n", "x"]).unwrap_err();
        let failure = told(&error.to_string());
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.message().contains("`x` is not a count"), "{failure:?}");
        assert!(!failure.message().contains("error:") && !failure.message().contains('\n'), "{failure:?}");
    }
}
