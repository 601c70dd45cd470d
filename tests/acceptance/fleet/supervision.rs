//! A server that dies, hangs or keeps failing: what its callers are told, and how it comes back.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use covenant_testkit::wait::until;
use covenant_testkit::{Home, Upstream};
use serde_json::{Value, json};

use super::stage::{Stage, failure, names, others_answer, text, until_listed};
use crate::home;

/// A server that is started by way of a script, which a test can change.
struct Scripted {
    path: PathBuf,
    server: Upstream,
}

impl Scripted {
    fn new(home: &Home, name: &str) -> Self {
        let path = home.beside(&format!("{name}.sh"));
        let server = Upstream::command(home, name, &path.display().to_string(), &[]);
        let scripted = Self { path, server };
        scripted.begins_with(home, "");
        scripted
    }

    /// From now on it does that first.
    fn begins_with(&self, home: &Home, line: &str) {
        let program = home.program().with_file_name("server");
        let fresh = self.path.with_extension("fresh");
        std::fs::write(&fresh, format!("#!/bin/sh\n{line}\nexec '{}' stdio\n", program.display())).unwrap();
        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(&fresh, &self.path).unwrap();
    }
}

/// A crash fails the call with what is known of it, and the next call of the same session is answered.
#[test]
fn a_crash_is_told_with_its_cause_and_the_session_goes_on() {
    let home = home();
    let good = Upstream::stdio(&home, "good", &[]);
    let fragile = Upstream::stdio(&home, "fragile", &[]);
    let stage = Stage::with(&home, &[&good, &fragile]);
    stage.ready("good");
    stage.ready("fragile");
    let mut client = stage.client();
    for round in 1..=2_usize {
        let said = failure(&client.call("fragile__crash", json!({})), "fragile");
        assert!(said.contains('7') && said.contains("fatal: told to die at crash"), "{said}");
        let since = Instant::now();
        assert_eq!(text(&client.call("fragile__echo", json!({"text": "again"}))), "again");
        // A second on an idle machine (the benchmark holds it to that); tests share theirs.
        assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
        assert_eq!(fragile.count("started"), round + 1);
        others_answer(&mut client);
    }
    assert_eq!(stage.ready("fragile")["restarts"], 2);
    let logged = home.run(&["mcp", "logs", "fragile"]).ok().stdout;
    assert!(logged.contains("fatal: told to die at crash"), "{logged}");
    let none = home.run(&["mcp", "logs", "fragile", "-n", "0"]).ok();
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", ""), "it has written something");
}

/// A crash while nobody calls is seen too, and calls in flight fail with it rather than at their timeout.
#[test]
fn a_server_that_is_killed_comes_back_and_its_calls_fail_at_once() {
    let home = home();
    let server = Upstream::stdio(&home, "killed", &[]);
    let stage = Stage::with(&home, &[&server]);
    stage.ready("killed");
    let mut client = stage.client();
    let mut other = stage.client();
    let pid = process(&client.call("killed__self", json!({})));
    other.send(&json!({"jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": {"name": "killed__hang", "arguments": {}}}));
    until("the call has arrived", || (server.heard("tools/call").len() == 2).then_some(()));
    kill(pid);
    let answer = other.receive();
    assert_eq!(answer["id"], "h");
    let said = failure(&answer, "killed");
    assert!(said.contains('9') || said.contains("KILL"), "{said}");
    assert_ne!(process(&client.call("killed__self", json!({}))), pid);
}

fn process(answer: &Value) -> u32 {
    let pid = answer["result"]["structuredContent"]["pid"].as_u64().unwrap_or_else(|| panic!("{answer}"));
    u32::try_from(pid).unwrap()
}

fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// What was marked as harmless to repeat is repeated once; anything else never.
#[test]
fn only_a_call_that_may_be_repeated_is_repeated() {
    let home = home();
    let server = Upstream::stdio(&home, "flaky", &[]);
    let stage = Stage::with(&home, &[&server]);
    stage.ready("flaky");
    let mut client = stage.client();
    assert_eq!(text(&client.call("flaky__flaky_read", json!({}))), "the second time");
    failure(&client.call("flaky__flaky_write", json!({})), "flaky");
    stage.ready("flaky");
    let calls = server.heard("tools/call");
    let count = |name: &str| calls.iter().filter(|call| call["params"]["name"] == name).count();
    assert_eq!((count("flaky_read"), count("flaky_write")), (2, 1));
}

/// A hung call ends in time, is called off upstream under its own id, and holds nobody up.
#[test]
fn a_hung_call_is_bounded_and_called_off() {
    let home = home();
    let good = Upstream::stdio(&home, "good", &[]);
    let hung =
        Upstream::stdio(&home, "hung", &["legacy"]).key("call_timeout_secs", 2).key("call_total_secs", 3);
    let stage = Stage::with(&home, &[&good, &hung]);
    stage.ready("good");
    stage.ready("hung");
    let mut client = stage.client();
    let mut other = stage.client();
    client.send(&json!({"jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": {"name": "hung__hang", "arguments": {}}}));
    until("the call has arrived", || (!hung.heard("tools/call").is_empty()).then_some(()));
    assert_eq!(text(&other.call("hung__echo", json!({"text": "beside it"}))), "beside it");
    others_answer(&mut other);
    let said = failure(&client.receive(), "hung");
    assert!(said.contains("said nothing for 2 s"), "{said}");
    let id = hung.heard("tools/call")[0]["id"].clone();
    until("the call is called off", || {
        let cancelled = hung.heard("notifications/cancelled");
        cancelled.iter().any(|message| message["params"]["requestId"] == id).then_some(())
    });
    // Progress is no silence, but there is an end to that too.
    let busy =
        json!({"name": "hung__slow", "arguments": {"steps": 100, "ms": 200}, "_meta": {"progressToken": 1}});
    let said = failure(&client.request("tools/call", busy), "hung");
    assert!(said.contains("did not finish within 3 s"), "{said}");
    assert_eq!(hung.count("started"), 1, "a slow call is no reason to start it again");
}

/// Fails again and again: it is left alone, with the reason, until somebody wants it and it can.
#[test]
fn a_server_that_keeps_failing_is_quarantined_until_it_is_wanted() {
    let home = home();
    let scripted = Scripted::new(&home, "sick");
    let good = Upstream::stdio(&home, "good", &[]);
    let stage = Stage::with(&home, &[&good, &scripted.server]);
    stage.ready("good");
    stage.ready("sick");
    let mut client = stage.client();
    scripted.begins_with(&home, "echo 'no licence' >&2; exit 3");
    failure(&client.call("sick__crash", json!({})), "sick");
    let now = stage.until_state("sick", "quarantined");
    let said = now["error"].as_str().unwrap();
    assert!(said.contains('3') && said.contains("no licence"), "{said}");
    assert!(names(&mut client).iter().any(|name| name == "sick__echo"), "it stays in sight, to be woken");

    // Wanted while it still cannot: the caller is told why, soon.
    let said = failure(&client.call("sick__echo", json!({"text": "x"})), "sick");
    assert!(said.contains("no licence"), "{said}");
    scripted.begins_with(&home, "");
    until("a call wakes it", || {
        let answer = client.call("sick__echo", json!({"text": "awake"}));
        (answer["result"]["isError"] != true).then(|| assert_eq!(text(&answer), "awake"))
    });
    stage.ready("sick");

    scripted.begins_with(&home, "exit 3");
    failure(&client.call("sick__crash", json!({})), "sick");
    stage.until_state("sick", "quarantined");
    scripted.begins_with(&home, "");
    home.run(&["mcp", "restart", "sick"]).ok();
    stage.ready("sick");
    assert_eq!(text(&client.call("sick__echo", json!({"text": "well"}))), "well");
    others_answer(&mut client);
}

/// What is known of a server is offered while it starts, and a call waits for it.
#[test]
fn tools_are_listed_from_memory_while_their_server_starts() {
    let home = home();
    let scripted = Scripted::new(&home, "late");
    let stage = Stage::with(&home, &[&scripted.server]);
    stage.ready("late");
    stage.daemon.stop();
    let open = home.beside("open");
    scripted.begins_with(&home, &format!("while [ ! -e '{}' ]; do sleep 0.02; done", open.display()));
    let stage = Stage::up(&home);
    assert_eq!(stage.server("late")["state"], "starting");
    let mut client = stage.client();
    assert!(names(&mut client).iter().any(|name| name == "late__echo"));
    client.send(&json!({"jsonrpc": "2.0", "id": "e", "method": "tools/call", "params": {"name": "late__echo", "arguments": {"text": "at last"}}}));
    let mut other = stage.client();
    assert_eq!(text(&other.call("echo", json!({"text": "meanwhile"}))), "meanwhile");
    std::fs::write(&open, "").unwrap();
    assert_eq!(text(&client.receive()), "at last");
}

/// Of fifty servers ten hang and ten die at start: nobody waits for those.
#[test]
fn of_fifty_servers_the_thirty_good_ones_are_there() {
    let home = home();
    let make = |number: usize| {
        let words: &[&str] = match number % 5 {
            0 => &["never@start"],
            1 => &["die@start"],
            _ => &["offers=echo"],
        };
        // Patience with those that hang, so that it is seen that nobody else waits for them.
        Upstream::stdio(&home, &format!("s{number}"), words).key("start_timeout_secs", 120)
    };
    let servers: Vec<Upstream> = (0..50).map(make).collect();
    let all: Vec<&Upstream> = servers.iter().collect();
    let stage = Stage::with(&home, &all);
    let document = stage.servers();
    assert_eq!(document["total"], 50);
    let hanging = stage.server("s0");
    assert_eq!(hanging["state"], "starting", "the daemon is ready before anything gave up: {hanging}");
    let mut client = stage.client();
    let mut seen = 0;
    until("thirty servers are listed", || {
        seen = names(&mut client).iter().filter(|name| name.ends_with("__echo")).count();
        (seen == 30).then_some(())
    });
    assert_eq!(stage.server("s0")["state"], "starting", "they did not wait for those that hang");
    assert_eq!(stage.servers()["connected"], 30);
    assert_eq!(text(&client.call("s2__echo", json!({"text": "here"}))), "here");
}

/// The difference is announced when a server comes back with other tools, or says that they changed.
#[test]
fn a_change_of_tools_is_announced_and_only_a_change() {
    let home = home();
    let server = Upstream::stdio(&home, "grows", &["legacy"]);
    let modern = Upstream::http(&home, "web", &["modern"]);
    let stage = Stage::with(&home, &[&server, &modern]);
    stage.ready("grows");
    stage.ready("web");
    let mut watcher = stage.client();
    let mut client = stage.client();
    for (tool, added) in [("grows__more", "grows__novel"), ("web__more", "web__novel")] {
        while watcher.try_receive().is_some() {}
        assert_eq!(text(&client.call(tool, json!({"name": "novel"}))), "changed");
        assert_eq!(watcher.receive()["method"], "notifications/tools/list_changed");
        until_listed(&mut watcher, added, true);
        assert_eq!(text(&watcher.call(added, json!({}))), "novel of fixture");
    }
    while watcher.try_receive().is_some() {}
    failure(&client.call("grows__crash", json!({})), "grows");
    until_listed(&mut watcher, "grows__novel", false);
}

/// What became of servers is on record, and counted.
#[test]
fn the_life_of_a_server_is_in_the_log_and_in_the_metrics() {
    let home = home();
    let good = Upstream::stdio(&home, "good", &[]);
    let bad = Upstream::stdio(&home, "bad", &["die@start"]);
    let stage = Stage::with(&home, &[&good, &bad]);
    stage.ready("good");
    stage.until_state("bad", "quarantined");
    let page = covenant_testkit::http::get(stage.port, "/metrics", "localhost", "");
    for line in ["covenant_servers{state=\"ready\"} 1", "covenant_servers{state=\"quarantined\"} 1"] {
        assert!(page.contains(line), "{page}");
    }
    let rows = home.run(&["audit", "recent", "-n", "200", "--json"]).ok().json_lines();
    for name in ["good", "bad"] {
        let of_server = |row: &&Value| {
            row.to_string().contains(name) && row["kind"].as_str().unwrap().starts_with("Server")
        };
        assert!(rows.iter().any(|row| of_server(&row)), "{name}: {rows:?}");
    }
    home.run(&["audit", "verify"]).ok();
}
