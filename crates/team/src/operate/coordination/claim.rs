//! Claims: paths are kept for one session for a while. What somebody else holds is refused, and the rest is granted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use covenant_model::id::ClaimId;
use serde_json::{Value, json};

use super::super::people::People;
use super::super::{Done, details, moment, session};
use super::conflicts::{Collision, collisions, shown};
use super::expiry::about;
use super::{excerpt, spoken};
use crate::coordination::{Claim, Wait};
use crate::input::{CoordinationInput, Invalid, bounds};
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::TeamTx;
use crate::rules::lease::{self, Stance};

/// How many refusals are told, and waited for.
const REFUSED: usize = 200;

/// Claims paths, or renews a claim.
pub(super) async fn claim(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    match (&input.claim_id, &input.paths) {
        (Some(_), Some(_)) => {
            Err(Invalid::new("paths", "and `claim_id` cannot both be given: a claim is renewed as it is")
                .into())
        }
        (Some(id), None) => renew(tx, seat, input, id).await,
        (None, _) => take(tx, seat, input).await,
    }
}

/// Waits for the caller's turn, and insists that their session is not over by then.
async fn enter(tx: &mut impl TeamTx, seat: &Seat) -> Result<(), Stop> {
    tx.take_turn(&seat.member.workspace).await?;
    let Some(session) = &seat.session else { return Ok(()) };
    match tx.session(&session.id).await?.filter(|session| session.ended_at.is_some()) {
        Some(ended) => Err(session::over(&ended)),
        None => Ok(()),
    }
}

async fn take(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    let (wanted, repo, minutes, message) =
        (input.wanted()?, input.place()?, input.minutes()?, input.remark()?);
    enter(tx, seat).await?;
    let open = tx.open_claims(&seat.member.workspace, bounds::TEAM_CLAIMS).await?;
    let collisions = collisions(&wanted, &repo, seat, &open)?;
    let refused: BTreeSet<&str> = collisions.iter().map(|collision| collision.path).collect();
    let granted = wanted.iter().map(|wanted| &wanted.path).filter(|path| !refused.contains(path.as_str()));
    let granted: Vec<String> = granted.cloned().collect();
    let (told, left_out) = collisions.split_at_checked(REFUSED).unwrap_or((&collisions, &[]));
    wait(tx, seat, told).await?;
    let mut rows = Vec::with_capacity(told.len());
    let mut people = People::default();
    for collision in told {
        rows.push(shown(tx, seat, &mut people, collision).await?);
    }
    let outcome = if granted.is_empty() {
        blocked(&rows, wanted.len())
    } else {
        let claim = Claim {
            id: ClaimId::from_random(tx.draw()?),
            workspace: seat.member.workspace.clone(),
            developer: seat.member.id.clone(),
            session: seat.session.as_ref().map(|session| session.id.clone()),
            repo,
            paths: granted,
            message,
            minutes,
            created_at: seat.now,
            expires_at: seat.now.plus(Duration::from_mins(minutes)),
            ending: None,
        };
        grant(tx, seat, claim, &open, refused.len()).await?
    };
    Ok(outcome.with("refused", rows).with("left_out", left_out.len()))
}

/// Keeps a claim; one for the same as an open one of the same session renews that.
async fn grant(tx: &mut impl TeamTx, seat: &Seat, mut claim: Claim, open: &[Claim], refused: usize) -> Done {
    let same = open.iter().find(|held| {
        lease::stance(held, &seat.member.id, claim.session.as_ref()) == Stance::Own
            && held.repo == claim.repo
            && BTreeSet::from_iter(&held.paths) == BTreeSet::from_iter(&claim.paths)
    });
    let status = if let Some(held) = same {
        let message = claim.message.take().or_else(|| held.message.clone());
        let (id, created_at) = (held.id.clone(), held.created_at);
        claim = Claim { id, message, created_at, ..claim };
        tx.save_claim(&claim).await?;
        "renewed"
    } else {
        room(seat, open)?;
        tx.add_claim(&claim).await?;
        "active"
    };
    let mut payload = about(&claim);
    payload.insert("message".to_owned(), claim.message.as_deref().map(excerpt).into());
    payload.insert("refused".to_owned(), refused.into());
    let is = if claim.paths.len() == 1 { "is" } else { "are" };
    let held = format!("{} {is} yours until {}", spoken(&claim.paths), claim.expires_at);
    let outcome = match refused {
        0 => Outcome::ok(format!("{held}.")),
        _ => Outcome::warning(
            format!(
                "{held}; of the paths you named, {refused} {} refused.",
                if refused == 1 { "is" } else { "are" }
            ),
            "Work on what was granted, and leave the refused paths alone; your inbox tells you when they are free.",
        ),
    };
    Ok(outcome.holding(&claim).with("granted", claim.paths.clone()).changed(
        "coordination.claim",
        &claim.id,
        status,
        payload,
    ))
}

/// Whether there is room for one more.
fn room(seat: &Seat, open: &[Claim]) -> Result<(), Denied> {
    let own = open.iter().filter(|claim| claim.developer == seat.member.id).count();
    let (message, action) = if own >= bounds::CLAIMS {
        (format!("You hold {own} claims, and more are not taken."), "Release claims that you do not need.")
    } else if open.len() >= bounds::TEAM_CLAIMS {
        let count = open.len();
        (format!("Your team holds {count} claims, and more are not taken."), "Wait until some are released.")
    } else {
        return Ok(());
    };
    Err(Denied::new("too_many_claims", message, action))
}

fn blocked(rows: &[Value], wanted: usize) -> Outcome {
    let holders: Vec<&str> =
        rows.iter().filter_map(|row| row.get("held_by")).filter_map(Value::as_str).collect();
    let holder = holders.first().copied().unwrap_or_default();
    let others = if holders.iter().any(|other| *other != holder) { " and others" } else { "" };
    let what = if wanted == 1 { "The path is" } else { "All of these paths are" };
    let message = format!("{what} claimed already, by {holder}{others}.");
    let action = "Work on something else; your inbox tells you when the paths are free. Ask the holder with operation \"ask\".";
    Outcome::blocked(message, action).with("claim_id", Value::Null).with("granted", json!([]))
}

/// The most paths of one claim that somebody waits for.
const WAITED_FOR: usize = 4 * bounds::CLAIM_PATHS;

/// Remembers who was refused what, so that they can be told when it is free.
async fn wait(tx: &mut impl TeamTx, seat: &Seat, refused: &[Collision<'_>]) -> Result<(), Stop> {
    let mut by_claim: BTreeMap<&ClaimId, Vec<String>> = BTreeMap::new();
    for collision in refused {
        by_claim.entry(&collision.claim.id).or_default().push(collision.path.to_owned());
    }
    for (claim, paths) in by_claim {
        // Whoever was refused other paths of the same claim before waits for those too.
        let before = tx.waits(claim).await?.into_iter().find(|wait| wait.developer == seat.member.id);
        let mut all: BTreeSet<String> = before.into_iter().flat_map(|wait| wait.paths).collect();
        all.extend(paths);
        let paths = all.into_iter().take(WAITED_FOR).collect();
        let wait = Wait { claim: claim.clone(), developer: seat.member.id.clone(), paths, at: seat.now };
        tx.save_wait(&wait).await?;
    }
    Ok(())
}

async fn renew(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput, id: &ClaimId) -> Done {
    let minutes = input.minutes()?;
    enter(tx, seat).await?;
    let mut claim = own(tx, seat, id).await?;
    if let Some((ending, at)) = claim.ending {
        let message = format!("The claim was {ending} at {at}, and is not renewed.");
        let action = "Claim its paths again: somebody else may hold them by now.";
        return Ok(Outcome::warning(message, action).holding(&claim));
    }
    claim.minutes = input.ttl_minutes.map_or(claim.minutes, |_| minutes);
    claim.expires_at = seat.now.plus(Duration::from_mins(claim.minutes));
    tx.save_claim(&claim).await?;
    let message = format!("The claim is renewed until {}.", claim.expires_at);
    Ok(Outcome::ok(message).holding(&claim).changed("coordination.claim", id, "renewed", about(&claim)))
}

/// The caller's own claim with that id, whether or not it ended.
pub(super) async fn own(tx: &mut impl TeamTx, seat: &Seat, id: &ClaimId) -> Result<Claim, Stop> {
    let found = tx.claim(id).await?.filter(|claim| claim.developer == seat.member.id);
    found.ok_or_else(|| Denied::missing("claim", id.as_str()).into())
}

impl Outcome {
    /// The same, with how that claim stands.
    pub(super) fn holding(self, claim: &Claim) -> Self {
        let held = json!({
            "claim_id": claim.id.as_str(),
            "paths": claim.paths,
            "repo": claim.repo,
            "ttl_minutes": claim.minutes,
            "expires_at": moment(claim.expires_at),
        });
        let this = details(held).into_iter().fold(self, |this, (name, value)| this.with(&name, value));
        this.with("status", claim.ending.map_or("active", |(how, _)| how.as_str())).about(&claim.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_hold_paths_only_where_there_are_others() {
        for (holders, said) in [
            (vec!["bob"], "The path is claimed already, by bob."),
            (vec!["bob", "bob"], "All of these paths are claimed already, by bob."),
            (vec!["bob", "ada"], "All of these paths are claimed already, by bob and others."),
        ] {
            let rows: Vec<Value> = holders.iter().map(|holder| json!({"held_by": holder})).collect();
            assert_eq!(blocked(&rows, rows.len()).envelope.message, said);
        }
    }
}
