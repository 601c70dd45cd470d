//! A fresh home per test, removed with it, and the commands that run in it.

use std::path::{Path, PathBuf};

use crate::command::{Command, Ran};
use crate::daemon::Daemon;
use crate::stdio::StdioClient;

/// A home directory of its own and the program that runs in it.
pub struct Home {
    directory: PathBuf,
    program: PathBuf,
    removed_with_us: Option<tempfile::TempDir>,
}

/// A daemon that a command started in the background would outlive its home.
impl Drop for Home {
    #[expect(clippy::disallowed_methods, reason = "tests start the program as a person would")]
    fn drop(&mut self) {
        if self.removed_with_us.is_some() && self.path().join("sock").exists() {
            let mut stop = std::process::Command::new(&self.program);
            stop.args(["--no-start", "stop"]).env("COVENANT_HOME", self.path()).env_remove("COVENANT_TOKEN");
            // Where none runs any more there is nothing to stop.
            drop(stop.output());
        }
    }
}

impl Home {
    /// An empty home for that program. Nothing of the user's own is reachable from it.
    ///
    /// # Panics
    /// If there is no room for a temporary directory.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let directory = tempfile::Builder::new().prefix("cov").tempdir().expect("a temporary directory");
        Self {
            directory: directory.path().to_owned(),
            program: program.into(),
            removed_with_us: Some(directory),
        }
    }

    /// A home inside a directory that the test keeps.
    pub fn within(directory: &Path, program: impl Into<PathBuf>) -> Self {
        Self { directory: directory.to_owned(), program: program.into(), removed_with_us: None }
    }

    /// The same home, in which another program runs.
    #[must_use]
    pub fn run_by(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// The value of `COVENANT_HOME`.
    pub fn path(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A directory beside the home, for a test's own files.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes a file of the home, making the home with the right mode.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        let path = self.path().join(name);
        let parent = path.parent().expect("a file of the home has a parent");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).expect("the home");
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .expect("a file of the home");
        std::io::Write::write_all(&mut file, text.as_bytes()).expect("a file of the home");
    }

    /// A command, not yet run.
    pub fn command(&self, arguments: &[&str]) -> Command {
        Command::new(&self.program, &self.path(), &self.directory).arguments(arguments)
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).run()
    }

    /// Starts the daemon and waits until it is ready.
    pub fn up(&self) -> Daemon<'_> {
        Daemon::start(self, &[])
    }

    /// An MCP client that speaks to `covenant --mcp`.
    pub fn mcp(&self) -> StdioClient {
        StdioClient::start(self.command(&["--mcp"]))
    }
}
