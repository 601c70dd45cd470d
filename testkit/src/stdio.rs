//! An MCP client on the program's standard input and output: lines out, lines in, each with an end to waiting.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use serde_json::{Value, json};

use crate::command::Command;
use crate::wait::LONG;

/// A client and the server process it speaks to.
pub struct StdioClient {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
}

impl StdioClient {
    /// Starts that command as a server.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(command: Command) -> Self {
        let mut child = command.spawn();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut stderr = child.stderr.take().expect("a pipe");
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { stdin: child.stdin.take(), child, lines, next: 0 }
    }

    /// Writes bytes as they are.
    ///
    /// # Panics
    /// If the server closed its input.
    #[track_caller]
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        stdin.write_all(bytes).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    /// Writes one message.
    #[track_caller]
    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// The next line the server writes.
    ///
    /// # Panics
    /// If none comes.
    #[track_caller]
    pub fn line(&mut self) -> String {
        match self.lines.recv_timeout(LONG) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("no line within {LONG:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("the server closed its output"),
        }
    }

    /// The next message.
    ///
    /// # Panics
    /// If it is not JSON.
    #[track_caller]
    pub fn receive(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The next message, if one has come.
    ///
    /// # Panics
    /// If it is not JSON.
    pub fn try_receive(&mut self) -> Option<Value> {
        let line = self.lines.recv_timeout(std::time::Duration::from_millis(100)).ok()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Sends a request and gives its answer; notifications that come before it are passed over.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message.get("id") == Some(&json!(id)) {
                return message;
            }
        }
    }

    /// The handshake of the older revisions.
    #[track_caller]
    pub fn initialize(&mut self) -> Value {
        self.initialize_able(json!({}))
    }

    /// The same, by a client that has these capabilities.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub fn initialize_able(&mut self, capabilities: Value) -> Value {
        let answer = self.request(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}}),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// Calls a tool.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Closes the input and waits for the end; the exit code.
    ///
    /// # Panics
    /// If it does not end.
    #[track_caller]
    pub fn close(mut self) -> i32 {
        drop(self.stdin.take());
        let status =
            crate::wait::until("the bridge ends", || self.child.try_wait().expect("a child of ours"));
        status.code().unwrap_or(-1)
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that writes and never reads.
pub struct Deaf {
    child: Child,
}

impl Command {
    /// Starts the command with nobody reading what it says.
    pub fn deaf(self) -> Deaf {
        Deaf { child: self.spawn() }
    }
}

impl Deaf {
    /// Writes that line again and again until the other side stops taking it, or `most` bytes are gone; how many went.
    ///
    /// # Panics
    /// If the input cannot be made non-blocking.
    pub fn write_until_full(&mut self, line: &[u8], most: usize) -> usize {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        rustix::io::ioctl_fionbio(&*stdin, true).expect("a pipe can be non-blocking");
        let (mut taken, mut stuck, mut at) = (0, 0, 0);
        while taken < most && stuck < 200 {
            match stdin.write(line.get(at..).unwrap_or_default()) {
                Ok(count) => {
                    (taken, stuck) = (taken + count, 0);
                    at = (at + count) % line.len();
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    stuck += 1;
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                Err(_) => break,
            }
        }
        taken
    }
}

impl Drop for Deaf {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
