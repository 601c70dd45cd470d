//! What becomes of a typed line: whose each word is, and the entry that is sent.

use clap::Parser;
use covenant_model::server::{Entry, EraChoice, Isolation, Start, Transport};

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    add: Add,
    #[arg(long, global = true)]
    json: bool,
}

pub(super) fn add(words: &[&str]) -> Add {
    let line = std::iter::once(&"add").chain(words);
    Line::try_parse_from(line).unwrap_or_else(|error| panic!("{words:?}: {error}")).add
}

fn body(words: &[&str]) -> Value {
    add(words).body(Some(Path::new("/here")))
}

fn entry(words: &[&str]) -> Entry {
    let mut body = body(words);
    let keys = body.as_object_mut().unwrap();
    keys.retain(|key, _| key != "connect" && key != "persist");
    serde_json::from_value(body).unwrap()
}

#[test]
fn what_follows_the_command_is_the_servers_whatever_it_begins_with() {
    let words = ["fs", "npx", "-y", "--json", "--env", "A=b", "--", "--help", "-"];
    let line = Line::try_parse_from(std::iter::once(&"add").chain(&words)).unwrap();
    assert!(!line.json && line.add.env.is_empty());
    let entry = entry(&words);
    assert_eq!((entry.name.as_str(), entry.command.as_str()), ("fs", "npx"));
    assert_eq!(entry.args, ["-y", "--json", "--env", "A=b", "--", "--help", "-"]);
}

#[test]
fn options_stand_before_the_command_on_either_side_of_the_name() {
    for words in [
        &["--env", "A=b=c", "--lazy", "fs", "npx", "-y"][..],
        &["fs", "--env", "A=b=c", "--lazy", "npx", "-y"],
        &["--lazy", "fs", "--env", "A=b=c", "--", "npx", "-y"],
    ] {
        let entry = entry(words);
        assert_eq!(entry.env.get("A").map(String::as_str), Some("b=c"), "{words:?}");
        assert_eq!((entry.command.as_str(), entry.args.as_slice()), ("npx", &["-y".to_owned()][..]));
        assert_eq!(entry.start, Start::Lazy);
    }
}

#[test]
fn every_option_becomes_its_key() {
    let program = entry(&[
        "--prefix",
        "none",
        "--transport",
        "stdio",
        "--era",
        "modern",
        "--isolation",
        "session",
        "--cwd",
        "work",
        "x",
        "y",
    ]);
    assert_eq!((program.prefix.as_deref(), program.transport), (Some("none"), Some(Transport::Stdio)));
    assert_eq!((program.era, program.isolation), (EraChoice::Modern, Isolation::Session));
    assert_eq!(program.cwd, "/here/work");
    let web = entry(&["x", "--url", "https://a.example/mcp", "--header", "Authorization=Bearer ${secret:A}"]);
    assert_eq!((web.url.as_str(), web.command.as_str()), ("https://a.example/mcp", ""));
    assert_eq!(web.headers.get("Authorization").map(String::as_str), Some("Bearer ${secret:A}"));
    for kind in ["stdio", "http", "sse"] {
        assert!(entry(&["--transport", kind, "x", "y"]).transport.is_some());
    }
}

#[test]
fn what_was_not_typed_is_not_sent_but_for_what_happens_next() {
    assert_eq!(body(&["x", "y"]), json!({"name": "x", "command": "y", "connect": true, "persist": true}));
    let other = body(&["--no-connect", "--until-restart", "x", "y"]);
    assert_eq!((&other["connect"], &other["persist"]), (&json!(false), &json!(false)));
}

#[test]
fn a_path_that_was_typed_here_is_meant_from_here() {
    for (typed, sent) in [
        ("./server", "/here/server"),
        ("bin/server", "/here/bin/server"),
        ("../server", "/here/../server"),
        (".hidden/server", "/here/.hidden/server"),
        ("/usr/bin/server", "/usr/bin/server"),
        ("~/server", "~/server"),
        ("$HOME/server", "$HOME/server"),
        ("server", "server"),
    ] {
        assert_eq!(body(&["x", typed])["command"], json!(sent));
    }
}

#[test]
fn a_header_may_be_written_as_other_programs_take_it() {
    let pair = |key: &str, value: &str| Ok(Pair { key: key.to_owned(), value: value.to_owned() });
    assert_eq!(header("X-A: b=c"), pair("X-A", "b=c"));
    assert_eq!(header("X-A=b: c"), pair("X-A", "b: c"));
    assert!(
        header("X-A").is_err() && header("=b").is_err() && variable("A").is_err() && variable("=b").is_err()
    );
}

#[test]
fn a_command_and_a_url_do_not_go_together() {
    for words in
        [&["add", "x", "--url", "https://a", "npx"][..], &["add", "x", "--url", "https://a", "--env", "A=b"]]
    {
        assert!(Line::try_parse_from(words).is_err(), "{words:?}");
    }
}

#[test]
fn a_credential_is_warned_about_and_sent_as_it_was_typed() {
    let typed = add(&["--env", "API_TOKEN=abc123", "x", "npx", "--lazy"]);
    let remarks = typed.remarks(None);
    assert!(remarks[0].contains("covenant secrets set API_TOKEN"), "{remarks:?}");
    assert!(remarks[1].contains("`--lazy` was passed to the server"), "{remarks:?}");
    assert_eq!(typed.body(None)["env"]["API_TOKEN"], json!("abc123"));
    assert!(add(&["--env", "API_TOKEN=${secret:A}", "x", "npx"]).remarks(None).is_empty());
}

#[test]
fn a_path_that_the_server_will_not_find_is_told_unless_it_runs_here() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("server.py"), "").unwrap();
    for (words, told) in [
        (&["x", "python3", "./server.py"][..], 1),
        (&["x", "python3", "server.py"], 1),
        (&["--cwd", ".", "x", "python3", "./server.py"], 0),
        (&["x", "python3", "./other.py"], 0),
    ] {
        let remarks = add(words).remarks(Some(here.path()));
        assert_eq!(remarks.len(), told, "{words:?}: {remarks:?}");
    }
    let cwd = add(&["--cwd", ".", "x", "y"]).body(Some(here.path()));
    assert_eq!(cwd["cwd"], json!(here.path()));
}
