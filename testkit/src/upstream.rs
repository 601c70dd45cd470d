//! An external MCP server for a test: the fixture program, its entry in the configuration, and what reached it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::home::Home;

/// A server, as its entry has it. One behind a URL runs from the beginning and ends with this.
pub struct Upstream {
    /// What the entry calls it.
    pub name: String,
    keys: Vec<(String, String)>,
    env: BTreeMap<String, String>,
    record: PathBuf,
    running: Option<(Child, u16)>,
}

impl Upstream {
    fn new(home: &Home, name: &str) -> Self {
        let file: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let record = home.beside(&format!("{file}.record"));
        let env = BTreeMap::from([
            ("SERVER_RECORD".to_owned(), record.display().to_string()),
            ("SERVER_STATE".to_owned(), home.beside(&format!("{file}.state")).display().to_string()),
        ]);
        Self { name: name.to_owned(), keys: Vec::new(), env, record, running: None }
    }

    /// A program that the daemon starts, with these words.
    pub fn stdio(home: &Home, name: &str, words: &[&str]) -> Self {
        let words = [&["stdio"], words].concat();
        Self::command(home, name, &program(home).display().to_string(), &words)
    }

    /// Another program that the daemon starts.
    pub fn command(home: &Home, name: &str, command: &str, words: &[&str]) -> Self {
        Self::new(home, name).key("command", json!(command)).key("args", json!(words))
    }

    /// One that is reached by Streamable HTTP.
    pub fn http(home: &Home, name: &str, words: &[&str]) -> Self {
        let served = Self::new(home, name).serve(home, "http", words);
        let url = format!("http://127.0.0.1:{}/mcp", served.port());
        served.key("url", json!(url))
    }

    /// One that is reached by the older HTTP with events.
    pub fn sse(home: &Home, name: &str, words: &[&str]) -> Self {
        let served = Self::new(home, name).serve(home, "sse", words);
        let url = format!("http://127.0.0.1:{}/sse", served.port());
        served.key("url", json!(url)).key("transport", json!("sse"))
    }

    /// One that stands behind that URL, or does not.
    pub fn url(home: &Home, name: &str, url: &str) -> Self {
        Self::new(home, name).key("url", json!(url))
    }

    #[expect(clippy::disallowed_methods, reason = "a server elsewhere is no child of the daemon")]
    fn serve(mut self, home: &Home, way: &str, words: &[&str]) -> Self {
        let mut child = std::process::Command::new(program(home))
            .arg(way)
            .args(words)
            .envs(&self.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the fixture starts");
        let mut port = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut port).expect("a port");
        self.running = Some((child, port.trim().parse().expect("a port")));
        self
    }

    /// The port of one behind a URL.
    ///
    /// # Panics
    /// If it is none.
    pub fn port(&self) -> u16 {
        self.running.as_ref().expect("a server behind a URL").1
    }

    /// With that key in its entry, in place of any other of that name. A JSON value is a TOML value, if it is no object.
    pub fn key(mut self, key: &str, value: impl Display) -> Self {
        self.keys.retain(|(known, _)| known != key);
        self.keys.push((key.to_owned(), value.to_string()));
        self
    }

    /// With that variable in its environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Its entry, as one of that table.
    ///
    /// # Panics
    /// Never.
    pub fn entry(&self, table: &str) -> String {
        let mut text = format!("[[{table}]]\nname = {}\n", json!(self.name));
        for (key, value) in &self.keys {
            writeln!(text, "{key} = {value}").expect("a string takes all");
        }
        if self.running.is_none() && self.keys.iter().any(|(key, _)| key == "command") {
            let pairs: Vec<String> =
                self.env.iter().map(|(name, value)| format!("{name} = {}", json!(value))).collect();
            writeln!(text, "env = {{ {} }}", pairs.join(", ")).expect("a string takes all");
        }
        text
    }

    /// All that it wrote down, in order: `{"event", …}` and `{"way", "headers", "message"}`.
    ///
    /// # Panics
    /// If a line is no JSON.
    pub fn record(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.record).unwrap_or_default();
        // The last line may still be on its way.
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        whole.lines().map(parse).collect()
    }

    /// The messages of that method that reached it.
    pub fn heard(&self, method: &str) -> Vec<Value> {
        let of = |line: &Value| line.pointer("/message/method").and_then(Value::as_str) == Some(method);
        let messages = self.record().into_iter().filter(of);
        messages.filter_map(|line| line.get("message").cloned()).collect()
    }

    /// How often something happened to it: `started`, `ended`, `cancelled`, `hung up`.
    pub fn count(&self, event: &str) -> usize {
        let of = |line: &&Value| line.get("event").and_then(Value::as_str) == Some(event);
        self.record().iter().filter(of).count()
    }
}

/// The fixture program, which lies beside the program under test.
fn program(home: &Home) -> PathBuf {
    let path = Path::new(home.program()).with_file_name("server");
    assert!(path.is_file(), "build the fixture first: cargo build -p covenant-testkit --bin server");
    path
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
