//! Scripts: Starlark that a person has approved, run in a sandboxed child that reaches nothing but what we answer it.
//!
//! [`shelf`] finds the texts, [`header`] reads what they say of themselves, [`check`] whether they can be read, [`allowance`]
//! which need no approval, `workshop` decides whether one may run and runs it, `slots` how many at once, `functions` are what
//! it can call, [`child`] is the other side of the pipe, `words` what both say on it.

pub mod allowance;
pub mod check;
pub mod child;
mod functions;
pub mod header;
pub mod shelf;
mod slots;
mod words;
mod workshop;

pub use functions::FUNCTIONS;
pub use slots::Slots;
pub(crate) use workshop::{Task, Workshop};
