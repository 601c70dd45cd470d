//! Strings: literals, methods, and text with gaps.

use super::{give, show};
use serde_json::json;

#[test]
fn literals_are_read_as_they_are_written() {
    give(&[
        (r"'a\tb\n\\\'\x41\101\u00e9\U0001F600'", json!("a\tb\n\\'AAé😀")),
        (r"r'a\nb\''", json!("a\\nb'")),
        ("'''two\nlines'''", json!("two\nlines")),
        ("\"\"\"a \"quote\" b\"\"\"", json!("a \"quote\" b")),
        ("'a\\\nb'", json!("ab")),
        ("'''a\r\nb'''", json!("a\nb")),
    ]);
    show(&[("'a\"\\n\\x01é'", r#""a\"\n\x01é""#)]);
}

#[test]
fn strings_are_counted_and_cut_by_code_point() {
    give(&[
        ("len('aé😀')", json!(3)),
        ("'aé😀'[1]", json!("é")),
        ("'aé😀'[-1]", json!("😀")),
        ("'aé😀b'[1:3]", json!("é😀")),
        ("'abc'[::-1]", json!("cba")),
        ("'é😀é'.find('é', 1)", json!(2)),
        ("'é😀é'.rfind('é')", json!(2)),
        ("'aé'.elems()", json!(["a", "é"])),
        ("'aé'.codepoint_ords()", json!([97, 233])),
    ]);
}

#[test]
fn every_method_of_strings() {
    give(&[
        ("'hELLO world'.capitalize()", json!("Hello world")),
        ("'banana'.count('an')", json!(2)),
        ("'banana'.count('a', 2, 5)", json!(1)),
        ("'abc'.count('')", json!(4)),
        ("'a.star'.endswith(('.bzl', '.star'))", json!(true)),
        ("'a.star'.startswith('star', 2)", json!(true)),
        (
            "['bonbon'.find('on', 2), 'bonbon'.find('x'), 'bonbon'.index('on'), 'bonbon'.rindex('on')]",
            json!([4, -1, 1, 4]),
        ),
        (
            "['base64'.isalnum(), 'a b'.isalpha(), '12'.isdigit(), ' \\t'.isspace(), ''.isdigit()]",
            json!([true, false, true, true, false]),
        ),
        (
            "['ab1'.islower(), 'AB1'.isupper(), 'Ab Cd'.istitle(), 'AB'.istitle(), '1'.isupper()]",
            json!([true, true, true, false, false]),
        ),
        ("', '.join(['a', 'b'])", json!("a, b")),
        ("['ÀB'.lower(), 'straße'.upper(), 'hello wORLD'.title()]", json!(["àb", "STRASSE", "Hello World"])),
        (
            "['  a '.strip(), '  a '.lstrip(), '  a '.rstrip(), 'xxaxx'.strip('x')]",
            json!(["a", "a ", "  a", "a"]),
        ),
        (
            "['a/b/c'.partition('/'), 'a/b/c'.rpartition('/'), 'a'.partition('/'), 'a'.rpartition('/')]",
            json!([["a", "/", "b/c"], ["a/b", "/", "c"], ["a", "", ""], ["", "", "a"]]),
        ),
        (
            "['abc'.removeprefix('a'), 'abc'.removesuffix('c'), 'abc'.removeprefix('x')]",
            json!(["bc", "ab", "abc"]),
        ),
        (
            "['banana'.replace('a', 'o'), 'banana'.replace('a', 'o', 2), 'ab'.replace('', '-')]",
            json!(["bonono", "bonona", "-a-b-"]),
        ),
        (
            "['one two  three'.split(), 'one two  three'.split(' '), 'one two  three'.split(None, 1)]",
            json!([["one", "two", "three"], ["one", "two", "", "three"], ["one", "two  three"]]),
        ),
        (
            "['banana'.rsplit('n', 1), 'one two  three'.rsplit(None, 1), ''.split(), ''.split(',')]",
            json!([["bana", "a"], ["one two", "three"], [], [""]]),
        ),
        (
            "['A\\nB\\rC\\r\\nD'.splitlines(), 'one\\n\\ntwo\\n'.splitlines(True)]",
            json!([["A", "B", "C", "D"], ["one\n", "\n", "two\n"]]),
        ),
        ("['nan' in 'banana', 'x' in 'banana', '' in '']", json!([true, false, true])),
        ("'ab' * 3 + 2 * 'c'", json!("abababcc")),
        ("'  a  b '.strip().split(' ')[0].upper().lower()", json!("a")),
    ]);
}

#[test]
fn percent_fills_in() {
    give(&[
        ("'%s is %d' % ('x', 3)", json!("x is 3")),
        ("'%r %s' % ('a', ['b'])", json!("\"a\" [\"b\"]")),
        ("'100%%' % ()", json!("100%")),
        ("'%s' % 'single'", json!("single")),
        ("'%s' % ((1, 2),)", json!("(1, 2)")),
        ("'%x %X %o' % (-255, 255, 8)", json!("-ff FF 10")),
        ("'%d' % 3.99", json!("3")),
        ("'%e %f %g' % (12345.678, 1, 0.5)", json!("1.234568e+04 1.000000 0.5")),
        ("'%c%c' % ('a', 98)", json!("ab")),
    ]);
}

#[test]
fn braces_fill_in() {
    give(&[
        ("'a{x}b{y}c{}'.format(1, x=2, y=3)", json!("a2b3c1")),
        ("'({1}, {0})'.format('zero', 'one')", json!("(one, zero)")),
        ("'{{}} {!r} {!s}'.format('a', 'b')", json!("{} \"a\" b")),
    ]);
}

#[test]
fn format_is_like_printf() {
    give(&[
        ("format('%s %d %v %q %%', 'a', 5, [1], 'x\"y')", json!("a 5 [1] \"x\\\"y\" %")),
        ("format('%5d|%-5d|%05d|%+d', 42, 42, 42, 42)", json!("   42|42   |00042|+42")),
        ("format('%.2f|%8.3f|%.3s', 3.14159, 2.5, 'abcdef')", json!("3.14|   2.500|abc")),
        ("format('%x %t', 255, True)", json!("ff true")),
        ("format('%06.1f', -2.25)", json!("-002.2")),
    ]);
}
