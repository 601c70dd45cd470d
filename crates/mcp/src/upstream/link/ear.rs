//! What a server says unasked: progress and log messages of calls under way, that its tools changed, and its requests.
//!
//! Nothing piles up: a call holds a few messages at most, a change is a number, and the rest is dropped.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use covenant_gate::context::{Level, LogMessage, Progress};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use crate::message::Id;
use crate::reply::RpcError;
use crate::trace::{SHOWN, Shown};
use crate::upstream::inbound::ours;
use crate::upstream::scrub::Scrub;
use crate::upstream::wire::Ear;

/// The most messages that wait for one call to pass them on.
const WAITING: usize = 64;

/// The most bytes of a message for the log.
const LOGGED: usize = 64 * 1024;

/// The ear of one link.
pub struct LinkEar {
    /// The id of the next letter.
    next: AtomicU64,
    calls: Mutex<HashMap<u64, Caller>>,
    changed: watch::Sender<u64>,
    /// Whether a subscription was acknowledged before.
    subscribed: AtomicBool,
    scrub: Scrub,
}

/// What a server said of a call.
pub(super) enum Word {
    Progress(Progress),
    Log(LogMessage),
}

/// Who hears of a call.
#[derive(Clone)]
struct Caller {
    words: mpsc::Sender<Word>,
    /// The last progress for which there was no room among the words.
    last: Arc<Mutex<Option<Progress>>>,
}

/// What a server says of one call, until this is dropped.
pub(super) struct Hearing<'a> {
    ear: &'a LinkEar,
    id: u64,
    words: mpsc::Receiver<Word>,
    last: Arc<Mutex<Option<Progress>>>,
}

impl Hearing<'_> {
    /// The next word that was said already.
    pub(super) fn said(&mut self) -> Option<Word> {
        let word = self.words.try_recv().ok();
        word.or_else(|| self.last.lock().take().map(Word::Progress))
    }

    /// The next word. Cancel safe.
    pub(super) async fn word(&mut self) -> Option<Word> {
        match self.said() {
            Some(word) => Some(word),
            None => self.words.recv().await,
        }
    }
}

impl LinkEar {
    /// Hears nothing yet. What it hears is shown without what that takes out.
    pub fn new(scrub: Scrub) -> Arc<Self> {
        let (next, calls) = (AtomicU64::new(1), Mutex::default());
        let subscribed = AtomicBool::new(false);
        Arc::new(Self { next, calls, changed: watch::Sender::new(0), subscribed, scrub })
    }

    /// An id that no letter had.
    pub(super) fn id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Hears what is said of that call.
    pub(super) fn hear(&self, id: u64) -> Hearing<'_> {
        let ((sender, words), last) = (mpsc::channel(WAITING), Arc::default());
        self.calls.lock().insert(id, Caller { words: sender, last: Arc::clone(&last) });
        Hearing { ear: self, id, words, last }
    }

    pub(super) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The tools changed, or may have.
    fn change(&self) {
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn progress(&self, params: &RawValue, about: Option<u64>) {
        let Ok(said) = serde_json::from_str::<ProgressParams<'_>>(params.get()) else { return };
        let Some(id) = ours(said.token.get()).filter(|id| about.is_none_or(|about| about == *id)) else {
            return;
        };
        let Some(caller) = self.caller(id) else { return };
        let word = Progress { progress: said.progress, total: said.total, message: said.message };
        if let Err(TrySendError::Full(Word::Progress(word))) = caller.words.try_send(Word::Progress(word)) {
            // Of progress the last word is worth the most.
            *caller.last.lock() = Some(word);
        }
    }

    fn log(&self, params: &RawValue, about: u64) {
        let Some(caller) = self.caller(about) else { return };
        let Ok(room) = caller.words.try_reserve() else { return };
        if let Ok(said) = serde_json::from_str::<LogParams>(params.get()) {
            room.send(Word::Log(LogMessage { level: said.level, logger: said.logger, data: said.data }));
        }
    }

    fn caller(&self, id: u64) -> Option<Caller> {
        self.calls.lock().get(&id).cloned()
    }
}

impl Drop for Hearing<'_> {
    fn drop(&mut self) {
        self.ear.calls.lock().remove(&self.id);
    }
}

impl Ear for LinkEar {
    fn notification(&self, method: &str, params: Option<&RawValue>, about: Option<u64>) {
        match (method, params, about) {
            ("notifications/progress", Some(params), _) => self.progress(params, about),
            ("notifications/message", Some(params), Some(about)) if params.get().len() <= LOGGED => {
                self.log(params, about);
            }
            ("notifications/tools/list_changed", ..) => self.change(),
            // What a server would have said between two subscriptions is not known.
            ("notifications/subscriptions/acknowledged", ..)
                if self.subscribed.swap(true, Ordering::Relaxed) =>
            {
                self.change();
            }
            _ => {}
        }
    }

    fn request(&self, id: &Id, method: &str, _: Option<&RawValue>) -> Vec<u8> {
        if method == "ping" {
            return format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into_bytes();
        }
        let error = RpcError::method_not_found(&Shown(&self.scrub.shown(method, SHOWN)).to_string());
        let error = serde_json::to_string(&error).unwrap_or_default();
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
    }

    fn scrub(&self) -> &Scrub {
        &self.scrub
    }
}

#[derive(Deserialize)]
struct ProgressParams<'a> {
    #[serde(borrow, rename = "progressToken")]
    token: &'a RawValue,
    progress: f64,
    #[serde(default)]
    total: Option<f64>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
struct LogParams {
    level: Level,
    #[serde(default)]
    logger: Option<String>,
    data: Value,
}
