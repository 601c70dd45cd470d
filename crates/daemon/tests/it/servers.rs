//! External servers through the API: added, called through the gate, removed, read again, watched.

mod files;
mod fixture;
mod runtime;
