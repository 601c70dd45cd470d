//! Approval by way of the client that asks: who is only told where to decide, and whose word counts.

use covenant_testkit::mcp::MODERN;
use covenant_testkit::{Home, HttpClient, StdioClient, http};
use serde_json::{Value, json};

use super::{failure, rows, text};
use crate::unhurried;

/// A client on stdio whose calls of `echo` a person must approve, and which may run scripts.
fn client(home: &Home, name: &str, more: &[&str], person: &Value) -> StdioClient {
    let token = token(home, name, more);
    let mut client = StdioClient::start(home.command(&["--mcp"]).env("COVENANT_TOKEN", &token));
    client.initialize_able(json!({ "elicitation": person }));
    client
}

fn token(home: &Home, name: &str, more: &[&str]) -> String {
    let arguments = [&["clients", "add", name, "--grant", "tool.call.script_run"], more].concat();
    let token = home.run(&arguments).ok().stdout.trim().to_owned();
    let to = format!("client:{name}");
    home.run(&["capabilities", "grant", "tool.call.echo", "--to", &to, "--approval", "ask"]).ok();
    token
}

fn echo(client: &mut StdioClient, id: u64, text: &str) {
    let params = json!({"name": "echo", "arguments": {"text": text}});
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
}

fn answer(client: &mut StdioClient, question: &Value, answer: &Value) {
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"verdict": "approve"}})
}

/// A call of a stateless client that says what its person can be reached by, with what it brings back.
fn round(client: &mut StdioClient, call: &Value, person: &Value, more: &Value) -> Value {
    let mut params = call.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": person},
    });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.request("tools/call", params)
}

fn waiting(home: &Home) -> Vec<Value> {
    home.run(&["approvals", "list", "--json"]).ok().json().as_array().unwrap().clone()
}

/// The person before a client that was added for it decides, in the older revisions of the protocol.
#[test]
fn a_client_that_may_approve_asks_its_person() {
    let home = unhurried();
    home.write("scripts/one.star", "result = 1  # \u{202e}\n");
    let _daemon = home.up();
    let mut desk = client(&home, "desk", &["--may-approve"], &json!({}));
    echo(&mut desk, 7, "hi");
    let question = desk.receive();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("client:desk") && message.contains("\"text\": \"hi\""), "{message}");
    assert_eq!(waiting(&home).len(), 1, "anyone else may still decide");
    answer(&mut desk, &question, &yes());
    assert_eq!(text(&desk.receive()), "hi");
    let decided = home.run(&["approvals", "list", "--all", "--json"]).ok().json();
    assert_eq!(decided[0]["decided_by"], "client:desk", "{decided}");
    let rows = rows(&home);
    assert!(rows.iter().any(|row| row["kind"] == "ApprovalDecided" && row["principal"] == "client:desk"));
    let added = rows.iter().find(|row| row["kind"] == "ClientAdded").unwrap();
    assert_eq!(added["reason"], "may approve", "{added}");

    echo(&mut desk, 8, "hi");
    let question = desk.receive();
    answer(&mut desk, &question, &json!({"action": "cancel"}));
    let refused = desk.receive();
    assert_eq!(refused["error"]["code"], -31003, "{refused}");
    echo(&mut desk, 9, "hi");
    let question = desk.receive();
    assert!(
        question["params"]["message"].as_str().unwrap().contains(waiting(&home)[0]["id"].as_str().unwrap())
    );
    answer(&mut desk, &question, &json!({"action": "decline"}));
    let rejected = desk.receive();
    assert_eq!(rejected["error"]["code"], -31007, "{rejected}");
    assert!(
        rejected["error"]["message"].as_str().unwrap().ends_with(": declined at client:desk"),
        "{rejected}"
    );

    let run = json!({"name": "script_run", "arguments": {"name": "one"}});
    desk.send(&json!({"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": run}));
    let question = desk.receive();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("'one.star'") && message.ends_with("result = 1  # \\u{202e}\n"), "{message}");
    answer(&mut desk, &question, &yes());
    assert_eq!(text(&desk.receive()), "1");
}

/// The same in the stateless revision: the question is the result, and the word comes with the next call.
#[test]
fn a_stateless_client_that_may_approve_brings_its_persons_word() {
    let home = unhurried();
    home.write("scripts/one.star", "result = 1\n");
    let _daemon = home.up();
    let token = token(&home, "desk", &["--may-approve"]);
    let mut desk = StdioClient::start(home.command(&["--mcp"]).env("COVENANT_TOKEN", &token));
    let form = json!({"form": {}});
    let calls = [
        (json!({"name": "echo", "arguments": {"text": "hi"}}), "hi"),
        (json!({"name": "script_run", "arguments": {"name": "one"}}), "1"),
    ];
    for (call, said) in calls {
        let asked = round(&mut desk, &call, &form, &json!({}))["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(question["method"], "elicitation/create", "{asked}");
        let brought = json!({"inputResponses": {key.as_str(): yes()}, "requestState": asked["requestState"]});
        let without_state = json!({"inputResponses": {key.as_str(): yes()}});
        let again = round(&mut desk, &call, &form, &without_state);
        assert_eq!(again["result"]["resultType"], "input_required", "{again}");
        let done = round(&mut desk, &call, &form, &brought);
        assert_eq!(text(&done), said, "{done}");
        let replayed = round(&mut desk, &call, &form, &brought);
        match said {
            "hi" => assert_eq!(replayed["result"]["resultType"], "input_required", "a word is for one call"),
            _ => assert_eq!(text(&replayed), said, "a text that was approved stays so"),
        }
    }
}

/// PACT-82: the word of a client counts only if a person said so when it was added; otherwise it is nobody's.
#[test]
fn a_client_that_may_not_approve_decides_nothing_whatever_it_answers() {
    let home = unhurried();
    home.write("scripts/one.star", "result = 1\n");
    home.write("config.toml", "[rate_limit]\nrate = 0\n[approvals]\nwait_secs = 1\n");
    let _daemon = home.up();
    let both = json!({"form": {}, "url": {}});
    let mut eve = client(&home, "eve", &[], &both);
    echo(&mut eve, 7, "hi");
    let told = eve.receive();
    assert_eq!((&told["method"], &told["params"]["mode"]), (&json!("elicitation/create"), &json!("url")));
    answer(&mut eve, &told, &yes());
    assert_eq!(eve.receive()["error"]["code"], -32042);

    let mut plain = StdioClient::start(home.command(&["--mcp"]));
    plain.initialize_able(json!({"elicitation": {}}));
    home.run(&["capabilities", "grant", "tool.call.echo", "--approval", "ask"]).ok();
    assert_eq!(plain.call("echo", json!({"text": "hi"}))["error"]["code"], -31003, "nor the operator's");
    for call in [
        json!({"name": "echo", "arguments": {"text": "ho"}}),
        json!({"name": "script_run", "arguments": {"name": "one"}}),
    ] {
        let asked = round(&mut eve, &call, &both, &json!({}))["result"].clone();
        let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(question["params"]["mode"], "url", "{asked}");
        let brought = json!({"inputResponses": {key.as_str(): yes()}, "requestState": asked["requestState"]});
        let refused = round(&mut eve, &call, &both, &brought);
        if call["name"] == "echo" {
            assert_eq!(refused["error"]["code"], -31003, "{refused}");
        } else {
            assert!(failure(&refused).contains("is pending approval"), "{refused}");
        }
        let form = round(&mut eve, &call, &json!({}), &json!({"inputResponses": {key.as_str(): yes()}}));
        assert!(form["error"]["code"] == -31003 || form["result"]["isError"] == true, "{form}");
    }
    assert_eq!(waiting(&home).len(), 4);
    assert!(!rows(&home).iter().any(|row| row["kind"] == "ApprovalDecided"));
    let listed = home.run(&["clients", "list", "--json"]).ok().json();
    assert_eq!((&listed[0]["name"], &listed[0]["may_approve"]), (&json!("eve"), &json!(false)));
    home.run(&["clients", "add", "desk", "--may-approve"]).ok();
    let listed = home.run(&["clients", "list"]).ok().stdout;
    assert!(listed.contains("APPROVES") && listed.lines().last().unwrap().contains(" yes "), "{listed}");
}

/// A client that can open pages is told of one, and hears when a person has decided.
#[test]
fn a_client_is_told_where_its_person_decides_and_when_they_have() {
    let home = unhurried();
    home.write("scripts/one.star", "result = 1\n");
    let daemon = home.up();
    let mut ada = client(&home, "ada", &[], &json!({"url": {}}));
    let decided = |ada: &mut StdioClient, id: &str| {
        home.run(&["approvals", "approve", id]).ok();
        let complete = ada.receive();
        assert_eq!(complete["method"], "notifications/elicitation/complete", "{complete}");
        assert_eq!(complete["params"], json!({"elicitationId": id}));
    };
    let page = |page: &Value| {
        let id = waiting(&home)[0]["id"].as_str().unwrap().to_owned();
        let url = format!("http://localhost:{}/approvals/{id}", daemon.port());
        assert_eq!((&page["mode"], &page["url"]), (&json!("url"), &json!(url)), "{page}");
        assert_eq!(page["elicitationId"], id);
        assert!(page["message"].as_str().unwrap().contains(&id), "{page}");
        id
    };
    let told = ada.call("echo", json!({"text": "hi"}));
    assert_eq!(told["error"]["code"], -32042, "{told}");
    let id = page(&told["error"]["data"]["elicitations"][0]);
    assert_eq!(told["error"]["data"]["approval_id"], id);
    decided(&mut ada, &id);
    assert_eq!(text(&ada.call("echo", json!({"text": "hi"}))), "hi");

    let run = json!({"name": "script_run", "arguments": {"name": "one"}});
    ada.send(&json!({"jsonrpc": "2.0", "id": "run", "method": "tools/call", "params": run}));
    let told = ada.receive();
    assert_eq!(told["method"], "elicitation/create", "{told}");
    let id = page(&told["params"]);
    let result = ada.receive();
    assert!(failure(&result).starts_with("Error: Script 'one.star' is pending approval. "), "{result}");
    answer(&mut ada, &told, &json!({"action": "accept"}));
    decided(&mut ada, &id);
    assert_eq!(text(&ada.request("tools/call", run)), "1");
}

#[test]
fn a_call_that_waits_goes_on_once_its_person_has_decided_on_the_page_it_was_told() {
    let home = unhurried();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[approvals]\nwait_secs = 600\n");
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &[], &json!({"url": {}}));
    echo(&mut ada, 7, "hi");
    let told = ada.receive();
    let id = told["params"]["elicitationId"].as_str().unwrap().to_owned();
    assert_eq!(waiting(&home)[0]["id"], id, "{told}");
    answer(&mut ada, &told, &json!({"action": "accept"}));
    home.run(&["approvals", "approve", &id]).ok();
    let heard = [ada.receive(), ada.receive()];
    let complete = heard.iter().find(|message| message.get("id").is_none()).unwrap();
    assert_eq!(complete["params"], json!({"elicitationId": id}), "{heard:?}");
    assert_eq!(text(heard.iter().find(|message| message["id"] == 7).unwrap()), "hi");
}

#[test]
fn the_page_tells_a_stranger_nothing_but_how_to_decide() {
    let home = unhurried();
    let daemon = home.up();
    let mut ada = client(&home, "ada", &[], &json!({"url": {}}));
    let told = ada.call("echo", json!({"text": "of great import"}));
    let id = told["error"]["data"]["approval_id"].as_str().unwrap();
    let get = |path: &str, host: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        http::exchange(daemon.port(), &request)
    };
    let ours = format!("localhost:{}", daemon.port());
    let page = get(&format!("/approvals/{id}"), &ours);
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("text/html"), "{page}");
    assert!(page.contains(&format!("covenant approvals approve {id}")), "{page}");
    assert!(page.contains("default-src 'none'") && !page.contains("<script"), "{page}");
    for secret in ["ada", "echo", "import"] {
        assert!(!page.split("\r\n\r\n").nth(1).unwrap().contains(secret), "{secret}: {page}");
    }
    let other = get("/approvals/appr_aaaaaaaaaaaaaaa", &ours).replace("appr_aaaaaaaaaaaaaaa", id);
    let body = |answer: &str| answer.split("\r\n\r\n").nth(1).unwrap().to_owned();
    assert_eq!(body(&other), body(&page), "nor whether there is such an entry");
    assert!(get(&format!("/approvals/{id}"), "evil.example.org").starts_with("HTTP/1.1 403 "));
    for odd in ["<b>", "appr_%3Cb%3E", "appr_", "..%2f..", &format!("appr_{}", "a".repeat(41))] {
        let refused = get(&format!("/approvals/{odd}"), &ours);
        assert!(refused.starts_with("HTTP/1.1 400 "), "{odd}: {refused}");
    }
}

#[test]
fn over_http_it_is_the_same() {
    let home = unhurried();
    let daemon = home.up();
    let call = json!({"name": "echo", "arguments": {"text": "hi"}});
    let mut desk = HttpClient::new(daemon.port(), &token(&home, "desk", &["--may-approve"]));
    desk.initialize_with(&json!({"elicitation": {"form": {}}}));
    let message = desk.message("tools/call", &call);
    let mut stream = desk.stream(&desk.legacy(&message));
    let question = stream.event();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let word = desk.legacy(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes()}));
    assert_eq!(desk.send(&word).status, 202);
    assert_eq!(text(&stream.event()), "hi");

    let able = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let mut params = call.clone();
    params["_meta"] = able;
    let asked = desk.send(&desk.modern("tools/call", &params, &json!(1))).json()["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    params["inputResponses"] = json!({"covenant.approval": yes()});
    params["requestState"] = asked["requestState"].clone();
    assert_eq!(text(&desk.send(&desk.modern("tools/call", &params, &json!(2))).json()), "hi");

    let mut ada = HttpClient::new(daemon.port(), &token(&home, "ada", &[]));
    ada.initialize_with(&json!({"elicitation": {"url": {}}}));
    let mut news = ada.listen();
    let told = ada.request("tools/call", call.clone());
    assert_eq!(told["error"]["code"], -32042, "{told}");
    let id = told["error"]["data"]["approval_id"].as_str().unwrap();
    home.run(&["approvals", "reject", id]).ok();
    let complete = news.event();
    assert_eq!(complete["method"], "notifications/elicitation/complete", "{complete}");
    assert_eq!(ada.request("tools/call", call)["error"]["code"], -31007);
    assert!(news.is_quiet(), "once");
}
