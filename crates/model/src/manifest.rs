//! What an agent's manifest says: who it is, how it is run, what it needs, what it may use. Whoever reads the file checks it.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::action::ActionPattern;
use crate::intent::Priority;

/// The namespaces that actions of a manifest lie in.
pub const NAMESPACES: [&str; 5] = ["intent.", "memory.", "identity.", "tool.", "agent."];

/// A manifest, with its defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// `agent.id`: `name@host`. How it is routed to, what audit rows name, whose memory records are.
    pub id: String,
    /// `agent.name`, as people see it.
    pub name: String,
    /// `agent.version`.
    pub version: String,
    /// `agent.description`; empty where it says nothing.
    pub description: String,
    /// `agent.runtime`.
    pub runtime: Runtime,
    /// `agent.entry`, as it is written.
    pub entry: String,
    /// `capabilities.required`: what its issuer must hold.
    pub required: Vec<ActionPattern>,
    /// `capabilities.optional`: what it may use of what its issuer holds.
    pub optional: Vec<ActionPattern>,
    /// `[resources]`.
    pub resources: Resources,
    /// `[settlement]`.
    pub settlement: Settlement,
    /// `[sandbox] required`: refuse to run where a promise cannot be kept.
    pub sandbox_required: bool,
    /// The whole document as it is written, with defaults filled in: what `covenant agents show --json` prints. Sections that
    /// mean nothing to us are in it too.
    pub document: Map<String, Value>,
    /// The file it was read from.
    pub file: PathBuf,
    /// `entry`, relative to the directory of the file unless it is absolute.
    pub program: PathBuf,
}

/// How `entry` is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Runtime {
    /// Directly.
    #[serde(rename = "rust-bin")]
    RustBin,
    /// By `python3`.
    #[serde(rename = "python3")]
    Python3,
    /// By `node`.
    #[serde(rename = "node")]
    Node,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::RustBin, Self::Python3, Self::Node];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RustBin => "rust-bin",
            Self::Python3 => "python3",
            Self::Node => "node",
        }
    }

    /// What that word stands for.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|runtime| runtime.as_str() == word)
    }

    /// The interpreter, by the name it has on PATH.
    pub fn interpreter(self) -> Option<&'static str> {
        match self {
            Self::RustBin => None,
            Self::Python3 => Some("python3"),
            Self::Node => Some("node"),
        }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Wall-clock time, in milliseconds.
    pub cpu_ms_per_task: u64,
    /// Resident memory of all its processes, in MiB.
    pub memory_mb: u64,
    /// Bytes in its scratch directory, in MiB.
    pub disk_mb: u64,
    /// Where it may connect to.
    pub network: Network,
    /// Processes and threads at a time.
    pub pids: u32,
}

impl Default for Resources {
    fn default() -> Self {
        Self { cpu_ms_per_task: 30_000, memory_mb: 512, disk_mb: 100, network: Network::default(), pids: 256 }
    }
}

/// Where a sandboxed program may connect to. The daemon is within reach in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Nowhere else.
    Off,
    /// To TLS servers on port 443, by way of the proxy.
    #[default]
    OutboundHttpsOnly,
    /// Everywhere.
    Full,
}

/// What its runs may cost, and how urgent they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Settlement {
    /// The most credits in an hour; 0 is no limit.
    pub budget_credits_per_hour: u64,
    /// How urgent its intents are unless they say so themselves.
    pub priority: Priority,
}

impl Manifest {
    /// What its runs may do at most: of this, what their issuer may.
    pub fn scope(&self) -> Vec<ActionPattern> {
        self.required.iter().chain(&self.optional).cloned().collect()
    }

    /// The tool it is called by.
    pub fn tool(&self) -> String {
        tool_of(&self.name)
    }
}

/// The tool that an agent of that name is called by: `agent__` and the name, in which anything but letters, digits, `_` and
/// `-` is `_`.
pub fn tool_of(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    format!("agent__{}", name.chars().map(plain).collect::<String>())
}
