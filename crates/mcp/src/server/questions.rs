//! What we have asked a client of the handshake's era, and not yet heard.

use std::collections::HashMap;
use std::sync::Arc;

use covenant_gate::inquiry::{Asking, Client, Inquiry, Kinds};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::Session;
use crate::message::Response;
use crate::outlet::Outlet;

/// How many questions one client may have before it.
const OPEN: usize = 64;

/// The questions that wait, by the id they were asked under.
#[derive(Default)]
pub(super) struct Questions(Mutex<Table>);

#[derive(Default)]
struct Table {
    last: u64,
    open: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
}

#[derive(Deserialize)]
struct Refused {
    message: Option<String>,
}

impl Questions {
    /// Takes an answer; one to nothing we asked is nothing to us.
    pub(super) fn answer(&self, response: &Response<'_>) {
        let id = response.id.as_ref().and_then(|id| id.as_json().parse().ok());
        let Some(waiting) = id.and_then(|id: u64| self.0.lock().open.remove(&id)) else { return };
        let answer = match response.answer {
            Ok(result) => serde_json::from_str(result.get()).map_err(|error| error.to_string()),
            Err(error) => {
                let refused = serde_json::from_str::<Refused>(error.get()).ok();
                let why = refused.and_then(|refused| refused.message).unwrap_or_default();
                Err(format!("the client did not answer: {why}"))
            }
        };
        // Who asked may be gone.
        let _ = waiting.send(answer);
    }

    fn begin(&self) -> Option<(u64, oneshot::Receiver<Result<Value, String>>)> {
        let mut table = self.0.lock();
        if table.open.len() >= OPEN {
            return None;
        }
        table.last += 1;
        let (id, (answer, waiting)) = (table.last, oneshot::channel());
        table.open.insert(id, answer);
        Some((id, waiting))
    }
}

/// The client at the other end of one request's way back.
pub(super) struct Reached {
    pub(super) session: Arc<Session>,
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) kinds: Kinds,
}

/// A question; dropped, nobody waits for its answer any more.
struct Open<'a>(&'a Questions, u64);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.0.lock().open.remove(&self.1);
    }
}

impl Client for Reached {
    fn kinds(&self) -> Kinds {
        self.kinds
    }

    fn ask<'a>(&'a self, inquiry: &'a Inquiry) -> Asking<'a> {
        Box::pin(async move {
            let questions = &self.session.questions;
            let Some((id, waiting)) = questions.begin() else {
                return Err(format!("the client has {OPEN} questions before it already"));
            };
            let _open = Open(questions, id);
            let (method, params) = (inquiry.kind().method(), inquiry.params());
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            if !self.outlet.request(message.to_string().as_bytes()) {
                return Err("the client cannot be asked: it does not keep up".to_owned());
            }
            waiting.await.unwrap_or_else(|_| Err("the client is gone".to_owned()))
        })
    }
}
