//! What comes back on a request: one document, or events until the answer is among them. What else is said there goes to
//! the client as it comes.

use std::future::Future;
use std::sync::Arc;

use tokio::task::consume_budget;
use tokio::time::timeout;

use super::MESSAGE;
use super::exchange::Desk;
use super::refused::refused;
use super::room::{Held, Load};
use super::session::Open;
use super::sorting::{Message, messages};
use super::trouble::Trouble;
use crate::message::Id;
use crate::upstream::events::{Event, Events};
use crate::upstream::http::body::{self, Kind};
use crate::upstream::http::is_success;
use crate::upstream::ports::{Reply, ReplyBody};

/// The most characters of a content type in a sentence.
const NAME: usize = 64;

/// Whoever reads the answer to one request.
pub(super) struct Reading<'a> {
    pub(super) desk: &'a Arc<Desk>,
    pub(super) id: &'a Id,
    /// It is answered only when it ends, such as a subscription: silence is no sign of anything.
    pub(super) lasting: bool,
}

impl Reading<'_> {
    /// The answer, from the head on. `session` is the one it was asked in.
    pub(super) async fn answer(&self, reply: Reply, session: Option<&Open>) -> Result<Load, Trouble> {
        let status = reply.status;
        if !is_success(status) {
            return Err(refused(reply, self.id, session, &self.desk.road).await);
        }
        match Kind::of(&reply) {
            Kind::Json => self.document(reply).await,
            Kind::Events => self.events(reply.body).await,
            Kind::Other(name) => {
                body::let_go(reply.body);
                Err(Trouble::Foreign(status, self.desk.road.scrub.quoted(&name, NAME)))
            }
        }
    }

    async fn document(&self, reply: Reply) -> Result<Load, Trouble> {
        let status = reply.status;
        let (bytes, held) = self.whole(reply.body).await?;
        let Some(messages) = messages(&bytes, Some(self.id)) else {
            let what = if bytes.trim_ascii().is_empty() { "nothing" } else { "no JSON" };
            return Err(Trouble::Foreign(status, what.to_owned()));
        };
        let mut answer = None;
        for message in messages {
            match message {
                Message::Answer(line) => answer = answer.or(Some(Ok(line))),
                Message::Nameless(error) => answer = answer.or(Some(Err(Trouble::Error(error)))),
                Message::Said(line) => self.desk.pass(line).await?,
            }
        }
        let line = answer.unwrap_or_else(|| Err(stray(status, &bytes)))?;
        Ok(Load::held(line, held))
    }

    async fn whole(&self, mut body: Box<dyn ReplyBody>) -> Result<(Vec<u8>, Held), Trouble> {
        let (mut bytes, mut held) = (Vec::new(), self.desk.road.room.hold());
        while let Some(piece) = self.in_time(body.next()).await? {
            let piece = piece.map_err(Trouble::BrokenOff)?;
            if bytes.len() + piece.len() > MESSAGE {
                return Err(Trouble::TooLarge(MESSAGE));
            }
            if !held.grow(piece.len()) {
                return Err(Trouble::Crowded);
            }
            bytes.extend_from_slice(&piece);
        }
        Ok((bytes, held))
    }

    /// Reads events until the answer is among them. Whatever comes shows that the origin is alive.
    async fn events(&self, mut body: Box<dyn ReplyBody>) -> Result<Load, Trouble> {
        let (mut events, mut held) = (Events::new(MESSAGE), self.desk.road.room.hold());
        while let Some(piece) = self.in_time(body.next()).await? {
            let piece = piece.map_err(Trouble::BrokenOff)?;
            if !held.grow(piece.len()) {
                return Err(Trouble::Crowded);
            }
            events.feed(piece);
            while let Some(event) = events.take() {
                let Event::Whole { data, .. } = event else { return Err(Trouble::TooLarge(MESSAGE)) };
                for message in messages(&data, Some(self.id)).unwrap_or_default() {
                    match message {
                        Message::Answer(line) => {
                            body::let_go(body);
                            return Ok(Load::held(line, held));
                        }
                        Message::Nameless(error) => return Err(Trouble::Error(error)),
                        Message::Said(line) => self.desk.pass(line).await?,
                    }
                }
                held.release();
                // Many short events come with one piece, and others want their turn.
                consume_budget().await;
            }
            if events.is_too_long() {
                return Err(Trouble::TooLarge(MESSAGE));
            }
        }
        Err(Trouble::BrokenOff("closed its stream before it answered".to_owned()))
    }

    async fn in_time<T>(&self, next: impl Future<Output = T>) -> Result<T, Trouble> {
        let patience = self.desk.road.patience;
        if self.lasting {
            return Ok(next.await);
        }
        timeout(patience, next).await.map_err(|_| Trouble::Hung(patience))
    }
}

/// JSON that answers nobody: an answer of the team's tools without a protocol around it, or nothing we know.
fn stray(status: u16, bytes: &[u8]) -> Trouble {
    match super::refused::enveloped(bytes) {
        Some(envelope) => Trouble::Enveloped(envelope, true),
        None => Trouble::Foreign(status, "JSON that is no answer to what was asked".to_owned()),
    }
}
