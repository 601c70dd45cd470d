//! Lists of a team as several operations read them: newest first, as many as are wanted, and how many there are.

use covenant_model::time::Timestamp;

use crate::audit::Audit;
use crate::input::NoteKind;
use crate::perform::Seat;
use crate::perform::outcome::Stop;
use crate::port::survey::{Listed, Shelf, Warned, Whose};
use crate::port::{Note, TeamTx};
use crate::session::Session;
use crate::work::{Kind, Status};

/// A list, as far as it is told, and how many there are.
pub(super) struct Lot<T> {
    pub(super) items: Vec<T>,
    pub(super) number: u64,
}

/// A whole team.
pub(super) fn team(seat: &Seat) -> Whose<'_> {
    Whose::Team(&seat.member.workspace)
}

/// A list that was read, with how many there are of it. Who got fewer than wanted has seen them all.
pub(super) async fn counted<T>(
    tx: &mut impl TeamTx,
    seat: &Seat,
    items: Vec<T>,
    most: u32,
    all: Shelf,
) -> Result<Lot<T>, Stop> {
    let read = u64::try_from(items.len()).unwrap_or(u64::MAX);
    let number =
        if read < u64::from(most) { read } else { tx.number(&seat.member.workspace, all).await?.max(read) };
    Ok(Lot { items, number })
}

/// Several lists as one.
fn merged<T, K: Ord>(parts: Vec<Lot<T>>, most: u32, key: impl Fn(&T) -> K) -> Lot<T> {
    let number = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.number));
    let mut items: Vec<T> = parts.into_iter().flat_map(|part| part.items).collect();
    items.sort_by_key(|item| std::cmp::Reverse(key(item)));
    items.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Lot { items, number }
}

/// Work of these kinds that stands so, and changed since then.
pub(super) async fn work(
    tx: &mut impl TeamTx,
    seat: &Seat,
    of: &[(Kind, Status)],
    since: Timestamp,
    most: u32,
) -> Result<Lot<Listed>, Stop> {
    let mut parts = Vec::with_capacity(of.len());
    for (kind, status) in of {
        let listed = tx.listed(team(seat), *kind, *status, since, most).await?;
        parts.push(counted(tx, seat, listed, most, Shelf::Work(*kind, *status, since)).await?);
    }
    Ok(merged(parts, most, |work| (work.updated_at, work.id.clone())))
}

/// Notes of these kinds since then.
pub(super) async fn notes(
    tx: &mut impl TeamTx,
    seat: &Seat,
    kinds: &[NoteKind],
    since: Timestamp,
    most: u32,
) -> Result<Lot<Note>, Stop> {
    let mut parts = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let notes = tx.notes(&seat.member.workspace, *kind, since, most).await?;
        parts.push(counted(tx, seat, notes, most, Shelf::Notes(*kind, since)).await?);
    }
    Ok(merged(parts, most, |note| (note.at, note.id.clone())))
}

/// Sessions that were heard of since then.
pub(super) async fn sessions(
    tx: &mut impl TeamTx,
    seat: &Seat,
    since: Timestamp,
    most: u32,
) -> Result<Lot<Session>, Stop> {
    let seen = tx.seen(&seat.member.workspace, since, most).await?;
    counted(tx, seat, seen, most, Shelf::Seen(since)).await
}

/// Checks since then that warned.
pub(super) async fn warned(
    tx: &mut impl TeamTx,
    seat: &Seat,
    since: Timestamp,
    most: u32,
) -> Result<Lot<Warned>, Stop> {
    let warned = tx.warned(team(seat), since, most).await?;
    counted(tx, seat, warned, most, Shelf::Warned(since)).await
}

/// Audits since then.
pub(super) async fn audits(
    tx: &mut impl TeamTx,
    seat: &Seat,
    since: Timestamp,
    most: u32,
) -> Result<Lot<Audit>, Stop> {
    let audits = tx.audits(&seat.member.workspace, since, most).await?;
    counted(tx, seat, audits, most, Shelf::Audits(since)).await
}
