//! Whatever the text, reading it ends without harm; whatever the program, running it stays within its limits.

use super::account;
use crate::{Limits, parse};
use proptest::prelude::*;

const LIMITS: Limits = Limits { steps: 20_000, bytes: 256 * 1024, depth: 20 };

/// Pieces of programs, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "x", "y", "f", "(", ")", "[", "]", "{", "}", ":", ",", ".", "=", "==", "+", "-", "*", "**", "//",
        "%", "<<", "in", "not", "and", "or", "if", "else", "elif", "for", "def", "lambda", "return", "pass",
        "break", "load", "\n", "\n  ", "\n    ", "\t", "\\", "#", "'", "\"", "'''", "'a'", "r'", "1", "0x",
        "1.5", "1e", "None", " ", " ", "é", "\u{feff}", "\r\n", "\0", ";", "+=", "~", "!",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// One of the words of a text.
fn one_of(words: &'static str) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words.split_whitespace().collect::<Vec<_>>())
}

/// Expressions that make sense, mostly.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "x",
        "y",
        "z",
        "0",
        "-1",
        "3",
        "1 << 70",
        "1.5",
        "''",
        "'aé'",
        "'%s{}'",
        "None",
        "True",
        "[]",
        "{}",
        "()",
        "[1, 2]",
        "{'a': 1}",
        "set([1])",
        "range(9)",
        "range(1 << 40)",
        "len",
        "f",
        "json",
        "http.get",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let operator = one_of("+ - * / // % << >> & | ^ == < in in and or");
        let function = one_of(
            "list tuple dict set str repr len sorted reversed sum_of int float bool type dir hash \
             enumerate zip min max any all range json.encode json.decode f http.get print format \
             abs fail chr ord",
        );
        let method = one_of(
            "append extend insert pop remove clear index get items keys values update setdefault \
             popitem add union discard split rsplit join replace format find count strip upper \
             title elems partition splitlines startswith nope",
        );
        let several = prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, o, b)| format!("({a} {o} {b})")),
            (function, several.clone()).prop_map(|(f, a)| format!("{f}({})", a.join(", "))),
            (inner.clone(), method, several.clone())
                .prop_map(|(v, m, a)| format!("({v}).{m}({})", a.join(", "))),
            several.clone().prop_map(|items| format!("[{}]", items.join(", "))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{{a}: {b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a})[{b}:{c}:-1]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a} for z in {b}]")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} if {b} else {c})")),
            inner.clone().prop_map(|a| format!("(lambda x=0, *y: {a})")),
            inner.prop_map(|a| format!("not {a}")),
        ]
    })
}

fn program() -> impl Strategy<Value = String> {
    let statement = (expression(), expression(), 0..8).prop_map(|(a, b, kind)| match kind {
        0 => format!("x = {a}"),
        1 => format!("y = {a}"),
        2 => format!("for z in {a}: x = {b}"),
        3 => format!("if {a}: y = {b}"),
        4 => format!("x += {a}"),
        5 => format!("for i in range(50): x = [x, {a}, x]"),
        6 => format!("y = '%s%r' % ({a}, {b})"),
        _ => format!("for i in range(30): x = x + x if type(x) in ['list', 'string'] else {a}"),
    });
    prop::collection::vec(statement, 1..6).prop_map(|statements| {
        let body = statements.join("\n");
        format!("def sum_of(*a): return a\ndef f(*a): return len(a)\nx = [1]\ny = 'y'\nz = 0\n{body}\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = parse("test.star", &text);
    }

    #[test]
    fn any_pieces_are_read_or_refused_with_a_place_in_the_text(text in pieces()) {
        if let Err(error) = parse("test.star", &text) {
            prop_assert!(error.line >= 1 && error.line as usize <= text.lines().count() + 1);
            prop_assert!(error.column >= 1);
        }
    }

    #[test]
    fn any_program_stays_within_its_limits(text in program()) {
        // The account is held against the limits within.
        let _ = account(&text, LIMITS);
    }

    #[test]
    fn json_that_is_written_is_read_again(text in "\\PC{0,40}", number in any::<i64>(), float in -1e300..1e300_f64) {
        let value = serde_json::json!({"text": text, "number": number, "float": float, "list": [null, true]});
        let program = parse("test.star", "def f(x): return json.decode(json.encode(x))").unwrap();
        let entry = crate::Entry::Function { name: "f", arguments: std::slice::from_ref(&value) };
        let given = program.run(&mut super::Desk::default(), super::LIMITS, entry);
        prop_assert_eq!(given, Ok(value));
    }
}
