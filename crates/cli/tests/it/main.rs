//! Children that are started by way of the built program as their launcher: what they get, and that nothing is left.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "tests look at things from outside, and say loudly what they skip"
)]

mod alone;
mod crash;
mod ending;
mod npx;
mod plenty;
mod sandboxed;
mod stage;
mod starting;
mod streams;
