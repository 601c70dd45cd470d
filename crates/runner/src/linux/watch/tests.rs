//! The watch, with real processes. Each test has a process of its own, so that all its children are its own too.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use rustix::process::getpid;

use super::*;
use crate::linux::alone::{alone, end, end_everything, is_ready, part, play, shell, until};

mod hiding;

const MEGABYTE: u64 = 1024 * 1024;

/// Limits nobody reaches.
fn ample() -> Limits {
    Limits { memory: 1 << 40, counted: false, pids: 30_000, scratch: None }
}

fn watch(limits: Limits) -> Watch {
    Watch::new(getpid(), limits)
}

/// What each has, added up.
fn plain(members: &[Member]) -> u64 {
    members.iter().filter_map(memory::status).fold(memory::Sum::default(), memory::Sum::and).with(0)
}

/// What all have, in which shared pages count once.
fn proportional(members: &[Member]) -> u64 {
    shares::Round::new(members).go_on(&mut Slice::of(members.len())).unwrap().with(0)
}

/// Python, for what neither a shell nor safe Rust can do.
fn python(script: &str) -> Option<std::process::Child> {
    let found =
        ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        writeln!(std::io::stderr(), "SKIPPED: no Python on this machine").unwrap();
    }
    Some(shell(&format!("exec {} -c \"$SCRIPT\"", found?), &[("SCRIPT", script)]))
}

#[test]
fn a_program_far_below_its_limits_is_seldom_looked_at_and_one_close_to_them_often() {
    let name =
        "linux::watch::tests::a_program_far_below_its_limits_is_seldom_looked_at_and_one_close_to_them_often";
    if !alone(name) {
        return;
    }
    let child = shell("exec sleep 60", &[]);
    let mut distant = watch(ample());
    until("the next look is far off", || distant.look() == Look { over: None, again: LONGEST });
    let often = Look { over: None, again: SHORTEST };
    let close = [Limits { memory: 8 * MEGABYTE, ..ample() }, Limits { pids: 2, ..ample() }];
    for limits in close {
        // A look that was itself held up, on a busy machine, is followed by a longer rest.
        until("the next look comes soon", || watch(limits.clone()).look() == often);
    }
    end(child);
    assert_eq!(watch(Limits { memory: 0, counted: false, pids: 0, scratch: None }).look().over, None);
}

#[test]
fn the_memory_of_children_and_grandchildren_is_added_up() {
    let name = "linux::watch::tests::the_memory_of_children_and_grandchildren_is_added_up";
    if part().is_some() {
        let eaten = vec![1_u8; 40_000_000];
        is_ready();
        assert!(eaten.iter().all(|&byte| byte == 1));
        return;
    }
    if !alone(name) {
        return;
    }
    let mut watch = watch(Limits { memory: 100 * MEGABYTE, ..ample() });
    let children = [play(name, "one"), play(name, "two")];
    assert_eq!(watch.look().over, None);
    assert!((76_000..110_000).contains(&watch.peak_kb()), "{}", watch.peak_kb());
    let third = play(name, "three");
    until("it is too much", || watch.look().over == Some(Limit::Memory));
    children.into_iter().chain([third]).for_each(end);
    assert_eq!(watch.look().over, None);
    assert!(watch.peak_kb() > 102_400, "{}", watch.peak_kb());
}

#[test]
fn pages_that_copies_of_a_process_share_count_once() {
    if !alone("linux::watch::tests::pages_that_copies_of_a_process_share_count_once") {
        return;
    }
    let script = "x=$(head -c 20000000 /dev/zero | tr '\\0' a)
        for i in 1 2 3 4 5; do (sleep 60; echo $x) & done; wait";
    let child = shell(script, &[]);
    // The shell, five copies, and what they wait for.
    until("the copies are there", || watch(ample()).members().len() == 11);
    let seen = watch(ample()).members();
    let (plain, shared) = (plain(&seen), proportional(&seen));
    assert!(shared > 20_000_000 && shared * 3 < plain, "{shared} {plain}");
    let limit = |memory| Limits { memory, ..ample() };
    assert_eq!(watch(limit(plain - MEGABYTE)).look().over, None);
    assert_eq!(watch(limit(shared + 2 * MEGABYTE)).look().over, None);
    let mut narrow = watch(limit(shared - 2 * MEGABYTE));
    until("it is too much", || narrow.look().over == Some(Limit::Memory));
    drop(child);
    end_everything();
}

#[test]
fn a_child_that_has_not_begun_its_program_yet_has_no_memory_of_its_own() {
    let name = "linux::watch::tests::a_child_that_has_not_begun_its_program_yet_has_no_memory_of_its_own";
    if !alone(name) {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("pipe");
    assert!(shell(&format!("mkfifo {}", pipe.display()), &[]).wait().unwrap().success());
    // It uses the parent's memory until it runs a program, and is held up on the way there.
    let script = format!(
        "import os; x = bytearray(b'1') * 40000000; wait = [(os.POSIX_SPAWN_OPEN, 0, '{}', os.O_RDONLY, 0)]
os.posix_spawn('/bin/true', ['true'], {{}}, file_actions=wait)",
        pipe.display()
    );
    let Some(child) = python(&script) else { return };
    until("both are there", || plain(&watch(ample()).members()) > 80_000_000);
    let mut watch = watch(Limits { memory: 60 * MEGABYTE, ..ample() });
    for _ in 0..50 {
        assert_eq!((watch.members().len(), watch.look().over), (2, None));
    }
    assert!((40_000..60_000).contains(&watch.peak_kb()), "{}", watch.peak_kb());
    drop(File::options().write(true).open(pipe).unwrap());
    end(child);
}

#[test]
fn memory_does_not_hide_behind_a_first_thread_that_ended() {
    if !alone("linux::watch::tests::memory_does_not_hide_behind_a_first_thread_that_ended") {
        return;
    }
    let script = "import ctypes, os, platform, threading, time
x = bytearray(b'1') * 40000000
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).syscall({'x86_64': 60}.get(platform.machine(), 93), 0)";
    let Some(child) = python(script) else { return };
    until("the first thread has ended", || {
        watch(ample()).members().iter().any(|member| member.stat.headless)
    });
    assert_eq!(watch(Limits { memory: 30 * MEGABYTE, ..ample() }).look().over, Some(Limit::Memory));
    end(child);
}

#[test]
fn memory_files_count_though_nobody_maps_them() {
    let name = "linux::watch::tests::memory_files_count_though_nobody_maps_them";
    if part().is_some() {
        let file = rustix::fs::memfd_create(CString::new("held").unwrap(), rustix::fs::MemfdFlags::CLOEXEC);
        let mut file = File::from(file.unwrap());
        file.write_all(&vec![1; 40_000_000]).unwrap();
        return is_ready();
    }
    if !alone(name) {
        return;
    }
    let mut narrow = watch(Limits { memory: 30 * MEGABYTE, ..ample() });
    let child = play(name, "hold");
    until("it is too much", || narrow.look().over == Some(Limit::Memory));
    assert_eq!(watch(Limits { memory: 60 * MEGABYTE, ..ample() }).look().over, None);
    end(child);
}

#[test]
fn processes_and_threads_are_counted() {
    let name = "linux::watch::tests::processes_and_threads_are_counted";
    if part().is_some() {
        (0..30).for_each(|_| drop(std::thread::spawn(std::thread::park)));
        return is_ready();
    }
    if !alone(name) {
        return;
    }
    let child = shell("for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; wait", &[]);
    until("all are there", || watch(ample()).members().len() == 10);
    assert_eq!(watch(Limits { pids: 10, ..ample() }).look().over, None);
    assert_eq!(watch(Limits { pids: 9, ..ample() }).look().over, Some(Limit::Processes));
    drop(child);
    end_everything();
    let child = play(name, "thread");
    // Its own threads, and one or two of the test harness.
    assert_eq!(watch(Limits { pids: 32, ..ample() }).look().over, None);
    assert_eq!(watch(Limits { pids: 30, ..ample() }).look().over, Some(Limit::Processes));
    end(child);
}

#[test]
fn a_scratch_directory_that_overflows_is_seen_and_so_are_deleted_files_still_open() {
    let name =
        "linux::watch::tests::a_scratch_directory_that_overflows_is_seen_and_so_are_deleted_files_still_open";
    if let Some(path) = part() {
        let mut file = File::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        file.write_all(&vec![1; 3_000_000]).unwrap();
        file.sync_all().unwrap();
        return is_ready();
    }
    if !alone(name) {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let scratch = |bytes| Limits { scratch: Some((home.path().to_owned(), bytes)), ..ample() };
    let (mut narrow, mut wide) = (watch(scratch(2_000_000)), watch(scratch(4_000_000)));
    assert_eq!((narrow.look().over, wide.look().over), (None, None));
    let child = play(name, home.path().join("deleted").to_str().unwrap());
    until("it is too much", || narrow.look().over == Some(Limit::Scratch));
    assert_eq!(watch(scratch(4_000_000)).look().over, None);
    fs::write(home.path().join("file"), vec![1; 2_000_000]).unwrap();
    until("it is too much for the other too", || wide.look().over == Some(Limit::Scratch));
    end(child);
    assert_eq!(watch(scratch(3_000_000)).look().over, None);
}
