//! Agents: which there are, what their manifests say, what they used. They come with files alone; reading those again is all that
//! can be asked for.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_model::api::{AgentEntry, AgentUsage, AgentsRead};
use covenant_model::manifest::Manifest;
use covenant_tools::agent::account::HOUR;
use http::Uri;
use serde::Deserialize;

use super::super::auth::Admin;
use super::super::document::{Asked, Segment};
use super::super::reply::{self, Failure};
use super::list::{Part, most};
use crate::agents::catalogue::Catalogue;
use crate::agents::entry;
use crate::daemon::Daemon;

/// All of them, by file; also the manifests that are not used, each with why.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    uri: Uri,
    Asked(part): Asked<Part>,
) -> Result<Response, Failure> {
    let (catalogue, home) = (daemon.agents.catalogue(), daemon.home.clone());
    let looked = tokio::task::spawn_blocking(move || entries(&catalogue, &home));
    let entries = looked.await.map_err(|error| Failure::broken(&error))?;
    let agents = format!("{}/", daemon.home.agents().display());
    let place = |entry: &AgentEntry| entry.file.strip_prefix(&agents).unwrap_or(&entry.file).to_owned();
    let cut = part.of(entries, place)?;
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}

fn entries(catalogue: &Catalogue, home: &crate::home::Home) -> Vec<AgentEntry> {
    let ready = catalogue.agents.iter().map(|agent| {
        let problems: Vec<String> = entry::check(agent, home).err().into_iter().collect();
        let status = if problems.is_empty() { "ready" } else { "unusable" };
        AgentEntry {
            id: Some(agent.id.clone()),
            name: Some(agent.name.clone()),
            version: Some(agent.version.clone()),
            runtime: Some(agent.runtime.to_string()),
            description: agent.description.clone(),
            tool: Some(agent.tool()),
            file: agent.file.display().to_string(),
            status: status.to_owned(),
            problems,
        }
    });
    let refused = catalogue.bad.iter().map(|bad| AgentEntry {
        id: None,
        name: None,
        version: None,
        runtime: None,
        description: String::new(),
        tool: None,
        file: bad.file.display().to_string(),
        status: "refused".to_owned(),
        problems: bad.problems.clone(),
    });
    ready.chain(refused).collect()
}

/// The manifest of one, by its id or its name, with everything in it and what it leaves out.
pub(crate) async fn show(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    Segment(wanted): Segment,
) -> Result<Response, Failure> {
    let catalogue = daemon.agents.catalogue();
    let all: Vec<&Manifest> = catalogue.agents.iter().map(|agent| &**agent).collect();
    let agent = named(&all, &wanted)?;
    reply::json(&daemon.gate.redactor(), &agent.document)
}

/// The agent of that id or name.
pub(super) fn named<'m>(agents: &[&'m Manifest], wanted: &str) -> Result<&'m Manifest, Failure> {
    covenant_tools::agent::route::named(wanted, agents)
        .map_err(|error| Failure::not_found(error.to_string(), "see which there are: covenant agents list"))
}

/// Reads the manifests again.
pub(crate) async fn reload(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
) -> Result<Response, Failure> {
    let before = daemon.agents.catalogue();
    let now = daemon.agents.read(&daemon.gate).await?;
    let had = |catalogue: &Catalogue, agent: &Manifest| {
        catalogue.agents.iter().any(|other| other.id == agent.id && **other == *agent)
    };
    let changed = now.agents.iter().filter(|agent| !had(&before, agent)).map(|agent| agent.id.clone());
    let ids =
        |catalogue: &Catalogue| catalogue.agents.iter().map(|agent| agent.id.clone()).collect::<Vec<_>>();
    let left = ids(&now);
    let read = AgentsRead {
        agents: left.clone(),
        changed: changed.collect(),
        removed: ids(&before).into_iter().filter(|id| !left.contains(id)).collect(),
        problems: now.bad.iter().flat_map(|bad| bad.problems.clone()).collect(),
        warnings: now.warnings.clone(),
    };
    let reason = format!("changed: {}; removed: {}", read.changed.join(", "), read.removed.join(", "));
    daemon.gate.record(&operator, covenant_model::audit::Kind::AgentsLoaded, "agents", Some(&reason)).await?;
    reply::json(&daemon.gate.redactor(), &read)
}

/// Since when.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Since {
    /// Hours back.
    #[serde(default = "one")]
    hours: u64,
    #[serde(default = "most")]
    limit: usize,
    after: Option<String>,
}

fn one() -> u64 {
    1
}

/// What each agent used, and what it may in an hour.
pub(crate) async fn usage(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    uri: Uri,
    Asked(Since { hours, limit, after }): Asked<Since>,
) -> Result<Response, Failure> {
    if !(1..=24 * 366).contains(&hours) {
        return Err(Failure::invalid("`hours` is 1 to 8784"));
    }
    let since = daemon.clock.now().minus(HOUR * u32::try_from(hours).unwrap_or(1));
    let used = daemon.store.agent_use(since).await?;
    let catalogue = daemon.agents.catalogue();
    let mut usage: Vec<AgentUsage> = catalogue
        .agents
        .iter()
        .map(|agent| AgentUsage {
            agent: agent.id.clone(),
            runs: 0,
            credits: 0,
            cap: agent.settlement.budget_credits_per_hour,
        })
        .collect();
    for one in used {
        match usage.iter_mut().find(|entry| entry.agent == one.agent) {
            Some(entry) => (entry.runs, entry.credits) = (one.runs, one.credits),
            // It has gone, and what it used has not.
            None => usage.push(AgentUsage { agent: one.agent, runs: one.runs, credits: one.credits, cap: 0 }),
        }
    }
    let cut = Part { limit, after }.of(usage, |one| one.agent.clone())?;
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}
