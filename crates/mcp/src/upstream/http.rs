//! A wire of Streamable HTTP: every letter is a POST, and its answer is JSON or a stream of events.
//!
//! Nothing joins one letter to the next but a session's id, so a failure is that of one letter. Such a wire is lost when
//! it is closed, and by itself only where the server says too much: one that answers nobody is found by whoever counts
//! failures.

pub(crate) mod body;
mod listening;
mod reading;
pub(crate) mod refusal;
pub(crate) mod way;

use std::sync::Arc;

use covenant_model::server::Web;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use self::body::Kind;
use self::reading::Reader;
use self::refusal::{Asked, failed};
use self::way::{Passage, Way};
use super::flood::Flood;
use super::heard::hear;
use super::ports::{Courier, Later, Reply};
use super::wire::{Answer, Ear, Letter, Wire, WireError};

/// Why a wire that was closed carries nothing.
const CLOSED: &str = "was let go";

/// POSTs to a server.
pub struct HttpWire {
    way: Arc<Way>,
    ear: Arc<dyn Ear>,
    limit: usize,
    flood: Arc<Flood>,
    closed: CancellationToken,
    /// The server does not know our session any more.
    forgotten: CancellationToken,
    listening: Mutex<Option<AbortHandle>>,
}

impl HttpWire {
    /// Speaks with the server at that URL, whose messages may have that many bytes.
    pub fn new(
        courier: Arc<dyn Courier>,
        web: &Web,
        url: String,
        ear: Arc<dyn Ear>,
        limit: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            way: Arc::new(Way::new(courier, web, url)),
            ear,
            limit,
            flood: Arc::default(),
            closed: CancellationToken::new(),
            forgotten: CancellationToken::new(),
            listening: Mutex::default(),
        })
    }

    async fn asked(&self, letter: &Letter) -> Result<Answer, WireError> {
        let Passage { reply, session } = self.way.post(letter).await?;
        if !is_success(reply.status) {
            return self.refused(letter, reply, session.as_ref()).await;
        }
        if letter.method == "initialize" {
            self.way.begin(reply.header("mcp-session-id"))?;
        }
        match Kind::of(&reply) {
            _ if matches!(reply.status, 202 | 204) => {
                let reason = format!("answered {} to {}, which is no answer", reply.status, letter.method);
                Err(failed(reply.status, reason))
            }
            Kind::Json => self.document(letter, reply).await,
            Kind::Events => {
                let reader =
                    Reader { way: &self.way, ear: self.ear.as_ref(), limit: self.limit, flood: &self.flood };
                reader.answer(letter, reply).await
            }
            Kind::Other(name) => {
                let name = self.ear.scrub().quoted(&name, 64);
                let reason = format!(
                    "answered {} with {name} where JSON or a stream of events was expected: check `url` in its entry",
                    letter.method
                );
                Err(failed(reply.status, reason))
            }
        }
    }

    /// The answer in a body of JSON.
    async fn document(&self, letter: &Letter, reply: Reply) -> Result<Answer, WireError> {
        let status = reply.status;
        let bytes = body::whole(reply, self.limit).await?;
        let heard = hear(&bytes, self.ear.as_ref(), letter.id);
        self.flood.add_all(heard.unasked);
        for answer in heard.back {
            self.way.give_back(answer).await;
        }
        let missing = || match (heard.sound, refusal::nameless(&bytes, self.ear.scrub())) {
            (_, Some(error)) => Ok(Answer::Error(error)),
            (true, None) => Err(failed(status, format!("answered {} with another id", letter.method))),
            (false, None) => Err(failed(status, format!("answered {} with no JSON", letter.method))),
        };
        heard.answer.map_or_else(missing, Ok)
    }

    /// An answer whose status is no success.
    async fn refused(
        &self,
        letter: &Letter,
        reply: Reply,
        session: Option<&Arc<str>>,
    ) -> Result<Answer, WireError> {
        let asked = Asked {
            method: letter.method,
            id: letter.id,
            url: self.way.url(),
            in_session: session.is_some(),
        };
        let read = refusal::read(reply, &asked, self.ear.as_ref()).await;
        if let (Err(WireError::SessionLost), Some(session)) = (&read, session)
            && self.way.spend(session)
        {
            self.forgotten.cancel();
        }
        read
    }

    async fn told(&self, letter: &Letter) -> Result<(), WireError> {
        let Passage { reply, session } = self.way.post(letter).await?;
        if is_success(reply.status) {
            body::let_go(reply.body);
            return Ok(());
        }
        let status = reply.status;
        match self.refused(letter, reply, session.as_ref()).await? {
            Answer::Error(error) => Err(failed(status, format!("{error} to {}", letter.method))),
            Answer::Result(_) => Ok(()),
        }
    }

    /// Does it, unless the wire is closed or flooded before it is done.
    async fn unless_closed<T>(
        &self,
        doing: impl Future<Output = Result<T, WireError>>,
    ) -> Result<T, WireError> {
        tokio::select! {
            biased;
            done = doing, if !self.closed.is_cancelled() && !self.flood.is_too_much() => done,
            reason = self.lost() => Err(WireError::Lost(reason)),
        }
    }

    fn stop_listening(&self) {
        if let Some(task) = self.listening.lock().take() {
            task.abort();
        }
    }
}

impl Wire for HttpWire {
    fn ask<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<Answer, WireError>> {
        Box::pin(self.unless_closed(self.asked(letter)))
    }

    fn tell<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<(), WireError>> {
        Box::pin(self.unless_closed(self.told(letter)))
    }

    fn agreed(&self, revision: &str, modern: bool) {
        self.way.agree(revision, modern);
    }

    fn listen(&self) {
        self.stop_listening();
        if self.way.is_modern() || self.closed.is_cancelled() {
            return;
        }
        let forgotten = self.forgotten.clone();
        let listening = listening::listen(
            Arc::clone(&self.way),
            Arc::clone(&self.ear),
            self.limit,
            Arc::clone(&self.flood),
            forgotten,
        );
        *self.listening.lock() = Some(tokio::spawn(listening).abort_handle());
    }

    fn lost(&self) -> Later<'_, Arc<str>> {
        Box::pin(async {
            tokio::select! {
                biased;
                () = self.closed.cancelled() => CLOSED.into(),
                () = self.flood.too_much() => Flood::told().into(),
            }
        })
    }

    fn forgotten(&self) -> Later<'_, ()> {
        Box::pin(self.forgotten.cancelled())
    }

    fn transport(&self) -> &'static str {
        "http"
    }

    fn close(&self) -> Later<'_, ()> {
        Box::pin(async {
            self.closed.cancel();
            self.stop_listening();
            self.way.delete().await;
        })
    }
}

impl Drop for HttpWire {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

/// Whether a status says that it went well.
pub(crate) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

#[cfg(test)]
mod tests;
