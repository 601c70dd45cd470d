//! How a launcher is started and given its order, and what can go wrong before the program runs.

use std::path::PathBuf;
use std::time::Duration;

use crate::ledger::LedgerError;
use crate::report::Report;

/// Why a program was not started. Every message is a clause that can follow "could not start NAME: ".
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The order cannot be carried out by anybody: something in it is malformed or too large.
    #[error("{0}")]
    Order(String),
    /// The program is not there, may not be executed, or is no program.
    #[error("{} {reason}", program.display())]
    Program {
        /// Which.
        program: PathBuf,
        /// The rest of the sentence.
        reason: String,
    },
    /// A path it should see cannot be shown to it.
    #[error("{} cannot be shown to it: {reason}", path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The sandbox is required in full, and this host cannot give it.
    #[error("its sandbox is required in full, and this host falls short: {}", gaps(.0))]
    Required(Report),
    /// The launcher met something else on the way.
    #[error("it could not be set up: {0}")]
    Setup(String),
    /// The launcher could not be started.
    #[error("its launcher {} could not be started: {cause}", program.display())]
    Launcher {
        /// Which.
        program: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The launcher ended before it answered.
    #[error("its launcher ended before the program ran; it may have been killed for want of memory")]
    Gone,
    /// The launcher said something that is no answer.
    #[error("its launcher gave an answer that makes no sense: {0}")]
    Answer(String),
    /// The launcher took too long.
    #[error("it was not running within {} s", .0.as_secs())]
    Late(Duration),
    /// What is started must be on record first, and could not be.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The promises that are not kept, each with what is missing.
fn gaps(report: &Report) -> String {
    let gaps: Vec<String> = report.gaps().map(|gap| format!("{} ({})", gap.promise, gap.note)).collect();
    gaps.join(", ")
}
