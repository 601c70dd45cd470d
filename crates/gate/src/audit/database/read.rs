//! Reading rows back from a database, page by page. Asks the writer nothing.

use std::io;
use std::sync::Arc;

use covenant_model::audit::Row;
use tokio::sync::mpsc;

use super::super::read::Filter;
use super::super::sink::{Ends, Kept, RowStore};
use crate::refusal::Fault;

/// How many rows are read at a time.
const PAGE: u32 = 512;

/// The newest rows that pass, oldest of them first. A clock may have jumped, so a single old row does not end the search:
/// a whole page of them does.
pub(in super::super) async fn recent(store: &dyn RowStore, filter: &Filter) -> Result<Vec<String>, Fault> {
    let (mut found, mut before) = (Vec::new(), u64::MAX);
    while found.len() < filter.limit {
        let page = store.rows_before(before, PAGE).await?;
        let Some(oldest) = page.last() else { break };
        before = oldest.seq;
        let mut any_young = false;
        for Kept { line, .. } in page {
            let Ok(row) = Row::read(line.as_bytes()) else { continue };
            let young = filter.is_young(&row);
            any_young |= young;
            if young && found.len() < filter.limit && filter.names(line.as_bytes()) {
                found.push(line);
            }
        }
        if !any_young {
            break;
        }
    }
    found.reverse();
    Ok(found)
}

/// The next rows from that number on that are whole, at most so many, and the number to go on with.
pub(in super::super) async fn rows(
    store: &dyn RowStore,
    mut from: u64,
    most: u32,
) -> Result<(u64, Vec<String>), Fault> {
    let whole = |line: &String| Row::read(line.as_bytes()).is_ok_and(|row| row.checked().is_ok());
    loop {
        let page = store.rows(from, most).await?;
        let Some(last) = page.last() else { return Ok((from, Vec::new())) };
        from = last.seq.saturating_add(1);
        // What is no row is damage, and `verify` names it.
        let rows: Vec<String> = page.into_iter().map(|row| row.line).filter(whole).collect();
        if !rows.is_empty() {
            return Ok((from, rows));
        }
    }
}

/// Sends the log up to its last checkpoint, with tombstone and checkpoints in line. What does not belong is sent too: it
/// is for `verify` to find.
pub(in super::super) async fn export(store: Arc<dyn RowStore>, out: mpsc::Sender<io::Result<Vec<u8>>>) {
    let broken = match Export::begin(&*store, &out).await {
        Ok(export) => export.run().await.err(),
        Err(error) => Some(error),
    };
    if let Some(error) = broken {
        tracing::warn!("an export of the audit log failed: {error}");
        // A reader must not take a part for the whole. One that has gone is no error.
        drop(out.send(Err(error)).await);
    }
}

/// An export under way.
struct Export<'a> {
    store: &'a dyn RowStore,
    out: &'a mpsc::Sender<io::Result<Vec<u8>>>,
    ends: Ends,
    /// The row that the last checkpoint covers.
    last: u64,
    /// Checkpoints read and not yet sent, last first.
    marks: Vec<Kept>,
    /// The row whose checkpoint is read next.
    next_mark: u64,
}

impl<'a> Export<'a> {
    async fn begin(store: &'a dyn RowStore, out: &'a mpsc::Sender<io::Result<Vec<u8>>>) -> io::Result<Self> {
        let ends = store.ends().await.map_err(io::Error::other)?;
        let last = ends.checkpoint.as_ref().map(|mark| mark.seq);
        let last = last
            .ok_or_else(|| io::Error::other("there is no checkpoint yet, and an export must end with one"))?;
        Ok(Self { store, out, ends, last, marks: Vec::new(), next_mark: 0 })
    }

    async fn run(mut self) -> io::Result<()> {
        if let Some(tombstone) = self.ends.tombstone.clone() {
            self.send(line_of(&tombstone.line)).await?;
        }
        let mut from = 1;
        loop {
            let page = self.store.rows(from, PAGE).await.map_err(io::Error::other)?;
            let mut text = Vec::new();
            for row in &page {
                if row.seq > self.last {
                    break;
                }
                self.marks_before(row.seq, &mut text).await?;
                text.extend(line_of(&row.line));
            }
            let done = page.last().is_none_or(|row| row.seq >= self.last);
            if done {
                self.marks_before(self.last.saturating_add(1), &mut text).await?;
                self.unchanged().await?;
            }
            self.send(text).await?;
            if done {
                return Ok(());
            }
            from = page.last().map_or(from, |row| row.seq.saturating_add(1));
        }
    }

    /// A checkpoint stands directly after its row.
    async fn marks_before(&mut self, seq: u64, text: &mut Vec<u8>) -> io::Result<()> {
        loop {
            if self.marks.is_empty() {
                let page = self.store.checkpoints(self.next_mark, PAGE).await.map_err(io::Error::other)?;
                let Some(last) = page.last() else { return Ok(()) };
                self.next_mark = last.seq.saturating_add(1);
                self.marks = page;
                self.marks.reverse();
            }
            let Some(mark) = self.marks.pop_if(|mark| mark.seq < seq) else { return Ok(()) };
            text.extend(line_of(&mark.line));
        }
    }

    /// Rows that a prune took away meanwhile would look like rows that are missing.
    async fn unchanged(&self) -> io::Result<()> {
        let now = self.store.ends().await.map_err(io::Error::other)?;
        if now.tombstone == self.ends.tombstone {
            return Ok(());
        }
        Err(io::Error::other("old rows were removed while the log was read: export it again"))
    }

    async fn send(&self, text: Vec<u8>) -> io::Result<()> {
        let gone = |_| io::Error::new(io::ErrorKind::BrokenPipe, "the reader has gone");
        self.out.send(Ok(text)).await.map_err(gone)
    }
}

fn line_of(line: &str) -> Vec<u8> {
    [line.as_bytes(), b"\n"].concat()
}
