//! What is wrong with arguments of the vault's tools.

use serde_json::json;

use super::Told::{Fails, Says, Schema};
use super::{Table, long};

/// One table for each of them.
pub(super) fn tables() -> Vec<Table> {
    let vault_read = vec![
        (json!({}), Schema("arguments: \"path\" is a required property")),
        (json!({"path": 1}), Schema("`/path`: value is not of type \"string\"")),
        (json!({"path": long(4097)}), Schema("`/path`: value is longer than 4096 characters")),
        (json!({"path": "Home.md", "raw": true}), Schema("arguments: Additional properties are not allowed ('raw' was unexpected)")),
        (json!({"path": ""}), Fails("path is required: name a file beneath vault, like notes.md".into())),
        (json!({"path": "."}), Fails("failed to read file: . is a directory: name a file in it".into())),
        (json!({"path": ".."}), Fails("path escapes vault: .. leads outside; use a path beneath it, like notes.md or /vault/notes.md".into())),
        (json!({"path": "../config.toml"}), Fails("path escapes vault: ../config.toml leads outside; use a path beneath it, like notes.md or /vault/notes.md".into())),
        (json!({"path": "/etc/passwd"}), Fails("path escapes vault: /etc/passwd leads outside; use a path beneath it, like notes.md or /vault/notes.md".into())),
        (json!({"path": "a\u{0}b"}), Fails("a\\u{0}b has a NUL character: no file can be called that; leave it out".into())),
        (json!({"path": ".obsidian/app.json"}), Fails(".obsidian/app.json is no note: names that begin with a dot belong to Obsidian and git; use another name".into())),
        (json!({"path": "sub"}), Fails("failed to read file: sub is a directory: name a file in it".into())),
        (json!({"path": "none"}), Fails("file not found: none is not in the vault; look for it with vault_search or vault_list".into())),
        (json!({"path": "pic.png"}), Fails("pic.png is not text: only notes can be read here; open it with another program".into())),
        (json!({"path": "up/config.toml"}), Fails("failed to read file: up/config.toml is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"path": "link.md"}), Fails("failed to read file: link.md is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"path": "pipe.md"}), Fails("failed to read file: pipe.md is a device, a pipe or a socket: only regular files are opened".into())),
        (json!({"path": "huge.md"}), Fails("failed to read file: huge.md is too large: the limit is 2097152 bytes; use less, or several files".into())),
        (json!({"path": "Home.md/x"}), Fails("failed to read file: Home.md/x is not a directory, or goes through a file: list what is above it".into())),
    ];
    let vault_write = vec![
        (json!({}), Schema("arguments: \"path\" is a required property; arguments: \"content\" is a required property")),
        (json!({"path": "a.md"}), Schema("arguments: \"content\" is a required property")),
        (json!({"path": 1, "content": "x"}), Schema("`/path`: value is not of type \"string\"")),
        (json!({"path": "a.md", "content": 1}), Schema("`/content`: value is not of type \"string\"")),
        (json!({"path": "a.md", "content": "x", "commit_message": 1}), Schema("`/commit_message`: value is not of type \"string\"")),
        (json!({"path": "a.md", "content": "x", "commit_message": long(2001)}), Schema("`/commit_message`: value is longer than 2000 characters")),
        (json!({"path": "a.md", "content": "x", "force": true}), Schema("arguments: Additional properties are not allowed ('force' was unexpected)")),
        (json!({"path": "", "content": "x"}), Fails("path is required: name a file beneath vault, like notes.md".into())),
        (json!({"path": "..", "content": "x"}), Fails("path escapes vault: .. leads outside; use a path beneath it, like notes.md or /vault/notes.md".into())),
        (json!({"path": "../config.toml", "content": "x"}), Fails("path escapes vault: ../config.toml leads outside; use a path beneath it, like notes.md or /vault/notes.md".into())),
        (json!({"path": ".git/config", "content": "x"}), Fails(".git/config is no note: names that begin with a dot belong to Obsidian and git; use another name".into())),
        (json!({"path": "a/.git/config", "content": "x"}), Fails("a/.git/config is no note: names that begin with a dot belong to Obsidian and git; use another name".into())),
        (json!({"path": "a\u{0}b", "content": "x"}), Fails("a\\u{0}b has a NUL character: no file can be called that; leave it out".into())),
        (json!({"path": "up/x.md", "content": "x"}), Fails("failed to write file: up/x.md is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"path": "link.md", "content": "x"}), Fails("failed to write file: link.md is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"path": "sub/", "content": "x"}), Fails("failed to write file: sub is a directory: name a file in it".into())),
        (json!({"path": "Home.md/x", "content": "x"}), Fails("failed to write file: Home.md/x.md is not a directory, or goes through a file: list what is above it".into())),
        (json!({"path": "big.md", "content": "é".repeat((1 << 20) + 1)}), Fails("the note has 2097154 bytes and may have 2097152: use several notes".into())),
    ];
    let vault_list = vec![
        (json!({"path": 1}), Schema("`/path`: value is not of type \"string\"")),
        (json!({"recursive": "yes"}), Schema("`/recursive`: value is not of type \"boolean\"")),
        (json!({"path": long(4097)}), Schema("`/path`: value is longer than 4096 characters")),
        (json!({"depth": 1}), Schema("arguments: Additional properties are not allowed ('depth' was unexpected)")),
        (json!({"path": ".."}), Fails("path escapes vault: .. leads outside; use a path beneath it, like notes.md or /vault/notes.md".into())),
        (json!({"path": "/etc"}), Fails("path escapes vault: /etc leads outside; use a path beneath it, like notes.md or /vault/notes.md".into())),
        (json!({"path": ".obsidian"}), Fails(".obsidian is no note: names that begin with a dot belong to Obsidian and git; use another name".into())),
        (json!({"path": "up"}), Fails("failed to list directory: up is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"path": "none"}), Fails("failed to list directory: none does not exist in vault: list the directory to see what is there".into())),
        (json!({"path": "Home.md"}), Fails("failed to list directory: Home.md is not a directory, or goes through a file: list what is above it".into())),
        (json!({"path": "a\u{0}b"}), Fails("a\\u{0}b has a NUL character: no file can be called that; leave it out".into())),
    ];
    let vault_search = vec![
        (json!({}), Schema("arguments: \"query\" is a required property")),
        (json!({"query": 1}), Schema("`/query`: value is not of type \"string\"")),
        (json!({"query": long(1001)}), Schema("`/query`: value is longer than 1000 characters")),
        (json!({"query": "x", "path": 1}), Schema("`/path`: value is not of type \"string\"")),
        (json!({"query": "x", "limit": 1}), Schema("arguments: Additional properties are not allowed ('limit' was unexpected)")),
        (json!({"query": ""}), Fails("query is required: name a word, a \"phrase\", tag:name or path:part".into())),
        (json!({"query": " \n "}), Fails("query is required: name a word, a \"phrase\", tag:name or path:part".into())),
        (json!({"query": "x", "path": ".."}), Fails("path escapes vault: .. leads outside; use a path beneath it, like notes.md or /vault/notes.md".into())),
        (json!({"query": "x", "path": ".obsidian"}), Fails(".obsidian is no note: names that begin with a dot belong to Obsidian and git; use another name".into())),
        (json!({"query": "x", "path": "up"}), Fails("failed to search: up is, or goes through, a symbolic link that is not followed here: name the file it leads to".into())),
        (json!({"query": "x", "path": "none"}), Fails("failed to search: none does not exist in vault: list the directory to see what is there".into())),
        (json!({"query": "\u{0}"}), Fails("query is required: name a word, a \"phrase\", tag:name or path:part".into())),
        (json!({"query": "\") OR 1=1 --"}), Says("No files containing '\") OR 1=1 --'")),
    ];
    vec![
        ("vault_read", vault_read),
        ("vault_write", vault_write),
        ("vault_list", vault_list),
        ("vault_search", vault_search),
    ]
}
