//! Somebody who is no member any more: what they have open ends, so that nobody waits for who does not come back.

use covenant_model::time::Timestamp;

use super::{Done, change, coordination, session};
use crate::perform::Seat;
use crate::perform::outcome::Outcome;
use crate::port::TeamTx;
use crate::port::survey::Whose;
use crate::work::{Kind, Status};

/// How many things of each kind end at a time: few, because others wait.
const SLICE: u32 = 100;

const REASON: &str = "Whoever did it is not in the team any more.";

/// Ends some of it: sessions, claims, tasks and workstreams. If nothing changed, nothing is left.
pub(crate) async fn depart(tx: &mut impl TeamTx, seat: &Seat) -> Done {
    tx.take_turn(&seat.member.workspace).await?;
    let (me, ever) = (Whose::Own(&seat.member.id), Timestamp::default());
    let mut outcome = Outcome::ok("What was open is ended.");
    let last = Timestamp::from_millis(i64::MAX.unsigned_abs());
    for session in tx.silent(me, ever, last, SLICE).await? {
        outcome = session::put_an_end(tx, seat, &session, outcome).await?;
    }
    outcome = coordination::let_go(tx, seat, |_| true, outcome).await?;
    for kind in [Kind::Task, Kind::Workstream] {
        for status in [Status::Planned, Status::Active, Status::Blocked] {
            for listed in tx.listed(me, kind, status, ever, SLICE).await? {
                let Some(mut work) = tx.work(&listed.id).await? else { continue };
                outcome = change::give_up(tx, seat, &mut work, REASON.to_owned(), outcome).await?;
            }
        }
    }
    Ok(outcome)
}
