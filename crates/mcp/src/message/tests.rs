//! One message at a time: what is taken, what is refused, and with which id.

use proptest::prelude::*;

use super::*;
use crate::reply::{INVALID_REQUEST, PARSE_ERROR};

fn refused(text: &str) -> (i32, Option<String>) {
    match read(text.as_bytes()) {
        Err(Malformed { id, error }) => (error.code, id.map(|id| id.to_string())),
        Ok(incoming) => panic!("{text} was taken as {incoming:?}"),
    }
}

#[test]
fn a_request_keeps_its_id_as_it_was_written() {
    for id in ["1", "-7", "\"a\"", "\"\\u0061\"", "123456789012345678901234567890", "\"\""] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        match read(text.as_bytes()).unwrap() {
            Incoming::Request(request) => assert_eq!(request.id.as_json(), id),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn members_come_in_any_order_and_with_strangers_among_them() {
    let text = r#" {"params":{"a":[1]},"x":null,"method":"m\u0061","id":1,"jsonrpc":"2.0"} "#;
    match read(text.as_bytes()).unwrap() {
        Incoming::Request(request) => {
            assert_eq!(request.method, "ma");
            assert_eq!(request.params.unwrap().get(), r#"{"a":[1]}"#);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_without_an_id_is_a_notification_and_one_with_a_result_a_response() {
    let note = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert!(matches!(read(note).unwrap(), Incoming::Notification(_)));
    for text in [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","id":1,"error":null}"#] {
        assert!(matches!(read(text.as_bytes()).unwrap(), Incoming::Response(_)), "{text}");
    }
}

#[test]
fn what_is_not_json_is_a_parse_error_without_an_id() {
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}"#, "[".repeat(10_000));
    for text in
        ["", "{", "nonsense", r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#, r#"{"id":1,"id":2}"#, &deep]
    {
        assert_eq!(refused(text), (PARSE_ERROR, None), "{}", text.get(..40).unwrap_or(text));
    }
    let Malformed { id, error } = read(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}").unwrap_err();
    assert_eq!((id, error.code), (None, PARSE_ERROR));
}

#[test]
fn what_is_json_and_no_message_is_an_invalid_request() {
    for (text, id) in [
        ("[]", None),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, None),
        ("42", None),
        (r#"{"id":1,"method":"ping"}"#, Some("1")),
        (r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#, Some("\"x\"")),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1}"#, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, Some("1")),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, None),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, None),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, None),
        (r#"{"jsonrpc":"2.0","id":1e3,"method":"ping"}"#, None),
    ] {
        assert_eq!(refused(text), (INVALID_REQUEST, id.map(str::to_owned)), "{text}");
    }
}

#[test]
fn an_id_longer_than_the_limit_is_refused_without_it() {
    let text = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(ID_BYTES));
    assert_eq!(refused(&text), (INVALID_REQUEST, None));
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn a_request_of_any_id_and_method_is_read_back(id in any::<i128>(), method in ".{0,40}") {
        let text = format!(r#"{{"method":{},"id":{id},"jsonrpc":"2.0"}}"#, serde_json::to_string(&method).unwrap());
        match read(text.as_bytes()).unwrap() {
            Incoming::Request(request) => {
                prop_assert_eq!(request.id.as_json(), id.to_string());
                prop_assert_eq!(request.method, method);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
