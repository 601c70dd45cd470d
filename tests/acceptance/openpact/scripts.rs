//! Scripts: run by name or as sent, in a sandboxed child, with limits that hold and with no more than their caller may do.

use std::path::{Path, PathBuf};

use covenant_testkit::{Home, StdioClient, wait::until};
use serde_json::{Value, json};

use super::{client, failure, rows, text};
use crate::home;

/// Every script of these tests needs no approval: they are about what comes after it.
fn stage(config: &str, scripts: &[(&str, &str)]) -> Home {
    let home = home();
    let names: Vec<&str> = scripts.iter().map(|(name, _)| *name).collect();
    home.write(
        "config.toml",
        &format!(
            "[rate_limit]\nrate = 0\n{config}\n[scripts]\nmax_execution_ms = 60000\nallowlist = {names:?}\n"
        ),
    );
    for (name, text) in scripts {
        home.write(&format!("scripts/{name}.star"), text);
    }
    home
}

fn run(client: &mut StdioClient, name: &str) -> Value {
    client.call("script_run", json!({ "name": name }))
}

/// PACT-18, PACT-39, PACT-75: by name, with or without a function; the value is JSON in a text block.
#[test]
fn a_script_is_run_by_its_name() {
    let weather = "# @description: Says the weather.\n\
                   def main():\n    return {\"city\": \"Paris\", \"degrees\": [21, 4.5], \"wet\": None}\n\
                   def add(a, b):\n    return a + b\n";
    let home =
        stage("", &[("weather", weather), ("plain", "result = \"text\"\n"), ("names", "a = 1\n_b = 2\n")]);
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run"]);
    let listed = ada.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "script_run").unwrap();
    assert_eq!(tool["description"], "Execute a Starlark script");
    let told = ["name", "function", "args"].map(|name| {
        (
            tool["inputSchema"]["properties"][name]["type"].clone(),
            tool["inputSchema"]["properties"][name]["description"].clone(),
        )
    });
    let documented = [
        ("string", "Name of the script (without .star extension)"),
        ("string", "Optional function name to call"),
        ("array", "Optional arguments to pass to the function"),
    ];
    assert_eq!(told, documented.map(|(kind, words)| (json!(kind), json!(words))));
    assert_eq!(tool["inputSchema"]["required"], json!(["name"]));

    let answer = run(&mut ada, "weather");
    let value = json!({"city": "Paris", "degrees": [21, 4.5], "wet": null});
    assert_eq!(serde_json::from_str::<Value>(text(&answer)).unwrap(), value);
    assert_eq!(answer["result"]["structuredContent"], value);
    assert!(answer["result"]["_meta"]["duration_ms"].is_u64(), "{answer}");
    assert_eq!(text(&run(&mut ada, "weather.star")), text(&answer));
    assert_eq!(text(&run(&mut ada, "plain")), "\"text\"");
    assert_eq!(text(&run(&mut ada, "names")), "{\"a\":1}");
    let sum = json!({"name": "weather", "function": "add", "args": [1, 2]});
    assert_eq!(text(&ada.call("script_run", sum)), "3");
    let missing = json!({"name": "weather", "function": "nobody"});
    assert_eq!(
        failure(&ada.call("script_run", missing)),
        "Error: weather.star:1:1: the script has no function `nobody`"
    );
}

/// PACT-76: and whatever else is no name of a script is told the same.
#[test]
fn what_is_no_script_is_not_found() {
    let home = stage("", &[("weather", "result = 1\n")]);
    home.write("secret.star", "result = 1\n");
    home.write("scripts/sub/inner.star", "result = 1\n");
    std::os::unix::fs::symlink(home.path().join("secret.star"), home.path().join("scripts/link.star"))
        .unwrap();
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run", "script_exec"]);
    for name in ["nope", "", ".", "..", "WEATHER", "sub/inner", "weather.star.star", "new_feature"] {
        let shown = name.strip_suffix(".star").unwrap_or(name);
        assert_eq!(failure(&run(&mut ada, name)), format!("Error: script '{shown}' not found"), "{name}");
    }
    for (name, shown) in [
        ("../secret", "../secret"),
        ("a\u{0}b", "a\\0b"),
        ("x\u{1b}[2J", "x\\u{1b}[2J"),
        ("/etc/passwd", "/etc/passwd"),
    ] {
        assert_eq!(failure(&run(&mut ada, name)), format!("Error: script '{shown}' not found"));
    }
    assert!(failure(&run(&mut ada, "link")).starts_with("Error: script 'link' cannot be used: "));
    for arguments in [
        json!({}),
        json!({"name": 1}),
        json!({"name": "x".repeat(129)}),
        json!({"name": "weather", "args": "1"}),
        json!({"name": "weather", "args": vec![0; 65]}),
        json!({"name": "weather", "path": "/"}),
    ] {
        let answer = ada.call("script_run", arguments.clone());
        assert_eq!(answer["error"]["code"], -32602, "{arguments}: {answer}");
    }
    for arguments in [json!({}), json!({"code": ""}), json!({"code": 1}), json!({"code": "#".repeat(65_537)})]
    {
        assert_eq!(ada.call("script_exec", arguments)["error"]["code"], -32602);
    }
    let idle = ada.call("script_run", json!({"name": "weather", "args": [1]}));
    assert_eq!(failure(&idle), "Error: `args` are for a function: name it in `function`");
}

/// Each ends by itself, says why, and leaves the daemon as it was.
#[test]
fn limits_hold_against_whatever_a_script_does() {
    let loop_ = "def main():\n    n = 0\n    for i in range(1 << 40):\n        for j in range(1 << 40):\n            n += 1\n    return n\n";
    let mib = 128 << 20;
    let memory = format!("the script needs more than {mib} bytes of memory");
    let table: &[(&str, &str, String)] = &[
        ("list", "x = 1\nresult = [0] * (1 << 28)\n", format!("list.star:2:10: {memory}")),
        ("text", "result = \"x\" * (1 << 30)\n", format!("text.star:1:10: {memory}")),
        (
            "dict",
            "d = {}\ndef main():\n    for i in range(1 << 30):\n        d[i] = [i] * 10000\n",
            memory.clone(),
        ),
        ("shift", "result = 1 << (1 << 40)\n", "shift.star:1:".to_owned()),
        (
            "twice",
            "def main():\n    x = [1]\n    for i in range(60):\n        x += x\n    return x\n",
            memory,
        ),
        (
            "line",
            "result = \"x\" * (20 << 20)\n",
            "line.star:1:1: what it returns has more than 16 MiB".to_owned(),
        ),
        (
            "deep",
            "def main():\n    x = []\n    for i in range(100000):\n        x = [x]\n    return x\n",
            "nested".to_owned(),
        ),
        ("itself", "def f():\n    return f()\nresult = f()\n", "f() calls itself".to_owned()),
        (
            "parens",
            &format!("result = {}1{}\n", "(".repeat(5000), ")".repeat(5000)),
            "parens.star:1:".to_owned(),
        ),
        ("endless", loop_, "endless.star did not finish within 3000 ms and was ended".to_owned()),
        (
            "sleep",
            "def main():\n    for i in range(99):\n        time.sleep(5)\n",
            "sleep.star did not finish within 3000 ms and was ended".to_owned(),
        ),
    ];
    let scripts: Vec<(&str, &str)> = table.iter().map(|(name, text, _)| (*name, *text)).collect();
    let home = stage("", &[scripts.as_slice(), &[("good", "result = 1\n")]].concat());
    let daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run"]);
    for (name, _, words) in table {
        if *name == "endless" {
            let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
            home.write("config.toml", &config.replace("= 60000", "= 3000"));
            home.run(&["reload"]).ok();
        }
        let answer = run(&mut ada, name);
        assert!(failure(&answer).contains(words.as_str()), "{name}: {answer}");
    }
    assert_eq!(text(&run(&mut ada, "good")), "1");
    until("nothing is left of them", || children_of(daemon.pid()).is_empty().then_some(()));
}

#[test]
fn what_is_printed_is_heard_up_to_a_bound() {
    let flood = "def main():\n    print(\"first\", 1)\n    for i in range(2000):\n        print(\"y\" * 1000)\n    return 1\n";
    let home = stage("", &[("flood", flood)]);
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run"]);
    ada.request("logging/setLevel", json!({"level": "debug"}));
    ada.send(&json!({"jsonrpc": "2.0", "id": "f", "method": "tools/call", "params": {"name": "script_run", "arguments": {"name": "flood"}}}));
    let mut heard = Vec::new();
    let answer = loop {
        let message = ada.receive();
        if message["id"] == "f" {
            break message;
        }
        assert_eq!(message["params"]["logger"], "flood.star", "{message}");
        heard.push(message["params"]["data"].as_str().unwrap().to_owned());
    };
    assert_eq!(text(&answer), "1");
    assert_eq!(heard.first().map(String::as_str), Some("first 1"));
    assert_eq!(heard.last().map(String::as_str), Some("(what is printed from here on is not passed on)"));
    let bytes: usize = heard.iter().map(String::len).sum();
    assert!((60_000..70_000).contains(&bytes), "{bytes}");
}

#[test]
fn an_error_shows_the_line_and_the_way_to_it() {
    let bad = "x = 1\n\ndef main():\n    return helper(x)\n\ndef helper(y):\n    return y // 0\n";
    let home = stage(
        "",
        &[("bad", bad), ("load", "load(\"bad.star\", \"main\")\n"), ("name", "y = 1\nresult = open(y)\n")],
    );
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run"]);
    assert_eq!(
        failure(&run(&mut ada, "bad")),
        "Error: bad.star:7:12: division by zero\n  in function helper, line 7\n  in function main, line 4"
    );
    assert!(failure(&run(&mut ada, "load")).starts_with("Error: load.star:1:1: `load` is not available"));
    assert!(failure(&run(&mut ada, "name")).starts_with("Error: name.star:2:10: "));
}

/// The programs that evaluate scripts for that daemon.
fn children_of(daemon: u32) -> Vec<PathBuf> {
    let parent = |process: &Path| -> Option<u32> {
        let status = std::fs::read_to_string(process.join("status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
    };
    let evaluates = |process: &Path| {
        std::fs::read(process.join("cmdline")).is_ok_and(|line| line.ends_with(b"\0evaluate\0"))
    };
    let descends = |process: &Path| {
        let mut at = parent(process);
        while let Some(pid) = at.filter(|pid| *pid > 1 && *pid != daemon) {
            at = parent(&Path::new("/proc").join(pid.to_string()));
        }
        at == Some(daemon)
    };
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(|process| evaluates(process) && descends(process)).collect()
}

/// It has no privilege, no network and no sight of the home; and it ends with its call.
#[test]
fn a_script_runs_in_a_sandbox_and_ends_when_its_call_is_taken_back() {
    let home = stage("", &[("sleep", "def main():\n    for i in range(99):\n        time.sleep(5)\n")]);
    let daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run"]);
    let call = json!({"jsonrpc": "2.0", "id": "s", "method": "tools/call", "params": {"name": "script_run", "arguments": {"name": "sleep"}}});
    ada.send(&call);
    let process = until("it runs", || children_of(daemon.pid()).pop());
    let status = std::fs::read_to_string(process.join("status")).unwrap();
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"] {
        assert!(status.contains(line), "{line} is not in {status}");
    }
    let network = |process: &Path| std::fs::read_link(process.join("ns/net")).ok();
    if let Some(theirs) = network(&process) {
        assert_ne!(Some(theirs), network(Path::new("/proc/self")), "it has a network of its own");
        let inside = process.join("root").join(home.path().strip_prefix("/").unwrap());
        assert!(!inside.join("secrets.toml").exists() && !inside.join("covenant.db").exists());
    }
    let environment = std::fs::read_to_string(process.join("environ")).unwrap_or_default();
    assert!(
        !environment.contains("COVENANT_HOME") && !environment.contains("COVENANT_TOKEN"),
        "{environment}"
    );
    ada.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "s"}}));
    until("it has ended", || children_of(daemon.pid()).is_empty().then_some(()));

    ada.send(&call);
    until("it runs", || children_of(daemon.pid()).pop());
    drop(ada);
    until("it has ended with its client", || children_of(daemon.pid()).is_empty().then_some(()));

    let mut ada = client(&home, "bea", &["script_run"]);
    ada.send(&call);
    let process = until("it runs", || children_of(daemon.pid()).pop());
    daemon.kill();
    until("it has ended with its daemon", || (!process.exists()).then_some(()));
}

/// PACT-54: a script calls tools with what its caller may, one row each, and the gate counts them all.
#[test]
fn a_script_may_do_what_its_caller_may_and_no_more() {
    let scripts = [
        ("says", "def main():\n    return tools.call(\"echo\", {\"text\": \"hi\"})\n"),
        ("when", "def main():\n    return tools.call(\"clock\")[\"epoch_ms\"] > 0\n"),
        ("reads", "def main():\n    return tools.call(\"workspace_read\", {\"path\": \"x\"})\n"),
        ("wrong", "def main():\n    return tools.call(\"echo\", {\"words\": 1})\n"),
        ("fails", "def main():\n    return tools.call(\"script_run\", {\"name\": \"nope\"})\n"),
        ("deep", "def main():\n    return tools.call(\"script_run\", {\"name\": \"deep\"})\n"),
    ];
    let home = stage("", &scripts);
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run", "echo", "clock"]);
    assert_eq!(text(&run(&mut ada, "says")), "\"hi\"");
    assert_eq!(text(&run(&mut ada, "when")), "true");
    let refused = run(&mut ada, "reads");
    assert!(failure(&refused).starts_with("Error: reads.star:2:22: tools.call: "), "{refused}");
    assert!(failure(&refused).contains("tool.call.workspace_read"), "{refused}");
    assert!(failure(&run(&mut ada, "wrong")).starts_with("Error: wrong.star:2:22: tools.call: "));
    assert_eq!(
        failure(&run(&mut ada, "fails")),
        "Error: fails.star:2:22: tools.call: script 'nope' not found"
    );
    let deep = run(&mut ada, "deep");
    assert!(failure(&deep).ends_with("4 deep, and deeper ones are not made"), "{deep}");

    let rows: Vec<Value> = rows(&home).into_iter().filter(|row| row["kind"] == "CallFinished").collect();
    let echoed: Vec<&Value> = rows.iter().filter(|row| row["agent_id"] == "tool:echo").collect();
    assert_eq!(echoed.len(), 1, "{rows:#?}");
    let outer = rows.iter().find(|row| row["call"] == echoed[0]["parent"]).unwrap();
    assert_eq!((&outer["agent_id"], &outer["principal"]), (&json!("tool:script_run"), &json!("client:ada")));
    assert_eq!(echoed[0]["principal"], "client:ada");
    let nested = rows.iter().filter(|row| row["agent_id"] == "tool:script_run" && row["parent"].is_string());
    assert_eq!(nested.count(), 5, "four within `deep`, one within `fails`: {rows:#?}");
}

#[test]
fn calls_of_a_script_count_against_the_rate_of_its_caller() {
    let many = "def main():\n    for i in range(100):\n        tools.call(\"clock\")\n    return i\n";
    let home = stage("", &[("many", many)]);
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    home.write("config.toml", &config.replace("rate = 0", "rate = 0.01\nburst = 10"));
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run", "clock"]);
    let answer = run(&mut ada, "many");
    assert!(failure(&answer).starts_with("Error: many.star:3:19: tools.call: "), "{answer}");
    let rows = rows(&home);
    let calls = rows.iter().filter(|row| row["agent_id"] == "tool:clock" && row["kind"] == "CallFinished");
    assert!((1..10).contains(&calls.count()), "{rows:?}");
}

#[test]
fn a_script_gets_the_secrets_it_names_and_nobody_sees_them() {
    let told = "# @secrets: TOLD\ndef main():\n    t = secrets.get(\"TOLD\")\n    print(t)\n\
                \x20   return {\"told\": t, t: 1, \"twice\": [t + t], \"has\": secrets.has(\"TOLD\"), \"names\": secrets.list(), \"long\": len(t), \"echo\": tools.call(\"echo\", {\"text\": t})}\n";
    let scripts = [
        ("told", told),
        ("fails", "# @secrets: TOLD\ndef main():\n    fail(secrets.get(\"TOLD\"))\n"),
        ("key", "# @secrets: TOLD\ndef main():\n    return {}[secrets.get(\"TOLD\")]\n"),
        ("other", "# @secrets: TOLD\nresult = secrets.get(\"OTHER\")\n"),
        ("none", "result = [secrets.list(), secrets.get(\"TOLD\")]\n"),
        ("later", "x = 1\n# @secrets: TOLD\nresult = secrets.get(\"TOLD\")\n"),
        (
            "unset",
            "# @secrets: UNSET\nresult = [secrets.get(\"UNSET\"), secrets.has(\"UNSET\"), secrets.list()]\n",
        ),
    ];
    let home = stage("[logging]\nlevel = \"debug\"\n", &scripts);
    let (value, other) = ("sesame-open-123", "another-value-456");
    home.write("secrets.toml", &format!("[secrets]\nTOLD = \"{value}\"\nOTHER = \"{other}\"\n"));
    let daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run", "echo"]);
    ada.request("logging/setLevel", json!({"level": "debug"}));
    let mut said = String::new();
    for (name, words) in [
        ("told", "\"told\":\"[REDACTED:TOLD]\""),
        ("fails", "[REDACTED:TOLD]"),
        ("key", "[REDACTED:TOLD]"),
        ("other", "secrets.get: OTHER is not named at the top of the script"),
        ("none", "secrets.get: TOLD is not named at the top of the script"),
        ("later", "secrets.get: TOLD is not named at the top of the script"),
        ("unset", "[null,false,[]]"),
    ] {
        ada.send(&json!({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": "script_run", "arguments": {"name": name}}}));
        loop {
            let line = ada.line();
            said.push_str(&line);
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == name {
                let text = message["result"]["content"][0]["text"].as_str().unwrap();
                assert!(text.contains(words), "{name}: {message}");
                break;
            }
        }
    }
    assert!(said.contains("\"long\\\":15") && said.contains("\"has\\\":true"), "{said}");
    said.push_str(&home.run(&["logs", "-n", "100000"]).stdout);
    said.push_str(&home.run(&["audit", "recent", "-n", "1000", "--json"]).stdout);
    said.push_str(&daemon.printed());
    for secret in [value, other] {
        assert!(!said.contains(secret), "{said}");
    }
}

/// A script has no network but the daemon's, and that reaches nothing inside (hole 10 of the older system).
#[test]
fn a_script_reaches_no_address_inside() {
    let asks = "def get(url):\n    return http.get(url)[\"status\"]\n\
                def post(url):\n    return http.post(url, body = \"x\")[\"status\"]\n";
    let home = stage("", &[("asks", asks)]);
    let heard = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let own = heard.local_addr().unwrap().port();
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run"]);
    let inside = "and only the public Internet is reached; names can be let through by allow_hosts in [web] of config.toml, addresses cannot";
    let host = "and only the public Internet is reached; to let it through, add \"localhost\" to allow_hosts in [web] of config.toml";
    for (url, told) in [
        (format!("http://127.0.0.1:{own}/"), format!("127.0.0.1 is a loopback address, {inside}")),
        (format!("http://localhost:{own}/"), format!("localhost leads to a loopback address, {host}")),
        (format!("http://2130706433:{own}/"), format!("127.0.0.1 is a loopback address, {inside}")),
        (
            format!("http://[::ffff:127.0.0.1]:{own}/"),
            format!("[::ffff:127.0.0.1] is a loopback address, {inside}"),
        ),
        ("http://10.0.0.1/".to_owned(), format!("10.0.0.1 is a private address, {inside}")),
        ("http://192.168.0.1/".to_owned(), format!("192.168.0.1 is a private address, {inside}")),
        (
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            format!("169.254.169.254 is a link-local address, {inside}"),
        ),
        ("http://[fd00:ec2::254]/".to_owned(), format!("[fd00:ec2::254] is a private address, {inside}")),
        (
            "file:///etc/passwd".to_owned(),
            "only addresses that begin with http:// or https:// can be asked for".to_owned(),
        ),
    ] {
        for (function, place) in [("get", "2:20"), ("post", "4:21")] {
            let call = json!({"name": "asks", "function": function, "args": [url]});
            let answer = ada.call("script_run", call);
            let said = failure(&answer).lines().next().unwrap_or_default().to_owned();
            assert_eq!(said, format!("Error: asks.star:{place}: http.{function}: {told}"), "{url}");
        }
    }
    heard.set_nonblocking(true).unwrap();
    let nobody = heard.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "nobody came");
}

/// The daemon is not asked.
#[test]
fn a_file_is_checked_without_a_daemon() {
    let home = home();
    let good = "# @description: Adds.\n# @author: Ada\n# @secrets: KEY\ndef add(a, b):\n    return a + b\n";
    home.write("good.star", good);
    home.write("bad.star", "x = 1\nresult = open(x)\n");
    let file = |name: &str| home.path().join(name).display().to_string();
    let ran = home.run(&["scripts", "check", &file("good.star"), "--no-start"]).ok();
    for words in ["Adds.", "Ada", "KEY", "add"] {
        assert!(ran.stdout.contains(words), "{ran:?}");
    }
    let ran = home.run(&["scripts", "check", &file("good.star"), "--json"]).ok().json();
    assert_eq!((&ran["ok"], &ran["script"]["functions"]), (&json!(true), &json!(["add"])));
    let ran = home.run(&["scripts", "check", &file("bad.star")]);
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.stderr.contains(&format!("{}:2:10: ", file("bad.star"))), "{ran:?}");
    let ran = home.run(&["scripts", "check", &file("bad.star"), "--json"]);
    assert_eq!((ran.code(), &ran.json()["error"]["line"]), (1, &json!(2)));
    let told: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(told["error"]["code"], "failed", "{ran:?}");
    home.write("odd.star", "# @descripton: Adds.\nx = 1\n");
    let ran = home.run(&["scripts", "check", &file("odd.star")]).ok();
    assert!(ran.stderr.contains(":1:4: `@descripton` says nothing"), "{ran:?}");
    home.write("odd.star", "# @secrets: lower, B C\nx = 1\n");
    let ran = home.run(&["scripts", "check", &file("odd.star")]).exits(1);
    assert!(ran.stderr.contains(":1:13: `lower` cannot name a secret"), "{ran:?}");
    for missing in ["none.star", ""] {
        home.run(&["scripts", "check", &file(missing)]).exits(2);
    }
    assert!(!home.path().join("sock").exists(), "no daemon was started");
}

/// What the operator is told of scripts that are not there, cannot be used, or lack a secret.
#[test]
fn a_person_is_told_what_is_wrong_with_scripts_and_what_to_do() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = home();
    let _daemon = home.up();
    let shelf = home.path().join("scripts");
    let none = home.run(&["scripts", "list"]).ok().stderr;
    assert!(none.contains(&format!("into {} as NAME.star", shelf.display())), "{none}");
    let unnamed = home.run(&["scripts", "show", ""]).exits(2);
    assert!(unnamed.stderr.contains("covenant scripts list"), "{unnamed:?}");

    home.write("scripts/weather.star", "# @secrets: WEATHER_KEY\nresult = 1\n");
    home.write("scripts/bad name.star", "result = 1\n");
    std::fs::create_dir(shelf.join("dir.star")).unwrap();
    let list = home.run(&["scripts", "list"]).ok().stdout;
    for (name, reason) in [("bad name", "give the file another"), ("dir", "it is a directory")] {
        let line = list.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{list}"));
        assert!(line.contains("unusable") && line.contains(reason), "{line}");
    }
    home.run(&["capabilities", "grant", "tool.call.script_run"]).ok();
    home.run(&["tools", "call", "script_run", "--args", "{\"name\": \"weather\"}"]).exits(1);
    let waiting = home.run(&["approvals", "list", "--json"]).ok().json();
    let id = waiting[0]["id"].as_str().unwrap();
    let unset = "WEATHER_KEY (not set); set it with: covenant secrets set WEATHER_KEY";
    for arguments in [["scripts", "show", "weather"], ["approvals", "show", id]] {
        let shown = home.run(&arguments).ok().stdout;
        assert!(shown.contains(unset), "{shown}");
    }
    home.command(&["secrets", "set", "WEATHER_KEY"]).input("key-of-the-weather").run().ok();
    let shown = home.run(&["scripts", "show", "weather"]).ok().stdout;
    assert!(shown.contains("WEATHER_KEY\n"), "{shown}");

    std::fs::set_permissions(&shelf, std::fs::Permissions::from_mode(0o777)).unwrap();
    let advice = format!("chmod go-w {}", shelf.display());
    let list = home.run(&["scripts", "list"]).exits(1);
    assert!(list.stderr.contains("can be written by others") && list.stderr.contains(&advice), "{list:?}");
    let doctor = home.run(&["doctor"]).stdout;
    assert!(doctor.contains("no script can be used") && doctor.contains(&advice), "{doctor}");
}
