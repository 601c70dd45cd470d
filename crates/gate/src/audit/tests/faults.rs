//! A disk that is full, broken or slow.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};

use super::super::segment::Disk;
use super::*;

/// What the disk does wrong, switched by the test.
#[derive(Default)]
struct Tricks {
    full: AtomicBool,
    sync_fails: AtomicBool,
    cut_fails: AtomicBool,
    holds_writes: Mutex<bool>,
    released: Condvar,
    held: AtomicU64,
}

impl Tricks {
    fn release(&self) {
        *self.holds_writes.lock() = false;
        self.released.notify_all();
    }
}

struct TrickyDisk(Arc<dyn Disk>, Arc<Tricks>);

impl Disk for TrickyDisk {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut held = self.1.holds_writes.lock();
        while *held {
            self.1.held.fetch_add(1, Ordering::SeqCst);
            self.1.released.wait(&mut held);
        }
        drop(held);
        if self.1.full.load(Ordering::SeqCst) {
            // As a real full disk does: a part fits.
            self.0.append(&bytes[..bytes.len() / 2])?;
            return Err(io::Error::from_raw_os_error(28));
        }
        self.0.append(bytes)
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        if self.1.cut_fails.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(5));
        }
        self.0.cut(length)
    }

    fn sync(&self) -> io::Result<()> {
        if self.1.sync_fails.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(5));
        }
        self.0.sync()
    }
}

struct TrickyDisks(Arc<Tricks>);

impl Disks for TrickyDisks {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(TrickyDisk(Files.open(path)?, Arc::clone(&self.0))))
    }
}

fn tricky(home: &Home) -> (AuditLog, Arc<Tricks>) {
    let tricks = Arc::new(Tricks::default());
    let log = home.open_on(Arc::new(TrickyDisks(Arc::clone(&tricks)))).unwrap().0;
    (log, tricks)
}

#[tokio::test]
async fn a_full_disk_refuses_with_the_reason_and_heals_by_itself() {
    let mut home = Home::new();
    home.limits.retry = Duration::from_hours(1);
    let (log, tricks) = tricky(&home);
    let begun = log.append(&[row(), started("call_a")], &Redactor::none()).await.unwrap();
    tricks.full.store(true, Ordering::SeqCst);
    let fault = log.append(&[row()], &Redactor::none()).await.unwrap_err();
    assert!(fault.to_string().contains("No space left on device"), "{fault}");
    let told = log.health().unwrap_err();
    assert!(told.starts_with("audit: cannot write ") && told.contains("No space left"), "{told}");
    // What is owed waits, and stands before anything later.
    log.owe(finished("call_a", begun), &Redactor::none());
    assert_eq!(home.rows().len(), 2, "the file was rolled back to whole rows");
    tricks.full.store(false, Ordering::SeqCst);
    log.append(&[row()], &Redactor::none()).await.unwrap();
    assert_eq!(log.health(), Ok(()));
    assert_eq!(home.kinds(), ["CallRefused", "CallStarted", "LogRecovered", "CallFinished", "CallRefused"]);
    log.close().await;
    home.assert_valid();
}

#[tokio::test]
async fn a_full_disk_is_tried_again_without_anyone_asking() {
    let mut home = Home::new();
    home.limits.retry = Duration::from_millis(5);
    let (log, tricks) = tricky(&home);
    tricks.full.store(true, Ordering::SeqCst);
    assert!(log.append(&[row()], &Redactor::none()).await.is_err());
    tricks.full.store(false, Ordering::SeqCst);
    until(|| log.health().is_ok()).await;
    assert_eq!(home.kinds(), ["LogRecovered"]);
}

#[tokio::test]
async fn a_file_that_cannot_even_be_cut_back_is_mended_before_the_next_row() {
    let home = Home::new();
    let (log, tricks) = tricky(&home);
    tricks.full.store(true, Ordering::SeqCst);
    tricks.cut_fails.store(true, Ordering::SeqCst);
    assert!(log.append(&[row()], &Redactor::none()).await.is_err());
    tricks.full.store(false, Ordering::SeqCst);
    assert!(log.append(&[row()], &Redactor::none()).await.is_err(), "half a row still stands in the way");
    tricks.cut_fails.store(false, Ordering::SeqCst);
    log.append(&[row()], &Redactor::none()).await.unwrap();
    log.close().await;
    home.assert_valid();
}

#[tokio::test]
async fn a_checkpoint_that_finds_no_room_is_written_later() {
    let mut home = Home::new();
    home.limits.retry = Duration::from_millis(5);
    let (log, tricks) = tricky(&home);
    log.append(&[row()], &Redactor::none()).await.unwrap();
    tricks.full.store(true, Ordering::SeqCst);
    assert!(log.checkpoint().await.is_err());
    assert!(log.health().unwrap_err().contains("checkpoints.jsonl"));
    tricks.full.store(false, Ordering::SeqCst);
    until(|| log.health().is_ok()).await;
    assert_eq!(home.assert_valid().verified_to, 1);
}

#[tokio::test]
async fn a_disk_that_loses_what_it_took_stays_refused_until_a_restart() {
    let mut home = Home::new();
    home.durability = Durability::Strict;
    let (log, tricks) = tricky(&home);
    tricks.sync_fails.store(true, Ordering::SeqCst);
    let fault = log.append(&[started("call_a")], &Redactor::none()).await.unwrap_err();
    assert!(fault.to_string().contains("restart the daemon"), "{fault}");
    tricks.sync_fails.store(false, Ordering::SeqCst);
    assert!(log.append(&[row()], &Redactor::none()).await.is_err());
    assert!(log.health().is_err());
    drop(log);
    let (log, _) = home.try_open().unwrap();
    log.append(&[row()], &Redactor::none()).await.unwrap();
    assert_eq!(home.kinds(), ["CallStarted", "CallInterrupted", "CallRefused"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stalled_write_is_reported_and_new_rows_are_refused_at_once() {
    let mut home = Home::new();
    home.limits.stall = Duration::from_millis(30);
    let (log, tricks) = tricky(&home);
    *tricks.holds_writes.lock() = true;
    let append = |log: AuditLog| tokio::spawn(async move { log.append(&[row()], &Redactor::none()).await });
    let stuck = append(log.clone());
    until(|| tricks.held.load(Ordering::SeqCst) > 0).await;
    let queued = append(log.clone());
    until(|| log.health().is_err()).await;
    assert!(log.health().unwrap_err().contains("has not finished a write"));
    let fault = log.append(&[row()], &Redactor::none()).await.unwrap_err();
    assert!(fault.to_string().contains("has not finished"), "{fault}");
    tricks.release();
    stuck.await.unwrap().unwrap();
    // It came before the stall was noticed, or after: then it was refused.
    let queued = queued.await.unwrap().is_ok();
    assert_eq!(log.health(), Ok(()));
    log.append(&[row()], &Redactor::none()).await.unwrap();
    assert_eq!(home.rows().len(), 2 + usize::from(queued));
    log.close().await;
    home.assert_valid();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_whose_caller_goes_away_while_it_waits_is_ended() {
    let home = Home::new();
    let (log, tricks) = tricky(&home);
    *tricks.holds_writes.lock() = true;
    let stuck = tokio::spawn({
        let log = log.clone();
        async move { log.append(&[row()], &Redactor::none()).await }
    });
    until(|| tricks.held.load(Ordering::SeqCst) > 0).await;
    let (event, redactor) = ([row(), started("call_a")], Redactor::none());
    let mut append = Box::pin(log.append(&event, &redactor));
    assert!(waits(&mut append).await, "it waits behind the write");
    drop(append);
    tricks.release();
    stuck.await.unwrap().unwrap();
    until(|| home.rows().len() == 4).await;
    assert_eq!(home.kinds(), ["CallRefused", "CallRefused", "CallStarted", "CallInterrupted"]);
    let ended = &home.rows()[3];
    assert_eq!((&ended["started"], &ended["call"]), (&3.into(), &"call_a".into()));
    log.close().await;
    home.assert_valid();
}

#[tokio::test]
async fn a_strict_call_whose_caller_goes_away_before_the_sync_is_ended() {
    let mut home = Home::new();
    home.durability = Durability::Strict;
    let log = home.open();
    let (event, redactor) = ([started("call_a")], Redactor::none());
    let mut append = Box::pin(log.append(&event, &redactor));
    if waits(&mut append).await {
        drop(append);
        assert_eq!(home.kinds(), ["CallStarted", "CallInterrupted"]);
    }
}

/// Polls once; whether it is still waiting.
async fn waits(future: &mut (impl Future + Unpin)) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_queue_behind_a_slow_write_is_bounded() {
    let mut home = Home::new();
    home.limits.waiting_rows = 3;
    let (log, tricks) = tricky(&home);
    *tricks.holds_writes.lock() = true;
    let append = |log: AuditLog| tokio::spawn(async move { log.append(&[row()], &Redactor::none()).await });
    let tasks: Vec<_> = (0..5).map(|_| append(log.clone())).collect();
    // One writes, three wait, one is turned away.
    until(|| tasks.iter().any(tokio::task::JoinHandle::is_finished)).await;
    for _ in 0..5 {
        log.owe(row(), &Redactor::none());
    }
    tricks.release();
    let mut refused = 0;
    for task in tasks {
        refused += usize::from(task.await.unwrap().is_err());
    }
    assert_eq!(refused, 1);
    log.close().await;
    assert_eq!(home.assert_valid().rows, 4 + 3);
    assert!(log.health().unwrap_err().contains("2 rows found no room"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_disk_that_fails_now_and_then_never_breaks_the_chain() {
    let mut home = Home::new();
    home.segment_bytes = 20_000;
    home.limits.retry = Duration::from_millis(1);
    home.limits.checkpoint_rows = 16;
    home.limits.sync_after = Duration::from_millis(1);
    let (log, tricks) = tricky(&home);
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let (log, tricks) = (log.clone(), Arc::clone(&tricks));
            tokio::spawn(async move {
                let mut written = 0_u64;
                for turn in 0..200 {
                    if (task + turn) % 13 == 0 {
                        tricks.full.store(turn % 2 == 0, Ordering::SeqCst);
                    }
                    written += u64::from(log.append(&[row()], &Redactor::none()).await.is_ok());
                }
                written
            })
        })
        .collect();
    let mut written = 0;
    for task in tasks {
        written += task.await.unwrap();
    }
    tricks.full.store(false, Ordering::SeqCst);
    log.append(&[row()], &Redactor::none()).await.unwrap();
    log.close().await;
    home.assert_valid();
    let kinds = home.kinds();
    let rows = kinds.iter().filter(|kind| *kind == "CallRefused").count();
    assert_eq!(
        u64::try_from(rows).unwrap(),
        written + 1,
        "a row is there if and only if its caller was told so"
    );
}

#[tokio::test]
async fn the_lag_is_the_age_of_what_is_not_on_disk_and_nothing_once_all_is() {
    let mut home = Home::new();
    home.limits.sync_after = Duration::from_hours(1);
    home.limits.retry = Duration::from_hours(1);
    let (log, tricks) = tricky(&home);
    assert_eq!(log.lag(), Duration::ZERO);
    log.append(&[row()], &Redactor::none()).await.unwrap();
    until(|| log.lag() > Duration::from_millis(2)).await;
    log.checkpoint().await.unwrap();
    assert_eq!(log.lag(), Duration::ZERO, "a checkpoint is of what is on disk");
    tricks.full.store(true, Ordering::SeqCst);
    assert!(log.append(&[row()], &Redactor::none()).await.is_err());
    home.clock.advance(Duration::from_secs(7));
    log.owe(row(), &Redactor::none());
    assert_eq!(log.lag(), Duration::from_secs(7), "what is owed since the disk was full");
    tricks.full.store(false, Ordering::SeqCst);
    log.append(&[row()], &Redactor::none()).await.unwrap();
    log.checkpoint().await.unwrap();
    assert_eq!(log.lag(), Duration::ZERO);
    tricks.sync_fails.store(true, Ordering::SeqCst);
    log.append(&[row()], &Redactor::none()).await.unwrap();
    assert!(log.checkpoint().await.is_err());
    until(|| log.lag() > Duration::from_millis(2)).await;
}
