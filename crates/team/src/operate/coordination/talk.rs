//! Words among teammates: announcements to everybody, asks, and replies.

use covenant_model::id::AskId;
use serde_json::{Map, Value, json};

use super::super::{Done, details, teammate};
use super::{draft, excerpt};
use crate::coordination::{Message, MessageKind};
use crate::input::{CoordinationInput, Invalid, bounds};
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::{Member, TeamTx};

/// Tells everybody something.
pub(super) async fn announce(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    let message = draft(tx, seat, MessageKind::Announce, input.said()?)?;
    tx.send(&message).await?;
    Ok(Outcome::ok("Everybody in your team is told.")
        .with("message_id", message.id.as_str())
        .changed("coordination.announce", &message.id, "sent", said(&message))
        .about(&message.id))
}

/// Who a message is for: a teammate, and not the caller.
pub(super) async fn addressee(
    tx: &mut impl TeamTx,
    seat: &Seat,
    input: &CoordinationInput,
) -> Result<Option<Member>, Stop> {
    let Some(handle) = input.addressee()? else { return Ok(None) };
    let member = teammate(tx, seat, &handle).await?;
    if member.id == seat.member.id {
        let action = "Name a teammate; covenant team members lists them.";
        return Err(Denied::new("yourself", "That is you.", action).into());
    }
    Ok(Some(member))
}

/// Asks a teammate, or everybody.
pub(super) async fn ask(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    let text = input.said()?;
    let to = addressee(tx, seat, input).await?;
    let id = AskId::from_random(tx.draw()?);
    let message = Message {
        to: to.as_ref().map(|member| member.id.clone()),
        ask: Some(id.clone()),
        closed_at: None,
        ..draft(tx, seat, MessageKind::Ask, text)?
    };
    tx.send(&message).await?;
    let whom = to.map_or_else(|| "Everybody".to_owned(), |member| member.handle);
    Ok(Outcome::ok(format!("{whom} is asked; the reply comes to your inbox."))
        .with("ask_id", id.as_str())
        .with("message_id", message.id.as_str())
        .changed("coordination.ask", &id, "open", said(&message))
        .about(&id))
}

/// Replies to an ask, or adds to one's own.
pub(super) async fn reply(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    let id = input.ask_id.as_ref().ok_or_else(|| Invalid::new("ask_id", "is required"))?;
    let text = input.said()?;
    tx.take_turn(&seat.member.workspace).await?;
    let me = &seat.member.id;
    let ask = tx.ask(id).await?.filter(|ask| {
        let mine = ask.developer == *me || ask.to.as_ref().is_none_or(|to| to == me);
        ask.workspace == seat.member.workspace && mine
    });
    let Some(ask) = ask else { return Err(unknown(id)) };
    let before = tx.replies(id, bounds::REPLIES).await?;
    if let Some(same) = before.iter().find(|reply| reply.developer == *me && reply.text == text) {
        let warning = Outcome::warning("You said exactly that before.", "Nothing is left to do for it.");
        return Ok(warning.with("ask_id", id.as_str()).with("message_id", same.id.as_str()).about(id));
    }
    if before.len() >= bounds::REPLIES {
        let message = format!("The ask `{id}` has {} replies, and more are not taken.", before.len());
        return Err(Denied::new("too_many_replies", message, "Make a new ask.").into());
    }
    let adds = ask.developer == *me;
    let message = Message {
        to: if adds { ask.to.clone() } else { Some(ask.developer.clone()) },
        ask: Some(id.clone()),
        ..draft(tx, seat, MessageKind::Reply, text)?
    };
    tx.send(&message).await?;
    if !adds {
        tx.close(&ask.id, seat.now).await?;
    }
    let told = if adds { "Your word is added." } else { "The reply is sent." };
    let stands = if adds && ask.closed_at.is_none() { "open" } else { "answered" };
    Ok(Outcome::ok(told)
        .with("ask_id", id.as_str())
        .with("message_id", message.id.as_str())
        .changed("coordination.reply", id, stands, said(&message))
        .about(id))
}

/// One that is not there, or not the caller's to reply to: which of the two is not told.
fn unknown(id: &AskId) -> Stop {
    let message = format!("There is no ask `{id}` that you can reply to.");
    Denied::new("not_yours", message, "Use the ask_id of an ask in your inbox.").into()
}

/// What events say of a message. They are read by the whole team: what was said to one is that one's to read.
pub(super) fn said(message: &Message) -> Map<String, Value> {
    let mut said = details(json!({
        "message_id": message.id.as_str(),
        "ask_id": message.ask.as_ref().map(AskId::as_str),
        "to_everybody": message.to.is_none(),
    }));
    if message.to.is_none() {
        said.insert("message".to_owned(), excerpt(&message.text).into());
    }
    said
}
