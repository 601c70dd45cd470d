//! External servers behind the gate: whatever one of them does, it is named, bounded and survived, and the rest goes on.

mod changes;
mod eras;
mod left;
mod lines;
mod names;
mod robust;
mod secrets;
mod sharing;
pub(crate) mod stage;
mod supervision;
mod web;
