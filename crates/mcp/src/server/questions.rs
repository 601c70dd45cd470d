//! What we have asked a client of the handshake's era, and not yet heard.

use std::collections::HashMap;
use std::sync::Arc;

use covenant_gate::inquiry::{Asking, Client, Inquiry, Kinds};
use covenant_gate::random;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

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
    last: Option<u64>,
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
            Ok(result) if result.get().starts_with('{') => {
                serde_json::from_str(result.get()).map_err(|error| error.to_string())
            }
            Ok(_) => Err("the client's answer is not an object".to_owned()),
            Err(error) => {
                let refused = serde_json::from_str::<Refused>(error.get()).ok();
                let why = refused.and_then(|refused| refused.message).unwrap_or_default();
                Err(format!("the client did not answer: {why}"))
            }
        };
        // Who asked may be gone.
        let _ = waiting.send(answer);
    }

    /// Whether the client has something to answer.
    pub(super) fn any(&self) -> bool {
        !self.0.lock().open.is_empty()
    }

    fn begin(&self) -> Result<(u64, oneshot::Receiver<Result<Value, String>>), String> {
        let mut table = self.0.lock();
        if table.open.len() >= OPEN {
            return Err(format!("the client has {OPEN} questions before it already"));
        }
        let id = match table.last {
            Some(last) => last + 1,
            None => first()?,
        };
        let (answer, waiting) = oneshot::channel();
        table.last = Some(id);
        table.open.insert(id, answer);
        Ok((id, waiting))
    }

    /// Nobody waits for that answer any more; says whether somebody did.
    fn end(&self, id: u64) -> bool {
        self.0.lock().open.remove(&id).is_some()
    }
}

/// Where the ids of a session begin: elsewhere each time, so that an answer to a session before it answers nothing.
fn first() -> Result<u64, String> {
    let bytes: [u8; 4] = random::bytes().map_err(|fault| fault.to_string())?;
    Ok(u64::from(u32::from_le_bytes(bytes)) << 16)
}

/// The client at the other end of one request's way back.
pub(super) struct Reached {
    pub(super) session: Arc<Session>,
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) kinds: Kinds,
    /// Fires when the call that asks is over.
    pub(super) over: CancellationToken,
}

/// A question that was sent; dropped without an answer, the client is told not to bother its person any more.
struct Open<'a>(&'a Reached, u64);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let Self(reached, id) = self;
        if reached.session.questions.end(*id) {
            let params = json!({ "requestId": id, "reason": "the call that asked is over" });
            let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            reached.outlet.notify(message.to_string().as_bytes());
        }
    }
}

impl Reached {
    /// Sends that request; `false` if it cannot get there.
    fn send(&self, id: u64, inquiry: &Inquiry) -> bool {
        let (method, params) = (inquiry.kind().method(), inquiry.params());
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.outlet.request(message.to_string().as_bytes())
    }
}

impl Client for Reached {
    fn kinds(&self) -> Kinds {
        self.kinds
    }

    fn ask<'a>(&'a self, inquiry: &'a Inquiry) -> Asking<'a> {
        Box::pin(async move {
            let questions = &self.session.questions;
            let (id, waiting) = questions.begin()?;
            if !self.send(id, inquiry) {
                questions.end(id);
                return Err("the client cannot be asked: it does not keep up".to_owned());
            }
            let _open = Open(self, id);
            tokio::select! {
                answer = waiting => answer.unwrap_or_else(|_| Err("the client is gone".to_owned())),
                () = self.over.cancelled() => Err("the call is over".to_owned()),
            }
        })
    }

    fn tell(&self, inquiry: &Inquiry) {
        let questions = &self.session.questions;
        let Ok((id, _)) = questions.begin() else { return };
        // An answer to it is one to nothing that is asked.
        questions.end(id);
        if self.send(id, inquiry) {
            self.session.told.in_question(inquiry);
        }
    }
}
