//! Functions: parameters, closures, lambdas.

use super::run;
use serde_json::json;

#[test]
fn arguments_find_their_parameters() {
    for (program, wanted) in [
        (
            "def f(a, b=2, *args, c, d=4, **kw): return [a, b, args, c, d, kw]\nresult = f(1, c=3)",
            json!([1, 2, [], 3, 4, {}]),
        ),
        (
            "def f(a, b=2, *args, c, d=4, **kw): return [a, b, args, c, d, kw]\nresult = f(1, 2, 3, 4, c=5, x=6, d=7)",
            json!([1, 2, [3, 4], 5, 7, {"x": 6}]),
        ),
        ("def f(a, *, b): return [a, b]\nresult = f(b=1, a=2)", json!([2, 1])),
        ("def f(*a, **k): return [a, k]\nresult = f(*[1, 2], **{'x': 3})", json!([[1, 2], {"x": 3}])),
        ("def f(a, b): return a - b\nresult = f(1, *(2,))", json!(-1)),
        ("def f(a, b): return a - b\nresult = f(*(5,), b=2)", json!(3)),
        ("def f(x=[]):\n  x.append(1)\n  return x\nf()\nresult = f()", json!([1, 1])),
        ("def f(): pass\nresult = f()", json!(null)),
        ("def f(): return\nresult = f()", json!(null)),
        ("def f(): return 1, 2\nresult = f()", json!([1, 2])),
        ("result = (lambda x, y=2, *z: x + y + len(z))(1, 5, 0)", json!(7)),
        (
            "def f(x):\n  '''says what it does'''\n  for i in range(10):\n    if i == x: return i\n  return -1\nresult = [f(3), f(30)]",
            json!([3, -1]),
        ),
    ] {
        assert_eq!(run(program), Ok(wanted), "{program}");
    }
}

#[test]
fn inner_functions_share_the_variables_around_them() {
    for (program, wanted) in [
        (
            "def make():\n  n = [0]\n  def next():\n    n[0] += 1\n    return n[0]\n  return next\na = make()\nb = make()\nresult = [a(), a(), b()]",
            json!([1, 2, 1]),
        ),
        (
            "def f(x):\n  def g():\n    def h(): return x\n    return h\n  return g()()\nresult = f(5)",
            json!(5),
        ),
        ("def f():\n  x = 1\n  g = lambda: x\n  x = 2\n  return g()\nresult = f()", json!(2)),
        ("fs = [lambda: x for x in range(3)]\nresult = [f() for f in fs]", json!([2, 2, 2])),
        (
            "fs = []\nfor i in range(3): fs.extend([lambda: x for x in [i]])\nresult = [f() for f in fs]",
            json!([0, 1, 2]),
        ),
        ("fs = [lambda x=x: x for x in range(3)]\nresult = [f() for f in fs]", json!([0, 1, 2])),
        ("def f(*args, **kw):\n  return lambda: [args, kw]\nresult = f(1, a=2)()", json!([[1], {"a": 2}])),
        ("def later(): return value\nvalue = 3\nresult = later()", json!(3)),
        ("def f():\n  def g(): return h()\n  def h(): return 8\n  return g()\nresult = f()", json!(8)),
    ] {
        assert_eq!(run(program), Ok(wanted), "{program}");
    }
}

#[test]
fn a_function_may_be_called_again_once_it_is_done() {
    assert_eq!(run("def f(x): return x + 1\nresult = f(f(f(0)))"), Ok(json!(3)));
    assert_eq!(run("def f(x): return x\nresult = sorted([2, 1], key=f) + [f(3)]"), Ok(json!([1, 2, 3])));
}
