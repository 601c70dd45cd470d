//! Redacts what arrives in chunks exactly as if it had arrived at once.
//!
//! A secret may be cut by the border of two chunks, so the last bytes are held back until it is clear that nothing
//! begins in them: fewer than the longest form has.

use std::sync::Arc;

use super::Redactor;
use super::scan::Cover;

/// As much of a chunk is taken at a time: bounds the memory of a stream whatever the chunks are.
const TAKEN: usize = 64 * 1024;

/// The redaction of one sequence of chunks.
pub struct Stream {
    redactor: Arc<Redactor>,
    /// Bytes for which it is not yet clear what becomes of them.
    held: Vec<u8>,
    cover: Cover,
}

impl Stream {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Vec::new(), cover: Cover::default() }
    }

    /// Takes the next chunk, and adds to `out` what can be said of the bytes so far.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        for part in chunk.chunks(TAKEN) {
            self.held.extend_from_slice(part);
            self.advance((self.held.len() + 1).saturating_sub(self.redactor.search.longest()), out);
        }
    }

    /// Ends the sequence: adds the rest to `out`.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.advance(self.held.len(), out);
    }

    /// The most bytes held back between two chunks.
    pub fn bound(&self) -> usize {
        self.redactor.search.longest()
    }

    /// Decides all places that begin before `until`, and lets go of the bytes before it.
    fn advance(&mut self, until: usize, out: &mut Vec<u8>) {
        let search = &self.redactor.search;
        for found in search.scan(&self.held, 0, until) {
            self.cover.take(search, &self.held, found, out);
        }
        self.cover.plain(&self.held, until, out);
        self.held.drain(..until.min(self.held.len()));
        self.cover.done = self.cover.done.saturating_sub(until);
    }
}
