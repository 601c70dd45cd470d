//! Rules for arguments, against tables and against plain definitions of the same.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn constraints(value: Value) -> Constraints {
    serde_json::from_value(value).unwrap()
}

fn arguments(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn each_rule_says_yes_and_no() {
    for (rule, yes, no) in [
        (json!({"equals": "a"}), json!("a"), json!("b")),
        (json!({"equals": null}), json!(null), json!(0)),
        (json!({"one_of": [1, "x"]}), json!("x"), json!(2)),
        (json!({"range": {"min": 1, "max": 9}}), json!(9), json!(10)),
        (json!({"range": [1, null]}), json!(1e9), json!(0.5)),
        (
            json!({"range": {"max": 9_007_199_254_740_993_i64}}),
            json!(9_007_199_254_740_993_i64),
            json!(9_007_199_254_740_994_i64),
        ),
        (json!({"glob": "acme/*"}), json!("acme/site"), json!("evil/acme/site")),
        (json!({"glob": "v?"}), json!("v1"), json!("v10")),
        (json!({"path": "notes/**"}), json!("notes/a/b.md"), json!("other/a.md")),
        (json!({"path": "notes/*.md"}), json!("notes/a.md"), json!("notes/a/b.md")),
        (json!({"path": "**/x"}), json!("a/b/x"), json!("a/b/y")),
    ] {
        let rule: Rule = serde_json::from_value(rule).unwrap();
        assert!(rule.matches(&yes), "{rule:?} {yes}");
        assert!(!rule.matches(&no), "{rule:?} {no}");
        assert!(!rule.matches(&json!([yes])), "an array is not its element");
    }
}

#[test]
fn paths_that_could_lead_out_never_match() {
    let everything: Rule = serde_json::from_value(json!({"path": "**"})).unwrap();
    assert!(everything.matches(&json!("a/b")));
    for value in ["/etc/passwd", "../x", "a/../b", "a/..", "..", "a//b", "a\0b", "a\\..\\b", "", "/"] {
        assert!(!everything.matches(&json!(value)), "{value:?}");
    }
}

#[test]
fn an_absent_property_does_not_match_and_nested_ones_are_found() {
    let limits = constraints(json!({"arguments": {"a.b": {"equals": 1}}}));
    assert_eq!(limits.broken_by(&arguments(&json!({"a": {"b": 1}, "c": 2}))), None);
    for other in
        [json!({}), json!({"a": 1}), json!({"a": {"c": 1}}), json!({"a.b": 1}), json!({"a": [{"b": 1}]})]
    {
        assert_eq!(limits.broken_by(&arguments(&other)), Some("a.b"), "{other}");
    }
}

#[test]
fn unknown_keys_and_senseless_limits_are_refused() {
    for text in [
        r#"{"max_call": 1}"#,
        r#"{"arguments": {"a": {"regex": "x"}}}"#,
        r#"{"arguments": {"a": {"range": {"least": 1}}}}"#,
        r#"{"arguments": {"a": {"range": [1]}}}"#,
        r#"{"arguments": {"a": {"equals": 1, "glob": "x"}}}"#,
        r#"{"max_calls": -1}"#,
    ] {
        assert!(serde_json::from_str::<Constraints>(text).is_err(), "{text}");
    }
    for value in [
        json!({"max_calls": 0}),
        json!({"rate": 0}),
        json!({"rate": -1}),
        json!({"arguments": {"": {"equals": 1}}}),
        json!({"arguments": {"a..b": {"equals": 1}}}),
        json!({"arguments": {"a": {"range": {}}}}),
        json!({"arguments": {"a": {"range": [2, 1]}}}),
        json!({"arguments": {"a": {"path": "../x"}}}),
        json!({"arguments": {"a": {"path": "/etc/**"}}}),
    ] {
        assert!(constraints(value.clone()).check().is_err(), "{value}");
    }
}

/// The same language, as a definition one can see through.
fn plain_glob(pattern: &[char], text: &[char]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((&'*', rest)), _) => {
            plain_glob(rest, text) || text.split_first().is_some_and(|(_, tail)| plain_glob(pattern, tail))
        }
        (Some((p, rest)), Some((t, tail))) => (*p == '?' || p == t) && plain_glob(rest, tail),
        _ => false,
    }
}

proptest! {
    #[test]
    fn globs_equal_their_plain_definition(pattern in "[ab*?]{0,8}", text in "[ab]{0,10}") {
        let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
        prop_assert_eq!(glob(&pattern, &text), plain_glob(&p, &t));
    }

    #[test]
    fn no_path_with_a_way_out_matches_any_pattern(pattern in "[a*./]{0,12}", head in "[a/.]{0,6}", tail in "[a/.]{0,6}") {
        for text in [format!("{head}/../{tail}"), format!("/{head}"), format!("{head}//{tail}"), format!("{head}\0")] {
            prop_assert!(!path(&pattern, &text), "{pattern} {text}");
        }
    }

    #[test]
    fn limits_survive_their_text_form(max in proptest::option::of(1_u64..1000), low in 0_i64..10, high in 10_i64..20, name in "[a-z]{1,5}") {
        let limits = constraints(json!({"arguments": {name: {"range": [low, high]}}, "max_calls": max}));
        let text = serde_json::to_string(&limits).unwrap();
        prop_assert_eq!(serde_json::from_str::<Constraints>(&text).unwrap(), limits);
    }
}
