//! The program that was typed, and what it needs to see of itself, with the sentence for one that is not there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use covenant_daemon::runs::program::{self, NoProgram};
use covenant_runner::interpreter::Interpreter;

use super::order::absolute;
use crate::exit::{Exit, Failure};

/// The program that was typed, by path or by its name on PATH; `read` and `write` are the paths it is shown in any case.
pub(super) fn find(
    typed: &str,
    path: &OsStr,
    read: &[PathBuf],
    write: &[PathBuf],
) -> Result<Interpreter, Failure> {
    let file = if typed.contains('/') {
        let file = absolute(Path::new(typed))?;
        program::check(&file).map_err(|error| failure(&error))?;
        file
    } else {
        program::on_path(typed, path).map_err(|error| failure(&error))?
    };
    Ok(program::seen(&file, read, write))
}

fn failure(error: &NoProgram) -> Failure {
    let help = match error {
        NoProgram::NotOnPath(_) => "install it, or name it by a path, such as `./tool`".to_owned(),
        NoProgram::Missing(_) => "name a program that is".to_owned(),
        NoProgram::NotExecutable(file) => {
            format!("for a program: chmod +x {}; for a script: run its interpreter", file.display())
        }
        NoProgram::Interpreter(error) => return Failure::told(Exit::Usage, error),
    };
    Failure::usage(error.to_string(), help)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    const NOWHERE: &str = "/no/such/directory";

    fn executable(file: &Path) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_that_cannot_be_run_is_told_before_anything_starts() {
        let directory = tempfile::tempdir().unwrap();
        let told = |typed: &str| find(typed, OsStr::new(NOWHERE), &[], &[]).unwrap_err();
        assert!(told("tool").message().contains("`tool` is not on PATH"));
        let file = directory.path().join("script.py");
        let typed = file.to_str().unwrap();
        assert!(told(typed).message().ends_with("script.py is not there"));
        std::fs::write(&file, "print(1)").unwrap();
        assert!(told(typed).help().contains("chmod +x"));
    }

    #[test]
    fn a_link_to_a_program_is_run_by_its_real_path_unless_the_link_is_seen_inside() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (real, link) = (root.join("real/tool"), root.join("bin/tool"));
        executable(&real);
        std::fs::create_dir(root.join("bin")).unwrap();
        symlink(&real, &link).unwrap();
        let found =
            |named: &[PathBuf]| find(link.to_str().unwrap(), OsStr::new(NOWHERE), named, &[]).unwrap();
        assert_eq!(found(&[]), Interpreter { program: real.clone(), read: vec![real.clone()] });
        let shown = Interpreter { program: link.clone(), read: vec![real.clone()] };
        assert_eq!(found(&[root.join("bin")]), shown);
        assert_eq!(found(&[root.join("real")]).program, real);
    }

    #[test]
    fn a_program_of_the_system_keeps_its_name_and_needs_nothing() {
        let found = find("sh", OsStr::new("/bin:/usr/bin"), &[], &[]).unwrap();
        assert_eq!(found, Interpreter { program: PathBuf::from("/bin/sh"), read: Vec::new() });
    }

    #[test]
    fn an_interpreter_by_its_path_is_judged_by_where_it_lies() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let file = root.join("proj/bin/python3");
        executable(&file);
        std::fs::write(&file, format!("#!/bin/sh\ntouch {}\n", root.join("was-run").display())).unwrap();
        let found = find(file.to_str().unwrap(), OsStr::new("/usr/bin:/bin"), &[], &[]).unwrap();
        assert_eq!(found, Interpreter { program: file.clone(), read: vec![file] });
        assert!(!root.join("was-run").exists());
    }

    #[test]
    fn what_lies_where_it_may_be_written_leads_to_nothing_that_was_not_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (secret, link, file) =
            (root.join("private/tool"), root.join("proj/tool"), root.join("proj/venv/bin/python3"));
        executable(&secret);
        executable(&root.join("private/bin/python3"));
        std::fs::create_dir_all(root.join("private/lib/python3.12")).unwrap();
        executable(&file);
        symlink(&secret, &link).unwrap();
        let settings = format!("home = {}\n", root.join("private/bin").display());
        std::fs::write(root.join("proj/venv/pyvenv.cfg"), settings).unwrap();
        for typed in [&link, &file] {
            let found = |write: &[PathBuf]| {
                find(typed.to_str().unwrap(), OsStr::new(NOWHERE), &[], write).unwrap().read
            };
            assert!(found(&[]).iter().any(|path| path.starts_with(root.join("private"))));
            assert!(found(&[root.join("proj")]).is_empty(), "{}", typed.display());
        }
    }
}
