//! Copies of programs that can be executed at once.

use std::path::Path;

/// Copies a program by a process of its own. A child that another test starts meanwhile would otherwise hold the copy open for
/// writing for a moment, and what is open for writing cannot be executed.
///
/// # Panics
/// If it cannot be copied.
#[expect(clippy::disallowed_methods, reason = "tests lay out programs from outside")]
pub fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("--preserve=mode").arg(from).arg(to).output();
    let copied = copied.expect("cp is there");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
}
