//! What an interpreter says about itself, and which directories follow from it: its prefix as a whole, or where that is
//! somebody's home or wider, only its libraries.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Interpreter;
use super::ask::AskError;

/// Makes Python print what [`read`] reads. `-I`: neither variables nor the user's own packages change it.
pub(super) const PYTHON: &[&str] = &[
    "-I",
    "-c",
    "import json, os, sys, sysconfig
paths = sysconfig.get_paths()
venv = sys.prefix != sys.base_prefix
print('covenant-interpreter ' + json.dumps({
    'program': os.path.abspath(sys.executable) if venv else os.path.realpath(sys.executable),
    'prefixes': [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix],
    'libraries': [paths[name] for name in ('stdlib', 'platstdlib', 'purelib', 'platlib')],
    'shared': sysconfig.get_config_var('LIBDIR') or '',
    'shared_name': sysconfig.get_config_var('INSTSONAME') or '',
}), flush=True)",
];

/// Makes Node print the same. It is one file; beside it lie the packages that came with it.
pub(super) const NODE: &[&str] = &[
    "-e",
    "const path = require('path'), program = process.execPath, bin = path.dirname(program), up = path.dirname(bin);
const prefixes = path.basename(bin) === 'bin' ? [up] : [];
const libraries = prefixes.map((prefix) => path.join(prefix, 'lib', 'node_modules'));
console.log('covenant-interpreter ' + JSON.stringify({program, prefixes, libraries, shared: '', shared_name: ''}));",
];

/// Directories in a home that hold more than one program's files.
const SHARED_IN_HOME: [&str; 5] = [".local", ".local/share", ".config", ".cache", ".local/state"];

/// Directories that hold everybody's things.
const SHARED: [&str; 14] = [
    "/", "/boot", "/dev", "/etc", "/home", "/media", "/mnt", "/proc", "/root", "/run", "/srv", "/sys",
    "/tmp", "/var",
];

/// Directories that every sandboxed program sees.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store"];

/// The answer as it is printed.
#[derive(Debug, Deserialize)]
struct Answer {
    program: PathBuf,
    prefixes: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
    shared: String,
    shared_name: String,
}

/// What follows from the line that was printed.
pub(super) fn read(line: &str, home: Option<&Path>) -> Result<Interpreter, AskError> {
    let garbled = || AskError::Garbled(line.to_owned());
    let answer: Answer = serde_json::from_str(line).map_err(|_| garbled())?;
    if !answer.program.is_absolute() || !super::is_executable(&answer.program) {
        return Err(garbled());
    }
    let mut read = Vec::new();
    let mut add = |path: PathBuf| {
        if path.is_absolute() && path.exists() && !is_covered(&path, &read) && !is_too_wide(&path, home) {
            read.push(path);
        }
    };
    for path in answer.prefixes.iter().chain(&answer.libraries) {
        add(path.clone());
        // A prefix may be named by a link; what its files lead to is named by where they really are.
        path.canonicalize().into_iter().for_each(&mut add);
    }
    // The last two matter where a prefix was too wide to be shown.
    if !answer.shared_name.is_empty() {
        add(Path::new(&answer.shared).join(&answer.shared_name));
    }
    add(answer.program.clone());
    answer.program.canonicalize().into_iter().for_each(&mut add);
    Ok(Interpreter { program: answer.program, read })
}

/// Whether it is shown anyhow.
fn is_covered(path: &Path, read: &[PathBuf]) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system)) || read.iter().any(|known| path.starts_with(known))
}

/// Whether it holds more than an interpreter: what everybody shares, a home or what contains ours, and the few
/// directories that all programs of a user share.
fn is_too_wide(path: &Path, home: Option<&Path>) -> bool {
    let real = home.and_then(|home| home.canonicalize().ok());
    let is_ours =
        |home: &Path| home.starts_with(path) || SHARED_IN_HOME.iter().any(|part| path == home.join(part));
    SHARED.iter().any(|shared| path == Path::new(shared))
        || path.parent() == Some(Path::new("/home"))
        || home.into_iter().chain(real.as_deref()).any(is_ours)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::ask::MARK;
    use super::*;

    /// A home with an interpreter in `prefix`, as it would describe itself.
    fn described(home: &Path, prefix: &str) -> Interpreter {
        let prefix = home.join(prefix);
        let (bin, lib) = (prefix.join("bin"), prefix.join("lib/python3.14"));
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(&lib).unwrap();
        let program = bin.join("python3");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let line = serde_json::json!({
            "program": program, "prefixes": [prefix], "libraries": [lib], "shared": "", "shared_name": "",
        });
        read(&line.to_string(), Some(home)).unwrap()
    }

    #[test]
    fn a_prefix_of_its_own_is_shown_whole() {
        let home = tempfile::tempdir().unwrap();
        let found = described(home.path(), ".pyenv/versions/3.14");
        assert_eq!(found.read, [home.path().join(".pyenv/versions/3.14")]);
    }

    #[test]
    fn of_a_prefix_that_is_the_home_or_shared_in_it_only_the_libraries_are_shown() {
        let home = tempfile::tempdir().unwrap();
        for prefix in ["", ".local", ".local/share"] {
            let found = described(home.path(), prefix);
            let prefix = home.path().join(prefix);
            assert_eq!(found.read, [prefix.join("lib/python3.14"), prefix.join("bin/python3")], "{prefix:?}");
        }
    }

    #[test]
    fn what_is_above_the_home_is_never_shown() {
        let homes = Path::new("/home");
        let home = homes.join("ada");
        for wide in ["/", "/srv", "/root", "ada", "bob", "ada/.config", "."] {
            assert!(is_too_wide(&homes.join(wide), Some(&home)), "{wide}");
        }
        for narrow in ["/venv", "ada/venv", "/srv/python", "ada/.local/share/uv/python/x"] {
            assert!(!is_too_wide(&homes.join(narrow), Some(&home)), "{narrow}");
        }
        assert!(is_too_wide(Path::new("/"), None));
    }

    #[test]
    fn the_questions_print_the_mark_that_is_looked_for() {
        for question in [PYTHON, NODE] {
            assert!(question.iter().any(|part| part.contains(&format!("'{MARK}'"))));
        }
    }
}
