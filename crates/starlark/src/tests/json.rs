//! `json.encode`, `json.decode`, `json.indent`.

use super::{fail, give};
use serde_json::json;

#[test]
fn values_are_written_and_read_in_order() {
    give(&[
        (
            "json.encode({'b': [1, 2.5, None, True, 'é\"\\n'], 'a': (1,), 'c': set([1])})",
            json!(r#"{"b":[1,2.5,null,true,"é\"\n"],"a":[1],"c":[1]}"#),
        ),
        (
            "json.decode('{\"b\": [1, -2.5e3, null, true], \"a\": \"\\\\u00e9\\\\ud83d\\\\ude00\"}').items()",
            json!([["b", [1, -2500.0, null, true]], ["a", "é😀"]]),
        ),
        ("str(json.decode('123456789012345678901234567890'))", json!("123456789012345678901234567890")),
        ("json.decode('nope', default=7)", json!(7)),
        ("json.decode(json.encode({'a': 1}))['a']", json!(1)),
        (
            "json.indent('{\"a\":[1,{}],\"b\":\"x:y\"}', indent='  ')",
            json!("{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x:y\"\n}"),
        ),
        (
            "[type(json), type(json.encode), hasattr(json, 'decode'), hasattr(json, 'x'), dir(json)]",
            json!(["module", "builtin_function_or_method", true, false, ["decode", "encode", "indent"]]),
        ),
    ]);
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    let deep = "a value nested more than 100 deep, or in itself, is no JSON";
    fail(&[
        ("json.decode('')", 1, 12, "json.decode: at byte 0: expected a value, found the end"),
        ("json.decode('[1 2]')", 1, 12, "json.decode: at byte 3: expected `,` or `]`, found '2'"),
        ("json.decode('[01]')", 1, 12, "json.decode: at byte 1: expected a number, found '0'"),
        ("json.decode('{a: 1}')", 1, 12, "json.decode: at byte 1: expected a key, found 'a'"),
        ("json.decode('1 1')", 1, 12, "json.decode: at byte 2: expected the end, found '1'"),
        ("json.decode('\"\\\\x\"')", 1, 12, "json.decode: at byte 1: an escape that JSON does not have"),
        ("json.decode('\"a')", 1, 12, "json.decode: at byte 1: a string never ends"),
        ("json.decode('[' * 100000)", 1, 12, "json.decode: at byte 100: nested more than 100 deep"),
        (
            "json.encode({1: 2})",
            1,
            12,
            "the keys of a JSON object are strings, and a dict has the key 1 (int)",
        ),
        ("json.encode(float('inf'))", 1, 12, "a float that is not finite is no JSON"),
        ("json.encode(len)", 1, 12, "a builtin_function_or_method is no JSON"),
        ("x = []\nx.append(x)\njson.encode(x)", 3, 12, deep),
    ]);
}
