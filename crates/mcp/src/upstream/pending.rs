//! The letters that wait for an answer, by id. An answer to none of them is nothing.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::upstream::wire::{Answer, WireError};

/// What becomes of a letter.
type Fate = Result<Answer, WireError>;

/// Who waits.
pub(super) struct Pending(Mutex<Table>);

enum Table {
    Open(HashMap<u64, Slot>),
    /// Nothing is answered any more, for that reason.
    Closed(Arc<str>),
}

struct Slot {
    sender: oneshot::Sender<Fate>,
    /// Its answer is not expected soon.
    lasting: bool,
}

/// A letter that waits. To drop it gives up.
pub(super) struct Waiting<'a> {
    pending: &'a Pending,
    id: u64,
    fate: oneshot::Receiver<Fate>,
}

impl Default for Pending {
    fn default() -> Self {
        Self(Mutex::new(Table::Open(HashMap::new())))
    }
}

impl Pending {
    /// Begins to wait, before anything is sent: the answer may be faster than we are.
    pub(super) fn wait(&self, id: u64, lasting: bool) -> Result<Waiting<'_>, WireError> {
        match &mut *self.0.lock() {
            Table::Open(letters) => {
                let (sender, fate) = oneshot::channel();
                letters.insert(id, Slot { sender, lasting });
                Ok(Waiting { pending: self, id, fate })
            }
            Table::Closed(reason) => Err(WireError::Lost(Arc::clone(reason))),
        }
    }

    /// Gives a letter its fate. Where nobody waits for it, it is not even made. Whether somebody did.
    pub(super) fn settle(&self, id: u64, fate: impl FnOnce() -> Fate) -> bool {
        let Some(sender) = self.remove(id) else { return false };
        // Who gave up in this moment does not want it.
        drop(sender.send(fate()));
        true
    }

    /// The one letter whose answer is expected, if it is one.
    pub(super) fn only(&self) -> Option<u64> {
        let table = self.0.lock();
        let Table::Open(letters) = &*table else { return None };
        let mut expected = letters.iter().filter(|(_, slot)| !slot.lasting).map(|(id, _)| *id);
        expected.next().filter(|_| expected.next().is_none())
    }

    /// Everybody who waits, and who would later, hears that reason.
    pub(super) fn close(&self, reason: &Arc<str>) {
        let closed = Table::Closed(Arc::clone(reason));
        if let Table::Open(letters) = std::mem::replace(&mut *self.0.lock(), closed) {
            for slot in letters.into_values() {
                drop(slot.sender.send(Err(WireError::Lost(Arc::clone(reason)))));
            }
        }
    }

    fn remove(&self, id: u64) -> Option<oneshot::Sender<Fate>> {
        match &mut *self.0.lock() {
            Table::Open(letters) => letters.remove(&id).map(|slot| slot.sender),
            Table::Closed(_) => None,
        }
    }
}

impl Waiting<'_> {
    /// The answer, or why there is none.
    pub(super) async fn answer(mut self) -> Fate {
        (&mut self.fate).await.unwrap_or_else(|_| {
            let reason = "was asked twice under one id, which only one can have".to_owned();
            Err(WireError::Failed { status: None, reason })
        })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pending.remove(self.id);
    }
}
