//! The border: the host's functions, what a run is asked for, and what it gives.

use super::{Desk, LIMITS, fail, run};
use crate::{Entry, Program, parse};
use serde_json::{Value, json};

fn call(text: &str, name: &str, arguments: &[Value]) -> Result<Value, String> {
    let program = parse("test.star", text).unwrap();
    let entry = Entry::Function { name, arguments };
    program.run(&mut Desk::default(), LIMITS, entry).map_err(|error| error.to_string())
}

#[test]
fn the_result_is_that_of_main_or_result_or_all_public_names() {
    assert_eq!(run("def main(): return 1\nresult = 2"), Ok(json!(1)));
    assert_eq!(run("def main(x=3, *a, **k): return x\nresult = 2"), Ok(json!(3)));
    assert_eq!(run("def main(x): return 1\nresult = 2"), Ok(json!(2)));
    assert_eq!(
        run("main = 1\n_hidden = 2\nb = 'x'\ndef f(): pass\ng = len\nh = json"),
        Ok(json!({"main": 1, "b": "x"}))
    );
    assert_eq!(run(""), Ok(json!({})));
    assert_eq!(run("result = None"), Ok(json!(null)));
}

#[test]
fn a_function_is_called_by_name_with_json() {
    let text =
        "def add(a, b): return {'sum': a + b, 'kinds': [type(a), type(b)]}\nx = 1\ndef boom(): fail('no', 1)";
    assert_eq!(
        call(text, "add", &[json!(1), json!(2.5)]),
        Ok(json!({"sum": 3.5, "kinds": ["int", "float"]}))
    );
    assert_eq!(
        call(text, "add", &[json!([1]), json!([{"a": null}])]).unwrap()["sum"],
        json!([1, {"a": null}])
    );
    assert_eq!(call(text, "add", &[]), Err("test.star:1:1: add() needs the argument `a`".to_owned()));
    assert_eq!(call(text, "sub", &[]), Err("test.star:1:1: the script has no function `sub`".to_owned()));
    assert_eq!(call(text, "boom", &[]), Err("test.star:3:17: fail: no 1".to_owned()));
    let large = json!(u64::MAX);
    assert_eq!(
        call("def f(x): return [x, x > 0]", "f", std::slice::from_ref(&large)),
        Ok(json!([large, true]))
    );
}

#[test]
fn a_function_is_called_only_if_it_is_listed() {
    let text = "def f(): return _own('f')\ndef _own(x): return x\nget = http.get\nsize = len\nx = 1\ny = lambda: 1\nh = http";
    for name in ["_own", "get", "size", "x", "y", "h", "http.get", "len", ""] {
        let reason = format!("test.star:1:1: the script has no function `{name}`");
        assert_eq!(call(text, name, &[json!("https://a.test")]), Err(reason));
    }
    assert_eq!(call(text, "f", &[]), Ok(json!("f")));
}

#[test]
fn the_host_is_called_with_json_and_answers_with_it() {
    let text = "r = http.get('x', [1], headers={'a': (1, 2)})\nprint(r['status'], 'ok', sep='-')\nget = http.get\nplain()\na.b.c()\nresult = r";
    let mut desk = Desk::default();
    let result = parse("test.star", text).unwrap().run(&mut desk, LIMITS, Entry::Default);
    assert_eq!(result, Ok(json!({"status": 200, "body": ["x", [1]]})));
    assert_eq!(desk.printed, ["200-ok"]);
    let names: Vec<_> = desk.calls.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["http.get", "plain", "a.b.c"]);
    assert_eq!(desk.calls[0].2["headers"], json!({"a": [1, 2]}));
}

#[test]
fn namespaces_can_be_looked_at() {
    assert_eq!(
        run(
            "result = [hasattr(http, 'get'), hasattr(http, 'put'), dir(http), type(http), str(http), str(http.get), dir(a)]"
        ),
        Ok(json!([
            true,
            false,
            ["get", "post"],
            "module",
            "<module http>",
            "<built-in function http.get>",
            ["b"]
        ]))
    );
}

#[test]
fn what_the_host_says_is_the_error_of_that_line() {
    fail(&[
        ("\nsecrets.get('x')", 2, 12, "the secret is not there"),
        ("http.put()", 1, 5, "there is no `http.put`"),
        ("http()", 1, 5, "a value of type module cannot be called"),
        ("http.get(len)", 1, 9, "a builtin_function_or_method is no JSON"),
        ("http.get({1: 2})", 1, 9, "the keys of a JSON object are strings, and a dict has the key 1 (int)"),
    ]);
}

#[test]
fn what_is_no_json_is_refused_with_its_name() {
    let deep = "`result`: a value nested more than 100 deep, or in itself, is no JSON";
    fail(&[
        ("result = len", 1, 1, "`result`: a builtin_function_or_method is no JSON"),
        ("x = [lambda: 0]", 1, 1, "`x`: a function is no JSON"),
        ("def main(): return main", 1, 1, "what main() returns: a function is no JSON"),
        ("result = float('nan')", 1, 1, "`result`: a float that is not finite is no JSON"),
        (
            "result = {(1, 2): 3}",
            1,
            1,
            "`result`: the keys of a JSON object are strings, and a dict has the key a tuple (tuple)",
        ),
        ("result = 1 << 70", 1, 1, "`result`: an int is too large for JSON: it has more than 64 bits"),
        ("result = []\nresult.append(result)", 1, 1, deep),
    ]);
}

#[test]
fn a_program_can_be_checked_without_running_it() {
    let program = parse("test.star", "def f():\n  return http.get(nope)\ndef _g(): pass").unwrap();
    let error = program.check(&["http.get"]).unwrap_err();
    assert_eq!(error.to_string(), "test.star:2:19: `nope` is not defined");
    assert_eq!(program.check(&["http.get", "nope"]), Ok(()));
    assert_eq!(program.functions(), ["f"]);
}

#[test]
fn a_program_can_be_kept_and_run_again_by_any_thread() {
    fn kept<T: Send + Sync>(value: T) -> T {
        value
    }
    let program: Program = kept(parse("test.star", "x = []\nx.append(1)\nresult = x").unwrap());
    for _ in 0..2 {
        assert_eq!(program.run(&mut Desk::default(), LIMITS, Entry::Default), Ok(json!([1])));
    }
}
