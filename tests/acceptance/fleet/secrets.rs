//! What a server was given never comes out again, whatever it does with it, and it is given nothing else.

use covenant_testkit::Upstream;
use serde_json::json;

use super::stage::{Stage, failure, text};
use crate::home;

/// Everything the daemon wrote, as far as it can be read.
fn written(directory: &std::path::Path, found: &mut String) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            written(&path, found);
        } else if entry.file_type().is_ok_and(|kind| kind.is_file())
            && path.file_name().is_none_or(|name| name != "secrets.toml" && name != "config.toml")
        {
            found.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()));
        }
    }
}

#[test]
fn a_server_cannot_tell_what_it_was_given() {
    let home = home();
    let (kept, literal) = ("kept-6f1d2b9c-in-secrets", "literal-93ab17-in-the-entry");
    home.write("secrets.toml", &format!("[secrets]\nGIVEN_KEY = \"{kept}\"\n"));
    let leaks = Upstream::stdio(&home, "leaks", &["leaks"])
        .env("GIVEN_KEY", "${secret:GIVEN_KEY}")
        .env("GIVEN_TOKEN", literal);
    let dies =
        Upstream::stdio(&home, "dies", &["leaks", "die@start"]).env("GIVEN_KEY", "${secret:GIVEN_KEY}");
    let stage = Stage::with(&home, &[&leaks, &dies]);
    stage.ready("leaks");
    let mut client = stage.client();
    let mut said = String::new();
    for (name, shown) in [("GIVEN_KEY", "[REDACTED:GIVEN_KEY]"), ("GIVEN_TOKEN", "[REDACTED:")] {
        let answer = client.call("leaks__leak", json!({ "name": name }));
        assert!(text(&answer).contains(shown), "{answer}");
        said.push_str(&answer.to_string());
    }
    said.push_str(&failure(&client.call("leaks__crash", json!({})), "leaks"));
    stage.ready("leaks");
    let logs = home.run(&["mcp", "logs", "leaks"]).ok().stdout;
    assert!(logs.contains("[REDACTED:GIVEN_KEY]"), "{logs}");
    said.push_str(&logs);
    let dead = stage.until_state("dies", "quarantined");
    said.push_str(&dead.to_string());
    for words in [
        &["mcp", "test", "leaks", "--json"][..],
        &["mcp", "test", "dies"],
        &["mcp", "list", "--json"],
        &["config", "show"],
    ] {
        let ran = home.run(words);
        said.push_str(&ran.stdout);
        said.push_str(&ran.stderr);
    }
    said.push_str(&stage.daemon.printed());
    stage.daemon.stop();
    written(&home.path(), &mut said);
    for secret in [kept, literal] {
        assert!(!said.contains(secret), "{secret} came out:\n{}", around(&said, secret));
    }
}

fn around<'t>(text: &'t str, what: &str) -> &'t str {
    let at = text.find(what).unwrap();
    text.get(at.saturating_sub(300)..(at + 100).min(text.len())).unwrap_or_default()
}

#[test]
fn a_program_gets_the_environment_that_is_documented_and_no_more() {
    let home = home();
    let server = Upstream::stdio(&home, "plain", &[]).env("LOG_LEVEL", "${LEVEL:-}").env("LOG_LEVEL", "info");
    super::stage::configure(&home, &[&server]);
    let mut daemon = home
        .command(&["up"])
        .env("COVENANT_TOKEN_OF_ANOTHER", "not for servers")
        .env("AWS_SECRET_ACCESS_KEY", "not for servers")
        .env("LANG", "C.UTF-8")
        .env("LC_TIME", "C")
        .env("HTTPS_PROXY", "http://proxy.example:3128")
        .env("NODE_EXTRA_CA_CERTS", "/etc/ssl/extra.pem")
        .spawn();
    let started = covenant_testkit::wait::until("it runs", || {
        server.record().into_iter().find(|line| line["event"] == "started")
    });
    home.run(&["stop"]).ok();
    daemon.wait().unwrap();
    let mut names: Vec<&str> =
        started["environment"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let mut documented = vec![
        "COVENANT_RUN",
        "HOME",
        "HTTPS_PROXY",
        "LANG",
        "LC_TIME",
        "LOG_LEVEL",
        "NODE_EXTRA_CA_CERTS",
        "PATH",
        "SERVER_RECORD",
        "SERVER_STATE",
    ];
    documented.extend(std::env::var_os("TMPDIR").map(|_| "TMPDIR"));
    names.sort_unstable();
    documented.sort_unstable();
    assert_eq!(names, documented);
    assert_eq!(started["cwd"], json!(home.path().parent().unwrap()), "the user's home directory");
}

/// Secrets stand where process lists do not show them, and a variable that is not set is said.
#[test]
fn an_entry_that_cannot_be_filled_in_disables_its_server_only() {
    let home = home();
    let good = Upstream::stdio(&home, "good", &[]);
    let shown = Upstream::stdio(&home, "shown", &[]).key("args", json!(["stdio", "${secret:KEY}"]));
    let unset = Upstream::stdio(&home, "unset", &[]).key("args", json!(["stdio", "$NO_SUCH_VARIABLE/x"]));
    let absent = Upstream::stdio(&home, "absent", &[]).env("KEY", "${secret:NO_SUCH_SECRET}");
    let neither = Upstream::stdio(&home, "neither", &[]).key("command", "\"\"");
    let wrong = Upstream::stdio(&home, "wrong", &[]).key("isolation", json!("sometimes"));
    let relative = Upstream::stdio(&home, "relative", &[]).key("command", json!("./server"));
    let odd = Upstream::stdio(&home, "odd", &[]).key("colour", json!("green"));
    let stage = Stage::with(&home, &[&good, &shown, &unset, &absent, &neither, &wrong, &relative, &odd]);
    for (name, why) in [
        ("shown", "args"),
        ("unset", "NO_SUCH_VARIABLE"),
        ("absent", "NO_SUCH_SECRET"),
        ("neither", "command"),
        ("wrong", "isolation"),
        ("relative", "depends on where it is read from"),
    ] {
        let now = stage.server(name);
        assert_eq!(now["state"], "failed", "{now}");
        assert!(now["error"].as_str().unwrap().contains(why), "{now}");
        let tested = home.run(&["mcp", "test", name, "--json"]).exits(1).json();
        assert_eq!(
            (&tested["phases"][0]["phase"], &tested["phases"][0]["ok"]),
            (&json!("entry"), &json!(false))
        );
    }
    stage.ready("good");
    stage.ready("odd");
    assert!(
        stage.daemon.printed().contains("colour"),
        "an unknown key is warned about: {}",
        stage.daemon.printed()
    );
}
