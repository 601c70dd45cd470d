//! A database in memory that can be told how to fail: before a commit, after it, long after it, or altogether.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use covenant_model::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::super::sink::{Ends, Entry, Kept, RowStore};
use crate::ports::Answer;
use crate::refusal::Fault;

/// How one commit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    /// It is refused.
    Refuse,
    /// It happens, and the answer is lost; so is everything after it, until the database is back.
    Lose,
    /// It happens, and the answer is lost.
    LoseAnswer,
    /// It happens just before the next commit that goes well.
    Late,
    /// It never answers.
    Hang,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) rows: BTreeMap<u64, Entry>,
    pub(super) checkpoints: BTreeMap<u64, Kept>,
    pub(super) tombstone: Option<Kept>,
    pub(super) moods: VecDeque<Mood>,
    pub(super) gone: bool,
    pub(super) commits: usize,
    late: Vec<(Vec<Entry>, Vec<Kept>)>,
}

/// The database.
pub(super) struct Table {
    pub(super) state: Mutex<State>,
    /// One permit per commit that may go on.
    pub(super) turns: Semaphore,
}

impl Table {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), turns: Semaphore::new(Semaphore::MAX_PERMITS) })
    }

    pub(super) fn will(&self, moods: &[Mood]) {
        self.state.lock().moods.extend(moods);
    }

    pub(super) fn set_gone(&self, gone: bool) {
        self.state.lock().gone = gone;
    }

    fn look<T: Send + 'static>(&self, look: impl FnOnce(&mut State) -> T) -> Answer<'_, T> {
        let mut state = self.state.lock();
        let seen = if state.gone { Err(fault()) } else { Ok(look(&mut state)) };
        drop(state);
        Box::pin(std::future::ready(seen))
    }
}

fn fault() -> Fault {
    Fault::new("the database cannot be reached", "connection refused")
}

impl State {
    fn commit(&mut self, rows: Vec<Entry>, checkpoints: Vec<Kept>) -> Result<(), Fault> {
        if rows.iter().any(|row| self.rows.contains_key(&row.seq)) {
            return Err(Fault::new("the database could not do that", "duplicate key"));
        }
        self.rows.extend(rows.into_iter().map(|row| (row.seq, row)));
        self.checkpoints.extend(checkpoints.into_iter().map(|mark| (mark.seq, mark)));
        self.commits += 1;
        Ok(())
    }

    fn append(&mut self, rows: Vec<Entry>, checkpoints: Vec<Kept>) -> Option<Result<(), Fault>> {
        if self.gone {
            return Some(Err(fault()));
        }
        let mood = self.moods.pop_front();
        match mood {
            None => {
                for (rows, checkpoints) in std::mem::take(&mut self.late) {
                    self.commit(rows, checkpoints).unwrap();
                }
                return Some(self.commit(rows, checkpoints));
            }
            Some(Mood::Refuse) => {}
            Some(Mood::Hang) => return None,
            Some(Mood::Late) => self.late.push((rows, checkpoints)),
            Some(Mood::Lose | Mood::LoseAnswer) => {
                self.commit(rows, checkpoints).unwrap();
                self.gone = mood == Some(Mood::Lose);
            }
        }
        Some(Err(fault()))
    }
}

fn kept(row: &Entry) -> Kept {
    Kept { seq: row.seq, line: row.line.clone() }
}

impl RowStore for Table {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn ends(&self) -> Answer<'_, Ends> {
        self.look(|state| Ends {
            tombstone: state.tombstone.clone(),
            checkpoint: state.checkpoints.last_key_value().map(|(_, mark)| mark.clone()),
            row: state.rows.last_key_value().map(|(_, row)| kept(row)),
        })
    }

    fn append(&self, rows: Vec<Entry>, checkpoints: Vec<Kept>) -> Answer<'_, ()> {
        Box::pin(async move {
            self.turns.acquire().await.unwrap().forget();
            let answer = self.state.lock().append(rows, checkpoints);
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }

    fn rows(&self, from: u64, most: u32) -> Answer<'_, Vec<Kept>> {
        self.look(|state| state.rows.range(from..).take(most as usize).map(|(_, row)| kept(row)).collect())
    }

    fn rows_before(&self, before: u64, most: u32) -> Answer<'_, Vec<Kept>> {
        self.look(|state| {
            state.rows.range(..before).rev().take(most as usize).map(|(_, row)| kept(row)).collect()
        })
    }

    fn first_since(&self, moment: Timestamp) -> Answer<'_, Option<u64>> {
        self.look(|state| state.rows.values().find(|row| row.ts >= moment).map(|row| row.seq))
    }

    fn checkpoints(&self, from: u64, most: u32) -> Answer<'_, Vec<Kept>> {
        self.look(|state| {
            state.checkpoints.range(from..).take(most as usize).map(|(_, mark)| mark.clone()).collect()
        })
    }

    fn bury(&self, tombstone: Kept) -> Answer<'_, ()> {
        self.look(|state| {
            state.checkpoints.retain(|seq, _| seq + 1 >= tombstone.seq);
            state.tombstone = Some(tombstone);
        })
    }

    fn remove_before(&self, first_kept: u64) -> Answer<'_, ()> {
        self.look(|state| state.rows.retain(|seq, _| *seq >= first_kept))
    }
}
