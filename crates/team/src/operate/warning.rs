//! Warnings: given by a look that found something, and settled once.

use covenant_model::id::{CheckId, WarningId};
use serde_json::{Value, json};

use super::look::Look;
use super::{Done, details};
use crate::input::{WarningInput, bounds, texts};
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::{Check, TeamTx};
use crate::title;
use crate::warning::{Settled, Warning};
use crate::work::{Kind, Work};

/// Keeps that somebody was warned of what a look found; none if it found nothing.
pub(super) async fn give(
    tx: &mut impl TeamTx,
    seat: &Seat,
    (kind, title): (Kind, &str),
    check: Option<&CheckId>,
    look: &Look,
) -> Result<Option<Warning>, Stop> {
    if !look.warns() {
        return Ok(None);
    }
    let warning = Warning {
        id: WarningId::from_random(tx.draw()?),
        workspace: seat.member.workspace.clone(),
        developer: seat.member.id.clone(),
        check: check.cloned(),
        kind,
        title: title.to_owned(),
        title_key: title::key(title),
        found: look.found(),
        settled: Settled::Open,
        reason: None,
        work: None,
        at: seat.now,
        settled_at: None,
    };
    tx.add_warning(&warning).await?;
    Ok(Some(warning))
}

/// The warning of a look, if it gave one.
pub(super) async fn of(tx: &mut impl TeamTx, check: &Check) -> Result<Option<Warning>, Stop> {
    Ok(match &check.warning {
        Some(id) => tx.warning(id).await?,
        None => None,
    })
}

/// Settles a warning, if it is still open, or if its developer says now why the work begins all the same: that is kept whatever
/// was made of the warning before. Whether it was settled.
pub(super) async fn settle(
    tx: &mut impl TeamTx,
    seat: &Seat,
    warning: &mut Warning,
    settled: Settled,
    work: Option<&Work>,
    reason: Option<&str>,
) -> Result<bool, Stop> {
    if warning.settled != Settled::Open && settled != Settled::Confirmed {
        return Ok(false);
    }
    warning.settled = settled;
    warning.reason = reason.map(str::to_owned);
    warning.work = work.map(|work| work.id.clone());
    warning.settled_at = Some(seat.now);
    tx.settle_warning(warning).await?;
    Ok(true)
}

/// Keeps which work a warning is about that was given as it was planned.
pub(super) async fn attach(tx: &mut impl TeamTx, mut warning: Warning, work: &Work) -> Result<Value, Stop> {
    warning.work = Some(work.id.clone());
    tx.settle_warning(&warning).await?;
    Ok(id(Some(&warning)))
}

/// Settles what somebody was warned of as they planned that work, now that it begins or is given up; the same answer, with
/// that change.
pub(super) async fn conclude(
    tx: &mut impl TeamTx,
    seat: &Seat,
    work: &Work,
    settled: Settled,
    mut outcome: Outcome,
) -> Done {
    let given_up = "what it was about was given up";
    let reason = (settled == Settled::Dismissed).then_some(given_up);
    for mut warning in tx.warnings_about(&work.developer, &work.id).await? {
        settle(tx, seat, &mut warning, settled, Some(work), reason).await?;
        if settled == Settled::Dismissed {
            let payload = details(json!({
                "work_id": work.id.as_str(), "reason": reason, "automatic": true, "title": warning.title,
            }));
            outcome = outcome.changed("warning.dismissed", &warning.id, "dismissed", payload);
        }
    }
    Ok(outcome)
}

/// Puts a warning of one's own aside. It opens no start: what has to be decided about is decided there.
pub(super) async fn dismiss(tx: &mut impl TeamTx, seat: &Seat, input: &WarningInput) -> Done {
    let reason = texts::required("reason", Some(&input.reason), bounds::REASON)?;
    tx.take_turn(&seat.member.workspace).await?;
    let id = &input.warning_id;
    let found = tx.warning(id).await?.filter(|warning| warning.developer == seat.member.id);
    let Some(mut warning) = found else { return Err(Denied::missing("warning", id.as_str()).into()) };
    let told = |outcome: Outcome, warning: &Warning| {
        outcome.with("warning_id", id.as_str()).with("status", warning.settled.as_str()).about(id)
    };
    if warning.settled != Settled::Open {
        let message = format!("The warning was settled before: it is {}.", warning.settled);
        return Ok(told(Outcome::warning(message, "Nothing is left to do for it."), &warning));
    }
    settle(tx, seat, &mut warning, Settled::Dismissed, None, Some(&reason)).await?;
    let payload = details(json!({ "title": warning.title, "reason": reason }));
    let outcome =
        Outcome::ok("The warning is dismissed.").changed("warning.dismissed", id, "dismissed", payload);
    Ok(told(outcome, &warning))
}

/// The id of a warning as agents read it, or nothing.
pub(super) fn id(warning: Option<&Warning>) -> Value {
    warning.map_or(Value::Null, |warning| warning.id.as_str().into())
}
