//! Control groups, with real processes, as far as this host lets us.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Child;

use rustix::process::{Gid, Uid, getuid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use super::*;
use crate::linux::alone::{alone, end, end_everything, part, play, shell, until};

const MEGABYTE: u64 = 1024 * 1024;

/// A group, or a loud line.
fn made(run: &str, memory_bytes: u64, pids: u32) -> Option<Cgroup> {
    let made = Cgroup::make(run, memory_bytes, pids);
    made.inspect_err(|reason| skip(reason)).ok()
}

fn skip(reason: &str) {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "SKIPPED: no cgroup on this host: {reason}").unwrap();
}

/// Every directory on this host that belongs to a group of this process.
fn directories() -> Vec<PathBuf> {
    let own = name(Process::of(getpid()).unwrap(), "").unwrap();
    let (places, _) = place::places();
    let entries = places.iter().flat_map(|place| fs::read_dir(&place.directory).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&own)).collect()
}

/// Lets a child in that waits to be let go, and lets it go.
fn release(group: &mut Cgroup, child: &mut Child) {
    use std::io::Write as _;
    group.admit(Pid::from_child(child)).unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
}

#[test]
fn a_program_that_takes_more_memory_than_its_group_has_is_ended_by_the_kernel() {
    let name =
        "linux::cgroup::tests::a_program_that_takes_more_memory_than_its_group_has_is_ended_by_the_kernel";
    if part().is_some() {
        crate::linux::alone::is_ready();
        let eaten = vec![1_u8; 256 * 1024 * 1024];
        assert!(eaten.iter().all(|&byte| byte == 1));
        return;
    }
    if !alone(name) {
        return;
    }
    let Some(mut group) = made("memory", 64 * MEGABYTE, 100) else { return };
    if !group.has_memory() {
        return skip(&group.missing());
    }
    let mut child = play(name, "eat");
    release(&mut group, &mut child);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert_eq!(group.over(), Some(Limit::Memory));
    assert!((60_000..=65_536).contains(&group.peak_kb()), "{}", group.peak_kb());
    assert!(group.means(Promise::Memory).unwrap().starts_with("memory cgroup"));
    group.remove().unwrap();
    assert_eq!(directories(), Vec::<PathBuf>::new());
}

#[test]
fn a_program_within_its_limits_is_left_alone() {
    if !alone("linux::cgroup::tests::a_program_within_its_limits_is_left_alone") {
        return;
    }
    let Some(mut group) = made("fine", 64 * MEGABYTE, 10) else { return };
    assert!(!directories().is_empty());
    let mut child = shell("read go; for i in 1 2 3; do sleep 0 & done; wait; exit 5", &[]);
    release(&mut group, &mut child);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert_eq!(group.over(), None);
    drop(group);
    assert_eq!(directories(), Vec::<PathBuf>::new());
}

#[test]
fn no_more_processes_are_started_than_the_group_may_have() {
    if !alone("linux::cgroup::tests::no_more_processes_are_started_than_the_group_may_have") {
        return;
    }
    let Some(mut group) = made("pids", 512 * MEGABYTE, 10) else { return };
    if !group.has_pids() {
        return skip(&group.missing());
    }
    let script = "read go; i=0; while [ $i -lt 30 ]; do sleep 60 & i=$((i + 1)); done; exit 5";
    let mut child = shell(script, &[]);
    release(&mut group, &mut child);
    assert_eq!(child.wait().unwrap().code(), Some(2), "a shell that cannot fork says so and ends");
    assert_eq!(crate::linux::tree::descendants(getpid()).len(), 9);
    assert_eq!(group.over(), None);
    assert!(group.means(Promise::Processes).unwrap().starts_with("pids cgroup"));
    group.remove().unwrap();
    assert_eq!(directories(), Vec::<PathBuf>::new());
    end_everything();
}

#[test]
fn whatever_is_in_a_group_goes_with_it() {
    if !alone("linux::cgroup::tests::whatever_is_in_a_group_goes_with_it") {
        return;
    }
    // As a whole where the kernel can, and one by one where it cannot.
    for at_once in [true, false] {
        let Some(mut group) = made("flee", 512 * MEGABYTE, 100) else { return };
        group.groups.retain(|group| {
            let kept = group.ends_at_once() == at_once;
            if !kept {
                group.remove(Instant::now()).unwrap();
            }
            kept
        });
        if group.groups.is_empty() {
            continue;
        }
        assert_eq!(group.means(Promise::Lifetime).is_some(), at_once);
        let mut child =
            shell("read go; hop() { hop & }; for i in 1 2 3 4; do hop & done; setsid sleep 60 &", &[]);
        release(&mut group, &mut child);
        child.wait().unwrap();
        until("it is there", || !crate::linux::tree::descendants(getpid()).is_empty());
        group.remove().unwrap();
        assert_eq!(directories(), Vec::<PathBuf>::new());
        until("all have ended", || {
            crate::linux::tree::descendants(getpid()).iter().all(|process| !process.lives())
        });
        end_everything();
    }
}

#[test]
fn a_user_who_may_make_no_group_is_told_so_and_leaves_nothing() {
    if !alone("linux::cgroup::tests::a_user_who_may_make_no_group_is_told_so_and_leaves_nothing") {
        return;
    }
    if !getuid().is_root() {
        return skip("only root can become somebody else");
    }
    let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
    set_thread_res_gid(group, group, group).unwrap();
    set_thread_res_uid(user, user, user).unwrap();
    let reason = Cgroup::make("nobody", 64 * MEGABYTE, 10).unwrap_err();
    assert!(reason.contains("no cgroup could be made at") || reason.contains("no memory cgroup"), "{reason}");
    assert_eq!(directories(), Vec::<PathBuf>::new());
}

#[test]
fn what_a_dead_launcher_left_is_swept_and_what_a_living_one_has_is_not() {
    if !alone("linux::cgroup::tests::what_a_dead_launcher_left_is_swept_and_what_a_living_one_has_is_not") {
        return;
    }
    let Some(group) = made("alive", 64 * MEGABYTE, 10) else { return };
    let alive = directories();
    let launcher = shell("exec sleep 60", &[]);
    let maker = Process::of(Pid::from_child(&launcher)).unwrap();
    let (places, _) = place::places();
    let place = places.first().unwrap();
    let left = place.directory.join(name(maker, "left").unwrap());
    let foreign = place.directory.join(format!("{PREFIX}1-{}-{}-left", maker.pid, maker.start_time));
    fs::create_dir(&left).unwrap();
    fs::create_dir(&foreign).unwrap();
    let sleeper = shell("exec sleep 60", &[]);
    let process = Process::of(Pid::from_child(&sleeper)).unwrap();
    Group::found(left.clone(), place.version).admit(process.pid).unwrap();
    sweep();
    assert!(left.exists() && process.lives());

    end(launcher);
    // Somebody else on this machine may sweep at the same time.
    until("it is swept", || {
        sweep();
        !left.exists() && !process.lives()
    });
    assert!(foreign.exists());
    assert_eq!(directories(), alive);
    fs::remove_dir(foreign).unwrap();
    group.remove().unwrap();
    drop(sleeper);
    end_everything();
}

#[test]
fn the_name_of_a_group_tells_who_made_it() {
    let own = Process::of(getpid()).unwrap();
    let made = name(own, "a run/../with ümlauts").unwrap();
    assert!(made.ends_with("-a_run____with__mlauts"), "{made}");
    assert_eq!(maker(&made), Some(own));
    for other in
        ["covenant-run-", "covenant-run-1-2-3-x", "covenant-run-x-1-2", "system.slice", "", &made[1..]]
    {
        assert_eq!(maker(other), None, "{other}");
    }
}
