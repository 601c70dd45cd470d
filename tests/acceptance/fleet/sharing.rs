//! When a server runs and who shares it: lazy start, idle stop, isolation, and how many calls at a time.

use covenant_testkit::wait::until;
use covenant_testkit::{HttpClient, Upstream};
use serde_json::{Value, json};

use super::stage::{Stage, failure, names, text, until_listed};
use crate::home;

#[test]
fn a_lazy_server_runs_when_it_is_called() {
    let home = home();
    let lazy = Upstream::stdio(&home, "lazy", &[]).key("start", json!("lazy"));
    let stage = Stage::with(&home, &[&lazy]);
    let mut client = stage.client();
    // Somebody has to look once what it has.
    until_listed(&mut client, "lazy__echo", true);
    stage.daemon.stop();
    let before = lazy.count("started");
    let stage = Stage::up(&home);
    assert_eq!(stage.server("lazy")["state"], "stopped");
    let mut client = stage.client();
    assert!(names(&mut client).iter().any(|name| name == "lazy__echo"));
    assert_eq!(lazy.count("started"), before, "to be listed is no reason to run");
    assert_eq!(text(&client.call("lazy__echo", json!({"text": "now"}))), "now");
    assert_eq!((lazy.count("started"), &stage.server("lazy")["state"]), (before + 1, &json!("ready")));
}

#[test]
fn an_idle_server_is_stopped_and_the_next_call_starts_it() {
    let home = home();
    let idle = Upstream::stdio(&home, "idle", &[]).key("idle_stop_secs", 1);
    let stage = Stage::with(&home, &[&idle]);
    stage.ready("idle");
    let mut client = stage.client();
    for round in 1..=2 {
        assert_eq!(text(&client.call("idle__echo", json!({"text": "x"}))), "x");
        stage.until_state("idle", "stopped");
        until("it has ended", || (idle.count("ended") == round).then_some(()));
        assert!(names(&mut client).iter().any(|name| name == "idle__echo"));
    }
    // A long call is no idleness.
    let long = json!({"steps": 3, "ms": 700});
    assert_eq!(text(&client.call("idle__slow", long)), "3 steps");
}

fn process(client: &mut HttpClient, server: &str) -> u64 {
    let answer = client.call(&format!("{server}__self"), json!({}));
    answer["result"]["structuredContent"]["pid"].as_u64().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_server_is_shared_by_whom_its_entry_says() {
    let home = home();
    let shared = Upstream::stdio(&home, "shared", &[]);
    let principal = Upstream::stdio(&home, "principal", &[]).key("isolation", json!("principal"));
    let session = Upstream::stdio(&home, "session", &[]).key("isolation", json!("session"));
    let stage = Stage::with(&home, &[&shared, &principal, &session]);
    for name in ["shared", "principal", "session"] {
        until(&format!("the tools of `{name}` are known"), || {
            (stage.server(name)["tool_count"] != 0).then_some(())
        });
    }
    let (ada, bob) = (stage.token("ada"), stage.token("bob"));
    let open = |token: &str| {
        let mut client = HttpClient::new(stage.port, token);
        client.initialize();
        client
    };
    let mut clients = [open(&ada), open(&ada), open(&bob)];
    let mut processes = |server: &str| clients.each_mut().map(|client| process(client, server));
    let [one, again, other] = processes("shared");
    assert!(one == again && again == other);
    let [one, again, other] = processes("principal");
    assert!(one == again && again != other, "{one} {again} {other}");
    let [one, again, other] = processes("session");
    assert!(one != again && again != other && one != other, "{one} {again} {other}");
    assert_eq!(processes("session"), [one, again, other], "and each keeps its own");
    // A session that ends takes its process along.
    let gone = one.to_string();
    let [mut first, _second, _third] = clients;
    assert!(first.end().status < 300);
    until("its process has ended", || (!std::path::Path::new("/proc").join(&gone).exists()).then_some(()));
}

#[test]
fn calls_beyond_the_limit_wait_and_then_are_refused_with_a_sentence() {
    let home = home();
    let narrow = Upstream::stdio(&home, "narrow", &[]).key("max_in_flight", 1);
    let stage = Stage::with(&home, &[&narrow]);
    stage.ready("narrow");
    let mut client = stage.client();
    let mut other = stage.client();
    let call = |id: u64| {
        let arguments = json!({"steps": 1, "ms": 300});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "narrow__slow", "arguments": arguments}})
    };
    // Two: one after the other, both well.
    client.send(&call(1));
    client.send(&call(2));
    for _ in 0..2 {
        assert_eq!(text(&client.receive()), "1 steps");
    }
    // Very many: some are told that it is busy, at once, and the rest of the house goes on.
    for id in 0..300 {
        client.send(&call(id));
    }
    let refused: Value = until("one is refused", || {
        let answer = client.receive();
        (answer["result"]["isError"] == true).then_some(answer)
    });
    let said = failure(&refused, "narrow");
    assert!(said.contains("busy") || said.contains("in flight") || said.contains("at a time"), "{said}");
    assert_eq!(text(&other.call("echo", json!({"text": "aside"}))), "aside");
    assert!(narrow.heard("tools/call").len() < 250);
}
