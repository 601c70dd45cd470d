//! The wire with real programs, good and bad.

mod hostile;

use serde_json::value::RawValue;
use tokio::time::timeout;

use super::*;
use crate::message::Id;
use crate::upstream::scrub::{Scrub, known};
use crate::upstream::tests::{LONG, program, until};

/// Notes what it hears, and answers requests with their method.
#[derive(Default)]
struct Noted(parking_lot::Mutex<Vec<String>>);

impl Ear for Noted {
    fn notification(&self, method: &str, params: Option<&RawValue>, about: Option<u64>) {
        assert_eq!(about, None, "a program does not say which letter it is about");
        self.0.lock().push(format!("{method} {}", params.map_or("", RawValue::get)));
    }

    fn request(&self, id: &Id, method: &str, _: Option<&RawValue>) -> Vec<u8> {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{method}"}}"#).into_bytes()
    }

    fn scrub(&self) -> &Scrub {
        known::scrub()
    }
}

const LIMIT: usize = 1 << 20;

async fn wire(script: &str) -> Arc<StdioWire> {
    StdioWire::new(program(script).await, Arc::new(Noted::default()), LIMIT)
}

fn letter(id: u64) -> Letter {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"n":{id}}}}}"#).into_bytes();
    Letter { id: Some(id), method: "m", name: None, arguments: Vec::new(), body }
}

/// The result as text, or the error as people read it.
async fn asked(wire: &StdioWire, id: u64) -> String {
    let letter = letter(id);
    let Ok(answer) = timeout(LONG, wire.ask(&letter)).await else { return format!("no answer to {id}") };
    match answer {
        Ok(Answer::Result(raw)) => raw.get().to_owned(),
        Ok(Answer::Error(failure)) => failure.to_string(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn answers_come_back_as_they_were_written_in_any_order() {
    let wire = wire(
        r#"
requests = [hear(), hear(), hear()]
for request in reversed(requests):
    write('{"id":%d, "result": {"n": %d,  "x": 1e400, "\\u00e4":"\u2028"} }\n' % (request["id"], request["params"]["n"]))
refuse(hear(), -32000, "not today")
stay()
"#,
    )
    .await;
    let (one, two, three) = tokio::join!(asked(&wire, 1), asked(&wire, 2), asked(&wire, 3));
    for (n, answer) in [(1, one), (2, two), (3, three)] {
        assert_eq!(answer, format!("{{\"n\": {n},  \"x\": 1e400, \"\\u00e4\":\"\u{2028}\"}}"));
    }
    assert_eq!(asked(&wire, 4).await, "answered with error -32000: not today");
    wire.close().await;
}

#[tokio::test]
async fn garbage_wrong_ids_and_doubled_answers_are_dropped() {
    let wire = wire(
        r#"
request = hear()
write("Listening on stdio...\n\n\n  \nnull\n" + "x" * 300 + "\n")
say(id=77, result="unknown")
say(id=str(request["id"]) + " ", result="another string")
say(id=None, error={"code": -1, "message": "nobody"})
say(id="1", result="first")
say(id=1, result="second")
request = hear()
say(id=1, result="late")
answer(request, "right")
stay()
"#,
    )
    .await;
    assert_eq!(asked(&wire, 1).await, r#""first""#);
    assert_eq!(asked(&wire, 2).await, r#""right""#);
    let (count, last) = wire.strays();
    assert_eq!((count, last.unwrap()), (3, format!("{}…", "x".repeat(128))));
    wire.close().await;
}

#[tokio::test]
async fn a_batch_answers_all_its_letters() {
    let wire = wire(
        r#"
one, two = hear(), hear()
write(json.dumps([{"id": two["id"], "result": 2}, {"method": "n"}, 5, {"id": one["id"], "result": 1}]) + "\n")
stay()
"#,
    )
    .await;
    let (one, two) = tokio::join!(asked(&wire, 1), asked(&wire, 2));
    assert_eq!((one.as_str(), two.as_str()), ("1", "2"));
}

#[tokio::test]
async fn what_the_program_says_and_asks_by_itself_reaches_the_ear() {
    let ear = Arc::new(Noted::default());
    let script = r#"
request = hear()
notify("notifications/x", a=1)
say(id="mine", method="ping")
pong = hear()
answer(request, pong)
stay()
"#;
    let wire = StdioWire::new(program(script).await, Arc::clone(&ear) as Arc<dyn Ear>, LIMIT);
    let pong: serde_json::Value = serde_json::from_str(&asked(&wire, 1).await).unwrap();
    assert_eq!(pong, serde_json::json!({"jsonrpc": "2.0", "id": "mine", "result": "ping"}));
    assert_eq!(*ear.0.lock(), [r#"notifications/x {"a": 1}"#]);
}

#[tokio::test]
async fn a_crash_fails_whoever_waits_with_the_exit_status() {
    let wire = wire("hear(); hear(); os._exit(3)").await;
    let (one, two) = tokio::join!(asked(&wire, 1), asked(&wire, 2));
    assert_eq!((one.as_str(), two.as_str()), ("ended with exit code 3", "ended with exit code 3"));
    assert_eq!(&*wire.lost().await, "ended with exit code 3");
    assert_eq!(asked(&wire, 3).await, "ended with exit code 3", "and whoever comes later");
    let told = wire.tell(&letter(4)).await.unwrap_err();
    assert_eq!(told.to_string(), "ended with exit code 3");
}

#[tokio::test]
async fn a_signal_is_named() {
    let wire = wire("hear(); os.kill(os.getpid(), 9)").await;
    assert_eq!(asked(&wire, 1).await, "was ended by signal 9 (SIGKILL)");
}

#[tokio::test]
async fn a_program_that_only_says_why_it_ends_is_quoted() {
    let wire = wire("write('usage: server --root DIR\\n'); os._exit(2)").await;
    assert_eq!(
        &*wire.lost().await,
        r#"ended with exit code 2; where a message should stand it wrote "usage: server --root DIR""#
    );
}

#[tokio::test]
async fn answers_written_just_before_the_end_still_count() {
    let wire = wire(
        "request = hear(); write('%s' % json.dumps({'id': request['id'], 'result': 'last'})); os._exit(0)",
    )
    .await;
    assert_eq!(asked(&wire, 1).await, r#""last""#);
    assert_eq!(&*wire.lost().await, "ended with exit code 0");
}

#[tokio::test]
async fn a_program_that_closes_its_output_and_lives_on_is_stopped() {
    let wire = wire("hear(); os.close(1); time.sleep(300)").await;
    assert_eq!(asked(&wire, 1).await, "closed its output, and was stopped");
    timeout(LONG, wire.close()).await.expect("the program is gone");
}

#[tokio::test]
async fn a_program_that_closes_its_input_and_lives_on_is_stopped() {
    let wire = wire("request = hear(); os.close(0); answer(request, 'closed'); time.sleep(300)").await;
    assert_eq!(asked(&wire, 1).await, r#""closed""#);
    assert_eq!(asked(&wire, 2).await, "closed its input, and was stopped");
}

#[tokio::test]
async fn closing_asks_the_program_to_end_and_dropping_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let note = directory.path().join("note");
    let script = format!(
        "
try: stay()
finally: open({:?}, 'w').write('ended in order')
",
        note.display().to_string()
    );
    let closed = wire(&script).await;
    assert_eq!(asked_too_late(&closed).await, "was stopped");
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "ended in order");
    std::fs::remove_file(&note).unwrap();
    let dropped = wire(&script).await;
    drop(dropped);
    until("the program ends", || note.exists()).await;
}

/// Closes a wire while somebody waits.
async fn asked_too_late(wire: &StdioWire) -> String {
    tokio::join!(asked(wire, 1), wire.close()).0
}
