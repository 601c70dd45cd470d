//! The stream of what belongs to no request, in the handshake's era: what comes on it goes to the client, and it is opened
//! again where it ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::consume_budget;
use tokio::time::sleep;

use super::MESSAGE;
use super::exchange::Desk;
use super::session::Open;
use super::sorting::{Message, messages};
use crate::upstream::events::{Event, Events};
use crate::upstream::http::body::Kind;
use crate::upstream::http::is_success;
use crate::upstream::ports::{Later, ReplyBody};

/// How long is waited before a stream that ended is opened again; twice as long each time it could not be.
const SHORTEST: Duration = Duration::from_secs(1);

/// How long at most.
const RARELY: Duration = Duration::from_secs(30);

/// Listens as long as the session is used, or until the origin says that there is nothing to hear.
pub(super) fn listen(desk: Arc<Desk>, open: Arc<Open>) -> Later<'static, ()> {
    Box::pin(async move {
        let lost = tokio::select! {
            () = open.over.cancelled() => false,
            lost = attend(&desk, &open) => lost,
        };
        if lost {
            // A client that only listens would never ask for another. Where that fails, the next request tries again,
            // and is told why.
            desk.sessions.forget(&open).await;
            drop(desk.sessions.current(&desk).await);
        }
    })
}

/// Whether the origin does not know the session any more.
async fn attend(desk: &Desk, open: &Open) -> bool {
    let (mut failures, mut heard) = (0_u32, false);
    loop {
        match desk.road.listen(open).await {
            Ok(reply) if is_success(reply.status) && Kind::of(&reply) == Kind::Events => {
                (failures, heard) = (0, true);
                read(desk, reply.body).await;
            }
            // An origin that had such a stream has one, and so it is the session that it does not find.
            Ok(reply) if reply.status == 404 && heard => return true,
            Ok(reply) if reply.status >= 500 => failures = failures.saturating_add(1),
            // Many have none, and say so in one way or another.
            Ok(_) => return false,
            Err(_) => failures = failures.saturating_add(1),
        }
        sleep(pause(failures)).await;
    }
}

fn pause(failures: u32) -> Duration {
    SHORTEST.saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX)).min(RARELY)
}

async fn read(desk: &Desk, mut body: Box<dyn ReplyBody>) {
    let mut events = Events::new(MESSAGE);
    let mut held = desk.road.room.hold();
    while let Some(Ok(piece)) = body.next().await {
        if !held.grow(piece.len()) {
            return;
        }
        events.feed(piece);
        while let Some(event) = events.take() {
            let Event::Whole { data, .. } = event else { continue };
            for message in messages(&data, None).unwrap_or_default() {
                if let Message::Said(line) = message
                    && desk.pass(line).await.is_err()
                {
                    return;
                }
            }
            held.release();
            consume_budget().await;
        }
        if events.is_too_long() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_cannot_be_opened_is_tried_ever_more_rarely() {
        assert_eq!([0, 1, 3, 9, u32::MAX].map(|failures| pause(failures).as_secs()), [1, 2, 8, 30, 30]);
    }
}
