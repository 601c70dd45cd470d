//! Keeps teams of coding agents from doing the same work twice: what may be done with tasks, workstreams and sessions, and when.
//!
//! The rules are pure ([`rules`]); what they are asked about is kept behind one port ([`port`]); [`perform()`] is the way of
//! every call: read, decide, change, write down what happened.

pub mod audit;
pub mod coordination;
pub mod event;
pub mod input;
mod operate;
pub mod overlap;
pub mod pattern;
mod perform;
pub mod port;
pub mod rules;
pub mod session;
pub mod title;
pub mod warning;
pub mod week;
pub mod work;

pub use perform::{Request, depart, outcome::Outcome, perform, unserved};
