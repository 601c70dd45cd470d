//! A look at what others do: required before a start, and kept, so that the start can be held to it.

use std::time::Duration;

use covenant_model::id::CheckId;
use serde_json::{Value, json};

use super::look::{self, Look, Wanted};
use super::opening::DUPLICATE;
use super::{Done, details, moment, own, warning};
use crate::input::{Invalid, WorkInput};
use crate::perform::Seat;
use crate::perform::outcome::{Outcome, Stop};
use crate::port::{Check, TeamTx};
use crate::rules::start::{self, Leave};
use crate::title;
use crate::warning::Warning;
use crate::work::{Brief, Kind, TaskType, WorkId};

/// What an agent is told that has to judge.
const JUDGE: &str = "Judge for each candidate whether it is the same work as yours. Then start with this check_id and \
                     scope_verdict: [{candidate_id, same_scope, reason}], one entry for each candidate. If one is the same \
                     work, ask the developer first, and send their confirmation_reason too.";

/// Looks, and keeps what was looked for and what was found.
pub(super) async fn check(tx: &mut impl TeamTx, seat: &Seat, kind: Kind, input: &WorkInput) -> Done {
    let mut brief = input.brief()?;
    task_type(kind, input)?;
    let (planned, within) = match kind {
        Kind::Task => (input.planned_task_id.clone().map(WorkId::Task), input.workstream_id.as_ref()),
        Kind::Workstream => (input.workstream_id.clone().map(WorkId::Workstream), None),
    };
    let mut within = within.cloned();
    if let Some(id) = &planned {
        let plan = own(tx, seat, id).await?;
        // It is looked at as what it was planned to be, which is what will start, and as part of what it belongs to.
        within = plan.workstream().cloned().or(within);
        brief = brief.over(plan.brief);
    }
    if let Some(id) = &within {
        own(tx, seat, &WorkId::Workstream(id.clone())).await?;
    }
    let itself = planned.as_ref();
    let wanted = Wanted { kind, brief: &brief, itself, within: within.as_ref(), undecided: itself.is_none() };
    let look = look::look(tx, seat, &wanted).await?;
    let (check, warning) = keep(tx, seat, kind, brief, planned, &look).await?;
    let mut payload = look.brief();
    payload.extend(details(json!({
        "check_id": check.id.as_str(),
        "title": check.brief.title,
        "planned_id": check.planned.as_ref().map(WorkId::as_str),
    })));
    let subject = check.planned.as_ref().map_or(check.id.as_str(), WorkId::as_str).to_owned();
    let (outcome, status) = match (look.escalated().is_empty(), look.warns()) {
        (false, _) => (Outcome::warning(DUPLICATE, JUDGE), "warning"),
        (true, true) => (Outcome::ok("Similar work was found; none of it keeps you from starting."), "ok"),
        (true, false) => (Outcome::ok("No overlapping work was found."), "ok"),
    };
    Ok(outcome
        .with("check_id", check.id.as_str())
        .with("warning_id", warning::id(warning.as_ref()))
        .with("valid_until", moment(start::counts_until(check.at)))
        .disclosing(&look)
        .changed(checked(kind), &subject, status, payload)
        .about(&subject))
}

/// Keeps a look, and the warning it gave.
pub(super) async fn keep(
    tx: &mut impl TeamTx,
    seat: &Seat,
    kind: Kind,
    brief: Brief,
    planned: Option<WorkId>,
    look: &Look,
) -> Result<(Check, Option<Warning>), Stop> {
    let id = CheckId::from_random(tx.draw()?);
    let title_key = title::key(&brief.title);
    let warning = warning::give(tx, seat, (kind, &brief.title), Some(&id), look).await?;
    // A clock that was put back, or another daemon's, does not make an older look the newest.
    let until = start::counts_until(seat.now);
    let before = tx.latest_check(&seat.member.id, kind, &title_key, planned.as_ref(), until).await?;
    let after = before.map(|before| before.at.plus(Duration::from_millis(1)));
    let check = Check {
        id,
        workspace: seat.member.workspace.clone(),
        developer: seat.member.id.clone(),
        kind,
        title_key,
        brief,
        planned,
        warning: warning.as_ref().map(|warning| warning.id.clone()),
        at: after.map_or(seat.now, |after| after.max(seat.now)),
    };
    tx.add_check(&check).await?;
    Ok((check, warning))
}

/// What a task must say of itself.
pub(super) fn task_type(kind: Kind, input: &WorkInput) -> Result<Option<TaskType>, Invalid> {
    match (kind, input.task_type) {
        (Kind::Task, None) => {
            Err(Invalid::new("task_type", "is required: feature, bug, refactor, chore, docs, test or spike"))
        }
        (_, task_type) => Ok(task_type),
    }
}

/// Whether work of that title may start, and if not what the agent is told.
pub(super) async fn cleared(
    tx: &mut impl TeamTx,
    seat: &Seat,
    kind: Kind,
    brief: &Brief,
    planned: Option<&WorkId>,
) -> Result<Result<Check, Outcome>, Stop> {
    let key = title::key(&brief.title);
    // One that lies ahead, by a clock that was put back since, would hide every later one.
    let until = start::counts_until(seat.now);
    let check = tx.latest_check(&seat.member.id, kind, &key, planned, until).await?;
    let message = match (start::may_start(check.as_ref(), seat.now), check) {
        (Leave::Go, Some(check)) => return Ok(Ok(check)),
        (Leave::CheckAgain, _) => "The last check for this title is older than 10 minutes.",
        _ => "Nobody checked yet whether this work overlaps with other work.",
    };
    let about = match planned {
        Some(id) if kind == Kind::Task => format!(", the same title and planned_task_id \"{id}\""),
        _ => " and the same title".to_owned(),
    };
    let action = format!(
        "Call covibe_{kind} with operation \"check\"{about}; then call this again within 10 minutes."
    );
    Ok(Err(Outcome::blocked(message, action)
        .with("title", brief.title.as_str())
        .with("warning_id", Value::Null)
        .with("matches", json!([]))))
}

/// The event of a look.
pub(super) fn checked(kind: Kind) -> &'static str {
    match kind {
        Kind::Task => "task.checked",
        Kind::Workstream => "workstream.checked",
    }
}
