//! What the tools of servers are called: always with a prefix, short enough, never in another's place.

use covenant_testkit::Upstream;
use serde_json::{Value, json};

use super::stage::{Stage, names, text};
use crate::home;

#[test]
fn names_are_prefixed_sanitised_and_shortened_and_stay_so() {
    let home = home();
    let long = "read_every_document_in_the_archive_of_the_whole_department_and_summarise_it";
    let plus = format!("plus={long},files.read/all");
    let server = Upstream::stdio(&home, "My Server (with a long name)", &["offers=echo", &plus]);
    let named = Upstream::stdio(&home, "other", &["offers=echo"]).key("prefix", json!("oth"));
    let stage = Stage::with(&home, &[&server, &named]);
    let now = stage.ready("My Server (with a long name)");
    stage.ready("other");
    let prefix = now["prefix"].as_str().unwrap();
    assert!((1..=16).contains(&prefix.len()), "{prefix}");
    assert!(prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{prefix}");
    let mut client = stage.client();
    let seen = names(&mut client);
    let own: Vec<&String> = seen.iter().filter(|name| name.starts_with(&format!("{prefix}__"))).collect();
    assert_eq!(own.len(), 3, "{seen:?}");
    for name in &own {
        assert!(name.len() <= 47, "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name}");
    }
    assert!(
        own.iter().any(|name| name.ends_with("summarise_it")),
        "the end of a name says the most: {own:?}"
    );
    assert!(seen.contains(&"oth__echo".to_owned()), "{seen:?}");
    // Whatever it is called here, the server hears its own name.
    for name in own {
        client.call(name, json!({"text": "x"}));
    }
    let mut heard: Vec<Value> =
        server.heard("tools/call").into_iter().map(|call| call["params"]["name"].clone()).collect();
    heard.sort_by_key(Value::to_string);
    assert_eq!(heard, ["echo", "files.read/all", long]);
    stage.daemon.stop();
    let stage = Stage::up(&home);
    stage.ready("My Server (with a long name)");
    assert_eq!(names(&mut stage.client()), seen);
}

#[test]
fn a_name_that_is_taken_is_refused_and_never_shadowed() {
    let home = home();
    let good = Upstream::stdio(&home, "good", &["name=good"]);
    let stage = Stage::with(&home, &[&good]);
    stage.ready("good");
    let claims =
        Upstream::stdio(&home, "claims", &["name=claims", "offers=whose", "plus=echo,clock,good__whose"])
            .key("prefix", json!("none"));
    let entry = claims.entry("mcp.servers");
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    home.write("config.toml", &format!("{config}\n{entry}"));
    home.run(&["reload"]).ok();
    let now = stage.ready("claims");
    let refused: Vec<&str> =
        now["refused"].as_array().unwrap().iter().map(|tool| tool["tool"].as_str().unwrap()).collect();
    for taken in ["echo", "clock", "good__whose"] {
        assert!(refused.contains(&taken), "{taken} {now}");
    }
    assert_eq!(now["tools"], json!(["whose"]));
    let echo = "`echo` is the name of a built-in tool: set `prefix` in the entry of this server";
    assert!(now["refused"].as_array().unwrap().iter().any(|tool| tool["reason"] == echo), "{now}");
    let mut client = stage.client();
    assert_eq!(text(&client.call("whose", json!({}))), "whose of claims");
    assert_eq!(text(&client.call("good__whose", json!({}))), "whose of good");
    assert_eq!(text(&client.call("echo", json!({"text": "ours"}))), "ours");
    let shown = home.run(&["mcp", "list"]).ok().stdout;
    assert!(shown.contains("good__whose"), "{shown}");

    // Nor when the other one is away.
    assert_eq!(stage.ask("POST", "mcp/servers/good/disconnect", &Value::Null).0, 200);
    home.run(&["mcp", "restart", "claims"]).ok();
    assert_eq!(stage.ready("claims")["tools"], json!(["whose"]));
    assert_eq!(client.call("good__whose", json!({}))["error"]["code"], -32602);
    assert_eq!(stage.ask("POST", "mcp/servers/good/connect", &Value::Null).0, 200);
    stage.ready("good");
    assert_eq!(text(&client.call("good__whose", json!({}))), "whose of good");

    // Whichever comes first stays, also after a restart of everything.
    stage.daemon.stop();
    let stage = Stage::up(&home);
    stage.ready("good");
    stage.ready("claims");
    let mut client = stage.client();
    assert_eq!(text(&client.call("good__whose", json!({}))), "whose of good");
    assert_eq!(text(&client.call("echo", json!({"text": "ours"}))), "ours");
}

#[test]
fn only_what_the_entry_lets_through_is_offered() {
    let home = home();
    let some = Upstream::stdio(&home, "some", &[])
        .key("include", json!(["e*", "add"]))
        .key("exclude", json!(["env"]));
    let off = Upstream::stdio(&home, "off", &[]).key("enabled", false);
    let stage = Stage::with(&home, &[&some, &off]);
    stage.ready("some");
    let mut client = stage.client();
    let theirs: Vec<String> = names(&mut client).into_iter().filter(|name| name.contains("__")).collect();
    assert_eq!(theirs, ["some__add", "some__echo"]);
    assert_eq!(client.call("some__env", json!({"name": "HOME"}))["error"]["code"], -32602);
    assert_eq!(stage.server("off")["state"], "disabled");
    assert_eq!(off.count("started"), 0);
}

/// Every call is granted or not by the exposed name, and recorded under it.
#[test]
fn a_call_of_a_server_is_granted_and_recorded_like_any_other() {
    let home = home();
    let server = Upstream::stdio(&home, "guarded", &[]);
    let stage = Stage::with(&home, &[&server]);
    stage.ready("guarded");
    let mut client = home.mcp();
    client.initialize();
    let refused = client.call("guarded__echo", json!({"text": "x"}));
    assert_eq!(refused["error"]["code"], -31001, "{refused}");
    assert!(!names(&mut client).iter().any(|name| name == "guarded__echo"));
    home.run(&["capabilities", "grant", "tool.call.guarded__echo"]).ok();
    assert_eq!(text(&client.call("guarded__echo", json!({"text": "x"}))), "x");
    assert_eq!(client.call("guarded__add", json!({"a": 1, "b": 2}))["error"]["code"], -31001);
    assert_eq!(client.call("guarded__echo", json!({"text": 5}))["error"]["code"], -32602);
    assert_eq!(server.heard("tools/call").len(), 1, "what was refused never reached it");
    let rows = home.run(&["audit", "recent", "--json", "--agent-id", "tool:guarded__echo"]).ok().json_lines();
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"CallStarted") && kinds.contains(&"CallFinished"), "{kinds:?}");
}
