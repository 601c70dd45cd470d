//! What is wrong with arguments of the memory's tools.

use serde_json::json;

use super::Told::{Fails, Says, Schema};
use super::{Table, Told, long};

/// What is told of a name that no file of the memory has.
fn no_file(name: &str) -> Told {
    Fails(format!(
        "`{name}` is no memory file: use MEMORY.md, today, a date like 2026-02-28.md, or a plain name like ideas.md"
    ))
}

/// One table for each of them.
pub(super) fn tables() -> Vec<Table> {
    let memory_read = vec![
        (json!({"file": 1}), Schema("`/file`: value is not of type \"string\"")),
        (json!({"file": null}), Schema("`/file`: value is not of type \"string\"")),
        (json!({"file": long(129)}), Schema("`/file`: value is longer than 128 characters")),
        (json!({"path": "MEMORY.md"}), Schema("arguments: Additional properties are not allowed ('path' was unexpected)")),
        (json!({"file": ""}), no_file("")),
        (json!({"file": "../client-bob/MEMORY.md"}), no_file("../client-bob/MEMORY.md")),
        (json!({"file": "/etc/passwd"}), no_file("/etc/passwd")),
        (json!({"file": ".hidden.md"}), no_file(".hidden.md")),
        (json!({"file": "MEMORY"}), no_file("MEMORY")),
        (json!({"file": "a\u{0}.md"}), no_file("a\\u{0}.md")),
        (json!({"file": "\u{202e}.md"}), no_file("\\u{202e}.md")),
        (json!({"file": "a\nb.md"}), no_file("a\\u{a}b.md")),
        (json!({"file": "none.md"}), Says("none.md was not written yet. Memory holds: MEMORY.md. Write with memory_write.")),
        (json!({"file": "Today"}), no_file("Today")),
        (json!({"file": "link.md"}), Says("x")),
        (json!({"file": "dir.md"}), Fails("failed to read memory: dir.md is a directory: name a file in it".into())),
        (json!({"file": "pipe.md"}), Fails("failed to read memory: pipe.md is a device, a pipe or a socket: only regular files are opened".into())),
    ];
    let memory_write = vec![
        (json!({}), Schema("arguments: \"content\" is a required property")),
        (json!({"content": 1}), Schema("`/content`: value is not of type \"string\"")),
        (json!({"content": "x", "append": "yes"}), Schema("`/append`: value is not of type \"boolean\"")),
        (json!({"content": "x", "file": 1}), Schema("`/file`: value is not of type \"string\"")),
        (json!({"content": "x", "file": long(129)}), Schema("`/file`: value is longer than 128 characters")),
        (json!({"content": "x", "more": 1}), Schema("arguments: Additional properties are not allowed ('more' was unexpected)")),
        (json!({"content": "x", "file": ""}), no_file("")),
        (json!({"content": "x", "file": "../x.md"}), no_file("../x.md")),
        (json!({"content": "x", "file": "x.txt"}), no_file("x.txt")),
        (json!({"content": "x", "file": "a\u{0}.md"}), no_file("a\\u{0}.md")),
        (json!({"content": "é".repeat((1 << 19) + 1), "file": "big.md"}), Fails("big.md would have 1048578 bytes, and the limit is 1048576; use several files".into())),
        (json!({"content": "x", "file": "link.md"}), Fails("failed to write memory: link.md is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"content": "x", "file": "link.md", "append": true}), Fails("failed to write memory: link.md is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"content": "x", "file": "dir.md"}), Fails("failed to write memory: dir.md is a directory: name a file in it".into())),
        (json!({"content": "x", "file": "pipe.md", "append": true}), Fails("failed to write memory: pipe.md is a device, a pipe or a socket: only regular files are opened".into())),
    ];
    vec![("memory_read", memory_read), ("memory_write", memory_write)]
}
