//! External MCP servers: what an entry says, the plan it resolves to, and what is told of one that runs.

pub mod entry;
pub mod plan;
pub mod status;

pub use entry::{Entry, EraChoice, Isolation, SandboxEntry, Start, Transport};
pub use plan::{Plan, Prefix, Program, Reach, Web, WebTransport};
pub use status::{Phase, RefusedTool, ServerAdded, ServerState, ServerStatus, ServerTest, Servers};
