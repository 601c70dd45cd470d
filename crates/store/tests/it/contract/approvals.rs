//! Calls that wait for a person, on either database.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::ports::{Approvals as _, Asked, CallToApprove};
use covenant_model::id::{ApprovalId, GrantId};

use super::{Bench, at, on_both, seed, together};

/// The call with that digest, asked for under an id of its own.
fn call(id: u64, digest: u8, principal: &str, millis: u64) -> CallToApprove {
    CallToApprove {
        id: ApprovalId::from_random(seed(id)),
        digest: [digest; 32],
        tool: "echo".into(),
        principal: principal.parse().unwrap(),
        grant: GrantId::from_random(seed(1)),
        view: "echo {\"text\": \"a\0b\"}".into(),
        requested_at: at(millis),
        expires_at: at(millis).plus(Duration::from_mins(1)),
    }
}

fn pending(id: u64) -> Asked {
    Asked::Pending(ApprovalId::from_random(seed(id)))
}

async fn the_same_call_waits_once_even_when_the_principal_is_full(bench: Bench) {
    let store = bench.open().await;
    assert_eq!(store.ask(call(1, 1, "client:a", 0), 1).await.unwrap(), pending(1));
    assert_eq!(store.ask(call(2, 1, "client:a", 5), 1).await.unwrap(), pending(1));
    assert_eq!(store.ask(call(3, 2, "client:a", 5), 1).await.unwrap(), Asked::Full);
    assert_eq!(
        store.ask(call(4, 3, "client:b", 5), 1).await.unwrap(),
        pending(4),
        "others have their own limit"
    );
}

async fn an_expired_call_makes_room_and_can_be_asked_again(bench: Bench) {
    let store = bench.open().await;
    assert_eq!(store.ask(call(1, 1, "client:a", 0), 1).await.unwrap(), pending(1));
    assert_eq!(store.ask(call(2, 2, "client:a", 59_999), 1).await.unwrap(), Asked::Full);
    assert_eq!(store.ask(call(3, 1, "client:a", 60_000), 1).await.unwrap(), pending(3));
    assert_eq!(bench.number("SELECT count(*) FROM approvals WHERE state = 'expired'").await, 1);
}

async fn asked_at_once_the_same_call_waits_once(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    let asked = together((0..32).map(|number| {
        let store = Arc::clone(&stores[number % 2]);
        async move { store.ask(call(number as u64, 1, "client:a", 0), 64).await.unwrap() }
    }));
    let ids: HashSet<String> = asked.await.into_iter().map(|asked| format!("{asked:?}")).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(bench.number("SELECT count(*) FROM approvals").await, 1);
}

async fn asked_at_once_no_more_than_the_limit_wait(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    let asked = together((0..24_u8).map(|number| {
        let store = Arc::clone(&stores[usize::from(number % 2)]);
        async move { store.ask(call(number.into(), number, "client:a", 0), 5).await.unwrap() }
    }));
    assert_eq!(asked.await.iter().filter(|asked| **asked == Asked::Full).count(), 19);
    assert_eq!(bench.number("SELECT count(*) FROM approvals").await, 5);
}

on_both!(
    the_same_call_waits_once_even_when_the_principal_is_full,
    an_expired_call_makes_room_and_can_be_asked_again,
    asked_at_once_the_same_call_waits_once,
    asked_at_once_no_more_than_the_limit_wait,
);
