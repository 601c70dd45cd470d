//! Interpreters: which program `python3` or `node` really is, and which directories it must read to run.
//!
//! What is on PATH may be a shim in somebody's home (pyenv, asdf, mise, volta) that finds the program by files no
//! sandboxed program sees. So it is asked once, outside the sandbox, and the program it leads to is started instead.
//! It is asked in `/`: a `.python-version` or `.tool-versions` of whatever directory we happen to be in has no say.
//!
//! To ask is to execute, and only PATH is trusted with that, as the operator's own shell trusts it. What was given by a
//! path, lies in a virtual environment, or lies where a sandboxed program may write, may be that program's work: it is
//! judged by where it lies, and never executed outside.

mod answer;
mod ask;
mod layout;
mod shown;

pub use ask::AskError;
pub use shown::is_system;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long an interpreter may take to say which program it is.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long an answer counts that came by way of another file: what a shim leads to can change without it.
const SHIM_COUNTS: Duration = Duration::from_mins(1);

/// The most answers that are remembered.
const REMEMBERED: usize = 64;

/// A program that runs others, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program itself, no shim. In a virtual environment it is the environment's own name for it.
    pub program: PathBuf,
    /// What it must be able to read besides the system's own directories: its prefix, never somebody's home.
    pub read: Vec<PathBuf>,
}

/// Why there is no interpreter.
#[derive(Debug, thiserror::Error)]
pub enum InterpreterError {
    /// Nobody knows how to ask it.
    #[error("`{0}` is no interpreter that can be asked where it is; these can: python3, python, node")]
    Unknown(String),
    /// It is not there.
    #[error("`{0}` is not on PATH; install it, or name it by its full path")]
    Missing(String),
    /// It does not answer.
    #[error("{} does not say which program it runs: {cause}; try it: {} --version", file.display(), file.display())]
    Silent {
        /// Which.
        file: PathBuf,
        /// Why.
        cause: AskError,
    },
}

/// The languages whose interpreters can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    Node,
}

/// The state of a file that was asked: another one is asked anew.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    file: PathBuf,
    modified: Option<SystemTime>,
    size: u64,
    home: Option<OsString>,
}

/// An answer, and since when it is known.
#[derive(Debug, Clone)]
struct Known {
    asked: Asked,
    interpreter: Interpreter,
    since: Instant,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The interpreter that this name on that PATH leads to. Waits for it, at most ten seconds; at once if asked before.
/// What lies in a directory of `named`, which a sandboxed program is shown, is not asked.
pub fn find(name: &str, path: &OsStr, named: &[PathBuf]) -> Result<Interpreter, InterpreterError> {
    if !is_known(Path::new(name)) {
        return Err(InterpreterError::Unknown(name.to_owned()));
    }
    let file = on_path(name, path).ok_or_else(|| InterpreterError::Missing(name.to_owned()))?;
    if layout::is_environment(&file) || is_within(&file, named) {
        return Ok(at(&file));
    }
    asked(&file, path, std::env::var_os("HOME"), PATIENCE)
}

/// The interpreter that this file is, by where it lies. Nothing is executed.
pub fn at(file: &Path) -> Interpreter {
    layout::of(file, std::env::var_os("HOME").as_deref().map(Path::new))
}

/// Whether a file, its directory, or what either leads to lies in one of these directories.
fn is_within(file: &Path, directories: &[PathBuf]) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let ways = [Some(file.to_owned()), Some(real(file)), file.parent().map(real)];
    let holds = |directory: &Path| ways.iter().flatten().any(|way| way.starts_with(directory));
    directories.iter().any(|directory| holds(directory) || holds(&real(directory)))
}

/// Whether a file with such a name can be asked.
pub fn is_known(file: &Path) -> bool {
    language(file).is_some()
}

/// The program of that name on PATH. Entries that are no absolute paths are passed over: they mean another program in
/// every directory.
pub fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| is_executable(file))
}

/// Whether it is a file that we may execute.
pub fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

fn language(file: &Path) -> Option<Language> {
    match file.file_name()?.to_str()? {
        "node" | "nodejs" => Some(Language::Node),
        name => {
            let version = name.strip_prefix("python")?;
            version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(Language::Python)
        }
    }
}

/// What this file on PATH says.
fn asked(
    file: &Path,
    path: &OsStr,
    home: Option<OsString>,
    patience: Duration,
) -> Result<Interpreter, InterpreterError> {
    let language = language(file).ok_or_else(|| InterpreterError::Unknown(file.display().to_string()))?;
    let asked = Asked::now(file, home);
    if let Some(known) = recalled(&asked) {
        return Ok(known);
    }
    let silent = |cause| InterpreterError::Silent { file: file.to_owned(), cause };
    let environment = environment(path, asked.home.as_deref());
    let line = ask::ask(file, language.question(), &environment, patience).map_err(silent)?;
    let interpreter = answer::read(&line, asked.home.as_deref().map(Path::new)).map_err(silent)?;
    remember(asked, interpreter.clone());
    Ok(interpreter)
}

/// What a shim needs to find its way, and nothing else of ours.
fn environment(path: &OsStr, home: Option<&OsStr>) -> Vec<(OsString, OsString)> {
    let home = home.map(|home| ("HOME".into(), home.to_owned()));
    [("PATH".into(), path.to_owned())].into_iter().chain(home).collect()
}

/// What was answered before, if nothing speaks against it.
fn recalled(asked: &Asked) -> Option<Interpreter> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known.iter().find(|known| known.asked == *asked)?;
    let is_itself = asked.file.canonicalize().is_ok_and(|file| file == found.interpreter.program);
    let counts = is_itself || found.since.elapsed() < SHIM_COUNTS;
    (counts && is_executable(&found.interpreter.program)).then(|| found.interpreter.clone())
}

fn remember(asked: Asked, interpreter: Interpreter) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|known| known.asked.file != asked.file);
    if known.len() >= REMEMBERED {
        known.remove(0);
    }
    known.push(Known { asked, interpreter, since: Instant::now() });
}

impl Asked {
    fn now(file: &Path, home: Option<OsString>) -> Self {
        let metadata = file.metadata().ok();
        Self {
            file: file.to_owned(),
            modified: metadata.as_ref().and_then(|metadata| metadata.modified().ok()),
            size: metadata.map_or(0, |metadata| metadata.len()),
            home,
        }
    }
}

impl Language {
    /// Arguments that make it print one line; see [`answer`].
    fn question(self) -> &'static [&'static str] {
        match self {
            Self::Python => answer::PYTHON,
            Self::Node => answer::NODE,
        }
    }
}

#[cfg(test)]
mod tests;
