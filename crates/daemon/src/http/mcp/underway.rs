//! A request that is being worked on, while its client waits: what becomes of it when the client hangs up.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use covenant_mcp::reply::Answer;
use covenant_mcp::server::{Running, Session};
use tokio_util::sync::CancellationToken;

use super::letters::Letters;
use super::sessions::Held;
use crate::http::seats::Engaged;

/// A request under way. Dropped before its end, it is taken back, or goes on without its client.
pub(crate) struct Underway {
    running: Option<Running>,
    session: Arc<Session>,
    /// The session it is in, of the handshake's era: a client that hung up had not thereby taken its request back.
    held: Option<Held>,
    /// What it says on its way, if its client hears that.
    letters: Option<Arc<Letters>>,
    engaged: Arc<Engaged>,
    giving_up: CancellationToken,
}

impl Underway {
    pub(crate) fn new(
        running: Running,
        session: Arc<Session>,
        held: Option<Held>,
        letters: Option<Arc<Letters>>,
        engaged: Arc<Engaged>,
        giving_up: CancellationToken,
    ) -> Self {
        Self { running: Some(running), session, held, letters, engaged, giving_up }
    }

    /// The answer, once.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        let Some(running) = &mut self.running else { return Poll::Pending };
        let answered = Pin::new(running).poll(cx);
        if answered.is_ready() {
            self.running = None;
        }
        answered
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        let (session, engaged, giving_up) =
            (self.session.clone(), self.engaged.clone(), self.giving_up.clone());
        let held = self.held.take();
        if let Some(letters) = &self.letters {
            letters.hang_up();
        }
        if held.is_none() {
            session.abandon();
        }
        // A tool that is taken back has a moment to wind down, and its end is recorded either way.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            tokio::select! {
                _ = &mut running => {}
                () = giving_up.cancelled() => {
                    session.abandon();
                    let _ = running.await;
                }
            }
            drop((engaged, held));
        });
    }
}
