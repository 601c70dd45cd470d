//! What is told of external servers: the bodies of `/api/v1/mcp/servers`.

use serde::{Deserialize, Serialize};

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerState {
    /// It was started and has not answered yet.
    Starting,
    /// It answers.
    Ready,
    /// It ended or failed, and is started again soon.
    Restarting,
    /// It failed too often: it is started again when it is used, or by command.
    Quarantined,
    /// It is not running and starts when it is used.
    Stopped,
    /// It is not to run.
    Disabled,
    /// Its entry cannot be used.
    Failed,
}

impl ServerState {
    /// Every one, in the order they are documented.
    pub const ALL: [Self; 7] = [
        Self::Starting,
        Self::Ready,
        Self::Restarting,
        Self::Quarantined,
        Self::Stopped,
        Self::Disabled,
        Self::Failed,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Restarting => "restarting",
            Self::Quarantined => "quarantined",
            Self::Stopped => "stopped",
            Self::Disabled => "disabled",
            Self::Failed => "failed",
        }
    }
}

/// One server, as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// What people call it.
    pub name: String,
    /// Whether it answers now.
    pub connected: bool,
    /// How it is.
    pub state: ServerState,
    /// How many tools it offers.
    pub tool_count: usize,
    /// Their exposed names.
    pub tools: Vec<String>,
    /// What went wrong last, where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Tools of it that are not offered, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedTool>,
    /// What stands before its tools' names; empty where nothing does.
    #[serde(default)]
    pub prefix: String,
    /// `stdio`, `http` or `sse`.
    #[serde(default)]
    pub transport: String,
    /// `legacy` or `modern`, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
    /// Which file it comes from, or `runtime`.
    #[serde(default)]
    pub source: String,
    /// How often it was started again.
    #[serde(default)]
    pub restarts: u32,
}

/// A tool that is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedTool {
    /// Its own name.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// All servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Servers {
    /// In the order of their names.
    pub servers: Vec<ServerStatus>,
    /// How many there are.
    pub total: usize,
    /// How many of them answer.
    pub connected: usize,
    /// What is wrong with the files they are read from, where something is: file and line, and what follows from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A server that was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAdded {
    /// What people call it.
    pub name: String,
    /// Whether it answers.
    pub connected: bool,
    /// The exposed names of its tools.
    pub tools: Vec<String>,
    /// How many they are.
    pub tool_count: usize,
    /// Why it does not answer, where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a try of a server found: it was started or reached anew, asked, and let go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTest {
    /// What people call it.
    pub name: String,
    /// Whether every phase went well.
    pub ok: bool,
    /// The phases that were tried, in order; the last one failed where `ok` is false.
    pub phases: Vec<Phase>,
    /// The names of its tools, as it has them.
    pub tools: Vec<String>,
    /// `legacy` or `modern`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
    /// The last lines of its log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

/// One phase of a try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// `entry`, `start`, `handshake`, `list` or `stop`.
    pub phase: String,
    /// Whether it went well.
    pub ok: bool,
    /// How long it took.
    pub ms: u64,
    /// What was found, or what went wrong.
    pub detail: String,
}
