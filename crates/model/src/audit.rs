//! The audit log's words: what a row says, how rows are chained, what a checkpoint proves, and how all of it is
//! verified. Pure: nothing here reads a file or a clock.

pub mod checkpoint;
pub mod event;
mod hex;
pub mod row;
pub mod verify;

pub use checkpoint::{BadMark, Checkpoint, Tombstone};
pub use event::{Decision, Digest, Event, Kind, OWN};
pub use row::{BadRow, Chain, Hash, Record, Row};
pub use verify::{FirstBad, Report, Source, Verifier};
