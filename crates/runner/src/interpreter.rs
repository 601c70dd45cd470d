//! Interpreters: which program `python3` or `node` is, and which directories it must read to run.
//!
//! Nothing is ever executed outside the sandbox to find that out: whatever could be asked (a shim, a library, what a link
//! leads to) may be the work of a program that was sandboxed before. An interpreter is judged by where it lies. What lies
//! on PATH and is no program itself, such as the scripts of pyenv and asdf, is passed over.

mod layout;
mod shown;
mod way;

pub use shown::is_system;
pub use way::leads_through;

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// How programs begin: ELF, and those of macOS.
const MAGIC: [[u8; 4]; 3] = [*b"\x7fELF", [0xcf, 0xfa, 0xed, 0xfe], [0xca, 0xfe, 0xba, 0xbe]];

/// A program that runs others, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program itself, no shim. In a virtual environment it is the environment's own name for it.
    pub program: PathBuf,
    /// What it must be able to read besides the system's own directories: itself and its libraries.
    pub read: Vec<PathBuf>,
}

/// Why there is no interpreter.
#[derive(Debug, thiserror::Error)]
pub enum InterpreterError {
    /// Nobody knows how such a one is installed.
    #[error("`{0}` is no interpreter that is known here; these are: python3, python, node")]
    Unknown(String),
    /// It is not there.
    #[error("`{0}` is not on PATH; install it, or name it by its full path")]
    Missing(String),
    /// All that is there leads elsewhere.
    #[error(
        "{} is no interpreter itself: it is a script or a link that leads to one, and nothing is executed outside the \
         sandbox to find out which; name the interpreter by its path, such as \
         `covenant sandbox run -- ~/.pyenv/versions/3.11.7/bin/python3 …`",
        .0.display()
    )]
    LeadsElsewhere(PathBuf),
}

/// The file on that PATH that is the interpreter of this name: the first that is a program itself.
pub fn find(name: &str, path: &OsStr) -> Result<PathBuf, InterpreterError> {
    let stem = stem(Path::new(name)).ok_or_else(|| InterpreterError::Unknown(name.to_owned()))?;
    let mut passed_over = None;
    for file in all_on_path(name, path) {
        if is_program(&file, stem) {
            return Ok(file);
        }
        passed_over.get_or_insert(file);
    }
    Err(passed_over
        .map_or_else(|| InterpreterError::Missing(name.to_owned()), InterpreterError::LeadsElsewhere))
}

/// The interpreter that this file is, by where it lies.
pub fn at(file: &Path) -> Interpreter {
    layout::of(file, std::env::var_os("HOME").as_deref().map(Path::new))
}

/// Whether a file with such a name is an interpreter.
pub fn is_known(file: &Path) -> bool {
    stem(file).is_some()
}

/// The program of that name on PATH. Entries that are no absolute paths are passed over: they mean another program in
/// every directory.
pub fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    all_on_path(name, path).next()
}

/// Whether it is a file that we may execute.
pub fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

fn all_on_path(name: &str, path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let is_name = !name.is_empty() && !name.contains('/');
    std::env::split_paths(path)
        .filter(move |directory| is_name && directory.is_absolute())
        .map(move |directory| directory.join(name))
        .filter(|file| is_executable(file))
}

/// How the names of such interpreters begin, whatever their version.
fn stem(file: &Path) -> Option<&'static str> {
    match file.file_name()?.to_str()? {
        "node" | "nodejs" => Some("node"),
        name => {
            let version = name.strip_prefix("python")?;
            version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some("python")
        }
    }
}

/// Whether it is no script, and no program of another name that only acts as this one (mise, volta).
fn is_program(file: &Path, stem: &str) -> bool {
    let Ok(real) = file.canonicalize() else { return false };
    let is_named = real.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(stem));
    let mut magic = [0; 4];
    is_named
        && plain(&real).is_some_and(|mut file| file.read_exact(&mut magic).is_ok() && MAGIC.contains(&magic))
}

/// A plain file to read. Another kind, which may have no end or keep us waiting, is not opened.
fn plain(file: &Path) -> Option<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = std::fs::File::from(rustix::fs::open(file, flags, Mode::empty()).ok()?);
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

#[cfg(test)]
mod tests;
