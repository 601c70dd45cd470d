//! The session at the origin, in the handshake's era: opened in the client's words when it is needed, by one at a time,
//! and opened anew where the origin forgot it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::exchange::Desk;
use super::reading::Reading;
use super::road::Headers;
use super::trouble::Trouble;
use super::{listening, sorting};
use crate::message::Id;

/// The most bytes of a session's id.
const LONGEST_ID: usize = 1024;

/// What a client hears when another session may have other tools.
const CHANGED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

const READY: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A session that is open.
#[derive(Debug)]
pub(super) struct Open {
    /// Its id; an origin may have none.
    pub(super) id: Option<String>,
    /// What is spoken in it.
    pub(super) revision: String,
    /// What the origin said of itself when it opened.
    pub(super) said: Value,
    /// Set when it is not used any more.
    pub(super) over: CancellationToken,
}

/// What is known of sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    state: Mutex<State>,
    /// The client has been told, or has seen, what a session offers.
    seen: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// What the client said when it opened; nothing where it did not.
    opening: Option<Box<RawValue>>,
    /// The log level it asked for.
    level: Option<Box<RawValue>>,
    open: Option<Arc<Open>>,
}

impl Sessions {
    /// The client opens: what it said before is nothing any more.
    pub(super) async fn begin(&self, opening: Box<RawValue>) {
        let mut state = self.state.lock().await;
        if let Some(open) = state.open.take() {
            open.over.cancel();
        }
        *state = State { opening: Some(opening), ..State::default() };
        self.seen.store(false, Ordering::Relaxed);
    }

    /// The client was told what there is without the origin's word.
    pub(super) fn told_without(&self) {
        self.seen.store(true, Ordering::Relaxed);
    }

    /// The log level that a new session is told.
    pub(super) async fn set_level(&self, params: Box<RawValue>) {
        self.state.lock().await.level = Some(params);
    }

    /// The session, which is opened if none is; none where the client never opened one.
    pub(super) async fn current(&self, desk: &Arc<Desk>) -> Result<Option<Arc<Open>>, Trouble> {
        let mut state = self.state.lock().await;
        if let Some(open) = &state.open {
            return Ok(Some(Arc::clone(open)));
        }
        let Some(opening) = &state.opening else { return Ok(None) };
        let open = Arc::new(open(desk, opening, state.level.as_deref()).await?);
        tokio::spawn(listening::listen(Arc::clone(desk), Arc::clone(&open)));
        state.open = Some(Arc::clone(&open));
        if self.seen.swap(true, Ordering::Relaxed) {
            drop(desk.pass(CHANGED.to_vec()).await);
        }
        Ok(Some(open))
    }

    /// The session, if one is open.
    pub(super) async fn open(&self) -> Option<Arc<Open>> {
        self.state.lock().await.open.clone()
    }

    /// The origin does not know that session. Another may have been opened since.
    pub(super) async fn forget(&self, lost: &Arc<Open>) {
        lost.over.cancel();
        self.state.lock().await.open.take_if(|open| Arc::ptr_eq(open, lost));
    }

    /// No more of it.
    pub(super) async fn close(&self) -> Option<Arc<Open>> {
        let open = self.state.lock().await.open.take()?;
        open.over.cancel();
        Some(open)
    }
}

/// Shakes hands in the client's words.
async fn open(desk: &Arc<Desk>, opening: &RawValue, level: Option<&RawValue>) -> Result<Open, Trouble> {
    let id = Id::of_the_bridge();
    let asked = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{opening}}}"#);
    let reply = desk.road.post(asked.into_bytes(), &Headers::new(), true).await?;
    let session = reply.header("mcp-session-id").map(str::to_owned).filter(|id| !id.is_empty());
    let answer = Reading { desk, id: &id, lasting: false }.answer(reply, None).await?;
    if let Some(error) = sorting::error(&answer.bytes) {
        return Err(Trouble::Error(error));
    }
    let said = sorting::result(&answer.bytes).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let revision = said.as_ref().and_then(|said| said.get("protocolVersion")).and_then(Value::as_str);
    let (Some(said), Some(revision)) = (&said, revision) else {
        return Err(Trouble::Foreign(200, "a handshake without `protocolVersion`".to_owned()));
    };
    let plain = |text: &str| text.len() <= LONGEST_ID && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !plain(revision) || !session.as_deref().is_none_or(plain) {
        return Err(Trouble::Foreign(200, "a session id that no header can hold".to_owned()));
    }
    let over = CancellationToken::new();
    let open = Open { id: session, revision: revision.to_owned(), said: said.clone(), over };
    desk.aside(&open, READY.to_vec()).await;
    if let Some(level) = level {
        let id = Id::of_the_bridge();
        let asked = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"logging/setLevel","params":{level}}}"#);
        desk.aside(&open, asked.into_bytes()).await;
    }
    Ok(open)
}
