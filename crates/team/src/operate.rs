//! Which operation a call is, and how the things it names are found: only its developer's own.

mod audit;
mod change;
mod check;
mod context;
mod coordination;
mod create;
mod depart;
mod faces;
mod files;
mod look;
mod lots;
mod note;
mod opening;
mod people;
mod session;
mod state;
mod summary;
mod warning;

use covenant_model::time::Timestamp;
use serde_json::{Map, Value, json};

use crate::input::{
    Call, Invalid, SessionOperation, TeamOperation, WarningOperation, WorkInput, WorkOperation,
};
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::{Member, TeamTx};
use crate::rules::privacy;
use crate::work::{Kind, Work, WorkId};

/// What an operation comes to.
type Done = Result<Outcome, Stop>;

pub(crate) use depart::depart;

/// Performs it.
pub(crate) async fn operate(tx: &mut impl TeamTx, seat: &Seat, call: &Call) -> Done {
    match call {
        Call::Work(kind, input) => match input.operation {
            WorkOperation::Check => check::check(tx, seat, *kind, input).await,
            WorkOperation::Plan => create::plan(tx, seat, *kind, input).await,
            WorkOperation::Start => create::start(tx, seat, *kind, input).await,
            WorkOperation::StartPlanned => create::start_planned(tx, seat, *kind, input).await,
            WorkOperation::Update => change::update(tx, seat, *kind, input).await,
            WorkOperation::Complete => change::complete(tx, seat, *kind, input).await,
            WorkOperation::Cancel => change::cancel(tx, seat, *kind, input).await,
        },
        Call::Session(input) => match input.operation {
            SessionOperation::Start => session::start(tx, seat, input).await,
            SessionOperation::Heartbeat => session::heartbeat(tx, seat, input).await,
            SessionOperation::Snapshot => session::snapshot(tx, seat, input).await,
            SessionOperation::Activity => session::activity(seat, input),
            SessionOperation::PublishContext => context::publish(tx, seat, input).await,
            SessionOperation::GetContext => context::get(tx, seat, input).await,
            SessionOperation::RevokeContext => context::revoke(tx, seat, input).await,
            SessionOperation::End => session::end(tx, seat).await,
        },
        Call::Note(input) => note::note(tx, seat, input).await,
        Call::Coordination(input) => coordination::coordinate(tx, seat, input).await,
        Call::Team(input) => match input.operation {
            TeamOperation::State => state::state(tx, seat, input).await,
            TeamOperation::Feedback => note::feedback(tx, seat, input).await,
            TeamOperation::AuditParallelWork => audit::audit(tx, seat).await,
            TeamOperation::GenerateWeeklySummary => summary::generate(tx, seat).await,
        },
        Call::Warning(input) => match input.operation {
            WarningOperation::Dismiss => warning::dismiss(tx, seat, input).await,
        },
    }
}

/// The caller's own work with that id.
async fn own(tx: &mut impl TeamTx, seat: &Seat, id: &WorkId) -> Result<Work, Stop> {
    let found = tx.work(id).await?.filter(|work| work.developer == seat.member.id);
    found.ok_or_else(|| Denied::missing(id.kind().as_str(), id.as_str()).into())
}

/// The member of the caller's team with that handle. Of a private one it is not told that there is one.
async fn teammate(tx: &mut impl TeamTx, seat: &Seat, handle: &str) -> Result<Member, Stop> {
    let handle = handle.trim_start_matches('@');
    let member = tx.member_called(&seat.member.workspace, handle).await?;
    member.filter(|member| !privacy::is_hidden(member, &seat.member.id)).ok_or_else(|| {
        let message = format!("There is no developer `{handle}` in your team.");
        let action = "Use the handle of a teammate; covenant team members lists them.";
        Denied::new("no_developer", message, action).into()
    })
}

/// The id of the work that a call is about.
fn named(kind: Kind, input: &WorkInput) -> Result<WorkId, Invalid> {
    let (field, id) = match kind {
        Kind::Task => ("task_id", input.task_id.clone().map(WorkId::Task)),
        Kind::Workstream => ("workstream_id", input.workstream_id.clone().map(WorkId::Workstream)),
    };
    id.ok_or_else(|| Invalid::new(field, "is required"))
}

/// The planned work that a call is about.
fn planned(kind: Kind, input: &WorkInput) -> Result<WorkId, Invalid> {
    match (kind, &input.planned_task_id, &input.task_id) {
        (Kind::Task, Some(id), _) | (Kind::Task, None, Some(id)) => Ok(WorkId::Task(id.clone())),
        (Kind::Task, None, None) => Err(Invalid::new("planned_task_id", "is required")),
        (Kind::Workstream, ..) => named(kind, input),
    }
}

impl Outcome {
    /// The same, with how that work stands.
    fn showing(self, work: &Work) -> Self {
        let this = match work.kind() {
            Kind::Task => {
                let workstream = work.workstream().map(|id| Value::from(id.as_str()));
                self.with("task_id", work.id.as_str())
                    .with("workstream_id", workstream.unwrap_or(Value::Null))
            }
            Kind::Workstream => self.with("workstream_id", work.id.as_str()),
        };
        this.with("title", work.brief.title.as_str()).with("status", work.status.as_str()).about(&work.id)
    }
}

/// Details of an event.
fn details(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Details that name a title alone.
fn titled(title: &str) -> Map<String, Value> {
    details(json!({ "title": title }))
}

/// A moment as agents read it.
fn moment(at: Timestamp) -> Value {
    Value::from(at.to_string())
}
