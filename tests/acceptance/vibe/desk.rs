//! A team at its daemon, on either database: developers with their tokens, calls of their agents, and the books that are kept.

use std::collections::{BTreeMap, BTreeSet};

use covenant_testkit::wire::{Answer, Request, Wire};
use covenant_testkit::{Daemon, Home, postgres, psql, sqlite};
use serde_json::{Value, json};

use crate::{home, unhurried};

/// What is written down of a team.
const BOOKS: [&str; 20] = [
    "tasks",
    "workstreams",
    "agent_sessions",
    "local_worktrees",
    "companions",
    "session_contexts",
    "notes",
    "claims",
    "claim_waits",
    "messages",
    "inboxes",
    "preflight_checks",
    "overlap_warnings",
    "scope_verdicts",
    "work_events",
    "usage_events",
    "agent_feedback_events",
    "parallel_audits",
    "weekly_summaries",
    "workspaces",
];

/// A daemon with a team, and the database it keeps its books in.
pub(super) struct Desk<'h> {
    pub(super) home: &'h Home,
    pub(super) daemon: Daemon<'h>,
    port: u16,
    database: Option<String>,
}

/// What one call left behind: rows that were not there before.
#[derive(Debug)]
pub(super) struct Left {
    /// What its agent was told.
    pub(super) envelope: Value,
    /// What was added or changed, by book.
    pub(super) rows: BTreeMap<&'static str, Vec<Value>>,
}

/// A home on each of the two databases, without limits; of PostgreSQL with its URL.
pub(super) fn homes() -> Vec<(Home, Option<String>)> {
    let server = postgres::database().unwrap().map(|url| {
        let home = home();
        home.write("config.toml", &format!("[rate_limit]\nrate = 0\n[database]\nurl = {}\n", json!(url)));
        (home, Some(url))
    });
    std::iter::once((unhurried(), None)).chain(server).collect()
}

/// Does the same on each of the two databases, with a daemon and a team on it.
pub(super) fn on_both(test: impl Fn(&Desk<'_>)) {
    for (home, database) in homes() {
        test(&Desk::at(&home, database));
    }
}

impl<'h> Desk<'h> {
    /// The desk of a home; of one on PostgreSQL, with the URL of its database.
    pub(super) fn at(home: &'h Home, database: Option<String>) -> Self {
        let daemon = home.up();
        let port = daemon.port();
        Self { home, daemon, port, database }
    }

    /// Changes the books behind the daemon's back.
    pub(super) fn meddle(&self, statement: &str) {
        match &self.database {
            Some(url) => drop(psql::execute(url, &[statement.to_owned()])),
            None => sqlite::execute(&self.home.path().join("covenant.db"), statement),
        }
    }

    /// Stops the daemon, and starts it again.
    pub(super) fn again(self) -> Self {
        let Self { home, daemon, database, .. } = self;
        daemon.stop();
        Self::at(home, database)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Invites a developer; the token of their agent.
    pub(super) fn invite(&self, handle: &str) -> String {
        self.invite_as(handle, &[], &[])
    }

    /// The same, with these options of `team invite` and `tokens create`.
    pub(super) fn invite_as(&self, handle: &str, invited: &[&str], token: &[&str]) -> String {
        self.home.run(&[&["team", "invite", handle], invited].concat()).ok();
        self.token(&[&["--for", handle], token].concat())
    }

    /// Makes a token.
    pub(super) fn token(&self, options: &[&str]) -> String {
        self.home.run(&[&["tokens", "create"], options].concat()).ok().stdout.trim().to_owned()
    }

    /// Posts a document to `/api/mcp`, showing that token.
    pub(super) fn post(&self, token: Option<&str>, body: impl Into<Vec<u8>>) -> Answer {
        let request = Request::new("POST", body).at("/api/mcp").with("Content-Type", "application/json");
        let request = match token {
            Some(token) => request.with("Authorization", format!("Bearer {token}")),
            None => request,
        };
        let mut wire = Wire::open(self.port);
        wire.send(&request);
        wire.answer().unwrap_or_else(|| panic!("no answer to {request:?}"))
    }

    /// Calls a tool by `/api/mcp`, and insists on that status and on the shape of the envelope, which it gives.
    #[track_caller]
    pub(super) fn answered(&self, status: u16, token: &str, tool: &str, arguments: &Value) -> Value {
        let answer = self.post(Some(token), json!({"tool": tool, "arguments": arguments}).to_string());
        assert_eq!(answer.status, status, "{tool} {arguments}: {answer:?}");
        let envelope = answer.json();
        assert_shape(&envelope);
        envelope
    }

    /// Calls a tool of a team, whatever comes of it.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub(super) fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        self.answered(200, token, tool, &arguments)
    }

    /// The same, which must go well; what it tells.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub(super) fn done(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let envelope = self.call(token, tool, arguments.clone());
        assert_eq!(envelope["status"], "ok", "{tool} {arguments}: {envelope}");
        envelope["data"].clone()
    }

    /// Checks, and starts a task of that title; its id, and that of its workstream.
    #[track_caller]
    pub(super) fn started(&self, token: &str, title: &str) -> (String, String) {
        let work = |operation| json!({"operation": operation, "title": title, "task_type": "feature"});
        self.done(token, "covibe_task", work("check"));
        let data = self.done(token, "covibe_task", work("start"));
        (word(&data, "task_id"), word(&data, "workstream_id"))
    }

    /// Starts a task although somebody may do the same already; its id.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub(super) fn insisted(&self, token: &str, work: Value) -> String {
        let with = |more: Value| {
            let mut arguments = work.clone();
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            self.call(token, "covibe_task", arguments)
        };
        with(json!({"operation": "check"}));
        let mut told = with(json!({"operation": "start"}));
        if told["status"] == "blocked" {
            let (id, reason) = (&told["data"]["warning_id"], "We mean to do it twice.");
            told = with(json!({"operation": "start", "warning_id": id, "confirmation_reason": reason}));
        }
        word(&told["data"], "task_id")
    }

    /// Checks, and starts a workstream of that title; its id.
    #[track_caller]
    pub(super) fn stream(&self, token: &str, title: &str) -> String {
        self.done(token, "covibe_workstream", json!({"operation": "check", "title": title}));
        let data = self.done(token, "covibe_workstream", json!({"operation": "start", "title": title}));
        word(&data, "workstream_id")
    }

    /// Plans a task of that title; its id.
    #[track_caller]
    pub(super) fn planned(&self, token: &str, title: &str) -> String {
        let plan = json!({"operation": "plan", "title": title, "task_type": "feature"});
        word(&self.done(token, "covibe_task", plan), "task_id")
    }

    /// Starts a session; its id.
    #[track_caller]
    pub(super) fn session(&self, token: &str) -> String {
        word(&self.done(token, "covibe_session", json!({"operation": "start"})), "session_id")
    }

    /// All that is written down, by book.
    pub(super) fn books(&self) -> BTreeMap<&'static str, Vec<Value>> {
        let query = |book: &&str| format!("SELECT * FROM {book}");
        let read: Vec<Vec<Value>> = if let Some(url) = &self.database {
            psql::rows(url, &BOOKS.iter().map(query).collect::<Vec<_>>())
        } else {
            let file = self.home.path().join("covenant.db");
            BOOKS.iter().map(|book| sqlite::rows(&file, &query(book))).collect()
        };
        BOOKS.into_iter().zip(read).collect()
    }

    /// The rows of a book.
    pub(super) fn book(&self, name: &str) -> Vec<Value> {
        self.books().remove(name).unwrap()
    }

    /// The row of a book with that id.
    #[track_caller]
    pub(super) fn row(&self, book: &str, id: &str) -> Value {
        let found = self.book(book).into_iter().find(|row| row["id"] == id);
        found.unwrap_or_else(|| panic!("no {id} in {book}"))
    }

    /// Does something, and gives what is in the books since.
    pub(super) fn watch(&self, act: impl FnOnce() -> Value) -> Left {
        let before = self.books();
        let envelope = act();
        let mut rows = BTreeMap::new();
        for (book, after) in self.books() {
            let known: BTreeSet<String> = before[book].iter().map(Value::to_string).collect();
            let new: Vec<Value> = after.into_iter().filter(|row| !known.contains(&row.to_string())).collect();
            if !new.is_empty() {
                rows.insert(book, new);
            }
        }
        Left { envelope, rows }
    }

    /// Calls a tool, and gives what the call left behind; one usage event is always among it.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub(super) fn watched(&self, token: &str, tool: &str, arguments: Value) -> Left {
        let left = self.watch(|| self.call(token, tool, arguments.clone()));
        assert_eq!(left.of("usage_events").len(), 1, "{tool} {arguments}: {left:?}");
        left
    }

    /// Calls a tool and insists that it is refused as an error, and that nothing is left but one usage event of an error;
    /// what is told, and that event.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub(super) fn refused(&self, token: &str, tool: &str, arguments: Value) -> (Value, Value) {
        let left = self.watched(token, tool, arguments.clone());
        assert_eq!(left.envelope["status"], "error", "{tool} {arguments}: {left:?}");
        assert_eq!(left.rows.len(), 1, "{tool} {arguments}: {left:?}");
        let usage = left.rows["usage_events"][0].clone();
        assert_eq!(usage["status"], "error", "{usage}");
        (left.envelope, usage)
    }
}

impl Left {
    /// What it added to a book.
    pub(super) fn of(&self, book: &str) -> &[Value] {
        self.rows.get(book).map_or(&[], Vec::as_slice)
    }

    /// The one row it added to a book.
    #[track_caller]
    pub(super) fn one(&self, book: &str) -> &Value {
        let [row] = self.of(book) else { panic!("not one row of {book}: {self:?}") };
        row
    }

    /// What changed, by name, in the order of the alphabet.
    pub(super) fn events(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.of("work_events").iter().map(|row| row["event"].as_str().unwrap()).collect();
        names.sort_unstable();
        names
    }

    /// How the call ended.
    pub(super) fn status(&self) -> &str {
        self.envelope["status"].as_str().unwrap()
    }
}

/// A text in what was told.
#[track_caller]
pub(super) fn word(data: &Value, name: &str) -> String {
    data[name].as_str().unwrap_or_else(|| panic!("no {name} in {data}")).to_owned()
}

/// The details of an event.
pub(super) fn payload(event: &Value) -> Value {
    serde_json::from_str(event["payload_json"].as_str().unwrap()).unwrap()
}

/// Insists that it is an envelope: four members, feedback that goes with the status, and what to do wherever there is something.
#[track_caller]
pub(super) fn assert_shape(envelope: &Value) {
    let members: Vec<&String> = envelope.as_object().unwrap_or_else(|| panic!("{envelope}")).keys().collect();
    assert_eq!(BTreeSet::from_iter(members).len(), 4, "{envelope}");
    let feedback = &envelope["feedback"];
    let tone = match envelope["status"].as_str().unwrap_or_default() {
        "ok" => "info",
        "warning" => "warning",
        "blocked" => "block",
        "error" => "error",
        other => panic!("`{other}`: {envelope}"),
    };
    assert_eq!(feedback["type"], tone, "{envelope}");
    assert_eq!(feedback["required_action"].is_null(), tone == "info", "{envelope}");
    assert!(envelope["message"].as_str().is_some_and(|message| !message.is_empty()), "{envelope}");
    assert!(envelope["data"].is_object(), "{envelope}");
    assert!(feedback["required_action"].as_str().is_none_or(|action| action.len() > 10), "{envelope}");
}
