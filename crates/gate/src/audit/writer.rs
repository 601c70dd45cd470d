//! The one place that links rows and writes them: one `write` for all rows given, or none of them.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use covenant_model::audit::Chain;

use super::queue::Batch;
use super::segment::{Disk, Disks, Segment};
use super::sync::Head;

/// Why rows were not written.
#[derive(Debug)]
pub(super) enum WriteError {
    /// The next attempt may succeed.
    Write(String),
    /// What was written before may be lost: only a restart, which reads it back, can tell.
    Sync(String),
}

/// The end of the log.
pub(super) struct Writer {
    dir: PathBuf,
    disks: Arc<dyn Disks>,
    segment_bytes: u64,
    chain: Chain,
    open: BTreeSet<u64>,
    segment: Segment,
    disk: Arc<dyn Disk>,
    length: u64,
    /// A failed append left bytes behind that could not be cut off yet.
    torn: bool,
    scratch: Vec<u8>,
}

/// What a writer starts from.
pub(super) struct End {
    pub(super) chain: Chain,
    pub(super) open: BTreeSet<u64>,
    pub(super) segment: Segment,
    pub(super) length: u64,
}

impl Writer {
    pub(super) fn new(dir: PathBuf, disks: Arc<dyn Disks>, segment_bytes: u64, end: End) -> io::Result<Self> {
        let disk = disks.open(&end.segment.path)?;
        let End { chain, open, segment, length } = end;
        Ok(Self {
            dir,
            disks,
            segment_bytes,
            chain,
            open,
            segment,
            disk,
            length,
            torn: false,
            scratch: Vec::new(),
        })
    }

    /// The last row, and where recovery would have to start.
    pub(super) fn head(&self) -> Head {
        Head { chain: self.chain, oldest_open: self.open.first().copied() }
    }

    pub(super) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub(super) fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Appends all rows in one write; the number of the row before them. After an error nothing has changed.
    pub(super) fn write<'b>(
        &mut self,
        batches: impl Iterator<Item = &'b Batch> + Clone,
    ) -> Result<u64, WriteError> {
        self.mend()?;
        if self.length >= self.segment_bytes {
            self.rotate()?;
        }
        let before = self.chain;
        self.scratch.clear();
        for (body, _) in batches.clone().flat_map(Batch::bodies) {
            self.chain.link(body, &mut self.scratch);
        }
        if let Err(error) = self.disk.append(&self.scratch) {
            self.chain = before;
            self.torn = true;
            let told = self.told(&error);
            self.mend()?;
            return Err(told);
        }
        self.length = self.length.saturating_add(u64::try_from(self.scratch.len()).unwrap_or(u64::MAX));
        self.scratch.shrink_to(1 << 20);
        for ((_, track), seq) in batches.flat_map(Batch::bodies).zip(before.last().saturating_add(1)..) {
            track.apply(seq, &mut self.open);
        }
        Ok(before.last())
    }

    /// Cuts off what a failed append left.
    fn mend(&mut self) -> Result<(), WriteError> {
        if self.torn {
            self.disk.cut(self.length).map_err(|error| self.told(&error))?;
            self.torn = false;
        }
        Ok(())
    }

    fn told(&self, error: &io::Error) -> WriteError {
        WriteError::Write(format!("cannot write {}: {error}", self.segment.path.display()))
    }

    /// Starts the next segment. The one before it is on disk first, so that damage in it is never a crash's.
    pub(super) fn rotate(&mut self) -> Result<(), WriteError> {
        self.mend()?;
        let broken = |error: io::Error| WriteError::Sync(cannot_sync(&self.segment.path.display(), &error));
        self.disk.sync().map_err(broken)?;
        let next = Segment::new(&self.dir, self.segment.number.saturating_add(1));
        let opened = self.disks.open(&next.path).and_then(|disk| {
            std::fs::File::open(&self.dir)?.sync_all()?;
            Ok(disk)
        });
        self.disk = opened.map_err(|error| self.told(&error))?;
        self.segment = next;
        self.length = 0;
        Ok(())
    }
}

/// The sentence for a disk that does not keep what it took.
pub(super) fn cannot_sync(what: &dyn std::fmt::Display, error: &io::Error) -> String {
    format!(
        "cannot make {what} durable: {error}; repair the disk, then restart the daemon, which reads the log back"
    )
}
