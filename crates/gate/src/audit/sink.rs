//! What the log needs of a database that keeps its rows instead of files. `store` implements it; nothing here knows SQL.

use covenant_model::time::Timestamp;

use crate::ports::Answer;

/// A row to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub seq: u64,
    /// When it was written.
    pub ts: Timestamp,
    /// Its line, without a line end.
    pub line: String,
}

/// A line that is kept: a row by its number, a checkpoint by the row it covers, a tombstone by the first row it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The number.
    pub seq: u64,
    /// The line, without a line end.
    pub line: String,
}

/// Both ends of a chain, as they are kept now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ends {
    /// What says which rows were removed.
    pub tombstone: Option<Kept>,
    /// The checkpoint of the highest row.
    pub checkpoint: Option<Kept>,
    /// The row with the highest number.
    pub row: Option<Kept>,
}

/// One chain of rows in a database, and the signed lines about it. Other chains in the same database are never touched,
/// nor waited for.
pub trait RowStore: Send + Sync + 'static {
    /// Where it is, without credentials, as people read it.
    fn place(&self) -> String;

    /// Both ends.
    fn ends(&self) -> Answer<'_, Ends>;

    /// Commits rows and checkpoints, all or none. A number that is taken already is an error: two rows never share one.
    /// A checkpoint takes the place of an older one of the same row.
    fn append(&self, rows: Vec<Entry>, checkpoints: Vec<Kept>) -> Answer<'_, ()>;

    /// The rows from that number on, in order, at most so many.
    fn rows(&self, from: u64, most: u32) -> Answer<'_, Vec<Kept>>;

    /// The rows before that number, newest first, at most so many.
    fn rows_before(&self, before: u64, most: u32) -> Answer<'_, Vec<Kept>>;

    /// The first row that was written then or later.
    fn first_since(&self, moment: Timestamp) -> Answer<'_, Option<u64>>;

    /// The checkpoints of that row and later ones, in order, at most so many.
    fn checkpoints(&self, from: u64, most: u32) -> Answer<'_, Vec<Kept>>;

    /// Puts a tombstone in the place of the one before it, and removes checkpoints that lie wholly before its cut.
    fn bury(&self, tombstone: Kept) -> Answer<'_, ()>;

    /// Removes the rows before that one, oldest first.
    fn remove_before(&self, first_kept: u64) -> Answer<'_, ()>;
}
