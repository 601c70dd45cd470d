//! A home that is restored: its people are as they were, and nobody is signed in by what a backup remembers.

use covenant_testkit::Home;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{GOOD, dashboard, invite, joined};
use crate::unhurried;

const PASSPHRASE: &str = "one two three";

fn sealed(home: &Home, words: &[&str]) -> covenant_testkit::Ran {
    let command = home.command(words).arguments(&["--passphrase-file", "-"]);
    command.input(format!("{PASSPHRASE}\n")).run().ok()
}

/// What a tool of the team tells whoever has that token.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
fn told(home: &Home, token: &str, tool: &str, arguments: Value) -> Value {
    let command = home.command(&["tools", "call", tool, "--json", "--args", &arguments.to_string()]);
    command.env("COVENANT_TOKEN", token).run().ok().json()["structuredContent"].clone()
}

/// A team with its work, restored with its own keys and with new ones.
#[test]
fn a_team_comes_back_with_its_work_and_everybody_signs_in_again() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let first = port;
    let mut ada = joined(&home, port, "ada");
    let token = home.run(&["tokens", "create", "--for", "ada"]).ok().stdout.trim().to_owned();
    for operation in ["check", "start"] {
        let work = json!({"operation": operation, "title": "Count swans", "task_type": "bug"});
        assert_eq!(told(&home, &token, "covibe_task", work)["status"], "ok");
    }
    let unused = invite(&home, port, &["bob"]);
    let link = dashboard(&home, port);
    let mut operator = Browser::new(port);
    assert_eq!(operator.post("/auth/link", &[("code", &dashboard(&home, port))]).status, 303);
    for browser in [&mut ada, &mut operator] {
        assert_eq!(browser.get("/api/v1/session").status, 200);
    }
    let files = [home.beside("sealed.tar"), home.beside("plain.tar")];
    let [whole, plain] = files.each_ref().map(|file| file.to_str().unwrap());
    sealed(&home, &["backup", whole, "--with-secrets"]);
    home.run(&["backup", plain]).ok();
    let file = std::fs::read(plain).unwrap();
    let holds = |text: &str| file.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("$argon2id$"), "the hashes of passwords are in it");
    for secret in [GOOD, &token, &link, unused.rsplit('/').next().unwrap()] {
        assert!(!holds(secret), "{secret}");
    }
    daemon.stop();

    for file in [whole, plain] {
        let other = crate::home();
        let restored = if file == whole {
            sealed(&other, &["restore", file])
        } else {
            other.run(&["restore", file]).ok()
        };
        assert!(restored.stderr.contains("signs in again"), "{}", restored.stderr);
        let daemon = other.up();
        let port = daemon.port();
        for browser in [&ada, &operator] {
            let mut again = Browser::new(first);
            again.robs(browser);
            again.moved(port);
            assert_eq!(again.get("/api/v1/session").status, 401, "{file}");
        }
        let mut browser = Browser::new(port);
        assert_eq!(browser.post(&unused, &[("password", GOOD)]).status, 404, "{file}");
        assert_eq!(browser.post("/auth/link", &[("code", &link)]).status, 404, "{file}");
        assert_eq!(browser.post("/signin", &[("handle", "ada"), ("password", GOOD)]).status, 303, "{file}");
        assert_eq!(browser.get("/api/v1/session").json()["principal"], "dev:ada");
        let state = told(&other, &token, "covibe_team", json!({"operation": "state"}));
        let work = &state["data"]["active_work"];
        assert_eq!((&work[0]["title"], &work[1]), (&json!("Count swans"), &Value::Null), "{state}");
        daemon.stop();
    }
}
