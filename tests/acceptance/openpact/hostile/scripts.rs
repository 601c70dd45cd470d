//! What is wrong with arguments of the tools for scripts.

use serde_json::json;

use super::Told::{Fails, Schema};
use super::{Table, long};

/// One table for each of them.
pub(super) fn tables() -> Vec<Table> {
    let script_list = vec![
        (
            json!({"path": "/"}),
            Schema("arguments: Additional properties are not allowed ('path' was unexpected)"),
        ),
        (
            json!({"name": null}),
            Schema("arguments: Additional properties are not allowed ('name' was unexpected)"),
        ),
    ];
    let script_reload = vec![(
        json!({"force": true}),
        Schema("arguments: Additional properties are not allowed ('force' was unexpected)"),
    )];
    let script_run = vec![
        (json!({}), Schema("arguments: \"name\" is a required property")),
        (json!({"name": 1}), Schema("`/name`: value is not of type \"string\"")),
        (json!({"name": long(129)}), Schema("`/name`: value is longer than 128 characters")),
        (json!({"name": "good", "args": "1"}), Schema("`/args`: value is not of type \"array\"")),
        (json!({"name": "good", "args": vec![0; 65]}), Schema("`/args`: value has more than 64 items")),
        (json!({"name": "good", "function": 1}), Schema("`/function`: value is not of type \"string\"")),
        (json!({"name": "good", "path": "/"}), Schema("arguments: Additional properties are not allowed ('path' was unexpected)")),
        (json!({"name": ""}), Fails("script '' not found".into())),
        (json!({"name": "../good"}), Fails("script '../good' not found".into())),
        (json!({"name": "/etc/passwd"}), Fails("script '/etc/passwd' not found".into())),
        (json!({"name": "a\u{0}b"}), Fails("script 'a\\0b' not found".into())),
        (json!({"name": "x\u{1b}[2J"}), Fails("script 'x\\u{1b}[2J' not found".into())),
        (json!({"name": "GOOD"}), Fails("script 'GOOD' not found".into())),
        (json!({"name": "link"}), Fails("script 'link' cannot be used: it is a symbolic link, and none is followed; put a copy of the file in its place".into())),
        (json!({"name": "dir"}), Fails("script 'dir' cannot be used: it is a directory; a script is a file".into())),
        (json!({"name": "binary"}), Fails("script 'binary' cannot be used: it is not UTF-8 text".into())),
        (json!({"name": "open"}), Fails("script 'open' cannot be used: HOME/scripts/open.star can be written by others; take that away with: chmod go-w HOME/scripts/open.star".into())),
        (json!({"name": "good", "args": [1]}), Fails("`args` are for a function: name it in `function`".into())),
        (json!({"name": "good", "function": "none"}), Fails("good.star:1:1: the script has no function `none`".into())),
        (json!({"name": "good", "function": ""}), Fails("good.star:1:1: the script has no function ``".into())),
        (json!({"name": "good", "function": "__import__('os')"}), Fails("good.star:1:1: the script has no function `__import__('os')`".into())),
        (json!({"name": "good", "function": "add", "args": [1]}), Fails("good.star:1:1: add() needs the argument `b`".into())),
        (json!({"name": "good", "function": "add", "args": [1,{}]}), Fails("good.star:5:12: `+` cannot be applied to int and dict".into())),
        (json!({"name": "good", "function": "x"}), Fails("good.star:1:1: the script has no function `x`".into())),
    ];
    let script_exec = vec![
        (json!({}), Schema("arguments: \"code\" is a required property")),
        (json!({"code": ""}), Schema("`/code`: value is shorter than 1 character")),
        (json!({"code": 1}), Schema("`/code`: value is not of type \"string\"")),
        (json!({"code": long(65_537)}), Schema("`/code`: value is longer than 65536 characters")),
        (json!({"code": "result = 1", "name": "x"}), Schema("arguments: Additional properties are not allowed ('name' was unexpected)")),
        (json!({"code": "def"}), Fails("exec-cb8379ac2098.star:1:4: expected a name, found the end of the line".into())),
        (json!({"code": "\u{0}"}), Fails("exec-6e340b9cffb3.star has a NUL, which nobody who reads it can see; take it out".into())),
        (json!({"code": "import os"}), Fails("exec-de2abade832c.star:1:1: `import` is not part of Starlark".into())),
        (json!({"code": "result = 2"}), Fails("Script 'exec-28e0eaa50ba2.star' is pending approval. An administrator must review and approve this script before it can be executed.".into())),
    ];
    vec![
        ("script_list", script_list),
        ("script_reload", script_reload),
        ("script_run", script_run),
        ("script_exec", script_exec),
    ]
}
