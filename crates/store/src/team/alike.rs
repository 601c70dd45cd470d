//! Which work of a team is like some work: its open and lately ended work, made ready to be searched once in a transaction.

use covenant_model::id::WorkspaceId;
use covenant_model::time::Timestamp;
use covenant_team::overlap::{Among, Features, Index, Match, Query, Standing};
use covenant_team::work::{Kind, Status, WorkId};

use super::work;
use crate::db::{DbError, Tx};

/// The most that is read of each kind and standing, the newest of it.
const MOST: u32 = 20_000;

/// The work of one team, and from when on its ended work is there.
pub(super) struct Ready {
    workspace: WorkspaceId,
    since: Timestamp,
    index: Index<WorkId>,
}

impl Ready {
    /// Whether that can be searched for in it.
    pub(super) fn is_for(&self, workspace: &WorkspaceId, among: &Among<'_, WorkId>) -> bool {
        self.workspace == *workspace && self.since <= among.ended_since
    }

    /// The work most like that.
    pub(super) fn search(&self, query: &Query, among: &Among<'_, WorkId>, most: usize) -> Vec<Match<WorkId>> {
        self.index.search(query, among, most)
    }

    /// Reads it.
    pub(super) async fn read(
        tx: &mut Tx,
        workspace: &WorkspaceId,
        since: Timestamp,
    ) -> Result<Self, DbError> {
        let mut index = Index::default();
        for kind in [Kind::Task, Kind::Workstream] {
            for status in Status::ALL {
                let from = if status.is_open() { Timestamp::default() } else { since };
                for work in work::standing(tx, workspace, kind, *status, from, MOST).await? {
                    let stands = match work.ended_at {
                        Some(at) if !status.is_open() => Standing::Ended(at),
                        _ => Standing::Open,
                    };
                    index.put(work.id.clone(), &Features::of(&work.brief), stands);
                }
            }
        }
        Ok(Self { workspace: workspace.clone(), since, index })
    }
}
