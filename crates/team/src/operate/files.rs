//! Who else means to touch the same files, or has touched them. It informs: nothing is ever kept from starting by it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::look::Wanted;
use super::people::People;
use crate::overlap::opposed;
use crate::perform::Seat;
use crate::perform::outcome::Stop;
use crate::port::TeamTx;
use crate::rules::privacy;
use crate::session::{Elsewhere, Snapshot};
use crate::work::{Action, Work, WorkId};

/// How long what a repository looked like is still told of.
pub(super) const RECENT: Duration = Duration::from_hours(24);
/// How many worktrees are looked at, the newest first.
pub(super) const WORKTREES: u32 = 100;
/// How many tasks are looked at.
const LOOKED_AT: usize = 200;
/// How many conflicts are told at once, and how many files of each.
const CONFLICTS: usize = 50;
const FILES: usize = 50;

/// What others have to do with the files that work means to touch.
pub(super) async fn conflicts(
    tx: &mut impl TeamTx,
    seat: &Seat,
    people: &mut People,
    wanted: &Wanted<'_>,
) -> Result<Vec<Value>, Stop> {
    let files = &wanted.brief.target_files;
    let repo = seat.session.as_ref().and_then(|session| session.repo.as_deref()).unwrap_or_default();
    let another = |work: &Work| wanted.itself != Some(&work.id);
    let mut conflicts = tasks(tx, seat, people, (files, repo), wanted.brief.action, another).await?;
    conflicts.extend(worktrees(tx, seat, people, files, repo).await?);
    conflicts.truncate(CONFLICTS);
    Ok(conflicts)
}

/// What others have to do with the files that were touched in a repository.
pub(super) async fn overlaps(
    tx: &mut impl TeamTx,
    seat: &Seat,
    snapshot: &Snapshot,
) -> Result<Vec<Value>, Stop> {
    let mut people = People::default();
    let files: Vec<String> = snapshot.dirty_files.iter().chain(&snapshot.unpushed_files).cloned().collect();
    let another = |work: &Work| !is_same_agent(seat, work);
    let mut overlaps = tasks(tx, seat, &mut people, (&files, &snapshot.repo), None, another).await?;
    overlaps.extend(worktrees(tx, seat, &mut people, &files, &snapshot.repo).await?);
    overlaps.truncate(CONFLICTS);
    Ok(overlaps)
}

/// Open tasks that mean to touch one of those files of a repository, of those that count.
async fn tasks(
    tx: &mut impl TeamTx,
    seat: &Seat,
    people: &mut People,
    (files, repo): (&[String], &str),
    action: Option<Action>,
    counts: impl Fn(&Work) -> bool,
) -> Result<Vec<Value>, Stop> {
    let mut told = Vec::new();
    if files.is_empty() {
        return Ok(told);
    }
    let touching = tx.touching(&seat.member.workspace, files).await?;
    for id in touching.into_iter().filter(|id| matches!(id, WorkId::Task(_))).take(LOOKED_AT) {
        let Some(work) = tx.work(&id).await? else { continue };
        let shared = shared(files, &work.brief.target_files);
        if !work.status.is_open() || shared.is_empty() || !counts(&work) {
            continue;
        }
        if is_of_another_repository(tx, &work, repo).await? {
            continue;
        }
        let mut conflict = json!({
            "source": "task",
            "id": work.id.as_str(),
            "title": work.brief.title,
            "owner": people.name(tx, seat, &work.developer).await?,
            "same_developer": work.developer == seat.member.id,
            "files": shared,
            "action": work.brief.action.map(Action::as_str),
            "status": work.status.as_str(),
        });
        if opposed::actions(action, work.brief.action)
            && let Some(conflict) = conflict.as_object_mut()
        {
            conflict.insert("action_divergent".to_owned(), true.into());
        }
        told.push(conflict);
    }
    Ok(told)
}

/// The worktrees of others, and of the caller's other sessions, in a repository, or in all where none is named.
pub(super) fn elsewhere<'s>(seat: &'s Seat, repo: &'s str) -> Elsewhere<'s> {
    Elsewhere {
        since: seat.now.minus(RECENT),
        repo,
        developer: &seat.member.id,
        session: seat.session.as_ref().map(|session| &session.id),
        files: None,
    }
}

/// Repositories in which others have touched one of those files.
async fn worktrees(
    tx: &mut impl TeamTx,
    seat: &Seat,
    people: &mut People,
    files: &[String],
    repo: &str,
) -> Result<Vec<Value>, Stop> {
    let mut told = Vec::new();
    if files.is_empty() {
        return Ok(told);
    }
    let wanted: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    let of = Elsewhere { files: Some(&wanted), ..elsewhere(seat, repo) };
    for there in tx.worktrees(&seat.member.workspace, of, WORKTREES).await?.worktrees {
        let shared: BTreeSet<&String> = there.dirty_files.iter().chain(&there.unpushed_files).collect();
        let shared: Vec<&String> = shared.into_iter().take(FILES).collect();
        if shared.is_empty() {
            continue;
        }
        let owner = people.name(tx, seat, &there.developer).await?;
        // Names of repositories and branches are often those of people.
        let known = owner != privacy::PRIVATE;
        told.push(json!({
            "source": "snapshot",
            "owner": owner,
            "same_developer": there.developer == seat.member.id,
            "files": shared,
            "action": Value::Null,
            "repo": Some(&there.repo).filter(|_| known),
            "branch": Some(&there.branch).filter(|_| known),
            "session_id": people.session(seat, &there.developer, there.session.as_ref()),
            "at": super::moment(there.at),
        }));
    }
    Ok(told)
}

/// Whether a task is work in another repository than that one. A task is where the session is in which it was last begun; of one
/// without, or where no repository is named, it is not known, and it is told.
pub(super) async fn is_of_another_repository(
    tx: &mut impl TeamTx,
    work: &Work,
    repo: &str,
) -> Result<bool, Stop> {
    let session = match &work.session {
        Some(id) if !repo.is_empty() => tx.session(id).await?,
        _ => None,
    };
    let there = session.and_then(|session| session.repo).filter(|there| !there.is_empty());
    Ok(there.is_some_and(|there| there != repo))
}

/// Whether a task is of the agent that asks. Of one developer's several agents each has a session of its own.
pub(super) fn is_same_agent(seat: &Seat, work: &Work) -> bool {
    let here = seat.session.as_ref().map(|session| &session.id);
    work.developer == seat.member.id
        && (here.is_none() || work.session.is_none() || work.session.as_ref() == here)
}

fn shared(wanted: &[String], there: &[String]) -> Vec<String> {
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    let both: BTreeSet<&str> =
        wanted.iter().map(String::as_str).filter(|path| there.contains(path)).collect();
    both.into_iter().take(FILES).map(str::to_owned).collect()
}
