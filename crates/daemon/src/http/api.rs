//! The REST API, one file per resource. Nothing is decided here that the gate decides.

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod capabilities;
pub(crate) mod clients;
pub(crate) mod covibe;
pub(crate) mod intents;
pub(crate) mod list;
pub(crate) mod memory;
pub(crate) mod plans;
pub(crate) mod scripts;
pub(crate) mod secrets;
pub(crate) mod servers;
pub(crate) mod session;
pub(crate) mod status;
pub(crate) mod team;
pub(crate) mod team_events;
pub(crate) mod team_state;
pub(crate) mod tokens;
pub(crate) mod tools;
