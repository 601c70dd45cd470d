//! From a server's plan to an order: the file of its command, its directory, its variables and its sandbox. What goes wrong
//! is a clause that can follow "could not be started: ".

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use covenant_model::server::{Program, SandboxEntry};
use covenant_runner::interpreter::{self, InterpreterError};
use covenant_runner::order::{Network, Order, Sandbox};

use super::variables;
use crate::daemon::Environment;
use crate::home::Home;
use crate::runs::program::{self, NoProgram};

/// Where a program is started from.
pub(super) struct Ground {
    pub(super) home: Home,
    pub(super) environment: Environment,
    /// The sandbox programs have here unless something else is said.
    pub(super) sandbox: Sandbox,
}

/// The order for that server's program.
pub(super) fn order(name: &str, program: &Program, ground: Ground) -> Result<Order, String> {
    let directory = directory(program, &ground.environment)?;
    match &program.sandbox {
        None => {
            let file = file(&program.command, &ground.environment, |name, path| {
                interpreter::on_path(name, path).ok_or_else(|| NoProgram::NotOnPath(name.to_owned()))
            })?;
            let environment = variables::open(program, &ground.environment);
            Ok(put(name, program, file, environment, directory, None))
        }
        Some(entry) => confined(name, program, entry, directory, ground),
    }
}

fn confined(
    name: &str,
    program: &Program,
    entry: &SandboxEntry,
    directory: PathBuf,
    ground: Ground,
) -> Result<Order, String> {
    let mut sandbox = ground.sandbox;
    sandbox.network = network(&entry.network)?;
    let write = named(&entry.write, "write", &ground.home)?;
    let read = named(&entry.read, "read", &ground.home)?;
    let file = file(&program.command, &ground.environment, program::on_path)?;
    let seen = program::seen(&file, &read, &write);
    sandbox.read = program::joined(read, &write, seen.read);
    sandbox.write = write;
    sandbox.memory_mb = entry.memory_mb;
    sandbox.required |= entry.required;
    let environment = variables::confined(program, &seen.program, sandbox.network, &ground.environment)?;
    Ok(put(name, program, seen.program, environment, directory, Some(sandbox)))
}

fn put(
    name: &str,
    program: &Program,
    file: PathBuf,
    environment: Vec<(String, String)>,
    directory: PathBuf,
    sandbox: Option<Sandbox>,
) -> Order {
    let (name, arguments) = (name.to_owned(), program.args.clone());
    Order { name, program: file, arguments, environment, directory, sandbox }
}

/// The file of that command: as it is where it is a path, else looked for on PATH.
fn file(
    command: &str,
    environment: &Environment,
    search: impl Fn(&str, &OsStr) -> Result<PathBuf, NoProgram>,
) -> Result<PathBuf, String> {
    if !command.contains('/') {
        let path = environment("PATH").unwrap_or_default();
        return search(command, OsStr::new(&path)).map_err(|error| told(&error, &path));
    }
    let file = PathBuf::from(command);
    if !file.is_absolute() {
        return Err(format!(
            "its command `{command}` is a path that depends on where it is read from; write it from `/` or `~` on"
        ));
    }
    program::check(&file).map_err(|error| told(&error, ""))?;
    Ok(file)
}

fn told(error: &NoProgram, path: &str) -> String {
    match error {
        NoProgram::NotOnPath(name) if path.is_empty() => {
            format!("`{name}` was not found, for the daemon's PATH is empty; write `command` as a full path")
        }
        NoProgram::NotOnPath(name) => format!(
            "`{name}` was not found on the daemon's PATH ({path}); install it, or write `command` as a full path"
        ),
        NoProgram::Missing(file) => {
            format!("{} is not there; correct `command`, or install it", file.display())
        }
        NoProgram::NotExecutable(file) => format!(
            "{0} is no file that may be executed; for a program: chmod +x {0}; for a script: make its interpreter the \
             command",
            file.display()
        ),
        NoProgram::Interpreter(InterpreterError::LeadsElsewhere(file)) => format!(
            "{} is a script or a link that leads to an interpreter, and a sandbox needs the interpreter itself; write \
             `command` as its full path",
            file.display()
        ),
        NoProgram::Interpreter(error) => error.to_string(),
    }
}

/// Where it runs: where its entry says, else in the user's home, else at the root.
fn directory(program: &Program, environment: &Environment) -> Result<PathBuf, String> {
    let Some(named) = &program.cwd else {
        let home = environment("HOME").map(PathBuf::from);
        let usable = home.filter(|home| home.is_absolute() && home.is_dir());
        return Ok(usable.unwrap_or_else(|| PathBuf::from("/")));
    };
    let directory = PathBuf::from(named);
    if !directory.is_absolute() {
        return Err(format!("its `cwd` is `{named}`: write it from `/` or `~` on"));
    }
    if !directory.is_dir() {
        return Err(format!("its `cwd` {named} is not a directory; make it, or correct it"));
    }
    Ok(directory)
}

fn network(word: &str) -> Result<Network, String> {
    match word {
        "off" => Ok(Network::Off),
        "outbound-https-only" => Ok(Network::OutboundHttpsOnly),
        "full" => Ok(Network::Full),
        _ => Err(format!(
            "its `sandbox.network` is `{word}`: write \"off\", \"outbound-https-only\" or \"full\""
        )),
    }
}

/// Paths that its entry names. Of the home, only what is meant for programs can be shown.
fn named(paths: &[String], key: &str, home: &Home) -> Result<Vec<PathBuf>, String> {
    let one = |path: &String| {
        let path = PathBuf::from(path);
        if !path.is_absolute() {
            return Err(format!(
                "its `sandbox.{key}` holds `{}`: write it from `/` or `~` on",
                path.display()
            ));
        }
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if home.is_private(&real) || home.is_private(&plain(&path)) {
            return Err(format!(
                "its `sandbox.{key}` holds {}, which belongs to the daemon, and no program is shown it; copy what it needs \
                 to another place",
                path.display()
            ));
        }
        Ok(path)
    };
    paths.iter().map(one).collect()
}

/// The path without `.` and `..`, as text has it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
