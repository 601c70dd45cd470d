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

impl Seats {
    /// How often anyone went from one line to another.
    pub(in crate::http) fn moves(&self) -> usize {
        self.room.lock().moves
    }
}

impl Seat {
    pub(in crate::http) fn is_stalled(&self) -> bool {
        self.stalled.load(SeqCst)
    }
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
        tokio::time::timeout(GOING / 2, self.enter()).await.is_ok()
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
async fn where_nobody_is_idle_whoever_kept_us_waiting_longest_goes() {
    let hall = Hall::new(4);
    let (worker, sender, reader, idle) =
        (hall.enter().await, hall.enter().await, hall.enter().await, hall.enter().await);
    let (_answer, asked, _unread) =
        (worker.engage().unwrap(), sender.engage().unwrap(), reader.engage().unwrap());
    reader.set_stalled(true);
    reader.settle();
    let request = asked.awaits();
    sender.settle();
    // To take a little, and stop again, does not make it shorter.
    reader.set_stalled(false);
    reader.set_stalled(true);
    reader.settle();
    let told = |seat: &Arc<Seat>| seat.sent_away.is_cancelled();
    let all = [&worker, &sender, &reader, &idle];
    // Nobody goes here, though told to: the next newcomer asks another.
    for told_by_then in [
        [false, false, false, true],
        [false, false, true, true],
        [false, true, true, true],
        [false, true, true, true],
    ] {
        assert!(!hall.has_room().await);
        assert_eq!(all.map(told), told_by_then);
    }
    assert!(!request.over(), "what comes after that is not begun");
    sender.settle();
    reader.set_stalled(false);
    reader.settle();
    let room = hall.seats.room.lock();
    assert_eq!((room.idle.first(), room.waited_for.first()), (None, None), "nor do they stand in line again");
}

#[tokio::test(start_paused = true)]
async fn one_who_does_not_go_does_not_hold_the_newcomer_up() {
    let hall = Hall::new(2);
    let (stays, goes) = (hall.enter().await, hall.enter().await);
    let left = leaves_when_told(goes);
    let newcomer = tokio::time::timeout(GOING * 2, hall.enter()).await;
    assert!(newcomer.is_ok() && left.is_finished() && stays.sent_away.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn one_who_has_sent_or_taken_everything_keeps_nobody_waiting() {
    let hall = Hall::new(1);
    let seat = hall.enter().await;
    let engaged = seat.engage().unwrap();
    let request = engaged.awaits();
    seat.settle();
    assert!(!seat.is_engaged(), "it is not answered yet");
    // Whoever reads it may be another task: the connection's own is not there to settle.
    assert!(request.over() && seat.is_engaged());
    assert!(!hall.has_room().await && !seat.sent_away.is_cancelled());
    seat.set_stalled(true);
    seat.settle();
    seat.set_stalled(false);
    seat.settle();
    assert!(!hall.has_room().await && !seat.sent_away.is_cancelled());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_settle_at_once_agree_in_the_end() {
    let hall = Hall::new(1);
    let seat = hall.enter().await;
    let engaged = seat.engage().unwrap();
    for round in 0..2000 {
        let request = engaged.awaits();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                seat.set_stalled(round % 2 == 0);
                seat.settle();
            });
            assert!(request.over());
        });
        assert_eq!(seat.stand.load(SeqCst), seat.belongs() as u8);
        let room = hall.seats.room.lock();
        let stands = if round % 2 == 0 { Some(0) } else { None };
        assert_eq!((room.idle.first(), room.waited_for.first()), (None, stands));
    }
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
    assert!(seat.is_engaged() && !hall.has_room().await);
    drop(two);
    assert!(!seat.is_engaged());
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
