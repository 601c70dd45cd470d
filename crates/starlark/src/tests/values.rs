//! Numbers, sequences, dicts and sets.

use super::{give, show};
use serde_json::json;

#[test]
fn whole_numbers_are_exact_however_large() {
    show(&[
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("7 // -2", "-4"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("(1 << 64) - 1", "18446744073709551615"),
        ("9223372036854775807 + 1", "9223372036854775808"),
        ("-9223372036854775808 - 1", "-9223372036854775809"),
        ("(1 << 70) // (1 << 68)", "4"),
        ("-(1 << 70) // 3", "-393530540239137101142"),
        ("-(1 << 70) % 1000", "576"),
        ("(1 << 100) >> 98", "4"),
        ("-1 >> 100", "-1"),
        ("~5", "-6"),
        ("6 & 3 | 8 ^ 1", "11"),
        ("0xff + 0o17 + 0b11", "273"),
        ("int('ff', 16)", "255"),
        ("int('0x1F', 0)", "31"),
        ("int('-0b11', 0)", "-3"),
        ("int(-3.99)", "-3"),
        ("int(True)", "1"),
        ("abs(-(1 << 70))", "1180591620717411303424"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ]);
}

#[test]
fn floats_follow_the_language() {
    show(&[
        ("1 / 2", "0.5"),
        ("7.0 // 2", "3.0"),
        ("-7.5 % 2", "0.5"),
        ("1e3", "1000.0"),
        (".5 + 1.", "1.5"),
        ("1e100", "1e+100"),
        ("float('-Inf')", "-inf"),
        ("float('nan') == float('nan')", "True"),
        ("float('nan') > float('inf')", "True"),
        ("1 == 1.0", "True"),
        ("(1 << 53) + 1 == float((1 << 53) + 1)", "False"),
        ("(1 << 53) < (1 << 53) + 0.0", "False"),
        ("{1: 'a'}[1.0]", "\"a\""),
        ("True == 1", "False"),
        ("float(True)", "1.0"),
    ]);
}

#[test]
fn lists_and_tuples_are_indexed_sliced_and_joined() {
    show(&[
        ("[1, 2, 3][-1]", "3"),
        ("(1, 2, 3)[1]", "2"),
        ("[0, 1, 2, 3, 4][1:4]", "[1, 2, 3]"),
        ("[0, 1, 2, 3, 4][::-2]", "[4, 2, 0]"),
        ("[0, 1, 2][5:]", "[]"),
        ("[0, 1, 2][-100:2]", "[0, 1]"),
        ("[0, 1, 2][2:0:-1]", "[2, 1]"),
        ("range(10)[2:8:3]", "range(2, 8, 3)"),
        ("range(10)[::-1]", "range(9, -1, -1)"),
        ("[1] + [2]", "[1, 2]"),
        ("2 * (1, 2)", "(1, 2, 1, 2)"),
        ("[1] * -1", "[]"),
        ("(1,)", "(1,)"),
        ("()", "()"),
        ("[1, 2] < [1, 3]", "True"),
        ("(1, 2) < (1,)", "False"),
        ("2 in [1, 2]", "True"),
        ("3 not in (1, 2)", "True"),
        ("5 in range(1, 10, 2)", "True"),
        ("4.0 in range(1, 10, 2)", "False"),
        ("range(0) == range(2, 1)", "True"),
        ("[1, 2, 1].index(1, 1)", "2"),
        ("list(range(5, 0, -2))", "[5, 3, 1]"),
        ("len(range(-9223372036854775807, 9223372036854775807, 4))", "4611686018427387904"),
    ]);
}

#[test]
fn dicts_keep_the_order_in_which_keys_came() {
    show(&[
        ("{'b': 1, 'a': 2}", r#"{"b": 1, "a": 2}"#),
        ("{'b': 1, 'a': 2}.keys()", r#"["b", "a"]"#),
        ("{'b': 1}.items()", r#"[("b", 1)]"#),
        ("{'a': 1} | {'b': 2, 'a': 3}", r#"{"a": 3, "b": 2}"#),
        ("{'a': 1}.get('z', 5)", "5"),
        ("{'a': 1}.get('z')", "None"),
        ("dict([('a', 1), ['b', 2]], c=3)", r#"{"a": 1, "b": 2, "c": 3}"#),
        ("{(1, 'x'): 2}[(1, 'x')]", "2"),
        ("{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "True"),
        ("'a' in {'a': 1}", "True"),
        ("[k for k in {'x': 1, 'y': 2}]", r#"["x", "y"]"#),
        ("{x: x * x for x in range(3)}", "{0: 0, 1: 1, 2: 4}"),
    ]);
}

#[test]
fn sets_keep_their_order_too() {
    show(&[
        ("set([3, 1, 3])", "set([3, 1])"),
        ("set()", "set([])"),
        ("set([1, 2]) | set([2, 3])", "set([1, 2, 3])"),
        ("set([1, 2]) & set([2, 3])", "set([2])"),
        ("set([1, 2]) - set([2, 3])", "set([1])"),
        ("set([1, 2]) ^ set([2, 3])", "set([1, 3])"),
        ("set([1, 2]) == set([2, 1])", "True"),
        ("2 in set([2])", "True"),
        ("set([1]).union([2], {3: 4})", "set([1, 2, 3])"),
        ("set([1, 2, 3]).difference([1], [2])", "set([3])"),
        ("set([1, 2]).symmetric_difference([2, 3])", "set([1, 3])"),
        ("set([1]).issubset([1, 2])", "True"),
        ("set([1, 2]).issuperset([2])", "True"),
        ("set([1]).isdisjoint([2])", "True"),
    ]);
}

#[test]
fn the_functions_that_are_always_there() {
    give(&[
        ("all([1, True]) and not any([0, ''])", json!(true)),
        ("enumerate(['a', 'b'], 5)", json!([[5, "a"], [6, "b"]])),
        ("zip([1, 2, 3], ['a', 'b'])", json!([[1, "a"], [2, "b"]])),
        ("reversed([1, 2])", json!([2, 1])),
        ("sorted([3, 1, 2])", json!([1, 2, 3])),
        ("sorted([3, 1, 2], reverse=True)", json!([3, 2, 1])),
        ("sorted(['bb', 'a', 'cc'], key=len)", json!(["a", "bb", "cc"])),
        ("sorted(['bb', 'a', 'cc'], key=len, reverse=True)", json!(["bb", "cc", "a"])),
        ("[min(3, 1), max([1, 5, 2]), max('a', 'ccc', 'bb', key=len)]", json!([1, 5, "ccc"])),
        (
            "[type(x) for x in [None, True, 1, 1.0, '', [], (), {}, set(), range(1), len]]",
            json!([
                "NoneType",
                "bool",
                "int",
                "float",
                "string",
                "list",
                "tuple",
                "dict",
                "set",
                "range",
                "builtin_function_or_method"
            ]),
        ),
        ("type(lambda: 0)", json!("function")),
        ("[len('añb'), len([1]), len({1: 2}), len(range(3))]", json!([3, 1, 1, 3])),
        (
            "[hasattr('', 'split'), hasattr([], 'split'), getattr('a b', 'split')()]",
            json!([true, false, ["a", "b"]]),
        ),
        ("getattr(1, 'x', 7)", json!(7)),
        (
            "dir({})",
            json!(["clear", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"]),
        ),
        ("hash('abc')", json!(96354)),
        ("[bool(0), bool('a'), bool()]", json!([false, true, false])),
        ("[chr(233), ord('é')]", json!(["é", 233])),
        ("tuple([1]) + tuple()", json!([1])),
        ("[str(1), str('a'), str(['a']), repr('a')]", json!(["1", "a", "[\"a\"]", "\"a\""])),
    ]);
}

#[test]
fn a_value_within_itself_is_shown_once() {
    let program = "x = [1]\nx.append(x)\nd = {}\nd['d'] = d\nresult = [repr(x), repr(d)]";
    assert_eq!(super::run(program), Ok(json!(["[1, [...]]", "{\"d\": {...}}"])));
}
