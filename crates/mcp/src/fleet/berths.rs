//! Connections that are not shared: one for each principal or session that calls. There are so many of one server, and
//! fewer for one principal; where there are too many, the one that was quiet for longest makes room.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::line::{Busy, Line};

/// How many connections of one server there may be.
pub(super) const MOST: usize = 64;

/// How many of them may be of one principal.
pub(super) const OF_ONE: usize = 8;

/// The connections of one server, by whom they are for.
#[derive(Default)]
pub(super) struct Berths(Mutex<HashMap<Whose, Arc<Berth>>>);

/// Whom a connection is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Whose {
    /// A principal; also where calls of no session need one.
    Principal(String),
    /// A session, by where it lies in memory while it goes on.
    Session(usize),
}

/// One connection: to be made, or there.
pub(super) struct Berth {
    pub(super) line: OnceCell<Arc<Line>>,
    /// Why it could not be made, for all who waited.
    pub(super) failed: OnceLock<String>,
    /// How many wait for it or have just taken it up.
    guests: AtomicUsize,
    /// Who called first.
    principal: Arc<str>,
    /// The session is over.
    pub(super) over: Option<CancellationToken>,
    /// It is to end.
    pub(super) end: CancellationToken,
}

/// Somebody at a berth. When the last one leaves before the connection was made, nobody makes it any more, and the berth
/// is free for others.
pub(super) struct Guest<'a> {
    berths: &'a Berths,
    whose: &'a Whose,
    pub(super) berth: Arc<Berth>,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let mut berths = self.berths.0.lock();
        let last = self.berth.guests.fetch_sub(1, Ordering::Relaxed) == 1;
        if last && self.berth.line.get().is_none() {
            leave(&mut berths, self.whose, &self.berth);
        }
    }
}

/// Why there is no berth: all are in use. Each is a clause that can follow the server's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    /// All of them.
    #[error(
        "has {MOST} connections for as many callers already, and calls are under way on each (`isolation`); try again \
         when one of them has ended"
    )]
    Server,
    /// Those of one principal.
    #[error(
        "has {OF_ONE} connections for your sessions already, and calls are under way on each (`isolation`); try again \
         when one of them has ended"
    )]
    Principal,
}

impl Berth {
    pub(super) fn is_over(&self) -> bool {
        self.end.is_cancelled() || self.over.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}

impl Berths {
    /// The berth for whoever that is: an old one unless its line is the one that was of no use, or a new one.
    pub(super) fn berth<'a>(
        &'a self,
        whose: &'a Whose,
        principal: &str,
        over: Option<&CancellationToken>,
        not: Option<u64>,
    ) -> Result<Guest<'a>, Full> {
        let mut berths = self.0.lock();
        let guest = |berth: &Arc<Berth>| {
            berth.guests.fetch_add(1, Ordering::Relaxed);
            Guest { berths: self, whose, berth: Arc::clone(berth) }
        };
        berths.retain(|_, berth| !berth.is_over());
        let spent =
            |berth: &Arc<Berth>| berth.line.get().is_some_and(|line| Some(line.id) == not || !line.serves());
        if let Some(berth) = berths.get(whose).filter(|berth| !spent(berth)) {
            return Ok(guest(berth));
        }
        if let Some(spent) = berths.remove(whose) {
            spent.end.cancel();
        }
        make_room(&mut berths, OF_ONE, |berth| &*berth.principal == principal).ok_or(Full::Principal)?;
        make_room(&mut berths, MOST, |_| true).ok_or(Full::Server)?;
        let berth = Arc::new(Berth {
            line: OnceCell::new(),
            failed: OnceLock::new(),
            guests: AtomicUsize::new(0),
            principal: principal.into(),
            over: over.cloned(),
            end: CancellationToken::new(),
        });
        berths.insert(whose.clone(), Arc::clone(&berth));
        Ok(guest(&berth))
    }

    /// Begins a call, unless the berth was closed.
    pub(super) fn enter(&self, whose: &Whose, berth: &Arc<Berth>) -> Option<Busy> {
        let berths = self.0.lock();
        let there = berths.get(whose).is_some_and(|known| Arc::ptr_eq(known, berth));
        berth.line.get().filter(|_| there).map(Line::enter)
    }

    /// Nobody takes that berth any more.
    pub(super) fn close(&self, whose: &Whose, berth: &Arc<Berth>) {
        leave(&mut self.0.lock(), whose, berth);
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        for (_, berth) in self.0.lock().drain() {
            berth.end.cancel();
        }
    }
}

fn leave(berths: &mut HashMap<Whose, Arc<Berth>>, whose: &Whose, berth: &Arc<Berth>) {
    if berths.get(whose).is_some_and(|known| Arc::ptr_eq(known, berth)) {
        berths.remove(whose);
    }
    berth.end.cancel();
}

/// Sees to it that there are fewer than so many of those: the one that was quiet for longest goes. Nothing where calls
/// are under way on each.
fn make_room(
    berths: &mut HashMap<Whose, Arc<Berth>>,
    most: usize,
    counts: impl Fn(&Berth) -> bool,
) -> Option<()> {
    if berths.values().filter(|berth| counts(berth)).count() < most {
        return Some(());
    }
    let quiet = |berth: &Berth| berth.line.get().and_then(|line| line.quiet_since());
    let those = berths.iter().filter(|(_, berth)| counts(berth));
    let longest = those.filter_map(|(whose, berth)| Some((quiet(berth)?, whose))).min_by_key(|(at, _)| *at);
    let whose = longest.map(|(_, whose)| whose.clone())?;
    if let Some(berth) = berths.remove(&whose) {
        berth.end.cancel();
    }
    Some(())
}
