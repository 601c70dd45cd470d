//! Work that is planned or started: never started without a check, and a task never without a workstream.

use covenant_model::id::{RANDOM_BYTES, WorkstreamId};
use serde_json::{Value, json};

use super::look::{self, Look, Wanted};
use super::opening::{self, DUPLICATE, Opened};
use super::{Done, check, details, own, planned, titled, warning};
use crate::input::WorkInput;
use crate::overlap::Query;
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::{Member, TeamTx};
use crate::rules::stale;
use crate::rules::step::{self, Step};
use crate::session::Session;
use crate::title;
use crate::warning::{Settled, Warning};
use crate::work::{Brief, Form, Kind, Priority, Status, Work, WorkId};

/// Logs future work.
pub(super) async fn plan(tx: &mut impl TeamTx, seat: &Seat, kind: Kind, input: &WorkInput) -> Done {
    create(tx, seat, kind, input, Status::Planned).await
}

/// Starts work.
pub(super) async fn start(tx: &mut impl TeamTx, seat: &Seat, kind: Kind, input: &WorkInput) -> Done {
    create(tx, seat, kind, input, Status::Active).await
}

async fn create(tx: &mut impl TeamTx, seat: &Seat, kind: Kind, input: &WorkInput, status: Status) -> Done {
    let brief = input.brief()?;
    // A key belongs to the operation it was given with: to start what was planned is another call.
    let key = input.key()?.map(|key| format!("{}:{key}", input.operation.as_str()));
    let task_type = check::task_type(kind, input)?;
    tx.take_turn(&seat.member.workspace).await?;
    if let Some(key) = &key
        && let Some(made) = tx.work_by_key(kind, &seat.member.id, key).await?
    {
        return repeated(tx, seat, &made, &brief).await;
    }
    let within = input.workstream_id.as_ref().filter(|_| kind == Kind::Task);
    if let Some(id) = within {
        attached(tx, seat, id).await?;
    }
    let wanted = Wanted { kind, brief: &brief, itself: None, within, undecided: false };
    let leave = match status {
        Status::Active => match opening::open(tx, seat, &wanted, input).await? {
            Ok(opened) => Leave::Start(Box::new(opened)),
            Err(blocked) => return Ok(blocked),
        },
        _ => match planning(tx, seat, &wanted, input).await? {
            Ok(found) => Leave::Plan(Box::new(found)),
            Err(blocked) => return Ok(blocked),
        },
    };
    let mut outcome = match &leave {
        Leave::Start(_) => Outcome::ok(format!("The {kind} is started.")),
        Leave::Plan(found) if found.0.is_strong() => Outcome::warning(
            format!("The {kind} is planned. {DUPLICATE}"),
            "Look at `matches` before you start it; cancel it if somebody does it or has done it already.",
        ),
        Leave::Plan(..) => Outcome::ok(format!("The {kind} is planned.")),
    };
    let form = match task_type.filter(|_| kind == Kind::Task) {
        None => Form::Workstream { auto_created: false },
        Some(task_type) => {
            let workstream = placed(tx, seat, input, &brief, &mut outcome).await?;
            let priority = input.priority.unwrap_or(Priority::Normal);
            Form::Task { task_type, priority, workstream: Some(workstream) }
        }
    };
    let mut work = fresh(seat, WorkId::from_random(kind, tx.draw()?), brief.clone(), form);
    work.status = status;
    work.started_at = (status == Status::Active).then_some(seat.now);
    work.idempotency_key = key;
    tx.add_work(&work).await?;
    let outcome = match leave {
        Leave::Start(opened) => opened.begin(tx, seat, &wanted, &work, outcome).await?,
        Leave::Plan(found) => {
            let (look, warning) = *found;
            let warning = match warning {
                Some(warning) => warning::attach(tx, warning, &work).await?,
                None => Value::Null,
            };
            outcome.disclosing(&look).with("warning_id", warning)
        }
    };
    let event = match (kind, status) {
        (Kind::Task, Status::Active) => "task.started",
        (Kind::Task, _) => "task.planned",
        (Kind::Workstream, Status::Active) => "workstream.started",
        (Kind::Workstream, _) => "workstream.planned",
    };
    let payload = titled(&work.brief.title);
    Ok(outcome.changed(event, &work.id, status.as_str(), payload).showing(&work))
}

/// By what work is made: it begins, or is planned with what is known of work like it and the warning of that.
enum Leave {
    Start(Box<Opened>),
    Plan(Box<(Look, Option<Warning>)>),
}

/// A look at what there is like planned work. It keeps nobody from planning, but for those who want to be asked first.
async fn planning(
    tx: &mut impl TeamTx,
    seat: &Seat,
    wanted: &Wanted<'_>,
    input: &WorkInput,
) -> Result<Result<(Look, Option<Warning>), Outcome>, Stop> {
    let look = look::look(tx, seat, wanted).await?;
    let about = (wanted.kind, wanted.brief.title.as_str());
    let warning = warning::give(tx, seat, about, None, &look).await?;
    if input.confirm != Some(false) || look.escalated().is_empty() {
        return Ok(Ok((look, warning)));
    }
    let action = "Look at the candidates; call again with confirm: true to plan it all the same.";
    let blocked = Outcome::blocked(DUPLICATE, action).with("requires_confirm", true).disclosing(&look);
    Ok(Err(blocked.with("requires_verdict", false).with("warning_id", warning::id(warning.as_ref()))))
}

/// The workstream that a task is to belong to: the named one, the best of the caller's own, or a new container.
async fn placed(
    tx: &mut impl TeamTx,
    seat: &Seat,
    input: &WorkInput,
    brief: &Brief,
    outcome: &mut Outcome,
) -> Result<WorkstreamId, Stop> {
    match &input.workstream_id {
        Some(id) => Ok(id.clone()),
        None => assigned(tx, seat, brief, outcome).await,
    }
}

/// The running workstream of the caller that a task is most like, else one that is made for it.
async fn assigned(
    tx: &mut impl TeamTx,
    seat: &Seat,
    brief: &Brief,
    outcome: &mut Outcome,
) -> Result<WorkstreamId, Stop> {
    let Member { workspace, id, .. } = &seat.member;
    match tx.stream_for(workspace, id, &Query::of(brief)).await? {
        Some(stream) => Ok(stream),
        None => contained(tx, seat, brief, outcome).await,
    }
}

/// Starts what was planned.
pub(super) async fn start_planned(tx: &mut impl TeamTx, seat: &Seat, kind: Kind, input: &WorkInput) -> Done {
    let id = planned(kind, input)?;
    tx.take_turn(&seat.member.workspace).await?;
    let mut work = own(tx, seat, &id).await?;
    match step::start_planned(work.status) {
        Step::To(status) => work.status = status,
        Step::Already => {
            if let Some(blocked) = elsewhere(tx, seat, &work).await? {
                return Ok(blocked);
            }
            let message = format!("The {kind} was started before.");
            let action = "Go on with it if it was you who started it; it does not have to be started again.";
            return Ok(Outcome::warning(message, action).showing(&work));
        }
        Step::No(action) => {
            let message = format!("The {kind} `{id}` is {}, not planned.", work.status);
            return Err(Denied::new("wrong_status", message, action).into());
        }
    }
    let brief = work.brief.clone();
    let within = work.workstream().cloned();
    let wanted = Wanted { kind, brief: &brief, itself: Some(&id), within: within.as_ref(), undecided: false };
    let opened = match opening::open(tx, seat, &wanted, input).await? {
        Ok(opened) => opened,
        Err(blocked) => return Ok(blocked.about(&id)),
    };
    let mut outcome = Outcome::ok(format!("The planned {kind} is started."));
    if kind == Kind::Task && !stands(tx, &work).await? {
        let container = assigned(tx, seat, &work.brief, &mut outcome).await?;
        if let Form::Task { workstream, .. } = &mut work.form {
            *workstream = Some(container);
        }
    }
    work.started_at = Some(seat.now);
    work.updated_at = seat.now;
    work.session = seat.session.as_ref().map(|session| session.id.clone()).or(work.session);
    tx.save_work(&work).await?;
    let event = match kind {
        Kind::Task => "task.started",
        Kind::Workstream => "workstream.start_planned",
    };
    let payload = details(json!({ "title": work.brief.title, "planned": true }));
    let outcome = opened.begin(tx, seat, &wanted, &work, outcome).await?;
    // What had to be decided about was decided on the warning of the check.
    let outcome = warning::conclude(tx, seat, &work, Settled::Disclosed, outcome).await?;
    Ok(outcome.changed(event, &work.id, work.status.as_str(), payload).showing(&work))
}

/// The same answer once more, to whoever did not hear it the first time.
async fn repeated(tx: &mut impl TeamTx, seat: &Seat, made: &Work, brief: &Brief) -> Done {
    if title::key(&made.brief.title) != title::key(&brief.title) {
        let message = format!("The idempotency_key was used before, for the {} `{}`.", made.kind(), made.id);
        return Err(Denied::new(
            "key_taken",
            message,
            "Use a new idempotency_key for each new piece of work.",
        )
        .into());
    }
    if let Some(blocked) = elsewhere(tx, seat, made).await? {
        return Ok(blocked);
    }
    let message = format!("The {} was made by an earlier call with this idempotency_key.", made.kind());
    let outcome = if made.status.is_open() {
        Outcome::ok(message)
    } else {
        let message = format!("{message} It is {} by now.", made.status);
        Outcome::warning(message, "Use a new idempotency_key for new work.")
    };
    Ok(outcome.with("repeated", true).with("file_conflicts", json!([])).showing(made))
}

/// What an agent is told about work that another one of the same developer has in hand: theirs, and not the caller's.
async fn elsewhere(tx: &mut impl TeamTx, seat: &Seat, work: &Work) -> Result<Option<Outcome>, Stop> {
    let (Some(here), Some(there)) = (&seat.session, &work.session) else { return Ok(None) };
    if here.id == *there || !work.status.is_running() {
        return Ok(None);
    }
    let live = |session: &Session| stale::standing(session, seat.now) == "active";
    let Some(session) = tx.session(there).await?.filter(live) else { return Ok(None) };
    let message = format!("The {} is in the hands of another session of yours.", work.kind());
    let action =
        format!("Do other work; session `{}` does this, and was heard of a short while ago.", session.id);
    Ok(Some(Outcome::blocked(message, action).with("session_id", session.id.as_str()).showing(work)))
}

/// Sees to it that a task can belong to that workstream: the caller's own, under way.
async fn attached(tx: &mut impl TeamTx, seat: &Seat, id: &WorkstreamId) -> Result<(), Stop> {
    let workstream = own(tx, seat, &WorkId::Workstream(id.clone())).await?;
    if workstream.status.is_running() {
        return Ok(());
    }
    let message = format!(
        "The workstream `{id}` is {}: tasks are attached to active or blocked ones.",
        workstream.status
    );
    let action = match workstream.status {
        Status::Planned => {
            "Start the workstream with operation \"start_planned\" first, or leave workstream_id out."
        }
        _ => "Leave workstream_id out, or start another workstream.",
    };
    Err(Denied::new("wrong_status", message, action).into())
}

/// Whether a planned task's workstream is still there to be worked in.
async fn stands(tx: &mut impl TeamTx, task: &Work) -> Result<bool, Stop> {
    let Some(id) = task.workstream() else { return Ok(false) };
    let workstream = tx.work(&WorkId::Workstream(id.clone())).await?;
    Ok(workstream.is_some_and(|workstream| workstream.status.is_open()))
}

/// A workstream made for a task that names none.
async fn contained(
    tx: &mut impl TeamTx,
    seat: &Seat,
    brief: &Brief,
    outcome: &mut Outcome,
) -> Result<WorkstreamId, Stop> {
    let random: [u8; RANDOM_BYTES] = tx.draw()?;
    let id = WorkstreamId::from_random(random);
    let brief = Brief { target_files: Vec::new(), ..brief.clone() };
    let mut work =
        fresh(seat, WorkId::Workstream(id.clone()), brief, Form::Workstream { auto_created: true });
    work.status = Status::Active;
    work.started_at = Some(seat.now);
    tx.add_work(&work).await?;
    let made = outcome.clone().changed("workstream.auto_created", &id, "active", titled(&work.brief.title));
    *outcome = made;
    Ok(id)
}

fn fresh(seat: &Seat, id: WorkId, brief: Brief, form: Form) -> Work {
    Work {
        id,
        workspace: seat.member.workspace.clone(),
        developer: seat.member.id.clone(),
        session: seat.session.as_ref().map(|session| session.id.clone()),
        brief,
        form,
        status: Status::Planned,
        result_summary: None,
        reason: None,
        idempotency_key: None,
        created_at: seat.now,
        started_at: None,
        updated_at: seat.now,
        ended_at: None,
    }
}
