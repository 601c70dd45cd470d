//! What is wrong with arguments of the workspace's tools.

use serde_json::json;

use super::Told::{Fails, Says, Schema};
use super::{Table, long};

/// One table for each of them.
pub(super) fn tables() -> Vec<Table> {
    let workspace_read = vec![
        (json!({}), Schema("arguments: \"path\" is a required property")),
        (json!({"path": 1}), Schema("`/path`: value is not of type \"string\"")),
        (json!({"path": null}), Schema("`/path`: value is not of type \"string\"")),
        (json!({"path": long(4097)}), Schema("`/path`: value is longer than 4096 characters")),
        (json!({"path": "notes.md", "offset": 0}), Schema("`/offset`: value is less than the minimum of 1")),
        (json!({"path": "notes.md", "offset": 1.5}), Schema("`/offset`: value is not of type \"integer\"")),
        (
            json!({"path": "notes.md", "offset": 9_007_199_254_740_992_i64}),
            Schema("`/offset`: value is greater than the maximum of 9007199254740991"),
        ),
        (json!({"path": "notes.md", "limit": -1}), Schema("`/limit`: value is less than the minimum of 1")),
        (
            json!({"path": "notes.md", "limit": 1_000_001}),
            Schema("`/limit`: value is greater than the maximum of 1000000"),
        ),
        (
            json!({"path": "notes.md", "more": true}),
            Schema("arguments: Additional properties are not allowed ('more' was unexpected)"),
        ),
    ];
    let workspace_write = vec![
        (json!({}), Schema("arguments: \"path\" is a required property; arguments: \"content\" is a required property")),
        (json!({"path": "a.md"}), Schema("arguments: \"content\" is a required property")),
        (json!({"path": 1, "content": "x"}), Schema("`/path`: value is not of type \"string\"")),
        (json!({"path": "a.md", "content": 5}), Schema("`/content`: value is not of type \"string\"")),
        (json!({"path": "a.md", "content": "x", "mode": "0777"}), Schema("arguments: Additional properties are not allowed ('mode' was unexpected)")),
        (json!({"path": long(4097), "content": "x"}), Schema("`/path`: value is longer than 4096 characters")),
        (json!({"path": "", "content": "x"}), Fails("path is required: name a file beneath workspace, like notes.md".into())),
        (json!({"path": ".", "content": "x"}), Fails("failed to write file: . is a directory: name a file in it".into())),
        (json!({"path": "/workspace", "content": "x"}), Fails("failed to write file: /workspace is a directory: name a file in it".into())),
        (json!({"path": "a\u{0}b", "content": "x"}), Fails("failed to write file: a\\u{0}b has a NUL character: no file can be called that; leave it out".into())),
        (json!({"path": "a\nError: b/../../x", "content": "x"}), Fails("failed to write file: a\\u{a}Error: b/../../x does not exist in workspace: list the directory to see what is there".into())),
        (json!({"path": long(256), "content": "x"}), Fails(format!("failed to write file: {}… is too long: a path has at most 4096 bytes, 255 between two slashes, and 128 parts; use a shorter one", long(200)))),
        (json!({"path": "../new.txt", "content": "x"}), Fails("path escapes workspace: ../new.txt leads outside; use a path beneath it, like notes.md or /workspace/notes.md".into())),
        (json!({"path": "/etc/new.txt", "content": "x"}), Fails("path escapes workspace: /etc/new.txt leads outside; use a path beneath it, like notes.md or /workspace/notes.md".into())),
        (json!({"path": "pipe", "content": "x"}), Fails("failed to write file: pipe is a device, a pipe or a socket: only regular files are opened".into())),
        (json!({"path": "notes.md/x", "content": "x"}), Fails("failed to write file: notes.md/x is not a directory, or goes through a file: list what is above it".into())),
        (json!({"path": "link.md", "content": "x"}), Fails("failed to write file: link.md is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"path": "sub", "content": "x"}), Fails("failed to write file: sub is a directory: name a file in it".into())),
        (json!({"path": format!("{}b", "a/".repeat(129)), "content": "x"}), Fails(format!("failed to write file: {}… is too long: a path has at most 4096 bytes, 255 between two slashes, and 128 parts; use a shorter one", "a/".repeat(100)))),
    ];
    let workspace_list = vec![
        (json!({"path": 1}), Schema("`/path`: value is not of type \"string\"")),
        (json!({"limit": 0}), Schema("`/limit`: value is less than the minimum of 1")),
        (json!({"limit": 100_001}), Schema("`/limit`: value is greater than the maximum of 100000")),
        (json!({"limit": "5"}), Schema("`/limit`: value is not of type \"integer\"")),
        (json!({"limit": 1.5}), Schema("`/limit`: value is not of type \"integer\"")),
        (json!({"after": 5}), Schema("`/after`: value is not of type \"string\"")),
        (json!({"after": long(1025)}), Schema("`/after`: value is longer than 1024 characters")),
        (json!({"deep": true}), Schema("arguments: Additional properties are not allowed ('deep' was unexpected)")),
        (json!({"path": long(4097)}), Schema("`/path`: value is longer than 4096 characters")),
        (json!({"path": ".."}), Fails("path escapes workspace: .. leads outside; use a path beneath it, like notes.md or /workspace/notes.md".into())),
        (json!({"path": "/etc"}), Fails("path escapes workspace: /etc leads outside; use a path beneath it, like notes.md or /workspace/notes.md".into())),
        (json!({"path": "notes.md"}), Fails("failed to list directory: notes.md is not a directory, or goes through a file: list what is above it".into())),
        (json!({"path": "none"}), Fails("failed to list directory: none does not exist in workspace: list the directory to see what is there".into())),
        (json!({"path": "a\u{0}b"}), Fails("failed to list directory: a\\u{0}b has a NUL character: no file can be called that; leave it out".into())),
        (json!({"path": "pipe"}), Fails("failed to list directory: pipe is not a directory, or goes through a file: list what is above it".into())),
        (json!({"path": "loop"}), Fails("failed to list directory: loop is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"path": ""}), Says("link.md\nloop\nnotes.md\npipe\nsub/")),
        (json!({"after": "\u{202e}"}), Says("No files found")),
    ];
    vec![
        ("workspace_read", workspace_read),
        ("workspace_write", workspace_write),
        ("workspace_list", workspace_list),
    ]
}
