//! Who is sent away and who is not.

use std::time::Duration;

use super::*;
use crate::shutdown::Stop;

/// The only seat of a room, and the daemon it belongs to.
pub(in crate::http) async fn seat() -> (Arc<Seat>, Stop) {
    let stop = Stop::new(Duration::ZERO);
    let seat = Seats::new(1).take(stop.begin().unwrap()).await;
    (seat, stop)
}

/// A room, and a way in.
struct Hall {
    seats: Arc<Seats>,
    stop: Stop,
}

impl Hall {
    fn new(most: usize) -> Self {
        Self { seats: Seats::new(most), stop: Stop::new(Duration::ZERO) }
    }

    async fn enter(&self) -> Arc<Seat> {
        self.seats.take(self.stop.begin().unwrap()).await
    }

    /// Whether a newcomer gets in without anyone doing anything.
    async fn has_room(&self) -> bool {
        tokio::time::timeout(Duration::from_secs(1), self.enter()).await.is_ok()
    }
}

/// What a connection's task does when it is sent away.
fn leaves_when_told(seat: Arc<Seat>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move { seat.sent_away().await })
}

#[tokio::test(start_paused = true)]
async fn whoever_has_been_idle_longest_goes_first() {
    let hall = Hall::new(3);
    let (first, second, third) = (hall.enter().await, hall.enter().await, hall.enter().await);
    // The first one is answered, and idle again: now the second has been idle longest.
    drop(first.engage().unwrap());
    first.settle();
    let told: Vec<_> = [first, second, third].into_iter().map(leaves_when_told).collect();
    let _fourth = hall.enter().await;
    tokio::task::yield_now().await;
    assert_eq!(
        told.iter().map(tokio::task::JoinHandle::is_finished).collect::<Vec<_>>(),
        [false, true, false]
    );
    let _fifth = hall.enter().await;
    tokio::task::yield_now().await;
    assert_eq!(
        told.iter().map(tokio::task::JoinHandle::is_finished).collect::<Vec<_>>(),
        [false, true, true]
    );
}

#[tokio::test(start_paused = true)]
async fn one_who_is_answered_stays_and_the_newcomer_waits() {
    let hall = Hall::new(1);
    let seat = hall.enter().await;
    let engaged = seat.engage().unwrap();
    seat.settle();
    assert!(!hall.has_room().await, "an answer is in the making");
    drop(engaged);
    seat.set_stalled(true);
    seat.settle();
    assert!(!hall.has_room().await, "the answer has not left");
    seat.set_stalled(false);
    let newcomer = hall.enter();
    let left = leaves_when_told(Arc::clone(&seat));
    let idle = async {
        tokio::task::yield_now().await;
        seat.settle();
        left.await.unwrap();
        drop(seat);
    };
    let (newcomer, ()) = tokio::join!(newcomer, idle);
    drop(newcomer);
}

#[tokio::test(start_paused = true)]
async fn one_who_was_sent_away_begins_nothing_more() {
    let hall = Hall::new(1);
    let seat = hall.enter().await;
    assert!(!hall.has_room().await, "it has not gone yet");
    assert!(seat.engage().is_none(), "and must");
    drop(seat);
    assert!(hall.has_room().await);
}

#[tokio::test(start_paused = true)]
async fn what_became_of_a_connection_keeps_its_seat() {
    let hall = Hall::new(1);
    let seat = hall.enter().await;
    let conversation = seat.engage().unwrap();
    seat.settle();
    drop(seat);
    assert!(!hall.has_room().await);
    drop(conversation);
    assert!(hall.has_room().await);
}

#[tokio::test(start_paused = true)]
async fn of_two_answers_at_once_the_end_of_one_is_not_the_end() {
    let hall = Hall::new(1);
    let seat = hall.enter().await;
    let (one, two) = (seat.engage().unwrap(), seat.engage().unwrap());
    drop(one);
    seat.settle();
    assert!(!seat.is_quiet() && !hall.has_room().await);
    drop(two);
    assert!(seat.is_quiet());
}

#[tokio::test]
async fn ten_thousand_come_and_as_many_as_there_are_seats_stay() {
    let hall = Hall::new(64);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..10_000 {
        let seat = hall.enter().await;
        tasks.spawn(async move { seat.sent_away().await });
    }
    while tasks.len() > 64 {
        tasks.join_next().await.unwrap().unwrap();
    }
    let room = hall.seats.room.lock();
    assert_eq!((room.sitting.len(), room.free.len()), (64, 0));
}
