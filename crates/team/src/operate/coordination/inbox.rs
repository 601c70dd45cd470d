//! What somebody was told: the newest first. Reading it is having read it, for every session of the same developer.

use serde_json::{Value, json};

use super::super::people::People;
use super::super::{Done, details};
use crate::coordination::{Delivered, MessageKind};
use crate::input::{CoordinationInput, Invalid, bounds};
use crate::perform::Seat;
use crate::perform::outcome::Outcome;
use crate::port::TeamTx;

/// How many messages are told unless a call says otherwise.
const FEW: u64 = 20;

/// The newest messages, which count as read from then on.
pub(super) async fn inbox(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    let limit = input.limit.unwrap_or(FEW);
    if !(1..=bounds::INBOX).contains(&limit) {
        return Err(Invalid::new("limit", format!("is a whole number from 1 to {}", bounds::INBOX)).into());
    }
    let (me, most) = (&seat.member.id, u32::try_from(limit).unwrap_or(u32::MAX));
    let messages = match input.unread_only {
        Some(true) => tx.unread_inbox(me, most).await?,
        _ => tx.inbox(me, most).await?,
    };
    let (mut listed, mut people, mut unread) = (Vec::with_capacity(messages.len()), People::default(), 0_u64);
    let mut taken = Vec::new();
    for Delivered { message, read_at } in &messages {
        let mut shown = people.message(tx, seat, message).await?;
        // Another session may read it at the same moment: then it is that one's to take.
        let is_new = read_at.is_none() && tx.mark_read(me, &message.id, seat.now).await?;
        if let Value::Object(shown) = &mut shown {
            shown.insert("unread".to_owned(), is_new.into());
        }
        listed.push(shown);
        unread += u64::from(is_new);
        if message.kind == MessageKind::Handoff && message.to.as_ref() == Some(me) && is_new {
            tx.close(&message.id, seat.now).await?;
            taken.push(message.id.clone());
        }
    }
    let message = match listed.len() {
        0 => "Nothing is in your inbox that was asked for.".to_owned(),
        count => format!(
            "Messages: {count}, of which {unread} {} unread.",
            if unread == 1 { "was" } else { "were" }
        ),
    };
    let outcome = Outcome::ok(message).with("messages", listed);
    Ok(taken.into_iter().fold(outcome, |outcome, id| {
        outcome.changed("coordination.inbox", &id, "read", details(json!({ "handoff": id.as_str() })))
    }))
}
