//! Which file a program is, and what it needs to see of itself: its file, or for an interpreter what it is installed in.
//! Nothing is executed to find out.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use covenant_runner::interpreter::{self, Interpreter, InterpreterError};

/// Where programs lie on every system; what else is on our PATH is out of a sandbox's sight.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Why there is no such program.
#[derive(Debug, thiserror::Error)]
pub enum NoProgram {
    /// No directory of PATH has it.
    #[error("`{0}` is not on PATH")]
    NotOnPath(String),
    /// There is nothing at that path.
    #[error("{} is not there", .0.display())]
    Missing(PathBuf),
    /// There is something else.
    #[error("{} is no file that may be executed", .0.display())]
    NotExecutable(PathBuf),
    /// What is on PATH cannot be shown in a sandbox.
    #[error(transparent)]
    Interpreter(#[from] InterpreterError),
}

/// The program of that name on PATH, for a sandbox: a shim, which would lead out of it, is passed over.
pub fn on_path(name: &str, path: &OsStr) -> Result<PathBuf, NoProgram> {
    let file = interpreter::on_path(name, path).ok_or_else(|| NoProgram::NotOnPath(name.to_owned()))?;
    if !interpreter::is_known(&file) {
        return Ok(file);
    }
    Ok(interpreter::find(name, path)?)
}

/// Whether that file can be run at all.
pub fn check(file: &Path) -> Result<(), NoProgram> {
    if !file.exists() {
        return Err(NoProgram::Missing(file.to_owned()));
    }
    if !interpreter::is_executable(file) {
        return Err(NoProgram::NotExecutable(file.to_owned()));
    }
    Ok(())
}

/// That file as a sandboxed program, with what it needs to read; `read` and `write` are the paths it is shown in any case.
pub fn seen(file: &Path, read: &[PathBuf], write: &[PathBuf]) -> Interpreter {
    let mut found = if interpreter::is_known(file) {
        interpreter::at(file)
    } else {
        plain(file, &[read, write].concat())
    };
    if interpreter::leads_through(file, write) {
        // An earlier run may have laid it out so that it leads to what nobody named.
        found.read.clear();
    }
    found
}

/// What is read in the end: what was named, and what the program needs beside. What may be written stays so, even if the
/// program is in it.
pub fn joined(read: Vec<PathBuf>, write: &[PathBuf], needed: Vec<PathBuf>) -> Vec<PathBuf> {
    let named = [&*read, write].concat();
    let is_named = |path: &PathBuf| named.iter().any(|named| path.starts_with(named));
    read.into_iter().chain(needed.into_iter().filter(|path| !is_named(path))).collect()
}

/// The PATH of a sandboxed program: what came with an interpreter lies beside it.
pub fn path_beside(file: &Path) -> String {
    let beside = file.parent().and_then(Path::to_str).unwrap_or_default();
    if SYSTEM_PATH.split(':').any(|known| known == beside) {
        SYSTEM_PATH.to_owned()
    } else {
        format!("{beside}:{SYSTEM_PATH}")
    }
}

/// A program that needs its own file alone. By the name it was given, which may say what it does (busybox), where that
/// name is seen inside; else where it really is.
fn plain(file: &Path, named: &[PathBuf]) -> Interpreter {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let is_system = interpreter::is_system(&real);
    let is_seen =
        is_system && interpreter::is_system(file) || named.iter().any(|named| file.starts_with(named));
    let needed = if is_system { Vec::new() } else { vec![real.clone()] };
    Interpreter { program: if is_seen { file.to_owned() } else { real }, read: needed }
}
