//! The stream of what belongs to no request, in the handshake's era. A server need not have one, and is then left alone.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::consume_budget;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::body::Kind;
use super::is_success;
use super::way::{Passage, Way};
use crate::upstream::events::{Event, Events};
use crate::upstream::flood::Flood;
use crate::upstream::heard::hear;
use crate::upstream::ports::ReplyBody;
use crate::upstream::wire::Ear;

/// How long is waited before a stream that ended is opened again; twice as long each time nothing came on it.
const SHORTEST: Duration = Duration::from_secs(1);

/// How long at most, whatever the server says.
const LONGEST: Duration = Duration::from_secs(30);

/// Listens until the server says that there is nothing to hear, or whoever began it ends it. Where it says that it does
/// not know our session any more, that is passed on.
pub(super) async fn listen(
    way: Arc<Way>,
    ear: Arc<dyn Ear>,
    limit: usize,
    flood: Arc<Flood>,
    forgotten: CancellationToken,
) {
    let mut events = Events::new(limit);
    let (mut quiet, mut opened) = (0_u32, false);
    loop {
        match way.get(events.last_id()).await {
            Ok(Passage { reply, .. }) if is_success(reply.status) && Kind::of(&reply) == Kind::Events => {
                opened = true;
                match read(&way, ear.as_ref(), &flood, &mut events, reply.body).await {
                    Came::Something => quiet = 0,
                    Came::Nothing => quiet = quiet.saturating_add(1),
                    Came::Flood => return,
                }
                events = events.anew();
            }
            // A server that had such a stream has one, and so it is the session that it does not find.
            Ok(Passage { reply, session: Some(session) }) if opened && reply.status == 404 => {
                if way.spend(&session) {
                    forgotten.cancel();
                }
                return;
            }
            // Most servers have none, and say so in one way or another.
            Ok(_) => return,
            Err(_) => quiet = quiet.saturating_add(1),
        }
        sleep(pause(events.retry(), quiet)).await;
    }
}

fn pause(wanted: Option<Duration>, quiet: u32) -> Duration {
    let doubled = 1_u32.checked_shl(quiet).unwrap_or(u32::MAX);
    let own = SHORTEST.saturating_mul(doubled);
    wanted.map_or(own, |wanted| wanted.max(if quiet > 0 { own } else { SHORTEST / 10 })).min(LONGEST)
}

/// What came on a stream until its end.
enum Came {
    Something,
    Nothing,
    /// More than is listened to: an event without an end, or very many.
    Flood,
}

async fn read(
    way: &Way,
    ear: &dyn Ear,
    flood: &Flood,
    events: &mut Events,
    mut body: Box<dyn ReplyBody>,
) -> Came {
    let mut came = Came::Nothing;
    while let Some(Ok(piece)) = body.next().await {
        events.feed(piece);
        while let Some(event) = events.take() {
            came = Came::Something;
            let Event::Whole { data, .. } = event else { continue };
            let heard = hear(&data, ear, None);
            flood.add_all(heard.unasked);
            if flood.is_too_much() {
                return Came::Flood;
            }
            for answer in heard.back {
                way.give_back(answer).await;
            }
            // Many short events come with one piece, and others want their turn.
            consume_budget().await;
        }
        if events.is_endless() {
            return Came::Flood;
        }
    }
    came
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_brings_nothing_is_opened_ever_more_rarely() {
        let millis = Duration::from_millis;
        assert_eq!(pause(None, 0), millis(1000));
        assert_eq!(pause(None, 3), millis(8000));
        assert_eq!(pause(None, u32::MAX), LONGEST);
        assert_eq!(pause(Some(millis(250)), 0), millis(250));
        assert_eq!(pause(Some(millis(0)), 0), millis(100), "a server cannot make us spin");
        assert_eq!(pause(Some(millis(0)), 2), millis(4000));
        assert_eq!(pause(Some(Duration::MAX), 0), LONGEST);
    }
}
