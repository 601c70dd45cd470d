//! Which requests of a client are under way, so that it can take them back.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Session;
use crate::message::Id;
use crate::reply::RpcError;

/// The requests under way, by id.
#[derive(Default)]
pub(super) struct Flights {
    table: Mutex<HashMap<Id, Under>>,
}

struct Under {
    token: CancellationToken,
    taken_back: bool,
}

/// Whether anyone still wants the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Wanted,
    TakenBack,
}

impl Flights {
    /// Whether that id is free for another request.
    pub(super) fn allow(&self, id: &Id) -> Result<(), RpcError> {
        if self.table.lock().contains_key(id) { Err(under_way()) } else { Ok(()) }
    }

    /// Begins one; an id that is under way already is another's.
    pub(super) fn begin(&self, session: &Arc<Session>, id: &Id) -> Result<Flight, RpcError> {
        let token = CancellationToken::new();
        match self.table.lock().entry(id.clone()) {
            Entry::Occupied(_) => Err(under_way()),
            Entry::Vacant(free) => {
                free.insert(Under { token: token.clone(), taken_back: false });
                Ok(Flight { session: session.clone(), id: id.clone(), token })
            }
        }
    }

    /// The client took that request back; an id that is not under way is one that has just ended.
    pub(super) fn cancel(&self, id: &Id) {
        if let Some(under) = self.table.lock().get_mut(id) {
            under.taken_back = true;
            under.token.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        for under in self.table.lock().values_mut() {
            under.taken_back = true;
            under.token.cancel();
        }
    }
}

fn under_way() -> RpcError {
    RpcError::invalid_request("a request with this `id` is still under way")
}

/// One request under way; dropping it ends it.
pub(super) struct Flight {
    session: Arc<Session>,
    id: Id,
    token: CancellationToken,
}

impl Flight {
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// The work is done.
    pub(super) fn end(self) -> End {
        let under = self.session.flights.table.lock().remove(&self.id);
        if under.is_some_and(|under| under.taken_back) { End::TakenBack } else { End::Wanted }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.session.flights.table.lock().remove(&self.id).is_some() {
            self.token.cancel();
        }
    }
}
