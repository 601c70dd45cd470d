//! Entries that become plans, and entries that do not, with the sentence that says why.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::server::entry::SandboxEntry;
use crate::server::fixture::Known;
use crate::server::plan::{Reach, WebTransport};

fn entry(keys: Value) -> Entry {
    serde_json::from_value(keys).unwrap()
}

fn plan(keys: Value) -> Plan {
    entry(keys).resolve(&Known).unwrap()
}

fn refused(keys: Value) -> String {
    entry(keys).resolve(&Known).unwrap_err().to_string()
}

/// A sound entry with some keys set otherwise.
fn with(keys: &Value) -> Value {
    let mut whole = json!({"name": "x", "command": "run"});
    for (key, value) in keys.as_object().unwrap() {
        whole[key] = value.clone();
    }
    whole
}

#[test]
fn a_program_is_planned_with_everything_filled_in() {
    let plan = plan(json!({
        "name": "filesystem", "command": "~/bin/server", "args": ["-y", "$DIR/notes"], "cwd": "~",
        "env": {"LEVEL": "info", "TOKEN": "${secret:API_KEY}"}, "idle_stop_secs": 5, "prefix": "none",
        "sandbox": {"network": "off", "read": ["$DIR/notes"], "write": ["~/out"]},
    }));
    let Reach::Program(program) = plan.reach else { panic!("no program") };
    assert_eq!(
        (program.command.as_str(), program.cwd.as_deref()),
        ("/users/ada/bin/server", Some("/users/ada"))
    );
    assert_eq!(program.args, ["-y", "/srv/notes"]);
    assert_eq!(program.env["TOKEN"].reveal(), "value-of-the-key");
    let sandbox = SandboxEntry {
        network: "off".into(),
        read: vec!["/srv/notes".into()],
        write: vec!["/users/ada/out".into()],
        ..SandboxEntry::default()
    };
    assert_eq!(program.sandbox, Some(sandbox));
    assert_eq!((plan.prefix, plan.idle_stop), (Prefix::None, Some(Duration::from_secs(5))));
}

#[test]
fn defaults_are_the_documented_ones() {
    let plan = plan(json!({"name": "My Server", "command": "run"}));
    assert_eq!(plan.prefix, Prefix::Named("my-server".into()));
    let times = [plan.start_timeout, plan.list_timeout, plan.call_timeout, plan.call_total];
    assert_eq!(times.map(|time| time.as_secs()), [30, 10, 60, 600]);
    assert_eq!((plan.max_in_flight, plan.idle_stop), (64, None));
    let Reach::Program(program) = plan.reach else { panic!("no program") };
    assert_eq!((program.cwd, program.sandbox, program.env), (None, None, BTreeMap::new()));
}

#[test]
fn a_url_is_planned_with_its_transport() {
    for (transport, expected) in [
        (Value::Null, WebTransport::Http),
        (json!("http"), WebTransport::Http),
        (json!("streamable-http"), WebTransport::Http),
        (json!("sse"), WebTransport::Sse),
    ] {
        let keys = json!({
            "name": "x", "url": "http://localhost:3100", "transport": transport,
            "headers": {"Authorization": "Bearer ${secret:API_KEY}"},
        });
        let Reach::Web(web) = plan(keys).reach else { panic!("no URL") };
        assert_eq!((web.url.reveal(), web.transport), ("http://localhost:3100", expected));
        assert_eq!(web.headers["Authorization"].reveal(), "Bearer value-of-the-key");
    }
    let Reach::Web(web) = plan(json!({"name": "x", "url": " https://u:${secret:API_KEY}@h/?k=$DIR "})).reach
    else {
        panic!("no URL")
    };
    assert_eq!(web.url.reveal(), "https://u:value-of-the-key@h/?k=/srv");
}

#[test]
fn two_plans_are_equal_exactly_where_nothing_changed() {
    let one = json!({"name": "x", "command": "run", "env": {"A": "${secret:API_KEY}"}});
    assert_eq!(plan(one.clone()), plan(one.clone()));
    let mut two = one.clone();
    two["env"]["A"] = json!("other");
    assert_ne!(plan(one), plan(two));
}

#[test]
fn names_are_printable_and_short() {
    for name in ["x", "My Server (ada's \"own\")", "日本語", "a/b\\c", &"n".repeat(64)] {
        assert!(entry(with(&json!({"name": name}))).resolve(&Known).is_ok(), "{name}");
    }
    for name in ["", " x", "x ", "a\nb", "a\u{1b}[0m", "a\u{202e}b", "a\u{200b}b", ".", "..", &"n".repeat(65)]
    {
        let refused = refused(with(&json!({"name": name})));
        assert!(
            refused.starts_with("`name` is ") && !refused.contains(['\n', '\u{1b}', '\u{202e}']),
            "{refused}"
        );
    }
}

#[test]
fn contradictions_are_named() {
    for (keys, part) in [
        (json!({"command": ""}), "`command` is missing"),
        (json!({"command": " "}), "`command` is missing"),
        (json!({"command": "", "transport": "http"}), "`url` is missing"),
        (json!({"url": "http://h"}), "`url` stands beside `command`"),
        (json!({"transport": "http"}), "`transport` is for a server with a `url`"),
        (json!({"transport": "sse"}), "`transport` is for a server with a `url`"),
        (json!({"command": "", "url": "http://h", "transport": "stdio"}), "`transport` is \"stdio\""),
        (json!({"headers": {"A": "b"}}), "`headers` is for a server with a `url`"),
        (json!({"command": "", "url": "http://h", "args": ["a"]}), "`args` is for a server with a `command`"),
        (json!({"command": "", "url": "http://h", "env": {"A": "b"}}), "`env` is for a server with"),
        (json!({"command": "", "url": "http://h", "cwd": "/a"}), "`cwd` is for a server with"),
        (json!({"command": "", "url": "http://h", "sandbox": {}}), "`sandbox` is for a server with"),
    ] {
        let refused = refused(with(&keys));
        assert!(refused.starts_with(part), "{keys}: {refused}");
    }
}

#[test]
fn every_key_refuses_what_makes_no_sense() {
    for (keys, part) in [
        (json!({"prefix": "A"}), "`prefix` is `A`"),
        (json!({"start_timeout_secs": 0}), "`start_timeout_secs` is 0, and must lie between 1 and 604800"),
        (json!({"list_timeout_secs": 0}), "`list_timeout_secs` is 0"),
        (json!({"call_timeout_secs": 0}), "`call_timeout_secs` is 0"),
        (json!({"call_total_secs": 0}), "`call_total_secs` is 0"),
        (json!({"call_total_secs": u64::MAX}), "`call_total_secs` is 18446744073709551615"),
        (json!({"idle_stop_secs": u64::MAX}), "`idle_stop_secs` is"),
        (json!({"max_in_flight": 0}), "`max_in_flight` is 0, and must lie between 1 and 1024"),
        (json!({"max_in_flight": 1025}), "`max_in_flight` is 1025"),
        (json!({"pin": "maybe"}), "`pin` is \"maybe\", and must be one of \"quarantine\", \"warn\", \"off\""),
        (json!({"include": [""]}), "`include` holds an empty pattern"),
        (json!({"exclude": ["x".repeat(257)]}), "`exclude` holds a pattern of 257 bytes"),
        (json!({"exclude": vec!["x"; 257]}), "`exclude` holds more than 256 patterns"),
        (json!({"sandbox": {"network": "some"}}), "`sandbox.network` is \"some\""),
        (json!({"sandbox": {"memory_mb": 1}}), "`sandbox.memory_mb` is 1"),
        (json!({"sandbox": {"read": ["notes"]}}), "`sandbox.read` holds a path that is not absolute"),
        (json!({"sandbox": {"write": vec!["/a"; 129]}}), "`sandbox.write` holds more than 128"),
        (json!({"cwd": "notes"}), "`cwd` holds a path that is not absolute"),
        (json!({"cwd": "$NOWHERE"}), "`cwd` uses $NOWHERE"),
        (json!({"command": "$EMPTY"}), "`command` is empty once"),
        (json!({"command": "./server"}), "`command` is a path that depends on where"),
        (json!({"command": "bin/server"}), "`command` is a path that depends on where"),
        (json!({"name": "."}), "`name` is `.`, which means a directory: choose another"),
        (json!({"name": "x "}), "`name` is `x `, with a space at its beginning or end: leave it out"),
        (
            json!({"command": "${secret:API_KEY}"}),
            "`command` uses the secret API_KEY, and lists of processes",
        ),
        (
            json!({"args": ["a", "${secret:API_KEY}"]}),
            "`args` uses the secret API_KEY, and lists of processes",
        ),
        (json!({"args": ["$NOWHERE"]}), "`args` uses $NOWHERE, which is not set"),
        (json!({"args": ["$NUL"]}), "`args` holds a NUL"),
        (json!({"args": vec!["a"; 1025]}), "`args` holds more than 1024"),
        (json!({"env": {"A": "${secret:NONE}"}}), "`env.A` uses the secret NONE, and there is none"),
        (json!({"env": {"A": "$NOWHERE"}}), "`env.A` uses $NOWHERE"),
        (json!({"env": {"A=B": "x"}}), "`env.A=B` cannot name a variable"),
        (json!({"env": {"": "x"}}), "`env.` cannot name a variable"),
        (json!({"env": {"\u{1b}": "$NOWHERE"}}), "`env.\\u{1b}` uses $NOWHERE"),
    ] {
        let refused = refused(with(&keys));
        assert!(refused.starts_with(part), "{keys}: {refused}");
    }
}

#[test]
fn what_is_no_url_is_refused_and_not_quoted() {
    for url in [
        "hunter2.example",
        "ws://hunter2",
        "file:///hunter2",
        "http://",
        "http:///hunter2",
        "http://user:hunter2@",
        "http://:80/hunter2",
        "http://h/hunter2 b",
        "http://h/hunter2\u{1}",
        "http://h/#hunter2",
        "http://h/hunter2$NOWHERE",
        &format!("http://h/{}", "hunter2".repeat(2000)),
    ] {
        let refused = refused(json!({"name": "x", "url": url}));
        assert!(refused.starts_with("`url` ") && !refused.contains("hunter2"), "{refused}");
    }
    for url in ["HTTPS://h", "http://[::1]:1/mcp", "http://u@h?x=y", "https://h/%20"] {
        assert!(entry(json!({"name": "x", "url": url})).resolve(&Known).is_ok(), "{url}");
    }
}

proptest! {
    #[test]
    fn no_entry_panics_and_no_secret_is_in_a_refusal(
        name in ".{0,70}", command in ".{0,30}", arg in "([$~{}:]|secret:|API_KEY|x){0,9}", url in ".{0,30}",
        value in "([$~{}:]|secret:|API_KEY|x|\n){0,9}",
    ) {
        let keys = json!({"name": name, "command": command, "args": [arg], "env": {"A": value}});
        let web = json!({"name": "x", "url": format!("http://{url}"), "headers": {"A": value}});
        for keys in [keys, web] {
            if let Err(refused) = entry(keys).resolve(&Known) {
                prop_assert!(!refused.to_string().contains("value-of-the-key"));
            }
        }
    }
}
