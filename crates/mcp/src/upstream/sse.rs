//! A wire of the first revision's transport: one stream of events brings every answer, and letters are POSTs to the place
//! that its first event names. When the stream ends, the wire is lost.

mod endpoint;
mod greeting;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use covenant_model::server::Web;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, consume_budget};
use tokio::time::timeout;

use super::events::{Event, Events};
use super::flood::Flood;
use super::http::body;
use super::http::is_success;
use super::http::refusal::{self, Asked};
use super::http::way::{Passage, Way};
use super::inbound::{self, Inbound};
use super::pending::Pending;
use super::ports::{Courier, Later, ReplyBody};
use super::wire::{Answer, Ear, Letter, Wire, WireError};

/// How many answers to the server may wait to be sent. More are thrown away: who asks that fast does not read them.
const BACK: usize = 16;

/// POSTs to a server, and its stream. To drop it closes the stream.
pub struct SseWire {
    inside: Arc<Inside>,
    tasks: [AbortHandle; 2],
}

/// What the wire and its tasks share.
struct Inside {
    way: Way,
    ear: Arc<dyn Ear>,
    limit: usize,
    pending: Pending,
    flood: Flood,
    lost: watch::Sender<Option<Arc<str>>>,
}

impl SseWire {
    /// Opens the stream at that URL, and waits until it has named the place for messages.
    pub async fn open(
        courier: Arc<dyn Courier>,
        web: &Web,
        url: String,
        ear: Arc<dyn Ear>,
        limit: usize,
        within: Duration,
    ) -> Result<Arc<Self>, WireError> {
        let way = Way::new(courier, web, url);
        let opening = timeout(within, greeting::heard(&way, ear.as_ref(), limit)).await;
        let (place, events, stream) = opening.unwrap_or_else(|_| {
            let reason = format!("named no place for messages within {} s", within.as_secs_f32());
            Err(WireError::Failed { status: None, reason })
        })?;
        let inside = Arc::new(Inside {
            way: way.at(place),
            ear,
            limit,
            pending: Pending::default(),
            flood: Flood::default(),
            lost: watch::Sender::new(None),
        });
        let (sender, back) = mpsc::channel(BACK);
        let reading = tokio::spawn(Arc::clone(&inside).read(events, stream, sender)).abort_handle();
        let returning = tokio::spawn(give_back(Arc::clone(&inside), back)).abort_handle();
        Ok(Arc::new(Self { inside, tasks: [reading, returning] }))
    }

    async fn asked(&self, letter: &Letter) -> Result<Answer, WireError> {
        let Some(id) = letter.id else {
            let reason = format!("cannot answer {} without an id", letter.method);
            return Err(WireError::Failed { status: None, reason });
        };
        let mut answer = pin!(self.inside.pending.wait(id, false)?.answer());
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            posted = self.inside.post(letter) => if let Some(refused) = posted? {
                return Ok(refused);
            },
        }
        answer.await
    }

    fn end(&self, reason: &str) {
        for task in &self.tasks {
            task.abort();
        }
        self.inside.end(reason);
    }
}

/// Sends answers back, one after another: the stream is read meanwhile.
async fn give_back(inside: Arc<Inside>, mut back: mpsc::Receiver<Vec<u8>>) {
    while let Some(answer) = back.recv().await {
        inside.way.give_back(answer).await;
    }
}

impl Inside {
    /// Posts a letter. Comes back with an error of the protocol where the POST itself was answered with one.
    async fn post(&self, letter: &Letter) -> Result<Option<Answer>, WireError> {
        let Passage { reply, .. } = self.way.post(letter).await?;
        if is_success(reply.status) {
            body::let_go(reply.body);
            return Ok(None);
        }
        // The place for messages is the session, and it lives as long as the stream.
        let asked = Asked { method: letter.method, id: letter.id, url: self.way.url(), in_session: false };
        refusal::read(reply, &asked, self.ear.as_ref()).await.map(Some)
    }

    async fn read(
        self: Arc<Self>,
        mut events: Events,
        mut stream: Box<dyn ReplyBody>,
        back: mpsc::Sender<Vec<u8>>,
    ) {
        loop {
            while let Some(event) = events.take() {
                match event {
                    Event::Whole { kind, data } if kind == "message" => self.hear(&data, &back),
                    Event::Whole { .. } => self.flood.add(),
                    Event::TooLong => self.too_long(),
                }
                if self.flood.is_too_much() {
                    return self.end(&Flood::told());
                }
                // Many short events come with one piece, and others want their turn.
                consume_budget().await;
            }
            if events.is_endless() {
                return self.end("sent an event without an end");
            }
            match stream.next().await {
                Some(Ok(piece)) => events.feed(piece),
                Some(Err(_)) | None => return self.end("closed its stream"),
            }
        }
    }

    fn hear(&self, text: &[u8], back: &mpsc::Sender<Vec<u8>>) {
        let understood = inbound::each(text, |message| {
            let awaited = match message {
                Inbound::Answer(id, said) => self.pending.settle(id, || Ok(said.cut(self.ear.scrub()))),
                Inbound::Notification { method, params } => {
                    self.ear.notification(&method, params, None);
                    false
                }
                Inbound::Request { id, method, params } => {
                    drop(back.try_send(self.ear.request(&id, &method, params)));
                    false
                }
                Inbound::Stray => false,
            };
            if !awaited {
                self.flood.add();
            }
        });
        if !understood {
            self.flood.add();
        }
    }

    /// What was too long may have been anybody's answer. Where several wait, the one it was for finds out by itself.
    fn too_long(&self) {
        if let Some(id) = self.pending.only() {
            self.pending.settle(id, || Err(WireError::TooLarge(self.limit)));
        }
    }

    fn end(&self, reason: &str) {
        self.lost.send_if_modified(|lost| {
            let first = lost.is_none();
            if first {
                *lost = Some(reason.into());
            }
            first
        });
        self.pending.close(&reason.into());
    }
}

impl Wire for SseWire {
    fn ask<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<Answer, WireError>> {
        Box::pin(self.asked(letter))
    }

    fn tell<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<(), WireError>> {
        Box::pin(async {
            if let Some(reason) = self.inside.lost.borrow().clone() {
                return Err(WireError::Lost(reason));
            }
            match self.inside.post(letter).await? {
                Some(Answer::Error(error)) => {
                    Err(WireError::Failed { status: None, reason: format!("{error} to {}", letter.method) })
                }
                Some(Answer::Result(_)) | None => Ok(()),
            }
        })
    }

    fn agreed(&self, revision: &str, modern: bool) {
        self.inside.way.agree(revision, modern);
    }

    fn lost(&self) -> Later<'_, Arc<str>> {
        let mut lost = self.inside.lost.subscribe();
        Box::pin(async move {
            let reason = lost.wait_for(Option::is_some).await;
            reason.map(|reason| reason.clone().unwrap_or_default()).unwrap_or_default()
        })
    }

    fn transport(&self) -> &'static str {
        "sse"
    }

    fn close(&self) -> Later<'_, ()> {
        Box::pin(async { self.end("was let go") })
    }
}

impl Drop for SseWire {
    fn drop(&mut self) {
        self.end("was let go");
    }
}

#[cfg(test)]
mod tests;
