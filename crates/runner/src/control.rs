//! What the host (whoever starts a program) and the launcher (the process that watches it) say to each other.
//!
//! A Unix stream socket, one JSON document a line. The host begins with the [`crate::order::Order`], and with it come
//! the three descriptors that become the program's standard input, output and error. The launcher answers with one
//! [`Word::Ready`] or [`Word::Refused`], and ends with [`Word::Ended`]. The host may send [`Wish`]es in between. When the
//! host's end closes, by will or because the host died, the launcher ends everything it started.

use serde::{Deserialize, Serialize};

use crate::ending::Ending;
use crate::report::Report;

/// The longest line either side accepts.
pub(crate) const LINE_LIMIT: usize = 1024 * 1024;

/// The environment variable by which processes of a run are known, with the run's id; for what escapes every other means.
pub(crate) const MARK: &str = "COVENANT_RUN";

/// The order as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The id of the run.
    pub(crate) run: String,
    /// What to start.
    pub(crate) order: crate::order::Order,
}

/// What the launcher says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Word {
    /// The program runs. The listeners come along as descriptors, in this order: the daemon's door, the proxy's.
    Ready {
        /// The process to look for after a crash, beside the launcher.
        pid: i32,
        /// What holds.
        report: Report,
        /// Whether the listener for the daemon's door comes along.
        door: bool,
        /// Whether the listener for the proxy comes along.
        proxy: bool,
    },
    /// The program was not started.
    Refused(Refusal),
    /// The program and all it started have ended.
    Ended(Ending),
}

/// Why a program was not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Refusal {
    /// It is not there, may not be executed, or is no program: a sentence's end.
    Program(String),
    /// A path it should see cannot be shown to it.
    Path {
        /// Which.
        path: std::path::PathBuf,
        /// Why.
        reason: String,
    },
    /// `required`, and a promise is not kept.
    Required(Report),
    /// Something else failed.
    Setup(String),
    /// This host gives out no namespaces. Only said to the launcher, which then does without.
    Namespaces(String),
}

/// What the host may ask for in between.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Wish {
    /// Send the program's process group this signal.
    Signal(i32),
}
