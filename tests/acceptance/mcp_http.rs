//! MCP over HTTP as clients of either era and people with `curl` see it: what is answered, and what is refused how.

mod refused;
mod sessions;
mod streams;

use covenant_testkit::wire::{Answer, Request};
use covenant_testkit::{Daemon, Home, HttpClient, http};
use serde_json::{Value, json};

use crate::{home, unhurried};

/// A client of that name, granted that.
fn client(home: &Home, daemon: &Daemon<'_>, name: &str, grants: &[&str]) -> HttpClient {
    HttpClient::new(daemon.port(), &token(home, name, grants))
}

/// The token of a new client, granted that.
fn token(home: &Home, name: &str, grants: &[&str]) -> String {
    let mut arguments = vec!["clients", "add", name];
    arguments.extend(grants.iter().flat_map(|grant| ["--grant", grant]));
    home.run(&arguments).ok().stdout.trim().to_owned()
}

/// What `curl` prints for the document's command; without `curl`, what our own client gets for the same bytes.
fn curl(port: u16, token: &str, data: &str) -> Value {
    let (url, authorization) =
        (format!("http://localhost:{port}/mcp"), format!("Authorization: Bearer {token}"));
    let ran = std::process::Command::new("curl")
        .args([
            "-sS",
            "-X",
            "POST",
            &url,
            "-H",
            "Content-Type: application/json",
            "-H",
            &authorization,
            "-d",
            data,
        ])
        .output();
    let text = if let Ok(ran) = ran {
        String::from_utf8(ran.stdout).unwrap()
    } else {
        eprintln!("there is no curl: its requests are sent by hand");
        let mut client = HttpClient::new(port, token);
        let request = client.plain(&Value::Null).with("Accept", "*/*").saying(data);
        client.send(&request).text
    };
    serde_json::from_str(&text).unwrap()
}

/// PACT-49, PACT-68: the document's two commands; only the port and the `Authorization` header are ours.
#[test]
fn the_documents_curl_commands_are_answered() {
    let home = home();
    let daemon = home.up();
    let token = token(&home, "curl", &["tool.call.echo", "tool.call.workspace_read"]);
    home.write("workspace/test.md", "File contents here...");
    let listed = curl(daemon.port(), &token, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!((listed["jsonrpc"].clone(), listed["id"].clone()), (json!("2.0"), json!(1)));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["clock", "echo", "workspace_read"]);

    let call = r#"{
"jsonrpc":"2.0",
"id":2,
"method":"tools/call",
"params":{
"name":"workspace_read",
"arguments":{"path":"/workspace/test.md"}
}
}"#;
    let called = curl(daemon.port(), &token, call);
    let result = json!({"content": [{"type": "text", "text": "File contents here..."}], "isError": false});
    assert_eq!(called, json!({"jsonrpc": "2.0", "id": 2, "result": result}));
}

/// COV-MCP-03: the CLI, stdio, REST and HTTP in both eras and in none list the same and answer the same.
#[test]
fn every_face_lists_and_calls_the_same() {
    let home = unhurried();
    let daemon = home.up();
    let token = token(&home, "everywhere", &["tool.call.*"]);
    let rest = |method: &str, path: &str, body: &str| -> Value {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = http::exchange(daemon.port(), &request);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(body).unwrap()
    };
    let cli = |arguments: &[&str]| home.command(arguments).env("COVENANT_TOKEN", &token).run().ok().json();
    let mut stdio =
        covenant_testkit::StdioClient::start(home.command(&["--mcp"]).env("COVENANT_TOKEN", &token));
    stdio.initialize();
    let mut session = HttpClient::new(daemon.port(), &token);
    session.initialize();
    let mut http = |method: &str, params: &Value, how: fn(&HttpClient, &str, &Value) -> Request| -> Value {
        let request = how(&session, method, params);
        let mut result = session.send(&request).json()["result"].clone();
        for added in ["resultType", "_meta", "ttlMs", "cacheScope"] {
            result.as_object_mut().unwrap().remove(added);
        }
        result
    };
    let mut everywhere = |method: &str, params: &Value| {
        vec![
            stdio.request(method, params.clone())["result"].clone(),
            http(method, params, |client, method, params| {
                client.plain(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            }),
            http(method, params, |client, method, params| {
                client.legacy(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            }),
            http(method, params, |client, method, params| client.modern(method, params, &json!(1))),
        ]
    };
    let mut lists = everywhere("tools/list", &json!({}));
    lists.push(rest("GET", "/api/v1/tools", ""));
    lists.push(cli(&["tools", "list", "--json"]));
    lists.push(home.run(&["tools", "list", "--json"]).ok().json());
    assert!(lists[0]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "echo"));
    assert!(lists.windows(2).all(|pair| pair[0] == pair[1]), "{lists:#?}");

    let arguments = json!({"text": "the same, \"everywhere\" \u{1F600}"});
    let mut results = everywhere("tools/call", &json!({"name": "echo", "arguments": arguments}));
    results.push(rest("POST", "/api/v1/tools/echo/call", &json!({ "arguments": arguments }).to_string()));
    results.push(cli(&["tools", "call", "echo", "--args", &arguments.to_string(), "--json"]));
    assert_eq!(results[0]["content"][0]["text"], arguments["text"]);
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:#?}");
}

/// COV-MCP-04: every member of an answer is one the published shapes have, in the era that has it.
#[test]
fn answers_have_the_published_shapes_of_their_era() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "shapes", &["tool.call.echo"]);
    let hello = client.initialize();
    let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(members(&hello["result"]), ["capabilities", "instructions", "protocolVersion", "serverInfo"]);
    assert_eq!(members(&client.request("tools/list", json!({}))["result"]), ["tools"]);
    let text = json!([{"type": "text", "text": "x"}]);
    let echoed = client.call("echo", json!({"text": "x"}));
    assert_eq!(echoed["result"], json!({ "content": text, "isError": false }));

    let server = json!({"io.modelcontextprotocol/serverInfo":
        {"name": "covenant", "title": "Covenant", "version": env!("CARGO_PKG_VERSION")}});
    let echo = json!({"name": "echo", "arguments": {"text": "x"}});
    let answer = client.send(&client.modern("tools/call", &echo, &json!("c")));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let result = json!({"resultType": "complete", "_meta": server, "content": text, "isError": false});
    assert_eq!(answer.json(), json!({"jsonrpc": "2.0", "id": "c", "result": result}));
    for (method, ttl, more) in [
        ("server/discover", 60_000, &["capabilities", "instructions", "supportedVersions"][..]),
        ("tools/list", 0, &["tools"]),
    ] {
        let result = client.send(&client.modern(method, &json!({}), &json!(1))).json()["result"].clone();
        let mut expected = vec!["_meta", "cacheScope", "resultType", "ttlMs"];
        expected.extend(more);
        expected.sort_unstable();
        assert_eq!(members(&result), expected);
        assert_eq!(result["_meta"], server);
        assert_eq!((result["ttlMs"].clone(), result["cacheScope"].clone()), (json!(ttl), json!("private")));
    }
    let discovered = client.send(&client.modern("server/discover", &json!({}), &json!(1))).json();
    assert_eq!(discovered["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(discovered["result"]["capabilities"], hello["result"]["capabilities"]);
}

/// Insists on a refusal: that status, that code, for the request of that id.
#[track_caller]
fn refused(answer: &Answer, status: u16, code: i64, id: &Value) {
    assert_eq!((answer.status, answer.code()), (status, code), "{answer:?}");
    assert_eq!(answer.json()["id"], *id, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[test]
fn a_stateless_message_says_in_its_headers_what_its_body_says() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "stateless", &["tool.call.echo"]);
    let echo = json!({"name": "echo", "arguments": {"text": "x"}});
    let call = client.modern("tools/call", &echo, &json!(7));
    assert_eq!(client.send(&call).status, 200);
    assert_eq!(
        client.send(&call.clone().with("Mcp-Session-Id", "stray")).status,
        200,
        "there are no sessions here"
    );
    assert_eq!(client.send(&call.clone().with("mcp-name", "=?base64?ZWNobw==?=")).status, 200);
    for (name, values) in [
        ("Mcp-Method", ["tools/list", "TOOLS/CALL", "=?base64?????="]),
        ("Mcp-Name", ["clock", "Echo", "echo, echo"]),
        ("MCP-Protocol-Version", ["2025-11-25", "2026-07-29", ""]),
    ] {
        refused(&client.send(&call.clone().without(name)), 400, -32020, &json!(7));
        for value in values {
            refused(&client.send(&call.clone().with(name, value)), 400, -32020, &json!(7));
        }
    }
    let lists = client.modern("tools/list", &json!({}), &json!(8));
    refused(&client.send(&lists.with("Mcp-Method", "tools/call")), 400, -32020, &json!(8));
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "1999-01-01"}});
    let unknown = client.modern("tools/list", &meta, &json!(9)).with("MCP-Protocol-Version", "1999-01-01");
    let answer = client.send(&unknown);
    refused(&answer, 400, -32022, &json!(9));
    assert_eq!(answer.json()["error"]["data"]["supported"][0], "2026-07-28");
    let nothing = client.modern("no/such/method", &json!({}), &json!(10));
    refused(&client.send(&nothing), 404, -32601, &json!(10));
    for method in ["initialize", "ping", "logging/setLevel"] {
        let gone = client.modern(method, &json!({"level": "info"}), &json!(11));
        refused(&client.send(&gone), 404, -32601, &json!(11));
    }
}

#[test]
fn of_a_hundred_calls_at_once_each_gets_its_own_answer() {
    let home = unhurried();
    let daemon = home.up();
    let token = token(&home, "crowd", &["tool.call.echo"]);
    let port = daemon.port();
    let mut first = HttpClient::new(port, &token);
    first.initialize();
    let session = first.session().to_owned();
    let own: Vec<String> = (0..50)
        .map(|_| {
            let mut client = HttpClient::new(port, &token);
            client.initialize();
            client.session().to_owned()
        })
        .collect();
    let call = |session: &str, id: usize| {
        let mut client = HttpClient::new(port, &token);
        client.resume(session);
        for round in 0..5 {
            let text = format!("call {id} of round {round}");
            let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": "echo", "arguments": {"text": text}}});
            let answer = client.send(&client.legacy(&message)).json();
            assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(id), &json!(text)));
        }
    };
    std::thread::scope(|scope| {
        for id in 0..100 {
            let (session, call) = (&session, &call);
            scope.spawn(move || call(session, id));
        }
    });
    std::thread::scope(|scope| {
        for id in 0..100 {
            let (session, call) = (&own[id % own.len()], &call);
            scope.spawn(move || call(session, id));
        }
    });
}
