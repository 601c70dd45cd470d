//! An Obsidian vault: notes that tools read, search and write, kept in step with a git remote where that is wanted.
//!
//! Names that begin with a dot are no part of it: what lies there makes Obsidian and git run programs. No symbolic link is
//! followed, so that they have no other names.

mod listing;
pub(crate) mod place;
mod reading;
mod writing;

pub use listing::Listed;
pub use reading::Reading;
pub use writing::Written;

use std::sync::Arc;

use covenant_gate::Clock;
use covenant_model::note::{Found, Query};

use crate::files::{FileKind, plain};
use crate::git::{Git, Program};
use crate::library::Library;
use crate::native::{Absent, Parts};
use crate::ports::{Environment, Indexes, Programs};
use crate::settings;
use crate::workspace::failed;

/// What it is called in paths: `/vault/Home.md`.
const SHOWN: &str = "vault";

/// What a vault stands on.
pub struct Ground {
    /// What opens its index.
    pub indexes: Indexes,
    /// What starts git.
    pub programs: Arc<dyn Programs>,
    /// What git needs of the environment.
    pub environment: Environment,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// A vault.
pub struct Vault {
    library: Library,
    git: Option<Git>,
}

impl Vault {
    /// The vault that the configuration names. Nothing is opened yet.
    pub fn new(settings: &settings::Vault, ground: Ground) -> Arc<Self> {
        let directory = settings.path.clone();
        let program = || Program::new(ground.programs, ground.environment, directory.clone());
        let git = settings.git_sync.then(|| Git::new(Box::new(program())));
        Arc::new(Self { library: Library::new(directory, SHOWN, ground.indexes, ground.clock), git })
    }

    #[cfg(test)]
    pub(crate) fn of(library: Library, git: Option<Git>) -> Arc<Self> {
        Arc::new(Self { library, git })
    }

    /// Indexes it for the first time, beside everything else: on a thread of its own, for which nobody waits who stops the
    /// daemon. Whoever searches meanwhile waits for it.
    pub fn begin(self: &Arc<Self>) {
        let vault = Arc::clone(self);
        let work = move || {
            if let Err(error) = vault.library.refresh() {
                tracing::warn!(target: "covenant", "the vault is not indexed yet: {error}");
            }
        };
        if let Err(error) = std::thread::Builder::new().name("vault-index".to_owned()).spawn(work) {
            tracing::warn!(target: "covenant", "the vault is indexed when it is first searched: {error}");
        }
    }

    /// What fits a question, beneath that directory. Blocks.
    pub(crate) fn search(&self, mut query: Query, path: Option<&str>) -> Result<Found, String> {
        let (root, inside) = self.place(path.filter(|path| !path.is_empty()).unwrap_or("."))?;
        if inside != "." {
            let found = root.metadata(&inside).map_err(failed("failed to search"))?;
            if found.kind != FileKind::Directory {
                return Err(format!("{} is not a directory: name one to search in", plain(&inside)));
            }
            query.under = Some(inside);
        }
        self.library.search(&query)
    }

    /// Whether it is kept in step with a remote.
    pub(crate) fn is_synced(&self) -> bool {
        self.git.is_some()
    }

    /// Brings what is new at the remote; says what stands in the way. Once begun it is done to its end, whoever gives up
    /// waiting: a git that is killed in the middle leaves its locks and half of a merge behind.
    pub(crate) async fn freshened(self: &Arc<Self>) -> Option<String> {
        self.git.as_ref()?;
        let vault = Arc::clone(self);
        let done = tokio::spawn(async move { vault.git.as_ref()?.freshen().await });
        let trouble = done.await.ok().flatten()?;
        Some(format!("the vault is not in step with its remote: {trouble}"))
    }

    /// Does something that blocks, beside everything else.
    pub(crate) async fn beside<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let vault = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&vault)).await;
        done.unwrap_or_else(|_| {
            Err("the work broke off inside the daemon; try again, and tell the operator".to_owned())
        })
    }
}

/// What the tool of that name works on, if it is there.
pub(crate) fn of(parts: &Parts, name: &'static str) -> Result<Arc<Vault>, Absent> {
    parts.vault.clone().map_err(|reason| Absent { name, reason })
}

#[cfg(test)]
mod tests;
