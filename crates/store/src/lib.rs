//! What Covenant keeps, on `SQLite` or `PostgreSQL`: the same tables, the same SQL text, the same behaviour.
//!
//! [`Store::open`] turns a URL into a [`Store`], which implements the ports of the gate and of teams. Only `db` and the files
//! below it know which database it is; everything else writes SQL that both understand, with `$1` for parameters.

mod approvals;
mod audit_chain;
mod audit_index;
mod copy;
mod db;
mod file;
mod grants;
mod hand_over;
mod inspect;
mod intents;
mod migrate;
mod note_index;
mod open;
mod passkeys;
mod people;
mod receipts;
mod revision;
mod sessions;
mod signin;
mod snapshot;
mod team;
mod tokens;

pub use audit_chain::AuditChain;
pub use audit_index::{AuditFilter, IndexRow};
pub use copy::{CopiedTable, CopyError, Progress, Told, copy};
pub use hand_over::HandedOver;
pub use inspect::{Inspection, inspect};
pub use intents::IntentsWanted;
pub use migrate::newest as newest_schema;
pub use note_index::NoteIndex;
pub use open::{OpenError, Store};
pub use snapshot::{Snapshot, SnapshotError, check_file, snapshot};
pub use team::{EventsWanted, TeamEvent, TeamTransaction};
