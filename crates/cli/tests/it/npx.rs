//! Programs that `npx` starts: a tree of npm, a shell and Node, of which the last is the one that matters.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use covenant_runner::child::Child;
use covenant_runner::order::Order;

use crate::stage::{carriers, lines, program, start, token};

/// An order that runs a local package by `npx`, which heeds no signal and not the end of its input; none without `npx`.
fn order(directory: &std::path::Path, token: &str) -> Option<Order> {
    let path = std::env::var("PATH").unwrap();
    let Some(npx) = std::env::split_paths(&path).map(|place| place.join("npx")).find(|npx| npx.is_file())
    else {
        assert!(
            std::env::var_os("CI").is_none(),
            "there is no npx on PATH, and CI is set: nothing may be skipped"
        );
        eprintln!("skipped: there is no npx on PATH");
        return None;
    };
    let package = directory.join("node_modules/stubborn");
    fs::create_dir_all(&package).unwrap();
    fs::create_dir(directory.join("node_modules/.bin")).unwrap();
    fs::write(directory.join("package.json"), r#"{"name":"house","version":"1.0.0"}"#).unwrap();
    let manifest = r#"{"name":"stubborn","version":"1.0.0","bin":{"stubborn":"cli.js"}}"#;
    fs::write(package.join("package.json"), manifest).unwrap();
    let script = "#!/usr/bin/env node\nfor (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});\nsetInterval(() => {}, 1000);\nconsole.log('up');\n";
    fs::write(package.join("cli.js"), script).unwrap();
    fs::set_permissions(package.join("cli.js"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../stubborn/cli.js", directory.join("node_modules/.bin/stubborn")).unwrap();
    let mut order = program(npx.to_str().unwrap(), &["--offline", "--no-install", "stubborn", token]);
    order.environment.push(("HOME".into(), directory.display().to_string()));
    directory.clone_into(&mut order.directory);
    Some(order)
}

async fn up(order: Order) -> Child {
    let mut child = start(order).await;
    let mut lines = lines(&mut child);
    let line = lines.next().await.unwrap();
    assert_eq!(line.as_deref(), Some(&b"up"[..]), "{}", child.errors());
    child
}

#[tokio::test]
async fn what_npx_started_ends_by_stop_and_by_kill() {
    let directory = tempfile::tempdir().unwrap();
    let token = token();
    let Some(order) = order(directory.path(), &token) else { return };
    let mut child = up(order.clone()).await;
    assert!(carriers(&token).len() >= 2, "npx and what it started");
    child.stop(Duration::from_millis(200)).await;
    assert_eq!(carriers(&token), [].into());
    let mut child = up(order).await;
    child.kill().await;
    assert_eq!(carriers(&token), [].into());
}
