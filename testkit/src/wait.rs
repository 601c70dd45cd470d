//! Waiting for a condition, with an end.

use std::time::{Duration, Instant};

/// The longest any condition may take to come true; slow machines get ten times what fast ones need.
pub const LONG: Duration = Duration::from_mins(1);

/// Asks again and again until there is an answer; stops the test after [`LONG`].
///
/// # Panics
/// If the condition never comes true.
#[track_caller]
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LONG;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "waited {LONG:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
