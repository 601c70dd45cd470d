//! Coordination among teammates: which operation is wanted, and how claims, people and messages are told of.

mod claim;
mod conflicts;
mod expiry;
mod handoff;
mod inbox;
mod release;
mod summary;
mod talk;

use covenant_model::id::MessageId;
use serde_json::{Map, Value, json};

use super::people::People;
use super::{Done, moment};
use crate::coordination::{Claim, Message, MessageKind};
use crate::input::{CoordinationInput, CoordinationOperation as Operation};
use crate::perform::Seat;
use crate::perform::outcome::Stop;
use crate::port::TeamTx;
use crate::rules::privacy;

pub(super) use expiry::{Listener, notice, tell};
pub(super) use release::let_go;

/// How many bytes of paths, and how many characters of a message, stand in events and messages. The rest is counted: an event
/// whose details are too long would lose all of them.
const FEW: usize = 3_000;
const EXCERPT: usize = 500;

/// Performs it. Whoever calls notices first whose claims are over, and is told of their own.
pub(super) async fn coordinate(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    notice(tx, seat).await?;
    let outcome = match input.operation {
        Operation::Announce => talk::announce(tx, seat, input).await,
        Operation::Claim => claim::claim(tx, seat, input).await,
        Operation::Release => release::release(tx, seat, input).await,
        Operation::Ask => talk::ask(tx, seat, input).await,
        Operation::Reply => talk::reply(tx, seat, input).await,
        Operation::Handoff => handoff::handoff(tx, seat, input).await,
        Operation::CheckConflicts => conflicts::check(tx, seat, input).await,
        Operation::Summary => summary::summary(tx, seat).await,
        Operation::Inbox => inbox::inbox(tx, seat, input).await,
    };
    tell(tx, seat, Listener::Agent, outcome?).await
}

impl People {
    /// A claim, as the caller sees it.
    async fn claim(&mut self, tx: &mut impl TeamTx, seat: &Seat, claim: &Claim) -> Result<Value, Stop> {
        let holder = self.name(tx, seat, &claim.developer).await?;
        let (paths, more) = few(&claim.paths);
        let repo = Some(&claim.repo).filter(|_| holder != privacy::PRIVATE);
        Ok(json!({
            "claim_id": claim.id.as_str(),
            "held_by": holder,
            "session_id": self.session(seat, &claim.developer, claim.session.as_ref()),
            "repo": repo,
            "paths": paths,
            "more_paths": more,
            "message": claim.message,
            "expires_at": moment(claim.expires_at),
        }))
    }

    /// A message, as the caller sees it.
    async fn message(&mut self, tx: &mut impl TeamTx, seat: &Seat, message: &Message) -> Result<Value, Stop> {
        let from = self.name(tx, seat, &message.developer).await?;
        let to = match &message.to {
            Some(to) => Value::from(self.name(tx, seat, to).await?),
            None => Value::Null,
        };
        let mut shown = message.details.clone();
        if from == privacy::PRIVATE {
            // Names of repositories are often those of people.
            shown.remove("repo");
        }
        let fixed = json!({
            "message_id": message.id.as_str(),
            "kind": message.kind.as_str(),
            "from": from,
            "to": to,
            "ask_id": message.ask.as_ref().map(covenant_model::id::AskId::as_str),
            "message": message.text,
            "at": moment(message.at),
        });
        shown.extend(super::details(fixed));
        Ok(Value::Object(shown))
    }
}

/// As many of these as events and messages hold, and how many are left out.
fn few(paths: &[String]) -> (&[String], usize) {
    let mut room = FEW;
    let fit = paths.iter().take_while(|path| {
        let length = path.len().saturating_add(3);
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    });
    let count = fit.count();
    let (few, rest) = paths.split_at_checked(count).unwrap_or((paths, &[]));
    (few, rest.len())
}

/// Paths in a sentence.
fn spoken(paths: &[String]) -> String {
    let (first, rest) = paths.split_at_checked(3).unwrap_or((paths, &[]));
    let first: Vec<String> = first.iter().map(|path| format!("`{path}`")).collect();
    match rest.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The beginning of what was said.
fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A message of the caller's to everybody, closed.
fn draft(tx: &mut impl TeamTx, seat: &Seat, kind: MessageKind, text: String) -> Result<Message, Stop> {
    Ok(Message {
        id: MessageId::from_random(tx.draw()?),
        workspace: seat.member.workspace.clone(),
        kind,
        developer: seat.member.id.clone(),
        session: seat.session.as_ref().map(|session| session.id.clone()),
        to: None,
        ask: None,
        text,
        details: Map::new(),
        at: seat.now,
        closed_at: Some(seat.now),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_paths_and_long_texts_the_beginning_is_kept() {
        let short = vec!["a".to_owned(); 64];
        assert_eq!(few(&short).1, 0);
        let long = vec!["ä".repeat(512); 64];
        let (kept, more) = few(&long);
        assert_eq!((kept.len(), more), (2, 62));
        assert_eq!(few(&["x".repeat(4_000)]).1, 1);
        assert_eq!(spoken(&short[..2]), "`a`, `a`");
        assert_eq!(spoken(&short), "`a`, `a`, `a` and 61 more");
        assert_eq!(excerpt("kurz"), "kurz");
        assert_eq!(excerpt(&"ä".repeat(2_000)).chars().count(), EXCERPT + 1);
    }
}
