//! Retention: what goes, what stays, and a crash in between.

use super::super::checkpoints;
use super::*;

/// Segments of about five rows each; row n was written n seconds after the start.
async fn aged(rows: u64) -> (Home, AuditLog) {
    let mut home = Home::new();
    home.segment_bytes = 1500;
    let log = home.open();
    for _ in 0..rows {
        home.clock.advance(Duration::from_secs(1));
        log.append(&[row()], &Redactor::none()).await.unwrap();
    }
    (home, log)
}

fn second(n: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + n * 1000)
}

#[tokio::test]
async fn whole_segments_go_and_what_stays_verifies_with_its_tombstone() {
    let (home, log) = aged(30).await;
    let before = home.segments().len();
    let pruned = log.prune(second(15)).await.unwrap();
    assert!(pruned.rows > 0 && pruned.first_kept <= 15, "{pruned:?}");
    assert_eq!(pruned.rows, pruned.first_kept - 1);
    assert!(home.segments().len() < before);
    assert_eq!(home.rows()[0]["seq"], pruned.first_kept);
    assert_eq!(home.kinds().last().unwrap(), "LogPruned");
    let anchor = log.checkpoint().await.unwrap();
    home.assert_valid();
    // Again: the newest tombstone alone is kept.
    let again = log.prune(second(25)).await.unwrap();
    assert!(again.first_kept > pruned.first_kept);
    assert_eq!(again.rows, again.first_kept - pruned.first_kept);
    log.close().await;
    home.assert_valid();
    let marks = std::fs::read_to_string(home.dir.join(checkpoints::NAME)).unwrap();
    assert_eq!(marks.matches("tombstone").count(), 1);
    assert!(marks.starts_with("{\"tombstone\""));
    assert!(read::verify_dir(&home.dir, &proof().anchored_by(anchor)).unwrap().anchored);
    drop(log);
    drop(home.open());
    // Without the tombstone it is a hole.
    let rest: String = marks.lines().skip(1).flat_map(|line| [line, "\n"]).collect();
    std::fs::write(home.dir.join(checkpoints::NAME), rest).unwrap();
    let bad = home.verify().first_bad.unwrap();
    assert_eq!(bad.seq, 1);
    assert!(bad.reason.contains("no tombstone"), "{}", bad.reason);
}

#[tokio::test]
async fn everything_may_go_even_the_segment_being_written() {
    let (home, log) = aged(7).await;
    let pruned = log.prune(second(1000)).await.unwrap();
    assert_eq!((pruned.rows, pruned.first_kept), (7, 8));
    assert_eq!(home.kinds(), ["LogPruned"]);
    home.assert_valid();
    log.append(&[row()], &Redactor::none()).await.unwrap();
    log.close().await;
    drop(log);
    assert_eq!(home.try_open().unwrap().1.last, 9);
    let mut out = Vec::new();
    read::export(&home.dir, &mut out).unwrap();
    let path = home.dir.join("out");
    std::fs::write(&path, out).unwrap();
    assert!(read::verify_file(&path, &proof()).unwrap().valid);
}

#[tokio::test]
async fn nothing_old_means_nothing_is_done() {
    let (home, log) = aged(7).await;
    let pruned = log.prune(second(0)).await.unwrap();
    assert_eq!((pruned.rows, pruned.first_kept), (0, 1));
    assert_eq!(home.rows().len(), 7);
    assert!(!std::fs::read_to_string(home.dir.join(checkpoints::NAME)).unwrap().contains("tombstone"));
}

#[tokio::test]
async fn a_call_that_still_runs_keeps_its_segment() {
    let (home, log) = aged(7).await;
    let begun = log.append(&[started("call_a")], &Redactor::none()).await.unwrap();
    for _ in 0..20 {
        log.append(&[row()], &Redactor::none()).await.unwrap();
    }
    let pruned = log.prune(second(1000)).await.unwrap();
    assert!(pruned.first_kept <= begun, "{pruned:?}");
    drop(log);
    assert_eq!(home.try_open().unwrap().1.interrupted, 1);
    home.assert_valid();
}

#[tokio::test]
async fn one_young_row_keeps_a_segment_wherever_it_stands_in_it() {
    let home = Home::new();
    let log = home.open();
    home.clock.set(second(5000));
    log.append(&[row()], &Redactor::none()).await.unwrap();
    home.clock.set(second(1));
    log.append(&[row()], &Redactor::none()).await.unwrap();
    assert_eq!(log.prune(second(1000)).await.unwrap().rows, 0);
}

#[tokio::test]
async fn a_crash_between_tombstone_and_removal_verifies_and_is_finished_at_the_next_start() {
    let (home, log) = aged(30).await;
    log.checkpoint().await.unwrap();
    let kept: Vec<(PathBuf, Vec<u8>)> =
        home.segments().into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    let pruned = log.prune(second(20)).await.unwrap();
    drop(log);
    let gone: Vec<_> = kept.iter().filter(|(path, _)| !path.exists()).collect();
    assert!(gone.len() >= 3);
    // As if the removal had stopped after any number of them, oldest first.
    for left in 1..=gone.len() {
        for (path, bytes) in gone.iter().rev().take(left) {
            std::fs::write(path, bytes).unwrap();
        }
        home.assert_valid();
        drop(home.open());
        assert_eq!(home.rows()[0]["seq"], pruned.first_kept);
        home.assert_valid();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pruning_and_verifying_while_others_write_and_read_disturbs_no_one() {
    let mut home = Home::new();
    home.segment_bytes = 3000;
    let log = home.open();
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let log = log.clone();
            tokio::spawn(async move {
                for _ in 0..300 {
                    log.append(&[row()], &Redactor::none()).await.unwrap();
                }
            })
        })
        .collect();
    while writers.iter().any(|writer| !writer.is_finished()) {
        log.prune(second(1000)).await.unwrap();
        home.assert_valid();
    }
    for writer in writers {
        writer.await.unwrap();
    }
    log.close().await;
    home.assert_valid();
}
