//! What a crash leaves, and what only tampering leaves.

use proptest::prelude::*;

use super::super::checkpoints;
use super::*;

/// Rows, a checkpoint in the middle, then a crash: no close.
async fn crashed(home: &Home) {
    let log = home.open();
    log.append(&[row(), started("call_a"), started("call_b")], &Redactor::none()).await.unwrap();
    log.append(&[finished("call_a", 2)], &Redactor::none()).await.unwrap();
    log.checkpoint().await.unwrap();
    log.append(&[row(), started("call_c"), row()], &Redactor::none()).await.unwrap();
}

#[tokio::test]
async fn calls_that_never_ended_are_ended_at_the_next_start() {
    let home = Home::new();
    crashed(&home).await;
    let (log, opened) = home.try_open().unwrap();
    assert_eq!(opened, Opened { last: 7, cut_bytes: 0, interrupted: 2 });
    let rows = home.rows();
    let ended: Vec<_> = rows.iter().filter(|row| row["kind"] == "CallInterrupted").collect();
    assert_eq!(ended.len(), 2);
    for (row, call, began) in [(ended[0], "call_b", 3), (ended[1], "call_c", 6)] {
        assert_eq!((row["call"].as_str(), row["started"].as_u64()), (Some(call), Some(began)));
        assert_eq!((&row["principal"], &row["agent_id"]), (&"client:a".into(), &"tool:echo".into()));
        assert_eq!(row["decision"], "interrupted");
    }
    drop(log);
    assert_eq!(home.try_open().unwrap().1, Opened { last: 9, cut_bytes: 0, interrupted: 0 });
    home.assert_valid();
}

#[tokio::test]
async fn a_crash_at_any_byte_after_the_last_checkpoint_needs_no_help() {
    let home = Home::new();
    crashed(&home).await;
    let path = home.dir.join("000001.jsonl");
    let whole = std::fs::read(&path).unwrap();
    let marks = std::fs::read(home.dir.join(checkpoints::NAME)).unwrap();
    let covered = whole.split_inclusive(|byte| *byte == b'\n').take(4).map(<[u8]>::len).sum::<usize>();
    let ends = (covered..=whole.len()).filter(|at| whole[at - 1] == b'\n' || whole.get(*at) == Some(&b'\n'));
    for length in (covered..whole.len()).step_by(7).chain(ends) {
        std::fs::write(&path, &whole[..length]).unwrap();
        std::fs::write(home.dir.join(checkpoints::NAME), &marks).unwrap();
        assert!(home.verify().valid, "half a line is no damage");
        let (log, opened) = home.try_open().unwrap();
        let last_end = whole[..length].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(opened.cut_bytes, u64::try_from(length - last_end).unwrap());
        assert_eq!(home.kinds().contains(&"LogRecovered".to_owned()), length != last_end);
        drop(log);
        home.assert_valid();
    }
}

#[tokio::test]
async fn half_a_checkpoint_is_cut_off() {
    let home = Home::new();
    home.filled(3).await;
    let path = home.dir.join(checkpoints::NAME);
    let before = std::fs::read(&path).unwrap();
    add_to(&path, b"{\"checkpoint\":{\"seq\":3,\"ha");
    home.assert_valid();
    drop(home.open());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn garbage_at_the_end_is_cut_off_and_kept_aside() {
    let home = Home::new();
    home.filled(3).await;
    add_to(&home.dir.join("000001.jsonl"), b"\0\0\0\0\n\0\0");
    let (log, opened) = home.try_open().unwrap();
    assert_eq!(opened.cut_bytes, 7);
    assert_eq!(std::fs::read(home.dir.join("cut-before-4.bytes")).unwrap(), b"\0\0\0\0\n\0\0");
    drop(log);
    home.assert_valid();
    add_to(&home.dir.join("000001.jsonl"), &vec![0; 1 << 20]);
    assert_eq!(home.try_open().unwrap().1.cut_bytes, 1 << 20);
    home.assert_valid();
}

#[tokio::test]
async fn damage_that_a_checkpoint_covers_is_refused_with_the_row_and_the_way_out() {
    let home = Home::new();
    let log = home.open();
    log.append(&[row(), started("call_a"), row(), row()], &Redactor::none()).await.unwrap();
    log.close().await;
    drop(log);
    let path = home.dir.join("000001.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let edited = whole.replacen("client:a", "client:b", 1);
    let cut = lines[..3].concat();
    let half = whole[..whole.len() - 5].to_owned();
    for (text, row) in [(edited, 2), (cut, 4), (half, 4), (String::new(), 2)] {
        std::fs::write(&path, &text).unwrap();
        let error = home.try_open().err().unwrap();
        assert!(matches!(error, OpenError::Damaged { row: found, .. } if found == row), "{error}");
        assert!(error.to_string().contains("covenant audit verify"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "nothing was repaired");
    }
}

#[tokio::test]
async fn rows_that_vanished_without_a_tombstone_are_refused() {
    let mut home = Home::new();
    home.segment_bytes = 1;
    home.filled(4).await;
    std::fs::remove_file(home.dir.join(checkpoints::NAME)).unwrap();
    std::fs::remove_file(home.dir.join("000001.jsonl")).unwrap();
    assert!(matches!(home.try_open(), Err(OpenError::Damaged { row: 1, .. })));
}

#[tokio::test]
async fn a_checkpoint_by_another_key_is_refused() {
    let home = Home::new();
    home.filled(2).await;
    let mut options = home.options();
    options.key = SigningKey::from_bytes(&[6; 32]);
    assert!(matches!(AuditLog::open(options), Err(OpenError::Damaged { row: 2, .. })));
}

#[tokio::test]
async fn opening_reads_the_end_only() {
    let mut home = Home::new();
    home.segment_bytes = 4000;
    home.filled(200).await;
    // What was damaged long ago is for `verify` to find; the daemon starts without reading it.
    let first = home.dir.join("000001.jsonl");
    let text = std::fs::read_to_string(&first).unwrap();
    std::fs::write(&first, text.replacen("user@local", "user@lokal", 1)).unwrap();
    assert_eq!(home.try_open().unwrap().1.last, 200);
    assert_eq!(home.verify().first_bad.unwrap().seq, 1);
}

/// Copies the files as a crash of the machine's choosing would leave them, checkpoints first.
fn snapshot(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let marks = checkpoints::NAME;
    if from.join(marks).exists() {
        std::fs::copy(from.join(marks), to.join(marks)).unwrap();
    }
    for segment in segment::list(from).unwrap() {
        std::fs::copy(&segment.path, to.join(segment.path.file_name().unwrap())).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_copy_taken_at_any_moment_of_heavy_writing_opens_and_verifies() {
    let mut home = Home::new();
    home.segment_bytes = 100_000;
    home.limits.checkpoint_rows = 64;
    home.limits.sync_after = Duration::from_millis(1);
    let log = home.open();
    let writers: Vec<_> = (0..16)
        .map(|task| {
            let log = log.clone();
            tokio::spawn(async move {
                for turn in 0..200 {
                    let call = format!("call_{task}_{turn}");
                    let begun = log.append(&[row(), started(&call)], &Redactor::none()).await.unwrap();
                    log.append(&[finished(&call, begun)], &Redactor::none()).await.unwrap();
                }
            })
        })
        .collect();
    for _ in 0..20 {
        let answered = *log.subscribe().borrow();
        let mut copy = Home::new();
        copy.segment_bytes = home.segment_bytes;
        snapshot(&home.dir, &copy.dir);
        let (reopened, opened) = copy.try_open().unwrap();
        assert!(opened.last >= answered, "an answered row is missing");
        drop(reopened);
        copy.assert_valid();
        assert_eq!(copy.try_open().unwrap().1.interrupted, 0);
    }
    for writer in writers {
        writer.await.unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn reopening_after_any_crashes_in_a_row_keeps_one_chain(cuts in proptest::collection::vec(0_usize..900, 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::new();
            let mut last = 0;
            for cut in cuts {
                let (log, opened) = home.try_open().unwrap();
                prop_assert!(opened.last >= last);
                last = log.checkpoint().await.unwrap().seq;
                log.append(&[row(), started("call_x")], &Redactor::none()).await.unwrap();
                drop(log);
                let path = home.segments().pop().unwrap();
                let length = std::fs::metadata(&path).unwrap().len();
                let covered = std::fs::read_to_string(&path).unwrap();
                let kept = covered.split_inclusive('\n').take(usize::try_from(last).unwrap()).map(str::len).sum::<usize>();
                let cut = length.saturating_sub(u64::try_from(cut).unwrap()).max(u64::try_from(kept).unwrap());
                std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
            }
            drop(home.open());
            prop_assert!(home.verify().valid);
            Ok(())
        })?;
    }
}
