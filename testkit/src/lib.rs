//! What tests use to drive the built program from outside: a home, the daemon, the commands, an MCP client on stdio.
//!
//! It knows nothing of the product's crates: whatever passes here was seen by a user. Only the program `conformance` in
//! `bin/` does, which starts a daemon with fixtures of its own.

#![expect(clippy::expect_used, clippy::panic, reason = "a broken test setup should stop the test, loudly")]

pub mod command;
pub mod crowd;
pub mod daemon;
pub mod forwarder;
pub mod home;
pub mod http;
pub mod mcp;
pub mod passkey;
pub mod postgres;
pub mod program;
pub mod prometheus;
pub mod psql;
pub mod service;
pub mod sqlite;
pub mod stdio;
pub mod tls;
pub mod tmpfs;
pub mod upstream;
pub mod wait;
pub mod webdriver;
pub mod wire;

pub use command::Ran;
pub use daemon::Daemon;
pub use home::Home;
pub use mcp::HttpClient;
pub use service::Service;
pub use stdio::StdioClient;
pub use upstream::Upstream;
pub use webdriver::Chromium;
