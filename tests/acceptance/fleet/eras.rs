//! Both kinds of client reach both kinds of server, by every transport, and what passes arrives as it was sent.

use covenant_testkit::wait::until;
use covenant_testkit::{Home, HttpClient, Upstream};
use serde_json::{Value, json};

use super::stage::{Stage, text};
use crate::home;

/// Every transport with every era it has.
fn everyone(home: &Home) -> Vec<(Upstream, &'static str, &'static str)> {
    let (legacy, modern, dual) = (&["legacy"][..], &["modern"][..], &[][..]);
    vec![
        (Upstream::stdio(home, "stdio-legacy", legacy), "stdio", "legacy"),
        (Upstream::stdio(home, "stdio-modern", modern), "stdio", "modern"),
        (Upstream::stdio(home, "stdio-dual", dual), "stdio", "modern"),
        (Upstream::stdio(home, "stdio-forced", dual).key("era", json!("legacy")), "stdio", "legacy"),
        (Upstream::http(home, "http-legacy", legacy), "http", "legacy"),
        (Upstream::http(home, "http-modern", modern), "http", "modern"),
        (Upstream::http(home, "http-dual", dual), "http", "modern"),
        (Upstream::http(home, "http-forced", dual).key("era", json!("legacy")), "http", "legacy"),
        (Upstream::sse(home, "sse", legacy), "sse", "legacy"),
    ]
}

/// A request of one era, and the result of it; what came before is thrown away.
#[track_caller]
fn ask(client: &mut HttpClient, modern: bool, method: &str, params: &Value) -> Value {
    let answer = if modern {
        let request = client.modern(method, params, &json!("m"));
        client.send(&request).messages().pop().unwrap()
    } else {
        client.request(method, params.clone())
    };
    assert!(answer["result"].is_object(), "{answer}");
    // What a result says of itself beside may stay for whoever does not know it.
    assert!(!modern || answer["result"]["resultType"] == "complete", "{answer}");
    answer
}

#[test]
fn both_kinds_of_client_reach_both_kinds_of_server() {
    let home = home();
    let all = everyone(&home);
    let servers: Vec<&Upstream> = all.iter().map(|(server, _, _)| server).collect();
    let stage = Stage::with(&home, &servers);
    for (server, transport, era) in &all {
        let now = stage.ready(&server.name);
        assert_eq!((&now["transport"], &now["era"]), (&json!(transport), &json!(era)), "{now}");
    }
    let mut client = stage.http("ada");
    client.initialize();
    for modern in [false, true] {
        let listed = ask(&mut client, modern, "tools/list", &json!({}));
        for (server, ..) in &all {
            eprintln!("{} for a {} client", server.name, if modern { "modern" } else { "legacy" });
            converses(&mut client, modern, &server.name);
            defined(&listed["result"]["tools"], &server.name);
        }
    }
}

/// Calls of every kind, by a client of either era.
fn converses(client: &mut HttpClient, modern: bool, server: &str) {
    let mut call = |tool: &str, arguments: Value| {
        let params = json!({"name": format!("{server}__{tool}"), "arguments": arguments});
        ask(client, modern, "tools/call", &params)
    };
    assert_eq!(text(&call("echo", json!({"text": "hällo"}))), "hällo");
    assert_eq!(call("add", json!({"a": 1, "b": 2.5}))["result"]["structuredContent"], json!({"sum": 3.5}));
    let failed = call("fail", json!({}))["result"].clone();
    assert_eq!(
        (&failed["isError"], &failed["content"][0]["text"]),
        (&json!(true), &json!("it cannot be done"))
    );
    let refused = call("refuse", json!({}));
    assert_eq!(refused["result"]["isError"], true);
    let said = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.starts_with("MCP error: ") && said.contains("the server says no"), "{said}");
    let blocks = call("blocks", json!({}))["result"].clone();
    let kinds: Vec<&str> =
        blocks["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource", "resource_link", "text"]);
    assert_eq!(blocks["content"][0]["annotations"], json!({"audience": ["user"], "priority": 0.5}));
    assert_eq!(
        blocks["content"][4],
        json!({"type": "resource_link", "uri": "test://two", "name": "two", "title": "Two"})
    );
    assert_eq!(
        blocks["structuredContent"],
        json!({"z": 1, "a": [null, true, 1.5, 12_345_678_901_234_567_890_u64], "m": {}})
    );
    assert_eq!(blocks["_meta"]["example.org/result"], "kept");
}

/// A definition reaches the client whole, but for its name; also where it lies on the last page.
fn defined(tools: &Value, server: &str) {
    let own: Vec<&Value> = tools
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["name"].as_str().unwrap().starts_with(&format!("{server}__")))
        .collect();
    assert_eq!(own.len(), 21, "all pages: {own:?}");
    let find = |name: &str| own.iter().find(|tool| tool["name"] == format!("{server}__{name}")).unwrap();
    let rich = find("rich");
    assert_eq!(rich["title"], "A rich tool");
    assert_eq!(rich["annotations"], json!({"title": "Rich", "readOnlyHint": true, "openWorldHint": false}));
    assert_eq!(rich["icons"][0]["sizes"], json!(["48x48"]));
    assert_eq!(
        rich["outputSchema"],
        json!({"type": "object", "properties": {"answer": {"type": "integer"}}})
    );
    assert_eq!(rich["_meta"]["example.org/kept"], json!({"as": ["it", "is"]}));
    assert_eq!(rich["execution"], json!({"taskSupport": "forbidden"}));
    assert_eq!(find("bare")["inputSchema"], json!({"type": "object"}));
}

/// Progress arrives under the caller's token, and giving up reaches the server under the id it knows.
#[test]
fn progress_comes_down_and_cancellation_goes_up() {
    let home = home();
    let all = everyone(&home);
    let servers: Vec<&Upstream> = all.iter().map(|(server, _, _)| server).collect();
    let stage = Stage::with(&home, &servers);
    let mut client = stage.client();
    for (server, transport, era) in &all {
        stage.ready(&server.name);
        eprintln!("{}", server.name);
        let params = |tool: &str| json!({"name": format!("{}__{tool}", server.name), "arguments": {"steps": 3, "ms": 5}, "_meta": {"progressToken": "mine"}});
        client
            .send(&json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params("slow")}));
        let mut steps = Vec::new();
        let answer = loop {
            let message = client.receive();
            if message["method"] == "notifications/progress" {
                let told = &message["params"];
                assert_eq!((&told["progressToken"], told["total"].as_f64()), (&json!("mine"), Some(3.0)));
                steps.push(told["progress"].as_f64().unwrap());
            } else if message["id"] == "slow" {
                break message;
            }
        };
        assert_eq!(text(&answer), "3 steps");
        assert_eq!(format!("{steps:?}"), "[1.0, 2.0, 3.0]", "{}", server.name);

        client.send(
            &json!({"jsonrpc": "2.0", "id": "given-up", "method": "tools/call", "params": params("hang")}),
        );
        let hang = until("the call has arrived", || {
            server.heard("tools/call").into_iter().find(|call| call["params"]["name"] == "hang")
        });
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "given-up"}}));
        until(&format!("`{}` hears that it was given up", server.name), || {
            (server.count("cancelled") == 1).then_some(())
        });
        // A modern server is told by the end of the stream alone.
        if (*transport, *era) != ("http", "modern") {
            until("it is told which", || {
                let told = server.heard("notifications/cancelled");
                told.iter().any(|message| message["params"]["requestId"] == hang["id"]).then_some(())
            });
        }
    }
}

/// Whoever calls, a server sees the credentials of its entry, its own names, and headers made from what it is sent.
#[test]
fn a_server_sees_its_own_credentials_and_names_and_nothing_of_the_caller() {
    let home = home();
    let headers = "{ Authorization = \"Bearer for-the-server-only\", X-Team = \"$TEAM\" }";
    let modern =
        Upstream::http(&home, "modern", &["modern", "needs=for-the-server-only"]).key("headers", headers);
    let legacy =
        Upstream::http(&home, "legacy", &["legacy", "needs=for-the-server-only"]).key("headers", headers);
    super::stage::configure(&home, &[&modern, &legacy]);
    let text_of = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    home.write("config.toml", &text_of.replace("$TEAM", "blue"));
    let stage = Stage::up(&home);
    stage.ready("modern");
    stage.ready("legacy");
    let token = stage.token("ada");
    let mut client = HttpClient::new(stage.port, &token);
    client.initialize();
    for server in ["modern", "legacy"] {
        let name = format!("{server}__region");
        let arguments = json!({"region": "eu-west", "text": "x"});
        let answer = client.call(&name, arguments.clone());
        assert_eq!(text(&answer), "eu-west");
        let params = json!({"name": name, "arguments": arguments});
        let request = client.modern("tools/call", &params, &json!(1)).with("Mcp-Param-Region", "eu-west");
        assert_eq!(text(&client.send(&request).messages().pop().unwrap()), "eu-west");
    }
    let calls = |server: &Upstream| {
        let record = server.record();
        let called: Vec<Value> =
            record.iter().filter(|line| line["message"]["method"] == "tools/call").cloned().collect();
        assert_eq!(called.len(), 2);
        for line in &record {
            assert!(!line.to_string().contains(&token), "the caller's token went upstream: {line}");
            if line.get("way").is_some() {
                assert_eq!(line["headers"]["authorization"], "Bearer for-the-server-only", "{line}");
                assert_eq!(line["headers"]["x-team"], "blue");
            }
        }
        called
    };
    for call in calls(&modern) {
        assert_eq!(call["headers"]["mcp-name"], "region");
        assert_eq!(call["headers"]["mcp-param-region"], "eu-west");
        assert_eq!(call["headers"]["mcp-method"], "tools/call");
    }
    for call in calls(&legacy) {
        assert_eq!(call["message"]["params"]["name"], "region");
        let session = call["headers"]["mcp-session-id"].as_str().unwrap();
        assert_ne!(session, client.session());
    }
}

/// A server may ask whether we are there; what it may not ask is answered too, so that it does not wait.
#[test]
fn a_server_that_asks_is_answered() {
    let home = home();
    let lines = Upstream::stdio(&home, "lines", &["legacy"]);
    let web = Upstream::http(&home, "web", &["legacy"]);
    let events = Upstream::sse(&home, "events", &["legacy"]);
    let stage = Stage::with(&home, &[&lines, &web, &events]);
    let mut client = stage.client();
    for name in ["lines", "web", "events"] {
        stage.ready(name);
        let told = client.call(&format!("{name}__ask"), json!({}))["result"]["structuredContent"].clone();
        assert_eq!(told["ping"]["result"], json!({}), "{name} {told}");
        assert_eq!(told["odd"]["error"]["code"], -32601, "{name} {told}");
    }
}
