//! A daemon with agents that do what their intents say, and what a person or a program sees of them.

use std::fs;
use std::path::{Path, PathBuf};

use covenant_testkit::http::exchange;
use covenant_testkit::wait::until;
use covenant_testkit::{Daemon, Home, Ran};
use serde_json::{Value, json};

use crate::installed::root;

/// What an agent is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    Python,
    Node,
}

impl Language {
    pub(super) const ALL: [Self; 3] = [Self::Rust, Self::Python, Self::Node];

    pub(super) fn runtime(self) -> &'static str {
        match self {
            Self::Rust => "rust-bin",
            Self::Python => "python3",
            Self::Node => "node",
        }
    }

    pub(super) fn entry(self) -> &'static str {
        match self {
            Self::Rust => "agent",
            Self::Python => "agent.py",
            Self::Node => "agent.mjs",
        }
    }

    /// The fixture.
    pub(super) fn program(self) -> PathBuf {
        let path = match self {
            Self::Rust => Path::new(env!("CARGO_BIN_EXE_covenant")).with_file_name("agent"),
            Self::Python | Self::Node => root().join("tests/agents").join(self.entry()),
        };
        assert!(path.is_file(), "build the fixture first: cargo build -p covenant-testkit --bin agent");
        path
    }
}

/// A manifest of that name, with further sections.
pub(super) fn manifest(name: &str, language: Language, more: &str) -> String {
    let (runtime, entry) = (language.runtime(), language.entry());
    format!(
        "[agent]\nid = \"{name}@local\"\nname = \"{name}\"\nversion = \"0.1.0\"\nruntime = \"{runtime}\"\n\
         entry = \"{entry}\"\n{more}"
    )
}

/// Puts an agent into the home.
pub(crate) fn install(home: &Home, name: &str, language: Language, more: &str) {
    home.write(&format!("agents/{name}/agent.toml"), &manifest(name, language, more));
    put(&language.program(), &home.path().join("agents").join(name).join(language.entry()));
}

/// Copies a program to a place of its own.
pub(super) fn put(program: &Path, place: &Path) {
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    covenant_testkit::program::copy(program, place);
}

/// A daemon, and its home.
pub(super) struct Stage<'h> {
    pub(super) home: &'h Home,
    pub(super) daemon: Daemon<'h>,
    pub(super) port: u16,
}

impl<'h> Stage<'h> {
    /// Starts the daemon of that home, whose operator may call every tool.
    pub(super) fn up(home: &'h Home) -> Self {
        let stage = Self::again(home);
        home.run(&["capabilities", "grant", "tool.call.*"]).ok();
        stage
    }

    /// Starts the daemon of that home.
    pub(super) fn again(home: &'h Home) -> Self {
        let daemon = home.up();
        let port = daemon.port();
        Self { home, daemon, port }
    }

    /// Sends an intent and waits for what comes of it.
    pub(super) fn intent(&self, agent: &str, text: &str) -> Ran {
        self.home.run(&["intent", "--json", "--agent", agent, text])
    }

    /// What an agent answers, that keeps its contract.
    #[track_caller]
    pub(super) fn said(&self, agent: &str, text: &str) -> String {
        let reply = self.intent(agent, text).ok().json();
        assert_eq!(reply["status"], "ok", "{reply}");
        reply["text"].as_str().unwrap().to_owned()
    }

    /// What an agent answers, as JSON.
    #[track_caller]
    pub(super) fn told(&self, agent: &str, text: &str) -> Value {
        let said = self.said(agent, text);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// What the daemon answers to an agent that makes these calls of tools.
    #[track_caller]
    pub(super) fn called(&self, agent: &str, calls: &[(&str, Value)]) -> Vec<Value> {
        let call =
            |(name, arguments): &(&str, Value)| json!(["tools/call", {"name": name, "arguments": arguments}]);
        let calls: Vec<Value> = calls.iter().map(call).collect();
        self.told(agent, &format!("calls {}", Value::from(calls))).as_array().unwrap().clone()
    }

    /// Sends an intent and does not wait: its id.
    #[track_caller]
    pub(super) fn send(&self, agent: &str, text: &str, more: &[&str]) -> String {
        let words = [&["intent", "--no-wait", "--agent", agent], more, &[text]].concat();
        self.home.run(&words).ok().stdout.trim().to_owned()
    }

    /// An intent as it is now.
    #[track_caller]
    pub(super) fn shown(&self, id: &str) -> Value {
        self.home.run(&["intents", "show", "--json", id]).ok().json()
    }

    /// Waits until an intent stands so.
    #[track_caller]
    pub(super) fn stands(&self, id: &str, status: &str) -> Value {
        until(&format!("{id} is {status}"), || {
            let shown = self.shown(id);
            let over = ["ok", "error", "cancelled"].iter().any(|over| shown["status"] == *over);
            assert!(shown["status"] == status || !over, "{shown}");
            (shown["status"] == status).then_some(shown)
        })
    }

    /// The rows of the audit log, oldest first.
    pub(super) fn rows(&self) -> Vec<Value> {
        self.home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().json_lines()
    }

    /// The rows of that call: kind and decision.
    pub(super) fn way(&self, call: &Value) -> Vec<(String, String)> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rows = self.rows().into_iter().filter(|row| row["call"] == *call);
        rows.map(|row| (word(&row["kind"]), word(&row["decision"]))).collect()
    }

    /// The token of a new client with these grants.
    #[track_caller]
    pub(super) fn client(&self, name: &str, grants: &[&str]) -> String {
        let mut words = vec!["clients", "add", name];
        words.extend(grants.iter().flat_map(|grant| ["--grant", grant]));
        self.home.run(&words).ok().stdout.trim().to_owned()
    }

    /// The operator's token.
    pub(super) fn operator(&self) -> String {
        let token = fs::read_to_string(self.home.path().join("identity/operator.token")).unwrap();
        token.trim().to_owned()
    }

    /// A request of the API, as it goes over the wire.
    pub(super) fn request(token: &str, method: &str, path: &str, body: &Value, more: &str) -> String {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        format!(
            "{method} /api/v1/{path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}\
             Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// Asks the API: the status, and the document.
    #[track_caller]
    pub(super) fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let answer = exchange(self.port, &Self::request(token, method, path, body, ""));
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let (_, document) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let document = serde_json::from_str(document).unwrap_or(Value::Null);
        (status.unwrap_or_else(|| panic!("{answer}")), document)
    }

    /// Puts a file into the workspace, for which an agent waits.
    pub(super) fn place(&self, file: &str) {
        self.home.write(&format!("workspace/{file}"), "here\n");
    }

    /// Waits until nothing is left of any run: no process, no file.
    #[track_caller]
    pub(super) fn nothing_left(&self) {
        nothing_left(self.home);
    }
}

/// Waits until nothing is left of any run: no process, no file.
#[track_caller]
pub(super) fn nothing_left(home: &Home) {
    let programs = home.path().join("agents");
    until("no process is left", || alive(programs.to_str().unwrap()).is_empty().then_some(()));
    // Each run is on record while there is anything of it, also of a directory elsewhere.
    for place in ["run/scratch", "run/children"] {
        until(&format!("nothing is left in {place}"), || {
            (fs::read_dir(home.path().join(place)).unwrap().count() == 0).then_some(())
        });
    }
}

/// Processes whose command line shows that mark.
pub(super) fn alive(mark: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let shows = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    };
    pids.filter(shows).collect()
}

/// The first text of a result, good or bad; of a refusal, its sentence.
pub(super) fn text(answer: &Value) -> &str {
    let said = answer["result"]["content"][0]["text"].as_str();
    said.or_else(|| answer["error"]["message"].as_str()).unwrap_or_default()
}
