//! Hostile arguments, a table for each tool that has none beside its own tests: each call ends, with exactly this answer.

mod memory;
mod others;
mod scripts;
mod vault;
mod workspace;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use covenant_testkit::Home;
use serde_json::Value;

use super::{client, failure, text};
use crate::home;

/// What is told, without what begins every such answer.
enum Told {
    /// The gate refuses the arguments: nothing was run.
    Schema(&'static str),
    /// The tool fails.
    Fails(String),
    /// It is no failure.
    Says(&'static str),
}

/// A tool, and what it answers to what.
type Table = (&'static str, Vec<(Value, Told)>);

/// A text of that many characters.
fn long(count: usize) -> String {
    "x".repeat(count)
}

/// A home whose files are as odd as files can be.
fn odd() -> Home {
    let home = home();
    home.write(
        "config.toml",
        "[rate_limit]\nrate = 0\n[vault]\npath = \"vault\"\n[[calendars]]\nname = \"Own\"\npath = \"own.ics\"\n\
         [scripts]\nallowlist = [\"good\"]\n",
    );
    for (path, text) in [
        ("own.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n"),
        ("workspace/notes.md", "one\ntwo"),
        ("workspace/sub/a.md", ""),
        ("memory/client-ada/MEMORY.md", "x"),
        ("memory/client-ada/dir.md/x", ""),
        ("vault/Home.md", "x"),
        ("vault/.obsidian/app.json", "{}"),
        ("vault/.git/config", ""),
        ("vault/sub/a.md", ""),
        ("vault/huge.md", &long((2 << 20) + 1)),
        ("scripts/good.star", "x = 1\ndef main():\n    return 1\ndef add(a, b):\n    return a + b\n"),
        ("scripts/dir.star/x", ""),
        ("scripts/open.star", "result = 1\n"),
    ] {
        home.write(path, text);
    }
    let at = |path: &str| home.path().join(path);
    for (path, leads) in [
        ("workspace/link.md", "notes.md"),
        ("workspace/loop", "loop"),
        ("memory/client-ada/link.md", "MEMORY.md"),
        ("vault/link.md", "Home.md"),
        ("vault/up", ".."),
        ("scripts/link.star", "good.star"),
    ] {
        symlink(leads, at(path)).unwrap();
    }
    for path in ["workspace/pipe", "memory/client-ada/pipe.md", "vault/pipe.md"] {
        pipe(&at(path));
    }
    for path in ["vault/pic.png", "scripts/binary.star"] {
        fs::write(at(path), b"\xff\xfe").unwrap();
    }
    fs::set_permissions(at("scripts/binary.star"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(at("scripts/open.star"), fs::Permissions::from_mode(0o666)).unwrap();
    home
}

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn hostile_arguments_of_every_tool_get_exact_answers() {
    let home = odd();
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["*"]);
    let tables =
        [workspace::tables(), memory::tables(), vault::tables(), scripts::tables(), others::tables()];
    for (tool, rows) in tables.into_iter().flatten() {
        for (arguments, told) in rows {
            let shown: String = arguments.to_string().chars().take(200).collect();
            let answer = ada.call(tool, arguments);
            match told {
                Told::Schema(reason) => {
                    assert_eq!(answer["error"]["code"], -32602, "{tool} {shown}: {answer}");
                    let message = format!("Invalid params: invalid arguments for `{tool}`: {reason}");
                    assert_eq!(answer["error"]["message"], message, "{tool} {shown}");
                }
                Told::Fails(reason) => {
                    let told = failure(&answer).replace(&home.path().display().to_string(), "HOME");
                    assert_eq!(told, format!("Error: {reason}"), "{tool} {shown}");
                }
                Told::Says(words) => assert_eq!(text(&answer), words, "{tool} {shown}"),
            }
        }
    }
}
