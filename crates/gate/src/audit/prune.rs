//! Removing what is old: whole segments from the front, after a signed tombstone with the hash at the cut is on disk.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use covenant_model::api::Pruned;
use covenant_model::audit::{Hash, Row, Tombstone};
use covenant_model::time::Timestamp;

use super::combine::Shared;
use super::files::FileLog;
use super::lines::Lines;
use super::segment::{self, Segment};
use crate::refusal::Fault;

impl FileLog {
    /// Removes the segments all of whose rows are older than that, oldest first. Segments that hold a call which is still
    /// running stay, and everything after them.
    pub(super) async fn prune(&self, before: Timestamp) -> Result<Pruned, Fault> {
        let (shared, dir) = (Arc::clone(self.shared()), self.dir().to_owned());
        let cut = tokio::task::spawn_blocking(move || cut(&shared, &dir, before)).await;
        cut.unwrap_or_else(|gone| Err(gone.to_string()))
            .map_err(|cause| Fault::new(format!("old audit rows could not be removed: {cause}"), cause))
    }
}

/// What a segment holds, as far as pruning cares.
struct Span {
    segment: Segment,
    first: u64,
    last: (u64, Hash),
    all_older: bool,
}

fn cut(shared: &Shared, dir: &Path, before: Timestamp) -> Result<Pruned, String> {
    let told = |error: io::Error| format!("{}: {error}", dir.display());
    let _alone = shared.pruning.lock();
    // Segments before this one get no more rows; this one may, while it is read. The calls that run are asked for
    // second: one that starts later than that starts in this segment.
    let current = shared.with_writer(|writer| writer.segment().number);
    let running = shared.sync.head().oldest_open.unwrap_or(u64::MAX);
    let mut old = Vec::new();
    for segment in segment::list(dir).map_err(told)?.into_iter().filter(|segment| segment.number <= current) {
        match span(&segment, before).map_err(told)? {
            Some(span) if span.all_older && span.last.0 < running => old.push(span),
            _ => break,
        }
    }
    leave_current(shared, current, &mut old)?;
    let Some(last) = old.last() else {
        return Ok(Pruned { rows: 0, first_kept: first_of(dir).map_err(told)? });
    };
    let first_kept = last.last.0.saturating_add(1);
    let rows = first_kept.saturating_sub(old.first().map_or(first_kept, |span| span.first));
    let tombstone = Tombstone::sign(&shared.key, first_kept, last.last.1, rows, shared.clock.now());
    shared.checkpoints.lock().bury(&tombstone)?;
    for span in &old {
        std::fs::remove_file(&span.segment.path).map_err(told)?;
    }
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(told)?;
    Ok(Pruned { rows, first_kept })
}

/// If the segment that was being written is old too, begins another; if rows came meanwhile, it stays.
fn leave_current(shared: &Shared, current: u64, old: &mut Vec<Span>) -> Result<(), String> {
    let Some(span) = old.pop_if(|span| span.segment.number >= current) else { return Ok(()) };
    let rotated = shared.with_writer(|writer| {
        let unchanged =
            span.segment.number == writer.segment().number && span.last.0 == writer.head().chain.last();
        if unchanged { writer.rotate().map(|()| true) } else { Ok(false) }
    });
    match rotated {
        Ok(true) => old.push(span),
        Ok(false) => {}
        Err(error) => return Err(shared.broke(error)),
    }
    Ok(())
}

/// Reads all of a segment: a clock may have jumped, so its last row need not be its youngest.
fn span(segment: &Segment, before: Timestamp) -> io::Result<Option<Span>> {
    let mut lines = Lines::new(File::open(&segment.path)?);
    let mut found: Option<Span> = None;
    while let Some(line) = lines.next_whole()? {
        let Ok(row) = Row::read(line.bytes) else { return Ok(None) };
        let older = row.ts().is_some_and(|ts| ts < before);
        let Ok(hash) = row.checked() else { return Ok(None) };
        if let Some(span) = &mut found {
            span.last = (row.seq, hash);
            span.all_older &= older;
        } else {
            let (first, last) = (row.seq, (row.seq, hash));
            found = Some(Span { segment: segment.clone(), first, last, all_older: older });
        }
        if !older {
            break;
        }
    }
    Ok(found)
}

fn first_of(dir: &Path) -> io::Result<u64> {
    for segment in segment::list(dir)? {
        if let Some(first) = segment.first_seq()? {
            return Ok(first);
        }
    }
    Ok(1)
}
