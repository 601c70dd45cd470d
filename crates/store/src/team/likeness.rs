//! The work of each team, in memory and ready to be searched, kept current by the number of the last change that is in it: a
//! look reads the rows that are newer, and no others.
//!
//! Changes to a team's work take turns, and a turn is counted before anything is changed in it. Whoever holds a turn knows that
//! all earlier ones are over; whoever holds none reads the counter first, and takes what was changed up to there. So what is in
//! memory was committed, in whichever order looks and changes came.
//!
//! All of it is read once, after a start of the daemon, and outside of every transaction: nobody else waits for that.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use covenant_model::id::{DeveloperId, WorkspaceId, WorkstreamId};
use covenant_model::time::Timestamp;
use covenant_team::overlap::{Among, Features, Index, Match, Query, Standing};
use covenant_team::work::{Kind, Work, WorkId};
use parking_lot::Mutex;

use super::span::{self, Cursor, Span};
use crate::db::{Db, DbError, Record, Row, Rows};

/// How much longer than it is looked at what is over stays in memory, so that it is not read and let go of at every look. It
/// still counts for how common a word is, and every daemon should count alike: so not for long.
const LINGERS: Duration = Duration::from_mins(1);

/// What a team's counter says.
const COUNTER: &str = "SELECT turn FROM workspaces WHERE id = $1";

/// How many items are made ready to be searched before others have a go.
const SPELL: usize = 32;

/// Every team's work, as far as somebody looked.
#[derive(Default)]
pub(crate) struct Likeness {
    teams: Mutex<HashMap<WorkspaceId, Arc<Team>>>,
}

/// How much of a team's work may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// What changed since the last look.
    Changes,
    /// Everything, if it has to be.
    All,
}

/// One team's work.
#[derive(Default)]
pub(super) struct Team {
    /// What is known of it. Nobody holds this for longer than it takes to read what changed.
    pub(super) known: tokio::sync::Mutex<Known>,
    /// Held by whoever reads all of it.
    reading: tokio::sync::Mutex<()>,
}

/// What is known of one team's work.
#[derive(Default)]
pub(super) struct Known {
    /// Up to which change; of a team at which nobody looked, none.
    turn: Option<u64>,
    work: Index<WorkId>,
    /// The running workstreams of each developer, containers among them.
    streams: HashMap<DeveloperId, Index<WorkstreamId>>,
    /// Whose each of them is, so that it is found when it ends.
    owners: HashMap<WorkstreamId, DeveloperId>,
    /// What is over, in the order in which it ended, and from when on all of it is here.
    over: BTreeSet<(Timestamp, WorkId)>,
    from: Option<Timestamp>,
}

impl Likeness {
    pub(super) fn of(&self, workspace: &WorkspaceId) -> Arc<Team> {
        self.teams.lock().entry(workspace.clone()).or_default().clone()
    }

    /// Reads all of a team's work, unless somebody just did.
    pub(super) async fn read(
        &self,
        db: &Db,
        workspace: &WorkspaceId,
        since: Option<Timestamp>,
    ) -> Result<(), DbError> {
        let team = self.of(workspace);
        let _reading = team.reading.lock().await;
        if !team.known.lock().await.lacks(since) {
            return Ok(());
        }
        let mut fresh = Known::default();
        fresh.catch_up(&mut &*db, workspace, None, since, Reach::All).await?;
        *team.known.lock().await = fresh;
        Ok(())
    }
}

impl Known {
    /// Whether all of it has to be read first.
    fn lacks(&self, since: Option<Timestamp>) -> bool {
        self.turn.is_none() || since.is_some() && self.from.is_none()
    }

    /// Takes in what changed since the last time: with a turn of one's own, everything before it. Where what is over is of
    /// interest, `since` is from when on.
    pub(super) async fn catch_up(
        &mut self,
        rows: &mut impl Rows,
        workspace: &WorkspaceId,
        turn: Option<u64>,
        since: Option<Timestamp>,
        reach: Reach,
    ) -> Result<(), DbError> {
        let upto = match turn {
            Some(turn) => turn.saturating_sub(1),
            None => counter(&rows.rows(COUNTER, vec![workspace.as_str().into()]).await?)?,
        };
        if self.turn.is_some_and(|known| known > upto) {
            // The database went back, as a copy of it does that takes over: what is here may never have been.
            *self = Self::default();
        }
        if reach == Reach::Changes && self.lacks(since) {
            return Err(DbError::Unread { workspace: workspace.clone(), since });
        }
        let known = self.turn;
        for kind in Kind::ALL.iter().copied().filter(|_| known.is_none_or(|known| known < upto)) {
            let span = match known {
                Some(known) => Span::Changed { after: known, upto },
                None => Span::Open { upto },
            };
            self.take_in(rows, kind, workspace, span).await?;
        }
        let upto = self.turn.map_or(upto, |known| known.max(upto));
        self.turn = Some(upto);
        match since {
            Some(since) => self.reach_back(rows, workspace, upto, since).await,
            None => Ok(()),
        }
    }

    /// Sees to it that all that is over since then is there, and not much that was over long before.
    async fn reach_back(
        &mut self,
        rows: &mut impl Rows,
        workspace: &WorkspaceId,
        upto: u64,
        since: Timestamp,
    ) -> Result<(), DbError> {
        let wanted = since.minus(LINGERS);
        if let Some(from) = self.from.filter(|from| *from <= since) {
            if from < wanted.minus(LINGERS) {
                self.forget(wanted);
                self.from = Some(wanted);
            }
            return Ok(());
        }
        let before = self.from.replace(wanted);
        for kind in Kind::ALL {
            let span = Span::Ended { since: wanted, before, upto };
            let taken = self.take_in(rows, *kind, workspace, span).await;
            if taken.is_err() {
                self.from = before;
                return taken;
            }
        }
        Ok(())
    }

    /// Reads a span, a slice at a time: nobody waits long for the database, or for whoever else runs here.
    async fn take_in(
        &mut self,
        rows: &mut impl Rows,
        kind: Kind,
        workspace: &WorkspaceId,
        span: Span,
    ) -> Result<(), DbError> {
        let mut from = Cursor::default();
        loop {
            let (slice, next) = span::slice(rows, kind, workspace, span, from).await?;
            for spell in slice.chunks(SPELL) {
                for work in spell {
                    self.put(work);
                }
                tokio::task::yield_now().await;
            }
            match next {
                Some(next) => from = next,
                None => return Ok(()),
            }
        }
    }

    fn put(&mut self, work: &Work) {
        let features = Features::of(&work.brief);
        if let WorkId::Workstream(id) = &work.id {
            self.put_stream(id, work, &features);
        }
        if work.is_container() {
            return;
        }
        match work.ended_at {
            None => self.work.put(work.id.clone(), &features, Standing::Open),
            Some(at) if self.from.is_some_and(|from| from <= at) => {
                self.work.put(work.id.clone(), &features, Standing::Ended(at));
                self.over.insert((at, work.id.clone()));
            }
            Some(_) => drop(self.work.remove(&work.id)),
        }
    }

    fn put_stream(&mut self, id: &WorkstreamId, work: &Work, features: &Features) {
        if let Some(streams) = self.owners.remove(id).and_then(|owner| self.streams.get_mut(&owner)) {
            streams.remove(id);
        }
        if work.status.is_running() {
            let streams = self.streams.entry(work.developer.clone()).or_default();
            streams.put(id.clone(), features, Standing::Open);
            self.owners.insert(id.clone(), work.developer.clone());
        }
    }

    /// Lets go of what was over before that.
    fn forget(&mut self, since: Timestamp) {
        while let Some((_, id)) = self.over.first().filter(|(at, _)| *at < since).cloned() {
            self.over.pop_first();
            self.work.remove(&id);
        }
    }

    /// The work most like what is looked for.
    pub(super) fn alike(&self, query: &Query, among: &Among<'_, WorkId>, most: usize) -> Vec<Match<WorkId>> {
        self.work.search(query, among, most)
    }

    /// What means to touch one of those files.
    pub(super) fn touching(&self, files: &[String]) -> Vec<WorkId> {
        self.work.touching(files.iter().map(String::as_str))
    }

    /// The workstream of a developer that fits best, if one does.
    pub(super) fn stream_for(&self, developer: &DeveloperId, query: &Query) -> Option<WorkstreamId> {
        let streams = self.streams.get(developer)?;
        let found = streams.search(query, &Among::all(), 1).into_iter().next()?;
        let fits = !found.action_divergent && !found.component_divergent && !found.low_information;
        fits.then_some(found.id)
    }
}

fn counter(rows: &[Row]) -> Result<u64, DbError> {
    rows.first().map_or(Ok(0), |row| Record::of("workspaces", row).count("turn"))
}

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[COUNTER];
