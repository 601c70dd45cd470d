//! The workspace: what lies in it is read, written and listed; what does not is never seen.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use covenant_testkit::{Home, StdioClient};
use serde_json::{Value, json};

use super::{client, failure, text};
use crate::unhurried;

const TOOLS: [&str; 3] = ["workspace_read", "workspace_write", "workspace_list"];

fn ada(home: &Home) -> StdioClient {
    client(home, "ada", &TOOLS)
}

/// PACT-17: the words of the document.
#[test]
fn workspace_read_is_described_as_documented() {
    let home = unhurried();
    let _daemon = home.up();
    let listed = ada(&home).request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let read = tools.iter().find(|tool| tool["name"] == "workspace_read").unwrap();
    assert_eq!(read["description"], "Read a file from the workspace");
    assert_eq!(read["inputSchema"]["required"], json!(["path"]));
    let path = &read["inputSchema"]["properties"]["path"];
    assert_eq!(path["type"], "string");
    assert_eq!(path["description"], "Path to the file relative to workspace root");
    assert_eq!(read["annotations"]["readOnlyHint"], true);
}

/// PACT-24, PACT-25, PACT-26: what is written is listed and read again, and lies in the home's workspace.
#[test]
fn files_are_written_listed_and_read() {
    let home = unhurried();
    let _daemon = home.up();
    let mut ada = ada(&home);
    let wrote = ada.call("workspace_write", json!({"path": "reports/june.md", "content": "# June\nfür\n"}));
    assert_eq!(text(&wrote), "Wrote 12 bytes to reports/june.md");
    assert_eq!(fs::read_to_string(home.path().join("workspace/reports/june.md")).unwrap(), "# June\nfür\n");
    ada.call("workspace_write", json!({"path": "notes.md", "content": "hi"}));
    assert_eq!(text(&ada.call("workspace_list", json!({}))), "notes.md\nreports/");
    assert_eq!(text(&ada.call("workspace_list", json!({"path": "reports"}))), "june.md");
    assert_eq!(text(&ada.call("workspace_read", json!({"path": "reports/june.md"}))), "# June\nfür\n");
    let second = ada.call("workspace_read", json!({"path": "reports/june.md", "offset": 2, "limit": 1}));
    assert_eq!(text(&second), "für\n");
}

/// PACT-62, PACT-73: the paths the document allows, and the same ones relative.
#[test]
fn absolute_paths_of_the_workspace_mean_what_relative_ones_do() {
    let home = unhurried();
    let _daemon = home.up();
    let mut ada = ada(&home);
    for path in ["/workspace/notes.md", "/workspace/subdir/file.txt"] {
        ada.call("workspace_write", json!({"path": path, "content": path}));
    }
    let real = home.path().join("workspace/notes.md");
    for (path, content) in [
        ("notes.md", "/workspace/notes.md"),
        ("/workspace/notes.md", "/workspace/notes.md"),
        (real.to_str().unwrap(), "/workspace/notes.md"),
        ("subdir/file.txt", "/workspace/subdir/file.txt"),
        ("/workspace/subdir/file.txt", "/workspace/subdir/file.txt"),
        ("subdir/../notes.md", "/workspace/notes.md"),
    ] {
        assert_eq!(text(&ada.call("workspace_read", json!({ "path": path }))), content, "{path}");
    }
}

/// PACT-55, PACT-60, PACT-63: the paths the document blocks, and every other way out.
#[test]
fn nothing_outside_the_workspace_is_read_written_or_listed() {
    let home = unhurried();
    let _daemon = home.up();
    let mut ada = ada(&home);
    let work = home.path().join("workspace");
    fs::create_dir_all(&work).unwrap();
    home.write("workspace-evil/secret.txt", "never");
    symlink("..", work.join("up")).unwrap();
    symlink(home.path().join("identity"), work.join("identity")).unwrap();
    symlink("../config.toml", work.join("config.toml")).unwrap();
    let evil = home.path().join("workspace-evil/secret.txt");
    for path in [
        "/workspace/../etc/passwd",
        "/etc/passwd",
        "../workspace-evil/secret.txt",
        evil.to_str().unwrap(),
        "/workspace-evil/secret.txt",
        "up/workspace-evil/secret.txt",
        "identity/operator.token",
        "config.toml",
    ] {
        let answer = ada.call("workspace_read", json!({ "path": path }));
        let escapes = format!(
            "Error: path escapes workspace: {path} leads outside; use a path beneath it, like notes.md or /workspace/notes.md"
        );
        assert_eq!(failure(&answer), escapes);
    }
    let before = files(&home.path());
    let followed =
        "is, or goes through, a symbolic link that is not followed here: name the file it leads to";
    let escapes = |path: &str| {
        format!(
            "path escapes workspace: {path} leads outside; use a path beneath it, like notes.md or /workspace/notes.md"
        )
    };
    for (path, told) in [
        ("../new.txt", escapes("../new.txt")),
        ("/workspace/../etc/passwd", escapes("/workspace/../etc/passwd")),
        ("/etc/passwd", escapes("/etc/passwd")),
        ("/etc/new.txt", escapes("/etc/new.txt")),
        ("/workspace-evil/secret.txt", escapes("/workspace-evil/secret.txt")),
        ("up/new.txt", escapes("up/new.txt")),
        ("config.toml", format!("failed to write file: config.toml {followed}")),
        ("identity/operator.token", escapes("identity/operator.token")),
    ] {
        let answer = ada.call("workspace_write", json!({"path": path, "content": "x"}));
        assert_eq!(failure(&answer), format!("Error: {told}"));
    }
    assert_eq!(files(&home.path()), before, "no file is there that was not, and none is another");
    assert!(before.keys().any(|file| file.ends_with("identity/operator.token")), "{before:?}");
    assert!(!Path::new("/etc/new.txt").exists());
    for path in ["..", "up", "identity", "/etc"] {
        let answer = ada.call("workspace_list", json!({ "path": path }));
        assert!(failure(&answer).starts_with("Error: path escapes workspace: "), "{answer}");
    }
}

/// The files below a directory that do not change by themselves, with what is in them.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let own = ["logs", "audit", "index", "covenant.db", "covenant.db-wal", "covenant.db-shm"];
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if own.iter().any(|name| path.ends_with(name)) {
        } else if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_file() {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// Every call ends, whatever lies there and whatever it is called.
#[test]
fn hostile_arguments_get_exact_answers() {
    let home = unhurried();
    let _daemon = home.up();
    let mut ada = ada(&home);
    ada.call("workspace_write", json!({"path": "notes.md", "content": "one\ntwo"}));
    let made = std::process::Command::new("mkfifo").arg(home.path().join("workspace/pipe")).status().unwrap();
    assert!(made.success());
    for (arguments, sentence) in [
        (json!({"path": ""}), "Error: path is required: name a file beneath workspace, like notes.md"),
        (
            json!({"path": "pipe"}),
            "Error: failed to read file: pipe is a device, a pipe or a socket: only regular files are opened",
        ),
        (
            json!({"path": "/workspace"}),
            "Error: failed to read file: /workspace is a directory: name a file in it",
        ),
        (
            json!({"path": "a\u{0}b"}),
            "Error: failed to read file: a\\u{0}b has a NUL character: no file can be called that; leave it out",
        ),
        (
            json!({"path": "notes.md", "offset": 9}),
            "Error: offset 9 is past the end: notes.md has 2 lines; use a smaller offset",
        ),
    ] {
        assert_eq!(failure(&ada.call("workspace_read", arguments)), sentence);
    }
    for arguments in [
        json!({}),
        json!({"path": 1}),
        json!({"path": "x".repeat(4097)}),
        json!({"path": "notes.md", "offset": 0}),
        json!({"path": "notes.md", "limit": -1}),
        json!({"path": "notes.md", "more": true}),
    ] {
        let answer = ada.call("workspace_read", arguments);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

/// What is not text comes as a resource with its bytes.
#[test]
fn a_picture_is_a_resource() {
    let home = unhurried();
    let _daemon = home.up();
    let mut ada = ada(&home);
    fs::create_dir_all(home.path().join("workspace")).unwrap();
    fs::write(home.path().join("workspace/dot.gif"), b"GIF89a\xff\x00").unwrap();
    let answer = ada.call("workspace_read", json!({"path": "dot.gif"}));
    let resource = json!({"uri": "workspace:///dot.gif", "mimeType": "image/gif", "blob": "R0lGODlh/wA="});
    assert_eq!(answer["result"]["content"], json!([{"type": "resource", "resource": resource}]));
}

/// Base64 with a piece replaced is none: bytes that hold a secret are not given at all.
#[test]
fn a_file_of_bytes_that_holds_a_secret_is_not_given() {
    let home = unhurried();
    home.write("secrets.toml", "[secrets]\nKEY = \"open-sesame-123\"\n");
    let _daemon = home.up();
    let mut ada = ada(&home);
    fs::create_dir_all(home.path().join("workspace")).unwrap();
    for before in [&b"\xff"[..], b"\xff\xfe", b"\xff\xfe\xfd"] {
        let bytes = [before, b"open-sesame-123\0"].concat();
        fs::write(home.path().join("workspace/dump.bin"), bytes).unwrap();
        let answer = ada.call("workspace_read", json!({"path": "dump.bin"}));
        let told = "Error: workspace:///dump.bin holds the value of the secret KEY and is not given";
        assert_eq!(failure(&answer), told);
        assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1, "{answer}");
    }
}

/// A directory of a hundred thousand files: the answer is bounded, its caller hears how far it is, and the daemon stays small.
#[cfg(target_os = "linux")]
#[test]
fn a_huge_directory_is_listed_in_pages_and_little_memory() {
    let home = unhurried();
    let daemon = home.up();
    let mut ada = ada(&home);
    let huge = home.path().join("workspace/huge");
    fs::create_dir_all(&huge).unwrap();
    for number in 0..100_000 {
        fs::File::create(huge.join(format!("file-{number:06}.txt"))).unwrap();
    }
    let answer = ada.call("workspace_list", json!({"path": "huge"}));
    assert_eq!(text(&answer).lines().count(), 1000);
    let more = "[99000 more names follow: call workspace_list with after \"file-000999.txt\".]";
    assert_eq!(answer["result"]["content"][1]["text"], more);
    let next = ada.call("workspace_list", json!({"path": "huge", "after": "file-000999.txt", "limit": 1}));
    assert_eq!(text(&next), "file-001000.txt");

    ada.send(
        &json!({"jsonrpc": "2.0", "id": "all", "method": "tools/call", "params": {"name": "workspace_list",
        "arguments": {"path": "huge", "limit": 100_000}, "_meta": {"progressToken": "far"}}}),
    );
    let mut heard = 0.0;
    let whole = loop {
        let message = ada.receive();
        if message["method"] == "notifications/progress" {
            let progress = message["params"]["progress"].as_f64().unwrap();
            assert!(progress > heard, "{message}");
            heard = progress;
        }
        if message["id"] == "all" {
            break message;
        }
    };
    assert!(heard >= 10_000.0, "{heard}");
    let count = text(&whole).lines().count();
    assert!((50_000..=100_000).contains(&count), "as many as fit: {count}");
    let peak = peak(daemon.pid());
    assert!(peak < 100 << 10, "{peak} KiB");
}

/// The most memory a process ever used, in KiB.
#[cfg(target_os = "linux")]
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Someone else's `workspace` in the configuration is the workspace; the default one is left alone.
#[test]
fn the_configured_directory_is_the_workspace() {
    let home = unhurried();
    let place = home.beside("elsewhere/work");
    let config =
        format!("[rate_limit]\nrate = 0\n\n[workspace]\npath = {}\n", Value::from(place.to_str().unwrap()));
    home.write("config.toml", &config);
    let _daemon = home.up();
    ada(&home).call("workspace_write", json!({"path": "/workspace/a.md", "content": "a"}));
    assert_eq!(fs::read_to_string(place.join("a.md")).unwrap(), "a", "made when it was first needed");
}
