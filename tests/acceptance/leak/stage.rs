//! A daemon with everything configured, secrets of every sort, files that hold them, and all that it says to anyone.

use std::fs;

use covenant_testkit::{Daemon, Home, StdioClient};
use serde_json::{Value, json};

use super::forms::{Known, files_without, without};
use super::services::Services;
use crate::home;

/// What lies in the home and holds what it was given; an approval keeps the text that is to be approved.
const GIVEN: [&str; 8] =
    ["secrets.toml", "workspace", "vault", "memory", "scripts", "index", "own.ics", "covenant.db"];

/// What runs without being asked about: each function lets its argument out in another way.
const TOLD: &str = "def give(x):\n    return {\"it\": x, x: [x + x]}\n\
                    def say(x):\n    print(x)\n    return tools.call(\"echo\", {\"text\": x})\n\
                    def fails(x):\n    fail(x)\n\
                    def key(x):\n    return {}[x]\n\
                    def tool(x):\n    return tools.call(x, {x: x})\n\
                    def get(x):\n    return http.get(x, headers = {\"X-It\": x})\n\
                    def page(x):\n    return http.post(\"http://localhost:PORT/\" + x, body = x)\n\
                    def reads(x):\n    return json.decode(x)\n\
                    def secret(x):\n    return secrets.get(x)\n";

/// Secrets as they are, and one with all that is written otherwise somewhere.
pub(super) fn secrets() -> Vec<Known> {
    let value = |number: u64| format!("leak-{number:02}-{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut all: Vec<Known> =
        (1..3).map(|number| Known { name: format!("LEAK_{number}"), value: value(number) }).collect();
    all.push(Known { name: "LEAK_ODD".to_owned(), value: "odd \"one\" \\ <&> 'für' %2f+=#1".to_owned() });
    all
}

/// The daemon, its services, and what was said so far.
pub(super) struct Stage<'h> {
    home: &'h Home,
    pub(super) daemon: Daemon<'h>,
    client: StdioClient,
    secrets: Vec<Known>,
    said: String,
    next: u64,
}

/// A home in which everything is configured and every sort of file holds every form.
pub(super) fn prepared(services: &Services, secrets: &[Known]) -> Home {
    let home = home();
    let config = format!(
        "[rate_limit]\nrate = 0\n[logging]\nlevel = \"debug\"\n[vault]\npath = \"vault\"\n\
         [web]\nallow_hosts = [\"localhost\"]\n[scripts]\nmax_execution_ms = 60000\nallowlist = [\"told\"]\n\
         [[calendars]]\nname = \"Own\"\npath = \"own.ics\"\n{}",
        services.config()
    );
    home.write("config.toml", &config);
    let mut stored = toml_table(secrets);
    stored.push_str(&toml_table(&Services::secrets()));
    home.write("secrets.toml", &format!("[secrets]\n{stored}"));
    home.write("scripts/told.star", &TOLD.replace("PORT", &services.port()));
    let mut lines = Vec::new();
    let mut events = Vec::new();
    for (number, form) in secrets.iter().flat_map(Known::sent).enumerate() {
        home.write(
            &format!("scripts/held{number}.star"),
            &format!(
                "# @description: {form}\n# @author: {form}\n# @version: {form}\nresult = {}\n",
                Value::from(form.as_str())
            ),
        );
        home.write(
            &format!("vault/Held{number}.md"),
            &format!("---\ntags: [x]\nkey: {form}\n---\n# {form}\nheld [[{form}]] #{form}\n"),
        );
        events.push(format!(
            "BEGIN:VEVENT\nUID:{form}\nSUMMARY:{form}\nLOCATION:{form}\nDTSTART:20260330T080000Z\nEND:VEVENT\n"
        ));
        lines.push(form);
    }
    home.write("own.ics", &format!("BEGIN:VCALENDAR\n{}END:VCALENDAR\n", events.concat()));
    home.write("workspace/held.txt", &lines.join("\n"));
    for (number, secret) in secrets.iter().enumerate() {
        let bytes = [b"\xff\xfe".as_slice(), secret.value.as_bytes(), &[0]].concat();
        fs::write(home.path().join(format!("workspace/held{number}.bin")), bytes).unwrap();
    }
    // Enough of them that the caller is told how far the list is.
    let many = home.path().join("workspace").join(format!("many {}", secrets[0].value));
    fs::create_dir(&many).unwrap();
    for number in 0..10_500 {
        fs::File::create(many.join(format!("{number}"))).unwrap();
    }
    home
}

fn toml_table(secrets: &[Known]) -> String {
    secrets
        .iter()
        .map(|secret| format!("{} = {}\n", secret.name, Value::from(secret.value.as_str())))
        .collect()
}

impl<'h> Stage<'h> {
    /// Starts the daemon, and a client that may call everything and hears everything.
    pub(super) fn begin(home: &'h Home, secrets: Vec<Known>) -> Self {
        let daemon = home.up();
        home.run(&["capabilities", "grant", "tool.call.*"]).ok();
        let mut client = home.mcp();
        client.initialize();
        let mut stage = Self { home, daemon, client, secrets, said: String::new(), next: 0 };
        stage.request("logging/setLevel", &json!({"level": "debug"}));
        stage
    }

    /// The tools there are, as the daemon lists them.
    pub(super) fn tools(&mut self) -> Vec<Value> {
        let listed = self.request("tools/list", &json!({}));
        listed["result"]["tools"].as_array().unwrap().clone()
    }

    /// Calls a tool; whatever is said until it is answered is kept.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request(
            "tools/call",
            &json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": self.next}}),
        )
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = format!("r{}", self.next);
        self.client.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let line = self.client.line();
            self.hear(&line, params);
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Lets a client call what a person is asked about first.
    pub(super) fn asks(&mut self, forms: &[String]) {
        let token = self.home.run(&["clients", "add", "bea"]).ok().stdout;
        let grant = ["capabilities", "grant", "tool.call.echo", "--to", "client:bea", "--approval", "ask"];
        self.home.run(&grant).ok();
        let mut bea = StdioClient::start(self.home.command(&["--mcp"]).env("COVENANT_TOKEN", token.trim()));
        bea.initialize();
        for form in forms {
            let answer = bea.call("echo", json!({ "text": form }));
            assert_eq!(answer["error"]["code"], -31003, "{answer}");
            self.hear(&answer.to_string(), &json!(form));
        }
    }

    /// Runs a command as the operator; what it printed.
    pub(super) fn run(&mut self, arguments: &[&str]) -> String {
        let ran = self.home.run(arguments);
        self.hear(&format!("{}{}", ran.stdout, ran.stderr), &json!(arguments));
        ran.stdout
    }

    /// Asks the API as the operator.
    pub(super) fn get(&mut self, path: &str) -> String {
        let token = fs::read_to_string(self.home.path().join("identity/operator.token")).unwrap();
        let more = format!("Authorization: Bearer {}\r\n", token.trim());
        let port = self.daemon.port();
        let said = covenant_testkit::http::get(port, path, &format!("localhost:{port}"), &more);
        self.hear(&said, &json!(path));
        said
    }

    /// What was said is looked through at once, so that a leak is told with what was asked.
    #[track_caller]
    fn hear(&mut self, said: &str, asked: &Value) {
        without(&format!("the answer to {asked}"), said, &self.secrets);
        self.said.push_str(said);
    }

    /// Whether that was said by anyone.
    pub(super) fn was_said(&self, words: &str) -> bool {
        self.said.contains(words)
    }

    /// Ends all, and looks through what was printed and written.
    pub(super) fn end(self) {
        let printed = self.daemon.printed();
        self.daemon.stop();
        without("what was printed", &printed, &self.secrets);
        files_without(&self.home.path(), &GIVEN, &self.secrets);
    }
}
