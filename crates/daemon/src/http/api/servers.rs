//! External servers: which there are, how each is, and what the operator does with them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use covenant_gate::Operator;
use covenant_mcp::fleet::NoServer;
use covenant_model::server::{
    Entry, NewServer, Phase, ServerAdded, ServerLog, ServerRemoved, ServerStatus, ServerTest,
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::auth::Admin;
use super::super::document::{Asked, Document, Segment};
use super::super::reply::{self, Failure};
use super::super::via::Via;
use super::tools;
use crate::daemon::Daemon;
use crate::servers;
use crate::servers::change::{ChangeError, Command};

/// What is done beside.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    #[serde(default)]
    persist: bool,
}

#[derive(Serialize)]
struct Tools {
    tools: Vec<Arc<RawValue>>,
}

/// All servers.
pub(crate) async fn list(State(daemon): State<Arc<Daemon>>, _admin: Admin) -> Result<Response, Failure> {
    reply::json(&daemon.gate.redactor(), &daemon.desk.servers())
}

/// One server.
pub(crate) async fn show(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let status = daemon.desk.fleet.server(&name).map_err(|error| missing(&error))?;
    reply::json(&daemon.gate.redactor(), &status)
}

/// Adds a server. How its start went is part of the answer: also one that failed was added.
pub(crate) async fn add(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Extension(via): Extension<Via>,
    Document(new): Document<NewServer>,
) -> Result<Response, Failure> {
    let may = via.is_local() || daemon.config().http.remote_admin;
    if let Some(reason) = guarded(&new.entry).filter(|_| !may) {
        return Err(remote(reason));
    }
    let (name, connect) = (new.entry.name.clone(), new.connect);
    daemon.add_server(&operator, new).await.map_err(failed)?;
    let status =
        if connect { daemon.desk.fleet.settled(&name).await } else { daemon.desk.fleet.server(&name) };
    let ServerStatus { name, connected, tools, tool_count, error, .. } =
        status.map_err(|error| missing(&error))?;
    let added = ServerAdded { name, connected, tools, tool_count, error };
    let mut response = reply::json(&daemon.gate.redactor(), &added)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Takes a server away, and its tools with it.
pub(crate) async fn remove(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(name): Segment,
    Asked(Choice { persist }): Asked<Choice>,
) -> Result<Response, Failure> {
    let files = daemon.remove_server(&operator, &name, persist).await.map_err(failed)?;
    reply::json(&daemon.gate.redactor(), &ServerRemoved { name, removed: true, files })
}

/// What it offers: a `tools/list` result.
pub(crate) async fn list_tools(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let status = daemon.desk.fleet.server(&name).map_err(|error| missing(&error))?;
    let is_its =
        |spec: &Arc<RawValue>| tools::name(spec.get()).is_some_and(|name| status.tools.contains(&name));
    let tools = daemon.gate.catalogue(&operator).into_iter().filter(is_its).collect();
    reply::json(&daemon.gate.redactor(), &Tools { tools })
}

/// Starts it, or reaches it, if it is not ready.
pub(crate) async fn connect(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    command(&daemon, &operator, &name, Command::Connect).await
}

/// Lets it go until it is connected again.
pub(crate) async fn disconnect(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    command(&daemon, &operator, &name, Command::Disconnect).await
}

/// Ends it and starts it anew.
pub(crate) async fn restart(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    command(&daemon, &operator, &name, Command::Restart).await
}

/// Tries it: started or reached anew, asked, and let go.
pub(crate) async fn test(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let plan = daemon.desk.plan(&name).ok_or_else(|| missing(&NoServer(name.clone())))?;
    let tested = match plan {
        Ok(plan) => daemon.desk.fleet.test(&plan).await,
        Err(detail) => {
            let phase = Phase { phase: "entry".to_owned(), ok: false, ms: 0, detail };
            ServerTest { name, ok: false, phases: vec![phase], tools: Vec::new(), era: None, log: Vec::new() }
        }
    };
    reply::json(&daemon.gate.redactor(), &tested)
}

/// The last lines of its standard error.
pub(crate) async fn logs(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let lines = daemon.desk.fleet.log(&name).map_err(|error| missing(&error))?;
    reply::json(&daemon.gate.redactor(), &ServerLog { name, lines })
}

async fn command(
    daemon: &Daemon,
    operator: &Operator,
    name: &str,
    command: Command,
) -> Result<Response, Failure> {
    let status = daemon.command_server(operator, name, command).await.map_err(failed)?;
    reply::json(&daemon.gate.redactor(), &status)
}

fn missing(error: &NoServer) -> Failure {
    Failure::not_found(error.to_string(), "see what there is with `covenant mcp list`")
}

/// Why an entry is for people on this machine, where it is.
fn guarded(entry: &Entry) -> Option<&'static str> {
    if !entry.command.is_empty() {
        return Some("a server with a `command` starts a program on the daemon's machine");
    }
    servers::borrows(entry).then_some(
        "an entry with `$VAR`, `${secret:NAME}` or `~` hands what the daemon's machine knows to the server",
    )
}

fn remote(reason: &str) -> Failure {
    let message = format!("{reason}, and this listener can be reached from other machines");
    let action = "add it on that machine with `covenant mcp add`, or set `remote_admin = true` in [http]";
    Failure::new(StatusCode::FORBIDDEN, "remote_admin", message, action)
}

fn failed(error: ChangeError) -> Failure {
    let sentence = error.to_string();
    match error {
        ChangeError::Bad(_) => Failure::invalid(sentence),
        ChangeError::Taken { name, .. } => {
            let action = format!("choose another name, or remove it first: covenant mcp remove {name}");
            Failure::new(StatusCode::CONFLICT, "taken", sentence, action)
        }
        ChangeError::Away { name, .. } => {
            let action = format!(
                "bring it back with `covenant mcp restart {name}`, or take it out of the file with `covenant mcp remove \
                 {name}` and add it again"
            );
            Failure::new(StatusCode::CONFLICT, "taken", sentence, action)
        }
        ChangeError::Half { .. } => {
            let action = "look at the file before you try again";
            Failure::new(StatusCode::CONFLICT, "config_file", sentence, action)
        }
        ChangeError::Missing(error) => missing(&error),
        ChangeError::Edit(_) | ChangeError::Reading(_) => {
            let action = "correct that, and try again; nothing was changed";
            Failure::new(StatusCode::CONFLICT, "config_file", sentence, action)
        }
        ChangeError::Fault(fault) => fault.into(),
    }
}
