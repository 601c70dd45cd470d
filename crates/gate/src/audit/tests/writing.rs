//! Appending: what is in the files, when, and by how many at once.

use std::os::unix::fs::PermissionsExt as _;

use super::super::checkpoints;
use super::*;

#[tokio::test]
async fn rows_are_in_the_file_when_append_returns_and_their_numbers_count_up() {
    let home = Home::new();
    let log = home.open();
    assert_eq!(log.append(&[row(), row()], &Redactor::none()).await.unwrap(), 2);
    assert_eq!(home.rows().len(), 2);
    assert_eq!(log.append(&[row()], &Redactor::none()).await.unwrap(), 3);
    assert_eq!(*log.subscribe().borrow(), 3);
    let report = home.assert_valid();
    assert_eq!((report.rows, report.verified_to, report.head), (3, 0, None));
}

#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    let home = Home::new();
    home.filled(1).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.dir), 0o700);
    assert_eq!(mode(&home.dir.join("000001.jsonl")), 0o600);
    assert_eq!(mode(&home.dir.join(checkpoints::NAME)), 0o600);
}

#[tokio::test]
async fn secrets_are_redacted_before_a_text_is_cut() {
    let home = Home::new();
    let log = home.open();
    let redactor = Redactor::new([("PASSWORD", "correct horse battery")]);
    let text = format!("{}correct horse battery", "x".repeat(500));
    let event = Event { reason: Some(&text), ..row() };
    log.append(&[event], &redactor).await.unwrap();
    let text = std::fs::read_to_string(home.dir.join("000001.jsonl")).unwrap();
    assert!(!text.contains("correct"), "{text}");
}

#[tokio::test]
async fn a_clean_stop_ends_with_a_checkpoint_and_takes_no_more_rows() {
    let home = Home::new();
    let log = home.open();
    log.append(&[row()], &Redactor::none()).await.unwrap();
    log.close().await;
    assert!(log.append(&[row()], &Redactor::none()).await.is_err());
    assert!(log.health().is_err());
    assert_eq!(home.assert_valid().verified_to, 1);
}

#[tokio::test]
async fn checkpoints_come_by_count_and_by_time_and_only_when_something_is_new() {
    let mut home = Home::new();
    home.limits.checkpoint_rows = 4;
    home.limits.sync_after = Duration::from_millis(1);
    let log = home.open();
    log.append(&[row(), row(), row(), row()], &Redactor::none()).await.unwrap();
    until(|| home.verify().verified_to == 4).await;
    drop(log);
    home.limits.checkpoint_rows = u64::MAX;
    home.limits.checkpoint_every = Duration::from_millis(20);
    let log = home.open();
    log.append(&[row()], &Redactor::none()).await.unwrap();
    until(|| home.verify().verified_to == 5).await;
    let first = log.checkpoint().await.unwrap();
    assert_eq!(log.checkpoint().await.unwrap(), first, "nothing new, no new checkpoint");
    let count = std::fs::read_to_string(home.dir.join(checkpoints::NAME)).unwrap().lines().count();
    assert_eq!(count, 2);
}

#[tokio::test]
async fn a_checkpoint_names_the_oldest_call_that_still_runs() {
    let home = Home::new();
    let log = home.open();
    log.append(&[row(), started("call_a")], &Redactor::none()).await.unwrap();
    log.append(&[started("call_b")], &Redactor::none()).await.unwrap();
    assert_eq!(log.checkpoint().await.unwrap().open_from, 2);
    log.append(&[finished("call_a", 2)], &Redactor::none()).await.unwrap();
    assert_eq!(log.checkpoint().await.unwrap().open_from, 3);
    log.append(&[finished("call_b", 3)], &Redactor::none()).await.unwrap();
    assert_eq!(log.checkpoint().await.unwrap().open_from, 5);
}

#[tokio::test]
async fn strict_rows_are_covered_by_a_sync() {
    let mut home = Home::new();
    home.durability = Durability::Strict;
    // Only a caller who waits can bring the sync about.
    home.limits.sync_after = Duration::from_hours(1);
    let log = home.open();
    assert_eq!(log.append(&[row()], &Redactor::none()).await.unwrap(), 1);
    assert_eq!(log.append(&[row()], &Redactor::none()).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_at_once_get_numbers_of_their_own_and_one_unbroken_chain() {
    let mut home = Home::new();
    home.segment_bytes = 200_000;
    home.limits.checkpoint_rows = 256;
    home.limits.sync_after = Duration::from_millis(1);
    let log = home.open();
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let log = log.clone();
            tokio::spawn(async move {
                let mut seqs = Vec::new();
                for turn in 0..100 {
                    let call = format!("call_{task}_{turn}");
                    let begun = log.append(&[row(), started(&call)], &Redactor::none()).await.unwrap();
                    if turn % 10 == 0 {
                        log.owe(finished(&call, begun), &Redactor::none());
                    } else {
                        seqs.push(log.append(&[finished(&call, begun)], &Redactor::none()).await.unwrap());
                    }
                    seqs.push(begun);
                }
                seqs
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.unwrap());
    }
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 64 * 190, "no number was given twice");
    log.close().await;
    let report = home.assert_valid();
    assert_eq!((report.rows, report.verified_to), (64 * 300, 64 * 300));
    assert!(home.segments().len() > 10);
    for row in home.rows().iter().filter(|row| row["kind"] == "CallFinished") {
        let begun = &home_row(&all, row);
        assert!(*begun, "{row}");
    }
    drop(log);
    assert_eq!(home.try_open().unwrap().1, Opened { last: 64 * 300, cut_bytes: 0, interrupted: 0 });
}

fn home_row(seqs: &[u64], row: &serde_json::Value) -> bool {
    row["started"].as_u64().is_some_and(|seq| seqs.binary_search(&seq).is_ok())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn appends_that_are_dropped_half_way_leave_no_call_open() {
    let home = Home::new();
    let log = home.open();
    let tasks: Vec<_> = (0..200_u64)
        .map(|task| {
            let log = log.clone();
            tokio::spawn(async move {
                let call = format!("call_{task}");
                let event = [started(&call)];
                let redactor = Redactor::none();
                let append = log.append(&event, &redactor);
                // Polled once, then dropped.
                if let Ok(Ok(seq)) = tokio::time::timeout(Duration::ZERO, append).await {
                    log.append(&[finished(&call, seq)], &Redactor::none()).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    log.append(&[row()], &Redactor::none()).await.unwrap();
    log.close().await;
    drop(log);
    home.assert_valid();
    assert_eq!(home.try_open().unwrap().1.interrupted, 0);
    let kinds = home.kinds();
    let count = |kind: &str| kinds.iter().filter(|found| *found == kind).count();
    assert_eq!(count("CallStarted"), count("CallFinished") + count("CallInterrupted"));
}

#[tokio::test]
async fn digests_need_the_key() {
    let home = Home::new();
    let log = home.open();
    assert_eq!(log.digest(b"a"), log.digest(b"a"));
    assert_ne!(log.digest(b"a"), log.digest(b"b"));
    // HMAC-SHA-256 of "a" with a key of 32 bytes of 1, computed with another implementation.
    assert_eq!(
        log.digest(b"a").to_string(),
        "8fed454e4af2e38d7a0c4f0345a12d8ca418554236df19d57b6a239c212bd8ea"
    );
}

#[tokio::test]
async fn a_second_writer_is_kept_out() {
    let home = Home::new();
    let log = home.open();
    assert!(matches!(home.try_open(), Err(OpenError::Locked { .. })));
    drop(log);
    assert!(home.try_open().is_ok());
}

#[tokio::test]
async fn a_clock_that_jumps_back_breaks_nothing() {
    let home = Home::new();
    let log = home.open();
    log.append(&[row()], &Redactor::none()).await.unwrap();
    home.clock.set(Timestamp::from_millis(5));
    log.append(&[row()], &Redactor::none()).await.unwrap();
    log.close().await;
    drop(log);
    assert_eq!(home.try_open().unwrap().1.last, 2);
    home.assert_valid();
}
