//! Someone who swaps a directory for a link to the outside, again and again, while it is being used.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{RenameFlags, renameat_with};

use super::*;

/// How often each outcome must have been seen.
const ENOUGH: usize = 300;

#[test]
fn a_directory_swapped_for_a_link_is_used_or_refused_and_never_followed() {
    let world = World::new();
    fs::create_dir(world.inside().join("dir")).unwrap();
    fs::write(world.inside().join("dir/secret.txt"), "inside").unwrap();
    let before = world.surroundings();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (a, b) = (world.inside().join("dir"), world.inside().join("out"));
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            world.roots().iter().for_each(use_until_both_were_seen);
        }));
        over.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    assert_eq!(world.surroundings(), before);
}

fn use_until_both_were_seen(root: &Root) {
    let [done, refused] = [const { Cell::new(0) }; 2];
    let count = |worked: bool| {
        let outcome = if worked { &done } else { &refused };
        outcome.set(outcome.get() + 1);
    };
    for round in 0_u64.. {
        for path in ["dir/secret.txt", "sub/../dir/secret.txt", "dir/../dir/secret.txt"] {
            let read = root.read(path, 1000);
            assert!(read.as_ref().is_ok_and(|bytes| bytes == b"inside") || read.is_err(), "{read:?}");
            count(read.is_ok());
        }
        count(root.write("dir/new.txt", b"x").is_ok());
        count(root.write(&format!("dir/made{}/x.txt", round % 50), b"x").is_ok());
        count(root.append("dir/log.txt", b"x", Join::Exactly, 1 << 20).is_ok());
        count(root.remove("dir/new.txt").is_ok());
        let _ = root.walk("dir", &mut |found| {
            let read = found.read(1000).unwrap_or_default();
            assert_ne!(read, SECRET.as_bytes());
            Step::In
        });
        if done.get() >= ENOUGH && refused.get() >= ENOUGH {
            return;
        }
        assert!(round < 200_000, "{done:?} done, {refused:?} refused: the race was not seen");
    }
}
