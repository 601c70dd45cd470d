//! Every error with its line and column.

use super::{fail, run};

#[test]
fn text_that_is_no_program() {
    fail(&[
        ("x = (1", 1, 5, "`(` is never closed"),
        ("x = 1)", 1, 6, "`)` closes nothing"),
        ("x = (1]", 1, 7, "`]` does not close `(`"),
        ("x = 'abc", 1, 5, "this string does not end on its line; use three quotes"),
        ("x = '''abc\n", 1, 5, "this string never ends"),
        ("x = '\\q'", 1, 6, "`\\q` is no escape; write `\\\\q` for a backslash"),
        ("x = '\\xff'", 1, 6, "this escape is not a character; use \\u or \\U beyond ASCII"),
        ("x = '\\ud800'", 1, 6, "this escape is not a character; use \\u or \\U beyond ASCII"),
        ("x = b'a'", 1, 5, "bytes are not supported; use a string"),
        ("x = f'a'", 1, 5, "f-strings are not part of Starlark; use `.format(…)` or `%`"),
        ("x = 'a' 'b'", 1, 9, "two strings stand side by side; join them with `+`"),
        ("x = 012", 1, 5, "a number begins with 0; octal numbers are written 0o17"),
        ("x = 1e999", 1, 5, "this is not a number that a float can hold"),
        ("x = $", 1, 5, "unexpected character '$'"),
        ("x = 1 \\ 2", 1, 7, "a backslash stands only at the end of a line"),
        ("if 1:\n    x = 1\n  y = 2", 3, 3, "this line is indented like no block around it"),
        ("x = 1\n  y = 2", 2, 3, "this line is indented without a reason"),
        ("if 1:\nx = 1", 2, 1, "expected an indented block, found `x`"),
        ("if 1\n  pass", 1, 5, "expected `:`, found the end of the line"),
        ("x = ", 1, 5, "expected an expression, found the end of the line"),
        ("x = 1 2", 1, 7, "expected the end of the line, found a number"),
        ("while True: pass", 1, 1, "`while` is not part of Starlark"),
        ("import os", 1, 1, "`import` is not part of Starlark"),
        ("class A: pass", 1, 1, "`class` is not part of Starlark"),
        ("load('a.star', 'b')", 1, 1, "`load` is not available: a script is one file and loads no other"),
        ("x = load('a')", 1, 5, "`load` is not available: a script is one file and loads no other"),
        ("return 1", 1, 1, "`return` stands outside a function"),
        ("break", 1, 1, "`break` stands outside a loop"),
        ("for x in []:\n  def f(): continue", 2, 12, "`continue` stands outside a loop"),
        ("1 < 2 < 3", 1, 7, "comparisons do not chain; join them with `and`"),
        ("1 = x", 1, 1, "this cannot be assigned to"),
        ("f() = 1", 1, 1, "a call cannot be assigned to"),
        ("x.y = 1", 1, 1, "the attribute `y` cannot be assigned to"),
        ("x[1:2] = 1", 1, 1, "a slice cannot be assigned to"),
        ("a, b += 1", 1, 1, "several values cannot be changed at once"),
        ("def f(a, a): pass", 1, 11, "there are two parameters `a`"),
        ("def f(a=1, b): pass", 1, 12, "`b` needs a default, as one before it has"),
        ("def f(**k, a): pass", 1, 12, "no parameter follows `**`"),
        ("def f(*): pass", 1, 7, "a bare `*` is followed by a parameter"),
        ("f(a=1, 2)", 1, 8, "arguments come in this order: positional, named, one `*`, one `**`"),
        ("f(a=1, a=2)", 1, 8, "the argument `a` is given twice"),
    ]);
}

#[test]
fn names_that_mean_nothing() {
    fail(&[
        ("print(1)\n\nx = nope", 3, 5, "`nope` is not defined"),
        ("def f():\n  return nope", 2, 10, "`nope` is not defined"),
        ("print(x)\nx = 1", 1, 7, "`x` is used before it has a value"),
        (
            "def f():\n  y = x\n  x = 1\nf()",
            2,
            7,
            "`x` is used before it has a value\n  in function f, line 2\n  at the top level, line 4",
        ),
        (
            "x = 1\ndef f():\n  x += 1\nf()",
            3,
            3,
            "`x` is used before it has a value\n  in function f, line 3\n  at the top level, line 4",
        ),
        ("[x for x in [1]]\nx", 2, 1, "`x` is not defined"),
    ]);
}

#[test]
fn operations_that_do_not_fit() {
    fail(&[
        ("x = 1 + 'a'", 1, 5, "`+` cannot be applied to int and string"),
        ("1 / 0", 1, 1, "division by zero"),
        ("1 % 0", 1, 1, "division by zero"),
        ("1.0 // 0", 1, 1, "division by zero"),
        ("1 << -1", 1, 1, "cannot shift by a negative number"),
        ("1 < 'a'", 1, 1, "int and string cannot be compared by order"),
        ("sorted([1, None])", 1, 7, "int and NoneType cannot be compared by order"),
        ("-'a'", 1, 1, "`-` cannot be applied to a value of type string"),
        ("[1][5]", 1, 4, "the index 5 is outside the list, which has 1 elements"),
        ("'a'['b']", 1, 4, "the index of a string is an int, not a string"),
        ("{'a': 1}['b']", 1, 9, "the dict has no key \"b\""),
        ("{[]: 1}", 1, 2, "a list cannot be a key: it is not hashable"),
        ("{'a': 1, 'a': 2}", 1, 10, "the key \"a\" is there twice"),
        ("x = (1,)\nx[0] = 2", 2, 1, "elements of a tuple cannot be assigned"),
        ("a, b = [1]", 1, 1, "2 values are expected, and 1 are there"),
        ("a, b = 1", 1, 1, "a value of type int cannot be unpacked"),
        ("for c in 'abc': pass", 1, 10, "a string is not iterable; use .elems() or .splitlines()"),
        ("for c in 5: pass", 1, 10, "a value of type int is not iterable"),
        ("None.x", 1, 5, "a value of type NoneType has no attribute `x`"),
        ("1()", 1, 2, "a value of type int cannot be called"),
        ("[1, 2][::0]", 1, 7, "the step of a slice cannot be zero"),
        ("range(1, 2, 0)", 1, 6, "the step of a range cannot be zero"),
        ("int('x')", 1, 4, "int() cannot read \"x\" in base 10"),
        ("float('x')", 1, 6, "float() cannot read \"x\""),
        ("int(float('inf'))", 1, 4, "int() cannot convert +inf"),
        ("'abc'.index('z')", 1, 12, "substring not found"),
        ("','.join([1])", 1, 9, "join() needs strings, and there is a int; use str()"),
        ("'%d' % 'x'", 1, 1, "the format string wants an int, not \"x\""),
        ("'%s %s' % 'x'", 1, 1, "there are too few values for the format string"),
        ("'x' % 1", 1, 1, "there are more values than the format string uses"),
        ("'{}{0}'.format(1)", 1, 15, "a format string numbers its fields all or none"),
        ("'{x}'.format(1)", 1, 13, "format() has no value for `{x}`"),
        ("len(5)", 1, 4, "a value of type int has no length"),
        ("len()", 1, 4, "len() needs 1 arguments, and 0 are given"),
        ("len(1, 2)", 1, 4, "len() takes at most 1 arguments, and 2 are given"),
        ("sorted([], nope=1)", 1, 7, "sorted() has no parameter `nope`"),
        ("min([])", 1, 4, "min() needs at least one element"),
        ("set([1]).remove(2)", 1, 16, "the set has no element 2"),
        ("[].pop()", 1, 7, "pop() needs a list that is not empty"),
    ]);
}

#[test]
fn calls_that_do_not_fit_and_where_they_came_from() {
    fail(&[
        ("def f(a): pass\nf()", 2, 2, "f() needs the argument `a`"),
        ("def f(a): pass\nf(1, 2)", 2, 2, "f() takes at most 1 positional arguments, and 2 are given"),
        ("def f(a): pass\nf(1, a=2)", 2, 2, "f() gets two values for `a`"),
        ("def f(a): pass\nf(b=1)", 2, 2, "f() has no parameter `b`"),
        ("def f(**k): pass\nf(**{1: 2})", 2, 2, "`**` needs keys that are strings, not int"),
        (
            "def f(x):\n  return g(x)\ndef g(x):\n  return x // 0\n\nf(1)",
            4,
            10,
            "division by zero\n  in function g, line 4\n  in function f, line 2\n  at the top level, line 6",
        ),
        (
            "def main():\n  return inner()\ndef inner():\n  fail('stop')",
            4,
            7,
            "fail: stop\n  in function inner, line 4\n  in function main, line 2",
        ),
        (
            "sorted([1], key=lambda x: x.y)",
            1,
            28,
            "a value of type int has no attribute `y`\n  in function lambda, line 1\n  at the top level, line 1",
        ),
        (
            "def f(): return f()\nf()",
            1,
            18,
            "f() calls itself; Starlark has no recursion\n  in function f, line 1\n  at the top level, line 2",
        ),
        (
            "def f(n): return g(n)\ndef g(n): return f(n)\nf(1)",
            2,
            19,
            "f() calls itself; Starlark has no recursion\n  in function g, line 2\n  in function f, line 1\n  at the top level, line 3",
        ),
    ]);
}

#[test]
fn nothing_changes_while_a_loop_goes_over_it() {
    let list = "a list cannot be changed while a loop goes over it";
    let dict = "a dict cannot be changed while a loop goes over it";
    let set = "a set cannot be changed while a loop goes over it";
    fail(&[
        ("x = [1]\nfor i in x: x.append(i)", 2, 21, list),
        ("x = [1]\nfor i in x: x[0] = 2", 2, 13, list),
        ("x = [1]\nfor i in x: x += [1]", 2, 13, list),
        ("x = [1]\n[x.clear() for i in x]", 2, 9, list),
        ("d = {1: 2}\nfor k in d: d[k] = 3", 2, 13, dict),
        ("d = {1: 2}\nfor k in d: d.pop(k)", 2, 18, dict),
        ("d = {1: 2}\nfor k in d: d.update({})", 2, 21, dict),
        ("s = set([1])\nfor k in s: s.add(2)", 2, 18, set),
        (
            "x = [1]\nsorted([1], key=lambda i: [x.append(i) for y in x])",
            2,
            36,
            "a list cannot be changed while a loop goes over it\n  in function lambda, line 2\n  at the top level, line 2",
        ),
    ]);
    assert!(run("x = [1]\nfor i in list(x): x.append(i)\nfor i in x: pass\nx.append(3)").is_ok());
    assert!(run("x = [1]\nfor i in x: break\nx.append(3)").is_ok());
}
