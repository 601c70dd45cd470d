//! What is read for a look at a team: its lists, what audits found, and what is known of the caller.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use covenant_model::time::Timestamp;

use super::super::lots::{self, Lot, team};
use crate::audit::{Audit, Conflict};
use crate::coordination::{Concerning, Message, MessageKind};
use crate::input::NoteKind;
use crate::perform::Seat;
use crate::perform::outcome::Stop;
use crate::port::survey::{Listed, Shelf, Warned, Whose};
use crate::port::{Note, TeamTx};
use crate::rules::next::Undecided;
use crate::rules::{parallel, stale};
use crate::session::{Session, SharedContext};
use crate::work::{Kind, Status, WorkId};

/// How many of the caller's own are looked at, of each kind of thing.
pub(super) const OWN: usize = 3;
const FEW: u32 = 3;

/// How many of the caller's warnings are looked through for those that something has to be decided about.
const LOOKED_THROUGH: u32 = 50;

/// How many audits are told of; what the newest found is told in full.
const AUDITS: u32 = 5;

/// For how long notes, warnings and sessions are recent.
const RECENT: Duration = parallel::RECENT;

/// For how long it is worth saying that a warning was given, or that a context is over.
const LATELY: Duration = Duration::from_hours(24);

/// What is known of the caller alone.
pub(super) struct Own {
    /// What others asked them, and passed on to them.
    pub(super) waiting: Vec<Message>,
    pub(super) stale: Vec<Session>,
    pub(super) blocked: Vec<Listed>,
    pub(super) planned: Vec<Listed>,
    pub(super) undecided: Vec<Undecided>,
    pub(super) expired: Option<SharedContext>,
}

/// A look at a team.
pub(super) struct Look {
    pub(super) active: Lot<Listed>,
    pub(super) planned: Lot<Listed>,
    pub(super) completed: Lot<Listed>,
    pub(super) streams: Lot<Listed>,
    pub(super) planned_streams: Lot<Listed>,
    pub(super) notes: Lot<Note>,
    pub(super) sessions: Lot<Session>,
    pub(super) stale: Lot<Session>,
    pub(super) warned: Lot<Warned>,
    pub(super) contexts: Lot<SharedContext>,
    /// The newest first; its work as it stands now.
    pub(super) audits: Vec<Audit>,
    pub(super) own: Own,
}

impl Look {
    /// What the latest audit found.
    pub(super) fn conflicts(&self) -> &[Conflict] {
        self.audits.first().map_or(&[], |audit| &audit.conflicts)
    }
}

/// Looks.
pub(super) async fn gather(tx: &mut impl TeamTx, seat: &Seat, most: u32) -> Result<Look, Stop> {
    use Kind::{Task, Workstream};
    use Status::{Active, Blocked, Done, Planned};
    let (ever, recent) = (Timestamp::default(), seat.now.minus(RECENT));
    Ok(Look {
        active: lots::work(tx, seat, &[(Task, Active), (Task, Blocked)], ever, most).await?,
        planned: lots::work(tx, seat, &[(Task, Planned)], ever, most).await?,
        completed: lots::work(tx, seat, &[(Task, Done), (Workstream, Done)], recent, most).await?,
        streams: lots::work(tx, seat, &[(Workstream, Active), (Workstream, Blocked)], ever, most).await?,
        planned_streams: lots::work(tx, seat, &[(Workstream, Planned)], ever, most).await?,
        notes: lots::notes(tx, seat, &[NoteKind::Blocker, NoteKind::Decision], recent, most).await?,
        sessions: lots::sessions(tx, seat, recent, most).await?,
        stale: silent(tx, seat, most).await?,
        warned: lots::warned(tx, seat, recent, most).await?,
        contexts: {
            let current = tx.contexts(&seat.member.workspace, None, seat.now, most).await?;
            lots::counted(tx, seat, current, most, Shelf::Contexts(seat.now)).await?
        },
        audits: audits(tx, seat).await?,
        own: own(tx, seat).await?,
    })
}

/// The stale sessions, without the one this call wakes.
async fn silent(tx: &mut impl TeamTx, seat: &Seat, most: u32) -> Result<Lot<Session>, Stop> {
    let (since, before) = stale::window(seat.now);
    let silent = tx.silent(team(seat), since, before, most).await?;
    let mut lot = lots::counted(tx, seat, silent, most, Shelf::Silent(since, before)).await?;
    let is_this = |session: &Session| seat.session.as_ref().is_some_and(|this| this.id == session.id);
    if let Some(this) = &seat.session
        && (since..before).contains(&this.last_seen_at)
        && this.ended_at.is_none()
    {
        lot.number = lot.number.saturating_sub(1);
    }
    lot.items.retain(|session| !is_this(session));
    Ok(lot)
}

/// The newest audits; what the latest found as it stands now.
async fn audits(tx: &mut impl TeamTx, seat: &Seat) -> Result<Vec<Audit>, Stop> {
    let mut audits = tx.audits(&seat.member.workspace, Timestamp::default(), AUDITS).await?;
    if let Some(latest) = audits.first_mut() {
        let sides = || latest.conflicts.iter().flat_map(|conflict| &conflict.sides);
        let ids: BTreeSet<WorkId> = sides().map(|side| side.id.clone()).collect();
        let ids: Vec<WorkId> = ids.into_iter().collect();
        let now = tx.standing(&ids).await?;
        let now: BTreeMap<WorkId, Status> = now.into_iter().map(|work| (work.id, work.status)).collect();
        for side in latest.conflicts.iter_mut().flat_map(|conflict| &mut conflict.sides) {
            side.status = now.get(&side.id).copied().unwrap_or(side.status);
        }
    }
    Ok(audits)
}

async fn own(tx: &mut impl TeamTx, seat: &Seat) -> Result<Own, Stop> {
    let (me, ever) = (Whose::Own(&seat.member.id), Timestamp::default());
    let (since, before) = stale::window(seat.now);
    let mut stale = tx.silent(me, since, before, FEW + 1).await?;
    stale.retain(|session| seat.session.as_ref().is_none_or(|this| this.id != session.id));
    stale.truncate(OWN);
    let (mut blocked, mut planned) = (Vec::new(), Vec::new());
    for kind in [Kind::Task, Kind::Workstream] {
        blocked.extend(tx.listed(me, kind, Status::Blocked, ever, FEW).await?);
        planned.extend(tx.listed(me, kind, Status::Planned, ever, FEW).await?);
    }
    blocked.truncate(OWN);
    planned.truncate(OWN);
    let lately = seat.now.minus(LATELY);
    let mut warned = tx.warned(me, lately, LOOKED_THROUGH).await?;
    warned.retain(|warned| warned.escalated);
    warned.truncate(OWN);
    let mut undecided = Vec::with_capacity(warned.len());
    for warned in warned {
        let check = match &warned.check {
            Some(id) => tx.check(id).await?,
            None => None,
        };
        undecided.push(Undecided { warned, brief: check.map(|check| check.brief).unwrap_or_default() });
    }
    let newest = tx.newest_context(&seat.member.id).await?;
    let expired = newest.filter(|context| context.expires_at <= seat.now && context.expires_at >= lately);
    let mut waiting = Vec::new();
    for kind in [MessageKind::Ask, MessageKind::Handoff] {
        let to_me = Concerning::To(&seat.member.id);
        waiting.extend(tx.open_messages(&seat.member.workspace, kind, to_me, FEW).await?);
    }
    Ok(Own { waiting, stale, blocked, planned, undecided, expired })
}
