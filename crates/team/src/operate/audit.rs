//! An audit of parallel work: running work held against what else runs or was done lately, pair by pair, and kept.

use std::collections::{BTreeMap, BTreeSet};

use covenant_model::id::ParallelAuditId;
use covenant_model::time::Timestamp;
use serde_json::{Map, Value, json};

use super::faces::Faces;
use super::{Done, details, moment};
use crate::audit::{Audit, CONFLICTS, Conflict, Side};
use crate::event::PAYLOAD_BYTES;
use crate::overlap::{Among, Match, Query, is_same_work};
use crate::perform::Seat;
use crate::perform::outcome::{Outcome, Stop};
use crate::port::TeamTx;
use crate::port::survey::{Listed, Shelf};
use crate::rules::parallel;
use crate::work::{Kind, Status, Work, WorkId};

/// The most pieces of running work that are looked at.
const LOOKED_AT: u32 = 500;

/// How many like it are looked at for each of them.
const LIKE_IT: usize = 20;

/// How much of the details of an event the pairs may fill, in bytes; the rest are numbers.
const ROOM: usize = PAYLOAD_BYTES - 512;

/// Compares, keeps what comes of it, and warns if work is done twice.
pub(super) async fn audit(tx: &mut impl TeamTx, seat: &Seat) -> Done {
    let (running, number) = running(tx, seat).await?;
    let looked_at = u64::try_from(running.len()).unwrap_or(u64::MAX);
    let found = pairs(tx, seat, &running).await?;
    let (conflicts, more) = undecided(tx, found).await?;
    let audit = Audit {
        id: ParallelAuditId::from_random(tx.draw()?),
        workspace: seat.member.workspace.clone(),
        developer: seat.member.id.clone(),
        session: seat.session.as_ref().map(|session| session.id.clone()),
        looked_at,
        left_out: number.saturating_sub(looked_at),
        conflicts,
        more,
        at: seat.now,
    };
    tx.add_audit(&audit).await?;
    let developers = audit.conflicts.iter().flat_map(|conflict| &conflict.sides).map(|side| &side.developer);
    let faces = Faces::of(tx, seat, developers).await?;
    let shown: Vec<Value> = audit.conflicts.iter().map(|found| conflict(found, &faces)).collect();
    let (status, payload) = (status(&audit), payload(&audit));
    Ok(told(&audit)
        .with("audit_id", audit.id.as_str())
        .with("conflicts", shown)
        .with("conflicts_left_out", audit.more)
        .with("looked_at", audit.looked_at)
        .with("left_out", audit.left_out)
        .with("at", moment(audit.at))
        .changed("parallel_work.audit", &audit.id, status, payload.clone())
        .remembered(payload)
        .about(&audit.id))
}

/// Whether there was something to heed.
pub(super) fn status(audit: &Audit) -> &'static str {
    if audit.conflicts.is_empty() { "ok" } else { "warning" }
}

fn told(audit: &Audit) -> Outcome {
    let looked_at = match audit.left_out {
        0 => format!("Running work that was looked at: {}.", audit.looked_at),
        left => format!(
            "Running work that was looked at: the {} changed last; {left} were left out.",
            audit.looked_at
        ),
    };
    match audit.conflicts.len() {
        0 => Outcome::ok(format!("No work is done twice. {looked_at}")),
        found => Outcome::warning(
            format!("Pairs that look like the same work: {found}. {looked_at}"),
            "Look at each pair in conflicts with both owners, agree on who goes on, and cancel or complete the other.",
        ),
    }
}

/// The running work that changed last, and how much there is in all.
async fn running(tx: &mut impl TeamTx, seat: &Seat) -> Result<(Vec<Work>, u64), Stop> {
    let workspace = &seat.member.workspace;
    let (mut running, mut number) = (Vec::new(), 0_u64);
    for kind in [Kind::Task, Kind::Workstream] {
        for status in [Status::Active, Status::Blocked] {
            running.extend(tx.running(workspace, kind, status, LOOKED_AT).await?);
            let all = Shelf::Work(kind, status, Timestamp::default());
            number = number.saturating_add(tx.number(workspace, all).await?);
        }
    }
    running.sort_by(|one, other| (other.updated_at, &other.id).cmp(&(one.updated_at, &one.id)));
    running.truncate(usize::try_from(LOOKED_AT).unwrap_or(usize::MAX));
    Ok((running, number))
}

/// The pairs that look like the same work, each once, best first.
async fn pairs(tx: &mut impl TeamTx, seat: &Seat, running: &[Work]) -> Result<Vec<Conflict>, Stop> {
    let mut known: BTreeMap<WorkId, Listed> =
        running.iter().map(|work| (work.id.clone(), Listed::of(work))).collect();
    let mut found: BTreeMap<(WorkId, WorkId), (WorkId, Match<WorkId>)> = BTreeMap::new();
    for work in running {
        let among = Among { except: Some(&work.id), ended_since: seat.now.minus(parallel::RECENT) };
        let query = Query::of(&work.brief);
        for like in tx.alike(&seat.member.workspace, &query, &among, LIKE_IT).await? {
            let pair = if work.id < like.id {
                (work.id.clone(), like.id.clone())
            } else {
                (like.id.clone(), work.id.clone())
            };
            let better = found.get(&pair).is_none_or(|(_, known)| known.score < like.score);
            if better && is_same_work(&like) {
                found.insert(pair, (work.id.clone(), like));
            }
        }
    }
    let unknown = found.values().map(|(_, like)| &like.id).filter(|id| !known.contains_key(id));
    let unknown: BTreeSet<WorkId> = unknown.cloned().collect();
    let unknown: Vec<WorkId> = unknown.into_iter().collect();
    known.extend(tx.standing(&unknown).await?.into_iter().map(|work| (work.id.clone(), work)));
    let judged = found.into_values().filter_map(|(id, like)| {
        let (work, other) = (known.get(&id)?, known.get(&like.id)?);
        let sides = [Side::of(work), Side::of(other)];
        let conflict = Conflict { sides, score: like.score, reason: like.reason.clone() };
        parallel::conflicts(work, other, &like).then_some(conflict)
    });
    let mut conflicts: Vec<Conflict> = judged.collect();
    // Of those that are as much alike, the order of their ids: it is the same each time.
    conflicts.sort_by(|one, other| other.score.total_cmp(&one.score));
    Ok(conflicts)
}

/// The best of the pairs of which nobody said that they are other work, and how many more there may be.
async fn undecided(tx: &mut impl TeamTx, found: Vec<Conflict>) -> Result<(Vec<Conflict>, u64), Stop> {
    let (mut undecided, mut more) = (Vec::new(), 0_u64);
    for conflict in found {
        let [one, other] = &conflict.sides;
        if undecided.len() == CONFLICTS {
            more += 1;
        } else if !tx.is_judged_distinct(&one.id, &other.id).await? {
            undecided.push(conflict);
        }
    }
    Ok((undecided, more))
}

/// A pair as a teammate sees it.
pub(super) fn conflict(conflict: &Conflict, faces: &Faces) -> Value {
    let side = |side: &Side| {
        json!({
            "id": side.id.as_str(),
            "kind": side.id.kind().as_str(),
            "title": side.title,
            "owner": faces.owner(&side.developer),
            "status": side.status.as_str(),
            "same_developer": faces.is_viewer(&side.developer),
        })
    };
    let sides: Vec<Value> = conflict.sides.iter().map(side).collect();
    json!({ "sides": sides, "score": conflict.score, "reason": conflict.reason })
}

/// What is written down of an audit: the best pairs, as many as there is room for, and of the rest the number. Who they
/// belong to is not among it: events are read by the whole team.
fn payload(audit: &Audit) -> Map<String, Value> {
    let (mut room, mut kept) = (ROOM, Vec::new());
    for conflict in &audit.conflicts {
        let [one, other] = conflict.sides.each_ref().map(
            |side| json!({ "id": side.id.as_str(), "title": side.title, "status": side.status.as_str() }),
        );
        let pair = json!({ "sides": [one, other], "score": conflict.score, "reason": conflict.reason });
        let Some(rest) = room.checked_sub(pair.to_string().len() + 1) else { break };
        room = rest;
        kept.push(pair);
    }
    let told = audit.conflicts.len() - kept.len();
    let left_out = audit.more.saturating_add(u64::try_from(told).unwrap_or(u64::MAX));
    details(json!({
        "looked_at": audit.looked_at, "left_out": audit.left_out,
        "conflicts": kept, "conflicts_left_out": left_out,
    }))
}

#[cfg(test)]
mod tests {
    use covenant_model::id::{DeveloperId, WorkspaceId};

    use super::*;
    use crate::event::bounded;

    #[test]
    fn what_is_written_down_of_an_audit_is_bounded_and_says_what_it_leaves_out() {
        let side = |number: u8| Side {
            id: WorkId::from_random(Kind::Task, [number; 10]),
            title: "\u{1}\"".repeat(150),
            developer: DeveloperId::from_random([0; 10]),
            status: Status::Active,
        };
        let pair = Conflict { sides: [side(1), side(2)], score: 0.9, reason: "same title".to_owned() };
        let mut audit = Audit {
            id: ParallelAuditId::from_random([0; 10]),
            workspace: WorkspaceId::from_random([0; 10]),
            developer: DeveloperId::from_random([0; 10]),
            session: None,
            looked_at: 500,
            left_out: u64::MAX,
            conflicts: vec![pair; CONFLICTS],
            more: 7,
            at: Timestamp::default(),
        };
        let kept = payload(&audit);
        assert_eq!(bounded(kept.clone()), kept, "nothing of it is lost");
        let pairs = kept["conflicts"].as_array().unwrap().len();
        assert!(pairs > 0 && pairs < CONFLICTS);
        assert_eq!(kept["conflicts_left_out"], CONFLICTS - pairs + 7);
        audit.conflicts.truncate(1);
        assert_eq!(payload(&audit)["conflicts_left_out"], 7);
    }
}
