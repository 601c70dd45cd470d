//! How a team stands to each other, in one answer: claims, open asks, announcements, and handoffs that wait.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::Done;
use super::super::people::People;
use crate::coordination::{Concerning, Message, MessageKind};
use crate::perform::Seat;
use crate::perform::outcome::{Outcome, Stop};
use crate::port::TeamTx;

/// How many claims are listed, and how many messages of each kind.
const CLAIMS: usize = 50;
const MESSAGES: u32 = 20;

/// How many lines of each kind the text has.
const LINES: usize = 5;

/// Everything the caller should know before going on.
pub(super) async fn summary(tx: &mut impl TeamTx, seat: &Seat) -> Done {
    let (workspace, me) = (&seat.member.workspace, &seat.member.id);
    let mut people = People::default();
    let open = tx.open_claims(workspace, CLAIMS + 1).await?;
    let mut claims = Vec::new();
    for claim in open.iter().take(CLAIMS) {
        claims.push(people.claim(tx, seat, claim).await?);
    }
    let mut asks = Vec::new();
    for concerning in [Concerning::To(me), Concerning::Everybody, Concerning::From(me)] {
        for ask in tx.open_messages(workspace, MessageKind::Ask, concerning, MESSAGES).await? {
            // One's own to everybody is of both kinds.
            if !asks.contains(&ask) {
                asks.push(ask);
            }
        }
    }
    let mut handoffs =
        tx.open_messages(workspace, MessageKind::Handoff, Concerning::To(me), MESSAGES).await?;
    handoffs.extend(tx.open_messages(workspace, MessageKind::Handoff, Concerning::From(me), MESSAGES).await?);
    let announcements = tx.recent_messages(workspace, MessageKind::Announce, MESSAGES).await?;
    let asks = shown(tx, seat, &mut people, &asks).await?;
    let handoffs = shown(tx, seat, &mut people, &handoffs).await?;
    let announcements = shown(tx, seat, &mut people, &announcements).await?;
    let counts = json!({
        "claims": open.len().min(CLAIMS),
        "open_asks": asks.len(),
        "handoffs_waiting": handoffs.len(),
        "announcements": announcements.len(),
    });
    let mut text = String::new();
    lines(&mut text, "Claims", &claims, |claim| {
        let paths = claim.get("paths").map(Value::to_string).unwrap_or_default();
        format!("{} until {}: {paths}", word(claim, "held_by"), word(claim, "expires_at"))
    });
    for (title, messages) in
        [("Open asks", &asks), ("Handoffs that wait", &handoffs), ("Announcements", &announcements)]
    {
        lines(&mut text, title, messages, |said| {
            format!("{}: {}", word(said, "from"), super::excerpt(word(said, "message")))
        });
    }
    let message = format!(
        "Claims: {}{}, open asks: {}, handoffs that wait: {}, announcements: {}.",
        claims.len(),
        if open.len() > CLAIMS { " and more" } else { "" },
        asks.len(),
        handoffs.len(),
        announcements.len()
    );
    Ok(Outcome::ok(message)
        .with("text", text)
        .with("counts", counts)
        .with("claims", claims)
        .with("more_claims", open.len() > CLAIMS)
        .with("open_asks", asks)
        .with("handoffs_waiting", handoffs)
        .with("announcements", announcements))
}

async fn shown(
    tx: &mut impl TeamTx,
    seat: &Seat,
    people: &mut People,
    messages: &[Message],
) -> Result<Vec<Value>, Stop> {
    let mut shown = Vec::with_capacity(messages.len());
    for message in messages {
        shown.push(people.message(tx, seat, message).await?);
    }
    Ok(shown)
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A heading and the first few, one line each.
fn lines(text: &mut String, title: &str, items: &[Value], line: impl Fn(&Value) -> String) {
    // Writing to a text cannot fail.
    _ = writeln!(text, "{title}: {}", items.len());
    for item in items.iter().take(LINES) {
        let line = line(item).replace(['\n', '\r'], " ");
        _ = writeln!(text, "- {line}");
    }
}
