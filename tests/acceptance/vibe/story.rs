//! Two agents, one repository, one evening: both have the same list, each in its own words, and no pull request is written twice.

use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use serde_json::{Value, json};

use super::desk::{Desk, on_both, word};
use crate::clients::{Client, Way};
use crate::installed;

/// What is to be done, in the words of either: its slug, a file it touches, and the two titles.
const LIST: [(&str, &str, [&str; 2]); 3] = [
    (
        "uploads",
        "src/upload.rs",
        ["Retry failed uploads with exponential backoff", "Exponential backoff to retry failed uploads"],
    ),
    (
        "invoices",
        "src/invoices.rs",
        ["Paginate the invoice export endpoint", "Invoice export endpoint: paginate it"],
    ),
    (
        "avatars",
        "src/upload.rs",
        [
            "Retry failed uploads of avatars with exponential backoff",
            "Exponential backoff to retry failed uploads of avatars",
        ],
    ),
];

/// An agent at work.
struct Agent {
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Agent {
    fn come(desk: &Desk<'_>, place: &std::path::Path, (at, name): (usize, &'static str), way: Way) -> Self {
        let token = desk.invite(name);
        let pieces: Vec<Value> = LIST
            .iter()
            .map(|(slug, file, titles)| {
                json!({"slug": slug, "title": titles[at], "scope": format!("{file} and its tests"),
                    "files": [file], "known_as": [titles[1 - at]]})
            })
            .collect();
        let list = desk.home.beside(&format!("{name}.json"));
        std::fs::write(&list, json!(pieces).to_string()).unwrap();
        let pulls = desk.home.beside("pulls");
        std::fs::create_dir_all(&pulls).unwrap();
        let words =
            ["--name", name, "--list", &list.display().to_string(), "--pulls", &pulls.display().to_string()];
        let client = Client { script: "agent.py", mode: "auto", way };
        let mut command = client.command(place, (desk.home, &desk.daemon), &words);
        command.env("COVENANT_TOKEN", token);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { name, input: child.stdin.take(), child, lines }
    }

    /// What it does next.
    #[track_caller]
    fn next(&mut self) -> Value {
        let Some(Ok(line)) = self.lines.next() else {
            let mut stderr = String::new();
            self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            panic!("{} is gone: {stderr}", self.name);
        };
        serde_json::from_str(&line).unwrap()
    }

    #[track_caller]
    fn does(&mut self, step: &Value) {
        assert_eq!(&self.next(), step, "{}", self.name);
    }

    fn go_on(&mut self) {
        self.input.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Nobody holds it up any more.
    fn let_go(&mut self) {
        self.input = None;
    }

    fn leaves(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}: {status}", self.name);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn step(step: &str, slug: &str) -> Value {
    json!({"step": step, "slug": slug})
}

#[test]
fn two_agents_with_one_list_write_no_pull_request_twice() {
    let Some(place) = installed::clients() else { return };
    on_both(|desk| {
        let mut agents = [(0, "ada", Way::Bridge), (1, "bob", Way::Http)]
            .map(|(at, name, way)| Agent::come(desk, &place, (at, name), way));
        // Both looked before either began, and saw nothing.
        for agent in &mut agents {
            agent.does(&step("looked", "uploads"));
        }
        let begun: Vec<Value> = thread::scope(|scope| {
            let both = agents.iter_mut().map(|agent| {
                scope.spawn(|| {
                    agent.go_on();
                    agent.next()
                })
            });
            both.collect::<Vec<_>>().into_iter().map(|agent| agent.join().unwrap()).collect()
        });
        let [ada, bob] = agents;
        let first = begun.iter().position(|told| told["step"] == "started");
        let (mut first, mut second) = match first {
            Some(0) => (ada, bob),
            Some(_) => (bob, ada),
            None => panic!("nobody began: {begun:?}"),
        };
        let of = |name: &str| &begun[usize::from(name == "bob")];
        assert_eq!(of(first.name), &json!({"step": "started", "slug": "uploads", "judged": 0}));
        let left = |slug: &str, owner: &str, found: &str, told: &str| json!({"step": "left", "slug": slug, "owner": owner, "found": found, "told": told});
        assert_eq!(of(second.name), &left("uploads", first.name, "active", "blocked"));

        // The second does the rest: one piece that is like nothing, and one that is like the first and not the same.
        for (slug, judged) in [("invoices", 0), ("avatars", 1)] {
            second.does(&step("looked", slug));
            if slug == "invoices" {
                second.go_on();
            }
            second.does(&json!({"step": "started", "slug": slug, "judged": judged}));
            second.does(&step("completed", slug));
        }
        second.does(&json!({"step": "through"}));

        // The first ends its piece, and finds the others done.
        first.go_on();
        first.does(&step("completed", "uploads"));
        for slug in ["invoices", "avatars"] {
            first.does(&left(slug, second.name, "done", "ok"));
        }
        first.does(&json!({"step": "through"}));
        first.let_go();
        let title = LIST[0].2[usize::from(first.name == "bob")];
        let question = format!("You do {title}: does that cover src/upload.rs?");
        first.does(&json!({"step": "replied", "to": second.name, "question": question}));
        second.let_go();
        second.does(&json!({"step": "answered", "by": first.name, "answer": "Yes, all of it."}));
        let mut written = vec![
            format!("uploads-by-{}.md", first.name),
            format!("invoices-by-{}.md", second.name),
            format!("avatars-by-{}.md", second.name),
        ];
        first.leaves();
        second.leaves();

        written.sort();
        let mut pulls: Vec<String> = std::fs::read_dir(desk.home.beside("pulls"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        pulls.sort();
        assert_eq!(pulls, written);
        let events = desk.book("work_events");
        let count = |event: &str| events.iter().filter(|row| row["event"] == event).count();
        assert_eq!(["task.started", "task.completed", "session.ended"].map(count), [3, 3, 2]);
        let kept = desk.book("tasks");
        assert!(kept.iter().all(|task| word(task, "status") == "done"), "{kept:?}");
    });
}
