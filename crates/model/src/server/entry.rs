//! A server entry as people write it, in any of the files: every key of the documented surface, nothing resolved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One external server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// What people call it: 1 to 64 printable characters.
    pub name: String,
    /// The program of a server that is started here.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment holds beside what every server gets.
    pub env: BTreeMap<String, String>,
    /// Where a server is reached that runs elsewhere.
    pub url: String,
    /// What is sent to it with every request.
    pub headers: BTreeMap<String, String>,
    /// How to speak to it; by default what `command` or `url` suggests.
    pub transport: Option<Transport>,
    /// What stands before its tools' names; by default it comes from the name. `none` leaves them bare.
    pub prefix: Option<String>,
    /// Which of its tools are offered, as patterns; all where there is none.
    pub include: Vec<String>,
    /// Which of them are not.
    pub exclude: Vec<String>,
    /// Whether it is used at all.
    pub enabled: bool,
    /// When it is started.
    pub start: Start,
    /// Where it runs.
    pub cwd: String,
    /// After how many quiet seconds it is stopped; 0 is never.
    pub idle_stop_secs: u64,
    /// Who shares one process or session of it.
    pub isolation: Isolation,
    /// How long it may take until it is ready.
    pub start_timeout_secs: u64,
    /// How long a list may take.
    pub list_timeout_secs: u64,
    /// How long it may be silent during a call.
    pub call_timeout_secs: u64,
    /// How long a call may take in all.
    pub call_total_secs: u64,
    /// How many calls may be under way at a time.
    pub max_in_flight: u32,
    /// Which era of the protocol it is spoken to in.
    pub era: EraChoice,
    /// Whether it may ask the caller's model.
    pub allow_sampling: bool,
    /// Whether it may ask the caller.
    pub allow_elicitation: bool,
    /// What happens where a tool's definition changes.
    pub pin: String,
    /// What it may touch; none leaves it all rights of whoever runs the daemon.
    pub sandbox: Option<SandboxEntry>,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            name: String::new(),
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            url: String::new(),
            headers: BTreeMap::new(),
            transport: None,
            prefix: None,
            include: Vec::new(),
            exclude: Vec::new(),
            enabled: true,
            start: Start::Eager,
            cwd: String::new(),
            idle_stop_secs: 0,
            isolation: Isolation::Shared,
            start_timeout_secs: 30,
            list_timeout_secs: 10,
            call_timeout_secs: 60,
            call_total_secs: 600,
            max_in_flight: 64,
            era: EraChoice::Auto,
            allow_sampling: false,
            allow_elicitation: true,
            pin: "quarantine".to_owned(),
            sandbox: None,
        }
    }
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// One message per line, with a program we start.
    Stdio,
    /// Streamable HTTP.
    #[serde(alias = "streamable-http", alias = "streamable_http", alias = "streamableHttp")]
    Http,
    /// The older HTTP with a stream of events.
    Sse,
}

/// When a server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// With the daemon.
    #[default]
    Eager,
    /// With the first call.
    Lazy,
}

/// Who shares one process or session of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Everybody.
    #[default]
    Shared,
    /// Each principal has its own.
    Principal,
    /// Each session of a client has its own.
    Session,
}

/// Which era of the protocol a server is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EraChoice {
    /// It is asked, and the answer remembered.
    #[default]
    Auto,
    /// The handshake's.
    Legacy,
    /// The stateless one.
    Modern,
}

/// The sandbox of a server, as its entry has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxEntry {
    /// `off`, `outbound-https-only` or `full`.
    pub network: String,
    /// What it may read beside the system's own files.
    pub read: Vec<String>,
    /// What it may also write.
    pub write: Vec<String>,
    /// The most memory of all its processes.
    pub memory_mb: u64,
    /// Refuse to start it where a promise cannot be kept.
    pub required: bool,
}

impl Default for SandboxEntry {
    fn default() -> Self {
        Self {
            network: "outbound-https-only".to_owned(),
            read: Vec::new(),
            write: Vec::new(),
            memory_mb: 512,
            required: false,
        }
    }
}
