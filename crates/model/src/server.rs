//! External MCP servers: what an entry says, the plan it resolves to, and what is told of one that runs.

pub mod body;
pub mod entry;
pub mod expand;
mod headers;
pub mod names;
pub mod plan;
mod prefix;
mod reserved;
mod resolve;
pub mod status;

#[cfg(test)]
mod fixture;

pub use body::{NewServer, ServerLog, ServerRemoved};
pub use entry::{Entry, EraChoice, Isolation, SandboxEntry, Start, Transport};
pub use expand::{Lookup, NotExpanded, Sight, expand, expand_url};
pub use names::{exposed, offered};
pub use plan::{Plan, Prefix, Program, Reach, Web, WebTransport};
pub use reserved::{BUILT_IN, built_in, reserved};
pub use resolve::{BadEntry, check_name};
pub use status::{Phase, RefusedTool, ServerAdded, ServerState, ServerStatus, ServerTest, Servers};
