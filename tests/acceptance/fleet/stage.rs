//! A daemon with servers behind it, seen as a user sees them: by the API, and by MCP clients that may call everything.

use covenant_testkit::http::exchange;
use covenant_testkit::wait::until;
use covenant_testkit::{Daemon, Home, HttpClient, StdioClient, Upstream};
use serde_json::{Value, json};

/// A daemon, and who may administer it.
pub(crate) struct Stage<'h> {
    pub(crate) home: &'h Home,
    pub(crate) daemon: Daemon<'h>,
    pub(crate) port: u16,
    operator: String,
}

/// Writes a configuration with these servers and no rate limit.
pub(crate) fn configure(home: &Home, servers: &[&Upstream]) {
    let entries: Vec<String> = servers.iter().map(|server| server.entry("mcp.servers")).collect();
    home.write("config.toml", &format!("[rate_limit]\nrate = 0\n\n{}", entries.join("\n")));
}

impl<'h> Stage<'h> {
    /// Starts the daemon of that home.
    pub(crate) fn up(home: &'h Home) -> Self {
        let daemon = home.up();
        let port = daemon.port();
        let operator = std::fs::read_to_string(home.path().join("identity/operator.token")).unwrap();
        Self { home, daemon, port, operator: operator.trim().to_owned() }
    }

    /// Starts the daemon with these servers.
    pub(crate) fn with(home: &'h Home, servers: &[&Upstream]) -> Self {
        configure(home, servers);
        Self::up(home)
    }

    /// Asks the API as the operator: the status, and the document.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} /api/v1/{path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {}",
            self.operator
        );
        let answer = exchange(self.port, &format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let (_, document) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let document = serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}: {answer}"));
        (status.unwrap_or_else(|| panic!("{answer}")), document)
    }

    /// All servers.
    #[track_caller]
    pub(crate) fn servers(&self) -> Value {
        self.ask("GET", "mcp/servers", &Value::Null).1
    }

    /// One server as it is now; null where there is none.
    #[track_caller]
    pub(crate) fn server(&self, name: &str) -> Value {
        let all = self.servers();
        all["servers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|server| server["name"] == name)
            .cloned()
            .unwrap_or_default()
    }

    /// Waits until a server is in that state.
    #[track_caller]
    pub(crate) fn until_state(&self, name: &str, state: &str) -> Value {
        let mut last = Value::Null;
        until(&format!("`{name}` is {state}"), || {
            let now = self.server(name);
            if now != last {
                eprintln!("{name}: {} {}", now["state"], now["error"]);
                last.clone_from(&now);
            }
            (now["state"] == state).then_some(now)
        })
    }

    /// Waits until a server answers.
    #[track_caller]
    pub(crate) fn ready(&self, name: &str) -> Value {
        self.until_state(name, "ready")
    }

    /// A client on stdio, in the handshake's era, that may call everything.
    pub(crate) fn client(&self) -> StdioClient {
        self.home.run(&["capabilities", "grant", "tool.call.*"]).ok();
        let mut client = self.home.mcp();
        client.initialize();
        client
    }

    /// A client over HTTP that may call everything; it has no session yet.
    pub(crate) fn http(&self, name: &str) -> HttpClient {
        HttpClient::new(self.port, &self.token(name))
    }

    /// The token of a client that may call everything.
    pub(crate) fn token(&self, name: &str) -> String {
        let added = self.home.run(&["clients", "add", name, "--preset", "all", "--json"]).ok().json();
        added["token"].as_str().unwrap().to_owned()
    }
}

/// The first text of a good result.
#[track_caller]
pub(crate) fn text(answer: &Value) -> &str {
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// The sentence of a failed call, which names the server.
#[track_caller]
pub(crate) fn failure(answer: &Value, server: &str) -> String {
    assert_eq!(answer["result"]["isError"], true, "{answer:.500}");
    let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(said.starts_with("MCP error: "), "{said}");
    assert!(said.contains(server), "{said} names no `{server}`");
    said.to_owned()
}

/// The names a client sees.
#[track_caller]
pub(crate) fn names(client: &mut StdioClient) -> Vec<String> {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Waits until a client sees that tool, or no longer does.
#[track_caller]
pub(crate) fn until_listed(client: &mut StdioClient, tool: &str, listed: bool) {
    until(&format!("`{tool}` is listed: {listed}"), || {
        (names(client).iter().any(|name| name == tool) == listed).then_some(())
    });
}

/// Insists that the tools of a good server and our own answer.
#[track_caller]
pub(crate) fn others_answer(client: &mut StdioClient) {
    assert_eq!(text(&client.call("good__echo", json!({"text": "here"}))), "here");
    assert_eq!(text(&client.call("echo", json!({"text": "native"}))), "native");
}
