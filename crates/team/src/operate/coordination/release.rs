//! Claims that are given up: whole, in part, or with the session that held them. Whoever waited is told.

use std::collections::BTreeSet;

use covenant_model::id::ClaimId;
use serde_json::{Map, Value, json};

use super::super::Done;
use super::claim::own;
use super::expiry::{about, free};
use super::spoken;
use crate::coordination::{Claim, Ending};
use crate::input::{CoordinationInput, Invalid};
use crate::perform::Seat;
use crate::perform::outcome::{Outcome, Stop};
use crate::port::TeamTx;

/// Gives up a claim, or the paths of one's own claims that are named.
pub(super) async fn release(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    match (&input.claim_id, &input.paths) {
        (Some(_), Some(_)) => Err(Invalid::new("paths", "and `claim_id` cannot both be given").into()),
        (None, None) => Err(Invalid::new("claim_id", "or `paths` is required").into()),
        (Some(id), None) => whole(tx, seat, id).await,
        (None, Some(_)) => parts(tx, seat, input).await,
    }
}

async fn whole(tx: &mut impl TeamTx, seat: &Seat, id: &ClaimId) -> Done {
    tx.take_turn(&seat.member.workspace).await?;
    let mut claim = own(tx, seat, id).await?;
    if let Some((ending, at)) = claim.ending {
        let message = format!("The claim was {ending} before, at {at}.");
        return Ok(Outcome::warning(message, "Nothing is left to do for it.").holding(&claim));
    }
    let payload = let_loose(tx, seat, &mut claim, Vec::new()).await?;
    let message = format!("Released: {}.", spoken(&claim.paths));
    Ok(Outcome::ok(message).holding(&claim).with("released", claim.paths.clone()).changed(
        "coordination.release",
        id,
        "released",
        payload,
    ))
}

async fn parts(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    let (wanted, repo) = (input.wanted()?, input.place()?);
    let wanted: BTreeSet<String> = wanted.into_iter().map(|wanted| wanted.path).collect();
    tx.take_turn(&seat.member.workspace).await?;
    let (mut released, mut claims, mut changes) = (BTreeSet::new(), Vec::new(), Vec::new());
    let open = tx.own_claims(&seat.member.id).await?;
    let here = seat.session.as_ref().map(|session| &session.id);
    // What another session holds is its own to release, or anybody's of that developer by `claim_id`.
    let ours = |claim: &Claim| claim.session.is_none() || claim.session.as_ref() == here;
    let there = |claim: &Claim| repo.is_empty() || claim.repo == repo;
    for mut claim in open.into_iter().filter(|claim| ours(claim) && there(claim)) {
        let (gone, left): (Vec<String>, Vec<String>) =
            claim.paths.iter().cloned().partition(|path| wanted.contains(path));
        if gone.is_empty() {
            continue;
        }
        let status = if left.is_empty() { "released" } else { "active" };
        let payload = let_loose(tx, seat, &mut claim, left).await?;
        changes.push((claim.id.clone(), status, payload));
        claims.push(claim.id.to_string());
        released.extend(gone);
    }
    let not_held: Vec<&String> = wanted.difference(&released).collect();
    let outcome = if released.is_empty() {
        let message = "None of these paths is claimed by you.";
        Outcome::warning(message, "Nothing is left to do for them; operation \"summary\" lists your claims.")
    } else {
        let paths: Vec<String> = released.iter().cloned().collect();
        Outcome::ok(format!("Released: {}.", spoken(&paths)))
    };
    let outcome = outcome
        .with("released", released.iter().cloned().collect::<Vec<_>>())
        .with("not_held", json!(not_held))
        .with("claim_ids", claims);
    Ok(changes.into_iter().fold(outcome, |outcome, (id, status, payload)| {
        outcome.changed("coordination.release", &id, status, payload).about(&id)
    }))
}

/// Leaves only these paths of a claim, ends it if that is none, and tells whoever waited. The details of its event.
async fn let_loose(
    tx: &mut impl TeamTx,
    seat: &Seat,
    claim: &mut Claim,
    left: Vec<String>,
) -> Result<Map<String, Value>, Stop> {
    free(tx, seat, claim, &left, Ending::Released).await?;
    let gone: Vec<String> = claim.paths.iter().filter(|path| !left.contains(path)).cloned().collect();
    let payload = about(&Claim { paths: gone, ..claim.clone() });
    if left.is_empty() {
        claim.ending = Some((Ending::Released, seat.now));
    } else {
        claim.paths = left;
    }
    tx.save_claim(claim).await?;
    Ok(payload)
}

/// Releases claims whose holder goes; the same answer, with which those were.
pub(in crate::operate) async fn let_go(
    tx: &mut impl TeamTx,
    seat: &Seat,
    goes: impl Fn(&Claim) -> bool,
    mut outcome: Outcome,
) -> Done {
    let mut released = Vec::new();
    let open = tx.own_claims(&seat.member.id).await?;
    for mut claim in open.into_iter().filter(goes) {
        let payload = let_loose(tx, seat, &mut claim, Vec::new()).await?;
        outcome = outcome.changed("coordination.release", &claim.id, "released", payload);
        released.push(claim.id.to_string());
    }
    Ok(outcome.with("released_claims", released))
}
