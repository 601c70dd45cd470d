//! Reading an open log back, wherever it is kept: for the operator's `recent`, `watch` and `export`, and for an index.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::database::read as database;
use super::log::{AuditLog, Sink};
use super::read::{self, Filter, Tail};
use super::sink::RowStore;
use crate::refusal::Fault;

/// How large the pieces of an export are.
const PIECE: usize = 64 * 1024;

/// Rows in order, from one row on.
pub struct Rows(Source);

enum Source {
    Files(Tail),
    Database { store: Arc<dyn RowStore>, from: u64 },
}

impl AuditLog {
    /// The newest rows that pass, oldest of them first.
    pub async fn recent(&self, filter: Filter) -> Result<Vec<String>, Fault> {
        match self.sink() {
            Sink::Files(log) => {
                let dir = log.dir().to_owned();
                blocking(move || read::recent(&dir, &filter)).await
            }
            Sink::Database(log) => database::recent(&**log.store(), &filter).await,
        }
    }

    /// The rows from that number on, or from the first that was kept.
    pub fn rows(&self, from: u64) -> Rows {
        Rows(match self.sink() {
            Sink::Files(log) => Source::Files(read::tail(log.dir(), from)),
            Sink::Database(log) => Source::Database { store: Arc::clone(log.store()), from },
        })
    }

    /// Everything up to a checkpoint taken now, which is the last line, in pieces. An error among them means that the
    /// export is not whole.
    pub async fn export(&self) -> Result<mpsc::Receiver<io::Result<Vec<u8>>>, Fault> {
        self.checkpoint().await?;
        let (sender, receiver) = mpsc::channel(4);
        match self.sink() {
            Sink::Files(log) => {
                let dir = log.dir().to_owned();
                tokio::task::spawn_blocking(move || export_files(&dir, &sender));
            }
            Sink::Database(log) => drop(tokio::spawn(database::export(Arc::clone(log.store()), sender))),
        }
        Ok(receiver)
    }
}

impl Rows {
    /// The next rows, at most so many; none if there are no more for now. It may be asked again after
    /// [`AuditLog::subscribe`] said so.
    pub async fn next(self, most: u32) -> Result<(Self, Vec<String>), Fault> {
        match self.0 {
            Source::Files(mut tail) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                blocking(move || {
                    let rows: io::Result<Vec<String>> = tail.by_ref().take(most).collect();
                    rows.map(|rows| (Self(Source::Files(tail)), rows))
                })
                .await
            }
            Source::Database { store, from } => {
                let (from, rows) = database::rows(&*store, from, most).await?;
                Ok((Self(Source::Database { store, from }), rows))
            }
        }
    }
}

async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Fault> {
    let unread = |error: &dyn std::fmt::Display| Fault::new("the audit log could not be read", error);
    let read = tokio::task::spawn_blocking(read).await.map_err(|error| unread(&error))?;
    read.map_err(|error| unread(&error))
}

fn export_files(dir: &Path, sender: &mpsc::Sender<io::Result<Vec<u8>>>) {
    let out = io::BufWriter::with_capacity(PIECE, Pieces(sender));
    if let Err(error) = read::export(dir, out) {
        tracing::warn!("an export of the audit log failed: {error}");
        // A reader must not take a part for the whole. One that has gone is no error.
        drop(sender.blocking_send(Err(error)));
    }
}

struct Pieces<'a>(&'a mpsc::Sender<io::Result<Vec<u8>>>);

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let gone = |_| io::Error::new(io::ErrorKind::BrokenPipe, "the reader has gone");
        self.0.blocking_send(Ok(bytes.to_vec())).map_err(gone)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
