//! How a run ended: its exit status or signal, who ended it, and what it used.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a run ended, and what it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The status of the program itself.
    pub status: Status,
    /// The limit it went over, where that is why it ended.
    pub over: Option<Limit>,
    /// What the tree of processes used.
    pub usage: Usage,
}

/// The status of a program that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
    /// Nobody saw how: whoever watched it was killed.
    Unknown,
}

/// A limit that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Resident memory of the tree.
    Memory,
    /// Number of processes.
    Processes,
    /// Bytes in the scratch directory.
    Scratch,
}

/// What a tree of processes used, as far as it was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time in user mode, in milliseconds.
    pub user_ms: u64,
    /// Processor time in the kernel, in milliseconds.
    pub system_ms: u64,
    /// The largest resident memory: of the tree where it was watched, else of its largest process.
    pub peak_memory_kb: u64,
}

impl Status {
    /// Whether it exited with 0.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Killed(signal) => write!(f, "signal {signal}{}", name(*signal)),
            Self::Unknown => f.write_str("an unknown status"),
        }
    }
}

impl Limit {
    /// The end of a sentence that begins with the name of the run.
    pub fn told(self) -> &'static str {
        match self {
            Self::Memory => "used more memory than it may",
            Self::Processes => "started more processes than it may",
            Self::Scratch => "wrote more to its scratch directory than it may",
        }
    }
}

/// The signals people meet, by name.
fn name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        14 => " (SIGALRM)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        25 => " (SIGXFSZ)",
        31 => " (SIGSYS)",
        _ => "",
    }
}
