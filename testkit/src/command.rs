//! Running the program with a clean environment, and what came of it.

use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};

use serde_json::Value;

use crate::wait::LONG;

/// A command of the program, not yet run.
pub struct Command {
    inner: std::process::Command,
    input: Option<Vec<u8>>,
    shown: String,
}

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    /// The command as typed.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Its answer.
    pub stdout: String,
    /// Everything else.
    pub stderr: String,
}

impl Command {
    #[expect(clippy::disallowed_methods, reason = "tests drive the program from outside")]
    pub(crate) fn new(program: &Path, home: &Path, user_home: &Path) -> Self {
        let mut inner = std::process::Command::new(program);
        inner.env_clear();
        let kept = ["PATH", "TMPDIR", "LLVM_PROFILE_FILE"];
        inner.envs(kept.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        inner.env("HOME", user_home).env("COVENANT_HOME", home).env("COVENANT_LISTEN", "127.0.0.1:0");
        Self { inner, input: None, shown: "covenant".to_owned() }
    }

    /// With these arguments.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        for argument in arguments {
            self.shown.push(' ');
            self.shown.push_str(argument);
        }
        self.inner.args(arguments);
        self
    }

    /// With that variable in its environment.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.inner.env(name, value.into());
        self
    }

    /// In that directory.
    pub fn directory(mut self, path: &Path) -> Self {
        self.inner.current_dir(path);
        self
    }

    /// With that on standard input.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// As another user.
    pub fn uid(mut self, uid: u32) -> Self {
        use std::os::unix::process::CommandExt as _;
        self.inner.uid(uid).gid(uid);
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// If the program is not there.
    #[track_caller]
    pub fn run(mut self) -> Ran {
        let input = self.input.take();
        self.inner.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        self.inner.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.inner.spawn().expect("the program starts");
        let writer = input.zip(child.stdin.take()).map(|(bytes, mut stdin)| {
            // A program that does not read its input is no failure of the test's.
            std::thread::spawn(move || drop(stdin.write_all(&bytes)))
        });
        let stdout = read_to_end(child.stdout.take());
        let stderr = read_to_end(child.stderr.take());
        let status = ended(&mut child);
        if let Some(writer) = writer {
            writer.join().expect("the input was written");
        }
        let text = |reader: std::thread::JoinHandle<String>| reader.join().expect("the output was read");
        let ran = Ran {
            command: self.shown,
            status: status.unwrap_or_default(),
            stdout: text(stdout),
            stderr: text(stderr),
        };
        assert!(
            status.is_some(),
            "`{}` did not end within {LONG:?}:\n{}{}",
            ran.command,
            ran.stdout,
            ran.stderr
        );
        ran
    }

    /// Starts it with pipes on its three streams.
    ///
    /// # Panics
    /// If the program is not there.
    pub fn spawn(mut self) -> Child {
        self.inner.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.inner.spawn().expect("the program starts")
    }
}

/// Waits for the end; a program that does not end is ended, and the test with it.
fn ended(child: &mut Child) -> Option<ExitStatus> {
    let end = std::time::Instant::now() + LONG;
    while std::time::Instant::now() < end {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return Some(status);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().expect("a child of ours");
    child.wait().expect("a child of ours");
    None
}

fn read_to_end(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still what it said.
        let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Ran {
    /// The exit code; a signal is -1.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Insists that it succeeded.
    ///
    /// # Panics
    /// If it did not.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.exits(0)
    }

    /// Insists on that exit code.
    ///
    /// # Panics
    /// If it ended otherwise.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code(),
            code,
            "{}\n--- stdout\n{}\n--- stderr\n{}",
            self.command,
            self.stdout,
            self.stderr
        );
        self
    }

    /// Its answer as JSON.
    ///
    /// # Panics
    /// If it is not.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}\n{}", self.command, self.stdout, self.stderr))
    }

    /// Its answer as one JSON document per line.
    ///
    /// # Panics
    /// If a line is not.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}: {line}", self.command))
        };
        self.stdout.lines().map(parse).collect()
    }
}
