//! What a team's calls cost beside a long history, on either database: each change, each look for overlap, fifty agents at
//! once, and a look at the whole team.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_bench::texts::Dice;
use covenant_bench::{line, median};
use covenant_gate::{Clock as _, SystemClock};
use covenant_model::envelope::Status;
use covenant_model::id::{DeveloperId, WorkspaceId};
use covenant_model::principal::Principal;
use covenant_store::{EventsWanted, Store};
use covenant_team::event::Log;
use covenant_team::input::{Call, Tool};
use covenant_team::port::TeamTx as _;
use covenant_team::work::{self, Brief, Form, Priority, TaskType, Work, WorkId};
use covenant_team::{Outcome as Done, Request};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How much is open in a team of some size and in a huge one, and how much was done there lately.
const SOME: usize = 1_000;
const OPEN: usize = 10_000;
const PAST: usize = 100_000;
/// Longer ago than what is over is looked at.
const LONG_AGO: Duration = Duration::from_hours(24 * 20);
/// How much is written at a time, and how many tasks belong to one workstream.
const SLICE: usize = 5_000;
const STREAM: usize = 10;
const ROUNDS: u64 = 301;
const AGENTS: u64 = 50;
const STEPS: u64 = 10;

/// A database with a team on it, and what may be expected of it.
struct Team {
    store: Arc<Store>,
    name: &'static str,
    /// The URL of its server, where it has one.
    server: Option<String>,
    workspace: WorkspaceId,
    developer: DeveloperId,
    dice: Dice,
    /// The most milliseconds of a change, of a look among some and among many, and at the whole team.
    goals: [u32; 4],
}

impl Team {
    async fn found(store: Arc<Store>, server: Option<String>) -> Outcome<Self> {
        let (workspace, developer) = (WorkspaceId::from_random([1; 10]), DeveloperId::from_random([2; 10]));
        store
            .found_local(&workspace, &developer, SystemClock.now())
            .await
            .map_err(|fault| fault.to_string())?;
        let (name, goals) =
            if server.is_some() { ("PostgreSQL", [4, 6, 30, 40]) } else { ("SQLite", [2, 3, 15, 20]) };
        Ok(Self { store, name, server, workspace, developer, dice: Dice::new(42), goals })
    }

    /// Writes work down as if it had been done here, so long ago.
    async fn fill(&mut self, count: usize, status: work::Status, ago: Duration) -> Outcome<()> {
        for slice in 0..count.div_ceil(SLICE) {
            let mut tx = self.store.begin_team().await.map_err(|fault| fault.to_string())?;
            tx.take_turn(&self.workspace).await?;
            let mut stream = None;
            for number in slice * SLICE..count.min((slice + 1) * SLICE) {
                if number.is_multiple_of(STREAM) {
                    let id = WorkId::Workstream(covenant_model::id::WorkstreamId::from_random(tx.draw()?));
                    tx.add_work(&self.work(id.clone(), Form::Workstream { auto_created: true }, status, ago))
                        .await?;
                    stream = Some(id);
                }
                let workstream = match &stream {
                    Some(WorkId::Workstream(id)) => Some(id.clone()),
                    _ => None,
                };
                let form =
                    Form::Task { task_type: TaskType::Feature, priority: Priority::Normal, workstream };
                let id = WorkId::Task(covenant_model::id::TaskId::from_random(tx.draw()?));
                tx.add_work(&self.work(id, form, status, ago)).await?;
            }
            tx.commit().await.map_err(|fault| fault.to_string())?;
        }
        if let Some(url) = &self.server {
            // A server does so by itself, in time: nowhere is this much written within seconds.
            covenant_testkit::psql::execute(url, &["VACUUM ANALYZE".to_owned()]);
        }
        Ok(())
    }

    fn work(&mut self, id: WorkId, form: Form, status: work::Status, ago: Duration) -> Work {
        let now = SystemClock.now().minus(ago);
        let over = status == work::Status::Done;
        Work {
            id,
            workspace: self.workspace.clone(),
            developer: self.developer.clone(),
            session: None,
            brief: self.dice.brief(),
            form,
            status,
            result_summary: over.then(|| "done".to_owned()),
            reason: None,
            idempotency_key: None,
            created_at: now,
            started_at: Some(now),
            updated_at: now,
            ended_at: over.then_some(now),
        }
    }

    /// Prints how long something took.
    fn told(&self, what: &str, times: Vec<Duration>, goal: Option<u32>) {
        let figure = format!("{:.2} ms", median(times).as_secs_f64() * 1e3);
        let goal = goal.map(|most| format!("at most {most} ms")).unwrap_or_default();
        line(&format!("{}: {what}", self.name), &figure, &goal);
    }

    /// A look for what is new to the team, again and again.
    async fn checks(&mut self, beside: &str, goal: u32) -> Outcome<()> {
        // The first reads everything into memory.
        let begun = Instant::now();
        says(&self.store, Tool::Task, about(&self.dice.brief(), "check")).await?;
        self.told(&format!("the first check, {beside}"), vec![begun.elapsed()], None);
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let call = about(&self.dice.brief(), "check");
            times.push(measured(&self.store, Tool::Task, call).await?.1);
        }
        self.told(&format!("check, {beside}"), times, Some(goal));
        Ok(())
    }

    /// Tasks from their plan to their end.
    async fn changes(&mut self, beside: &str, change: u32, look: u32) -> Outcome<()> {
        let names = ["plan", "check after a change", "start", "update", "complete"];
        let mut times: [Vec<Duration>; 5] = Default::default();
        let mut note =
            |place: usize, time| times.get_mut(place).into_iter().for_each(|times| times.push(time));
        for _ in 0..ROUNDS {
            note(0, measured(&self.store, Tool::Task, about(&self.dice.brief(), "plan")).await?.1);
            let brief = self.dice.brief();
            note(1, measured(&self.store, Tool::Task, about(&brief, "check")).await?.1);
            let (started, time) = measured(&self.store, Tool::Task, about(&brief, "start")).await?;
            note(2, time);
            let id = text(&started, "task_id");
            let blocked = json!({"operation": "update", "task_id": id, "status": "blocked"});
            note(3, measured(&self.store, Tool::Task, blocked).await?.1);
            let done = json!({"operation": "complete", "task_id": id, "result_summary": "done"});
            note(4, measured(&self.store, Tool::Task, done).await?.1);
        }
        for (place, (what, times)) in names.into_iter().zip(times).enumerate() {
            // The first three look for overlap too.
            let goal = if place < 3 { look } else { change };
            self.told(&format!("{what}, {beside}"), times, Some(goal));
        }
        Ok(())
    }

    /// A look at the whole team, again and again.
    async fn states(&self, goal: u32) -> Outcome<()> {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            times.push(measured(&self.store, Tool::Team, json!({"operation": "state"})).await?.1);
        }
        self.told("state", times, Some(goal));
        Ok(())
    }

    /// Fifty agents at once: each call answers, and each is written down.
    async fn crowd(&self) -> Outcome<()> {
        let before = self.usage().await?;
        let begun = Instant::now();
        let mut agents = tokio::task::JoinSet::new();
        for agent in 0..AGENTS {
            let store = Arc::clone(&self.store);
            agents.spawn(async move {
                let mut dice = Dice::new(1_000 + agent);
                let session = says(&store, Tool::Session, json!({"operation": "start"})).await?;
                let session = text(&session, "session_id");
                for _ in 0..STEPS {
                    let beat = json!({"operation": "heartbeat", "session_id": session});
                    says(&store, Tool::Session, beat).await?;
                    let brief = dice.brief();
                    says(&store, Tool::Task, about(&brief, "check")).await?;
                    let id = text(&says(&store, Tool::Task, about(&brief, "start")).await?, "task_id");
                    let end = json!({"operation": "complete", "task_id": id, "result_summary": "done"});
                    says(&store, Tool::Task, end).await?;
                }
                Outcome::Ok(())
            });
        }
        while let Some(ended) = agents.join_next().await {
            ended??;
        }
        let calls = AGENTS * (1 + 4 * STEPS);
        let rate = f64::from(u32::try_from(calls)?) / begun.elapsed().as_secs_f64();
        let what = format!("{}: {AGENTS} agents at once, {calls} calls", self.name);
        line(&what, &format!("{rate:.0} per s"), "no error");
        let lost = before + usize::try_from(calls)? - self.usage().await?;
        line(&format!("{}: calls that were not written down", self.name), &lost.to_string(), "0");
        Ok(())
    }

    async fn usage(&self) -> Outcome<usize> {
        let wanted = EventsWanted {
            log: Log::Usage,
            workspace: None,
            developer: None,
            after: None,
            limit: usize::MAX >> 1,
        };
        Ok(self.store.team_events(wanted).await.map_err(|fault| fault.to_string())?.len())
    }

    async fn measure(mut self) -> Outcome<()> {
        let [change, look, far, all] = self.goals;
        self.fill(SOME, work::Status::Active, Duration::ZERO).await?;
        self.fill(PAST, work::Status::Done, LONG_AGO).await?;
        let beside = format!("{SOME} open, {PAST} long past");
        self.checks(&beside, look).await?;
        self.changes(&beside, change, look).await?;
        self.fill(OPEN - SOME, work::Status::Active, Duration::ZERO).await?;
        self.fill(PAST, work::Status::Done, Duration::ZERO).await?;
        let beside = format!("{OPEN} open, {PAST} past");
        self.checks(&beside, far).await?;
        self.changes(&beside, change, far).await?;
        self.states(all).await?;
        self.crowd().await
    }
}

async fn says(store: &Store, tool: Tool, arguments: Value) -> Outcome<Done> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let call = Call::read(tool, arguments)?;
    let request =
        Request { principal: Principal::operator(), agent_type: None, call, now: SystemClock.now() };
    let done = store.perform(request).await.map_err(|fault| format!("{fault}: {}", fault.cause()))?;
    if done.envelope.status == Status::Ok { Ok(done) } else { Err(done.envelope.to_text().into()) }
}

async fn measured(store: &Store, tool: Tool, arguments: Value) -> Outcome<(Done, Duration)> {
    let begun = Instant::now();
    let done = says(store, tool, arguments).await?;
    Ok((done, begun.elapsed()))
}

fn text(done: &Done, name: &str) -> Value {
    done.envelope.data.get(name).cloned().unwrap_or_default()
}

fn about(brief: &Brief, operation: &str) -> Value {
    json!({
        "operation": operation,
        "title": brief.title,
        "description": brief.description,
        "target_files": brief.target_files,
        "task_type": "feature",
    })
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let place = tempfile::tempdir()?;
    Team::found(Store::open("sqlite:team.db", place.path()).await?, None).await?.measure().await?;
    if let Some(url) = covenant_testkit::postgres::database()? {
        Team::found(Store::open(&url, place.path()).await?, Some(url)).await?.measure().await?;
    }
    Ok(())
}
