//! The servers of other people: how each is entered in a configuration, how it is asked directly, and what it is asked.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use covenant_testkit::{Home, StdioClient};
use serde_json::{Value, json};

use crate::installed::root;

/// A server behind the gate, and another process of the same that nobody stands before.
pub(super) struct Other {
    /// What stands before its tools' names.
    pub(super) prefix: &'static str,
    /// Its entry in the configuration.
    pub(super) entry: String,
    /// What it is asked, each time anew.
    pub(super) calls: Vec<(&'static str, Value)>,
    direct: StdioClient,
}

impl Other {
    /// Its tools as it lists them.
    pub(super) fn tools(&mut self) -> Vec<Value> {
        let listed = self.direct.request("tools/list", json!({}));
        listed["result"]["tools"].as_array().unwrap().clone()
    }

    /// Asks it directly: what it answers, and what it says of its progress.
    pub(super) fn ask(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "steps"}});
        self.direct.send(&json!({"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params}));
        let mut progress = Vec::new();
        loop {
            let message = self.direct.receive();
            if message["method"] == "notifications/progress" {
                progress.push(json!([message["params"]["progress"], message["params"]["total"]]));
            } else if message["id"] == "call" {
                return json!({"result": message["result"], "progress": progress});
            }
        }
    }
}

/// What the servers work on, and those that are not started by the daemon.
pub(super) struct Stage {
    packages: PathBuf,
    notes: PathBuf,
    graph: PathBuf,
    repository: PathBuf,
    page: Listening,
    http: Listening,
    sse: Listening,
}

impl Stage {
    /// Makes a directory, a graph, a repository and a page, and starts what serves over HTTP.
    pub(super) fn set(home: &Home, packages: &Path) -> Self {
        let notes = home.beside("notes");
        std::fs::create_dir_all(&notes).unwrap();
        std::fs::write(notes.join("today.txt"), "Feed the cat.\nWater the plants.\n").unwrap();
        let graph = home.beside("graph.jsonl");
        let entity =
            json!({"type": "entity", "name": "Ada", "entityType": "person", "observations": ["writes"]});
        std::fs::write(&graph, entity.to_string()).unwrap();
        let python = packages.join("venv/bin/python");
        let mut page = Command::new(python);
        page.args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory"]).arg(&notes).arg("0");
        let everything = |transport: &str| {
            let mut command = Command::new("node");
            command.arg("--require").arg(root().join("tests/clients/servers/loopback.cjs"));
            command.arg(script(packages, "everything")).arg(transport).env("PORT", "0");
            Listening::start(command)
        };
        Self {
            repository: repository(home),
            page: Listening::start(page),
            http: everything("streamableHttp"),
            sse: everything("sse"),
            packages: packages.to_owned(),
            notes,
            graph,
        }
    }

    /// Every server: those of Node speak the handshake's era alone, those of Python both.
    pub(super) fn others(&self, home: &Home) -> Vec<Other> {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let node = |name: &str, words: &[&str]| {
            let script = text(&script(&self.packages, name));
            let words = [&["node", &script], words].concat();
            words.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let python = |name: &str, words: &[&str]| {
            let program = text(&self.packages.join("venv/bin").join(name));
            let words = [&[program.as_str()], words].concat();
            words.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let (notes, repository) = (text(&self.notes), text(&self.repository));
        let graph = ("MEMORY_FILE_PATH", text(&self.graph));
        let everything = node("everything", &["stdio"]);
        let served = |transport: &str, listening: &Listening, path: &str| {
            format!("url = \"http://127.0.0.1:{}/{path}\"\ntransport = \"{transport}\"\n", listening.port)
        };
        let shown = |prefix, spelled: Option<String>, words: &[String], env: &[(&str, String)], calls| {
            other(home, prefix, spelled, words, env, calls)
        };
        let http = served("http", &self.http, "mcp");
        let sse = served("sse", &self.sse, "sse");
        let fetch = ["--allow-private-ips", "--ignore-robots-txt"];
        let page = format!("http://127.0.0.1:{}/today.txt", self.page.port);
        vec![
            shown("everything", None, &everything, &[], of_everything()),
            shown("everything-http", Some(http), &everything, &[], of_everything()),
            shown("everything-sse", Some(sse), &everything, &[], of_everything()),
            shown("filesystem", None, &node("filesystem", &[&notes]), &[], of_files(&notes)),
            shown("memory", None, &node("memory", &[]), &[graph], vec![("read_graph", json!({}))]),
            shown("thinking", None, &node("sequential-thinking", &[]), &[], of_thoughts()),
            shown("time", None, &python("mcp-server-time", &["--local-timezone", "UTC"]), &[], of_time()),
            shown(
                "git",
                None,
                &python("mcp-server-git", &["--repository", &repository]),
                &[],
                of_git(&repository),
            ),
            shown(
                "fetch",
                None,
                &python("mcp-server-fetch", &fetch),
                &[],
                vec![("fetch", json!({"url": page}))],
            ),
        ]
    }
}

/// A server that is started with these words, or reached as it is spelled.
fn other(
    home: &Home,
    prefix: &'static str,
    spelled: Option<String>,
    words: &[String],
    env: &[(&str, String)],
    calls: Vec<(&'static str, Value)>,
) -> Other {
    let (program, arguments) = words.split_first().unwrap();
    let command = || {
        let env: String = env.iter().map(|(name, value)| format!("{name} = {value:?}, ")).collect();
        let env = env.trim_end_matches(", ");
        format!("command = {program:?}\nargs = {arguments:?}\nenv = {{ {env} }}\n")
    };
    let spelled = spelled.unwrap_or_else(command);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut started = Home::within(&home.beside("direct"), program).command(&arguments);
    for (name, value) in env {
        started = started.env(name, value);
    }
    let mut direct = StdioClient::start(started);
    direct.initialize();
    let entry = format!("\n[[mcp.servers]]\nname = \"{prefix}\"\n{spelled}");
    Other { prefix, entry, calls, direct }
}

fn of_everything() -> Vec<(&'static str, Value)> {
    vec![
        ("echo", json!({"message": "hi"})),
        ("get-sum", json!({"a": 2, "b": 40})),
        ("get-structured-content", json!({"location": "New York"})),
        ("get-tiny-image", json!({})),
        ("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        ("get-resource-links", json!({"count": 3})),
        ("trigger-long-running-operation", json!({"duration": 0.1, "steps": 4})),
    ]
}

fn of_files(notes: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("list_directory", json!({"path": notes})),
        ("read_text_file", json!({"path": format!("{notes}/today.txt")})),
        // It refuses, which is a result like any other.
        ("read_text_file", json!({"path": "/etc/passwd"})),
    ]
}

fn of_thoughts() -> Vec<(&'static str, Value)> {
    let thought =
        json!({"thought": "One step.", "nextThoughtNeeded": true, "thoughtNumber": 1, "totalThoughts": 2});
    vec![("sequentialthinking", thought)]
}

fn of_time() -> Vec<(&'static str, Value)> {
    let noon = json!({"source_timezone": "Asia/Kolkata", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    vec![("convert_time", noon)]
}

fn of_git(repository: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("git_status", json!({"repo_path": repository})),
        ("git_log", json!({"repo_path": repository, "max_count": 1})),
    ]
}

/// Where npm put the program of a server.
fn script(packages: &Path, name: &str) -> PathBuf {
    packages.join("node_modules/.bin").join(format!("mcp-server-{name}"))
}

/// A repository with one commit and one file that is not in it.
fn repository(home: &Home) -> PathBuf {
    let place = home.beside("repository");
    std::fs::create_dir_all(&place).unwrap();
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let ran = Command::new("git").args(identity).args(words).current_dir(&place).output().unwrap();
        assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    std::fs::write(place.join("kept.txt"), "kept\n").unwrap();
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "kept.txt"]);
    git(&["commit", "--quiet", "--message", "Keep it"]);
    std::fs::write(place.join("new.txt"), "new\n").unwrap();
    place
}

/// A program that listens on a port of loopback; it does not outlive its test.
struct Listening {
    child: Child,
    port: u16,
}

impl Listening {
    /// Starts it, and waits for the line that says where it listens.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| port(&line));
        // It goes on talking, and would stop if nobody listened.
        std::thread::spawn(move || lines.count());
        let listening = Self { child, port: port.unwrap_or(0) };
        assert!(listening.port > 0, "{command:?} does not listen");
        listening
    }
}

/// The port in `{"listening": PORT}`, or in what Python says: `Serving HTTP on 127.0.0.1 port PORT (…)`.
fn port(line: &str) -> Option<u16> {
    let after = line.split_once("{\"listening\":").or_else(|| line.split_once("127.0.0.1 port "))?.1;
    after.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
