//! Who is in the way on paths: claims that cover one of them, and repositories where files of them are changed.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::super::people::People;
use super::super::{Done, files, moment};
use super::expiry::kept;
use crate::coordination::Claim;
use crate::input::coordination::Wanted;
use crate::input::{CoordinationInput, bounds};
use crate::pattern::{Effort, Pattern};
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::TeamTx;
use crate::rules::lease::{self, Stance};
use crate::rules::privacy;
use crate::session::Worktree;
use crate::work::{Kind, Status};

/// How many tasks of each standing are looked at, and how much is told.
const TASKS: u32 = 200;
const TOLD: usize = 100;
const FILES: usize = 20;

/// How many characters of a pattern are read for the price of one step of a comparison.
const READ: usize = 8;

/// A path that somebody wants, and a claim of another session that covers some of the same.
pub(super) struct Collision<'c> {
    pub(super) path: &'c str,
    pub(super) claim: &'c Claim,
    /// The path of the claim that does.
    held: &'c str,
    same_developer: bool,
}

/// Every collision of these paths with claims of other sessions, those first that expire first.
pub(super) fn collisions<'c>(
    wanted: &'c [Wanted],
    repo: &str,
    seat: &Seat,
    open: &'c [Claim],
) -> Result<Vec<Collision<'c>>, Stop> {
    let session = seat.session.as_ref().map(|session| &session.id);
    let (mut found, mut effort) = (Vec::new(), Effort::ordinary());
    for claim in open.iter().filter(|claim| lease::is_same_place(&claim.repo, repo)) {
        let stance = lease::stance(claim, &seat.member.id, session);
        if stance == Stance::Own {
            continue;
        }
        effort.spend_on(claim.paths.iter().map(|path| path.len() / READ + 1).sum());
        spent(&effort)?;
        let held: Vec<(&str, Pattern)> = claim.paths.iter().map(|path| (path.as_str(), kept(path))).collect();
        for wanted in wanted {
            let first = held.iter().find(|(_, held)| held.meets(&wanted.covers, &mut effort));
            if let Some((held, _)) = first {
                let same_developer = stance == Stance::SameDeveloper;
                found.push(Collision { path: &wanted.path, claim, held, same_developer });
            }
        }
        spent(&effort)?;
    }
    Ok(found)
}

fn spent(effort: &Effort) -> Result<(), Stop> {
    if !effort.is_spent() {
        return Ok(());
    }
    let message =
        "These paths cannot be compared with all that others hold and changed: there is too much of it.";
    let action = "Name fewer paths, with fewer `*`, and the repository in `repo`.";
    Err(Denied::new("too_much", message, action).into())
}

/// A collision, as the caller sees it.
pub(super) async fn shown(
    tx: &mut impl TeamTx,
    seat: &Seat,
    people: &mut People,
    collision: &Collision<'_>,
) -> Result<Value, Stop> {
    let claim = collision.claim;
    Ok(json!({
        "path": collision.path,
        "held_path": collision.held,
        "held_by": people.name(tx, seat, &claim.developer).await?,
        "session_id": people.session(seat, &claim.developer, claim.session.as_ref()),
        "claim_id": claim.id.as_str(),
        "expires_at": moment(claim.expires_at),
        "same_developer": collision.same_developer,
    }))
}

/// Tells who works on these paths. It informs, and keeps nobody from anything.
pub(super) async fn check(tx: &mut impl TeamTx, seat: &Seat, input: &CoordinationInput) -> Done {
    let (wanted, repo) = (input.wanted()?, input.place()?);
    let (workspace, mut people) = (&seat.member.workspace, People::default());
    let open = tx.open_claims(workspace, bounds::TEAM_CLAIMS).await?;
    let collisions = collisions(&wanted, &repo, seat, &open)?;
    let mut claims = Vec::new();
    for collision in collisions.iter().take(TOLD) {
        claims.push(shown(tx, seat, &mut people, collision).await?);
    }
    let looked = tx.worktrees(workspace, files::elsewhere(seat, &repo), files::WORKTREES).await?;
    let mut worktrees = Vec::new();
    let mut effort = Effort::ordinary();
    for there in &looked.worktrees {
        let (files, left_out) = touched(there, &wanted, &mut effort);
        spent(&effort)?;
        if !files.is_empty() {
            worktrees.push(worktree(tx, seat, &mut people, there, files, left_out).await?);
        }
    }
    let (tasks, all) = tasks(tx, seat, &mut people, (&wanted, &repo), &mut effort).await?;
    let all = all && looked.all;
    let outcome = match (collisions.len(), worktrees.len(), tasks.len()) {
        (0, 0, 0) if all => Outcome::ok("Nobody else holds, changes or means to change any of these paths."),
        (0, 0, 0) => Outcome::ok(
            "Nobody else holds any of these paths, and of the newest worktrees and tasks none touches them; \
             there are more than were looked at.",
        ),
        (held, changed, meant) => {
            let [held, changed, meant] = [
                counted(held, "claim", "claims"),
                counted(changed, "worktree", "worktrees"),
                counted(meant, "task", "tasks"),
            ];
            Outcome::warning(
                format!("Others are at work on these paths: {held}, {changed} and {meant}."),
                "Speak with them before you change these files: operation \"ask\", or claim what is free with \"claim\".",
            )
        }
    };
    let left_out = collisions.len().saturating_sub(TOLD);
    let outcome = outcome.with("claims", claims).with("worktrees", worktrees).with("tasks", tasks);
    Ok(outcome.with("left_out", left_out).with("looked_at_all", all))
}

/// So many of something.
fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The open tasks of others, and of the caller's other sessions, that mean to touch what these paths cover, those first that
/// changed last; and whether all there are were looked at.
async fn tasks(
    tx: &mut impl TeamTx,
    seat: &Seat,
    people: &mut People,
    (wanted, repo): (&[Wanted], &str),
    effort: &mut Effort,
) -> Result<(Vec<Value>, bool), Stop> {
    let (mut told, mut all) = (Vec::new(), true);
    for status in [Status::Active, Status::Blocked, Status::Planned] {
        let running = tx.running(&seat.member.workspace, Kind::Task, status, TASKS).await?;
        all = all && running.len() < usize::try_from(TASKS).unwrap_or(usize::MAX);
        for work in running {
            let covered = |file: &&String| {
                let file = Pattern::file(file);
                wanted.iter().any(|wanted| wanted.covers.meets(&file, effort))
            };
            let files: Vec<&String> = work.brief.target_files.iter().filter(covered).take(FILES).collect();
            spent(effort)?;
            if files.is_empty() || files::is_same_agent(seat, &work) || told.len() == TOLD {
                continue;
            }
            if files::is_of_another_repository(tx, &work, repo).await? {
                continue;
            }
            told.push(json!({
                "task_id": work.id.as_str(),
                "title": work.brief.title,
                "developer": people.name(tx, seat, &work.developer).await?,
                "same_developer": work.developer == seat.member.id,
                "status": work.status.as_str(),
                "files": files,
            }));
        }
    }
    Ok((told, all))
}

/// The files of a worktree that these paths cover, each once, and how many more there are.
fn touched(there: &Worktree, wanted: &[Wanted], effort: &mut Effort) -> (Vec<Value>, usize) {
    let dirty = there.dirty_files.iter().map(|file| (file, "dirty"));
    let known: HashSet<&String> = there.dirty_files.iter().collect();
    let unpushed = there.unpushed_files.iter().filter(|file| !known.contains(file));
    let covered = dirty.chain(unpushed.map(|file| (file, "unpushed"))).filter(|(file, _)| {
        let file = Pattern::file(file);
        wanted.iter().any(|wanted| wanted.covers.meets(&file, effort))
    });
    let covered: Vec<Value> = covered.map(|(file, state)| json!({ "path": file, "state": state })).collect();
    let left_out = covered.len().saturating_sub(FILES);
    (covered.into_iter().take(FILES).collect(), left_out)
}

async fn worktree(
    tx: &mut impl TeamTx,
    seat: &Seat,
    people: &mut People,
    there: &Worktree,
    files: Vec<Value>,
    left_out: usize,
) -> Result<Value, Stop> {
    let developer = people.name(tx, seat, &there.developer).await?;
    let known = developer != privacy::PRIVATE;
    Ok(json!({
        "developer": developer,
        "session_id": people.session(seat, &there.developer, there.session.as_ref()),
        "same_developer": there.developer == seat.member.id,
        "repo": Some(&there.repo).filter(|_| known),
        "branch": Some(&there.branch).filter(|_| known),
        "files": files,
        "files_left_out": left_out,
        "at": moment(there.at),
    }))
}
