//! Ways to have more than is allowed without being seen, tried by real programs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Child;

use rustix::process::{Gid, Uid, getuid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use super::*;

fn memory(megabytes: u64) -> Watch {
    watch(Limits { memory: megabytes * MEGABYTE, ..ample() })
}

/// Waits until it says so.
fn is_up(child: &mut Child) {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
}

/// Lets it go on.
fn go_on(child: &mut Child) {
    writeln!(child.stdin.as_mut().unwrap()).unwrap();
}

#[test]
fn memory_is_seen_however_many_files_are_held_open() {
    if !alone("linux::watch::tests::hiding::memory_is_seen_however_many_files_are_held_open") {
        return;
    }
    let script = "import os, sys, time
for i in range(12):
    ready, done = os.pipe()
    if os.fork() == 0:
        for j in range(900): os.dup(0)
        os.write(done, b'1'); time.sleep(60)
    os.read(ready, 1)
print('up', flush=True); sys.stdin.readline(); x = bytearray(b'1') * 300000000; time.sleep(60)";
    let Some(mut child) = python(script) else { return };
    is_up(&mut child);
    let mut watch = memory(200);
    let mut looks = 0;
    until("all files were seen", || {
        assert_eq!(watch.look().over, None);
        looks += 1;
        !watch.files.is_on_the_way()
    });
    assert!(looks >= 2, "10,800 files were seen in {looks} looks");
    until("the next round has begun", || {
        watch.look();
        watch.files.is_on_the_way()
    });
    go_on(&mut child);
    until("it is too much", || watch.look().over == Some(Limit::Memory));
    drop(child);
    end_everything();
}

#[test]
fn what_copies_take_is_seen_before_all_they_share_is_added_up() {
    if !alone("linux::watch::tests::hiding::what_copies_take_is_seen_before_all_they_share_is_added_up") {
        return;
    }
    let script = "import os, sys, time
x = bytearray(b'1') * 60000000
pipes = []
for i in range(6):
    ready, done = os.pipe()
    if os.fork() == 0:
        os.read(ready, 1); y = bytearray(b'1') * 30000000; time.sleep(60)
    pipes.append(done)
print('up', flush=True); sys.stdin.readline()
for done in pipes: os.write(done, b'1')
time.sleep(60)";
    let Some(mut child) = python(script) else { return };
    is_up(&mut child);
    let mut shares = shares::Shares::new();
    let members = || watch(ample()).members();
    let limit = 150 * MEGABYTE;
    assert!(shares.look(&members(), 0, limit) <= limit && plain(&members()) > limit);
    shares.rest(Duration::from_mins(10));
    go_on(&mut child);
    until("it is too much", || shares.look(&members(), 0, limit) > limit);
    drop(child);
    end_everything();
}

#[test]
fn tables_of_pages_count_though_the_pages_are_not_there() {
    if !alone("linux::watch::tests::hiding::tables_of_pages_count_though_the_pages_are_not_there") {
        return;
    }
    let script = "import mmap, time
x = mmap.mmap(-1, 20 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
x.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(0, len(x), 2 << 20): x[i]
print('up', flush=True); time.sleep(60)";
    let Some(mut child) = python(script) else { return };
    is_up(&mut child);
    assert_eq!(memory(35).look().over, Some(Limit::Memory));
    assert_eq!(memory(90).look().over, None);
    end(child);
}

#[test]
fn shared_memory_counts_as_it_is_mapped_though_no_page_of_it_shows() {
    if !alone("linux::watch::tests::hiding::shared_memory_counts_as_it_is_mapped_though_no_page_of_it_shows")
    {
        return;
    }
    // Given back by the process, the pages stay in the file.
    let script = "import mmap, os, time
x = mmap.mmap(-1, 60000000); x.write(b'1' * len(x)); x.madvise(mmap.MADV_DONTNEED)
for i in range(5):
    if os.fork() == 0: time.sleep(60)
print('up', flush=True); time.sleep(60)";
    let Some(mut child) = python(script) else { return };
    is_up(&mut child);
    let mut narrow = memory(50);
    until("it is too much", || narrow.look().over == Some(Limit::Memory));
    let mut wide = memory(300);
    until("it was seen", || {
        assert_eq!(wide.look().over, None);
        wide.files.held() >= 60_000_000
    });
    assert!(wide.files.held() < 61_000_000, "{} for one file", wide.files.held());
    drop(child);
    end_everything();
}

/// Gives up being root, who sees everything.
fn be_ordinary() {
    if getuid().is_root() {
        let (user, group) = (Uid::from_raw(65_534), Gid::from_raw(65_534));
        set_thread_res_gid(group, group, group).unwrap();
        set_thread_res_uid(user, user, user).unwrap();
    }
}

/// A watch over a scratch directory that has room.
fn watched(home: &Path) -> Watch {
    watch(Limits { scratch: Some((home.to_owned(), 1 << 30)), ..ample() })
}

#[test]
fn a_process_that_does_not_show_its_files_is_over_where_they_matter() {
    if !alone("linux::watch::tests::hiding::a_process_that_does_not_show_its_files_is_over_where_they_matter")
    {
        return;
    }
    be_ordinary();
    let home = tempfile::tempdir().unwrap();
    let script = "import ctypes, sys, time
print('up', flush=True); sys.stdin.readline()
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print('up', flush=True); time.sleep(60)";
    let Some(mut child) = python(script) else { return };
    is_up(&mut child);
    let (mut narrow, mut free) = (watched(home.path()), watch(ample()));
    (0..20).for_each(|_| assert_eq!(narrow.look().over, None));
    go_on(&mut child);
    is_up(&mut child);
    until("it counts as over", || narrow.look().over == Some(Limit::Scratch));
    (0..20).for_each(|_| assert_eq!(free.look().over, None));
    end(child);
}

#[test]
fn a_process_that_is_about_to_end_is_none_that_hides() {
    if !alone("linux::watch::tests::hiding::a_process_that_is_about_to_end_is_none_that_hides") {
        return;
    }
    be_ordinary();
    let home = tempfile::tempdir().unwrap();
    let mut child = shell("for i in $(seq 300); do /bin/true & /bin/true; done; wait", &[]);
    while child.try_wait().unwrap().is_none() {
        // Each a fresh one, which looks at files at once.
        assert_eq!(watched(home.path()).look().over, None);
    }
}
