//! The log as the rest of the gate sees it: append and wait, owe and go on, ask how it is. Whether rows go into files or
//! into a database is decided when it is opened, and known here alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use covenant_model::api::Pruned;
use covenant_model::audit::{Checkpoint, Decision, Digest, Event, Kind, OWN};
use covenant_model::redact::Redactor;
use covenant_model::time::Timestamp;
use ed25519_dalek::SigningKey;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::sync::watch;

use super::combine::Limits;
use super::database::DatabaseLog;
use super::files::FileLog;
use super::recover::{OpenError, Opened};
use super::segment::{Disks, Files};
use super::sink::RowStore;
use crate::clock::Clock;
use crate::refusal::Fault;

/// When a row counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Handed to the operating system; on disk within 100 ms.
    #[default]
    Group,
    /// On disk.
    Strict,
}

/// How a log in files is opened.
pub struct Options {
    /// Where its files are.
    pub dir: PathBuf,
    /// What signs checkpoints and tombstones.
    pub key: SigningKey,
    /// What keys the digests of arguments and results.
    pub digest_key: [u8; 32],
    /// When a row counts as written.
    pub durability: Durability,
    /// How large a segment gets before the next is begun.
    pub segment_bytes: u64,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

impl Options {
    /// The usual options.
    pub fn new(dir: PathBuf, key: SigningKey, digest_key: [u8; 32], clock: Arc<dyn Clock>) -> Self {
        Self { dir, key, digest_key, durability: Durability::Group, segment_bytes: 64 << 20, clock }
    }
}

/// The audit log. Clones are the same log.
#[derive(Clone)]
pub struct AuditLog(Arc<Handle>);

struct Handle {
    digest: Hmac<Sha256>,
    sink: Sink,
}

pub(super) enum Sink {
    Files(FileLog),
    Database(DatabaseLog),
}

impl AuditLog {
    /// Opens a log in files, and brings it into order after a crash.
    pub fn open(options: Options) -> Result<(Self, Opened), OpenError> {
        Self::open_with(options, Limits::default(), Arc::new(Files))
    }

    pub(super) fn open_with(
        options: Options,
        limits: Limits,
        disks: Arc<dyn Disks>,
    ) -> Result<(Self, Opened), OpenError> {
        let digest = digest(options.digest_key);
        let (files, opened) = FileLog::open(options, limits, disks)?;
        Ok((Self(Arc::new(Handle { digest, sink: Sink::Files(files) })), opened))
    }

    /// Opens a log in a database, in which a row counts as written once it is committed.
    pub async fn open_in(
        store: Arc<dyn RowStore>,
        key: SigningKey,
        digest_key: [u8; 32],
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, Opened), OpenError> {
        Self::open_in_with(store, key, digest_key, clock, Limits::default()).await
    }

    pub(super) async fn open_in_with(
        store: Arc<dyn RowStore>,
        key: SigningKey,
        digest_key: [u8; 32],
        clock: Arc<dyn Clock>,
        limits: Limits,
    ) -> Result<(Self, Opened), OpenError> {
        let (log, opened) = DatabaseLog::open(store, key, clock, limits).await?;
        let handle = Handle { digest: digest(digest_key), sink: Sink::Database(log) };
        Ok((Self(Arc::new(handle)), opened))
    }

    pub(super) fn sink(&self) -> &Sink {
        &self.0.sink
    }

    /// Writes rows, all in one piece; the number of the last. When this returns they have been handed to the operating
    /// system, or are on disk if durability is strict, or are committed if they go into a database. If it is dropped
    /// half-way, the rows are still written.
    pub async fn append(&self, events: &[Event<'_>], redactor: &Redactor) -> Result<u64, Fault> {
        match &self.0.sink {
            Sink::Files(log) => log.append(events, redactor).await,
            // Boxed, so that a call on files carries none of it.
            Sink::Database(log) => Box::pin(log.append(events, redactor)).await,
        }
    }

    /// Leaves a row to be written before anything later, without waiting for it.
    pub fn owe(&self, event: Event<'_>, redactor: &Redactor) {
        match &self.0.sink {
            Sink::Files(log) => log.owe(event, redactor),
            Sink::Database(log) => log.owe(event, redactor),
        }
    }

    /// A keyed digest: of arguments, of a result.
    pub fn digest(&self, bytes: &[u8]) -> Digest {
        Digest(self.0.digest.clone().chain_update(bytes).finalize().into_bytes().into())
    }

    /// Whether rows can be written; if not, why.
    pub fn health(&self) -> Result<(), String> {
        match &self.0.sink {
            Sink::Files(log) => log.health(),
            Sink::Database(log) => log.health(),
        }
    }

    /// The age of the oldest row that was handed to the log and is not on disk yet, or not committed to the database;
    /// nothing if all are.
    pub fn lag(&self) -> Duration {
        match &self.0.sink {
            Sink::Files(log) => log.lag(),
            Sink::Database(log) => log.lag(),
        }
    }

    /// Makes everything durable and signs it, now.
    pub async fn checkpoint(&self) -> Result<Checkpoint, Fault> {
        match &self.0.sink {
            Sink::Files(log) => log.checkpoint().await,
            Sink::Database(log) => log.checkpoint().await,
        }
    }

    /// The number of the last row written, as it grows.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        match &self.0.sink {
            Sink::Files(log) => log.subscribe(),
            Sink::Database(log) => log.subscribe(),
        }
    }

    /// Where the files are, for [`super::read`]; a log in a database has none.
    pub fn dir(&self) -> Option<&Path> {
        match &self.0.sink {
            Sink::Files(log) => Some(log.dir()),
            Sink::Database(_) => None,
        }
    }

    /// Removes rows that are older than that from the front, and records it: in files whole segments, in a database row
    /// by row. Calls that still run stay, and everything after them.
    pub async fn prune(&self, before: Timestamp) -> Result<Pruned, Fault> {
        // A checkpoint from before the cut connects what is kept with what was proved.
        self.checkpoint().await?;
        let pruned = match &self.0.sink {
            Sink::Files(log) => log.prune(before).await?,
            Sink::Database(log) => log.prune(before).await?,
        };
        if pruned.rows > 0 {
            let reason = format!("{} rows before row {} were removed", pruned.rows, pruned.first_kept);
            let event =
                Event { reason: Some(&reason), ..Event::new(OWN, OWN, Kind::LogPruned, Decision::Done) };
            self.append(&[event], &Redactor::none()).await?;
        }
        Ok(pruned)
    }

    /// Writes what is owed, ends the log with a checkpoint, and takes no more rows.
    pub async fn close(&self) {
        match &self.0.sink {
            Sink::Files(log) => log.close().await,
            Sink::Database(log) => log.close().await,
        }
    }
}

fn digest(key: [u8; 32]) -> Hmac<Sha256> {
    // HMAC fills a key shorter than a block with zeros.
    let mut block = [0; 64];
    if let Some(begin) = block.first_chunk_mut() {
        *begin = key;
    }
    Hmac::new(&block.into())
}

/// No row, so nothing else either.
pub(super) fn unwritten(told: String) -> Fault {
    Fault::new(format!("the audit log cannot be written, so nothing is done: {told}"), told)
}
