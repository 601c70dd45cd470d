//! Grants, clients, secrets, the record: what an operator types, and what others may not.

use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use serde_json::{Value, json};

use crate::{home, unhurried};

#[test]
fn a_client_lists_and_calls_only_what_it_was_granted() {
    let home = unhurried();
    let _daemon = home.up();
    let added = home.run(&["clients", "add", "claude", "--preset", "read-only"]).ok();
    let token = added.stdout.trim().to_owned();
    assert!(
        token.starts_with("cv_") && token.len() == 46 && added.stdout.lines().count() == 1,
        "{}",
        added.stdout
    );
    let mut client =
        covenant_testkit::StdioClient::start(home.command(&["--mcp"]).env("COVENANT_TOKEN", &token));
    client.initialize();
    let listed = client.request("tools/list", json!({}));
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(["clock", "echo", "workspace_read"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with("_write")), "{names:?}");
    assert_eq!(client.call("echo", json!({"text": "hi"}))["result"]["isError"], false);

    // Its grants are ordinary ones, revocable one by one; the list follows, and the client is told.
    let grants = home.run(&["capabilities", "list", "--json"]).ok().json();
    let echo = grants
        .as_array()
        .unwrap()
        .iter()
        .find(|g| g["subject"] == "client:claude" && g["action"] == "tool.call.echo")
        .unwrap();
    home.run(&["capabilities", "revoke", echo["id"].as_str().unwrap()]).ok();
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    let refused = client.call("echo", json!({"text": "hi"}));
    assert_eq!(refused["error"]["code"], -31001);
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("covenant capabilities grant tool.call.echo --to client:claude"),
        "{refused}"
    );

    // A revoked client is out on its next request, on the open connection, and at the door.
    home.run(&["clients", "revoke", "claude"]).ok();
    assert_eq!(client.call("clock", json!({}))["error"]["code"], -31000);
    let mut again =
        covenant_testkit::StdioClient::start(home.command(&["--mcp"]).env("COVENANT_TOKEN", &token));
    assert_eq!(again.call("clock", json!({}))["error"]["code"], -31000);
    let rows = home.run(&["audit", "recent", "--json", "-n", "1000"]).ok().json_lines();
    assert!(
        rows.iter().any(|row| row["kind"] == "ClientRevoked"
            && row["peer"].as_str().is_some_and(|peer| peer.contains("pid")))
    );
    assert!(!rows.iter().any(|row| row.to_string().contains(&token)));
}

#[test]
fn only_the_operator_administers() {
    let home = home();
    let _daemon = home.up();
    let token = home.run(&["clients", "add", "eve", "--preset", "all"]).ok().stdout.trim().to_owned();
    for arguments in [
        &["capabilities", "grant", "tool.call.echo", "--to", "client:eve"][..],
        &["capabilities", "list"],
        &["clients", "add", "more"],
        &["clients", "list"],
        &["secrets", "list"],
        &["audit", "recent"],
        &["reload"],
        &["stop"],
    ] {
        let ran = home.command(arguments).env("COVENANT_TOKEN", &token).run().exits(3);
        assert!(ran.stderr.contains("client:eve"), "{arguments:?}: {}", ran.stderr);
    }
    let called = home
        .command(&["tools", "call", "echo", "--args", r#"{"text":"mine"}"#])
        .env("COVENANT_TOKEN", &token)
        .run();
    assert_eq!(called.ok().stdout, "mine\n", "calls are made as that client");
    home.command(&["tools", "list"]).env("COVENANT_TOKEN", "cv_wrong").run().exits(3);
}

#[test]
fn constraints_hold_and_explain_says_why() {
    let home = unhurried();
    let _daemon = home.up();
    home.run(&[
        "capabilities",
        "grant",
        "tool.call.echo",
        "--where",
        r#"{"arguments":{"text":{"glob":"ok *"}}}"#,
    ])
    .ok();
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"ok then"}"#]).ok();
    let refused = home.run(&["tools", "call", "echo", "--args", r#"{"text":"no"}"#]).exits(3);
    assert!(refused.stderr.contains("argument `text`"), "{}", refused.stderr);
    let explained = home.run(&[
        "capabilities",
        "explain",
        "user@local",
        "tool.call.echo",
        "--args",
        r#"{"text":"no"}"#,
        "--json",
    ]);
    let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(explained["allowed"], false);
    assert!(explained["near"][0]["reason"].as_str().unwrap().contains("text"));
    assert!(explained["command"].as_str().unwrap().starts_with("covenant capabilities grant tool.call.echo"));
    for bad in [r#"{"max_call": 1}"#, r#"{"arguments":{"text":{"regex":"x"}}}"#, r#"{"max_calls":0}"#, "{"] {
        home.run(&["capabilities", "grant", "tool.call.echo", "--where", bad]).exits(2);
    }
    home.run(&["capabilities", "grant", "tool.*.echo"]).exits(2);
    home.run(&["capabilities", "grant", "tool.call.echo", "--to", "nobody"]).exits(2);
    home.run(&["capabilities", "grant", "tool.call.echo", "--expires", "soon"]).exits(2);
    let early = home.run(&["capabilities", "grant", "tool.call.later"]).ok();
    assert!(early.stderr.contains("no tool `later` yet"), "{}", early.stderr);
}

/// Sixty-four calls at once against one that is allowed.
#[test]
fn max_calls_is_exact_and_survives_a_restart() {
    let home = unhurried();
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo", "--where", r#"{"max_calls":1}"#]).ok();
    let allowed: usize = thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = home.mcp();
                    let lines: String = (0..8)
                        .map(|id| format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}})))
                        .collect();
                    client.send_raw(lines.as_bytes());
                    (0..8).filter(|_| client.receive().get("result").is_some()).count()
                })
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).sum()
    });
    assert_eq!(allowed, 1);
    daemon.kill();
    let _daemon = home.up();
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"x"}"#]).exits(3);
}

#[test]
fn a_call_that_fails_its_schema_costs_nothing_of_a_counted_grant() {
    let home = unhurried();
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo", "--where", r#"{"max_calls":1}"#]).ok();
    for _ in 0..3 {
        home.run(&["tools", "call", "echo", "--args", "{}"]).exits(2);
    }
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"x"}"#]).ok();
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"x"}"#]).exits(3);
}

#[test]
fn a_grant_that_asks_keeps_one_pending_entry_per_call() {
    let home = unhurried();
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let granted = home.run(&["capabilities", "grant", "tool.call.echo", "--approval", "ask"]).ok();
    assert!(granted.stderr.contains("decide: covenant approvals list"), "{granted:?}");
    let mut client = home.mcp();
    let first = client.call("echo", json!({"text": "a"}));
    assert_eq!(first["error"]["code"], -31003, "ask beats allow: {first}");
    let again = client.call("echo", json!({"text": "a"}));
    assert_eq!(first["error"]["data"]["approval_id"], again["error"]["data"]["approval_id"]);
    let other = client.call("echo", json!({"text": "b"}));
    assert_ne!(first["error"]["data"]["approval_id"], other["error"]["data"]["approval_id"]);
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"a"}"#]).exits(3);
}

#[test]
fn grants_expire() {
    let home = unhurried();
    let _daemon = home.up();
    let mut client = home.mcp();
    client.initialize();
    home.run(&["capabilities", "grant", "tool.call.echo", "--expires", "4s"]).ok();
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed", "there is more to call");
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"x"}"#]).ok();
    covenant_testkit::wait::until("the grant expires", || {
        (home.run(&["tools", "call", "echo", "--args", r#"{"text":"x"}"#]).code() == 3).then_some(())
    });
    assert!(!home.run(&["capabilities", "list", "--json"]).ok().stdout.contains("tool.call.echo"));
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed", "and then there is less");
}

#[test]
fn secrets_come_from_standard_input_only_and_are_never_shown() {
    let home = home();
    let _daemon = home.up();
    home.run(&["secrets", "set", "API_KEY", "value-on-the-command-line"]).exits(2);
    home.command(&["secrets", "set", "lower"]).input("long enough").run().exits(2);
    let short = home.command(&["secrets", "set", "API_KEY"]).input("short").run().exits(2);
    assert!(short.stderr.contains("6 characters"), "{}", short.stderr);
    home.command(&["secrets", "set", "API_KEY"]).input("long enough\n").run().ok();
    let listed = home.run(&["secrets", "list", "--json"]).ok();
    assert_eq!(listed.json()[0]["name"], "API_KEY");
    assert!(!listed.stdout.contains("long enough"));
    let mode = std::fs::metadata(home.path().join("secrets.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    home.run(&["secrets", "remove", "API_KEY"]).ok();
    assert_eq!(home.run(&["secrets", "list", "--json"]).ok().json(), json!([]));
    let missing = home.run(&["secrets", "remove", "API_KEY"]);
    assert_ne!(missing.code(), 0);
}

#[test]
fn the_record_can_be_watched_exported_anchored_and_pruned() {
    let home = unhurried();
    let daemon = home.up();
    let mut watching = covenant_testkit::StdioClient::start(home.command(&["audit", "watch", "--json"]));
    // It shows what is written from now on: a first call may come before it looks, a later one does not.
    let seen = covenant_testkit::wait::until("a call is seen as it happens", || {
        home.run(&["tools", "call", "clock"]).ok();
        watching.try_receive()
    });
    assert!(seen["hash"].is_string() && seen["kind"].is_string(), "{seen}");
    drop(watching);
    let head = home.run(&["audit", "head"]).ok().stdout;
    let kept = home.beside("head.json");
    std::fs::write(&kept, &head).unwrap();
    home.run(&["tools", "call", "clock"]).ok();
    let unanchored = home.run(&["audit", "verify"]).ok();
    assert!(unanchored.stdout.contains("no outside anchor"), "{}", unanchored.stdout);
    let anchored = home.run(&["audit", "verify", "--anchor", kept.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!(anchored["anchored"], true);
    let export = home.beside("log.jsonl");
    home.run(&["audit", "export", "--out", export.to_str().unwrap()]).ok();
    let key = home.path().join("identity/local.pub");
    let elsewhere = home.beside("elsewhere");
    let offline = home
        .command(&["audit", "verify", export.to_str().unwrap(), "--key", key.to_str().unwrap()])
        .env("COVENANT_HOME", &elsewhere)
        .run();
    assert!(offline.ok().stdout.contains("verified"), "an auditor needs neither our database nor our word");
    assert!(!elsewhere.exists());
    home.run(&["audit", "prune", "--before", "2100-01-01"]).exits(2);
    let pruned = home.run(&["audit", "prune", "--before", &crate::now(), "--json"]).ok().json();
    assert!(pruned["rows"].as_u64().unwrap() > 0, "{pruned}");
    home.run(&["tools", "call", "clock"]).ok();
    daemon.stop();
    let report = home.run(&["audit", "verify", "--json"]).ok().json();
    assert_eq!(report["valid"], true);
}

#[test]
fn tables_are_for_people_and_json_for_machines() {
    let home = home();
    let _daemon = home.up();
    let table = home.run(&["tools", "list"]).ok().stdout;
    assert!(table.contains("echo") && !table.contains('\u{1b}'), "no colour without a terminal: {table}");
    assert!(home.run(&["tools", "show", "echo", "--json"]).ok().json()["inputSchema"].is_object());
    let missing = home.run(&["tools", "show", "nothing"]);
    assert!(missing.code() != 0 && missing.stderr.contains("nothing"));
    assert!(home.run(&["tools", "search", "verbatim", "--json"]).ok().stdout.contains("echo"));
    for group in [
        &["capabilities", "list"][..],
        &["clients", "list"],
        &["audit", "recent"],
        &["secrets", "list"],
        &["status"],
    ] {
        home.run(group).ok();
    }
    let help = home.run(&["capabilities", "grant", "--help"]).ok().stdout;
    assert!(help.contains("Examples"), "{help}");
}

#[test]
fn a_tool_may_have_a_limit_of_its_own() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\ntools = { echo = 0.001 }\n");
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"x"}"#]).ok();
    let refused = home.run(&["tools", "call", "echo", "--args", r#"{"text":"x"}"#]).exits(3);
    assert!(refused.stderr.contains("Rate limit exceeded"), "{}", refused.stderr);
    home.run(&["tools", "call", "clock"]).ok();
    assert!(home.run(&["config", "show"]).ok().stdout.contains("echo = 0.001"));
}

/// A peer that hangs up in the middle leaves no act half done: what is in force is on record, and the other way round.
#[test]
fn an_act_whose_asker_hangs_up_is_done_whole_or_not_at_all() {
    use std::io::Write as _;
    let home = unhurried();
    let daemon = home.up();
    let (port, token) =
        (daemon.port(), std::fs::read_to_string(home.path().join("identity/operator.token")).unwrap());
    for number in 0..120_u64 {
        let body = json!({"subject": "any", "action": format!("tool.call.hung_up_{number}")}).to_string();
        let request = format!(
            "POST /api/v1/capabilities HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            token.trim(),
            body.len()
        );
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        // At once, and at moments in between: each finds the act at another point.
        thread::sleep(std::time::Duration::from_micros(number * 25));
    }
    daemon.stop();
    let _daemon = home.up();
    let listed = home.run(&["capabilities", "list", "--json"]).ok().json();
    let in_force: std::collections::BTreeSet<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter(|grant| grant["action"].as_str().unwrap().contains("hung_up"))
        .map(|grant| grant["id"].as_str().unwrap().to_owned())
        .collect();
    let rows = home.run(&["audit", "recent", "-n", "10000", "--json"]).ok().json_lines();
    let on_record: std::collections::BTreeSet<String> = rows
        .iter()
        .filter(|row| row["kind"] == "GrantAdded" && row["reason"].as_str().unwrap().contains("hung_up"))
        .map(|row| row["agent_id"].as_str().unwrap().to_owned())
        .collect();
    assert!(!in_force.is_empty(), "some of them arrived");
    assert_eq!(in_force, on_record);
}

/// A secret that would make the file too large is refused, and what was there still works.
#[test]
fn a_secrets_file_is_never_left_larger_than_it_can_be_read() {
    let home = unhurried();
    home.write("secrets.toml", &format!("# {}\n[secrets]\nSMALL = \"long enough\"\n", "-".repeat(1_040_000)));
    let daemon = home.up();
    let value: String = (0..16_000).map(|number| format!("{number:04x}")).collect();
    let refused = home.command(&["secrets", "set", "BIG"]).input(value).run();
    assert_ne!(refused.code(), 0);
    assert!(refused.stderr.contains("secrets.toml"), "{}", refused.stderr);
    home.run(&["secrets", "remove", "SMALL"]).ok();
    home.run(&["reload"]).ok();
    daemon.stop();
    home.up().stop();
}

/// What is typed wrongly is told in the words of what was typed, with a way on.
#[test]
fn input_that_cannot_be_used_is_told_with_what_to_do() {
    let home = home();
    home.write("arguments.json", "{\"text\": ");
    let file = home.path().join("arguments.json").display().to_string();
    for (arguments, message, action) in [
        (&["tools", "call", "echo", "--args-file", &file][..], "the arguments in", "write one JSON object"),
        (&["memory", "search", "x", "-n", "0"], "a number from 1 to 1000", ""),
        (&["memory", "recent", "-n", "1001"], "a number from 1 to 1000", ""),
        (&["scripts", "show", ""], "see which there are: covenant scripts list", ""),
    ] {
        let ran = home.run(&[arguments, &["--json", "--no-start"]].concat()).exits(2);
        let told: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
        let part = |name: &str| told["error"][name].as_str().unwrap().to_owned();
        assert!(part("message").contains(message), "{told}");
        assert!(part("action").contains(action), "{told}");
        assert!(!part("message").contains("`limit`"), "{told}");
    }
}
