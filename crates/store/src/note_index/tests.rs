//! What is found, in which order, and that nothing is ever lost that was not put.

use std::fs;

use proptest::prelude::*;

use super::*;

fn entry(path: &str, title: &str, text: &str) -> Entry {
    let stamp = Stamp { inode: 7, size: u64::try_from(text.len()).unwrap(), modified: 5 };
    Entry { path: path.to_owned(), title: title.to_owned(), text: text.to_owned(), stamp, ..Entry::default() }
}

fn index(directory: &tempfile::TempDir) -> NoteIndex {
    NoteIndex::open(&directory.path().join("index/notes.db"), Path::new("vault")).unwrap()
}

/// An index of these notes: path, title, text, with the words behind `#` as tags.
fn filled(directory: &tempfile::TempDir, notes: &[(&str, &str, &str)]) -> NoteIndex {
    let index = index(directory);
    let tags = |text: &str| {
        text.split_whitespace().filter_map(|word| Some(word.strip_prefix('#')?.to_owned())).collect()
    };
    let entries: Vec<Entry> = notes
        .iter()
        .map(|(path, title, text)| Entry { tags: tags(text), ..entry(path, title, text) })
        .collect();
    index.change(&entries, &[]).unwrap();
    index
}

fn paths(index: &NoteIndex, question: &str) -> Vec<String> {
    index.search(&Query::read(question)).unwrap().hits.into_iter().map(|hit| hit.path).collect()
}

const NOTES: &[(&str, &str, &str)] = &[
    ("a/Apollo.md", "Apollo", "The first landing on the moon. #space/moon"),
    ("a/Mars.md", "Mars", "Red, dusty, far. Not the moon. #space"),
    ("b/Moon.md", "Moon", "It orbits. #body #space/moon"),
    ("b/Cheese.md", "Cheese", "The moon, the moon, the moon is made of Käse"),
    ("c/Japan.md", "Japan", "私は日本語を話します。C++ && Rust 100%"),
];

#[test]
fn titles_come_before_text_and_whole_words_before_longer_ones() {
    let directory = tempfile::tempdir().unwrap();
    let index = filled(&directory, NOTES);
    assert_eq!(paths(&index, "moon").first().map(String::as_str), Some("b/Moon.md"));
    assert_eq!(paths(&index, "moon").len(), 4);
    assert_eq!(paths(&index, "land"), ["a/Apollo.md"], "how a word begins");
    assert_eq!(paths(&index, "kase"), ["b/Cheese.md"], "without its dots");
    assert_eq!(paths(&index, "KÄSE moon"), ["b/Cheese.md"]);
    assert_eq!(paths(&index, "apollo.md"), ["a/Apollo.md"], "its name");
    assert_eq!(paths(&index, "moon nothing"), Vec::<String>::new());
}

#[test]
fn phrases_tags_paths_and_negation_narrow_a_search() {
    let directory = tempfile::tempdir().unwrap();
    let index = filled(&directory, NOTES);
    assert_eq!(paths(&index, "\"on the moon\""), ["a/Apollo.md"]);
    assert_eq!(paths(&index, "moon -landing -cheese -orbits"), ["a/Mars.md"]);
    assert_eq!(paths(&index, "tag:space/moon moon").len(), 2);
    assert_eq!(paths(&index, "tag:#SPACE").len(), 3, "a tag has those beneath it");
    assert_eq!(paths(&index, "moon -tag:space"), ["b/Cheese.md"]);
    assert_eq!(paths(&index, "path:B/ moon -path:cheese"), ["b/Moon.md"]);
    assert_eq!(paths(&index, "-moon"), ["c/Japan.md"]);
    let under = Query { under: Some("a".to_owned()), ..Query::read("moon") };
    let found = index.search(&under).unwrap();
    assert_eq!((found.hits.len(), found.total), (2, 2));
    let one = Query { limit: 1, ..Query::read("moon") };
    let found = index.search(&one).unwrap();
    assert_eq!((found.hits.len(), found.total), (1, 4), "the rest is counted");
}

#[test]
fn where_no_word_fits_a_part_of_a_text_without_spaces_does() {
    let directory = tempfile::tempdir().unwrap();
    let index = filled(&directory, NOTES);
    assert_eq!(paths(&index, "rbit"), Vec::<String>::new(), "words are found by how they begin");
    assert_eq!(paths(&index, "日本"), ["c/Japan.md"]);
    assert_eq!(paths(&index, "&&"), ["c/Japan.md"]);
    assert_eq!(paths(&index, "日_"), Vec::<String>::new(), "signs of patterns are signs");
    assert_eq!(paths(&index, "%% 日本"), Vec::<String>::new());
}

#[test]
fn of_very_many_hits_titles_still_come_first() {
    let directory = tempfile::tempdir().unwrap();
    let index = index(&directory);
    let mut many: Vec<Entry> = (0..5000).map(|n| entry(&format!("{n}.md"), "T", "the moon again")).collect();
    many.insert(77, entry("best.md", "Moon", "x"));
    index.change(&many, &[]).unwrap();
    let found = index.search(&Query { limit: 3, ..Query::read("moon -mars") }).unwrap();
    assert_eq!(found.total, 5001);
    let paths: Vec<&str> = found.hits.iter().map(|hit| hit.path.as_str()).collect();
    assert_eq!(paths, ["best.md", "4999.md", "4998.md"]);
}

#[test]
fn a_note_put_again_replaces_itself_and_one_forgotten_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let index = filled(&directory, NOTES);
    index
        .change(&[entry("a/Mars.md", "Mars", "Green now")], &["b/Moon.md".to_owned(), "no.md".to_owned()])
        .unwrap();
    assert_eq!(paths(&index, "dusty"), Vec::<String>::new());
    assert_eq!(paths(&index, "green"), ["a/Mars.md"]);
    assert_eq!(paths(&index, "tag:space").len(), 1);
    assert_eq!(index.known().unwrap().len(), 4);
    assert_eq!(index.named("moon").unwrap(), Vec::<String>::new());
}

#[test]
fn links_are_found_by_the_name_they_lead_to() {
    let directory = tempfile::tempdir().unwrap();
    let index = index(&directory);
    let links = |links: &[&str]| links.iter().map(|link| (*link).to_owned()).collect();
    let from = |path: &str, targets| Entry { links: links(targets), ..entry(path, path, "") };
    index.change(&[from("a.md", &["b/Apollo.md", "Other"]), from("b/Apollo.md", &["a"])], &[]).unwrap();
    assert_eq!(index.leading_to("apollo").unwrap(), [("a.md".to_owned(), "b/Apollo.md".to_owned())]);
    assert_eq!(index.named("apollo").unwrap(), ["b/Apollo.md"]);
    assert_eq!(index.recent(1).unwrap().len(), 1);
}

#[test]
fn what_is_damaged_or_of_another_kind_begins_anew() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("index/notes.db");
    drop(filled(&directory, NOTES));
    assert_eq!(index(&directory).known().unwrap().len(), 5, "it is kept");
    let elsewhere = NoteIndex::open(&file, Path::new("elsewhere")).unwrap();
    assert_eq!(elsewhere.known().unwrap().len(), 0, "of another directory");
    drop(elsewhere);
    for bytes in [b"no database at all, and long enough to be looked at".repeat(100), Vec::new()] {
        drop(filled(&directory, NOTES));
        fs::write(&file, bytes).unwrap();
        let _ = fs::remove_file(directory.path().join("index/notes.db-wal"));
        assert_eq!(index(&directory).known().unwrap().len(), 0);
    }
    let open = filled(&directory, NOTES);
    open.writer.lock().unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    drop(open);
    assert_eq!(index(&directory).known().unwrap().len(), 0, "of another version");
}

#[test]
fn damage_that_shows_while_it_is_used_is_healed() {
    let directory = tempfile::tempdir().unwrap();
    let many: Vec<Entry> =
        (0..500).map(|n| entry(&format!("{n}.md"), "T", &format!("word{n} ").repeat(50))).collect();
    let open = index(&directory);
    open.change(&many, &[]).unwrap();
    drop(open);
    let file = directory.path().join("index/notes.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes.iter_mut().skip(8192).for_each(|byte| *byte = 0x5a);
    fs::write(&file, bytes).unwrap();
    let open = index(&directory);
    let (first, second) = (open.known().map(|known| known.len()), open.search(&Query::read("word7")));
    let lost = [first.is_err_and(|e| e == IndexError::Lost), second.is_err_and(|e| e == IndexError::Lost)];
    assert!(lost.contains(&true), "{lost:?}");
    assert_eq!(open.known().unwrap().len(), 0);
    open.change(&many, &[]).unwrap();
    assert_eq!(paths(&open, "word77"), ["77.md"]);
}

#[test]
fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let _open = filled(&directory, NOTES);
    let mode = |path: &str| fs::metadata(directory.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("index"), mode("index/notes.db"), mode("index/notes.db-wal")), (0o700, 0o600, 0o600));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_question_has_an_answer(question in "[a-c\"*():^+\\-&|%_'\\\\ \u{0}日é{}]{0,60}|tag:.{0,9}|path:.{0,9}|NEAR\\(.{0,9}|.{0,40}") {
        let directory = tempfile::tempdir().unwrap();
        let index = filled(&directory, &NOTES[..2]);
        let query = Query::read(&question);
        prop_assert!(index.search(&query).is_ok(), "{:?}", index.search(&query));
    }
}
