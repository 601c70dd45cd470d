//! One bad server and one session of one client, through all that happens to them: two sessions, a hung call, a crash, and
//! the end of the daemon in order and not. Elsewhere each of these is shown by itself.

use std::time::{Duration, Instant};

use covenant_testkit::wait::until;
use covenant_testkit::{Home, HttpClient, Upstream};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::left::alive;
use super::stage::{Stage, failure, text};
use crate::home;

/// How long a call may be silent.
const SILENCE: u64 = 2;

/// It ends neither with its input nor when it is asked to.
fn sticky(home: &Home, mark: &str) -> Upstream {
    Upstream::stdio(home, "one", &["sticky", mark]).key("call_timeout_secs", SILENCE)
}

fn session(stage: &Stage<'_>, token: &str) -> HttpClient {
    let mut client = HttpClient::new(stage.port, token);
    client.initialize();
    client
}

#[track_caller]
fn echoes(client: &mut HttpClient) {
    assert_eq!(text(&client.call("one__echo", json!({"text": "hello"}))), "hello");
}

#[test]
fn a_bad_server_is_borne_from_its_first_call_to_the_end_of_the_daemon() {
    let home = home();
    let mark = format!("name=robust-{}", std::process::id());
    let server = sticky(&home, &mark);
    let stage = Stage::with(&home, &[&server]);
    stage.ready("one");
    let token = stage.token("ada");
    let mut client = session(&stage, &token);
    echoes(&mut client);
    echoes(&mut session(&stage, &token));
    assert_eq!(alive(&mark).len(), 1, "two sessions share a process");

    hangs(&mut client, &server);

    // A crash is told, and the session goes on; so does a new one.
    failure(&client.call("one__crash", json!({})), "one");
    let since = Instant::now();
    echoes(&mut client);
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    echoes(&mut session(&stage, &token));
    assert_eq!((alive(&mark).len(), server.count("started")), (1, 2));

    stage.daemon.signal(Signal::TERM);
    let (code, printed) = stage.daemon.ended();
    assert_eq!(code, 0, "{printed}");
    until("nothing is left after SIGTERM", || alive(&mark).is_empty().then_some(()));

    // The next daemon goes on with the same client, and may end as badly as can be.
    let stage = Stage::up(&home);
    echoes(&mut session(&stage, &token));
    assert_eq!(alive(&mark).len(), 1);
    stage.daemon.signal(Signal::KILL);
    stage.daemon.ended();
    until("nothing is left after SIGKILL", || alive(&mark).is_empty().then_some(()));
}

/// A hung call ends in its time, and other calls of the same session are answered meanwhile.
fn hangs(client: &mut HttpClient, server: &Upstream) {
    let params = json!({"name": "one__hang", "arguments": {}});
    let message = json!({"jsonrpc": "2.0", "id": "hung", "method": "tools/call", "params": params});
    let since = Instant::now();
    let hung = client.begin(&client.in_session(client.legacy(&message)));
    let is_hang = |call: &Value| call["params"]["name"] == "hang";
    until("the call has arrived", || server.heard("tools/call").iter().any(is_hang).then_some(()));
    echoes(client);
    let answers = hung.answer().messages();
    let said = failure(answers.last().unwrap_or(&Value::Null), "one");
    assert!(said.contains(&format!("said nothing for {SILENCE} s")), "{said}");
    assert!(since.elapsed() >= Duration::from_secs(SILENCE), "{:?}", since.elapsed());
}
