//! What an interpreter needs, by where it lies: nothing is executed for it.
//!
//! What lies there may have been written by a program that was sandboxed, and is believed only so far: a directory that
//! is named in it is shown only if an interpreter is installed in it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::shown::{Shown, is_too_wide};
use super::{Interpreter, is_executable, plain, way};

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

/// One of a virtual environment: that is shown, and of the installation it was made from the program and its libraries.
fn environment(file: &Path, home: Option<&Path>) -> Option<Interpreter> {
    let Environment { bin, whole, base } = found(file)?;
    if is_too_wide(&whole, home) {
        return None;
    }
    let mut shown = Shown::new(home);
    shown.add(&whole);
    if let Some(Installation { bin, lib }) = installation(&base, home) {
        // The environment's own name may lead to a link of the installation, which cannot be shown by itself.
        if way::has_link_in(file, &bin) {
            shown.add(&bin);
        }
        shown.add(&lib);
    }
    shown.add(file);
    // By its name in the environment: that is how it knows that it is in one.
    Some(Interpreter { program: bin.join(file.file_name()?), read: shown.paths() })
}

/// One that is installed: it and its libraries.
fn installed(file: &Path, home: Option<&Path>) -> Interpreter {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut shown = Shown::new(home);
    if let Some(Installation { lib, .. }) = real.parent().and_then(|bin| installation(bin, home)) {
        shown.add(&lib);
    }
    shown.add(&real);
    Interpreter { program: real, read: shown.paths() }
}

/// A virtual environment, by its real paths.
struct Environment {
    /// Where its programs are.
    bin: PathBuf,
    /// All of it.
    whole: PathBuf,
    /// Where the programs are that it was made from.
    base: PathBuf,
}

fn found(file: &Path) -> Option<Environment> {
    let bin = file.parent()?.canonicalize().ok()?;
    let (whole, base) = [Some(&*bin), bin.parent()].into_iter().flatten().find_map(|directory| {
        let text = settings(&directory.join(SETTINGS))?;
        Some((directory.to_owned(), base(&text)?))
    })?;
    Some(Environment { bin, whole, base })
}

/// The text of a plain file.
fn settings(file: &Path) -> Option<String> {
    let mut text = String::new();
    plain(file)?.take(SETTINGS_LIMIT).read_to_string(&mut text).is_ok().then_some(text)
}

/// The line `home = …`.
fn base(settings: &str) -> Option<PathBuf> {
    let value = settings.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        key.trim().eq_ignore_ascii_case("home").then_some(value.trim())
    })?;
    Some(PathBuf::from(value)).filter(|path| path.is_absolute())
}

/// An interpreter's two directories, by their real paths. What holds them may hold anything else, and is not shown.
struct Installation {
    bin: PathBuf,
    lib: PathBuf,
}

/// What the programs in this directory belong to, if it is `PREFIX/bin`, the libraries are in `PREFIX/lib`, and that is
/// no link to somewhere else.
fn installation(bin: &Path, home: Option<&Path>) -> Option<Installation> {
    let bin = bin.canonicalize().ok()?;
    let prefix = bin.parent().filter(|prefix| bin.ends_with("bin") && !is_too_wide(prefix, home))?;
    let lib = prefix.join("lib");
    let has = |name: &str| is_executable(&bin.join(name));
    let is_installed = ["python3", "python", "node"].into_iter().any(has)
        && lib.symlink_metadata().is_ok_and(|found| found.is_dir())
        && has_libraries(&lib);
    is_installed.then_some(Installation { bin, lib })
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
