//! Intents: sent to an agent, followed, looked up and taken back. Each is a call of its agent's tool, and takes the path of calls.

mod follow;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use covenant_gate::context::Trace;
use covenant_gate::operator::Peer;
use covenant_gate::{Admitted, CallError, CallRequest, Caller, Context, Fault, Redacted, Refusal, random};
use covenant_model::intent::{IntentBody, IntentId, IntentReply, IntentShown, IntentStatus};
use covenant_model::manifest::Manifest;
use covenant_model::principal::{Kind, Principal};
use covenant_store::IntentsWanted;
use covenant_tools::agent::route::{NoRoute, route};
use http::header::{HeaderValue, LOCATION};
use http::{HeaderMap, StatusCode, Uri};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::auth::Who;
use super::super::document::{Asked, Document, Segment};
use super::super::reply::{self, Failure};
use super::super::serve::HungUp;
use super::agents::named;
use super::list::{Cut, most};
use crate::daemon::Daemon;

pub(crate) use follow::events;

/// Sends one, and answers what came of it; with `wait: false` as soon as it is taken in.
pub(crate) async fn send(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    // A caller who hangs up takes back what it waits for.
    Extension(HungUp(hung_up)): Extension<HungUp>,
    headers: HeaderMap,
    Document(body): Document<IntentBody>,
) -> Result<Response, Failure> {
    let admitted = daemon.gate.admit(&caller)?;
    let catalogue = daemon.agents.catalogue();
    let agent = match &body.agent {
        Some(wanted) => named(&offered(&daemon, &caller, &catalogue.agents, Some(wanted)), wanted)?,
        None => chosen(&body.text, &offered(&daemon, &caller, &catalogue.agents, None))?,
    };
    let id = IntentId::from_random(random::bytes()?);
    let traceparent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    // Nobody's hanging up takes back what is not waited for; only the daemon's end does.
    let cancel = if body.wait { hung_up } else { daemon.stop.giving_up.child_token() };
    let context = Context::new(cancel)
        .traced(traceparent.and_then(Trace::from_traceparent))
        .known_as(id.as_str().to_owned());
    let request = CallRequest { name: agent.tool(), arguments: arguments(&body) };
    if body.wait {
        let result = daemon.gate.call(admitted, request, context).await?;
        return reply::json(&daemon.gate.redactor(), &said(&result)?);
    }
    begin(daemon, admitted, request, context, id).await
}

fn arguments(body: &IntentBody) -> Map<String, Value> {
    let mut arguments = Map::from_iter([("text".to_owned(), json!(body.text))]);
    arguments.extend(body.priority.map(|priority| ("priority".to_owned(), json!(priority))));
    arguments.extend(body.parent.as_ref().map(|parent| ("parent".to_owned(), json!(parent))));
    arguments
}

/// The agents that caller may know of: all for the operator; for anyone else those it could send something to, and the one it
/// names, so that it is told what it lacks.
fn offered<'m>(
    daemon: &Daemon,
    caller: &Caller,
    agents: &'m [Arc<Manifest>],
    wanted: Option<&str>,
) -> Vec<&'m Manifest> {
    let knows = |agent: &&Manifest| {
        caller.principal().kind() == Kind::Operator
            || wanted.is_some_and(|wanted| wanted == agent.id || wanted == agent.name)
            || daemon.gate.is_offered(caller, &agent.tool())
    };
    agents.iter().map(|agent| &**agent).filter(knows).collect()
}

/// The one of them that fits best.
fn chosen<'m>(text: &str, agents: &[&'m Manifest]) -> Result<&'m Manifest, Failure> {
    route(text, agents).map_err(|error| {
        let action = match error {
            NoRoute::Nobody => "if you have made one, have it read: covenant agents reload",
            NoRoute::Unclear(_) | NoRoute::Unknown { .. } => {
                "name one, by its id or its name: covenant intent --agent ID …"
            }
        };
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "no_agent", error.to_string(), action)
    })
}

/// What an agent's tool answered.
fn said(result: &Redacted) -> Result<IntentReply, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answered {
        structured_content: Option<IntentReply>,
        #[serde(default)]
        content: Vec<Value>,
    }
    let broken = |error| Failure::from(Fault::new("what the agent answered cannot be told", error));
    let answered: Answered = serde_json::from_str(result.json().get()).map_err(broken)?;
    answered.structured_content.ok_or_else(|| {
        let text = answered.content.first().and_then(|block| block.get("text")).and_then(Value::as_str);
        let text = text.map(|text| text.strip_prefix("Error: ").unwrap_or(text));
        Failure::invalid(text.unwrap_or("the intent was not taken in"))
    })
}

/// Sends it and does not wait for what comes of it: only until it is known that it was taken in.
async fn begin(
    daemon: Arc<Daemon>,
    admitted: Admitted,
    request: CallRequest,
    context: Context,
    id: IntentId,
) -> Result<Response, Failure> {
    // The daemon ends after it: its end is kept, and nothing is left of its run.
    let Some(busy) = daemon.stop.begin() else {
        let message = "the daemon is stopping, and takes no intents any more";
        let action = "send it again when the daemon runs";
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "fault", message, action));
    };
    let gate = Arc::clone(&daemon.gate);
    let mut call = tokio::spawn(async move {
        let ended = gate.call(admitted, request, context).await;
        drop(busy);
        ended
    });
    let desk = Arc::clone(&daemon.agents.house.desk);
    tokio::select! {
        biased;
        () = desk.taken_in(&id) => {}
        ended = &mut call => {
            let ended: Result<Redacted, CallError> = ended.map_err(|error| Failure::broken(&error))?;
            return reply::json(&daemon.gate.redactor(), &said(&ended?)?);
        }
    }
    let told =
        json!({"intent_id": id, "status": IntentStatus::Queued, "url": format!("/api/v1/intents/{id}")});
    let mut response = reply::json(&daemon.gate.redactor(), &told)?;
    *response.status_mut() = StatusCode::ACCEPTED;
    if let Ok(place) = HeaderValue::from_str(&format!("/api/v1/intents/{id}")) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response.into_response())
}

/// Which are wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(default = "most")]
    limit: usize,
    after: Option<String>,
    agent: Option<String>,
}

/// Those there were, newest first: all for the operator, their own for anyone else.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    uri: Uri,
    Asked(Wanted { limit, after, agent }): Asked<Wanted>,
) -> Result<Response, Failure> {
    daemon.gate.admit(&caller)?;
    if !(1..=most()).contains(&limit) {
        return Err(Failure::invalid(format!("`limit` is {limit}: it is 1 to {}", most())));
    }
    let before = after.as_deref().map(place).transpose()?;
    let Sight { issuer, parent } = sight(&daemon, &caller)?;
    let wanted = IntentsWanted { issuer, parent, agent, before, limit: limit + 1 };
    let mut records = daemon.store.intents(wanted).await?;
    let more = records.len() > limit;
    records.truncate(limit);
    let next = records.last().filter(|_| more);
    let next = next.map(|record| format!("{}~{}", record.issued_at.millis(), record.intent_id));
    let cut = Cut { items: records, next };
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}

/// A place in the list.
fn place(after: &str) -> Result<(covenant_model::time::Timestamp, IntentId), Failure> {
    let read = || {
        let (millis, id) = after.split_once('~')?;
        Some((covenant_model::time::Timestamp::from_millis(millis.parse().ok()?), id.parse().ok()?))
    };
    read().ok_or_else(|| {
        Failure::invalid("`after` is no place in this list: take it from the `Link` of an answer")
    })
}

/// Which intents somebody sees: nobody's in particular is everybody's.
struct Sight {
    issuer: Option<Principal>,
    parent: Option<IntentId>,
}

/// The operator sees all, a client its own, and a run what it issued itself: not what other runs of its agent did, which may
/// act for others.
fn sight(daemon: &Daemon, caller: &Caller) -> Result<Sight, Failure> {
    if daemon.gate.operator(caller, Peer::default()).is_ok() {
        return Ok(Sight { issuer: None, parent: None });
    }
    let issuer = Some(caller.principal().clone());
    let Some(dispatch) = caller.dispatch() else { return Ok(Sight { issuer, parent: None }) };
    let parent = daemon.agents.house.desk.of_call(dispatch);
    // Without an intent under way it is over.
    Ok(Sight { issuer, parent: Some(parent.ok_or(Refusal::Unauthenticated)?) })
}

/// One of them, with how it came about.
pub(crate) async fn show(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Segment(id): Segment,
) -> Result<Response, Failure> {
    daemon.gate.admit(&caller)?;
    let shown = IntentShown::from(found(&daemon, &caller, read(id)?).await?);
    reply::json(&daemon.gate.redactor(), &shown)
}

fn read(id: String) -> Result<IntentId, Failure> {
    IntentId::try_from(id).map_err(|error| Failure::malformed(error.to_string()))
}

/// That intent, if the caller may know of it. Of one that is under way, how it stands this moment.
async fn found(
    daemon: &Daemon,
    caller: &Caller,
    id: IntentId,
) -> Result<covenant_model::intent::IntentRecord, Failure> {
    let live = daemon.agents.house.desk.get(&id);
    let record = match live {
        Some(record) => Some(record),
        None => daemon.store.intent(&id).await?,
    };
    let Sight { issuer, parent } = sight(daemon, caller)?;
    let mine = record.filter(|record| {
        issuer.is_none_or(|issuer| issuer == record.issuer)
            && parent.is_none_or(|parent| record.parent == Some(parent))
    });
    mine.ok_or_else(|| missing(&id))
}

fn missing(id: &IntentId) -> Failure {
    Failure::not_found(format!("there is no intent {id}"), "see which there are: covenant intents list")
}

/// Takes one back.
pub(crate) async fn cancel(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Segment(id): Segment,
) -> Result<Response, Failure> {
    daemon.gate.admit(&caller)?;
    let record = found(&daemon, &caller, read(id)?).await?;
    let desk = &daemon.agents.house.desk;
    if record.status.is_over() || desk.cancel(&record.id, caller.principal()).is_none() {
        let message = format!("intent {} is over already ({})", record.id, record.status.as_str());
        let action = format!("see what came of it: covenant intents show {}", record.id);
        return Err(Failure::new(StatusCode::CONFLICT, "over", message, action));
    }
    desk.gone(&record.id).await;
    let shown = IntentShown::from(found(&daemon, &caller, record.id).await?);
    reply::json(&daemon.gate.redactor(), &shown)
}
