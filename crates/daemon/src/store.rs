//! Moving a home's database elsewhere: what has to be so before a row is copied, and what is said of it afterwards.

use std::path::PathBuf;

use covenant_model::time::Timestamp;
use covenant_store::Store;
pub use covenant_store::{CopiedTable, CopyError, OpenError, Progress, Told};

use crate::config::Config;
use crate::home::Home;
use crate::lock::{Lock, LockError, Note};

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Where from, without credentials.
    pub from: String,
    /// Where to, without credentials.
    pub to: String,
    /// Its tables, each found to be the same on both sides.
    pub tables: Vec<CopiedTable>,
}

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is nothing to copy.
    #[error("there is no database at {} yet; start a daemon on the other database at once, with its URL in config.toml", .0.display())]
    Nothing(PathBuf),
    /// It is in use.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The database in use cannot be opened.
    #[error(transparent)]
    From(OpenError),
    /// The other one cannot be opened.
    #[error("{}", .0.to_string().replace("`[database] url`", "`--to`"))]
    To(OpenError),
    /// It was not copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
}

/// Copies the database of a home, which no daemon may be using, into another one, which must be empty.
pub async fn copy(
    home: &Home,
    config: &Config,
    to: &str,
    now: Timestamp,
    told: Told<'_>,
) -> Result<Copied, StoreError> {
    let url = &config.database.url;
    let file = home.database();
    if !home.exists() || (*url == Config::default().database.url && !file.exists()) {
        return Err(StoreError::Nothing(file));
    }
    let _lock = Lock::take(home, &Note { pid: std::process::id(), since: now, socket: None })?;
    let source = Store::open(url, home.root()).await.map_err(StoreError::From)?;
    let copied = match Store::open(to, home.root()).await {
        Ok(target) => {
            let copied = covenant_store::copy(&source, &target, told).await;
            target.close().await;
            copied
                .map(|tables| Copied { from: source.place(), to: target.place(), tables })
                .map_err(Into::into)
        }
        Err(error) => Err(StoreError::To(error)),
    };
    source.close().await;
    copied
}
