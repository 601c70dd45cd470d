//! What is taken and what is refused, and that a refusal comes before the cost.

use serde_json::{Map, json};

use super::walk::DEPTH;
use super::*;

fn refused(schema: &Value) -> String {
    compile(schema).err().unwrap_or_else(|| panic!("taken: {schema}"))
}

#[test]
fn every_draft_is_understood_in_its_own_words_and_an_unknown_one_as_the_newest() {
    let old = json!({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": {"minimum": 1, "exclusiveMinimum": true}}});
    assert!(!compile(&old).unwrap().is_valid(&json!({"n": 1})));
    let seven = json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"n": {"items": [{"type": "string"}]}}});
    assert!(!compile(&seven).unwrap().is_valid(&json!({"n": [1]})));
    let own = json!({"$schema": "https://example.com/own", "required": ["n"]});
    assert!(!compile(&own).unwrap().is_valid(&json!({})));
}

#[test]
fn a_schema_may_refer_to_itself_and_to_nothing_elsewhere() {
    let tree = json!({"properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}});
    let tree = compile(&tree).unwrap();
    assert!(tree.is_valid(&json!({"child": {"child": {"n": 1}}})));
    assert!(!tree.is_valid(&json!({"child": {"child": {"n": "x"}}})));
    assert!(compile(&json!({"$ref": "#"})).unwrap().is_valid(&json!({})));
    refused(&json!({"$ref": "https://example.com/schema.json"}));
    refused(&json!({"$ref": "file:///etc/hosts"}));
}

#[test]
fn references_in_a_circle_are_refused() {
    let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}});
    assert!(refused(&circle).contains("circle"));
}

#[test]
fn references_that_double_at_every_step_are_refused() {
    for named in [true, false] {
        let mut parts = Map::new();
        for step in 0..40 {
            let next = if named { format!("#n{}", step + 1) } else { format!("#/$defs/{}", step + 1) };
            let part = json!({"$anchor": format!("n{step}"), "allOf": [{"$ref": next}, {"$ref": next}]});
            parts.insert(step.to_string(), part);
        }
        parts.insert("40".to_owned(), json!({"$anchor": "n40", "type": "object"}));
        let schema = json!({"$ref": "#/$defs/0", "$defs": parts});
        assert!(refused(&schema).contains("10000"), "{}", refused(&schema));
    }
}

#[test]
fn what_is_nested_or_chained_too_deep_is_refused() {
    let mut nested = json!({});
    for _ in 0..DEPTH {
        nested = json!({"not": nested});
    }
    assert!(compile(&nested).is_ok());
    assert!(refused(&json!({"not": nested})).contains("nested"));
    let chained: Map<String, Value> =
        (0..1000).map(|step| (step.to_string(), json!({"$ref": format!("#/$defs/{}", step + 1)}))).collect();
    assert!(refused(&json!({"$ref": "#/$defs/0", "$defs": chained})).contains("chained"));
}

#[test]
fn a_pattern_that_backtracks_without_end_costs_a_bounded_time_and_refuses_the_value() {
    let schema = json!({"properties": {"a": {"pattern": "^(?=(a+)+$)\\1b(a|a)*c$"}}});
    let validator = compile(&schema).unwrap();
    assert!(!validator.is_valid(&json!({"a": "a".repeat(5000)})));
    refused(&json!({"properties": {"a": {"pattern": "(((a{1000}){1000}){1000})"}}}));
}

/// With all the room there is.
fn foreign(schema: &Value) -> Result<Validator, String> {
    compile_foreign(schema, usize::MAX).map(|(validator, _)| validator)
}

fn refused_of_others(schema: &Value) -> String {
    foreign(schema).err().unwrap_or_else(|| panic!("taken: {schema}"))
}

fn all_of(patterns: impl Iterator<Item = String>) -> Value {
    let all: Vec<Value> = patterns.map(|pattern| json!({ "pattern": pattern })).collect();
    json!({"properties": {"a": {"allOf": all}}})
}

#[test]
fn a_server_cannot_fill_the_memory_with_patterns() {
    refused_of_others(&all_of((0..2000).map(|i| format!("\\p{{L}}{{8}}x{i}"))));
    let many = all_of((0..65).map(|i| format!("\\p{{L}}{{8}}x{i}")));
    assert!(refused_of_others(&many).contains("65 patterns"));
    let long = all_of((0..20).map(|i| format!("{}{i}", "a".repeat(1000))));
    assert!(refused_of_others(&long).contains("bytes"));
    // As many as there may be, each too large for its share: none of them is kept.
    let some = foreign(&all_of((0..64).map(|i| format!("\\p{{L}}{{8}}x{i}")))).unwrap();
    assert!(some.is_valid(&json!({"a": "1"})));
}

#[test]
fn patterns_take_of_the_room_what_they_need_and_without_room_they_are_left_to_the_server() {
    let small = all_of((0..4).map(|i| format!("^[a-z]{{2}}{i}$")));
    let (validator, taken) = compile_foreign(&small, usize::MAX).unwrap();
    assert!((1..=4 * 8 * 1024).contains(&taken), "{taken}");
    assert!(!validator.is_valid(&json!({"a": "1"})));
    let large = all_of(std::iter::once("^(?:[ab][cd]){200}$".to_owned()));
    let (validator, taken) = compile_foreign(&large, usize::MAX).unwrap();
    assert!((8 * 1024 + 1..=64 * 1024).contains(&taken), "{taken}");
    assert!(!validator.is_valid(&json!({"a": "1"})));
    for schema in [small, large] {
        let (validator, taken) = compile_foreign(&schema, 0).unwrap();
        assert_eq!(taken, 0);
        assert!(validator.is_valid(&json!({"a": "1"})));
    }
}

#[test]
fn a_server_cannot_hold_up_calls_with_patterns_that_step_back() {
    let pattern = "^(?:(a|aa|b(?=c))+)+\\1$|q";
    refused_of_others(&all_of((0..2500).map(|i| format!("{pattern}{i}"))));
    // One cannot be run by an engine that never steps back: it is left out.
    let one = foreign(&all_of(std::iter::once(pattern.to_owned()))).unwrap();
    assert!(one.is_valid(&json!({"a": "a".repeat(5000)})));
    let slow = json!({"properties": {"a": {"pattern": "[ab]*a[ab]{300}c"}}});
    assert!(within(50_000_000, &slow, &json!({"a": "ab".repeat(50_000)})));
    assert!(!within(50_000_000, &slow, &json!({"a": "ab".repeat(5_000_000)})));
}

#[test]
fn patterns_of_a_server_that_can_be_checked_are_checked() {
    let schema = json!({"properties": {"id": {"pattern": "^(a|b)(c)$"}, "k": {"pattern": "^(?!x)y"}, "pattern": {"type": "string"}},
        "patternProperties": {"^x-(a|b)": {"type": "integer"}}, "additionalProperties": false});
    let validator = foreign(&schema).unwrap();
    assert!(validator.is_valid(&json!({"id": "bc", "k": "n", "x-a": 1, "pattern": "p"})));
    assert!(!validator.is_valid(&json!({"id": "bd"})));
    assert!(!validator.is_valid(&json!({"x-a": "text"})));
    assert!(!validator.is_valid(&json!({"other": 1})));
}

#[test]
fn what_is_left_out_never_makes_a_check_stricter() {
    let look = json!({"pattern": "^(?!x)y"});
    for part in [
        json!({"not": look}),
        json!({"if": look, "then": {"minLength": 9}}),
        json!({"oneOf": [look, {"type": "string"}]}),
        json!({"not": {"$ref": "#/$defs/look"}}),
    ] {
        let schema = json!({"$defs": {"look": look}, "properties": {"a": part}});
        assert!(foreign(&schema).unwrap().is_valid(&json!({"a": "xz"})), "{schema}");
    }
    let named = json!({"patternProperties": {"^(?!x)y": {}}, "additionalProperties": false});
    assert!(foreign(&named).unwrap().is_valid(&json!({"y": 1})));
}

#[test]
fn arguments_that_a_schema_multiplies_with_each_level_are_seen_before_they_are_checked() {
    let twice =
        json!({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]});
    foreign(&twice).unwrap();
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert!(within(50_000, &twice, &nested(5)));
    assert!(!within(500_000, &twice, &nested(60)));
    let once = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
    let tree = (0..8).fold(json!({}), |inner, _| json!({ "left": inner, "right": inner }));
    assert!(within(50_000, &once, &tree));
    let chain = json!({"properties": {"a": {"$ref": "#"}}});
    assert!(!within(u64::MAX, &chain, &nested(120)));
    // What is just not too deep can be gone through.
    assert!(within(u64::MAX, &chain, &nested(100)));
    assert_eq!(foreign(&chain).unwrap().iter_errors(&nested(100)).count(), 0);
}

#[test]
fn what_costs_a_server_nothing_and_us_much_is_refused() {
    let mut seen = json!({"properties": {"x": {"type": "integer"}}});
    for _ in 0..20 {
        seen = json!({"anyOf": [seen], "unevaluatedProperties": false});
    }
    assert!(refused_of_others(&seen).contains("2000"));
    let many: Map<String, Value> = (0..4000).map(|i| (format!("p{i}"), json!({}))).collect();
    assert!(refused_of_others(&json!({ "properties": many })).contains("4000"));
    assert!(refused_of_others(&json!({"$anchor": "here", "items": {"$ref": "#here"}})).contains("#here"));
    let spelled =
        json!({"$defs": {"A<B>": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/A%3CB%3E"}}});
    assert!(!foreign(&spelled).unwrap().is_valid(&json!({"n": "x"})));
}

#[test]
fn parts_that_are_shared_by_many_places_are_compiled_once() {
    let mut parts = Map::new();
    for step in 0..40 {
        let next = json!({"$ref": format!("#/$defs/{}", step + 1)});
        parts.insert(step.to_string(), json!({"properties": {"a": next, "b": next}}));
    }
    parts.insert("40".to_owned(), json!({"type": "integer"}));
    let validator = foreign(&json!({"$ref": "#/$defs/0", "$defs": parts})).unwrap();
    assert!(validator.is_valid(&json!({"a": {"b": {}}})));
}
