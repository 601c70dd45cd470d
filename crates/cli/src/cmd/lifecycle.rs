//! `covenant status`, `stop` and `reload`: the daemon as a whole. None of them starts one.

use std::time::{Duration, Instant};

use anstyle::AnsiColor;
use clap::Args;
use covenant_daemon::lock;
use covenant_model::api::{Reloaded, Status as Shown};
use http::Method;
use serde_json::json;

use crate::cmd::capabilities::short;
use crate::cmd::servers::tally;
use crate::exit::{Exit, Failure};
use crate::print::{self, Cell};
use crate::setting::Setting;

/// How long a daemon may take to finish what it does and go.
const PATIENCE: Duration = Duration::from_mins(1);

const STATUS: &str = "\
Examples:
  covenant status                  # exit code 4 where no daemon runs
  covenant status --json";
const STOP: &str = "\
Examples:
  covenant stop                    # running calls are finished first

A connected MCP client starts it again with its next message: `covenant --mcp`
starts a daemon where none runs. To keep it stopped, end the clients first.";
const RELOAD: &str = "\
Examples:
  covenant reload                  # apply what was changed in files

The files are config.toml, secrets.toml, those of plugins, and the certificate
with its key: new connections get a renewed one, and those that are open keep
the old one. Entries of external servers are applied by themselves, too.
What needs a restart is said, and nothing is applied where a file has a mistake.";

/// Say whether a daemon runs, and where.
#[derive(Debug, Args)]
#[command(after_help = STATUS)]
pub(crate) struct Status {}

/// Stop the daemon and wait until it is gone.
#[derive(Debug, Args)]
#[command(after_help = STOP)]
pub(crate) struct Stop {}

/// Apply changes in the configuration, the secrets and the certificate.
#[derive(Debug, Args)]
#[command(after_help = RELOAD)]
pub(crate) struct Reload {}

impl Status {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let client = setting.running()?.ok_or_else(|| setting.no_daemon())?;
        let status: Shown = client.get("/api/v1/status")?;
        if setting.json() {
            print::json(&status)?;
            return Ok(Exit::Done);
        }
        show(&status)?;
        Ok(Exit::Done)
    }
}

fn show(status: &Shown) -> Result<(), Failure> {
    let state = if status.ready { "serving".to_owned() } else { "not serving calls".to_owned() };
    let origin = status.origin();
    let mut facts = vec![
        ("state", state),
        ("process", status.pid.to_string()),
        ("since", short(&status.started_at.to_string())),
        ("version", format!("{} (schema {})", status.version, status.schema)),
        ("home", status.home.clone()),
        ("socket", status.socket.clone()),
        ("listening", status.urls().join(" ")),
        ("mcp", format!("{origin}/mcp")),
        ("api", format!("{origin}/api/v1/docs")),
        ("database", status.database.clone()),
        ("tools", status.tools.to_string()),
        ("servers", tally(&status.servers)),
    ];
    if !status.public_url.is_empty() {
        let place = facts.iter().position(|(name, _)| *name == "mcp").unwrap_or(facts.len());
        facts.insert(place, ("public", status.public_url.clone()));
    }
    print::facts(&facts)?;
    for reason in &status.reasons {
        print::warn(reason);
    }
    Ok(())
}

impl Stop {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let holder = lock::holder(&setting.home);
        match setting.running()? {
            Some(client) => {
                client.send(Method::POST, "/api/v1/stop", &json!({}))?;
            }
            None if holder.is_none() => {
                let home = setting.home.root().display();
                return Err(Failure::no_daemon(
                    format!("no daemon runs for {home}: there is nothing to stop"),
                    "",
                ));
            }
            // It holds the lock and takes no connections: it is starting, or on its way out already.
            None => {}
        }
        let deadline = Instant::now() + PATIENCE;
        while lock::holder(&setting.home)
            .is_some_and(|now| holder.as_ref().is_none_or(|then| then.pid == now.pid))
        {
            if Instant::now() >= deadline {
                return Err(Failure::failed(
                    format!("the daemon was told to stop and still runs after {} s", PATIENCE.as_secs()),
                    "see what it waits for: covenant logs",
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = holder.map(|holder| holder.pid);
        match (setting.json(), pid) {
            (true, pid) => print::json(&json!({"stopped": true, "pid": pid}))?,
            (false, Some(pid)) => print::line(&format!("stopped the daemon (pid {pid})"))?,
            (false, None) => print::line("stopped the daemon")?,
        }
        Ok(Exit::Done)
    }
}

impl Reload {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let client = setting.running()?.ok_or_else(|| setting.no_daemon())?;
        let reloaded: Reloaded = client.post("/api/v1/reload", &json!({}))?;
        print::warn_all(&reloaded.warnings, "covenant doctor");
        if setting.json() {
            print::json(&reloaded)?;
            return Ok(Exit::Done);
        }
        if reloaded.applied.is_empty() && reloaded.needs_restart.is_empty() {
            print::line("nothing has changed")?;
            return Ok(Exit::Done);
        }
        let mut table = print::Table::new(&["SETTING", "EFFECT"]);
        for key in &reloaded.applied {
            table.row([key.into(), Cell::coloured("applied", AnsiColor::Green)]);
        }
        for key in &reloaded.needs_restart {
            table.row([key.into(), Cell::coloured("after a restart", AnsiColor::Yellow)]);
        }
        table.print()?;
        if !reloaded.needs_restart.is_empty() {
            print::note(
                "restart it with: covenant stop && covenant up --detach\n\
                 (one that runs in a terminal: Ctrl-C there, and then covenant up)",
            );
        }
        Ok(Exit::Done)
    }
}
