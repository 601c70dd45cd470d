//! A server's plan: its entry with every variable and secret filled in. Two plans that are equal need no restart.

use std::collections::BTreeMap;
use std::time::Duration;

use super::entry::{EraChoice, Isolation, SandboxEntry, Start};
use crate::secret::Secret;

/// What is started or reached, and by which rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What people call it.
    pub name: String,
    /// What stands before its tools' names.
    pub prefix: Prefix,
    /// Where it is.
    pub reach: Reach,
    /// Which era it is spoken to in.
    pub era: EraChoice,
    /// Which of its tools are offered, as patterns; all where there is none.
    pub include: Vec<String>,
    /// Which are not.
    pub exclude: Vec<String>,
    /// When it is started.
    pub start: Start,
    /// Who shares it.
    pub isolation: Isolation,
    /// After what silence it is stopped.
    pub idle_stop: Option<Duration>,
    /// How long it may take until it is ready.
    pub start_timeout: Duration,
    /// How long a list may take.
    pub list_timeout: Duration,
    /// How long it may be silent during a call.
    pub call_timeout: Duration,
    /// How long a call may take in all.
    pub call_total: Duration,
    /// How many calls may be under way at a time.
    pub max_in_flight: usize,
}

/// What stands before the names of a server's tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Prefix {
    /// `<this>__<tool>`.
    Named(String),
    /// The tools have their own names.
    None,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program we start.
    Program(Program),
    /// Behind a URL.
    Web(Web),
}

/// A server that is a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program, by path or by name.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment holds beside what every server gets.
    pub env: BTreeMap<String, Secret>,
    /// Where it runs; none for the user's home directory.
    pub cwd: Option<String>,
    /// What it may touch; paths are expanded.
    pub sandbox: Option<SandboxEntry>,
}

/// A server behind a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Web {
    /// The URL, which may hold credentials.
    pub url: Secret,
    /// What is sent with every request.
    pub headers: BTreeMap<String, Secret>,
    /// How it is spoken to.
    pub transport: WebTransport,
}

/// How a server behind a URL is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebTransport {
    /// Streamable HTTP; where that is not understood, the older one.
    Http,
    /// HTTP with a stream of events, of the first revision.
    Sse,
}
