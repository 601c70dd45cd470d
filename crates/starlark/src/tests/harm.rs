//! Programs that want more than they are given: each ends with a sentence, and never holds more than its limit.

use super::{LIMITS, account};
use crate::{Limits, parse};

/// Small limits, so that these end soon.
const SMALL: Limits = Limits { steps: 1_000_000, bytes: 4 * 1024 * 1024, depth: 50 };

const MEMORY: &str = "the script needs more than 4194304 bytes of memory";
const STEPS: &str = "the script takes more than 1000000 steps; does a loop not end?";
const DEEP: &str = "values or calls are nested too deeply";
const LARGE: &str = "the int is too large: it would have more than 65536 bits";

fn stopped(table: &[(&str, &str)]) {
    for (program, message) in table {
        let error = account(program, SMALL).expect_err(program);
        let said = error.message.lines().next().unwrap_or_default();
        assert!(said.ends_with(message), "{program}: {said}");
    }
}

#[test]
fn memory_is_paid_for_before_it_is_taken() {
    stopped(&[
        ("x = [0] * (1 << 28)", MEMORY),
        ("x = (0,) * (1 << 62)", MEMORY),
        ("x = [0] * (1 << 200)", MEMORY),
        ("x = 'a' * (1 << 31)", MEMORY),
        ("x = 'a' * (1 << 63)", MEMORY),
        ("d = {}\nfor i in range(3000000): d[i] = i", MEMORY),
        ("d = {i: i for i in range(3000000)}", MEMORY),
        ("s = set(range(3000000))", MEMORY),
        ("x = list(range(1 << 40))", MEMORY),
        ("x = [i for i in range(3000000)]", MEMORY),
        ("x = ('a' * 1000).replace('', 'x' * 1000000)", MEMORY),
        ("x = 'a'\nfor i in range(100): x = '%s%s' % (x, x)", MEMORY),
        ("x = 'a'\nfor i in range(100): x = '{0}{0}'.format(x)", MEMORY),
        ("x = 'a'\nfor i in range(100): x += x", MEMORY),
        ("x = [0]\nfor i in range(100): x = x + x", MEMORY),
        ("x = [0]\nfor i in range(100): x += x", MEMORY),
        ("x = [0]\nfor i in range(100): x.extend(x)", MEMORY),
        ("x = ','.join(['a' * 1000] * 100000)", MEMORY),
        ("x = (',' * 1000000).split(',')", MEMORY),
        ("x = ('a' * 1000000).elems()", MEMORY),
        ("x = zip(*[range(1 << 40)] * 10)", MEMORY),
        ("x = enumerate(range(1 << 40))", MEMORY),
        ("x = sorted(range(1 << 40))", MEMORY),
        ("def f(*a): pass\nf(*range(1 << 40))", MEMORY),
        ("x = [[0] for i in range(1000000)]", MEMORY),
        ("x = json.decode('[' + '0,' * 500000 + '0]')", MEMORY),
        ("result = range(1 << 40)", MEMORY),
        ("x = [0] * 200000\nresult = [x] * 100", MEMORY),
        ("x = 'a' * 1000000\nresult = [x] * 100", MEMORY),
        ("x = 'a' * 1000000\nhttp.get([x] * 100)", MEMORY),
        ("x = [0]\nfor i in range(100): x = [x, x]\nrepr(x)", MEMORY),
        ("x = ['a' * 100]\nfor i in range(90): x = [x, x]\njson.encode(x)", MEMORY),
        ("x = [0]\nfor i in range(90): x = [x, x]\nresult = x", MEMORY),
        ("def f():\n  x = []\n  x.append(x)\nfor i in range(100000): f()", MEMORY),
        ("x = [(1 << 65000) + i for i in range(1000)]", MEMORY),
    ]);
}

#[test]
fn steps_run_out() {
    stopped(&[
        ("for i in range(1 << 40): pass", STEPS),
        ("for i in range(1 << 20):\n  for j in range(1 << 20): pass", STEPS),
        ("[0 for i in range(1 << 20) for j in range(1 << 20) if 0]", STEPS),
        ("x = 'a' * 1000000\nfor i in range(1000000): y = x[1:]", STEPS),
        ("x = 'a' * 1000000\nfor i in range(1000000): x == 'a' + x[1:]", STEPS),
        ("x = 'a' * 1000000\ny = 'a' * 500000 + 'b'\nfor i in range(100000): x.find(y)", STEPS),
        ("x = 'a' * 1000000\nfor i in range(100000): x.count('')", STEPS),
        ("x = 'é' * 100000\nfor i in range(100000): x[i]", STEPS),
        ("x = 'a' * 100000\nfor i in range(100000): x.strip('b' * 1000)", STEPS),
        ("x = [0] * 10000\nfor i in range(100000): 1 in x", STEPS),
        ("x = [0] * 10000\nfor i in range(100000): x.insert(0, x.pop())", STEPS),
        ("x = [0]\ny = [0]\nfor i in range(100):\n  x = [x, x]\n  y = [y, y]\nx == y", STEPS),
        ("x = (0,)\nfor i in range(100): x = (x, x)\n{x: 1}", STEPS),
        ("x = (1 << 32000) - 1\nfor i in range(1000000): y = x * x", STEPS),
        ("x = (1 << 64000) - 1\ny = (1 << 32000) + 7\nfor i in range(1000000): x // y", STEPS),
        ("x = (1 << 64000) - 1\nfor i in range(1000000): str(x)", STEPS),
        ("sum = 0\nfor i in range(1000000): sum += len(sorted([3, 1, 2] * 100))", STEPS),
        ("all(range(1, 1 << 40))", STEPS),
    ]);
}

#[test]
fn depth_never_reaches_the_end_of_the_stack() {
    let deep = |open: &str, close: &str| format!("x = {}1{}", open.repeat(50_000), close.repeat(50_000));
    for program in
        [deep("(", ")"), deep("[", "]"), deep("{1:", "}"), deep("-", ""), deep("f(", ")"), deep("a[", "]")]
    {
        let error = parse("test.star", &program).unwrap_err();
        assert_eq!((error.line, error.message.as_str()), (1, "nested more than 100 deep"));
    }
    let blocks: Vec<_> = (0..200).map(|depth| format!("{}if 1:\n", " ".repeat(depth))).collect();
    let blocks = blocks.concat();
    assert_eq!(parse("test.star", &blocks).unwrap_err().line, 102);
    stopped(&[
        ("x = []\nfor i in range(20000): x = [x]\nrepr(x)", DEEP),
        ("x = {}\nfor i in range(10000): x = {1: x}\nstr(x)", DEEP),
        ("x = []\ny = []\nfor i in range(10000):\n  x = [x]\n  y = [y]\nx == y", DEEP),
        ("x = []\ny = []\nfor i in range(10000):\n  x = [x]\n  y = [y]\nx < y", DEEP),
        ("x = ()\nfor i in range(10000): x = (x,)\n{x: 1}", DEEP),
        ("x = []\nx.append(x)\ny = []\ny.append(y)\nx == y", DEEP),
        (
            "x = []\nfor i in range(10000): x = [x]\nresult = x",
            "a value nested more than 100 deep, or in itself, is no JSON",
        ),
        ("f = lambda g: g(g)\nf(f)", "lambda() calls itself; Starlark has no recursion"),
        (
            "f = lambda: 0\ndef make(g): return lambda: g()\nfor i in range(1000): f = make(f)\nf()",
            "lambda() calls itself; Starlark has no recursion",
        ),
    ]);
}

#[test]
fn calls_within_calls_are_counted() {
    let functions: Vec<_> = (0..60).map(|at| format!("def f{at}(): return f{}()\n", at + 1)).collect();
    let functions = functions.concat();
    let error = account(&format!("{functions}def f60(): return 1\nf0()"), LIMITS).unwrap_err();
    assert!(error.message.starts_with("more than 50 calls are within each other"), "{}", error.message);
    assert_eq!(error.line, 50);
}

#[test]
fn what_is_nested_deeply_is_dropped_without_harm() {
    for program in [
        "x = []\nfor i in range(15000): x = [x]\nresult = 1",
        "x = ()\nfor i in range(15000): x = (x,)\nx = 1\nresult = 1",
        "x = {}\nfor i in range(5000): x = {1: x}\nx.clear()\nresult = 1",
        "f = 0\ndef make(g): return lambda: g\nfor i in range(8000): f = make(f)\nf = 0\nresult = 1",
        "f = 0\nfor i in range(8000): f = lambda x=f: x\nf = 0\nresult = 1",
        "f = []\nfor i in range(8000): f = [f.append] if i % 2 else [f]\nf = 0\nresult = 1",
    ] {
        assert_eq!(account(program, SMALL), Ok(serde_json::json!(1)), "{program}");
    }
}

#[test]
fn what_holds_itself_is_freed_at_the_end() {
    for program in [
        "x = []\nx.append(x)\nresult = 1",
        "x = {}\nx['x'] = (x, [x])\nresult = 1",
        "def f():\n  def g(): return g\n  return g\ng = f()\nresult = 1",
        "def f(x=[]): pass\nx = [f]\nresult = 1",
        "x = []\nx.append(x.append)\nx.append(x)\n1 // 0 if x else 0",
        "s = set()\ndef f():\n  def g(): return s2\n  s2 = set([g])\n  return s2\ns = f()\nresult = 1",
    ] {
        // The account is held against nothing being left.
        let _ = account(program, SMALL);
    }
}

#[test]
fn numbers_do_not_grow_for_ever() {
    stopped(&[
        ("x = 1 << 1000000000", LARGE),
        ("x = 1 << (1 << 100)", LARGE),
        ("x = 1 << 60000\nx = x * x", LARGE),
        ("x = 3\nfor i in range(100): x = x * x", LARGE),
        ("x = int('9' * 100000)", LARGE),
        ("x = json.decode('9' * 100000)", LARGE),
        ("x = (1 << 2000) * 1.0", "the int is too large for a float"),
    ]);
    assert!(parse("test.star", &"9".repeat(100_000)).unwrap_err().message.ends_with(LARGE));
}

#[test]
fn widths_are_bounded() {
    stopped(&[
        ("format('%1000000000d', 1)", "a width or a precision in a format string is at most 10000"),
        (
            "format('%.99999999999999999999f', 1)",
            "a width or a precision in a format string is at most 10000",
        ),
        ("'%1000000000d' % 1", "the format string has `%1`, which means nothing"),
        ("('{0}' * 100000).format('a' * 100000)", MEMORY),
    ]);
}

#[test]
fn a_text_has_a_size() {
    let error = parse("test.star", &" ".repeat(300 * 1024)).unwrap_err();
    assert_eq!(error.message, "the script has 307200 bytes; 262144 are allowed");
}

#[test]
fn a_message_has_a_size() {
    let error = account("fail('x' * 1000000)", SMALL).unwrap_err();
    assert_eq!(error.message, "fail: a message of 1000000 characters, which is too long to be shown");
}

#[test]
fn a_message_shows_a_text_whole_or_not_at_all() {
    for (expression, message) in [
        ("{}['é' * 80]", format!("the dict has no key \"{}\"", "é".repeat(80))),
        ("{}['x' * 81]", "the dict has no key a string of 81 characters".to_owned()),
        ("int('7x' * 450)", "int() cannot read a string of 900 characters in base 10".to_owned()),
        (
            "fail('x' * 8192, 'y')",
            "fail: a message of 8194 characters, which is too long to be shown".to_owned(),
        ),
        ("fail('x' * 8190)", "a message of 8196 characters, which is too long to be shown".to_owned()),
    ] {
        let error = account(expression, SMALL).unwrap_err();
        assert_eq!(error.message, message, "{expression}");
    }
}

#[test]
fn what_nobody_sees_is_in_no_script_and_names_that_look_alike_are_one() {
    for (text, message) in [
        ("x = 1\0", "the script has a NUL, which nobody who reads it can see; take it out"),
        ("# \0\nx = 1", "the script has a NUL, which nobody who reads it can see; take it out"),
        ("p\u{430}y = 1", "unexpected character "),
        ("\u{3164} = 1", "unexpected character "),
        ("x\u{115f} = 1", "unexpected character "),
        ("x = {}.k\u{fb01}", "unexpected character "),
    ] {
        let said = parse("test.star", text).unwrap_err().message;
        assert!(said.starts_with(message), "{text:?}: {said}");
    }
    assert!(parse("test.star", "x = '\u{430}\u{3164}' # \u{430}").is_ok(), "texts and comments are anyone's");
}

#[test]
fn keys_that_collide_elsewhere_do_not_collide_here() {
    // Multiples of a power of two, and strings with one Java hash.
    let program = "d = {}\nfor i in range(5000): d[i << 40] = i\nk = ['']\nfor i in range(12): k = [a + b for a in k for b in ['Aa', 'BB']]\nfor s in k: d[s] = 1\nresult = len(d)";
    let limits = Limits { steps: 3_000_000, bytes: 16 << 20, depth: 10 };
    assert_eq!(account(program, limits), Ok(serde_json::json!(9096)));
}

#[test]
fn many_operands_need_no_depth() {
    let sum = format!("result = {}", vec!["1"; 50_000].join(" + "));
    assert_eq!(account(&sum, LIMITS), Ok(serde_json::json!(50_000)));
    let chain = format!("result = 'a'{}", ".upper()".repeat(20_000));
    assert_eq!(account(&chain, LIMITS), Ok(serde_json::json!("A")));
}
