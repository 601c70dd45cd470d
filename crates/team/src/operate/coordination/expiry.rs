//! Claims whose time is over: noticed by whoever calls next, told to their holders and to whoever waited, and never silent.

use covenant_model::id::{EventId, MessageId};
use serde_json::{Map, Value, json};

use super::super::{Done, details, moment};
use super::{few, spoken};
use crate::coordination::{Claim, Ending, Message, MessageKind, Wait};
use crate::event::Event;
use crate::pattern::{Effort, Pattern};
use crate::perform::Seat;
use crate::perform::outcome::{Outcome, Stop};
use crate::port::{Kept, TeamTx};
use crate::rules::lease;

/// How many expired claims are told at once, and how far unread messages are counted.
const TOLD: u32 = 200;
const UNREAD: u32 = 1_000;

/// Ends the claims of the caller's team whose time is over, and tells everybody whom that concerns.
pub(in crate::operate) async fn notice(tx: &mut impl TeamTx, seat: &Seat) -> Result<(), Stop> {
    let (workspace, latest) = (&seat.member.workspace, lease::latest_end(seat.now));
    // Nobody waits for a turn where nothing is over.
    if !tx.has_lapsed(workspace, seat.now, latest).await? {
        return Ok(());
    }
    tx.take_turn(workspace).await?;
    for claim in tx.lapse(workspace, seat.now, latest).await? {
        let text = format!(
            "Your claim {} on {} expired at {}. Claim the paths again if you still need them.",
            claim.id,
            spoken(&claim.paths),
            claim.expires_at
        );
        let told = of_claim(tx, seat, &claim, MessageKind::Expired, text)?;
        let told = Message { to: Some(claim.developer.clone()), ..told };
        tx.send(&told).await?;
        free(tx, seat, &claim, &[], Ending::Expired).await?;
        let event = expired(&claim, EventId::from_random(tx.draw()?), seat);
        tx.add_changes(&[event]).await?;
    }
    Ok(())
}

/// That a claim expired, as an event of its holder's, whoever noticed.
fn expired(claim: &Claim, id: EventId, seat: &Seat) -> Event {
    Event {
        id,
        workspace: Some(claim.workspace.clone()),
        developer: Some(claim.developer.clone()),
        session: claim.session.clone(),
        event: "coordination.expired".to_owned(),
        subject: Some(claim.id.to_string()),
        status: Ending::Expired.as_str().to_owned(),
        payload: about(claim),
        at: seat.now,
    }
}

/// What events say of a claim. They are read by the whole team, and names of repositories are often those of people.
pub(super) fn about(claim: &Claim) -> Map<String, Value> {
    let (paths, more) = few(&claim.paths);
    details(json!({
        "claim_id": claim.id.as_str(), "paths": paths, "more_paths": more, "expires_at": moment(claim.expires_at),
    }))
}

/// What its holder, and whoever waits for it, is told of a claim.
fn known(claim: &Claim) -> Map<String, Value> {
    let mut known = about(claim);
    known.insert("repo".to_owned(), claim.repo.as_str().into());
    known
}

/// What became of a claim, in the name of its holder.
fn of_claim(
    tx: &mut impl TeamTx,
    seat: &Seat,
    claim: &Claim,
    kind: MessageKind,
    text: String,
) -> Kept<Message> {
    Ok(Message {
        id: MessageId::from_random(tx.draw()?),
        workspace: claim.workspace.clone(),
        kind,
        developer: claim.developer.clone(),
        session: claim.session.clone(),
        to: None,
        ask: None,
        text,
        details: known(claim),
        at: seat.now,
        closed_at: Some(seat.now),
    })
}

/// Tells whoever waits for a claim which of the paths they wanted are free of it, now that only these are left.
pub(super) async fn free(
    tx: &mut impl TeamTx,
    seat: &Seat,
    claim: &Claim,
    left: &[String],
    how: Ending,
) -> Result<(), Stop> {
    let left: Vec<Pattern> = left.iter().map(|path| kept(path)).collect();
    let mut effort = Effort::ordinary();
    for wait in tx.waits(&claim.id).await? {
        let (held, freed): (Vec<String>, Vec<String>) = wait.paths.iter().cloned().partition(|path| {
            let wanted = kept(path);
            left.iter().any(|left| left.meets(&wanted, &mut effort))
        });
        if freed.is_empty() {
            continue;
        }
        let text = format!(
            "{} was {how}, and no longer keeps you from {}. Claim that now if you still want it.",
            claim.id,
            spoken(&freed)
        );
        let told = of_claim(tx, seat, claim, MessageKind::Freed, text)?;
        let (paths, more) = few(&freed);
        let details = details(json!({
            "claim_id": claim.id.as_str(), "repo": claim.repo, "paths": paths, "more_paths": more, "how": how.as_str(),
        }));
        tx.send(&Message { to: Some(wait.developer.clone()), details, ..told }).await?;
        tx.save_wait(&Wait { paths: held, ..wait }).await?;
    }
    Ok(())
}

/// A path of a claim that was kept.
pub(super) fn kept(path: &str) -> Pattern {
    Pattern::read(path).unwrap_or_else(|_| Pattern::file(path))
}

/// Who hears an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::operate) enum Listener {
    /// An agent, which is told of an expired claim once.
    Agent,
    /// A companion on a machine, or nobody in particular: what it hears no agent has heard.
    Machine,
}

/// The same answer, with the claims of the caller's that expired and with how much is unread. A session hears only of its own
/// claims and of those of none.
pub(in crate::operate) async fn tell(
    tx: &mut impl TeamTx,
    seat: &Seat,
    listener: Listener,
    mut outcome: Outcome,
) -> Done {
    let session = seat.session.as_ref().map(|session| &session.id);
    let expired = tx.untold(&seat.member.id, TOLD).await?;
    let is_ours =
        |claim: &&Claim| session.is_none() || claim.session.is_none() || claim.session.as_ref() == session;
    let ours: Vec<&Claim> = expired.iter().filter(is_ours).collect();
    // Whoever calls without a session hears of all, and leaves each session to hear of its own.
    let is_heard = |claim: &&&Claim| claim.session.is_none() || claim.session.as_ref() == session;
    for claim in ours.iter().filter(is_heard).filter(|_| listener == Listener::Agent) {
        tx.mark_told(&claim.id, seat.now).await?;
    }
    if !ours.is_empty() {
        let said = format!(" Of your claims {} expired: see expired_claims.", ours.len());
        outcome.envelope.message.push_str(&said);
    }
    let ours: Vec<Value> = ours.into_iter().map(|claim| Value::Object(known(claim))).collect();
    let unread = tx.unread(&seat.member.id, UNREAD).await?;
    Ok(outcome.with("expired_claims", ours).with("unread", unread))
}
