//! The bytes of answers in both eras, and the table of refusals.

use std::time::Duration;

use covenant_model::id::ApprovalId;
use covenant_model::principal::Principal;

use super::*;

fn encoded(era: Era, body: Body) -> Value {
    let mut out = Vec::new();
    Answer { id: Id::of("7").unwrap(), era, body }.encode(&mut out);
    assert!(!out.contains(&b'\n'), "{}", String::from_utf8_lossy(&out));
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn a_legacy_result_is_what_it_was_and_a_modern_one_says_what_it_is() {
    let own = || Body::Own(r#"{"x":1}"#.to_owned(), Cache::PrivateMillis(5));
    assert_eq!(encoded(Era::Legacy, own()), json!({"jsonrpc": "2.0", "id": 7, "result": {"x": 1}}));
    let modern = &encoded(Era::Modern, own())["result"];
    assert_eq!(modern["x"], 1);
    assert_eq!(modern["resultType"], "complete");
    assert_eq!((&modern["ttlMs"], &modern["cacheScope"]), (&json!(5), &json!("private")));
    assert_eq!(modern["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "covenant");
}

#[test]
fn what_a_result_says_itself_is_not_said_twice() {
    let own = r#"{"_meta":{"a":1},"resultType":"input_required","x":{"ttlMs":3}}"#;
    let modern = &encoded(Era::Modern, Body::Own(own.to_owned(), Cache::PrivateMillis(0)))["result"];
    assert_eq!(modern["resultType"], "input_required");
    assert_eq!(modern["_meta"], json!({"a": 1}));
    assert_eq!(modern["ttlMs"], 0);
}

#[test]
fn empty_objects_and_several_lines_are_still_one_json_line() {
    for text in ["{}", "{ }", "{\n}", "{\n  \"a\": \"b\\n\",\r\n  \"c\": {}\n}"] {
        for era in [Era::Legacy, Era::Modern] {
            let answer = encoded(era, Body::Own(text.to_owned(), Cache::Unsaid));
            assert_eq!(
                answer["result"].get("a"),
                text.contains('a').then(|| json!("b\n")).as_ref(),
                "{text}"
            );
        }
    }
}

#[test]
fn tools_are_listed_in_both_eras() {
    let tools = || {
        let raw = |text: &str| Arc::from(RawValue::from_string(text.to_owned()).unwrap());
        Body::Tools(vec![raw(r#"{"name":"a"}"#), raw(r#"{"name":"b"}"#)])
    };
    let legacy = encoded(Era::Legacy, tools());
    assert_eq!(legacy["result"], json!({"tools": [{"name": "a"}, {"name": "b"}]}));
    let modern = encoded(Era::Modern, tools());
    assert_eq!(modern["result"]["tools"], legacy["result"]["tools"]);
    assert_eq!(modern["result"]["cacheScope"], "private");
    assert_eq!(encoded(Era::Legacy, Body::Tools(Vec::new()))["result"], json!({"tools": []}));
}

#[test]
fn every_refusal_has_its_code_and_its_details() {
    let someone = Principal::client("claude").unwrap();
    let approval = ApprovalId::from_random([7; 10]);
    let table = [
        (Refusal::Unauthenticated, UNAUTHENTICATED, Value::Null),
        (
            Refusal::RateLimited { wait: Duration::from_micros(99_001) },
            RATE_LIMITED,
            json!({"retry_after_ms": 100}),
        ),
        (Refusal::UnknownTool { name: "x".into() }, INVALID_PARAMS, Value::Null),
        (Refusal::NotFound { what: "prompt `x`".into() }, INVALID_PARAMS, Value::Null),
        (Refusal::InvalidArguments { tool: "x".into(), reason: "no".into() }, INVALID_PARAMS, Value::Null),
        (
            Refusal::NotGranted {
                action: "tool.call.echo".into(),
                principal: someone.clone(),
                why: String::new(),
            },
            NOT_GRANTED,
            json!({
                "action": "tool.call.echo",
                "command": "covenant capabilities grant tool.call.echo --to client:claude"
            }),
        ),
        (
            Refusal::PendingApproval { tool: "x".into(), id: approval.clone(), page: None },
            PENDING_APPROVAL,
            json!({"approval_id": approval.to_string()}),
        ),
        (Refusal::ApprovalsFull { principal: someone.clone(), limit: 64 }, APPROVALS_FULL, Value::Null),
        (
            Refusal::ApprovalRejected { tool: "x".into(), id: approval.clone(), reason: ": no".into() },
            APPROVAL_REJECTED,
            json!({"approval_id": approval.to_string()}),
        ),
        (Refusal::TooDeep { tool: "x".into(), limit: 4 }, TOO_DEEP, Value::Null),
        (Refusal::TimedOut { tool: "x".into(), limit: Duration::from_secs(1) }, TIMED_OUT, Value::Null),
        (Refusal::Cancelled { tool: "x".into() }, CANCELLED, Value::Null),
        (Refusal::NotAdmin { principal: someone.clone(), why: "no" }, NOT_OPERATOR, Value::Null),
        (Refusal::NotOperator { principal: someone }, NOT_OPERATOR, Value::Null),
    ];
    for (refusal, code, data) in table {
        let text = refusal.to_string();
        let error = RpcError::from(refusal);
        assert_eq!((error.code, error.data.clone().unwrap_or_default()), (code, data), "{error:?}");
        let prefix = if code == INVALID_PARAMS { "Invalid params: " } else { "" };
        assert_eq!(error.message, format!("{prefix}{text}"));
    }
}

#[test]
fn the_rate_limit_has_its_documented_message() {
    let error = RpcError::from(Refusal::RateLimited { wait: Duration::ZERO });
    assert_eq!(error.message, "Rate limit exceeded. Please try again later.");
}

#[test]
fn an_error_is_written_as_documented() {
    let mut out = Vec::new();
    encode_error(None, &RpcError::new(-32700, "Parse error"), &mut out);
    assert_eq!(out, br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#);
}
