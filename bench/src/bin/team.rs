//! What a team's calls cost beside a long history: each change at 100,000 tasks, on either database, fifty agents at once, and
//! a look at the whole team.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_bench::{line, median};
use covenant_gate::{Clock as _, SystemClock};
use covenant_model::envelope::Status;
use covenant_model::id::{DeveloperId, WorkspaceId};
use covenant_model::principal::Principal;
use covenant_store::{EventsWanted, Store, copy};
use covenant_team::event::Log;
use covenant_team::input::{Call, Tool};
use covenant_team::port::TeamTx as _;
use covenant_team::port::survey::Survey as _;
use covenant_team::work::{self, Kind, Work};
use covenant_team::{Outcome as Done, Request};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const TASKS: u64 = 100_000;
const ROUNDS: u64 = 301;
const AGENTS: u64 = 50;
/// How many more are open when the team is looked at, when those are over; and how many end at a time.
const OPEN: u64 = 10_000;
const SLICE: u64 = 5_000;

async fn says(store: &Store, tool: Tool, arguments: Value) -> Outcome<Done> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let call = Call::read(tool, arguments)?;
    let request =
        Request { principal: Principal::operator(), agent_type: None, call, now: SystemClock.now() };
    let done = store.perform(request).await.map_err(|fault| format!("{fault}: {}", fault.cause()))?;
    if done.envelope.status == Status::Ok { Ok(done) } else { Err(done.envelope.to_text().into()) }
}

fn text(done: &Done, name: &str) -> Value {
    done.envelope.data.get(name).cloned().unwrap_or_default()
}

fn about(operation: &str, number: u64) -> Value {
    let title = format!("Change part {number} of the parser so that it takes {} forms", number * 7 % 1000);
    json!({ "operation": operation, "title": title, "task_type": "feature", "scope": "src/parser and its tests" })
}

/// One task from its plan to its end, and how long each call took.
async fn life(store: &Store, number: u64, times: &mut [Vec<Duration>; 5]) -> Outcome<()> {
    let mut measured = async |place: usize, arguments: Value| -> Outcome<Done> {
        let begun = Instant::now();
        let done = says(store, Tool::Task, arguments).await?;
        times.get_mut(place).into_iter().for_each(|times| times.push(begun.elapsed()));
        Ok(done)
    };
    measured(0, about("plan", number)).await?;
    measured(1, about("check", number + 1)).await?;
    let started = measured(2, about("start", number + 1)).await?;
    let id = text(&started, "task_id");
    measured(3, json!({ "operation": "update", "task_id": id, "status": "blocked" })).await?;
    measured(4, json!({ "operation": "complete", "task_id": id, "result_summary": "done" })).await?;
    Ok(())
}

async fn changes(store: &Store, name: &str, goal: &str) -> Outcome<()> {
    let mut times: [Vec<Duration>; 5] = Default::default();
    for round in 0..ROUNDS {
        life(store, TASKS + 2 * round, &mut times).await?;
    }
    for (what, times) in ["plan", "check", "start", "update", "complete"].into_iter().zip(times) {
        let figure = format!("{:.2} ms", median(times).as_secs_f64() * 1e3);
        line(&format!("{name}: {what}, at {TASKS} tasks"), &figure, goal);
    }
    Ok(())
}

/// Fifty agents at once: each call answers, and each is written down.
async fn crowd(store: &Arc<Store>, name: &str) -> Outcome<()> {
    let begun = Instant::now();
    let mut agents = tokio::task::JoinSet::new();
    for agent in 0..AGENTS {
        let store = Arc::clone(store);
        agents.spawn(async move {
            let session =
                text(&says(&store, Tool::Session, json!({ "operation": "start" })).await?, "session_id");
            for step in 0..10 {
                let number = 10 * TASKS + agent * 1000 + step;
                says(&store, Tool::Session, json!({ "operation": "heartbeat", "session_id": session }))
                    .await?;
                says(&store, Tool::Task, about("check", number)).await?;
                let id = text(&says(&store, Tool::Task, about("start", number)).await?, "task_id");
                let end = json!({ "operation": "complete", "task_id": id, "result_summary": "done" });
                says(&store, Tool::Task, end).await?;
            }
            Outcome::Ok(())
        });
    }
    while let Some(ended) = agents.join_next().await {
        ended??;
    }
    let calls = AGENTS * 41;
    let rate = f64::from(u32::try_from(calls)?) / begun.elapsed().as_secs_f64();
    line(&format!("{name}: {AGENTS} agents at once, {calls} calls"), &format!("{rate:.0} per s"), "no error");
    Ok(())
}

/// Ends tasks until few are open, as many at a time as one transaction should.
async fn settle(store: &Store, workspace: &WorkspaceId) -> Outcome<()> {
    for _ in 0..TASKS / SLICE {
        let mut tx = store.begin_team().await.map_err(|fault| fault.to_string())?;
        tx.take_turn(workspace).await?;
        let most = u32::try_from(SLICE)?;
        for work in tx.running(workspace, Kind::Task, work::Status::Planned, most).await? {
            let ended_at = Some(work.updated_at);
            let result_summary = Some("done".to_owned());
            tx.save_work(&Work { status: work::Status::Done, ended_at, result_summary, ..work }).await?;
        }
        tx.commit().await.map_err(|fault| fault.to_string())?;
    }
    Ok(())
}

/// A look at the whole team, again and again.
async fn looks(store: &Store, name: &str, goal: &str) -> Outcome<()> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        says(store, Tool::Team, json!({ "operation": "state" })).await?;
        times.push(begun.elapsed());
    }
    let figure = format!("{:.2} ms", median(times).as_secs_f64() * 1e3);
    line(&format!("{name}: state, at {OPEN} open and {TASKS} past tasks"), &figure, goal);
    Ok(())
}

async fn usage(store: &Store) -> Outcome<usize> {
    let limit = usize::try_from(20 * TASKS)?;
    let wanted = EventsWanted { log: Log::Usage, workspace: None, developer: None, after: None, limit };
    Ok(store.team_events(wanted).await.map_err(|fault| fault.to_string())?.len())
}

async fn measure(
    store: &Arc<Store>,
    workspace: &WorkspaceId,
    server: Option<&str>,
    goal: &str,
    look: &str,
) -> Outcome<()> {
    let name = if server.is_some() { "PostgreSQL" } else { "SQLite" };
    changes(store, name, goal).await?;
    let before = usage(store).await?;
    crowd(store, name).await?;
    let lost = before + usize::try_from(AGENTS * 41)? - usage(store).await?;
    line(&format!("{name}: calls that were not written down"), &lost.to_string(), "0");
    settle(store, workspace).await?;
    if let Some(url) = server {
        // A server does so by itself, in time: nowhere do this many tasks end within seconds.
        covenant_testkit::psql::execute(url, &["VACUUM ANALYZE".to_owned()]);
    }
    looks(store, name, look).await
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let store = Store::open("sqlite:team.db", place.path()).await?;
    let ids = (WorkspaceId::from_random([1; 10]), DeveloperId::from_random([2; 10]));
    store.found_local(&ids.0, &ids.1, SystemClock.now()).await.map_err(|fault| fault.to_string())?;
    // Those that are ended before the team is looked at, and those that are open then.
    for number in 0..TASKS + OPEN {
        says(&store, Tool::Task, about("plan", number)).await?;
    }
    let server = covenant_testkit::postgres::database()?;
    let server = match server {
        Some(url) => {
            let server = Store::open(&url, place.path()).await?;
            copy(&store, &server, &|_| {}).await?;
            Some((server, url))
        }
        None => None,
    };
    measure(&store, &ids.0, None, "at most 2 ms", "at most 20 ms").await?;
    if let Some((server, url)) = server {
        measure(&server, &ids.0, Some(&url), "at most 4 ms", "at most 40 ms").await?;
    }
    Ok(())
}
