//! Keeps the processors from sleeping while latencies are measured.
//!
//! A core that has nothing to do sleeps, and a virtual one takes tens of microseconds to wake: more than anything that
//! is measured here. Threads that want nothing and yield to everyone keep each awake, for all that is compared alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The processors are awake as long as this is there.
pub struct Awake(Arc<AtomicBool>);

impl Awake {
    /// Begins.
    pub fn new() -> Self {
        let done = Arc::new(AtomicBool::new(false));
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let done = done.clone();
            std::thread::spawn(move || {
                // On Linux this is the nice value of one thread. Where it cannot be had, it would only disturb.
                if rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19).is_ok() {
                    while !done.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            });
        }
        Self(done)
    }
}

impl Default for Awake {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
