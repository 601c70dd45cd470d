//! Whether there are files enough for one more program: what the daemon itself opens must not fail because of servers.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, getrlimit};

use crate::metrics::process::open_files;

/// How many files are kept for everything else; less where there are few.
const RESERVE: usize = 128;

/// How many one program may need while it is being started.
const EACH: usize = 8;

/// Counts the programs that are being started.
#[derive(Default)]
pub(super) struct Room(AtomicUsize);

/// One that is being started, until this is dropped.
pub(super) struct Place<'a>(&'a AtomicUsize);

impl Room {
    /// Room for one more; otherwise a clause that says why there is none.
    pub(super) fn enter(&self) -> Result<Place<'_>, String> {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        let place = Place(&self.0);
        let most = getrlimit(Resource::Nofile).current.and_then(|most| usize::try_from(most).ok());
        if let (Some(open), Some(most)) = (open_files(), most) {
            judge(open, before, most)?;
        }
        Ok(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn judge(open: usize, starting: usize, most: usize) -> Result<(), String> {
    let needed = starting.saturating_add(1).saturating_mul(EACH);
    if open.saturating_add(needed).saturating_add(RESERVE.min(most / 4)) <= most {
        return Ok(());
    }
    Err(format!(
        "the daemon has {open} of {most} files open, and the rest is kept for calls; start it with a higher limit \
         (`ulimit -n`), or run fewer servers"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_files_are_kept_for_everything_else() {
        for (open, starting, most, fits) in [
            (20, 0, 1024, true),
            (888, 0, 1024, true),
            (889, 0, 1024, false),
            (20, 108, 1024, true),
            (20, 109, 1024, false),
            (20, 0, 64, true),
        ] {
            let judged = judge(open, starting, most);
            assert_eq!(judged.is_ok(), fits, "{open} {starting} {most}: {judged:?}");
        }
    }

    #[test]
    fn a_place_is_given_back() {
        let room = Room::default();
        drop(room.enter().unwrap());
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
    }
}
