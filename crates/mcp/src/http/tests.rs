//! The matrix: what the headers say, what the body says, and what comes of it.

use serde_json::{Value, json};

use super::*;

struct Given(&'static [(&'static str, &'static str)]);

impl Headers for Given {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| *given == name).map(|(_, value)| *value)
    }
}

/// The way, or the code of the refusal.
fn tried(headers: &'static [(&'static str, &'static str)], body: &Value) -> Result<String, i32> {
    let text = body.to_string();
    let said = Said::read(text.as_bytes()).map_err(|malformed| malformed.error.code)?;
    way(&Given(headers), &said).map(|way| format!("{way:?}")).map_err(|error| error.code)
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

const MODERN_CALL: &[(&str, &str)] = &[(VERSION, MODERN), (METHOD, "tools/call"), (NAME, "echo")];
const MODERN_LIST: &[(&str, &str)] = &[(VERSION, MODERN), (METHOD, "tools/list")];

fn call(version: &str) -> Value {
    request("tools/call", &json!({"name": "echo", "_meta": meta(version)}))
}

#[test]
fn a_bare_request_is_answered_on_its_own() {
    assert_eq!(tried(&[], &request("tools/list", &json!({}))).unwrap(), "Plain");
    assert_eq!(tried(&[], &request("tools/call", &json!({"name": "echo"}))).unwrap(), "Plain");
    assert_eq!(tried(&[(METHOD, "other")], &request("tools/list", &json!({}))).unwrap(), "Plain");
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(tried(&[], &notification).unwrap(), "Plain");
}

#[test]
fn a_handshake_opens_a_session_and_what_follows_names_it() {
    let initialize = request("initialize", &json!({"protocolVersion": "2025-11-25"}));
    assert_eq!(tried(&[], &initialize).unwrap(), "Opening");
    assert_eq!(tried(&[(VERSION, "2025-11-25")], &initialize).unwrap(), "Opening");
    let list = request("tools/list", &json!({}));
    assert_eq!(tried(&[(SESSION, "s")], &list).unwrap(), r#"Session("s")"#);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let headers: &'static [(&str, &str)] = vec![(SESSION, "s"), (VERSION, version)].leak();
        assert_eq!(tried(headers, &list).unwrap(), r#"Session("s")"#);
        let headers: &'static [(&str, &str)] = vec![(VERSION, version)].leak();
        assert_eq!(tried(headers, &list), Err(-32600), "no session");
    }
    assert_eq!(tried(&[(SESSION, "s"), (VERSION, "1999-01-01")], &list), Err(-32022));
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(tried(&[(SESSION, "s")], &answer).unwrap(), r#"Session("s")"#);
    assert_eq!(tried(&[], &answer), Err(-32600));
}

#[test]
fn a_modern_request_says_everything_twice_and_both_must_agree() {
    assert_eq!(tried(MODERN_CALL, &call(MODERN)).unwrap(), "Stateless");
    let encoded: &[_] = &[(VERSION, MODERN), (METHOD, "tools/call"), (NAME, "=?base64?ZWNobw==?=")];
    assert_eq!(tried(encoded, &call(MODERN)).unwrap(), "Stateless");
    let with_session: &[_] = &[(VERSION, MODERN), (METHOD, "tools/call"), (NAME, "echo"), (SESSION, "stray")];
    assert_eq!(tried(with_session, &call(MODERN)).unwrap(), "Stateless");
    let wrong: [&'static [(&str, &str)]; 8] = [
        &[],
        &[(METHOD, "tools/call"), (NAME, "echo")],
        &[(VERSION, MODERN), (NAME, "echo")],
        &[(VERSION, MODERN), (METHOD, "tools/call")],
        &[(VERSION, MODERN), (METHOD, "tools/list"), (NAME, "echo")],
        &[(VERSION, MODERN), (METHOD, "TOOLS/CALL"), (NAME, "echo")],
        &[(VERSION, MODERN), (METHOD, "tools/call"), (NAME, "clock")],
        &[(VERSION, "2025-11-25"), (METHOD, "tools/call"), (NAME, "echo")],
    ];
    for headers in wrong {
        assert_eq!(tried(headers, &call(MODERN)), Err(HEADER_MISMATCH), "{headers:?}");
    }
    assert_eq!(tried(MODERN_CALL, &call("2025-11-25")), Err(HEADER_MISMATCH));
    let resource = request("resources/read", &json!({"uri": "a://b", "_meta": meta(MODERN)}));
    let headers: &[_] = &[(VERSION, MODERN), (METHOD, "resources/read"), (NAME, "a://b")];
    assert_eq!(tried(headers, &resource).unwrap(), "Stateless");
}

#[test]
fn what_a_modern_request_lacks_is_named_before_its_headers_are_compared() {
    for params in [
        json!({}),
        json!({"_meta": {}}),
        json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN}}),
    ] {
        assert_eq!(tried(MODERN_LIST, &request("tools/list", &params)), Err(-32602), "{params}");
    }
    assert_eq!(tried(&[], &request("server/discover", &json!({}))), Err(-32602));
    let numbers = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": 7}});
    assert_eq!(tried(MODERN_LIST, &request("tools/list", &numbers)), Err(-32602));
    assert_eq!(tried(&[], &request("tools/list", &json!({"_meta": 7}))), Err(-32602));
}

#[test]
fn a_revision_nobody_knows_is_named_with_those_we_speak() {
    let unknown: &[_] = &[(VERSION, "v999.0.0"), (METHOD, "tools/list")];
    let list = request("tools/list", &json!({"_meta": meta("v999.0.0")}));
    assert_eq!(tried(unknown, &list), Err(UNSUPPORTED_VERSION));
    assert_eq!(tried(MODERN_LIST, &list), Err(HEADER_MISMATCH), "the header says another");
    assert_eq!(tried(unknown, &request("tools/list", &json!({}))), Err(UNSUPPORTED_VERSION));
}

#[test]
fn batches_and_what_is_no_message_are_refused_whatever_the_headers_say() {
    for headers in [&[] as &'static [_], MODERN_LIST, &[(SESSION, "s")]] {
        let batch = json!([request("tools/list", &json!({}))]);
        assert_eq!(tried(headers, &batch), Err(-32600));
        assert_eq!(tried(headers, &json!([])), Err(-32600));
        assert_eq!(tried(headers, &json!({"jsonrpc": "1.0"})), Err(-32600));
    }
}

#[test]
fn errors_of_the_modern_era_have_statuses_and_those_of_sessions_do_not() {
    let answer = |era, code| {
        status(&Answer { id: Id::of("1").unwrap(), era, body: Body::Error(RpcError::new(code, "")) })
    };
    assert_eq!(answer(Era::Modern, METHOD_NOT_FOUND), 404);
    assert_eq!(answer(Era::Legacy, METHOD_NOT_FOUND), 200);
    for code in [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION] {
        assert_eq!(answer(Era::Modern, code), 400);
    }
    assert_eq!(answer(Era::Modern, -32602), 200);
    assert_eq!(answer(Era::Legacy, UNAUTHENTICATED), 401);
}
