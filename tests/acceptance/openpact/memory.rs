//! Memory: what one principal wrote down it finds again, and nobody else does.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{client, failure, speaking, text, token};
use crate::unhurried;

const TOOLS: [&str; 2] = ["memory_read", "memory_write"];

/// PACT-27, PACT-28: written, added to, replaced and read; still there for the next daemon.
#[test]
fn what_was_remembered_is_read_again() {
    let home = unhurried();
    let daemon = home.up();
    let token = token(&home, "ada", &TOOLS);
    let mut ada = speaking(&home, &token);
    let before = ada.call("memory_read", json!({}));
    assert_eq!(
        text(&before),
        "MEMORY.md was not written yet. Memory holds: nothing yet. Write with memory_write."
    );
    let wrote = ada.call("memory_write", json!({"content": "- likes tea"}));
    assert_eq!(text(&wrote), "Wrote 11 bytes to MEMORY.md");
    let added = ada.call("memory_write", json!({"content": "- dislikes coffee", "append": true}));
    assert_eq!(text(&added), "Appended 17 bytes to MEMORY.md");
    ada.call("memory_write", json!({"content": "old", "file": "2026-02-28.md"}));
    ada.call("memory_write", json!({"content": "new", "file": "2026-02-28.md"}));
    drop(ada);
    daemon.stop();

    let _daemon = home.up();
    let mut ada = speaking(&home, &token);
    assert_eq!(text(&ada.call("memory_read", json!({}))), "- likes tea\n- dislikes coffee");
    assert_eq!(text(&ada.call("memory_read", json!({"file": "2026-02-28.md"}))), "new");
}

#[test]
fn todays_note_has_the_date_of_today() {
    let home = unhurried();
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &TOOLS);
    let days =
        || String::from_utf8(std::process::Command::new("date").arg("+%F").output().unwrap().stdout).unwrap();
    let before = days();
    let wrote = ada.call("memory_write", json!({"content": "x", "file": "today"}));
    let dates = [before, days()];
    assert!(
        dates.iter().any(|day| text(&wrote) == format!("Wrote 1 bytes to {}.md", day.trim())),
        "{wrote} {dates:?}"
    );
    assert_eq!(text(&ada.call("memory_read", json!({"file": "today"}))), "x");
}

#[test]
fn nobody_reads_what_another_remembers() {
    let home = unhurried();
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &TOOLS);
    let mut bob = client(&home, "bob", &[TOOLS.as_slice(), &["workspace_read", "workspace_list"]].concat());
    ada.call("memory_write", json!({"content": "ada's own"}));
    bob.call("memory_write", json!({"content": "bob's own"}));
    assert_eq!(text(&ada.call("memory_read", json!({}))), "ada's own");
    assert_eq!(text(&bob.call("memory_read", json!({}))), "bob's own");
    for file in [
        "../client-ada/MEMORY.md",
        "/client-ada/MEMORY.md",
        "client-ada/MEMORY.md",
        "..",
        ".",
        "",
        "a\u{0}.md",
    ] {
        let answer = bob.call("memory_read", json!({ "file": file }));
        let ending = "is no memory file: use MEMORY.md, today, a date like 2026-02-28.md, or a plain name like ideas.md";
        assert!(failure(&answer).starts_with("Error: `") && failure(&answer).ends_with(ending), "{answer}");
        let answer = bob.call("memory_write", json!({ "file": file, "content": "x" }));
        assert!(failure(&answer).ends_with(ending), "{answer}");
    }
    let around = home.path().join("memory/client-ada/MEMORY.md");
    for path in ["../memory/client-ada/MEMORY.md", around.to_str().unwrap()] {
        let answer = bob.call("workspace_read", json!({ "path": path }));
        assert!(failure(&answer).starts_with("Error: path escapes workspace: "), "{answer}");
    }
    for (path, mode) in [("memory/client-ada", 0o700), ("memory/client-ada/MEMORY.md", 0o600)] {
        let found = fs::metadata(home.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{path}");
    }
}
