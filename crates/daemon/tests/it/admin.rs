//! Grants, clients, secrets and calls through the API; who may and who may not.

use serde_json::json;

use crate::house::House;

const ECHO: &str = "/api/v1/tools/echo/call";

#[tokio::test]
async fn list_grant_call_works_in_the_documented_order() {
    let house = House::new().await;
    let tools = house.get("/api/v1/tools").await.json();
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    for name in ["clock", "echo", "workspace_write", "script_exec"] {
        assert!(names.contains(&json!(name)), "the operator sees the whole catalogue, not only {names:?}");
    }
    let call = json!({"arguments": {"text": "hello"}});
    let refused = house.ask("POST", ECHO, call.clone()).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "not_granted"));
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("covenant capabilities grant tool.call.echo --to user@local"), "{message}");
    let granted = house
        .ask("POST", "/api/v1/capabilities", json!({"subject": "user@local", "action": "tool.call.echo"}))
        .await;
    assert_eq!(granted.status, 201);
    let answer = house.ask("POST", ECHO, call).await;
    assert_eq!((answer.status.as_u16(), answer.json()["content"][0]["text"].clone()), (200, json!("hello")));
    assert_eq!(house.ask("POST", ECHO, json!({"arguments": {"text": 1}})).await.status, 422);
    assert_eq!(house.ask("POST", "/api/v1/tools/no/call", json!({})).await.status, 404);
    assert_eq!(house.get("/api/v1/tools/echo").await.json()["name"], "echo");
    assert_eq!(house.get("/api/v1/tools/no").await.code(), "unknown_tool");
    let explained = house
        .ask(
            "POST",
            "/api/v1/capabilities/explain",
            json!({"principal": "client:x", "action": "tool.call.echo"}),
        )
        .await
        .json();
    assert_eq!(explained["allowed"], json!(false));
    house.stop().await;
}

#[tokio::test]
async fn a_client_acts_as_itself_and_administers_nothing() {
    let house = House::new().await;
    let added =
        house.ask("POST", "/api/v1/clients", json!({"name": "claude", "grants": ["tool.call.echo"]})).await;
    assert_eq!(added.status, 201);
    let token = added.json()["token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("cv_"), "the token is shown this once");
    let as_client = async |method, path, body| house.ask_as(Some(&token), method, path, body).await;
    let tools = as_client("GET", "/api/v1/tools", json!(null)).await.json();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 2, "its own grant, and the clock");
    assert_eq!(as_client("POST", ECHO, json!({"arguments": {"text": "x"}})).await.status, 200);
    for (method, path, body) in [
        ("GET", "/api/v1/clients", json!(null)),
        ("POST", "/api/v1/clients", json!({"name": "other"})),
        ("GET", "/api/v1/capabilities", json!(null)),
        ("POST", "/api/v1/capabilities", json!({"subject": "any", "action": "tool.call.*"})),
        ("PUT", "/api/v1/secrets/KEY", json!({"value": "long enough"})),
        ("GET", "/api/v1/audit", json!(null)),
        ("GET", "/api/v1/config", json!(null)),
        ("POST", "/api/v1/stop", json!({})),
        ("POST", "/api/v1/reload", json!({})),
    ] {
        let refused = as_client(method, path, body).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (403, "not_operator"),
            "{method} {path}"
        );
    }
    let again = house.ask("POST", "/api/v1/clients", json!({"name": "claude"})).await;
    assert_eq!((again.status.as_u16(), again.code().as_str()), (409, "taken"));
    assert_eq!(house.ask("POST", "/api/v1/clients", json!({"name": "a b"})).await.status, 422);
    let removed = house.ask("DELETE", "/api/v1/clients/claude", json!(null)).await.json();
    assert_eq!((removed["removed"].clone(), removed["also"].as_array().unwrap().len()), (json!("claude"), 1));
    let after = as_client("GET", "/api/v1/tools", json!(null)).await;
    assert_eq!((after.status.as_u16(), after.headers["www-authenticate"].to_str().unwrap()), (401, "Bearer"));
    assert_eq!(house.ask("DELETE", "/api/v1/clients/claude", json!(null)).await.status, 404);
    house.stop().await;
}

#[tokio::test]
async fn the_operator_token_is_the_operator_on_the_port() {
    let house = House::new().await;
    let token = std::fs::read_to_string(house.running.home().operator_token()).unwrap();
    let ask = async |authorization: Option<String>| {
        let mut request = http::Request::builder().uri("/api/v1/clients").header("host", "localhost");
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        crate::house::send(house.tcp().await, request.body(String::new()).unwrap()).await.status.as_u16()
    };
    assert_eq!(ask(Some(format!("Bearer {}", token.trim()))).await, 200);
    assert_eq!(ask(None).await, 401, "on the port nobody is the operator by being there");
    assert_eq!(ask(Some("Bearer cv_wrong".to_owned())).await, 401);
    house.stop().await;
}

#[tokio::test]
async fn secrets_go_in_and_never_come_out() {
    let house = House::new().await;
    let home = house.running.home().clone();
    let value = "correct-horse-battery";
    let set = house.ask("PUT", "/api/v1/secrets/API_KEY", json!({ "value": value })).await;
    assert_eq!((set.status.as_u16(), set.json()["source"].clone()), (200, json!("file")), "{}", set.text);
    let listed = house.get("/api/v1/secrets").await;
    assert!(listed.text.contains("API_KEY") && !listed.text.contains(value), "{}", listed.text);
    house
        .ask("POST", "/api/v1/capabilities", json!({"subject": "user@local", "action": "tool.call.echo"}))
        .await;
    let echoed = house.ask("POST", ECHO, json!({"arguments": {"text": format!("it is {value}")}})).await;
    assert_eq!(echoed.json()["content"][0]["text"], "it is [REDACTED:API_KEY]");
    let wrong = house.get(&format!("/api/v1/tools/{value}")).await;
    assert!(wrong.status == 404 && !wrong.text.contains(value), "{}", wrong.text);
    for (name, body, status) in [
        ("lower", json!({"value": "long enough"}), 422),
        ("SHORT", json!({"value": "abc"}), 422),
        ("X", json!({}), 422),
    ] {
        assert_eq!(house.ask("PUT", &format!("/api/v1/secrets/{name}"), body).await.status.as_u16(), status);
    }
    let rows = house.get("/api/v1/audit?limit=100").await.text;
    assert!(rows.contains("SecretSet") && rows.contains("API_KEY") && !rows.contains(value), "{rows}");
    assert_eq!(
        house.ask("DELETE", "/api/v1/secrets/API_KEY", json!(null)).await.json()["removed"],
        "API_KEY"
    );
    assert_eq!(house.ask("DELETE", "/api/v1/secrets/API_KEY", json!(null)).await.status, 404);
    let _dir = house.stop().await;
    for name in ["logs/covenant.log", "covenant.db", "audit/000001.jsonl"] {
        let bytes = std::fs::read(home.root().join(name)).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(value), "{name}");
    }
}

#[tokio::test]
async fn administration_records_who_did_it_and_from_where() {
    let house = House::new().await;
    house.ask("POST", "/api/v1/clients", json!({"name": "claude"})).await;
    let rows = house.get("/api/v1/audit?limit=1").await.json();
    let peer = rows["peer"].as_str().unwrap();
    assert_eq!(rows["kind"], "ClientAdded");
    assert!(peer.contains(&format!("pid {}", std::process::id())) && peer.contains("/it-"), "{peer}");
    house.stop().await;
}
