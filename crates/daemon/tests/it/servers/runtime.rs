//! What the operator does with servers while the daemon runs.

use serde_json::{Value, json};

use super::fixture::{SERVERS, body, entry, house, python};
use crate::house::{House, send};

#[tokio::test]
async fn a_server_is_added_called_through_the_gate_and_removed() {
    let Some(python) = python() else { return };
    let house = house("").await;
    let added = house.ask("POST", SERVERS, body(&python, "Small One", &["say", "where"])).await;
    assert_eq!(added.status, 201, "{}", added.text);
    let tools = json!(["small-one__say", "small-one__where"]);
    assert_eq!(
        added.json(),
        json!({"name": "Small One", "connected": true, "tools": tools, "tool_count": 2})
    );
    let status = house.get(&format!("{SERVERS}/Small%20One")).await.json();
    assert_eq!((&status["state"], &status["source"]), (&json!("ready"), &json!("runtime")));
    assert_eq!((&status["prefix"], &status["transport"]), (&json!("small-one"), &json!("stdio")));
    let listed = house.get(SERVERS).await.json();
    assert_eq!((&listed["total"], &listed["connected"]), (&json!(1), &json!(1)));
    assert_eq!(house.get("/api/v1/status").await.json()["servers"], json!({"ready": 1}));
    let tools = house.get(&format!("{SERVERS}/Small%20One/tools")).await.json();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 2);
    assert_eq!(tools["tools"][0]["name"], "small-one__say");
    assert_eq!(tools["tools"][0]["annotations"]["readOnlyHint"], true, "the rest of it is the server's");
    assert_eq!(house.said("small-one__say", json!({"text": "hello"})).await, "hello");
    assert_eq!(house.said("small-one__where", json!({})).await, std::env::var("HOME").unwrap());
    let metrics = house.get("/metrics").await.text;
    assert!(metrics.contains("covenant_servers{state=\"ready\"} 1\n"), "{metrics}");
    assert!(metrics.contains("covenant_servers{state=\"failed\"} 0\n"), "{metrics}");
    let removed = house.ask("DELETE", &format!("{SERVERS}/Small%20One"), Value::Null).await;
    assert_eq!(removed.json(), json!({"name": "Small One", "removed": true}));
    assert_eq!(house.get(&format!("{SERVERS}/Small%20One")).await.status, 404);
    assert_eq!(house.call("small-one__say", json!({})).await.code(), "unknown_tool");
    let rows = house.rows().await;
    for kind in ["ServerAdded", "ServerStarted", "ServerRemoved"] {
        let row = rows.lines().find(|row| row.contains(kind)).unwrap_or_else(|| panic!("{kind}: {rows}"));
        assert!(row.contains("Small One"), "{row}");
        assert_eq!(row.contains("\"peer\""), kind != "ServerStarted", "{row}");
    }
    house.stop().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_was_added_all_the_same() {
    let house = house("").await;
    let new = json!({"name": "none", "command": "no-such-program"});
    let added = house.ask("POST", SERVERS, new).await;
    let answer = added.json();
    assert_eq!((added.status.as_u16(), &answer["connected"]), (201, &json!(false)), "{}", added.text);
    assert!(answer["error"].as_str().unwrap().contains("was not found on the daemon's PATH"), "{answer}");
    let tested = house.ask("POST", &format!("{SERVERS}/none/test"), json!({})).await;
    assert_eq!((tested.status.as_u16(), tested.json()["ok"].clone()), (200, json!(false)));
    assert_eq!(tested.json()["phases"][0]["phase"], "start", "{}", tested.text);
    house.stop().await;
}

#[tokio::test]
async fn what_cannot_be_added_is_refused_with_the_documented_status() {
    let house = house("").await;
    let ask = async |body: Value| {
        let answer = house.ask("POST", SERVERS, body).await;
        let said = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        (answer.status.as_u16(), answer.code(), said)
    };
    for (body, says) in [
        (json!({"command": "x"}), "`name` is missing"),
        (json!({"name": "", "command": "x"}), "`name` is missing"),
        (json!({"name": "a"}), "`command` is missing"),
        (json!({"name": "a", "command": "x", "args": "y"}), "`args`: "),
        (json!({"name": "a", "command": "x", "start": "soon"}), "`start`: "),
        (json!({"name": "a", "comand": "x"}), "`comand` is not a key of a server"),
        (json!({"name": "a", "command": "x", "args": ["${secret:A}"]}), "lists of processes would show it"),
        (json!({"name": "a", "command": "x", "env": {"A": "$NOT_SET_ANYWHERE"}}), "$NOT_SET_ANYWHERE"),
    ] {
        let (status, code, said) = ask(body).await;
        assert_eq!((status, code.as_str()), (422, "invalid"), "{said}");
        assert!(said.contains(says), "{said}");
    }
    assert_eq!(ask(json!({"name": "a", "command": "x", "connect": false})).await.0, 201);
    let (status, code, said) = ask(json!({"name": "a", "command": "y"})).await;
    assert_eq!((status, code.as_str()), (409, "taken"), "{said}");
    for (method, path) in [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/tools"),
        ("GET", "/logs"),
        ("POST", "/connect"),
        ("POST", "/disconnect"),
        ("POST", "/restart"),
        ("POST", "/test"),
    ] {
        let answer = house.ask(method, &format!("{SERVERS}/none{path}"), Value::Null).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (404, "not_found"), "{method} {path}");
    }
    let added = house.ask("POST", "/api/v1/clients", json!({"name": "claude"})).await.json();
    let token = added["token"].as_str().unwrap();
    let new = json!({"name": "b", "command": "x"});
    let refused = house.ask_as(Some(token), "POST", SERVERS, new).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "not_operator"));
    house.stop().await;
}

#[tokio::test]
async fn from_another_machine_no_program_is_started_and_no_secret_used_unless_that_is_allowed() {
    for (allowed, command, url) in [("", 403, 201), ("remote_admin = true\n", 201, 201)] {
        let house = house(&format!("[http]\nbehind_proxy = true\n{allowed}")).await;
        let token = std::fs::read_to_string(house.running.home().operator_token()).unwrap();
        let ask = async |house: &House, body: Value| {
            let request = http::Request::builder()
                .method("POST")
                .uri(SERVERS)
                .header("host", "localhost")
                .header("authorization", format!("Bearer {}", token.trim()))
                .body(body.to_string())
                .unwrap();
            send(house.tcp().await, request).await
        };
        let answer = ask(&house, json!({"name": "a", "command": "no-such-program"})).await;
        assert_eq!(answer.status, command, "{}", answer.text);
        if command == 403 {
            assert_eq!(answer.code(), "remote_admin");
        }
        let remote = json!({"name": "b", "url": "http://127.0.0.1:9/mcp", "connect": false});
        assert_eq!(ask(&house, remote).await.status, url);
        for (name, text) in [("d", "${secret:KEY}"), ("e", "$HOME")] {
            let new = json!({"name": name, "url": "http://127.0.0.1:9/mcp", "headers": {"A": text}, "connect": false});
            let answer = ask(&house, new).await;
            let expected = if command == 403 {
                403
            } else if name == "d" {
                422
            } else {
                201
            };
            assert_eq!(answer.status, expected, "nothing of this machine is handed out: {}", answer.text);
        }
        let local = json!({"name": "c", "command": "no-such-program"});
        assert_eq!(house.ask("POST", SERVERS, local).await.status, 201, "on the socket one is here");
        house.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_dies_answers_again_and_says_why_it_died() {
    let Some(python) = python() else { return };
    let house = house("").await;
    let mut new = body(&python, "s", &["die", "pid"]);
    new["env"] = json!({"TOKEN": "correct-horse-battery"});
    assert_eq!(house.ask("POST", SERVERS, new).await.status, 201);
    let before = house.said("s__pid", json!({})).await;
    let died = house.said("s__die", json!({})).await;
    assert!(died.starts_with("MCP error: ") && died.contains("exit code 7"), "{died}");
    assert!(died.contains("dying now") && !died.contains("correct-horse-battery"), "{died}");
    let after = house.said("s__pid", json!({})).await;
    assert_ne!(before, after);
    let lines = house.get(&format!("{SERVERS}/s/logs")).await;
    assert!(lines.text.contains("dying now, with [REDACTED:TOKEN]"), "{}", lines.text);
    assert_eq!(house.until_ready("s").await["restarts"], 1);
    house.stop().await;
}

#[tokio::test]
async fn no_sandbox_is_shown_what_is_the_daemons() {
    let house = house("").await;
    let identity = house.running.home().identity();
    let new = json!({"name": "curious", "command": "/bin/sh", "sandbox": {"read": [identity]}});
    let refused = house.ask("POST", SERVERS, new).await.json();
    assert!(refused["error"].as_str().unwrap().contains("belongs to the daemon"), "{refused}");
    house.stop().await;
}

#[tokio::test]
async fn a_server_is_let_go_brought_back_restarted_and_tried() {
    let Some(python) = python() else { return };
    let house = house("").await;
    house.ask("POST", SERVERS, body(&python, "s", &["pid"])).await;
    let first = house.said("s__pid", json!({})).await;
    let post = async |what: &str| house.ask("POST", &format!("{SERVERS}/s/{what}"), Value::Null).await.json();
    let tested = post("test").await;
    assert_eq!((&tested["ok"], &tested["tools"]), (&json!(true), &json!(["pid"])), "{tested}");
    assert_eq!(house.said("s__pid", json!({})).await, first, "a try is none of its business");
    assert_eq!(post("disconnect").await["state"], "disabled");
    assert_eq!(post("connect").await["state"], "ready");
    let second = house.said("s__pid", json!({})).await;
    assert_ne!(first, second);
    assert_eq!(post("restart").await["state"], "ready");
    assert_ne!(house.said("s__pid", json!({})).await, second);
    house.stop().await;
}

#[tokio::test]
async fn what_is_added_for_good_stands_in_the_file_and_comes_back() {
    let Some(python) = python() else { return };
    let house = house(&format!("# mine\n{}", entry(&python, "first", &["say"]))).await;
    let home = house.running.home().clone();
    let mut new = body(&python, "second", &["say"]);
    new["persist"] = json!(true);
    let added = house.ask("POST", SERVERS, new.clone()).await;
    assert_eq!(
        (added.status.as_u16(), added.json()["connected"].clone()),
        (201, json!(true)),
        "{}",
        added.text
    );
    let text = std::fs::read_to_string(home.config()).unwrap();
    assert!(text.contains("# mine") && text.contains("second"), "{text}");
    house.until_ready("first").await;
    let path = |name: &str| format!("{SERVERS}/{name}?persist=true");
    assert_eq!(house.ask("DELETE", &path("first"), Value::Null).await.status, 200);
    let text = std::fs::read_to_string(home.config()).unwrap();
    assert!(!text.contains("first") && text.contains("second"), "{text}");
    let away = house.ask("DELETE", &format!("{SERVERS}/second"), Value::Null).await;
    assert_eq!(away.status, 200, "{}", away.text);
    house.until_gone("second").await;
    house.ask("POST", "/api/v1/reload", json!({})).await;
    assert_eq!(
        house.get(&format!("{SERVERS}/second")).await.status,
        404,
        "it stays away until the next start"
    );
    new["persist"] = json!(false);
    new["args"] = json!(["-c", "raise SystemExit"]);
    let instead = house.ask("POST", SERVERS, new).await;
    assert_eq!(instead.status, 201, "its name is free until then");
    house.stop().await;
}

#[tokio::test]
async fn what_was_removed_until_the_next_start_is_brought_back_or_removed_for_good() {
    let Some(python) = python() else { return };
    let house = house(&entry(&python, "s", &["say"])).await;
    house.until_ready("s").await;
    let path = format!("{SERVERS}/s");
    let away = house.ask("DELETE", &path, Value::Null).await;
    assert_eq!(away.json(), json!({"name": "s", "removed": true}), "no file was changed");
    house.until_gone("s").await;
    let mut new = body(&python, "s", &["say"]);
    new["persist"] = json!(true);
    let taken = house.ask("POST", SERVERS, new).await;
    let action = taken.json()["error"]["action"].as_str().unwrap().to_owned();
    assert_eq!((taken.status.as_u16(), taken.code().as_str()), (409, "taken"), "{}", taken.text);
    assert!(
        action.contains("covenant mcp restart s") && action.contains("covenant mcp remove s"),
        "{action}"
    );
    let back = house.ask("POST", &format!("{path}/restart"), Value::Null).await;
    assert_eq!(back.json()["state"], "ready", "{}", back.text);
    house.ask("DELETE", &path, Value::Null).await;
    house.until_gone("s").await;
    let gone = house.ask("DELETE", &format!("{path}?persist=true"), Value::Null).await;
    assert_eq!(gone.json(), json!({"name": "s", "removed": true, "files": ["config.toml"]}));
    assert!(!std::fs::read_to_string(house.running.home().config()).unwrap().contains("mcp.servers"));
    assert_eq!(house.ask("DELETE", &format!("{path}?persist=true"), Value::Null).await.code(), "not_found");
    house.stop().await;
}

#[tokio::test]
async fn a_server_in_two_files_is_removed_from_both_and_the_row_names_them() {
    let house = house("[[mcp.servers]]\nname = \"s\"\ncommand = \"none\"\nenabled = false\n").await;
    let secrets = house.running.home().secrets();
    covenant_daemon::atomic::write(&secrets, b"[[mcp.servers]]\nname = \"s\"\ncommand = \"x\"\n").unwrap();
    let gone = house.ask("DELETE", &format!("{SERVERS}/s?persist=true"), Value::Null).await.json();
    assert_eq!(gone["files"], json!(["config.toml", "secrets.toml"]), "{gone}");
    let rows = house.rows().await;
    let row = rows.lines().find(|row| row.contains("ServerRemoved")).unwrap();
    assert!(row.contains("config.toml, secrets.toml"), "{row}");
    house.stop().await;
}

#[tokio::test]
async fn what_the_operator_says_to_a_server_is_on_record() {
    let Some(python) = python() else { return };
    let house = house("").await;
    house.ask("POST", SERVERS, body(&python, "s", &["say"])).await;
    for command in ["disconnect", "connect", "restart"] {
        assert_eq!(house.ask("POST", &format!("{SERVERS}/s/{command}"), Value::Null).await.status, 200);
        let rows = house.rows().await;
        let said = format!("\"{command}\"");
        let is_it = |row: &&str| row.contains("ServerCommanded") && row.contains(&said);
        let row = rows.lines().find(is_it).unwrap_or_else(|| panic!("{command}: {rows}"));
        assert!(row.contains("\"peer\"") && row.contains("user@local"), "{row}");
    }
    house.stop().await;
}
