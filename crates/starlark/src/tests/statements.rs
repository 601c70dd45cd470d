//! Statements: assignment, conditions, loops, comprehensions.

use super::run;
use serde_json::json;

#[test]
fn programs_give_their_result() {
    for (program, wanted) in [
        ("x = 1\nx += 2\nx *= 5\nx -= 1\nx //= 2\nx <<= 2\nx |= 1\nx %= 10\nresult = x", json!(9)),
        ("a, (b, [c]) = 1, (2, [3])\nresult = [c, b, a]", json!([3, 2, 1])),
        ("a, b = 1, 2\na, b = b, a\nresult = [a, b]", json!([2, 1])),
        ("x = [1]\ny = x\nx += (2,)\nresult = y", json!([1, 2])),
        ("x = (1,)\ny = x\nx += (2,)\nresult = [x, y]", json!([[1, 2], [1]])),
        ("d = {'a': 1}\ne = d\nd |= {'b': 2}\nresult = e", json!({"a": 1, "b": 2})),
        ("s = set([1])\nt = s\ns |= set([2])\ns -= set([1])\nresult = t", json!([2])),
        ("d = {'a': [1]}\nd['a'][0] += 5\nd['b'] = 1\nresult = d", json!({"a": [6], "b": 1})),
        ("if 0: result = 1\nelif 1: result = 2\nelse: result = 3", json!(2)),
        (
            "total = 0\nfor i in range(10):\n  if i == 7: break\n  if i % 2: continue\n  total += i\nresult = total",
            json!(12),
        ),
        (
            "out = []\nfor k, v in {'a': 1}.items():\n\tout.append(k)\n\tout.append(v)\nresult = out",
            json!(["a", 1]),
        ),
        (
            "out = []\nfor x in 1, 2:\n  for y in (x, x):\n    out.append(y); pass\nresult = out",
            json!([1, 1, 2, 2]),
        ),
        ("result = [x * y for x in range(4) if x % 2 for y in [1, 10]]", json!([1, 10, 3, 30])),
        ("x = 'outer'\ny = [x for x in [1, 2]]\nresult = x", json!("outer")),
        ("result = [[y for y in range(x)] for x in range(3)]", json!([[], [0], [0, 1]])),
        ("result = 1 if [] else 2 if {} else 3", json!(3)),
        (
            "result = [1 and 2, 0 or 'x', not 1, 0 and boom(), 1 or boom()]\ndef boom(): fail('no')",
            json!([2, "x", false, 0, 1]),
        ),
        ("result = not 1 == 2", json!(true)),
        ("result = 1 + 2 * 3 - 4 // 3 % 2", json!(6)),
        ("result = 1 | 2 ^ 3 & 4 << 1", json!(3)),
        ("result = -2 + +3 - ~0", json!(2)),
        ("result = (1,\n  2, # a comment\n\n  3)", json!([1, 2, 3])),
        ("result = 1 + \\\n  2", json!(3)),
        ("\u{feff}# begins with a mark\r\nresult = 1\r\n", json!(1)),
        ("x = {}\nx['a'], y = 1, 2\nresult = [x, y]", json!([{"a": 1}, 2])),
        ("result = [1,][0:1:]", json!([1])),
    ] {
        assert_eq!(run(program), Ok(wanted), "{program}");
    }
}

#[test]
fn methods_change_what_they_are_called_on() {
    for (program, wanted) in [
        (
            "x = [3]\nx.append(1)\nx.extend(range(2))\nx.insert(0, 9)\nx.insert(-1, 8)\nresult = x",
            json!([9, 3, 1, 0, 8, 1]),
        ),
        ("x = [1, 2, 3, 2]\nx.remove(2)\nresult = [x.pop(), x.pop(0), x]", json!([2, 1, [3]])),
        ("x = [1]\nx.extend(x)\nx.clear()\nresult = x", json!([])),
        (
            "d = {'a': 1, 'b': 2}\nresult = [d.pop('a'), d.pop('z', 0), d.popitem(), d]",
            json!([1, 0, ["b", 2], {}]),
        ),
        (
            "d = {'a': 1}\nresult = [d.setdefault('a', 5), d.setdefault('b', 6), d]",
            json!([1, 6, {"a": 1, "b": 6}]),
        ),
        (
            "d = {'a': 1}\nd.update([('b', 2)], c=3)\nd.update(d)\nd.update({'a': 0})\nresult = d",
            json!({"a": 0, "b": 2, "c": 3}),
        ),
        ("d = {'a': 1}\nd.clear()\nd['z'] = 1\nresult = d", json!({"z": 1})),
        (
            "d = {i: i for i in range(100)}\nfor i in range(99): d.pop(i)\nd[5] = 'x'\nresult = d.items()",
            json!([[99, 99], [5, "x"]]),
        ),
        (
            "s = set([1, 2, 3])\ns.add(4)\ns.discard(9)\ns.remove(2)\nresult = [s.pop(), s]",
            json!([1, [3, 4]]),
        ),
        (
            "s = set([1, 2])\ns.update([3], [4])\ns.difference_update([1])\ns.intersection_update([2, 3])\ns.symmetric_difference_update([3, 5])\nresult = s",
            json!([2, 5]),
        ),
        ("s = set([1])\ns.update(s)\ns.clear()\nresult = s", json!([])),
    ] {
        assert_eq!(run(program), Ok(wanted), "{program}");
    }
}
