//! Work that goes on: updated, finished, given up. A container ends with the last of its tasks.

use covenant_model::id::TaskId;
use serde_json::{Value, json};

use super::{Done, details, named, own, titled, warning};
use crate::input::{Invalid, WorkInput, bounds, texts};
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::TeamTx;
use crate::rules::step::{self, Step};
use crate::warning::Settled;
use crate::work::{Form, Kind, Status, Work, WorkId};

/// How many open tasks of a workstream are named, the oldest first: as many as an event holds.
const OPEN_TASKS: u32 = 200;

/// Says that running work goes on or is stuck; of a planned task, changes what it is about.
pub(super) async fn update(tx: &mut impl TeamTx, seat: &Seat, kind: Kind, input: &WorkInput) -> Done {
    let id = named(kind, input)?;
    let wanted = match &input.status {
        Some(word) => {
            Some(word.parse::<Status>().map_err(|_| Invalid::new("status", "is active or blocked"))?)
        }
        None => None,
    };
    let edits = edited(input);
    if wanted.is_none() && edits.is_empty() {
        return Err(Invalid::new("status", "is required: active or blocked").into());
    }
    tx.take_turn(&seat.member.workspace).await?;
    let mut work = own(tx, seat, &id).await?;
    if work.status == Status::Planned && kind == Kind::Task && wanted.is_none() {
        return edit(tx, seat, input, work, &edits).await;
    }
    if !edits.is_empty() && work.status.is_running() {
        let message =
            format!("The {kind} was started: {} can be changed only while it is planned.", edits.join(", "));
        return Ok(Outcome::warning(
            message,
            "Update its status alone, or complete it and plan what is new.",
        )
        .showing(&work));
    }
    let Some(wanted) = wanted else {
        let action = match work.status {
            Status::Planned => "Cancel it, and plan what you want instead.",
            _ => "Plan what is new.",
        };
        return Err(stands(&work, "changed", action));
    };
    match step::update(work.status, wanted) {
        Step::To(status) => {
            let from = std::mem::replace(&mut work.status, status);
            work.updated_at = seat.now;
            work.reason = texts::optional("reason", input.reason.as_ref(), bounds::REASON)?
                .filter(|_| status == Status::Blocked);
            tx.save_work(&work).await?;
            let payload =
                details(json!({ "from": from.as_str(), "to": status.as_str(), "reason": work.reason }));
            let event = if kind == Kind::Task { "task.updated" } else { "workstream.updated" };
            Ok(Outcome::ok(format!("The {kind} is {status}."))
                .changed(event, &work.id, status.as_str(), payload)
                .showing(&work))
        }
        Step::Already => Ok(Outcome::ok(format!("The {kind} is {wanted} already.")).showing(&work)),
        Step::No(action) => Err(stands(&work, "updated", action)),
    }
}

/// Which parts of what the work is about a call wants changed.
fn edited(input: &WorkInput) -> Vec<&'static str> {
    let given = [
        ("title", input.title.is_some()),
        ("description", input.description.is_some()),
        ("scope", input.scope.is_some()),
        ("action", input.action.is_some()),
        ("component", input.component.is_some()),
        ("priority", input.priority.is_some()),
        ("task_type", input.task_type.is_some()),
        ("target_files", input.target_files.is_some()),
    ];
    given.into_iter().filter(|(_, given)| *given).map(|(field, _)| field).collect()
}

async fn edit(
    tx: &mut impl TeamTx,
    seat: &Seat,
    input: &WorkInput,
    mut work: Work,
    edits: &[&'static str],
) -> Done {
    let brief = &mut work.brief;
    if input.title.is_some() {
        brief.title = input.named()?;
    }
    if input.description.is_some() {
        let text = texts::optional("description", input.description.as_ref(), bounds::TEXT)?;
        brief.description = text.unwrap_or_default();
    }
    if input.scope.is_some() {
        brief.scope = texts::optional("scope", input.scope.as_ref(), bounds::TEXT)?.unwrap_or_default();
    }
    if input.component.is_some() {
        brief.component = texts::optional("component", input.component.as_ref(), bounds::COMPONENT)?;
    }
    if input.target_files.is_some() {
        brief.target_files = texts::paths("target_files", input.target_files.as_ref(), bounds::TARGET_FILES)?;
    }
    brief.action = input.action.or(brief.action);
    if let Form::Task { task_type, priority, .. } = &mut work.form {
        *task_type = input.task_type.unwrap_or(*task_type);
        *priority = input.priority.unwrap_or(*priority);
    }
    work.updated_at = seat.now;
    tx.save_work(&work).await?;
    let payload = details(json!({ "fields": edits }));
    Ok(Outcome::ok("The planned task was changed.")
        .with("changed", edits.to_vec())
        .changed("task.planned_updated", &work.id, "planned", payload)
        .showing(&work))
}

/// Finishes work with a result.
pub(super) async fn complete(tx: &mut impl TeamTx, seat: &Seat, kind: Kind, input: &WorkInput) -> Done {
    let id = named(kind, input)?;
    let result = texts::required("result_summary", input.result_summary.as_ref(), bounds::TEXT)?;
    // What the result says is the summary; another one is held to its bounds and adds nothing.
    texts::optional("summary", input.summary.as_ref(), bounds::TEXT)?;
    tx.take_turn(&seat.member.workspace).await?;
    let mut work = own(tx, seat, &id).await?;
    match step::complete(work.status) {
        Step::To(_) => {}
        Step::Already => {
            let message = format!("The {kind} was completed before.");
            let action = "Nothing is left to do for it; do not complete it again.";
            return Ok(Outcome::warning(message, action).showing(&work));
        }
        Step::No(action) => return Err(stands(&work, "completed", action)),
    }
    let mut payload = titled(&work.brief.title);
    if let WorkId::Workstream(id) = &work.id {
        let open = tx.open_tasks(id, OPEN_TASKS).await?;
        let open: Vec<&str> = open.iter().map(TaskId::as_str).collect();
        let number = if open.is_empty() { 0 } else { tx.open_task_count(id).await? };
        if !open.is_empty() && input.confirm_open_tasks != Some(true) {
            let message = format!("The workstream has {number} open tasks.");
            let action = "Complete or cancel them, or repeat the call with confirm_open_tasks: true.";
            let warning = Outcome::warning(message, action).with("open_task_ids", open);
            return Ok(warning.with("open_tasks", number).showing(&work));
        }
        if !open.is_empty() {
            payload.insert("open_task_ids".to_owned(), open.into());
            payload.insert("open_tasks".to_owned(), number.into());
        }
    }
    work.status = Status::Done;
    work.result_summary = Some(result);
    end(tx, seat, &mut work).await?;
    let event = if kind == Kind::Task { "task.completed" } else { "workstream.completed" };
    let done = Outcome::ok(format!("The {kind} is completed.")).changed(event, &work.id, "done", payload);
    Ok(emptied(tx, seat, &work, done).await?.showing(&work))
}

/// Gives work up for a reason.
pub(super) async fn cancel(tx: &mut impl TeamTx, seat: &Seat, kind: Kind, input: &WorkInput) -> Done {
    let (id, reason) = (named(kind, input)?, input.why()?);
    tx.take_turn(&seat.member.workspace).await?;
    let mut work = own(tx, seat, &id).await?;
    match step::cancel(kind, work.status) {
        Step::To(_) => {}
        Step::Already => {
            let message = format!("The {kind} was cancelled before.");
            return Ok(Outcome::warning(message, "Nothing is left to do for it.").showing(&work));
        }
        Step::No(action) => return Err(stands(&work, "cancelled", action)),
    }
    let done = Outcome::ok(format!("The {kind} is cancelled."));
    Ok(give_up(tx, seat, &mut work, reason, done).await?.showing(&work))
}

/// Cancels work, however it stands; the same answer, with that change.
pub(super) async fn give_up(
    tx: &mut impl TeamTx,
    seat: &Seat,
    work: &mut Work,
    reason: String,
    outcome: Outcome,
) -> Done {
    let payload = details(json!({ "title": work.brief.title, "reason": reason }));
    (work.status, work.reason) = (Status::Cancelled, Some(reason));
    end(tx, seat, work).await?;
    let outcome = warning::conclude(tx, seat, work, Settled::Dismissed, outcome).await?;
    let event = if work.kind() == Kind::Task { "task.cancelled" } else { "workstream.cancelled" };
    emptied(tx, seat, work, outcome.changed(event, &work.id, "cancelled", payload)).await
}

async fn end(tx: &mut impl TeamTx, seat: &Seat, work: &mut Work) -> Result<(), Stop> {
    work.updated_at = seat.now;
    work.ended_at = Some(seat.now);
    Ok(tx.save_work(work).await?)
}

/// The same; and if that was the last open task of its container, the container is done too.
async fn emptied(tx: &mut impl TeamTx, seat: &Seat, work: &Work, outcome: Outcome) -> Done {
    let Some(id) = work.workstream() else { return Ok(outcome) };
    let Some(mut container) = tx.work(&WorkId::Workstream(id.clone())).await? else { return Ok(outcome) };
    if !container.is_container() || !container.status.is_open() || !tx.open_tasks(id, 1).await?.is_empty() {
        return Ok(outcome);
    }
    container.status = Status::Done;
    container.result_summary = Some("No task of it is open any more.".to_owned());
    end(tx, seat, &mut container).await?;
    let payload = details(json!({ "title": container.brief.title, "automatic": true }));
    Ok(outcome.with("completed_workstream_id", Value::from(id.as_str())).changed(
        "workstream.completed",
        id,
        "done",
        payload,
    ))
}

/// It cannot be done to work that stands so.
fn stands(work: &Work, what: &str, action: &str) -> Stop {
    let message = format!("The {} `{}` is {} and cannot be {what}.", work.kind(), work.id, work.status);
    Denied::new("wrong_status", message, action).into()
}
