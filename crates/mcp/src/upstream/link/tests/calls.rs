//! Calls: what is sent, what comes back, and how they end early.

use serde_json::json;

use super::fake::FakeWire;
use super::*;
use crate::upstream::scrub::known;
use crate::upstream::tests::until;
use crate::upstream::wire::Ear as _;

/// A server that says in each result what it was asked.
const ECHO: &str = "
while True:
    request = hear_method('tools/call')
    answer(request, text(json.dumps(request)))
";

#[tokio::test]
async fn a_call_carries_name_arguments_and_nothing_of_the_caller() {
    let link = open(&format!("legacy()\n{ECHO}")).await;
    let request = said(&call_in(&link, &Context::new(CancellationToken::new()), LONG, LONG).await.unwrap());
    let meta = json!({"progressToken": request["id"]});
    assert_eq!(request["params"], json!({"name": "t", "arguments": {"a": 1}, "_meta": meta}));
    let next = said(&call(&link, &Arc::default(), LONG, LONG).await.unwrap());
    assert_ne!(next["id"], request["id"]);
}

#[tokio::test]
async fn a_modern_call_says_what_it_speaks() {
    let link = open(&format!("modern()\n{ECHO}")).await;
    let request = said(&call_in(&link, &Context::new(CancellationToken::new()), LONG, LONG).await.unwrap());
    assert_eq!(
        request["params"]["_meta"],
        json!({
            "progressToken": request["id"],
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "covenant", "version": covenant_model::VERSION},
        })
    );
}

#[tokio::test]
async fn progress_is_passed_on_while_it_grows_and_only_to_its_own_call() {
    let script = r#"
legacy()
request = hear()
token = request["params"]["_meta"]["progressToken"]
for progress in [1, 2, 2, 1, 2.5]:
    notify("notifications/progress", progressToken=token, progress=progress, total=3, message="at %s" % progress)
notify("notifications/progress", progressToken=token + 1, progress=9)
notify("notifications/progress", progressToken="other", progress=9)
notify("notifications/progress", progressToken=token, progress="far")
notify("notifications/progress")
answer(request, text("done"))
stay()
"#;
    let link = open(script).await;
    let caller = Arc::new(Caller::default());
    let result = call(&link, &caller, LONG, LONG).await.unwrap();
    assert!(result.contains("done"));
    let at = |progress: f64, text: &str| (progress, Some(format!("at {text}")));
    assert_eq!(*caller.progress.lock(), [at(1.0, "1"), at(2.0, "2"), at(2.5, "2.5")]);
}

#[tokio::test]
async fn a_flood_of_progress_reaches_its_caller_in_part_and_its_end_does() {
    let script = r#"
legacy()
request = hear()
token = request["params"]["_meta"]["progressToken"]
for progress in range(20000):
    notify("notifications/progress", progressToken=token, progress=progress)
if hear()["method"] == "notifications/cancelled": stay()
"#;
    let link = open(script).await;
    let caller = Arc::new(Caller::default());
    let began = std::time::Instant::now();
    let (ended, ()) = tokio::join!(call(&link, &caller, LONG, LONG), async {
        let last = || caller.progress.lock().last().map(|(progress, _)| *progress);
        until("the last is told while the call goes on", || last() == Some(19999.0)).await;
        caller.cancel.cancel();
    });
    assert_eq!(ended, Err(LinkError::Cancelled));
    let (told, seconds) = (caller.progress.lock().len(), began.elapsed().as_secs() + 1);
    let most = usize::try_from(seconds * 101).unwrap();
    assert!(told <= most, "{told} within {seconds} s");
}

#[tokio::test]
async fn a_silent_call_ends_and_is_taken_back_by_our_id() {
    let script = r#"
legacy()
request = hear()
back = hear()
answer(hear_method("tools/call"), text(json.dumps([request["id"], back])))
stay()
"#;
    let link = open(script).await;
    let idle = Duration::from_millis(100);
    assert_eq!(call(&link, &Arc::default(), idle, LONG).await, Err(LinkError::Idle(idle)));
    let seen = said(&call(&link, &Arc::default(), LONG, LONG).await.unwrap());
    assert_eq!(seen[1]["method"], "notifications/cancelled");
    assert_eq!(seen[1]["params"], json!({"requestId": seen[0], "reason": "it was silent for too long"}));
}

#[tokio::test]
async fn progress_keeps_a_call_alive_until_its_time_is_up_also_where_nobody_listens() {
    let script = r#"
legacy()
request = hear()
token = request["params"]["_meta"]["progressToken"]
for progress in range(100000):
    notify("notifications/progress", progressToken=token, progress=progress)
    time.sleep(0.02)
"#;
    let (idle, total) = (Duration::from_millis(1500), Duration::from_secs(4));
    let link = open(script).await;
    assert_eq!(call(&link, &Arc::default(), idle, total).await, Err(LinkError::Total(total)));
    let (link, unheard) = (open(script).await, Context::new(CancellationToken::new()));
    assert_eq!(call_in(&link, &unheard, idle, total).await, Err(LinkError::Total(total)));
}

#[tokio::test]
async fn a_caller_that_cancels_and_one_that_vanishes_are_told_to_the_server() {
    let script = r#"
modern()
for _ in range(2):
    request = hear_method("tools/call")
    notify("notifications/progress", progressToken=request["params"]["_meta"]["progressToken"], progress=1)
    back = hear_method("notifications/cancelled")
    assert back["params"]["requestId"] == request["id"]
answer(hear_method("tools/call"), text(json.dumps(back["params"]["reason"])))
stay()
"#;
    let link = open(script).await;
    let caller = Arc::new(Caller::default());
    let (ended, ()) = tokio::join!(call(&link, &caller, LONG, LONG), async {
        until("the call runs", || !caller.progress.lock().is_empty()).await;
        caller.cancel.cancel();
    });
    assert_eq!(ended, Err(LinkError::Cancelled));
    let caller = Arc::new(Caller::default());
    tokio::select! {
        _ = call(&link, &caller, LONG, LONG) => panic!("nobody answers"),
        () = until("the call runs", || !caller.progress.lock().is_empty()) => {}
    }
    let reason = said(&call(&link, &Arc::default(), LONG, LONG).await.unwrap());
    assert_eq!(reason, "nobody waits for it any more");
}

#[tokio::test]
async fn a_crash_during_a_call_is_told_with_its_status() {
    let link = open("legacy()\nhear()\nos._exit(4)").await;
    let error = call(&link, &Arc::default(), LONG, LONG).await.unwrap_err();
    assert_eq!(error.to_string(), "ended with exit code 4");
}

#[tokio::test]
async fn what_is_no_finished_result_is_said_to_be_none() {
    let open_fake = async |era| {
        let (wire, ear) = (FakeWire::new("http"), LinkEar::new(known::scrub().clone()));
        let link = Link::open(Arc::clone(&wire) as Arc<dyn Wire>, ear, era, LONG).await.unwrap();
        (wire, link)
    };
    for (result, expected) in [
        ("7", "answered the call with something that is no result"),
        (
            r#"{"resultType":"input_required"}"#,
            "answered the call with questions to its client, which cannot be passed on",
        ),
        (
            r#"{"a":{},"resultType":"task"}"#,
            "answered the call with a task to be asked for later, which we did not offer to do",
        ),
        (r#"{"resultType":"new"}"#, "answered the call with a result of the unknown type new"),
        (
            r#"{"\u0072esultType":"input_required"}"#,
            "answered the call with questions to its client, which cannot be passed on",
        ),
        (
            r#"{"resultType":"complete","resultType":"input_required"}"#,
            "answered the call with a result whose type cannot be read",
        ),
    ] {
        // A server of the handshake's era does not get through with what it has no word for.
        for era in [EraChoice::Modern, EraChoice::Legacy] {
            let (wire, link) = open_fake(era).await;
            wire.answers("tools/call", result);
            let error = call(&link, &Arc::default(), LONG, LONG).await.unwrap_err();
            assert_eq!(error.to_string(), expected, "{era:?}");
        }
    }
    for (good, told) in [
        (r#"{"x":"\"resultType\":\"task\""}"#, r#"{"x":"\"resultType\":\"task\""}"#),
        (r#"{"resultType":"complete","content":[]}"#, r#"{"content":[]}"#),
    ] {
        let (wire, link) = open_fake(EraChoice::Modern).await;
        wire.answers("tools/call", good);
        assert_eq!(call(&link, &Arc::default(), LONG, LONG).await.unwrap(), told);
    }
}

#[tokio::test]
async fn a_modern_http_server_sees_a_cancel_by_the_stream_and_others_are_told() {
    for (transport, era, told) in [
        ("http", EraChoice::Modern, false),
        ("http", EraChoice::Legacy, true),
        ("sse", EraChoice::Legacy, true),
        ("stdio", EraChoice::Modern, true),
    ] {
        let wire = FakeWire::new(transport);
        let link =
            Link::open(Arc::clone(&wire) as Arc<dyn Wire>, LinkEar::new(known::scrub().clone()), era, LONG)
                .await
                .unwrap();
        let idle = Duration::from_millis(20);
        assert_eq!(call(&link, &Arc::default(), idle, LONG).await, Err(LinkError::Idle(idle)));
        assert!(wire.was_dropped("tools/call"), "its stream is closed");
        assert_eq!(wire.told().contains(&"notifications/cancelled"), told, "{transport} {era:?}");
    }
}

#[tokio::test]
async fn a_word_for_the_log_reaches_the_call_on_whose_stream_it_came() {
    let (wire, ear) = (FakeWire::new("http"), LinkEar::new(known::scrub().clone()));
    let shared = Arc::clone(&wire) as Arc<dyn Wire>;
    let link = Link::open(shared, Arc::clone(&ear), EraChoice::Legacy, LONG).await.unwrap();
    let caller = Arc::new(Caller::default());
    let say = |text: &str, method: &str, about| {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        ear.notification(method, Some(&raw), about);
    };
    let speaking = async {
        until("the call is under way", || wire.asked("tools/call").is_some()).await;
        let id = wire.asked("tools/call").unwrap();
        let log = r#"{"level":"warning","logger":"l","data":{"x":1}}"#;
        say(log, "notifications/message", None);
        say(log, "notifications/message", Some(id + 1));
        say(r#"{"level":"loud","data":1}"#, "notifications/message", Some(id));
        say(log, "notifications/message", Some(id));
        let progress = format!(r#"{{"progressToken":{id},"progress":1}}"#);
        say(&progress, "notifications/progress", Some(id + 1));
        for _ in 0..100_000 {
            say(&progress, "notifications/progress", Some(id));
        }
        caller.cancel.cancel();
    };
    let (ended, ()) = tokio::join!(call(&link, &caller, LONG, LONG), speaking);
    assert_eq!(ended, Err(LinkError::Cancelled));
    let logged = caller.logged.lock();
    assert_eq!(logged.len(), 1);
    assert_eq!((logged[0].logger.as_deref(), &logged[0].data), (Some("l"), &json!({"x": 1})));
    assert_eq!(caller.progress.lock().len(), 1);
}

#[test]
fn a_ping_is_answered_and_other_questions_are_not_ours() {
    let ear = LinkEar::new(known::scrub().clone());
    let answer = |id: &str, method: &str| {
        let id = crate::message::Id::of(id).unwrap();
        serde_json::from_slice::<Value>(&ear.request(&id, method, None)).unwrap()
    };
    assert_eq!(answer("\"a\"", "ping"), json!({"jsonrpc": "2.0", "id": "a", "result": {}}));
    let refused = answer("7", "sampling/createMessage");
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32601)));
    assert!(answer("7", &"\n\"".repeat(100_000)).to_string().len() < 2000);
}
