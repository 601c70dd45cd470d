//! What may be done when: pure functions, tried by tables. None of them reads a clock.

pub mod lease;
pub mod next;
pub mod parallel;
pub mod privacy;
pub mod stale;
pub mod start;
pub mod step;
pub mod verdict;
