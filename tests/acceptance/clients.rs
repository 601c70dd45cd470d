//! Real MCP clients, in both eras, against `covenant --mcp`.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::home;

/// Where the test command installed the clients; `None` with one loud line where it did not.
fn installed() -> Option<PathBuf> {
    let place = std::env::var_os("COVENANT_TEST_CLIENTS").map(PathBuf::from);
    let place = place.unwrap_or_else(|| root().join(".tools/clients"));
    if place.join("node_modules").is_dir() && place.join("venv").is_dir() {
        return Some(place);
    }
    assert!(std::env::var_os("CI").is_none(), "CI installs the clients first: cargo xtask test");
    eprintln!("SKIPPED: the real MCP clients are not installed; `cargo xtask test` does that");
    None
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn converse(program: impl Fn(&Path) -> PathBuf, script: &str, mode: &str) {
    let Some(place) = installed() else { return };
    let home = home();
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let Output { status, stdout, stderr } = std::process::Command::new(program(&place))
        .arg(root().join("tests/clients").join(script))
        .args((mode != "default").then_some(["--mode", mode]).into_iter().flatten())
        .arg(home.program())
        .args(["--mcp", "--home"])
        .arg(home.path())
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{script} {mode}: {stdout}{stderr}");
    let said: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    assert_eq!(said["echo"], "hi", "{said}");
    assert_eq!(said["tools"], serde_json::json!(["clock", "echo"]), "{said}");
    if mode == "2026-07-28" {
        assert_eq!(said["protocol"], "2026-07-28", "{said}");
    }
}

#[test]
fn the_python_client_works_in_every_mode() {
    for mode in ["auto", "legacy", "2026-07-28"] {
        converse(|place| place.join("venv/bin/python"), "python_client.py", mode);
    }
}

#[test]
fn the_first_typescript_client_works() {
    node("ts_v1.mjs", &["default"]);
}

#[test]
fn the_second_typescript_client_works_in_every_mode() {
    node("ts_v2.mjs", &["default", "auto", "2026-07-28"]);
}

fn node(script: &str, modes: &[&str]) {
    for mode in modes {
        converse(|_| PathBuf::from("node"), script, mode);
    }
}
