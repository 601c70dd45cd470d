//! What an interpreter needs, by where it lies: nothing is executed for it.
//!
//! What lies there may have been written by a program that was sandboxed, and is believed only so far: a directory that
//! is named in it is shown only if an interpreter is installed in it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::shown::{Shown, is_too_wide};
use super::{Interpreter, is_executable};

/// What stands beside the programs of a virtual environment, or one above.
const SETTINGS: &str = "pyvenv.cfg";

/// The most that is read of it.
const SETTINGS_LIMIT: u64 = 64 * 1024;

/// The most entries of a directory that are looked at.
const ENTRIES: usize = 4096;

/// The interpreter in this file.
pub(super) fn of(file: &Path, home: Option<&Path>) -> Interpreter {
    environment(file, home).unwrap_or_else(|| installed(file, home))
}

/// Whether it belongs to a virtual environment.
pub(super) fn is_environment(file: &Path) -> bool {
    root(file).is_some()
}

/// One of a virtual environment: that is shown, and the installation it was made from.
fn environment(file: &Path, home: Option<&Path>) -> Option<Interpreter> {
    let Root { bin, root, base } = root(file)?;
    if is_too_wide(&root, home) {
        return None;
    }
    let mut shown = Shown::new(home);
    shown.add(&root);
    prefix(&base).into_iter().for_each(|prefix| shown.add(&prefix));
    shown.add(file);
    // By its name in the environment: that is how it knows that it is in one.
    Some(Interpreter { program: bin.join(file.file_name()?), read: shown.paths() })
}

/// One that is installed: it, and what it is installed in.
fn installed(file: &Path, home: Option<&Path>) -> Interpreter {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut shown = Shown::new(home);
    real.parent().and_then(prefix).into_iter().for_each(|prefix| shown.add(&prefix));
    shown.add(&real);
    Interpreter { program: real, read: shown.paths() }
}

/// A virtual environment, by its real paths.
struct Root {
    /// Where its programs are.
    bin: PathBuf,
    /// All of it.
    root: PathBuf,
    /// Where the programs are that it was made from.
    base: PathBuf,
}

fn root(file: &Path) -> Option<Root> {
    let bin = file.parent()?.canonicalize().ok()?;
    let (root, base) = [Some(&*bin), bin.parent()]
        .into_iter()
        .flatten()
        .find_map(|root| Some((root.to_owned(), base(&settings(&root.join(SETTINGS))?)?)))?;
    Some(Root { bin, root, base })
}

/// The text of a plain file. Another kind of file, which may have no end or keep us waiting, is not read.
fn settings(file: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = std::fs::File::from(rustix::fs::open(file, flags, Mode::empty()).ok()?);
    let mut text = String::new();
    let is_plain = file.metadata().ok()?.is_file();
    (is_plain && file.take(SETTINGS_LIMIT).read_to_string(&mut text).is_ok()).then_some(text)
}

/// The line `home = …`.
fn base(settings: &str) -> Option<PathBuf> {
    let value = settings.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        key.trim().eq_ignore_ascii_case("home").then_some(value.trim())
    })?;
    Some(PathBuf::from(value)).filter(|path| path.is_absolute())
}

/// What the programs in this directory are installed in, if it is `PREFIX/bin` and the libraries are in `PREFIX/lib`.
fn prefix(bin: &Path) -> Option<PathBuf> {
    let bin = bin.canonicalize().ok()?;
    let prefix = bin.parent().filter(|_| bin.ends_with("bin"))?;
    let has = |name: &str| is_executable(&bin.join(name));
    let is_installed =
        ["python3", "python", "node"].into_iter().any(has) && has_libraries(&prefix.join("lib"));
    is_installed.then(|| prefix.to_owned())
}

fn has_libraries(lib: &Path) -> bool {
    let Ok(entries) = lib.read_dir() else { return false };
    entries.take(ENTRIES).flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let is_known = name.starts_with("python3.") || name.starts_with("pypy3") || name == "node_modules";
        is_known && entry.file_type().is_ok_and(|kind| kind.is_dir())
    })
}

#[cfg(test)]
mod tests;
