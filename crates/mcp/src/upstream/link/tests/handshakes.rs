//! Which era is found, and what a server that fails in the handshake is said to have done.

use serde_json::json;

use super::*;

/// Answers every call with what came before it.
const TELLS: &str = r#"
while True:
    request = hear()
    if "id" in request: answer(request, text(json.dumps(before)))
"#;

async fn failed(script: &str, era: EraChoice, within: Duration) -> NotOpened {
    try_open(script, era, within).await.err().expect("it cannot be opened")
}

#[tokio::test]
async fn a_legacy_server_gets_the_handshake_in_order() {
    let link = open(
        &[
            r#"
before = [hear()]
refuse(before[0], -32601, "unknown method")
before.append(hear())
answer(before[1], {"protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}})
before.append(hear())
"#,
            TELLS,
        ]
        .concat(),
    )
    .await;
    assert_eq!((link.era(), link.revision(), link.transport()), (EraChoice::Legacy, "2025-03-26", "stdio"));
    let before = said(&call(&link, &Arc::default(), LONG, LONG).await.unwrap());
    assert_eq!(before[0]["method"], "server/discover");
    assert_eq!(before[1]["params"]["clientInfo"]["name"], "covenant");
    assert_eq!(before[1]["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(before[1]["params"]["capabilities"], json!({}));
    assert_eq!(before[2], json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
}

#[tokio::test]
async fn a_modern_server_is_asked_nothing_else() {
    let link = open(&["before = []\nmodern()", TELLS].concat()).await;
    assert_eq!((link.era(), link.revision()), (EraChoice::Modern, "2026-07-28"));
    assert_eq!(said(&call(&link, &Arc::default(), LONG, LONG).await.unwrap()), json!([]));
}

#[tokio::test]
async fn a_server_that_answers_no_unknown_question_is_legacy_after_a_while() {
    let script = "hear()\nlegacy()\nstay()";
    let link = try_open(script, EraChoice::Auto, Duration::from_secs(12)).await.unwrap();
    assert_eq!(link.era(), EraChoice::Legacy);
}

#[tokio::test]
async fn errors_of_the_modern_era_are_told_from_others() {
    for (code, data, era) in [
        ("-32020", "", EraChoice::Modern),
        ("-32021", "", EraChoice::Modern),
        ("-32022", ", data={'supported': ['2026-07-28']}", EraChoice::Modern),
        ("-32022", ", data={'supported': ['2025-11-25', '2099-01-01']}", EraChoice::Legacy),
        ("-32022", "", EraChoice::Legacy),
        ("-32602", "", EraChoice::Legacy),
    ] {
        let link = open(&format!("refuse(hear(), {code}, 'no'{data})\nlegacy()\nstay()")).await;
        assert_eq!(link.era(), era, "{code}{data}");
    }
    let strange = "answer(hear(), {'supportedVersions': ['2099-01-01']})\nlegacy()\nstay()";
    assert_eq!(open(strange).await.era(), EraChoice::Legacy);
}

#[tokio::test]
async fn an_era_that_is_given_is_not_asked_for() {
    let script = r#"
request = hear()
if request["method"] == "initialize":
    answer(request, {"protocolVersion": "2025-11-25", "capabilities": {}})
else:
    answer(request, {"supportedVersions": ["2026-07-28"], "capabilities": {}})
stay()
"#;
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        assert_eq!(try_open(script, era, LONG).await.unwrap().era(), era);
    }
    let old = failed("refuse(hear(), -32601, 'what?')\nstay()", EraChoice::Modern, LONG).await;
    assert_eq!(old.reason, "does not speak revision 2026-07-28: it answered with error -32601: what?");
}

#[tokio::test]
async fn a_server_that_ends_over_the_probe_may_be_tried_again_without() {
    let error = failed("hear()\nos._exit(1)", EraChoice::Auto, LONG).await;
    assert_eq!(
        (error.reason.as_str(), error.kind),
        ("ended with exit code 1", Failure::Lost { probing: true })
    );
    let error = failed("hear()\nos._exit(1)", EraChoice::Legacy, LONG).await;
    assert_eq!(
        (error.reason.as_str(), error.kind),
        ("ended with exit code 1", Failure::Lost { probing: false })
    );
}

#[tokio::test]
async fn a_server_that_fails_in_the_handshake_is_said_to_have() {
    let answers = |answer: &str| format!("answer(hear(), {answer})\nstay()");
    let unknown = failed(&answers("{'protocolVersion': '1999-12-31'}"), EraChoice::Legacy, LONG).await;
    assert_eq!(
        unknown.reason,
        "speaks revision 1999-12-31 of the protocol, and we speak 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
    );
    let strange = failed(&answers("{'hello': 1}"), EraChoice::Legacy, LONG).await;
    assert!(strange.reason.starts_with("answered `initialize` with something else: "), "{}", strange.reason);
    let refused = failed("refuse(hear(), -32600, 'go away')\nstay()", EraChoice::Legacy, LONG).await;
    assert_eq!(refused.reason, "refused `initialize`: it answered with error -32600: go away");
    let silent = failed("stay()", EraChoice::Legacy, Duration::from_millis(200)).await;
    assert_eq!(silent.reason, "did not answer `initialize` within 200 ms");
}
