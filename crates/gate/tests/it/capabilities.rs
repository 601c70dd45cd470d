//! Which grant decides, exactness of counted grants, forged grants, and who administers.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::config::Config;
use covenant_gate::{CallRequest, Context, Credential, Peer, Refusal};
use covenant_model::api::{ExplainBody, NewClient, Preset};
use covenant_model::redact::Redactor;
use proptest::prelude::*;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use crate::{Fixture, open, refusal};

#[tokio::test]
async fn the_most_specific_grant_decides_and_ask_beats_allow_among_equals() {
    for (grants, asks) in [
        (vec![("tool.call.echo", "none"), ("tool.call.*", "ask")], false),
        (vec![("tool.call.echo", "ask"), ("tool.call.*", "none")], true),
        (vec![("tool.call.echo", "none"), ("tool.call.echo", "ask")], true),
        (vec![("tool.call.ec*", "none"), ("tool.call.e*", "ask")], false),
        (vec![("tool.call.ec*", "ask"), ("tool.call.e*", "none")], true),
    ] {
        let fixture = Fixture::new().await;
        for (action, approval) in &grants {
            fixture.grant(json!({"subject": "any", "action": action, "approval": approval})).await;
        }
        let result = fixture.call("echo", json!({"text": "x"})).await;
        assert_eq!(result.is_err(), asks, "{grants:?}");
        if asks {
            assert!(matches!(refusal(result), Refusal::PendingApproval { .. }));
        }
    }
}

#[tokio::test]
async fn pending_calls_are_one_per_digest_and_bounded() {
    let fixture = Fixture::with(
        Config { rate: 0.0, approvals_per_principal: 3, ..Config::default() },
        Redactor::none(),
    )
    .await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "approval": "ask"})).await;
    let ask = async |text: &str| refusal(fixture.call("echo", json!({ "text": text })).await);
    let first = ask("a").await;
    assert_eq!(first, ask("a").await);
    assert_ne!(first, ask("b").await);
    ask("c").await;
    assert!(matches!(ask("d").await, Refusal::ApprovalsFull { limit: 3, .. }));
    assert_eq!(first, ask("a").await, "one that waits already still finds its entry");
    fixture.clock.advance(Duration::from_hours(25));
    assert!(matches!(ask("d").await, Refusal::PendingApproval { .. }), "expired entries do not count");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_calls_at_once_against_one_allowed_let_one_through() {
    let fixture = Arc::new(Fixture::new().await);
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "where": {"max_calls": 1}})).await;
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let fixture = fixture.clone();
            tokio::spawn(async move { fixture.call("echo", json!({"text": "x"})).await.is_ok() })
        })
        .collect();
    let mut through = 0;
    for call in calls {
        through += usize::from(call.await.unwrap());
    }
    assert_eq!(through, 1);
    let near = refusal(fixture.call("echo", json!({"text": "x"})).await);
    assert!(near.to_string().contains("used up"), "{near}");
}

#[tokio::test]
async fn a_refusal_before_the_start_gives_the_call_back() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "where": {"max_calls": 1}})).await;
    for _ in 0..5 {
        assert!(matches!(
            refusal(fixture.call("echo", json!({"text": 1})).await),
            Refusal::InvalidArguments { .. }
        ));
    }
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    assert!(matches!(refusal(fixture.call("echo", json!({"text": "x"})).await), Refusal::NotGranted { .. }));
}

#[tokio::test]
async fn a_grants_rate_is_kept_by_the_injected_clock() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "where": {"rate": 0.5}})).await;
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    let refused = refusal(fixture.call("echo", json!({"text": "x"})).await);
    assert!(
        matches!(refused, Refusal::RateLimited { wait } if wait == Duration::from_secs(2)),
        "{refused:?}"
    );
    fixture.clock.advance(Duration::from_millis(1999));
    assert!(fixture.call("echo", json!({"text": "x"})).await.is_err());
    fixture.clock.advance(Duration::from_millis(1));
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
}

#[tokio::test]
async fn grants_end_when_they_expire_even_on_a_clock_that_jumps() {
    let fixture = Fixture::new().await;
    fixture
        .grant(json!({"subject": "any", "action": "tool.call.echo", "expires_at": "2023-11-15T00:00:00Z"}))
        .await;
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    assert_eq!(fixture.gate.tools(&fixture.admitted()).len(), 1);
    fixture.clock.set("2023-11-15T00:00:00Z".parse().unwrap());
    assert!(fixture.call("echo", json!({"text": "x"})).await.is_err());
    assert!(fixture.gate.tools(&fixture.admitted()).is_empty());
    fixture.clock.set("2023-11-14T23:59:59Z".parse().unwrap());
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
}

#[tokio::test]
async fn a_grant_changed_in_the_database_is_ignored() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "client:a", "action": "tool.call.echo"})).await;
    let database = fixture.directory.path().join("covenant.db");
    let before = std::fs::read(&database).unwrap().len();
    assert!(before > 0);
    let text = "UPDATE grants SET document = replace(document, 'client:a', 'user@local')";
    execute(&database, text);
    let gate = open_again(&fixture).await;
    let caller = gate.authenticate(&Credential::peer(1000)).unwrap();
    assert!(gate.tools(&gate.admit(&caller).unwrap()).is_empty());
}

fn execute(file: &std::path::Path, sql: &str) {
    rusqlite::Connection::open(file).unwrap().execute_batch(sql).unwrap();
}

/// A second gate on the same database, with a log of its own.
async fn open_again(fixture: &Fixture) -> Arc<covenant_gate::Gate> {
    let other = fixture.directory.path().join("second");
    std::fs::create_dir(&other).unwrap();
    std::fs::copy(fixture.directory.path().join("covenant.db"), other.join("covenant.db")).unwrap();
    for ending in ["-wal", "-shm"] {
        let from = fixture.directory.path().join(format!("covenant.db{ending}"));
        if from.exists() {
            std::fs::copy(from, other.join(format!("covenant.db{ending}"))).unwrap();
        }
    }
    open(other, fixture.clock.clone(), Config::default(), Redactor::none()).await
}

#[tokio::test]
async fn a_client_has_its_preset_and_is_gone_when_revoked() {
    let fixture = Fixture::new().await;
    let operator = fixture.operator();
    let new = NewClient {
        name: "claude".to_owned(),
        preset: Some(Preset::ReadOnly),
        grants: Vec::new(),
        may_approve: false,
    };
    let added = fixture.gate.add_client(&operator, new.clone()).await.unwrap();
    assert!(fixture.gate.add_client(&operator, new).await.is_err(), "a name is taken once");
    let credential = Credential::bearer(&added.token);
    let caller = fixture.gate.authenticate(&credential).unwrap();
    assert_eq!(caller.principal().as_str(), "client:claude");
    assert!(matches!(fixture.gate.operator(&caller, Peer::default()), Err(Refusal::NotOperator { .. })));
    let admitted = fixture.gate.admit(&caller).unwrap();
    assert_eq!(fixture.gate.tools(&admitted).len(), 1, "of the preset only echo exists here");
    let request = CallRequest { name: "who".to_owned(), arguments: Map::new() };
    assert!(fixture.gate.call(admitted, request, Context::new(CancellationToken::new())).await.is_err());
    fixture.gate.revoke_client(&operator, "claude").await.unwrap().unwrap();
    assert_eq!(fixture.gate.authenticate(&credential).unwrap_err(), Refusal::Unauthenticated);
    assert!(fixture.gate.grants(&operator).iter().all(|grant| grant.subject.to_string() != "client:claude"));
    assert!(fixture.gate.revoke_client(&operator, "claude").await.unwrap().is_none());
}

#[tokio::test]
async fn strangers_are_nobody() {
    let fixture = Fixture::new().await;
    for credential in [
        Credential::none(),
        Credential::peer(1001),
        Credential::bearer("cv_"),
        Credential::bearer(&format!("cv_{}", "A".repeat(43))),
    ] {
        assert_eq!(fixture.gate.authenticate(&credential).unwrap_err(), Refusal::Unauthenticated);
    }
}

#[tokio::test]
async fn explain_agrees_with_the_call() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "user@local", "action": "tool.call.echo", "where": {"arguments": {"text": {"glob": "a*"}}}})).await;
    for text in ["abc", "xyz"] {
        let arguments = json!({ "text": text }).as_object().unwrap().clone();
        let asked = ExplainBody {
            principal: "user@local".parse().unwrap(),
            action: "tool.call.echo".to_owned(),
            arguments: Some(arguments),
        };
        let explained = fixture.gate.explain(&fixture.operator(), &asked);
        assert_eq!(explained.allowed, fixture.call("echo", json!({ "text": text })).await.is_ok());
        assert_eq!(explained.allowed, explained.command.is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// What is listed can be called, what is not listed cannot: the same decision.
    #[test]
    fn lists_and_calls_agree(actions in proptest::collection::vec("tool\\.call\\.(echo|who|fails|e\\*|f\\*|\\*|w\\*)", 0..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let fixture = Fixture::new().await;
            for action in &actions {
                fixture.grant(json!({"subject": "any", "action": action})).await;
            }
            let listed: Vec<String> = fixture.gate.tools(&fixture.admitted()).iter()
                .map(|spec| serde_json::from_str::<serde_json::Value>(spec.get()).unwrap()["name"].as_str().unwrap().to_owned())
                .collect();
            for name in ["echo", "who", "fails"] {
                let called = fixture.call(name, json!({})).await.is_ok();
                assert_eq!(called, listed.contains(&name.to_owned()), "{name} {actions:?}");
            }
        });
    }
}

/// Whatever acts overlap, what is in force at the end is what the store holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_revoked_grant_stays_revoked_however_many_act_at_once() {
    let fixture = Arc::new(Fixture::new().await);
    let acts: Vec<_> = (0..8)
        .map(|worker| {
            let fixture = fixture.clone();
            tokio::spawn(async move {
                for round in 0..12 {
                    let action = format!("tool.call.w{worker}r{round}");
                    let new = serde_json::from_value(json!({"subject": "any", "action": action})).unwrap();
                    let granted = fixture.gate.grant(&fixture.operator(), new).await.unwrap();
                    fixture.gate.revoke_grant(&fixture.operator(), &granted.grant.id).await.unwrap();
                    let left = fixture.gate.grants(&fixture.operator());
                    assert!(left.iter().all(|grant| grant.id != granted.grant.id), "{action} came back");
                }
            })
        })
        .collect();
    for act in acts {
        act.await.unwrap();
    }
    assert!(fixture.gate.grants(&fixture.operator()).is_empty());
}

/// Calls that are refused before they start, many at once, take nothing from a counted grant for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_of_refused_calls_uses_nothing_up() {
    let fixture = Arc::new(Fixture::new().await);
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "where": {"max_calls": 1}})).await;
    for _ in 0..8 {
        let calls: Vec<_> = (0..16)
            .map(|_| {
                let fixture = fixture.clone();
                tokio::spawn(async move { fixture.call("echo", json!({"text": 5})).await.is_err() })
            })
            .collect();
        for call in calls {
            assert!(call.await.unwrap());
        }
    }
    assert_eq!(fixture.gate.tools(&fixture.admitted()).len(), 1, "and it is still listed");
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    assert!(fixture.gate.tools(&fixture.admitted()).is_empty(), "used up, and gone from the list at once");
    let gate = open_again(&fixture).await;
    let caller = gate.authenticate(&Credential::peer(1000)).unwrap();
    assert!(gate.tools(&gate.admit(&caller).unwrap()).is_empty(), "also after a restart");
}

/// A caller who goes away before the call started gets back what was reserved.
#[tokio::test]
async fn a_call_dropped_before_its_start_costs_nothing() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "where": {"max_calls": 1}})).await;
    {
        let mut call = std::pin::pin!(fixture.call("echo", json!({"text": "x"})));
        assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await.is_pending());
    }
    let waited = std::time::Instant::now();
    while fixture.call("echo", json!({"text": "x"})).await.is_err() {
        assert!(waited.elapsed() < Duration::from_secs(30), "the call never came back");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_grant_that_asks_is_asked_for_resources_too() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.resource.shelf", "approval": "ask"})).await;
    let context = Context::new(CancellationToken::new());
    let refused = refusal(fixture.gate.read_resource(fixture.admitted(), "test://one", context).await);
    let Refusal::PendingApproval { id, .. } = refused else { panic!("{refused:?}") };
    let last = fixture.rows().pop().unwrap();
    assert_eq!((&last["kind"], &last["reason"]), (&json!("ApprovalRequested"), &json!(id)));
}
