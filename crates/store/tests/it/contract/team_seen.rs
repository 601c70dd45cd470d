//! Everything there is to see of a team between two calls: what its agents were told of, and rows that nobody is told.

use std::collections::BTreeMap;

use covenant_store::{EventsWanted, Store, TeamEvent};
use covenant_team::event::Log;
use covenant_team::port::TeamTx as _;
use covenant_team::session::{Session, SharedContext};
use covenant_team::warning::Warning;
use covenant_team::work::{Kind, Work, WorkId};

use super::Bench;

/// What somebody was told of, in that order, and by whom it was heard first.
#[derive(Default)]
pub(super) struct Known {
    pub(super) works: Ids,
    pub(super) sessions: Ids,
    pub(super) contexts: Ids,
    pub(super) warnings: Ids,
}

/// Ids in the order in which they came up, so that a game is the same whatever they are.
#[derive(Default)]
pub(super) struct Ids(pub(super) Vec<(String, &'static str)>);

impl Ids {
    pub(super) fn hear(&mut self, id: Option<String>, player: &'static str) {
        let new = id.filter(|id| self.whose(id).is_none());
        self.0.extend(new.map(|id| (id, player)));
    }

    pub(super) fn whose(&self, id: &str) -> Option<&'static str> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, player)| *player)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(id, _)| id.as_str())
    }
}

/// Everything there is to see.
pub(super) struct Seen {
    pub(super) works: BTreeMap<String, Work>,
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) contexts: BTreeMap<String, SharedContext>,
    pub(super) warnings: BTreeMap<String, Warning>,
    pub(super) rows: BTreeMap<String, Kept>,
    pub(super) logs: BTreeMap<&'static str, Vec<TeamEvent>>,
}

/// A row that no port gives by its id: whose it is, and what it holds.
#[derive(Debug, PartialEq)]
pub(super) struct Kept {
    pub(super) developer: String,
    rest: String,
}

/// Each with the beginning of its key, the key, whose it is and what else can change of it.
const ROWS: &str = "SELECT 'note|' || id || '|' || developer_id || '|' FROM notes \
    UNION ALL SELECT 'check|' || id || '|' || developer_id || '|' || title_key || CAST(at AS TEXT) FROM preflight_checks \
    UNION ALL SELECT 'snapshot|' || developer_id || session_id || repo || branch || worktree || '|' || developer_id || '|' \
    || dirty_files || unpushed_files || diff_hashes || recent_commits || CAST(at AS TEXT) FROM local_worktrees \
    UNION ALL SELECT 'companion|' || developer_id || '|' || developer_id || '|' \
    || COALESCE(version, '') || COALESCE(repos, '') || CAST(at AS TEXT) FROM companions";

impl Seen {
    pub(super) async fn of(bench: &Bench, store: &Store, known: &Known) -> Self {
        let (mut works, mut sessions) = (BTreeMap::new(), BTreeMap::new());
        let (mut contexts, mut warnings) = (BTreeMap::new(), BTreeMap::new());
        let mut tx = store.begin_team().await.unwrap();
        for id in known.works.iter() {
            let kind = if id.starts_with("task_") { Kind::Task } else { Kind::Workstream };
            let found = tx.work(&WorkId::parse(kind, id).unwrap()).await.unwrap();
            works.extend(found.map(|found| (id.to_owned(), found)));
        }
        for id in known.sessions.iter() {
            let found = tx.session(&id.parse().unwrap()).await.unwrap();
            sessions.extend(found.map(|found| (id.to_owned(), found)));
        }
        for id in known.contexts.iter() {
            let found = tx.context(&id.parse().unwrap()).await.unwrap();
            contexts.extend(found.map(|found| (id.to_owned(), found)));
        }
        for id in known.warnings.iter() {
            let found = tx.warning(&id.parse().unwrap()).await.unwrap();
            warnings.extend(found.map(|found| (id.to_owned(), found)));
        }
        drop(tx);
        let mut logs = BTreeMap::new();
        for log in Log::ALL {
            let wanted = EventsWanted { log, workspace: None, developer: None, after: None, limit: 400 };
            logs.insert(log.as_str(), store.team_events(wanted).await.unwrap());
        }
        let rows = bench.texts(ROWS).await.into_iter().map(|row| {
            let mut parts = row.splitn(4, '|').map(str::to_owned);
            let mut part = || parts.next().unwrap();
            let key = format!("{}|{}", part(), part());
            (key, Kept { developer: part(), rest: part() })
        });
        Self { works, sessions, contexts, warnings, rows: rows.collect(), logs }
    }

    /// The rows of that sort, by their keys.
    pub(super) fn kept(&self, sort: &str) -> BTreeMap<&str, &Kept> {
        let pairs = self.rows.iter().filter_map(|(key, row)| key.split_once('|').zip(Some(row)));
        pairs.filter(|((of, _), _)| *of == sort).map(|((_, key), row)| (key, row)).collect()
    }
}

/// What is new, or other than it was: how it was, and how it is.
pub(super) fn differing<'s, K: Ord, T: PartialEq>(
    before: &'s BTreeMap<K, T>,
    after: &'s BTreeMap<K, T>,
) -> Vec<(Option<&'s T>, &'s T)> {
    let both = after.iter().map(|(id, now)| (before.get(id), now));
    both.filter(|(was, now)| *was != Some(*now)).collect()
}
