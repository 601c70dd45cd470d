//! A connection that wakes itself goes on at once, instead of queueing up behind itself.
//!
//! HTTP hands a body to whoever reads it by a channel within one task, so every request wakes its own task while it
//! runs. To the runtime that is work another thread might help with: it wakes one, which takes the task to another core.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// How often in a row it goes on before others have their turn.
const ROUNDS: usize = 16;

/// Wakes its task, unless the task is running: then it goes on by itself.
#[derive(Default)]
struct Own {
    task: AtomicWaker,
    running: AtomicBool,
    again: AtomicBool,
}

impl Wake for Own {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.again.store(true, Ordering::SeqCst);
        // Whoever runs looks at `again` after it has said that it no longer runs: one of the two sees the other.
        if !self.running.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}

/// Polls a future, and again if it was woken meanwhile.
pub(super) struct Eager {
    own: Arc<Own>,
    waker: Waker,
}

impl Eager {
    pub(super) fn new() -> Self {
        let own = Arc::<Own>::default();
        Self { waker: Waker::from(own.clone()), own }
    }

    pub(super) fn poll<F: Future>(&self, mut future: Pin<&mut F>, cx: &Context<'_>) -> Poll<F::Output> {
        self.own.task.register(cx.waker());
        let mut inner = Context::from_waker(&self.waker);
        for _ in 0..ROUNDS {
            self.own.running.store(true, Ordering::SeqCst);
            self.own.again.store(false, Ordering::SeqCst);
            let polled = future.as_mut().poll(&mut inner);
            self.own.running.store(false, Ordering::SeqCst);
            if polled.is_ready() || !self.own.again.load(Ordering::SeqCst) {
                return polled;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn woken_by(future: impl Future<Output = ()>) -> (Poll<()>, usize) {
        let count = Arc::<Count>::default();
        let waker = Waker::from(count.clone());
        let polled = Eager::new().poll(pin!(future), &Context::from_waker(&waker));
        (polled, count.0.load(Ordering::SeqCst))
    }

    #[test]
    fn a_future_that_wakes_itself_goes_on_without_its_task() {
        let mut left = 3;
        let future = poll_fn(|cx| {
            left -= 1;
            cx.waker().wake_by_ref();
            if left == 0 { Poll::Ready(()) } else { Poll::Pending }
        });
        assert_eq!(woken_by(future), (Poll::Ready(()), 0));
    }

    #[test]
    fn one_that_never_rests_lets_others_have_their_turn() {
        let mut polls = 0;
        let future = poll_fn(|cx| {
            polls += 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        assert_eq!(woken_by(future), (Poll::Pending, 1));
        assert_eq!(polls, ROUNDS);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_wake_from_another_thread_is_never_lost() {
        for round in 0..2000 {
            let (tell, told) = tokio::sync::oneshot::channel();
            std::thread::scope(|scope| {
                scope.spawn(move || tell.send(round));
            });
            let eager = Eager::new();
            let mut told = pin!(told);
            assert_eq!(poll_fn(|cx| eager.poll(told.as_mut(), cx)).await, Ok(round));
            let (tell, told) = tokio::sync::oneshot::channel();
            let teller = tokio::spawn(async move { tell.send(round) });
            let mut told = pin!(told);
            assert_eq!(poll_fn(|cx| eager.poll(told.as_mut(), cx)).await, Ok(round));
            teller.await.unwrap().unwrap();
        }
    }
}
