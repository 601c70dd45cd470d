//! What becomes of a server's list: it is offered, and kept for the next run. It is not written more often than once a
//! minute, however often it changes, and never where there is a secret in it.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::redact::Redactor;
use covenant_model::server::{EraChoice, Prefix};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::intake::Intake;
use super::notes::{self, Remembered};
use super::server::Server;

/// How far apart two writes of one server's list are.
const APART: Duration = Duration::from_mins(1);

/// What is known of a server's list and of the note of it.
#[derive(Default)]
pub(super) struct Kept(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The last list, as a digest.
    list: Option<[u8; 32]>,
    /// When a note was written last.
    written: Option<Instant>,
    /// The note that is to be written next. Somebody waits for its time.
    next: Option<Vec<u8>>,
}

/// What a list led to.
struct Published {
    /// It was another one than before.
    changed: bool,
    /// Its note is to be written then.
    later: Option<Instant>,
}

impl Server {
    /// Takes what is remembered of it: whether that was anything. Takes time.
    pub(super) fn recall(self: &Arc<Self>) -> bool {
        let Some(remembered) = self.remembered() else { return false };
        *self.era.lock() = Some(remembered.era);
        self.kept.0.lock().list = Some(digest(remembered.era, &remembered.tools));
        self.shared.catalogue.put(self, Intake::of(self, &remembered.tools, &[]));
        true
    }

    /// Holds the names that are remembered of it, and offers nothing. Takes time.
    pub(super) fn claim(self: &Arc<Self>) {
        if self.plan.prefix == Prefix::None
            && let Some(remembered) = self.remembered()
        {
            self.shared.catalogue.claim(self, &Intake::of(self, &remembered.tools, &[]));
        }
    }

    fn remembered(&self) -> Option<Remembered> {
        let key = notes::key(&self.plan);
        let bytes = self.shared.notes.recall(&key)?;
        if !is_free_of_secrets(&self.shared.gate.redactor(), &bytes) {
            // It was none when the note was written.
            self.shared.notes.forget(&key);
            return None;
        }
        Remembered::read(&bytes)
    }

    /// Its tools are those. Whatever is as before stays as it is. Whether the list is another one than before.
    pub(super) async fn publish(self: &Arc<Self>, list: Vec<Box<RawValue>>, era: EraChoice) -> bool {
        let (server, now) = (Arc::clone(self), Instant::now());
        match tokio::task::spawn_blocking(move || server.take(list, era, now)).await {
            Ok(Published { changed, later }) => {
                if let Some(then) = later {
                    tokio::spawn(write_later(Arc::clone(self), then));
                }
                changed
            }
            Err(error) => {
                tracing::error!(target: "covenant", server = &*self.name, %error, "its list was not taken");
                true
            }
        }
    }

    fn take(self: &Arc<Self>, list: Vec<Box<RawValue>>, era: EraChoice, now: Instant) -> Published {
        let before = self.shared.catalogue.taken(self);
        self.shared.catalogue.put(self, Intake::of(self, &list, &before));
        let list_now = digest(era, &list);
        if self.kept.0.lock().list.replace(list_now) == Some(list_now) {
            return Published { changed: false, later: None };
        }
        let note = Remembered::new(era, list).written();
        let redactor = self.shared.gate.redactor();
        let note = note.filter(|bytes| is_free_of_secrets(&redactor, bytes));
        Published { changed: true, later: self.note(note, now) }
    }

    /// Writes that note, or comes back with when it is to be written.
    fn note(&self, note: Option<Vec<u8>>, now: Instant) -> Option<Instant> {
        let key = notes::key(&self.plan);
        let mut known = self.kept.0.lock();
        let Some(bytes) = note else {
            known.next = None;
            self.shared.notes.forget(&key);
            return None;
        };
        if let Some(due) = known.written.map(|at| at + APART).filter(|due| *due > now) {
            return known.next.replace(bytes).is_none().then_some(due);
        }
        known.written = Some(now);
        self.shared.notes.keep(&key, &bytes);
        None
    }
}

/// Writes the latest note when its time has come, or everything stops. One that is not wanted any more leaves none.
async fn write_later(server: Arc<Server>, then: Instant) {
    tokio::select! {
        () = tokio::time::sleep_until(then) => {}
        () = server.gone.cancelled() => {}
    }
    if server.gone.is_cancelled() && !server.shared.halt.is_cancelled() {
        return;
    }
    let now = Instant::now();
    let write = move || {
        let mut known = server.kept.0.lock();
        if let Some(bytes) = known.next.take() {
            known.written = Some(now);
            server.shared.notes.keep(&notes::key(&server.plan), &bytes);
        }
    };
    let _ = tokio::task::spawn_blocking(write).await;
}

/// Whether nothing in it would be taken out before it is shown.
fn is_free_of_secrets(redactor: &Redactor, note: &[u8]) -> bool {
    std::str::from_utf8(note)
        .is_ok_and(|text| matches!(redactor.redact_json(text), std::borrow::Cow::Borrowed(_)))
}

fn digest(era: EraChoice, list: &[Box<RawValue>]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(format!("{era:?}"));
    for tool in list {
        hash.update(tool.get().len().to_be_bytes());
        hash.update(tool.get());
    }
    hash.finalize().into()
}
