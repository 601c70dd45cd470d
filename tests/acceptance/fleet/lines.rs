//! Bad programs on stdio: each beside a good one, each fails as documented, and the good one and our own tools answer.

use std::net::TcpListener;

use covenant_testkit::wait::until;
use covenant_testkit::{Home, StdioClient, Upstream};
use serde_json::{Value, json};

use super::stage::{Stage, failure, names, others_answer, text};
use crate::home;

/// A bad server, and what must come of it.
struct Row {
    name: &'static str,
    words: &'static [&'static str],
    keys: &'static [(&'static str, u64)],
    then: fn(&mut Seen<'_>),
}

/// What a row looks at.
struct Seen<'s> {
    stage: &'s Stage<'s>,
    client: &'s mut StdioClient,
    server: &'s Upstream,
}

impl Seen<'_> {
    /// Calls one of its tools.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.client.call(&format!("{}__{tool}", self.server.name), arguments)
    }

    /// It is ready, and its echo works.
    #[track_caller]
    fn works(&mut self) {
        self.stage.ready(&self.server.name);
        for word in ["one", "two", "three"] {
            assert_eq!(text(&self.call("echo", json!({ "text": word }))), word);
        }
    }

    /// It is ready, and a call of it fails with that in the sentence.
    #[track_caller]
    fn fails(&mut self, why: &str) {
        self.stage.ready(&self.server.name);
        let answer = self.call("echo", json!({"text": "x"}));
        let said = failure(&answer, &self.server.name);
        assert!(said.contains(why), "{said} says nothing of `{why}`");
    }

    /// It never becomes ready, and its status says why.
    #[track_caller]
    fn is_down(&mut self, why: &str) {
        let name = &self.server.name;
        let mut last = Value::Null;
        until(&format!("`{name}` is down for `{why}`"), || {
            let now = self.stage.server(name);
            if now["error"] != last {
                eprintln!("{name}: {} {}", now["state"], now["error"]);
                last.clone_from(&now["error"]);
            }
            let said = now["error"].as_str().unwrap_or_default();
            assert_ne!(now["state"], "ready", "{now}");
            (now["connected"] == false && said.contains(why)).then_some(())
        });
        let listed = names(self.client);
        assert!(!listed.iter().any(|tool| tool.starts_with(&format!("{name}__"))), "{listed:?}");
    }
}

const ROWS: &[Row] = &[
    Row { name: "garbage", words: &["garbage@start", "garbage@*"], keys: &[], then: |it| it.works() },
    Row { name: "twice", words: &["twice@*"], keys: &[], then: |it| it.works() },
    Row { name: "flood", words: &["flood@tools/call"], keys: &[], then: |it| it.works() },
    Row {
        name: "wrong-id",
        words: &["wrong-id@tools/call"],
        keys: &[("call_timeout_secs", 1)],
        then: |it| it.fails("said nothing for 1 s"),
    },
    Row {
        name: "never",
        words: &["never@tools/call"],
        keys: &[("call_timeout_secs", 1)],
        then: |it| it.fails("said nothing for 1 s"),
    },
    Row { name: "shapeless", words: &["shapeless@tools/call"], keys: &[], then: |it| it.fails("result") },
    Row { name: "error", words: &["error@tools/call"], keys: &[], then: |it| it.fails("told to fail") },
    Row {
        name: "dies-early",
        words: &["die@start"],
        keys: &[],
        then: |it| it.is_down("fatal: told to die at start"),
    },
    Row {
        name: "dies-greeting",
        words: &["legacy", "die@initialize"],
        keys: &[],
        then: |it| it.is_down("fatal: told to die at initialize"),
    },
    Row {
        name: "dies-listing",
        words: &["die@tools/list"],
        keys: &[],
        then: |it| it.is_down("fatal: told to die at tools/list"),
    },
    Row {
        name: "never-starts",
        words: &["never@start"],
        keys: &[("start_timeout_secs", 1)],
        then: |it| it.is_down("did not answer"),
    },
    Row {
        name: "never-greets",
        words: &["legacy", "never@initialize"],
        keys: &[("start_timeout_secs", 1)],
        then: |it| it.is_down("did not answer"),
    },
    Row {
        name: "never-lists",
        words: &["never@tools/list"],
        keys: &[("list_timeout_secs", 1)],
        then: |it| it.is_down("within 1 s"),
    },
    Row {
        name: "lists-nonsense",
        words: &["shapeless@tools/list"],
        keys: &[],
        then: |it| it.is_down("list"),
    },
    Row { name: "lists-too-much", words: &["huge@tools/list"], keys: &[], then: |it| it.is_down("bytes") },
    Row { name: "no-probe", words: &["legacy", "never@server/discover"], keys: &[], then: |it| it.works() },
    Row { name: "probe-kills", words: &["legacy", "die@server/discover"], keys: &[], then: |it| it.works() },
    Row { name: "huge", words: &[], keys: &[], then: huge },
    Row { name: "deaf", words: &["deaf@tools/call"], keys: &[("call_timeout_secs", 1)], then: deaf },
    Row { name: "changing", words: &["changing"], keys: &[], then: changing },
    Row { name: "malformed", words: &["malformed"], keys: &[], then: malformed },
];

/// A line of 50 MB is thrown away as it comes, and the server goes on.
fn huge(it: &mut Seen<'_>) {
    it.stage.ready("huge");
    let answer = it.call("huge", json!({"megabytes": 50}));
    assert!(failure(&answer, "huge").contains("bytes"), "{answer}");
    it.works();
}

/// More is sent than any pipe holds, to one that never reads.
fn deaf(it: &mut Seen<'_>) {
    it.fails("said nothing for 1 s");
    let long = "x".repeat(1_000_000);
    for _ in 0..2 {
        let answer = it.call("echo", json!({ "text": long }));
        failure(&answer, "deaf");
    }
}

/// Each list is another one, and announces itself: that is no reason to ask for ever.
fn changing(it: &mut Seen<'_>) {
    it.works();
    let lists = it.server.heard("tools/list").len();
    others_answer(it.client);
    assert!(lists < 200, "asked {lists} times");
}

/// What is no tool is left out, and said.
fn malformed(it: &mut Seen<'_>) {
    it.works();
    let refused = it.stage.server("malformed")["refused"].clone();
    let refused: Vec<&str> =
        refused.as_array().unwrap().iter().map(|tool| tool["tool"].as_str().unwrap()).collect();
    assert!(refused.contains(&"schema_is_text"), "{refused:?}");
    assert!(!names(it.client).iter().any(|tool| tool == "malformed__schema_is_text"));
}

fn upstream(home: &Home, row: &Row) -> Upstream {
    let server = Upstream::stdio(home, row.name, row.words);
    row.keys.iter().fold(server, |server, (key, value)| server.key(key, value))
}

#[test]
fn whatever_a_program_does_the_others_answer() {
    let home = home();
    let good = Upstream::stdio(&home, "good", &[]);
    let bad: Vec<Upstream> = ROWS.iter().map(|row| upstream(&home, row)).collect();
    let all: Vec<&Upstream> = std::iter::once(&good).chain(&bad).collect();
    let stage = Stage::with(&home, &all);
    let mut client = stage.client();
    stage.ready("good");
    for (row, server) in ROWS.iter().zip(&bad) {
        eprintln!("{}: {:?}", row.name, row.words);
        (row.then)(&mut Seen { stage: &stage, client: &mut client, server });
        others_answer(&mut client);
    }
    let rss = resident(stage.daemon.pid());
    assert!(rss < 200_000, "the daemon has grown to {rss} KiB");
}

/// How much memory a process has, in KiB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A schema is data: what it points to elsewhere is never fetched, and what points at itself ends.
#[test]
fn a_schema_never_makes_us_fetch_or_loop() {
    let home = home();
    let bait = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    bait.set_nonblocking(true).unwrap();
    let reference = format!("ref=http://{}/schema.json", bait.local_addr().unwrap());
    let good = Upstream::stdio(&home, "good", &[]);
    let refers = Upstream::stdio(&home, "refers", &[&reference]);
    let stage = Stage::with(&home, &[&good, &refers]);
    stage.ready("good");
    let now = stage.ready("refers");
    let mut client = stage.client();
    let tree = |value: Value| json!({"tree": {"left": {"left": {"value": value}}}});
    assert_eq!(text(&client.call("refers__recursive", tree(json!(1)))), "recursive of fixture");
    assert_eq!(client.call("refers__recursive", tree(json!("x")))["error"]["code"], -32602, "at any depth");
    // Whether such tools are offered or refused, they can be asked for and nothing happens.
    for tool in ["remote", "endless"] {
        let answer = client.call(&format!("refers__{tool}"), json!({"x": {"x": 1}}));
        let refused = now["refused"].as_array().into_iter().flatten().any(|it| it["tool"] == tool);
        assert!(refused || answer["result"].is_object() || answer["error"]["code"] == -32602, "{answer}");
    }
    assert_eq!(text(&client.call("refers__echo", json!({"text": "beside them"}))), "beside them");
    others_answer(&mut client);
    assert!(bait.accept().is_err(), "somebody fetched the schema");
}
