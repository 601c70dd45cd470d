//! Sessions of the handshake's era over HTTP: whose they are, how long they last, how many there may be.

use covenant_testkit::HttpClient;
use covenant_testkit::sqlite::Locked;
use covenant_testkit::wait::until;
use covenant_testkit::wire::Answer;
use serde_json::json;

use super::client;
use crate::{home, unhurried};

/// Asks for something in that session, whoever's it is.
fn tried(client: &mut HttpClient, session: &str) -> Answer {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let request =
        client.legacy(&ping).with("Mcp-Session-Id", session).with("MCP-Protocol-Version", "2025-11-25");
    client.send(&request)
}

#[test]
fn a_session_is_opened_used_and_ended() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "one", &["tool.call.echo"]);
    client.initialize();
    let session = client.session().to_owned();
    assert!(session.len() >= 32 && session.bytes().all(|byte| byte.is_ascii_graphic()), "{session}");
    assert_eq!(client.call("echo", json!({"text": "hi"}))["result"]["content"][0]["text"], "hi");
    let ended = client.end();
    assert_eq!((ended.status, ended.text.as_str()), (204, ""));
    let gone = tried(&mut client, &session);
    assert_eq!((gone.status, gone.code()), (404, -32600));
    assert_eq!(client.end().status, 404, "there is nothing left to end");
    assert_eq!(client.listen().status, 404);
    client.initialize();
    assert_ne!(client.session(), session, "another begins where one ended");
    assert!(client.request("ping", json!({}))["result"].is_object());
}

#[test]
fn a_session_that_is_being_ended_ends_also_if_its_client_does_not_wait_to_hear_so() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "hasty", &[]);
    client.initialize();
    let session = client.session().to_owned();
    // One who hangs up before we have begun has asked for nothing: then it is asked for again.
    until("the session is over", || {
        let locked = Locked::take(&home.path().join("covenant.db"));
        let pending = client.begin(&client.in_session(client.bare("DELETE")));
        let before = (0..10).map(|_| tried(&mut client, &session).status).min();
        pending.hang_up();
        drop(locked);
        (before == Some(404) || tried(&mut client, &session).status == 404).then_some(())
    });
}

#[test]
fn a_session_that_is_not_yours_is_like_one_that_never_was() {
    let home = unhurried();
    let daemon = home.up();
    let (mut mine, mut theirs) = (client(&home, &daemon, "me", &[]), client(&home, &daemon, "them", &[]));
    mine.initialize();
    theirs.initialize();
    theirs.end();
    let over = theirs.session().to_owned();
    theirs.initialize();
    let other = theirs.session().to_owned();
    let twisted: String = mine.session().chars().rev().collect();
    let long = "x".repeat(5000);
    let strange = [
        over.as_str(),
        &other,
        &twisted,
        "x",
        "",
        "0",
        "../../etc/passwd",
        &long,
        "null",
        "a b",
        "\u{e9}",
        &format!("{} ", "x".repeat(42)),
        &format!("{}=", "x".repeat(42)),
    ];
    let first = tried(&mut mine, &over);
    assert_eq!((first.status, first.code()), (404, -32600));
    for session in strange {
        let answer = tried(&mut mine, session);
        assert_eq!((answer.status, &answer.text), (404, &first.text), "{session:.60}");
        for method in ["GET", "DELETE"] {
            let request =
                mine.bare(method).with("Accept", "text/event-stream").with("Mcp-Session-Id", session);
            let answer = mine.send(&request);
            let same = first.text.replace("\"id\":1", "\"id\":null");
            assert_eq!((answer.status, &answer.text), (404, &same), "{method} {session:.60}");
        }
    }
    assert!(theirs.request("ping", json!({}))["result"].is_object(), "and nobody else could end it");
}

#[test]
fn sessions_go_on_after_a_restart_and_after_a_crash() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "lasting", &["tool.call.echo"]);
    let mut other = super::client(&home, &daemon, "other", &[]);
    client.initialize();
    other.initialize();
    other.end();
    daemon.stop();
    for crash in [true, false] {
        let daemon = home.up();
        client.moved(daemon.port());
        assert_eq!(client.call("echo", json!({"text": "still"}))["result"]["content"][0]["text"], "still");
        assert_eq!(client.listen().status, 200);
        other.moved(daemon.port());
        let session = other.session().to_owned();
        assert_eq!(tried(&mut other, &session).status, 404, "what was ended stays so");
        let session = client.session().to_owned();
        assert_eq!(tried(&mut other, &session).status, 404, "and it is still whose it was");
        if crash { daemon.kill() } else { daemon.stop() }
    }
    // A session that was answered is written down, whatever happens next.
    let daemon = home.up();
    client.moved(daemon.port());
    client.initialize();
    daemon.kill();
    let daemon = home.up();
    client.moved(daemon.port());
    assert!(client.request("ping", json!({}))["result"].is_object());
    drop(daemon);
}

#[test]
fn one_principal_has_at_most_a_thousand_sessions_and_takes_nobody_elses() {
    let home = unhurried();
    let daemon = home.up();
    let mut other = client(&home, &daemon, "other", &[]);
    other.initialize();
    let mut client = client(&home, &daemon, "greedy", &[]);
    let sessions: Vec<String> = (0..1003)
        .map(|_| {
            client.initialize();
            client.session().to_owned()
        })
        .collect();
    let alive = |client: &mut HttpClient, session: &str| tried(client, session).status == 200;
    // Two that were opened in one millisecond are equally idle.
    let dead: Vec<usize> = (0..20).filter(|at| !alive(&mut client, &sessions[*at])).collect();
    assert_eq!((dead.len(), dead[0]), (3, 0), "the oldest made room: {dead:?}");
    assert!(alive(&mut client, &sessions[1002]));
    assert!(other.request("ping", json!({}))["result"].is_object());
}

#[test]
fn a_revoked_token_ends_its_session_at_the_next_request_and_its_stream_now() {
    let home = unhurried();
    let daemon = home.up();
    let mut bystander = client(&home, &daemon, "bystander", &[]);
    bystander.initialize();
    let mut open = bystander.listen();
    let mut client = client(&home, &daemon, "leaving", &[]);
    client.initialize();
    let session = client.session().to_owned();
    let mut stream = client.listen();
    assert_eq!(stream.status, 200);
    home.run(&["clients", "revoke", "leaving"]).ok();
    assert_eq!(stream.next(), None);
    let answer = tried(&mut client, &session);
    assert_eq!((answer.status, answer.code()), (401, -31000));
    assert_eq!(client.listen().status, 401);
    assert_eq!(client.end().status, 401);
    assert!(open.is_quiet(), "nobody else's");
    assert!(bystander.request("ping", json!({}))["result"].is_object());
}

#[test]
fn no_file_of_the_home_holds_the_id_of_a_session() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[logging]\nlevel = \"trace\"\n");
    let daemon = home.up();
    let mut client = client(&home, &daemon, "private", &["tool.call.echo"]);
    client.initialize();
    let session = client.session().to_owned();
    client.call("echo", json!({"text": "hi"}));
    client.request("logging/setLevel", json!({"level": "error"}));
    let stream = client.listen();
    drop(stream);
    assert_eq!(client.send(&client.bare("GET").with("Mcp-Session-Id", format!("{session}x"))).status, 404);
    client.end();
    let mut said = daemon.printed();
    daemon.stop();
    let mut files = Vec::new();
    everything(&home.path(), &mut files);
    for (name, text) in &files {
        assert!(!text.contains(&session), "{name}");
        said.push_str(text);
    }
    assert!(said.contains("path=/mcp") && !said.contains(&session), "{said}");
}

fn everything(directory: &std::path::Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            everything(&path, files);
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            files.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}
