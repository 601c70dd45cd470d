//! Bad servers behind a URL: each beside a good one, each fails as documented, and the good one and our own tools answer.

use covenant_testkit::wait::until;
use covenant_testkit::{Home, StdioClient, Upstream};
use serde_json::{Value, json};

use super::stage::{Stage, failure, others_answer, text};
use crate::home;

/// What must come of a server.
#[derive(Clone, Copy)]
enum Outcome {
    /// Its echo works, again and again.
    Works,
    /// It is ready, and a call of it fails with that in the sentence.
    Fails(&'static str),
    /// It is never ready, and its status holds that.
    Down(&'static str),
}

use Outcome::{Down, Fails, Works};

/// A name, the words of the program, and what must come of it.
type Row = (&'static str, &'static [&'static str], Outcome);

const ROWS: &[Row] = &[
    ("no-get", &["legacy", "no-get"], Works),
    ("forgets", &["legacy", "forget=6"], Works),
    ("streams", &["streams"], Works),
    ("garbage", &["legacy", "garbage@*"], Works),
    ("twice", &["legacy", "twice@tools/call"], Works),
    ("flood", &["legacy", "flood@tools/call"], Works),
    ("html", &["legacy", "html@tools/call"], Fails("with text/html")),
    ("html-modern", &["modern", "html@tools/call"], Fails("with text/html")),
    ("broken", &["legacy", "broken@tools/call"], Fails("500")),
    ("empty", &["legacy", "empty@tools/call"], Fails("with no JSON")),
    ("cut", &["legacy", "cut@tools/call"], Fails("closed its stream without an answer")),
    ("cut-modern", &["modern", "cut@tools/call"], Fails("closed its stream without an answer")),
    ("shapeless", &["shapeless@tools/call"], Fails("result")),
    ("error", &["error@tools/call"], Fails("told to fail")),
    ("wrong-id", &["legacy", "wrong-id@tools/call"], Fails("with another id")),
    ("huge", &["legacy", "huge@tools/call"], Fails("bytes")),
    ("never", &["legacy", "never@tools/call"], Fails("said nothing for 1 s")),
    ("all-html", &["html@*"], Down("with text/html")),
    ("all-broken", &["broken@*"], Down("500")),
    ("closed", &["needs=another-token-than-ours"], Down("401")),
    ("never-greets", &["legacy", "never@initialize"], Down("did not answer")),
];

#[track_caller]
fn check(stage: &Stage<'_>, client: &mut StdioClient, name: &str, outcome: Outcome) {
    let mut call = || client.call(&format!("{name}__echo"), json!({"text": "x"}));
    match outcome {
        Works => {
            stage.ready(name);
            for _ in 0..8 {
                assert_eq!(text(&call()), "x");
            }
        }
        Fails(why) => {
            stage.ready(name);
            let said = failure(&call(), name);
            assert!(said.contains(why), "{said} says nothing of `{why}`");
        }
        Down(why) => until(&format!("`{name}` is down for `{why}`"), || {
            let now = stage.server(name);
            eprintln!("{name}: {} {}", now["state"], now["error"]);
            assert_ne!(now["state"], "ready", "{now}");
            now["error"].as_str().is_some_and(|said| said.contains(why)).then_some(())
        }),
    }
}

fn upstream(home: &Home, (name, words, outcome): &Row) -> Upstream {
    let server = Upstream::http(home, name, words);
    match outcome {
        Down(_) => server.key("start_timeout_secs", 1),
        Fails("said nothing for 1 s") => server.key("call_timeout_secs", 1),
        _ => server,
    }
}

#[test]
fn whatever_a_server_elsewhere_does_the_others_answer() {
    let home = home();
    let good = Upstream::http(&home, "good", &[]);
    let bad: Vec<Upstream> = ROWS.iter().map(|row| upstream(&home, row)).collect();
    let nobody = Upstream::url(&home, "nobody", "http://127.0.0.1:1/mcp").key("start_timeout_secs", 1);
    let cut = Upstream::sse(&home, "cut-events", &["cut@tools/call"]);
    let all: Vec<&Upstream> = [&good, &nobody, &cut].into_iter().chain(&bad).collect();
    let stage = Stage::with(&home, &all);
    let mut client = stage.client();
    stage.ready("good");
    for (name, words, outcome) in ROWS {
        eprintln!("{name}: {words:?}");
        check(&stage, &mut client, name, *outcome);
        others_answer(&mut client);
    }
    check(&stage, &mut client, "nobody", Down("could not be reached: Connection refused"));
    check(&stage, &mut client, "cut-events", Fails("closed its stream"));
    others_answer(&mut client);
}

/// A redirect could carry credentials to whoever it names, and so could an endpoint elsewhere: neither is followed.
#[test]
fn nothing_is_sent_where_a_server_points() {
    let home = home();
    let good = Upstream::stdio(&home, "good", &[]);
    let thief = Upstream::http(&home, "thief", &[]);
    let to = format!("to=http://localhost:{}/mcp", thief.port());
    let secret = "a-token-for-one-server-only";
    let headers = format!("{{ Authorization = \"Bearer {secret}\" }}");
    let away = Upstream::http(&home, "away", &["redirect@*", &to]).key("headers", &headers);
    let later =
        Upstream::http(&home, "later", &["legacy", "redirect@tools/call", &to]).key("headers", &headers);
    let endpoint = Upstream::sse(&home, "endpoint", &["endpoint@endpoint", &to]).key("headers", &headers);
    let (away, endpoint) = (away.key("start_timeout_secs", 2), endpoint.key("start_timeout_secs", 2));
    let stage = Stage::with(&home, &[&good, &away, &later, &endpoint]);
    let mut client = stage.client();
    stage.ready("good");
    check(&stage, &mut client, "away", Down("redirect"));
    check(&stage, &mut client, "later", Fails("redirect"));
    check(&stage, &mut client, "endpoint", Down("wants messages sent to another place"));
    others_answer(&mut client);
    let reached: Vec<Value> = thief.record().into_iter().filter(|line| line.get("way").is_some()).collect();
    assert!(reached.is_empty(), "{reached:?}");
    assert!(!stage.servers().to_string().contains(secret));
}

/// A URL without a path is tried as it is, and then where such servers mostly are.
#[test]
fn a_url_without_a_path_finds_its_server() {
    let home = home();
    let served = Upstream::http(&home, "served", &[]);
    let at_root = Upstream::http(&home, "at-root", &["path=/"]);
    let found = Upstream::url(&home, "found", &format!("http://127.0.0.1:{}", served.port()));
    let root = Upstream::url(&home, "root", &format!("http://127.0.0.1:{}", at_root.port()));
    let stage = Stage::with(&home, &[&found, &root]);
    let mut client = stage.client();
    check(&stage, &mut client, "found", Works);
    check(&stage, &mut client, "root", Works);
}
