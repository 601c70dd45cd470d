//! The answer on a stream of events: read until it comes, and taken up again where a server of the handshake's era lets
//! go of the stream before.

use std::time::Duration;

use tokio::task::consume_budget;
use tokio::time::sleep;

use super::body::{self, Kind};
use super::is_success;
use super::refusal::failed;
use super::way::Way;
use crate::upstream::events::{Event, Events};
use crate::upstream::flood::Flood;
use crate::upstream::heard::hear;
use crate::upstream::ports::{Reply, ReplyBody};
use crate::upstream::wire::{Answer, Ear, Letter, WireError};

/// How often a stream is taken up again for one letter.
const RESUMPTIONS: usize = 16;

/// How long is waited before that, where the server does not say.
const PAUSE: Duration = Duration::from_millis(500);

/// How long at most, whatever it says.
const LONGEST: Duration = Duration::from_secs(10);

/// Why a stream gave no answer.
enum Broken {
    /// It ended, or broke.
    Ended,
    /// What came was too long.
    TooLong,
    /// There was too much that nobody asked for.
    Flood,
}

/// Whoever reads the streams of a server.
pub(super) struct Reader<'a> {
    pub(super) way: &'a Way,
    pub(super) ear: &'a dyn Ear,
    /// The most bytes of one event.
    pub(super) limit: usize,
    pub(super) flood: &'a Flood,
}

impl Reader<'_> {
    /// Reads the answer to that letter.
    pub(super) async fn answer(&self, letter: &Letter, reply: Reply) -> Result<Answer, WireError> {
        let status = reply.status;
        let mut body = reply.body;
        let mut events = Events::new(self.limit);
        for _ in 0..=RESUMPTIONS {
            match self.until_answer(letter.id, &mut events, &mut body).await {
                Ok(answer) => {
                    body::let_go(body);
                    return Ok(answer);
                }
                Err(Broken::TooLong) => return Err(WireError::TooLarge(self.limit)),
                Err(Broken::Flood) => return Err(WireError::Lost(Flood::told().into())),
                Err(Broken::Ended) => {}
            }
            let Some(next) = resumed(self.way, &events).await else { break };
            body = next;
            events = events.anew();
        }
        Err(failed(status, format!("closed its stream without an answer to {}", letter.method)))
    }

    async fn until_answer(
        &self,
        id: Option<u64>,
        events: &mut Events,
        body: &mut Box<dyn ReplyBody>,
    ) -> Result<Answer, Broken> {
        while let Some(Ok(piece)) = body.next().await {
            events.feed(piece);
            while let Some(event) = events.take() {
                let Event::Whole { data, .. } = event else { return Err(Broken::TooLong) };
                let heard = hear(&data, self.ear, id);
                self.flood.add_all(heard.unasked);
                if heard.answer.is_none() && self.flood.is_too_much() {
                    return Err(Broken::Flood);
                }
                for answer in heard.back {
                    self.way.give_back(answer).await;
                }
                if let Some(answer) = heard.answer {
                    return Ok(answer);
                }
                // Many short events come with one piece, and others want their turn.
                consume_budget().await;
            }
            if events.is_too_long() {
                return Err(Broken::TooLong);
            }
        }
        Err(Broken::Ended)
    }
}

/// The stream once more, after the last event that came, where the server has named that event.
async fn resumed(way: &Way, events: &Events) -> Option<Box<dyn ReplyBody>> {
    let after = events.last_id().filter(|_| !way.is_modern())?;
    sleep(events.retry().unwrap_or(PAUSE).min(LONGEST)).await;
    let reply = way.get(Some(after)).await.ok()?.reply;
    (is_success(reply.status) && Kind::of(&reply) == Kind::Events).then_some(reply.body)
}
