//! While a server is awaited: a person is told so when it takes longer than a moment.

use std::sync::mpsc;
use std::time::Duration;

use crate::print;
use crate::setting::Setting;

/// How long nothing is said.
const MOMENT: Duration = Duration::from_secs(2);

/// Does the work, which waits for a server to answer; `limit` is how long that may take, where it is known.
pub(super) fn wait<T>(setting: &Setting, name: &str, limit: &str, work: impl FnOnce() -> T) -> T {
    // A program reads standard error as one line of JSON.
    if setting.json() {
        return work();
    }
    told_after(MOMENT, || print::note(&sentence(name, limit)), work)
}

fn sentence(name: &str, limit: &str) -> String {
    format!("waiting for {} to answer{limit} …", print::escape(name))
}

/// Does the work, and says something once where it takes longer.
fn told_after<T>(moment: Duration, say: impl FnOnce() + Send, work: impl FnOnce() -> T) -> T {
    let (done, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(moment) == Err(mpsc::RecvTimeoutError::Timeout) {
                say();
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_longer_than_a_moment_is_told_once_while_it_goes_on() {
        let (told, heard) = mpsc::channel();
        let say = move || told.send(()).unwrap();
        // It ends only when it has been told.
        told_after(Duration::ZERO, say, || heard.recv().unwrap());
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn work_that_is_done_at_once_is_not_told() {
        let (told, heard) = mpsc::channel();
        assert_eq!(told_after(Duration::from_mins(1), move || told.send(()).unwrap(), || 7), 7);
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn the_server_and_the_limit_are_named() {
        assert_eq!(sentence("time", ", up to 30 s"), "waiting for time to answer, up to 30 s …");
    }
}
