//! The program that measures how well overlap is found, on a set small enough to know the figures of.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that runs the program it is about"
)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Texts by day: the third is the first in other words, the fifth is the fourth for another version, the last repeats the
/// second without anybody having linked the two.
const TEXTS: [(&str, &str); 7] = [
    ("a", "Retry uploads to object storage when the connection drops"),
    ("b", "Show the invoice currency on the billing page"),
    ("c", "Object storage uploads: retry when the connection drops"),
    ("d", "Upgrade kafka to 3.4.0"),
    ("e", "Upgrade kafka to 2.8.2"),
    ("f", "Translate onboarding mails"),
    ("g", "Show the invoice currency on the billing page"),
];

fn docs() -> String {
    let line = |(day, (id, title)): (i32, &(&str, &str))| {
        json!({"set": "mini", "id": id, "title": title, "created": format!("2026-01-{day:02}")}).to_string()
            + "\n"
    };
    (1..).zip(&TEXTS).map(line).collect()
}

fn eval(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overlap_eval"));
    command.arg("--data").arg(directory).args(words).output().unwrap()
}

fn with(docs: &str, pairs: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("docs.jsonl"), docs).unwrap();
    std::fs::write(directory.path().join("pairs.jsonl"), pairs).unwrap();
    directory
}

const LINK: &str = r#"{"set": "mini", "a": "a", "b": "c", "label": 1}"#;
/// Two texts that somebody looked at and found to be different work.
const NO_LINK: &str = r#"{"set": "mini", "a": "d", "b": "e", "label": 0}"#;

#[test]
fn the_figures_of_a_set_that_was_counted_by_hand() {
    let directory = with(&docs(), &format!("{LINK}\n{NO_LINK}\n"));
    let told = eval(directory.path(), &["--json"]);
    assert!(told.status.success(), "{told:?}");
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!((&told["warn_floor"], &told["escalation"]), (&json!(0.2), &json!(0.6)));
    let set = &told["sets"][0];
    assert_eq!((&set["set"], &set["texts"], &set["linked"]), (&json!("mini"), &json!(7), &json!(2)));
    assert_eq!(
        set["ranking"][0],
        json!({"texts": "all", "queries": 2, "mrr": 1.0, "recall_at_1": 1.0, "recall_at_5": 1.0})
    );
    // `g` has the title of a text before it, and is counted neither as a duplicate nor as another text.
    assert_eq!(
        set["replay"][0],
        json!({
            "texts": "all", "duplicates": 1, "warned": 1, "escalated": 1,
            "others": 5, "others_warned": 1, "others_escalated": 0,
        })
    );
    assert_eq!((&set["not_warned"], &set["escalated"]), (&json!([]), &json!([])));
}

#[test]
fn a_duplicate_that_is_not_found_is_listed_with_what_it_scored() {
    let far = r#"{"set": "mini", "a": "b", "b": "f"}"#;
    let directory = with(&docs(), far);
    let told = eval(directory.path(), &[]);
    assert!(told.status.success(), "{told:?}");
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(text.contains("linked pairs in the window that are not told (1)"), "{text}");
    assert!(text.contains("Translate onboarding mails / Show the invoice currency"), "{text}");
}

#[test]
fn a_pair_that_is_not_told_is_listed_though_another_duplicate_of_its_text_was() {
    // The third text is the first in other words, and somebody linked it to the second as well.
    let far = r#"{"set": "mini", "a": "b", "b": "c", "label": 1}"#;
    let directory = with(&docs(), &format!("{LINK}\n{far}\n"));
    let told = eval(directory.path(), &["--json"]);
    assert!(told.status.success(), "{told:?}");
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let set = &told["sets"][0];
    // By text: the second has the first, which is not told, and the third has both, of which one is.
    let figures = &set["replay"][0];
    assert_eq!((&figures["duplicates"], &figures["warned"]), (&json!(2), &json!(1)), "{figures}");
    let listed: Vec<&str> =
        set["not_warned"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let (retry, show, again) = (TEXTS[0].1, TEXTS[1].1, TEXTS[2].1);
    assert_eq!(listed.len(), 2, "{listed:?}");
    for (line, pair) in listed.iter().zip([format!("{show} / {retry}"), format!("{again} / {show}")]) {
        assert!(line.contains(&pair), "{line}");
    }
}

#[test]
fn what_cannot_be_read_is_named_and_nothing_is_measured() {
    let unread = |directory: &Path, why: &str| {
        let told = eval(directory, &[]);
        let error = String::from_utf8(told.stderr).unwrap();
        assert_eq!(told.status.code(), Some(1), "{error}");
        assert!(error.contains(why), "{why}: {error}");
        assert!(told.stdout.is_empty(), "{why}");
    };
    unread(tempfile::tempdir().unwrap().path(), "docs.jsonl cannot be read");
    for (docs, pairs, why) in [
        ("{", "", "docs.jsonl:1: EOF"),
        (
            r#"{"set": "s", "id": "a", "title": "t", "created": "soon"}"#,
            "",
            "docs.jsonl:1: `created` is no date: soon",
        ),
        (r#"{"set": "s", "id": "a", "created": "2026-01-01"}"#, "", "docs.jsonl:1: no `title`"),
        (&format!("{}{}", docs(), docs()), "", "docs.jsonl:8: another line of its set has the id a"),
        (&docs(), r#"{"set": "mini", "a": "a", "b": "z"}"#, "pairs.jsonl:1: the set `mini` has no text `z`"),
        (&docs(), r#"{"set": "maxi", "a": "a", "b": "c"}"#, "pairs.jsonl:1: the set `maxi` has no text `a`"),
    ] {
        unread(with(docs, pairs).path(), why);
    }
    let usage = Command::new(env!("CARGO_BIN_EXE_overlap_eval")).output().unwrap();
    assert_eq!(usage.status.code(), Some(2), "{usage:?}");
}
