//! Every external server: which there are, how each is, and their tools in the gate's registry.

mod status;

pub use status::{Applied, NoServer, Wanted};
