//! The acceptance tests: each founding document in a module of its own, all through the built program.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::format_collect,
    reason = "tests drive the program from outside, and say loudly what they skip"
)]

mod administration;
mod arawn;
mod backup;
mod bad_input;
mod clients;
mod conformance;
#[cfg(target_os = "linux")]
mod cov_agent;
mod cov_mcp;
mod durability;
mod fleet;
mod installed;
mod leak;
mod lifecycle;
mod listeners;
mod mcp_http;
mod openpact;
mod operating;
mod pact;
mod real_servers;
mod rest;
#[cfg(target_os = "linux")]
mod sandbox;
mod sandbox_run;
#[cfg(target_os = "linux")]
mod server_sandbox;
mod vibe;

use covenant_testkit::Home;

/// A fresh home for the program under test.
fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_covenant"))
}

/// Lifts the rate limit, for tests that are about something else.
fn unhurried() -> Home {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n");
    home
}

/// The moment now, as commands take it.
fn now() -> String {
    let format = ["-u", "+%Y-%m-%dT%H:%M:%S.%3NZ"];
    let printed = std::process::Command::new("date").args(format).output().unwrap().stdout;
    String::from_utf8(printed).unwrap().trim().to_owned()
}
