//! How many scripts run at once: so many in all, whichever tool runs them, and of one caller at most half of that, so that
//! nobody waits because of one other alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use covenant_model::principal::Principal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many run at once; the others wait. Those that a script runs in turn are not counted, or they would wait for each
/// other.
const AT_ONCE: usize = 8;

/// How many of them are one caller's.
const EACH: usize = AT_ONCE / 2;

/// Room for scripts. One for all tools that run them, and for as long as the daemon runs.
#[derive(Debug)]
pub struct Slots {
    all: Arc<Semaphore>,
    /// Of the callers whose scripts run or wait.
    callers: Mutex<BTreeMap<Principal, Weak<Semaphore>>>,
}

/// Room for one script, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _all: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

impl Default for Slots {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(AT_ONCE)), callers: Mutex::default() }
    }
}

impl Slots {
    /// Waits for room. The caller's own first: who has too much at work does not stand in the line of all.
    pub(crate) async fn take(&self, caller: Option<&Principal>) -> Option<Slot> {
        let own = match caller {
            Some(caller) => Some(self.of(caller).acquire_owned().await.ok()?),
            None => None,
        };
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Slot { _all: all, _own: own })
    }

    fn of(&self, caller: &Principal) -> Arc<Semaphore> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = callers.get(caller).and_then(Weak::upgrade) {
            return own;
        }
        callers.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(EACH));
        callers.insert(caller.clone(), Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The slot, where nobody must wait for it.
    fn now(slots: &Slots, caller: &Principal) -> Option<Slot> {
        match std::pin::pin!(slots.take(Some(caller))).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(slot) => slot,
            Poll::Pending => None,
        }
    }

    #[test]
    fn one_caller_holds_half_and_all_hold_all() {
        let slots = Slots::default();
        let [ada, bob, eve]: [Principal; 3] =
            ["client:ada", "client:bob", "client:eve"].map(|name| name.parse().unwrap());
        let all = |caller| std::iter::from_fn(|| now(&slots, caller)).take(AT_ONCE).collect::<Vec<_>>();
        let of_ada = all(&ada);
        assert_eq!(of_ada.len(), EACH, "the others have room");
        let of_bob = all(&bob);
        assert_eq!(of_bob.len(), EACH);
        assert!(now(&slots, &eve).is_none(), "there is no more");
        drop(of_ada);
        assert_eq!(all(&eve).len(), EACH);
        assert_eq!(slots.callers.lock().unwrap().len(), 2, "who has left is forgotten");
    }

    #[test]
    fn who_waits_for_their_own_does_not_stand_before_others() {
        let slots = Slots::default();
        let [ada, bob]: [Principal; 2] = ["client:ada", "client:bob"].map(|name| name.parse().unwrap());
        let _held: Vec<_> = (0..EACH).map(|_| now(&slots, &ada).unwrap()).collect();
        let mut waiting: Vec<_> = (0..AT_ONCE).map(|_| Box::pin(slots.take(Some(&ada)))).collect();
        for wait in &mut waiting {
            assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert!(now(&slots, &bob).is_some());
    }
}
