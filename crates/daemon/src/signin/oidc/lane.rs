//! Who takes a code to the provider now: a few at a time, the others in a line. Whoever fails keeps their place a moment longer,
//! so that made-up codes come slowly to the provider and still keep nobody out who has a good one.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::trouble::Trouble;

/// How many are at the provider at a time.
const PLACES: usize = 4;

/// How much longer a place is kept by who failed. With [`PLACES`] it is how often codes may fail: the provider takes us for the
/// one who tries.
const LONGER: Duration = Duration::from_secs(1);

/// How many wait at a time, and how long each.
const LINE: usize = 64;
const PATIENCE: Duration = Duration::from_secs(15);

/// The places, and the line for them: who came first is first.
pub(super) struct Lane {
    places: Arc<Semaphore>,
    line: Semaphore,
}

/// A place. Unless it is let go, it counts as that of somebody who failed: also of who hung up meanwhile.
pub(super) struct Place(Option<OwnedSemaphorePermit>);

impl Default for Lane {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(PLACES)), line: Semaphore::new(LINE) }
    }
}

impl Lane {
    /// Waits for a place.
    pub(super) async fn place(&self) -> Result<Place, Trouble> {
        let _waiting = self.line.try_acquire().map_err(|_| Trouble::Busy)?;
        match timeout(PATIENCE, Arc::clone(&self.places).acquire_owned()).await {
            Ok(Ok(place)) => Ok(Place(Some(place))),
            Ok(Err(_)) | Err(_) => Err(Trouble::Busy),
        }
    }
}

impl Place {
    /// Leaves it to the next at once: it went well.
    pub(super) fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Without a runtime the daemon is over, and nobody waits.
        if let Some(place) = self.0.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move {
                sleep(LONGER).await;
                drop(place);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_fails_again_and_again_comes_slowly_to_the_provider_and_keeps_nobody_out() {
        let lane = Lane::default();
        let began = Instant::now();
        for _ in 0..100 * PLACES {
            drop(lane.place().await.unwrap());
        }
        let took = began.elapsed();
        assert!(took >= LONGER * 99 && took <= LONGER * 101, "{took:?}");
        let came = Instant::now();
        lane.place().await.unwrap().let_go();
        assert!(came.elapsed() <= LONGER, "{:?}", came.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn who_succeeds_leaves_the_place_at_once() {
        let (lane, began) = (Lane::default(), Instant::now());
        for _ in 0..1000 {
            lane.place().await.unwrap().let_go();
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_line_is_bounded_and_nobody_stands_in_it_for_ever() {
        let lane = Arc::new(Lane::default());
        let mut held = Vec::new();
        for _ in 0..PLACES {
            held.push(lane.place().await.unwrap());
        }
        let waits = (0..LINE).map(|_| {
            let lane = Arc::clone(&lane);
            tokio::spawn(async move { lane.place().await.err() })
        });
        let waits: Vec<_> = waits.collect();
        tokio::task::yield_now().await;
        assert_eq!(lane.place().await.err(), Some(Trouble::Busy), "the line is full");
        for wait in waits {
            assert_eq!(wait.await.unwrap(), Some(Trouble::Busy), "nobody left in time");
        }
        held.pop().unwrap().let_go();
        assert!(lane.place().await.is_ok());
    }
}
