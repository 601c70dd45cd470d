//! What is taken for an interpreter on PATH, and what is passed over.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

const PROGRAM: &[u8] = b"\x7fELF and so on";

/// A file that may be executed, below a directory of the test's own.
fn file(root: &Path, path: &str, bytes: &[u8]) -> PathBuf {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, bytes).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

fn path(root: &Path, directories: &[&str]) -> std::ffi::OsString {
    std::env::join_paths(directories.iter().map(|directory| root.join(directory))).unwrap()
}

#[test]
fn the_first_that_is_a_program_itself_is_taken_and_nothing_is_executed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let trace = root.join("was-run");
    file(&root, "shims/python3", format!("#!/bin/sh\ntouch {}\n", trace.display()).as_bytes());
    // A program that acts by the name it is called by, a link to a script, a file that is no program, an empty one.
    file(&root, "mise/mise", PROGRAM);
    symlink("mise", root.join("mise/python3")).unwrap();
    std::fs::create_dir(root.join("linked")).unwrap();
    symlink("../shims/python3", root.join("linked/python3")).unwrap();
    file(&root, "text/python3", b"print(1)");
    file(&root, "empty/python3", b"");
    file(&root, "real/python3.12", PROGRAM);
    symlink("python3.12", root.join("real/python3")).unwrap();
    let all = path(&root, &["missing", "shims", "mise", "linked", "text", "empty", "real"]);
    assert_eq!(find("python3", &all).unwrap(), root.join("real/python3"));
    file(&root, "early/python3", PROGRAM);
    assert_eq!(
        find("python3", &path(&root, &["shims", "early", "real"])).unwrap(),
        root.join("early/python3")
    );
    for one in ["shims", "mise", "linked", "text", "empty"] {
        let told = find("python3", &path(&root, &[one])).unwrap_err().to_string();
        let begins = format!("{} is no interpreter itself", root.join(one).join("python3").display());
        assert!(told.starts_with(&begins) && told.contains("by its path"), "{told}");
    }
    assert!(!trace.exists());
}

#[test]
fn a_program_that_may_not_be_executed_is_not_taken() {
    let directory = tempfile::tempdir().unwrap();
    let node = file(directory.path(), "bin/node", PROGRAM);
    let all = path(directory.path(), &["bin"]);
    assert_eq!(find("node", &all).unwrap(), node);
    std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(find("node", &all), Err(InterpreterError::Missing(_))));
}

#[test]
fn names_nobody_knows_and_names_that_are_not_there_are_told_apart() {
    let unknown = find("ruby", OsStr::new("/usr/bin")).unwrap_err().to_string();
    assert!(unknown.contains("`ruby` is no interpreter"), "{unknown}");
    let missing = find("node", OsStr::new("/no/such/directory")).unwrap_err().to_string();
    assert_eq!(missing, "`node` is not on PATH; install it, or name it by its full path");
    for name in ["python", "python3", "python3.12", "node", "/x/y/node"] {
        assert!(is_known(Path::new(name)), "{name}");
    }
    for name in ["pythonx", "python3-config", "nodemon", "py", ""] {
        assert!(!is_known(Path::new(name)), "{name}");
    }
}

#[test]
fn what_is_relative_on_path_is_not_searched() {
    let directory = tempfile::tempdir().unwrap();
    let tool = file(directory.path(), "tool", b"#!/bin/sh\n");
    let absolute = std::env::join_paths([Path::new("."), directory.path()]).unwrap();
    assert_eq!(on_path("tool", &absolute), Some(tool));
    assert_eq!(on_path("Cargo.toml", OsStr::new(".:")), None);
    assert_eq!(on_path("../tool", &absolute), None);
}
