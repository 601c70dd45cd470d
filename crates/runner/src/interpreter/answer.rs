//! What an interpreter says about itself, and which directories follow from it: its prefix as a whole, or where that is
//! somebody's home or wider, only its libraries.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ask::AskError;
use super::shown::Shown;
use super::{Interpreter, layout};

/// Makes Python print what [`read`] reads. `-I -S`: neither variables nor anybody's packages change it, and no `.pth`
/// among them is run. `-B`: nothing is written for it.
pub(super) const PYTHON: &[&str] = &[
    "-I",
    "-S",
    "-B",
    "-c",
    "import json, os, sys, sysconfig
paths = sysconfig.get_paths()
print('covenant-interpreter ' + json.dumps({
    'program': os.path.abspath(sys.executable),
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
    if layout::is_environment(&answer.program) {
        return Ok(layout::of(&answer.program, home));
    }
    let mut shown = Shown::new(home);
    answer
        .prefixes
        .iter()
        .chain(&answer.libraries)
        .filter(|path| path.is_absolute())
        .for_each(|path| shown.add(path));
    // The last two matter where a prefix was too wide to be shown.
    if !answer.shared_name.is_empty() {
        shown.add(&Path::new(&answer.shared).join(&answer.shared_name));
    }
    let program = answer.program.canonicalize().map_err(|_| garbled())?;
    shown.add(&program);
    Ok(Interpreter { program, read: shown.paths() })
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
    fn the_questions_print_the_mark_that_is_looked_for() {
        for question in [PYTHON, NODE] {
            assert!(question.iter().any(|part| part.contains(&format!("'{MARK}'"))));
        }
    }
}
