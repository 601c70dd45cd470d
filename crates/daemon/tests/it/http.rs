//! Requests that are malformed, misdirected or too large: the documented status, and everyone else served.

use ::http::Request;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::house::{House, send};

#[tokio::test]
async fn health_needs_no_token_and_only_our_own_host_is_answered() {
    let house = House::new().await;
    let ask = async |host: &str, origin: Option<&str>| {
        let mut request = Request::get("/healthz").header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        send(house.tcp().await, request.body(String::new()).unwrap()).await.status.as_u16()
    };
    let port = house.port();
    for host in ["localhost".to_owned(), format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        assert_eq!(ask(&host, None).await, 200, "{host}");
    }
    assert_eq!(ask("evil.example.org", None).await, 403);
    assert_eq!(ask("localhost", Some("http://evil.example.org")).await, 403);
    assert_eq!(ask("localhost", Some(&format!("http://localhost:{port}"))).await, 200);
    let ready = house.get("/readyz").await;
    assert_eq!((ready.status.as_u16(), ready.json()), (200, json!({"ready": true, "reasons": []})));
    house.stop().await;
}

#[tokio::test]
async fn wrong_paths_methods_and_bodies_have_their_documents() {
    let house = House::with("[limits]\nrequest_bytes = 1024\n").await;
    for (method, path, body, status, code) in [
        ("GET", "/no/such/thing", json!(null), 404, "not_found"),
        ("GET", "/api/v1/no", json!(null), 404, "not_found"),
        ("POST", "/healthz", json!(null), 405, "method_not_allowed"),
        ("DELETE", "/api/v1/tools", json!(null), 405, "method_not_allowed"),
        ("POST", "/api/v1/clients", json!(null), 422, "invalid"),
        ("POST", "/api/v1/clients", json!(["a"]), 422, "invalid"),
        ("POST", "/api/v1/clients", json!({"name": "x".repeat(2000)}), 413, "too_large"),
        ("POST", "/api/v1/clients", json!({"unknown": 1}), 422, "invalid"),
        ("GET", "/api/v1/tools/%ff", json!(null), 400, "malformed"),
        ("DELETE", "/api/v1/capabilities/zzz", json!(null), 400, "malformed"),
        ("DELETE", "/api/v1/capabilities/grant_aaaaaaaaaaaaaaa", json!(null), 404, "not_found"),
    ] {
        let answer = house.ask(method, path, body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_str()),
            (status, code),
            "{method} {path}: {}",
            answer.text
        );
        assert!(!answer.json()["error"]["action"].as_str().unwrap().is_empty());
    }
    house.stop().await;
}

#[tokio::test]
async fn rubbish_closes_its_own_connection_and_nothing_else() {
    let house = House::new().await;
    for rubbish in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ] {
        let mut stream = house.tcp().await;
        stream.write_all(rubbish).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    let mut half = house.tcp().await;
    half.write_all(b"GET /healthz HTT").await.unwrap();
    assert_eq!(house.get("/healthz").await.text, "ok", "half a request holds nobody up");
    house.stop().await;
}

#[tokio::test]
async fn http_1_0_is_served_and_closed() {
    let house = House::new().await;
    let mut stream = house.tcp().await;
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with("ok"), "{answer}");
    house.stop().await;
}

#[tokio::test]
async fn a_local_connection_that_asks_too_often_is_told_when_to_come_back() {
    let house = House::with("[rate_limit]\nrate = 1\nburst = 2\n").await;
    let added = house.ask("POST", "/api/v1/clients", json!({"name": "busy"})).await.json();
    let token = added["token"].as_str().unwrap();
    let mut last = None;
    for _ in 0..3 {
        last = Some(house.ask_as(Some(token), "POST", "/api/v1/tools/clock/call", json!({})).await);
    }
    let limited = last.unwrap();
    assert_eq!((limited.status.as_u16(), limited.code().as_str()), (429, "rate_limited"));
    assert_eq!(limited.headers["retry-after"], "1");
    assert_eq!(limited.json()["error"]["message"], "Rate limit exceeded. Please try again later.");
    assert_eq!(
        house.ask("GET", "/api/v1/clients", json!(null)).await.status,
        200,
        "administration is not limited"
    );
    house.stop().await;
}
