//! Interpreters that lie about, some of them made to run outside or to lead to what is private.

use super::*;

/// A home to lay things out in.
struct Place {
    _directory: tempfile::TempDir,
    home: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        Self { _directory: directory, home }
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let file = self.home.join(path.trim_start_matches('/'));
        assert!(file.starts_with(&self.home), "{path} is outside of the place");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    /// An interpreter with its libraries.
    fn installation(&self, prefix: &str) -> PathBuf {
        self.file(&format!("{prefix}/lib/python3.12/os.py"), "");
        self.file(&format!("{prefix}/bin/python3"), "")
    }

    /// A virtual environment in `proj/venv`, made from a directory.
    fn environment(&self, base: &Path) -> PathBuf {
        self.file("proj/venv/pyvenv.cfg", &format!("include = x\nhome = {}\nversion = 3\n", base.display()));
        self.file("proj/venv/bin/python3", "")
    }

    fn of(&self, file: &Path) -> Interpreter {
        of(file, Some(&self.home))
    }
}

#[test]
fn an_environment_is_shown_with_the_installation_it_was_made_from() {
    let place = Place::new();
    let real = place.installation("versions/3.12");
    let file = place.environment(real.parent().unwrap());
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    let found = place.of(&file);
    assert_eq!(found.program, file, "by its name there it knows that it is in one");
    let (venv, lib) = (place.home.join("proj/venv"), place.home.join("versions/3.12/lib"));
    assert_eq!(found.read, [venv.clone(), lib.clone(), real.clone()]);
    assert!(super::found(&file).is_some() && super::found(&real).is_none());
    // Where the installation's own name is a link, that must be seen to be followed.
    let versioned = place.file("versions/3.12/bin/python3.12", "");
    std::fs::remove_file(&real).unwrap();
    std::os::unix::fs::symlink(versioned, &real).unwrap();
    assert_eq!(place.of(&file).read, [venv, place.home.join("versions/3.12/bin"), lib]);
}

#[test]
fn an_environment_of_the_system_needs_itself_alone() {
    let place = Place::new();
    let file = place.environment(Path::new("/usr/bin"));
    assert_eq!(place.of(&file).read, [place.home.join("proj/venv")]);
}

#[test]
fn an_environment_that_leads_to_what_is_no_installation_does_not_show_it() {
    let place = Place::new();
    place.file(".ssh/bin/key", "");
    place.installation(".local");
    place.installation("");
    for base in [".ssh/bin", ".ssh", ".local/bin", "bin", "proj/../bin", "", "missing/bin"] {
        let file = place.environment(&place.home.join(base));
        assert_eq!(place.of(&file).read, [place.home.join("proj/venv")], "{base}");
    }
    let file = place.environment(Path::new("/"));
    assert_eq!(place.of(&file).read, [place.home.join("proj/venv")]);
}

#[test]
fn an_environment_that_is_a_home_is_not_shown_as_one() {
    let place = Place::new();
    place.file("pyvenv.cfg", "home = /usr/bin\n");
    let file = place.file("bin/python3", "");
    assert_eq!(place.of(&file).read, [file]);
}

#[test]
fn settings_that_are_no_plain_text_are_not_read() {
    let place = Place::new();
    let file = place.environment(Path::new("/usr/bin"));
    let settings = place.home.join("proj/venv/pyvenv.cfg");
    std::fs::remove_file(&settings).unwrap();
    // To open this one as usual would wait for a writer.
    rustix::fs::mknodat(rustix::fs::CWD, &settings, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(found(&file).is_none());
    std::fs::remove_file(&settings).unwrap();
    std::fs::write(&settings, [b"home = /usr/bin\n".as_slice(), &[0xff]].concat()).unwrap();
    assert!(found(&file).is_none());
    std::fs::write(&settings, format!("{}\nhome = /usr/bin\n", "x".repeat(70_000))).unwrap();
    assert!(found(&file).is_none());
}

#[test]
fn of_an_installation_the_program_and_its_libraries_are_shown_and_a_lone_file_alone() {
    let place = Place::new();
    let installed = place.installation("tools/python");
    // As in a project that has directories of these names.
    place.file("tools/python/.env", "SECRET=1");
    let needed = vec![place.home.join("tools/python/lib"), installed.clone()];
    assert_eq!(place.of(&installed).read, needed);
    std::os::unix::fs::symlink("tools/python/bin/python3", place.home.join("python3")).unwrap();
    let linked = place.of(&place.home.join("python3"));
    assert_eq!(linked, Interpreter { program: installed, read: needed });
    for lone in ["python3", ".local/bin/python3", "bin/python3", "proj/bin/node"] {
        let place = Place::new();
        if lone.starts_with('.') || lone.starts_with("bin") {
            place.installation(lone.strip_suffix("bin/python3").unwrap().trim_end_matches('/'));
        }
        let file = place.file(lone, "");
        assert_eq!(place.of(&file).read, [file], "{lone}");
    }
    let node = place.file("node/bin/node", "");
    place.file("node/lib/node_modules/npm/index.js", "");
    assert_eq!(place.of(&node).read, [place.home.join("node/lib"), node]);
}

#[test]
fn libraries_that_are_a_link_to_somewhere_else_are_not_shown() {
    let place = Place::new();
    place.file("private/python3.12/key", "");
    let file = place.file("proj/bin/python3", "");
    std::os::unix::fs::symlink("../private", place.home.join("proj/lib")).unwrap();
    assert_eq!(place.of(&file).read, [file]);
}
