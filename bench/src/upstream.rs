//! The echo server in Node that stands behind the gate, and is called directly for comparison.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::http::Server;

/// What a client says until it knows the tools.
const GREETING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
    "\n",
);

/// The words that start it, with that transport.
pub fn words(transport: &str) -> [String; 3] {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/echo.mjs");
    ["node".to_owned(), script.display().to_string(), transport.to_owned()]
}

#[expect(clippy::disallowed_methods, reason = "the yardstick is started by hand")]
fn start(transport: &str) -> Running {
    let [program, arguments @ ..] = words(transport);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    Running(command.spawn().expect("Node is on the PATH"))
}

/// A process that ends with us.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server over HTTP.
pub struct Echo {
    process: Running,
    port: u16,
}

impl Echo {
    /// Starts one, and waits until it listens.
    ///
    /// # Panics
    /// If it does not.
    pub fn start() -> Self {
        let mut process = start("http");
        let mut line = String::new();
        let output = process.0.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a line");
        Self { process, port: line.trim().parse().expect("its port") }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How to call it; it takes any token.
    pub fn server(&self) -> Server {
        let (token, tool) = ("none".to_owned(), "echo".to_owned());
        Server { port: self.port, pid: self.process.0.id(), token, tool }
    }
}

/// Starts so many at once by stdio and greets each; how long it takes until all have listed their tools.
///
/// # Panics
/// If one does not.
pub fn listed_directly(count: usize) -> Duration {
    let begun = Instant::now();
    let mut all: Vec<Running> = (0..count).map(|_| start("stdio")).collect();
    for server in &mut all {
        let input = server.0.stdin.as_mut().expect("a pipe");
        input.write_all(GREETING.as_bytes()).expect("it reads");
    }
    for server in &mut all {
        let output = server.0.stdout.as_mut().expect("a pipe");
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        assert!(lines.take(2).any(|line| line.contains("\"tools\":[")), "a server lists nothing");
    }
    begun.elapsed()
}
