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
fn answer_of(directory: &tempfile::TempDir, name: &str) -> Result<Interpreter, InterpreterError> {
    asked(&directory.path().join(name), &path(), std::env::var_os("HOME"), Duration::from_secs(20))
}

fn is_system(path: &Path) -> bool {
    path.starts_with("/usr") || path.starts_with("/opt") || path.starts_with("/bin")
}

#[test]
fn the_python_on_path_is_a_program_that_sees_its_libraries_and_no_home() {
    let Ok(found) = find("python3", &path(), &[]) else {
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
    let Ok(found) = find("node", &path(), &[]) else {
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
    let found = answer_of(&shim, "python3").unwrap();
    assert_eq!(found, find("python3", &path(), &[]).unwrap());
    assert!(!found.program.starts_with(shim.path()), "{found:?}");
}

#[test]
fn a_shim_gets_a_path_and_a_home_and_nothing_else_of_ours() {
    let shim = with("python3", "#!/bin/sh\nenv | cut -d= -f1 | sort | tr '\\n' ' '; exit 3\n");
    let error = answer_of(&shim, "python3").unwrap_err().to_string();
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
    answer_of(&shim, "python3").unwrap();
    answer_of(&shim, "python3").unwrap();
    assert_eq!(times(), 1);
    write(&shim.path().join("python3"), &(script(&count) + "# a newer one\n"));
    answer_of(&shim, "python3").unwrap();
    assert_eq!(times(), 2);
}

#[test]
fn a_shim_that_hangs_is_ended_with_all_it_started() {
    let shim = with("node", "#!/bin/sh\nsleep 600 &\necho $! > \"${0%/*}/pid\"\nwait\n");
    let file = shim.path().join("node");
    let late = asked(&file, &path(), None, Duration::from_millis(300)).unwrap_err();
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
    let error = answer_of(&shim, "python3").unwrap_err().to_string();
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
        let error = answer_of(&shim, "node").unwrap_err();
        assert!(matches!(error, InterpreterError::Silent { cause: AskError::Garbled(_), .. }), "{error}");
        assert!(error.to_string().len() < 600, "{error}");
    }
}

#[test]
fn names_nobody_can_ask_and_names_that_are_not_there_are_told_apart() {
    let unknown = find("ruby", &path(), &[]).unwrap_err().to_string();
    assert!(unknown.contains("`ruby` is no interpreter"), "{unknown}");
    let missing = find("node", OsStr::new("/no/such/directory"), &[]).unwrap_err().to_string();
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

/// A program that leaves a trace of having been executed, and that trace.
fn telltale(directory: &Path) -> (PathBuf, PathBuf) {
    let (file, trace) = (directory.join("python3"), directory.join("was-run"));
    std::fs::create_dir_all(directory).unwrap();
    write(&file, &format!("#!/bin/sh\ntouch {}\n", trace.display()));
    (file, trace)
}

#[test]
fn what_is_given_by_path_lies_in_an_environment_or_where_it_may_be_written_is_never_executed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let bin = root.join("proj/venv/bin");
    let (file, trace) = telltale(&bin);
    at(&file);
    assert!(!trace.exists(), "it was given by path");
    // Where it is named, and where another name leads to it.
    std::os::unix::fs::symlink(&bin, root.join("link")).unwrap();
    for (path, named) in [(&bin, &root), (&root.join("link"), &root.join("proj")), (&bin, &root.join("link"))]
    {
        let found = find("python3", path.as_os_str(), std::slice::from_ref(named)).unwrap();
        assert_eq!(found.program, file);
        assert!(!trace.exists(), "{} may be written", named.display());
    }
    std::fs::write(root.join("proj/venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    assert_eq!(find("python3", bin.as_os_str(), &[]).unwrap().program, file);
    assert!(!trace.exists(), "it is in an environment");
    // And so that all this can fail: on PATH, it is asked.
    std::fs::remove_file(root.join("proj/venv/pyvenv.cfg")).unwrap();
    let path = std::env::join_paths([&*bin, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    find("python3", &path, &[]).unwrap_err();
    assert!(trace.exists());
}

#[test]
fn the_packages_of_an_installation_have_no_say_when_it_is_asked() {
    let Some(real) = on_path("python3", OsStr::new("/usr/bin:/usr/local/bin")) else { return };
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("was-run");
    // Whoever is on PATH leads to an environment, whose packages would be looked through if it were asked as usual.
    let venv = directory.path().join("venv");
    let made = |arguments: &[&OsStr]| {
        let arguments: Vec<OsString> = arguments.iter().map(|&part| part.to_owned()).collect();
        let path = ("PATH".into(), path());
        crate::spawn::command(&real, &arguments, &[path]).status().unwrap().success()
    };
    let parts = ["-m", "venv", "--without-pip"].map(OsStr::new);
    if !made(&[&parts[..], &[venv.as_os_str()]].concat()) {
        return;
    }
    for packages in venv.join("lib").read_dir().unwrap().flatten() {
        let line = format!("import os; open({trace:?}, 'w').close()\n");
        std::fs::write(packages.path().join("site-packages/x.pth"), line).unwrap();
    }
    let shim = with("python3", &format!("#!/bin/sh\nexec {}/bin/python3 \"$@\"\n", venv.display()));
    let found = answer_of(&shim, "python3").unwrap();
    assert_eq!(found.program, venv.canonicalize().unwrap().join("bin/python3"));
    assert!(!trace.exists(), "a line of somebody's package was run outside");
}
