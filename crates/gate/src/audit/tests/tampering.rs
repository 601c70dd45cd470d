//! Every kind of tampering, on live files and on an export.

use covenant_model::audit::{Checkpoint, Hash, Tombstone};
use proptest::prelude::*;

use super::super::checkpoints;
use super::*;

/// Twelve rows in several segments with a checkpoint every fourth, and their export.
struct Scene {
    home: Home,
    export: PathBuf,
}

impl Scene {
    async fn new() -> Self {
        let mut home = Home::new();
        home.segment_bytes = 2000;
        let log = home.open();
        for seq in 1..=12 {
            log.append(&[row()], &Redactor::none()).await.unwrap();
            if seq % 4 == 0 {
                log.checkpoint().await.unwrap();
            }
        }
        drop(log);
        let export = home.dir.with_file_name("export.jsonl");
        assert_eq!(read::export(&home.dir, std::fs::File::create(&export).unwrap()).unwrap(), 12);
        let scene = Self { home, export };
        assert!(scene.home.segments().len() > 1);
        assert_eq!(scene.home.assert_valid().verified_to, 12);
        assert!(scene.judge_export().valid);
        scene
    }

    /// The same once more, without writing it anew.
    fn copied() -> Self {
        static FIRST: std::sync::OnceLock<Scene> = std::sync::OnceLock::new();
        let first = FIRST.get_or_init(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(Scene::new())
        });
        let home = Home::new();
        std::fs::create_dir(&home.dir).unwrap();
        for entry in std::fs::read_dir(&first.home.dir).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, home.dir.join(path.file_name().unwrap())).unwrap();
        }
        let export = home.dir.with_file_name("export.jsonl");
        Self { home, export }
    }

    fn judge_export(&self) -> Report {
        read::verify_file(&self.export, &proof()).unwrap()
    }

    /// Changes the lines of rows, wherever they are, on both sides.
    fn change_rows(&self, change: impl Fn(&mut Vec<String>)) {
        // All rows in the first segment: where a segment ends proves nothing.
        let mut rows: Vec<String> = Vec::new();
        for path in self.home.segments() {
            rows.extend(std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned));
            std::fs::write(&path, "").unwrap();
        }
        change(&mut rows);
        std::fs::write(self.home.dir.join("000001.jsonl"), join(&rows)).unwrap();
        self.change_export(change);
    }

    fn change_export(&self, change: impl Fn(&mut Vec<String>)) {
        // An export's rows are changed in place, its checkpoints stay where they are.
        let text = std::fs::read_to_string(&self.export).unwrap();
        let mut rows: Vec<String> =
            text.lines().filter(|line| line.starts_with("{\"seq\"")).map(str::to_owned).collect();
        change(&mut rows);
        let marks = text.lines().filter(|line| !line.starts_with("{\"seq\""));
        let mut merged = Vec::new();
        let mut rows = rows.into_iter().peekable();
        for mark in marks {
            let after = Checkpoint::read(mark.as_bytes()).unwrap().seq;
            while let Some(row) = rows.next_if(|row| seq_of(row) <= after) {
                merged.push(row);
            }
            merged.push(mark.to_owned());
        }
        merged.extend(rows);
        std::fs::write(&self.export, join(&merged)).unwrap();
    }

    fn change_marks(&self, change: impl Fn(&mut Vec<String>)) {
        let path = self.home.dir.join(checkpoints::NAME);
        let mut marks: Vec<String> =
            std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        change(&mut marks);
        std::fs::write(&path, join(&marks)).unwrap();
        let mut out = Vec::new();
        // The export of a home with such marks holds the same marks.
        let _ = read::export(&self.home.dir, &mut out);
        std::fs::write(&self.export, out).unwrap();
    }

    #[track_caller]
    fn assert_bad(&self, seq: u64, word: &str) {
        for report in [self.home.verify(), self.judge_export()] {
            assert!(!report.valid);
            let bad = report.first_bad.unwrap();
            assert_eq!(bad.seq, seq, "{}", bad.reason);
            assert!(bad.reason.contains(word), "{}", bad.reason);
        }
    }
}

fn join(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

fn seq_of(row: &str) -> u64 {
    covenant_model::audit::Row::seq_of(row.as_bytes()).unwrap_or(0)
}

fn hash_of(row: &str) -> Hash {
    covenant_model::audit::Row::read(row.as_bytes()).unwrap().checked().unwrap()
}

#[tokio::test]
async fn an_edited_row_is_found() {
    let scene = Scene::new().await;
    scene.change_rows(|rows| rows[5] = rows[5].replace("refused", "allowed"));
    scene.assert_bad(6, "row 6 was changed");
}

#[tokio::test]
async fn a_swapped_pair_is_found() {
    let scene = Scene::new().await;
    scene.change_rows(|rows| rows.swap(5, 6));
    scene.assert_bad(6, "out of its place");
}

#[tokio::test]
async fn a_deleted_row_is_found() {
    let scene = Scene::new().await;
    scene.change_rows(|rows| drop(rows.remove(5)));
    scene.assert_bad(6, "missing");
}

#[tokio::test]
async fn a_cut_tail_is_found() {
    let scene = Scene::new().await;
    scene.change_rows(|rows| rows.truncate(10));
    scene.assert_bad(11, "row 11 is missing: a checkpoint covers row 12");
    // An export without its last checkpoint is cut too, wherever it ends.
    let scene = Scene::new().await;
    let text = std::fs::read_to_string(&scene.export).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    std::fs::write(&scene.export, join(&lines[..lines.len() - 1])).unwrap();
    assert!(scene.judge_export().first_bad.unwrap().reason.contains("cut"));
}

#[tokio::test]
async fn a_cut_at_a_checkpoint_is_found_with_an_outside_anchor_only() {
    let scene = Scene::new().await;
    let marks = std::fs::read_to_string(scene.home.dir.join(checkpoints::NAME)).unwrap();
    let anchor = Checkpoint::read(marks.lines().last().unwrap().as_bytes()).unwrap();
    let anchored = proof().anchored_by(anchor);
    assert!(read::verify_dir(&scene.home.dir, &anchored).unwrap().anchored);
    assert!(read::verify_file(&scene.export, &anchored).unwrap().anchored);
    scene.change_marks(|marks| drop(marks.pop()));
    scene.change_rows(|rows| rows.truncate(8));
    assert!(scene.home.verify().valid);
    assert!(scene.judge_export().valid);
    for report in [read::verify_dir(&scene.home.dir, &anchored), read::verify_file(&scene.export, &anchored)]
    {
        let bad = report.unwrap().first_bad.unwrap();
        assert_eq!(bad.seq, 9);
        assert!(bad.reason.contains("tail was cut"), "{}", bad.reason);
    }
}

#[tokio::test]
async fn a_forged_checkpoint_is_found() {
    let forge = |mark: &mut String, key: u8, hash: Option<Hash>| {
        let old = Checkpoint::read(mark.as_bytes()).unwrap();
        let hash = hash.unwrap_or(old.hash);
        *mark = Checkpoint::sign(&SigningKey::from_bytes(&[key; 32]), old.seq, hash, old.ts, old.open_from)
            .line();
    };
    let scene = Scene::new().await;
    scene.change_marks(|marks| forge(&mut marks[1], 9, None));
    scene.assert_bad(8, "not trusted");
    let scene = Scene::new().await;
    scene.change_marks(|marks| forge(&mut marks[1], 5, Some(Hash::ZERO)));
    scene.assert_bad(8, "not the row that its checkpoint was signed for");
    let scene = Scene::new().await;
    scene.change_marks(|marks| marks[1] = marks[1].replace("\"seq\":8", "\"seq\":9"));
    scene.assert_bad(9, "signature is not valid");
}

#[tokio::test]
async fn a_log_signed_anew_with_another_key_is_not_trusted() {
    let scene = Scene::new().await;
    let other = Proof::trusting(&[SigningKey::from_bytes(&[9; 32]).verifying_key()]);
    assert_eq!(read::verify_dir(&scene.home.dir, &other).unwrap().first_bad.unwrap().seq, 4);
    assert!(!read::verify_file(&scene.export, &other).unwrap().valid);
}

#[tokio::test]
async fn a_pruned_prefix_without_its_tombstone_is_found() {
    let scene = Scene::new().await;
    scene.change_rows(|rows| drop(rows.drain(..5)));
    scene.assert_bad(1, "no tombstone");
    scene.change_marks(|marks| drop(marks.drain(..1)));
    assert_eq!(scene.home.verify().first_bad.unwrap().seq, 1);
}

#[tokio::test]
async fn a_tombstone_for_another_cut_is_found() {
    let scene = Scene::new().await;
    let rows: Vec<String> = scene.home.rows().iter().map(ToString::to_string).collect();
    assert_eq!(rows.len(), 12);
    let text: String =
        scene.home.segments().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let lines: Vec<&str> = text.lines().collect();
    let stone = |first: u64, hash: Hash, key: u8| {
        Tombstone::sign(
            &SigningKey::from_bytes(&[key; 32]),
            first,
            hash,
            first - 1,
            Timestamp::from_millis(1),
        )
        .line()
    };
    let (good, early) = (hash_of(lines[4]), hash_of(lines[3]));
    let path = scene.home.dir.join(checkpoints::NAME);
    let marks = std::fs::read_to_string(&path).unwrap();
    for (segment, index) in scene.home.segments().iter().zip(0..) {
        let rest = if index == 0 { lines[5..].join("\n") + "\n" } else { String::new() };
        std::fs::write(segment, rest).unwrap();
    }
    for (line, valid) in [
        (stone(6, good, 5), true),
        (stone(6, early, 5), false),
        (stone(5, early, 5), false),
        (stone(6, good, 9), false),
    ] {
        std::fs::write(&path, format!("{line}\n{marks}")).unwrap();
        assert_eq!(scene.home.verify().valid, valid, "{line}");
        let mut out = Vec::new();
        read::export(&scene.home.dir, &mut out).unwrap();
        std::fs::write(&scene.export, out).unwrap();
        assert_eq!(scene.judge_export().valid, valid, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_edits_of_any_bytes_before_the_last_checkpoint_are_found(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let scene = Scene::copied();
        let segments = scene.home.segments();
        let before: Vec<Vec<u8>> = segments.iter().map(|path| std::fs::read(path).unwrap()).collect();
        let mut after = before.clone();
        for (place, byte) in edits {
            let mut at = place.index(before.iter().map(Vec::len).sum());
            let segment = after.iter_mut().find(|bytes| { let here = at < bytes.len(); if !here { at -= bytes.len(); } here }).unwrap();
            segment[at] = byte;
        }
        prop_assume!(after != before);
        for (path, bytes) in segments.iter().zip(&after) {
            std::fs::write(path, bytes).unwrap();
        }
        prop_assert!(!scene.home.verify().valid);
        let mut out = Vec::new();
        if read::export(&scene.home.dir, &mut out).is_ok() {
            std::fs::write(&scene.export, out).unwrap();
            prop_assert!(!scene.judge_export().valid);
        }
    }
}
