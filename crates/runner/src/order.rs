//! An order: which program to start, with what, and what it may touch and take.
//!
//! Everything in it is text. A path or a value that is no UTF-8 is refused where it is taken in, with its name.

use std::path::PathBuf;

pub use covenant_model::manifest::Network;
use serde::{Deserialize, Serialize};

/// Which program to start, and with what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What people call it: stands in logs, in the ledger and in errors.
    pub name: String,
    /// The program, by absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment, but for what the runner itself adds (see `docs/sandbox.md`).
    pub environment: Vec<(String, String)>,
    /// Where it runs. A sandboxed program runs in its scratch directory instead.
    pub directory: PathBuf,
    /// What it may touch and take; none for a program that has all rights of whoever runs the daemon.
    pub sandbox: Option<Sandbox>,
}

/// What a sandboxed program may touch and take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Where it may connect to.
    pub network: Network,
    /// Files and directories it may read and execute, besides the system's own. Absolute.
    pub read: Vec<PathBuf>,
    /// Files and directories it may also write. Absolute.
    pub write: Vec<PathBuf>,
    /// Directories that stay out of sight even where `read`, `write` or the system's own directories contain them,
    /// unless a path inside is itself named in `read` or `write`: the home of the daemon. Absolute.
    pub hidden: Vec<PathBuf>,
    /// The most resident memory of the whole tree of processes.
    pub memory_mb: u64,
    /// The most bytes in the scratch directory.
    pub disk_mb: u64,
    /// The most processes and threads at a time.
    pub pids: u32,
    /// Where scratch directories are made on a host that cannot give the program one of its own in memory.
    pub scratch: PathBuf,
    /// Refuse to run where a promise cannot be kept in full.
    pub required: bool,
    /// How it reaches the daemon, if it may.
    pub door: Option<Door>,
}

impl Sandbox {
    /// The documented defaults: nothing but the system's own files, and 512 MiB, 100 MiB, 256 processes.
    pub fn new(scratch: PathBuf) -> Self {
        Self {
            network: Network::default(),
            read: Vec::new(),
            write: Vec::new(),
            hidden: Vec::new(),
            memory_mb: 512,
            disk_mb: 100,
            pids: 256,
            scratch,
            required: false,
            door: None,
        }
    }
}

/// The way from a sandboxed program to the daemon.
///
/// Where the program has a network of its own, the launcher listens in it on the port of `url` and hands the listener
/// out, so that whoever started the program serves it; elsewhere the program uses `url` as it is. It learns of it as
/// `COVENANT_URL` and `COVENANT_TOKEN`, and of the proxy as `HTTPS_PROXY`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Door {
    /// The daemon's origin, such as `http://127.0.0.1:8421`.
    pub url: String,
    /// What the program shows at the daemon and at the proxy.
    pub token: String,
}
