//! Work that is passed on: what is said of it, which work it is, and where the giver stands. Whose the work is does not change.

use serde_json::{Map, Value, json};

use super::super::{Done, context, details, moment, own};
use super::draft;
use super::talk::{addressee, said};
use crate::coordination::{Message, MessageKind};
use crate::input::{CoordinationInput, Invalid};
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::TeamTx;
use crate::session::SharedContext;
use crate::work::WorkId;

/// Passes work on to a teammate, with a reference to the giver's context.
pub(super) async fn handoff(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    let text = input.said()?;
    let to = addressee(tx, seat, input).await?.ok_or_else(|| Invalid::new("to", "is required"))?;
    let mut facts = work(tx, seat, input).await?;
    let context = standing(tx, seat, input).await?;
    facts.insert("context".to_owned(), context.as_ref().map_or(Value::Null, reference));
    let message = Message {
        to: Some(to.id),
        details: facts.clone(),
        closed_at: None,
        ..draft(tx, seat, MessageKind::Handoff, text)?
    };
    tx.send(&message).await?;
    let done = match &context {
        Some(_) => Outcome::ok(format!("{} is handed this, with your context.", to.handle)),
        None => Outcome::warning(
            format!("{} is handed this, but you have no active context to hand over with it.", to.handle),
            "Publish where you stand with covibe_session operation \"publish_context\", and hand off again.",
        ),
    };
    let mut payload = said(&message);
    payload.extend(facts.clone());
    let done = done
        .with("message_id", message.id.as_str())
        .with("to", to.handle)
        .with("context_id", context.as_ref().map(|context| context.id.to_string()));
    let done = facts.into_iter().fold(done, |done, (name, value)| done.with(&name, value));
    Ok(done.changed("coordination.handoff", &message.id, "waiting", payload).about(&message.id))
}

/// The work it is about, where one is named, and what its receiver does about it.
async fn work(
    tx: &mut impl TeamTx,
    seat: &Seat,
    input: &CoordinationInput,
) -> Result<Map<String, Value>, Stop> {
    let id = match (&input.task_id, &input.workstream_id) {
        (Some(_), Some(_)) => {
            return Err(Invalid::new("workstream_id", "and `task_id` cannot both be given").into());
        }
        (Some(task), None) => WorkId::Task(task.clone()),
        (None, Some(workstream)) => WorkId::Workstream(workstream.clone()),
        (None, None) => return Ok(Map::new()),
    };
    let work = own(tx, seat, &id).await?;
    let kind = work.kind();
    let rule = format!(
        "The {kind} stays its owner's. Its receiver checks and starts a {kind} of their own; its owner completes or cancels this one."
    );
    let mut facts = details(json!({ "title": work.brief.title, "ownership": rule }));
    facts.insert(format!("{kind}_id"), id.as_str().into());
    Ok(facts)
}

/// The context that goes with it: the one that is named, else the giver's newest that counts.
async fn standing(
    tx: &mut impl TeamTx,
    seat: &Seat,
    input: &CoordinationInput,
) -> Result<Option<SharedContext>, Stop> {
    let Some(id) = &input.context_id else {
        let newest = tx.contexts(&seat.member.workspace, Some(&seat.member.id), seat.now, 1).await?;
        return Ok(newest.into_iter().next());
    };
    let found = tx.context(id).await?;
    let found = found.filter(|found| found.developer == seat.member.id && context::counts(found, seat));
    found.map(Some).ok_or_else(|| {
        let message = format!("There is no active context `{id}` of yours.");
        Denied::new("no_context", message, "Publish one, or leave context_id out to hand over the newest.")
            .into()
    })
}

/// What a receiver needs to fetch it.
fn reference(context: &SharedContext) -> Value {
    json!({
        "context_id": context.id.as_str(),
        "title": context.body.title,
        "expires_at": moment(context.expires_at),
    })
}
