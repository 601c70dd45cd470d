//! Whose turn it is, where only so many run at a time.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use covenant_testkit::wait::LONG;
use serde_json::{Value, json};

use super::stage::{Language, Stage, install};
use crate::home;

const MORE: &str = "[capabilities]\noptional = [\"tool.call.workspace_*\"]\n";

#[test]
fn what_is_urgent_runs_first_and_among_equals_what_came_first() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[agents]\nconcurrency = 1\n");
    for (name, priority) in [("idle", "low"), ("usual", "normal"), ("urgent", "high")] {
        install(&home, name, Language::Python, &format!("{MORE}[settlement]\npriority = \"{priority}\"\n"));
    }
    let stage = Stage::up(&home);
    let first = stage.send("usual", "until go", &[]);
    stage.stands(&first, "running");
    // Each with how urgent its manifest or its sender says it is.
    let sent: Vec<(&str, String)> = [
        ("low", "idle", &[][..]),
        ("normal", "usual", &[]),
        ("low again", "usual", &["--priority", "low"]),
        ("high", "urgent", &[]),
        ("normal again", "idle", &["--priority", "normal"]),
        ("high again", "usual", &["--priority", "high"]),
        ("taken back", "urgent", &[]),
    ]
    .map(|(name, agent, more)| (name, stage.send(agent, "say done", more)))
    .into();
    for (name, id) in &sent {
        assert_eq!(stage.shown(id)["status"], "queued", "{name}");
    }
    let (_, taken_back) = sent.last().unwrap();
    home.run(&["intents", "cancel", taken_back]).ok();
    let gone = stage.shown(taken_back);
    assert_eq!(
        (&gone["status"], &gone["started_at"], &gone["credits"]),
        (&json!("cancelled"), &Value::Null, &json!(0))
    );
    stage.place("go");
    let mut order: Vec<(String, &str)> = sent[..6]
        .iter()
        .map(|(name, id)| (stage.stands(id, "ok")["started_at"].as_str().unwrap().to_owned(), *name))
        .collect();
    order.sort();
    let order: Vec<&str> = order.into_iter().map(|(_, name)| name).collect();
    assert_eq!(order, ["high", "high again", "normal", "normal again", "low", "low again"]);
    stage.nothing_left();
}

/// As many as the configuration says, of whichever agents, run at once; the others wait.
#[test]
fn so_many_run_at_a_time_and_no_more() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[agents]\nconcurrency = 2\n");
    for name in ["one", "two", "three"] {
        install(&home, name, Language::Python, MORE);
    }
    let stage = Stage::up(&home);
    let ids: Vec<String> = ["one", "two", "three"].map(|name| stage.send(name, "until go", &[])).into();
    stage.stands(&ids[0], "running");
    stage.stands(&ids[1], "running");
    assert_eq!(stage.shown(&ids[2])["status"], "queued");
    stage.place("go");
    for id in &ids {
        stage.stands(id, "ok");
    }
}

/// Whoever follows an intent hears all of it: that it waits, that it runs, what its agent says, what came of it.
#[test]
fn an_intent_is_followed_from_its_place_in_the_line_to_its_end() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[agents]\nconcurrency = 1\n");
    install(&home, "py", Language::Python, MORE);
    let stage = Stage::up(&home);
    let first = stage.send("py", "until go", &[]);
    stage.stands(&first, "running");
    let second = stage.send("py", "mutter halfway", &[]);
    let path = format!("intents/{second}/events");
    let request = Stage::request(&stage.operator(), "GET", &path, &Value::Null, "");
    let mut wire = TcpStream::connect(("127.0.0.1", stage.port)).unwrap();
    wire.set_read_timeout(Some(LONG)).unwrap();
    wire.write_all(request.as_bytes()).unwrap();
    let mut events = BufReader::new(wire).lines().map(Result::unwrap).filter_map(|line| {
        let event: Value = serde_json::from_str(&line).ok()?;
        Some((event["event"].as_str()?.to_owned(), event["text"].as_str().unwrap_or_default().to_owned()))
    });
    let heard = |event: &str, text: &str| Some((event.to_owned(), text.to_owned()));
    assert_eq!(events.next(), heard("queued", ""));
    stage.place("go");
    assert_eq!(events.next(), heard("running", ""));
    assert_eq!(events.next(), heard("said", "halfway"));
    assert_eq!(events.next(), heard("ok", "muttered"));
    assert_eq!(events.next(), None, "and nothing after it");
}

/// However many come at once, each sender hears the answer to what it sent.
#[test]
fn many_at_once_get_each_their_own_answer() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[agents]\nconcurrency = 3\n");
    for language in Language::ALL {
        install(&home, language.runtime(), language, "");
    }
    let stage = Stage::up(&home);
    let senders: Vec<(String, Value)> = std::thread::scope(|scope| {
        let stage = &stage;
        let send = |number: usize| {
            let agent = Language::ALL[number % 3].runtime();
            scope.spawn(move || {
                let wanted = format!("number {number} of {agent}");
                let reply = stage.intent(agent, &format!("say {wanted}")).ok().json();
                (wanted, reply)
            })
        };
        let all: Vec<_> = (0..18).map(send).collect();
        all.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    let ids: std::collections::BTreeSet<&str> =
        senders.iter().map(|(_, reply)| reply["intent_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 18);
    for (wanted, reply) in &senders {
        assert_eq!(reply["text"], **wanted);
        let shown = stage.shown(reply["intent_id"].as_str().unwrap());
        assert_eq!(shown["request"], format!("say {wanted}"));
    }
    stage.nothing_left();
}
