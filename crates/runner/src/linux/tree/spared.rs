//! Whom we never signal, whatever a record or a mark says: ourselves, everyone we are below, and the first process.
//!
//! A daemon can be started from within what an earlier one left behind. To end what it is below would end the daemon,
//! and with it all that is not of that run.

use std::collections::HashSet;

use rustix::process::{Pid, getpid};

use super::process::ancestors;

/// Those processes. Whoever loses a parent gets one that was above it before, so they hold for the time of one look.
#[derive(Debug)]
pub(crate) struct Spared(HashSet<Pid>);

impl Spared {
    /// Those of this moment.
    pub(crate) fn now() -> Self {
        let own = getpid();
        Self([own, Pid::INIT].into_iter().chain(ancestors(own)).collect())
    }

    /// Whether this is one of them.
    pub(crate) fn has(&self, pid: Pid) -> bool {
        self.0.contains(&pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::alone::{end, shell};

    #[test]
    fn we_and_those_above_us_are_spared_and_our_children_are_not() {
        let child = shell("exec sleep 60", &[]);
        let spared = Spared::now();
        let parent = rustix::process::getppid().unwrap();
        assert!([getpid(), parent, Pid::INIT].into_iter().all(|pid| spared.has(pid)));
        assert!(!spared.has(Pid::from_child(&child)));
        end(child);
    }
}
