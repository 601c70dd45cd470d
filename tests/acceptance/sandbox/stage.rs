//! A stage for one test: an operator's home with secrets in it, files and directories beside it, and the programs.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use covenant_testkit::command::Command;
use covenant_testkit::{Home, Ran, program};
use serde_json::Value;

use super::{Language, NOBODY, Who, is_reachable};
use crate::installed::root;

/// Where everything is.
pub(crate) struct Stage {
    pub(crate) who: Who,
    directory: tempfile::TempDir,
    covenant: PathBuf,
    /// What stands in every file that must not be read.
    pub(crate) secret: String,
    /// What stands in every environment that must not be read.
    pub(crate) canary: String,
}

/// A sandboxed run that is over.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) ran: Ran,
    /// What the program under test says of it; null where it says nothing.
    pub(crate) document: Value,
}

/// One answer of a hostile program.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) escaped: bool,
    pub(crate) detail: String,
}

impl Stage {
    pub(crate) fn new(who: Who) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let directory = tempfile::Builder::new().prefix("cov").tempdir().unwrap();
        let number = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let built = PathBuf::from(env!("CARGO_BIN_EXE_covenant"));
        let stage = Self {
            who,
            covenant: if is_reachable(&built) { built.clone() } else { directory.path().join("covenant") },
            directory,
            secret: format!("secret-{number}"),
            canary: format!("canary-{number}"),
        };
        if stage.covenant != built {
            program::copy(&built, &stage.covenant);
        }
        stage.furnish(&built.with_file_name("escape"));
        stage
    }

    /// Everything that an attack is aimed at, and the programs that attack.
    fn furnish(&self, escape: &Path) {
        assert!(
            escape.is_file(),
            "build the hostile program first: cargo build -p covenant-testkit --bin escape"
        );
        let secret = format!("{}\n", self.secret);
        for (directory, mode) in [
            ("", 0o755),
            ("operator", 0o700),
            ("operator/.ssh", 0o700),
            ("operator/home", 0o700),
            ("outside", 0o777),
            ("named", 0o755),
            ("lent", 0o777),
            ("package", 0o755),
            ("place", 0o777),
        ] {
            let path = self.path(directory);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        for (file, mode) in [
            ("operator/.ssh/id_ed25519", 0o600),
            ("operator/notes.txt", 0o644),
            ("operator/home/secrets.toml", 0o600),
            ("outside/notes.txt", 0o666),
            ("outside/run.sh", 0o755),
        ] {
            fs::write(self.path(file), &secret).unwrap();
            fs::set_permissions(self.path(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::write(self.path("operator/home/secrets.toml"), format!("KEY = \"{}\"\n", self.secret)).unwrap();
        fs::write(self.path("named/file.txt"), "named\n").unwrap();
        symlink("../outside/notes.txt", self.path("named/way-out")).unwrap();
        symlink("/etc/shadow", self.path("lent/shadow")).unwrap();
        let fixtures = root().join("tests/sandbox");
        program::copy(escape, &self.path("package/escape"));
        fs::copy(fixtures.join("escape.py"), self.path("package/escape.py")).unwrap();
        fs::copy(fixtures.join("escape.mjs"), self.path("package/escape.mjs")).unwrap();
        if self.who == Who::Nobody {
            self.belongs_to_nobody();
        }
        if self.who != Who::Own {
            // A device that anyone may use is still none where devices have no place.
            let made = std::process::Command::new("mknod")
                .args(["-m", "666", &self.at("named/device"), "c", "1", "5"])
                .status();
            assert!(made.unwrap().success(), "mknod");
            // Belongs to root, and whoever runs it is root.
            program::copy(escape, &self.path("package/setuid"));
            fs::set_permissions(self.path("package/setuid"), fs::Permissions::from_mode(0o4755)).unwrap();
        }
    }

    fn belongs_to_nobody(&self) {
        for path in [
            "operator",
            "operator/.ssh",
            "operator/.ssh/id_ed25519",
            "operator/notes.txt",
            "operator/home",
            "operator/home/secrets.toml",
            "outside",
            "outside/notes.txt",
            "outside/run.sh",
            "named",
            "named/file.txt",
            "lent",
            "package",
            "package/escape",
            "package/escape.py",
            "package/escape.mjs",
            "place",
        ] {
            chown(self.path(path), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Puts the daemon's home somewhere else.
    pub(crate) fn move_home(&self, to: &str) {
        let to = self.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.path("operator/home"), &to).unwrap();
        if self.who == Who::Nobody {
            chown(to.parent().unwrap(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// A path on the stage.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The same, as text.
    pub(crate) fn at(&self, name: &str) -> String {
        self.path(name).into_os_string().into_string().unwrap()
    }

    /// What an attack is called in tables: without the path of this stage.
    pub(crate) fn shortened(&self, word: &str) -> String {
        word.replace(self.directory.path().to_str().unwrap(), "").replace(&self.canary, "CANARY")
    }

    /// Any program as that user, in the operator's home, with the canary in its environment.
    pub(crate) fn command(&self, program: &Path, words: &[String]) -> Command {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let command = Home::within(&self.path("operator"), program).command(&words);
        let command = command.env("COVENANT_CANARY", &self.canary).directory(&self.path("place"));
        match self.who.uid() {
            Some(uid) => command.uid(uid),
            None => command,
        }
    }

    /// The program under test.
    pub(crate) fn covenant(&self, words: &[String]) -> Command {
        self.command(&self.covenant, words)
    }

    /// The file of the program under test.
    pub(crate) fn program(&self) -> &str {
        self.covenant.to_str().unwrap()
    }

    /// The program under test on a host that lacks something.
    pub(crate) fn covenant_without(&self, lacks: &str, words: &[String]) -> Command {
        let before = ["host", lacks, "--", self.program()].map(str::to_owned);
        self.command(&self.path("package/escape"), &[&before[..], words].concat())
    }

    /// How a hostile program is started: program and arguments.
    pub(crate) fn hostile(&self, language: Language, words: &[String]) -> Vec<String> {
        let before = match language {
            Language::Rust => vec![self.at("package/escape")],
            Language::Python => vec!["python3".to_owned(), self.at("package/escape.py")],
            Language::Node => vec!["node".to_owned(), self.at("package/escape.mjs")],
        };
        [&before[..], words].concat()
    }

    /// What is typed to run a program in the sandbox; it may read its package.
    pub(crate) fn line(&self, options: &[&str], program: &[String]) -> Vec<String> {
        let mut words: Vec<String> = ["sandbox", "run", "--json", "--read"].map(str::to_owned).into();
        words.push(self.at("package"));
        words.extend(options.iter().map(|&option| option.to_owned()));
        words.push("--".to_owned());
        words.extend(program.iter().cloned());
        words
    }

    /// Runs a program in the sandbox.
    pub(crate) fn run(&self, options: &[&str], program: &[String]) -> Run {
        Run::of(self.covenant(&self.line(options, program)).run())
    }

    /// Runs a hostile program in the sandbox.
    pub(crate) fn attack(&self, options: &[&str], language: Language, words: &[String]) -> Run {
        self.run(options, &self.hostile(language, words))
    }

    /// Runs a hostile program without a sandbox: the control.
    pub(crate) fn unleash(&self, language: Language, words: &[String]) -> Ran {
        let [program, arguments @ ..] = &self.hostile(language, words)[..] else { unreachable!() };
        self.command(Path::new(program), arguments).run()
    }
}

impl Run {
    pub(crate) fn of(ran: Ran) -> Self {
        let document = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
        Self { ran, document }
    }

    /// What the program printed.
    #[track_caller]
    pub(crate) fn output(&self) -> &str {
        self.document["stdout"].as_str().unwrap_or_else(|| panic!("nothing ran: {:?}", self.ran))
    }

    /// Its answer to an attack; none where it was ended before.
    pub(crate) fn answer(&self, word: &str) -> Option<Answer> {
        answer(self.output(), word)
    }

    /// How far a promise was kept: `yes`, `partly` or `no`.
    #[track_caller]
    pub(crate) fn kept(&self, promise: &str) -> &str {
        self.measure(promise)["kept"].as_str().unwrap()
    }

    /// The promises that were not kept in full.
    pub(crate) fn gaps(&self) -> Vec<&str> {
        let measures = self.document["report"]["measures"].as_array().unwrap();
        assert_eq!(measures.len(), 9, "{:?}", self.ran);
        let gaps = measures.iter().filter(|measure| measure["kept"] != "yes");
        gaps.filter_map(|measure| measure["promise"].as_str()).collect()
    }

    /// What kept it, in words.
    pub(crate) fn means(&self, promise: &str) -> String {
        let by: Vec<_> =
            self.measure(promise)["by"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        by.join(", ")
    }

    /// What is missing of it.
    pub(crate) fn note(&self, promise: &str) -> &str {
        self.measure(promise)["note"].as_str().unwrap()
    }

    #[track_caller]
    fn measure(&self, promise: &str) -> &Value {
        let measures = self.document["report"]["measures"].as_array();
        let measure = measures.into_iter().flatten().find(|measure| measure["promise"] == promise);
        measure.unwrap_or_else(|| panic!("the report does not speak of {promise}: {:?}", self.ran))
    }
}

/// The answer to an attack in what a hostile program printed.
pub(crate) fn answer(output: &str, word: &str) -> Option<Answer> {
    let lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let line = lines.into_iter().find(|line| line["attack"] == word)?;
    let detail = line["detail"].as_str().unwrap_or_default().to_owned();
    Some(Answer { escaped: line["escaped"] != Value::Bool(false), detail })
}
