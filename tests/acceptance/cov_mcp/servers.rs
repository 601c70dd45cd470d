//! The first founding document on external servers: configured in its file, discovered, merged, and survived.

use covenant_testkit::Upstream;
use covenant_testkit::wait::until;
use serde_json::{Value, json};

use crate::fleet::stage::{Stage, failure, names, text};
use crate::home;

/// The document's example: a table in `secrets.toml`, with a variable among its arguments.
///
/// COV-MCP-25, COV-MCP-26, COV-MCP-27, COV-MCP-28, COV-MCP-29
#[test]
fn the_documents_entry_works_as_written() {
    let home = home();
    let program = home.program().with_file_name("server").display().to_string();
    let notes =
        Upstream::command(&home, "notes", &program, &["stdio", "name=$HOME/notes"]).env("LOG_LEVEL", "info");
    home.write("secrets.toml", &notes.entry("mcp.server"));
    let stage = Stage::up(&home);
    stage.ready("notes");
    assert_eq!(notes.count("started"), 1, "the daemon started it, and nobody asked");
    let mut client = stage.client();
    let whose = format!("whose of {}/notes", home.path().parent().unwrap().display());
    assert_eq!(text(&client.call("notes__whose", json!({}))), whose);
    assert_eq!(text(&client.call("notes__env", json!({"name": "LOG_LEVEL"}))), "info");
}

/// COV-MCP-30, COV-MCP-31, COV-MCP-33, COV-MCP-34, COV-MCP-35
#[test]
fn a_server_is_greeted_in_order_and_answers_find_their_questions() {
    let home = home();
    let server = Upstream::stdio(&home, "lines", &["legacy"]).key("era", json!("legacy"));
    let asked = Upstream::stdio(&home, "asked", &["legacy"]);
    let stage = Stage::with(&home, &[&server, &asked]);
    stage.ready("lines");
    stage.ready("asked");
    let mut client = stage.client();
    let methods = |server: &Upstream, first: usize| -> Vec<Value> {
        let record = server.record();
        record.iter().filter_map(|line| line["message"].get("method").cloned()).take(first).collect()
    };
    let order = ["server/discover", "initialize", "notifications/initialized", "tools/list"];
    assert_eq!(methods(&server, 3), order[1..]);
    assert_eq!(methods(&asked, 4), order, "where the entry says nothing of its era, that is asked first");
    let seen = names(&mut client);
    assert!(seen.contains(&"echo".to_owned()) && seen.contains(&"lines__echo".to_owned()), "{seen:?}");
    // Many at once, the slow ones first: every caller gets its own.
    for (id, ms) in [(1, 200), (2, 100), (3, 1)] {
        let arguments = json!({"steps": id, "ms": ms});
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "lines__slow", "arguments": arguments}}));
    }
    for _ in 0..3 {
        let answer = client.receive();
        assert_eq!(text(&answer), format!("{} steps", answer["id"]));
    }
    let calls = server.heard("tools/call");
    let mut ids: Vec<String> = calls.iter().map(|call| call["id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "an id is used once: {calls:?}");
    assert!(server.record().iter().all(|line| line["event"] != "no message"), "one message, one line");
}

/// COV-MCP-32, COV-MCP-36
#[test]
fn a_bad_server_is_logged_and_skipped_and_odd_messages_are_thrown_away() {
    let home = home();
    let broken = Upstream::stdio(&home, "broken", &["legacy", "error@initialize"]);
    let absent = Upstream::command(&home, "absent", "no-such-program-anywhere", &[]);
    let odd = Upstream::stdio(&home, "odd", &["garbage@start", "garbage@*"]);
    let stage = Stage::with(&home, &[&broken, &absent, &odd]);
    stage.ready("odd");
    for (name, why) in [("broken", "told to fail"), ("absent", "no-such-program-anywhere")] {
        until(&format!("the log tells of `{name}`"), || {
            let printed = stage.daemon.printed();
            printed.lines().any(|line| line.contains(name) && line.contains(why)).then_some(())
        });
    }
    let mut client = stage.client();
    assert_eq!(text(&client.call("odd__echo", json!({"text": "through it all"}))), "through it all");
    assert!(!names(&mut client).iter().any(|name| name.starts_with("broken") || name.starts_with("absent")));
    failure(&client.call("odd__crash", json!({})), "odd");
}

/// COV-MCP-38, COV-MCP-39: the documents say what the gate cannot do, and what to do about that.
#[test]
fn the_documents_say_what_a_server_may_do() {
    let root = crate::installed::root();
    let page = std::fs::read_to_string(root.join("docs/servers.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        "An external server runs with your privileges",
        "it does not limit what the server does once it is called",
        "Review a server before you add it, and choose the narrowest one that does the job",
    ] {
        assert!(page.contains(sentence), "docs/servers.md does not say: {sentence}");
    }
}
