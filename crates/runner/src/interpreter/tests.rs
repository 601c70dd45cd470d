//! Interpreters that are there, and shims that lead to them, hang, fail or say something else.

use super::*;

/// A directory with one program in it.
fn with(name: &str, script: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join(name), script);
    directory
}

/// Writes a program by another process: a descriptor of ours that another test's child inherits for a moment would keep
/// the file from being executed.
fn write(file: &Path, script: &str) {
    let arguments = ["-c", "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"].map(OsString::from);
    let arguments = [&arguments[..], &[file.into(), script.into()]].concat();
    let path = ("PATH".into(), path());
    assert!(crate::spawn::command(Path::new("/bin/sh"), &arguments, &[path]).status().unwrap().success());
}

fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Whatever is asked of the one program in that directory.
fn asked(directory: &tempfile::TempDir, name: &str) -> Result<Interpreter, InterpreterError> {
    at_home(&directory.path().join(name), &path(), std::env::var_os("HOME"), Duration::from_secs(20))
}

fn is_system(path: &Path) -> bool {
    path.starts_with("/usr") || path.starts_with("/opt") || path.starts_with("/bin")
}

#[test]
fn the_python_on_path_is_a_program_that_sees_its_libraries_and_no_home() {
    let Ok(found) = find("python3", &path()) else {
        assert!(on_path("python3", &path()).is_none(), "it is there and does not answer");
        return;
    };
    let magic = std::fs::read(&found.program).unwrap();
    assert!(magic.starts_with(b"\x7fELF") || cfg!(not(target_os = "linux")), "{found:?} is a shim");
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    assert!(found.read.iter().all(|path| !home.starts_with(path)), "{found:?}");
    assert!(
        is_system(&found.program) || found.read.iter().any(|path| found.program.starts_with(path)),
        "{found:?} cannot see itself"
    );
}

#[test]
fn the_node_on_path_is_a_program_that_can_be_read() {
    let Ok(found) = find("node", &path()) else {
        assert!(on_path("node", &path()).is_none(), "it is there and does not answer");
        return;
    };
    assert!(is_executable(&found.program), "{found:?}");
    assert!(
        is_system(&found.program) || found.read.iter().any(|path| found.program.starts_with(path)),
        "{found:?} cannot see itself"
    );
}

#[test]
fn a_shim_is_told_from_the_program_it_leads_to() {
    let Some(real) = on_path("python3", &path()) else { return };
    let script = format!("#!/bin/sh\necho 'shim: choosing a version' >&2\nexec {} \"$@\"\n", real.display());
    let shim = with("python3", &script);
    let found = asked(&shim, "python3").unwrap();
    assert_eq!(found, find("python3", &path()).unwrap());
    assert!(!found.program.starts_with(shim.path()), "{found:?}");
}

#[test]
fn a_shim_gets_a_path_and_a_home_and_nothing_else_of_ours() {
    let shim = with("python3", "#!/bin/sh\nenv | cut -d= -f1 | sort | tr '\\n' ' '; exit 3\n");
    let error = asked(&shim, "python3").unwrap_err().to_string();
    assert!(error.contains("exit code 3: HOME PATH PWD") && !error.contains("CARGO"), "{error}");
}

#[test]
fn what_was_answered_is_remembered_until_the_file_changes() {
    let Some(real) = on_path("python3", &path()) else { return };
    let script =
        |count: &Path| format!("#!/bin/sh\necho . >> {}\nexec {} \"$@\"\n", count.display(), real.display());
    let counted = tempfile::tempdir().unwrap();
    let count = counted.path().join("count");
    let times = || std::fs::read_to_string(&count).unwrap().lines().count();
    let shim = with("python3", &script(&count));
    asked(&shim, "python3").unwrap();
    asked(&shim, "python3").unwrap();
    assert_eq!(times(), 1);
    write(&shim.path().join("python3"), &(script(&count) + "# a newer one\n"));
    asked(&shim, "python3").unwrap();
    assert_eq!(times(), 2);
}

#[test]
fn a_shim_that_hangs_is_ended_with_all_it_started() {
    let shim = with("node", "#!/bin/sh\nsleep 600 &\necho $! > \"${0%/*}/pid\"\nwait\n");
    let file = shim.path().join("node");
    let late = at_home(&file, &path(), None, Duration::from_millis(300)).unwrap_err();
    assert!(matches!(late, InterpreterError::Silent { cause: AskError::Late(_), .. }), "{late}");
    assert!(late.to_string().contains("within 0.3 s; try it: "), "{late}");
    // Whether the shell came that far in 0.3 s is not ours to say.
    let Ok(pid) = std::fs::read_to_string(shim.path().join("pid")) else { return };
    if let Some(pid) = pid.trim().parse().ok().and_then(rustix::process::Pid::from_raw) {
        let gone = || rustix::process::test_kill_process(pid).is_err() || is_zombie(pid.as_raw_pid());
        let deadline = Instant::now() + Duration::from_secs(20);
        while !gone() {
            assert!(Instant::now() < deadline, "process {pid:?} outlived the question");
            std::thread::yield_now();
        }
    }
}

/// An orphan that was killed stays in the table until somebody waits for it, which in a container may be nobody.
fn is_zombie(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn a_shim_that_fails_is_quoted() {
    let shim = with("python3", "#!/bin/sh\necho 'pyenv: python3: command not found' >&2\nexit 127\n");
    let error = asked(&shim, "python3").unwrap_err().to_string();
    assert!(error.contains("it ended with exit code 127: pyenv: python3: command not found"), "{error}");
    assert!(error.contains("try it: "), "{error}");
}

#[test]
fn garbage_is_not_believed() {
    for garbage in [
        "echo 'covenant-interpreter {}'",
        "echo 'covenant-interpreter no json'",
        r#"echo 'covenant-interpreter {"program":"python3","prefixes":[],"libraries":[],"shared":"","shared_name":""}'"#,
        r#"echo 'covenant-interpreter {"program":"/no/such","prefixes":[],"libraries":[],"shared":"","shared_name":""}'"#,
        "while :; do echo spam; done",
        "head -c 200000 /dev/urandom",
    ] {
        let shim = with("node", &format!("#!/bin/sh\n{garbage}\n"));
        let error = asked(&shim, "node").unwrap_err();
        assert!(matches!(error, InterpreterError::Silent { cause: AskError::Garbled(_), .. }), "{error}");
        assert!(error.to_string().len() < 600, "{error}");
    }
}

#[test]
fn names_nobody_can_ask_and_names_that_are_not_there_are_told_apart() {
    let unknown = find("ruby", &path()).unwrap_err().to_string();
    assert!(unknown.contains("`ruby` is no interpreter"), "{unknown}");
    let missing = find("node", OsStr::new("/no/such/directory")).unwrap_err().to_string();
    assert_eq!(missing, "`node` is not on PATH; install it, or name it by its full path");
    for name in ["python", "python3", "python3.12", "node", "/x/y/node"] {
        assert!(is_known(Path::new(name)), "{name}");
    }
    for name in ["pythonx", "python3-config", "nodemon", "py", ""] {
        assert!(!is_known(Path::new(name)), "{name}");
    }
}

#[test]
fn what_is_relative_on_path_is_not_searched() {
    let directory = with("tool", "#!/bin/sh\n");
    let absolute = std::env::join_paths([Path::new("."), directory.path()]).unwrap();
    assert_eq!(on_path("tool", &absolute), Some(directory.path().join("tool")));
    assert_eq!(on_path("Cargo.toml", OsStr::new(".:")), None);
    assert_eq!(on_path("../tool", &absolute), None);
}
