//! Grants and their counters on either database.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::ports::{Allowance, Grants as _, Reservation};
use covenant_model::constraint::Constraints;
use covenant_model::grant::{Approval, Grant, SignedGrant};
use covenant_model::id::GrantId;
use ed25519_dalek::SigningKey;

use super::{Bench, at, on_both, seed, together};

fn key() -> SigningKey {
    SigningKey::from_bytes(&[3; 32])
}

pub(super) fn grant(number: u64) -> SignedGrant {
    let grant = Grant {
        id: GrantId::from_random(seed(number)),
        subject: "client:claude".parse().unwrap(),
        action: "tool.call.echo".parse().unwrap(),
        constraints: Constraints { max_calls: Some(3), rate: Some(0.1 + 0.2), ..Constraints::default() },
        approval: Approval::Ask,
        expires_at: Some(at(1000)),
        granted_by: "user@local".into(),
        granted_at: at(number),
    };
    grant.sign(&key())
}

fn calls(max_calls: u64) -> Allowance {
    Allowance { max_calls: Some(max_calls), interval: None, burst: 1 }
}

async fn a_grant_comes_back_with_a_signature_that_holds(bench: Bench) {
    let store = bench.open().await;
    for number in [2, 1] {
        store.add_grant(grant(number)).await.unwrap();
    }
    let grants = store.grants().await.unwrap();
    assert_eq!(grants, [grant(1), grant(2)], "oldest first");
    assert!(grants.iter().all(|grant| grant.is_signed_by(&[key().verifying_key()])));
}

async fn a_grant_is_revoked_once_and_listed_no_more(bench: Bench) {
    let store = bench.open().await;
    let id = grant(1).grant.id;
    store.add_grant(grant(1)).await.unwrap();
    assert!(store.add_grant(grant(1)).await.is_err(), "an id is used once");
    assert!(store.revoke_grant(id.clone(), at(5)).await.unwrap());
    assert!(!store.revoke_grant(id, at(6)).await.unwrap());
    assert!(!store.revoke_grant(grant(2).grant.id, at(6)).await.unwrap());
    assert_eq!(store.grants().await.unwrap(), []);
}

async fn of_64_at_once_one_gets_the_only_call(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    let id = grant(1).grant.id;
    stores[0].add_grant(grant(1)).await.unwrap();
    let answers = together((0..64).map(|number| {
        let (store, id) = (Arc::clone(&stores[number % 2]), id.clone());
        async move { store.reserve(id, calls(1), at(0)).await.unwrap() }
    }));
    let answers = answers.await;
    assert_eq!(answers.iter().filter(|answer| **answer == Reservation::TakenLast).count(), 1);
    assert_eq!(answers.iter().filter(|answer| **answer == Reservation::Spent).count(), 63);
}

async fn calls_given_back_at_once_can_all_be_taken_again(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    let id = grant(1).grant.id;
    stores[0].add_grant(grant(1)).await.unwrap();
    together((0..40).map(|number| {
        let (store, id) = (Arc::clone(&stores[number % 2]), id.clone());
        async move {
            let limit = Allowance { interval: Some(Duration::from_millis(1)), burst: 40, ..calls(40) };
            let taken = store.reserve(id.clone(), limit, at(0)).await.unwrap();
            assert!(matches!(taken, Reservation::Taken | Reservation::TakenLast), "{taken:?}");
            store.give_back(id, limit).await.unwrap();
        }
    }))
    .await;
    assert_eq!(bench.number("SELECT used FROM grants").await, 0);
    for number in 1..=40 {
        let expected = if number < 40 { Reservation::Taken } else { Reservation::TakenLast };
        assert_eq!(stores[0].reserve(id.clone(), calls(40), at(0)).await.unwrap(), expected);
    }
    assert_eq!(stores[1].reserve(id, calls(40), at(0)).await.unwrap(), Reservation::Spent);
}

async fn a_call_given_back_can_be_taken_again_and_no_more_than_that(bench: Bench) {
    let store = bench.open().await;
    let id = grant(1).grant.id;
    store.add_grant(grant(1)).await.unwrap();
    store.give_back(id.clone(), calls(1)).await.unwrap();
    for expected in [Reservation::TakenLast, Reservation::Spent] {
        assert_eq!(store.reserve(id.clone(), calls(1), at(0)).await.unwrap(), expected);
    }
    store.give_back(id.clone(), calls(1)).await.unwrap();
    for expected in [Reservation::TakenLast, Reservation::Spent] {
        assert_eq!(store.reserve(id.clone(), calls(1), at(0)).await.unwrap(), expected);
    }
}

async fn a_rate_allows_a_burst_and_then_one_call_per_interval(bench: Bench) {
    let store = bench.open().await;
    let id = grant(1).grant.id;
    store.add_grant(grant(1)).await.unwrap();
    let rate = Allowance { max_calls: None, interval: Some(Duration::from_millis(500)), burst: 3 };
    let soon = |millis| Reservation::TooSoon(Duration::from_millis(millis));
    let taken = Reservation::Taken;
    let script =
        [(0, taken), (0, taken), (0, taken), (0, soon(500)), (499, soon(1)), (500, taken), (500, soon(500))];
    for (moment, expected) in script {
        assert_eq!(store.reserve(id.clone(), rate, at(moment)).await.unwrap(), expected, "at {moment} ms");
    }
    store.give_back(id.clone(), rate).await.unwrap();
    for (moment, expected) in [(500, taken), (500, soon(500)), (9000, taken), (9000, taken), (9000, taken)] {
        assert_eq!(store.reserve(id.clone(), rate, at(moment)).await.unwrap(), expected, "at {moment} ms");
    }
    assert_eq!(store.reserve(id, rate, at(9000)).await.unwrap(), soon(500));
}

async fn a_clock_put_back_by_a_year_costs_no_year(bench: Bench) {
    let store = bench.open().await;
    let id = grant(1).grant.id;
    store.add_grant(grant(1)).await.unwrap();
    let rate = Allowance { max_calls: None, interval: Some(Duration::from_secs(1)), burst: 1 };
    assert_eq!(store.reserve(id.clone(), rate, at(0)).await.unwrap(), Reservation::Taken);
    let earlier = at(0).minus(Duration::from_hours(8760));
    assert_eq!(store.reserve(id.clone(), rate, earlier).await.unwrap(), Reservation::Taken);
    let wait = Reservation::TooSoon(Duration::from_secs(1));
    assert_eq!(store.reserve(id, rate, earlier).await.unwrap(), wait);
}

async fn a_grant_that_is_gone_has_nothing_left(bench: Bench) {
    let store = bench.open().await;
    let id = grant(1).grant.id;
    assert_eq!(store.reserve(id.clone(), calls(5), at(0)).await.unwrap(), Reservation::Spent);
    store.add_grant(grant(1)).await.unwrap();
    assert_eq!(store.reserve(id.clone(), calls(5), at(0)).await.unwrap(), Reservation::Taken);
    store.revoke_grant(id.clone(), at(1)).await.unwrap();
    assert_eq!(store.reserve(id, calls(5), at(2)).await.unwrap(), Reservation::Spent);
}

async fn counters_survive_a_restart(bench: Bench) {
    let id = grant(1).grant.id;
    let store = bench.open().await;
    store.add_grant(grant(1)).await.unwrap();
    assert_eq!(store.reserve(id.clone(), calls(1), at(0)).await.unwrap(), Reservation::TakenLast);
    store.close().await;
    let store = bench.open().await;
    assert_eq!(store.reserve(id, calls(1), at(0)).await.unwrap(), Reservation::Spent);
}

async fn a_bad_row_is_an_error_that_names_table_and_id(bench: Bench) {
    let store = bench.open().await;
    let stored = grant(1);
    store.add_grant(stored.clone()).await.unwrap();
    let foreign = serde_json::to_string(&grant(2).grant).unwrap();
    for damage in ["document = '{'", &format!("document = '{foreign}'"), "signature = CAST('short' AS BYTEA)"]
    {
        bench.raw(&format!("UPDATE grants SET {damage}")).await;
        let fault = store.grants().await.unwrap_err();
        assert!(fault.to_string().contains("`grants`"), "{fault}");
        assert!(fault.to_string().contains(stored.grant.id.as_str()), "{fault}");
        assert!(!fault.to_string().contains("SELECT"), "{fault}");
    }
}

async fn the_revision_grows_with_each_change_and_with_nothing_else(bench: Bench) {
    let store = bench.open().await;
    store.add_grant(grant(1)).await.unwrap();
    assert_eq!(store.revision().await.unwrap(), 1);
    let id = grant(1).grant.id;
    store.reserve(id.clone(), calls(3), at(2)).await.unwrap();
    assert_eq!(store.revision().await.unwrap(), 1, "a counted call is no change");
    assert!(store.revoke_grant(id.clone(), at(3)).await.unwrap());
    assert!(!store.revoke_grant(id, at(3)).await.unwrap());
    let other = bench.open().await;
    assert_eq!(other.revision().await.unwrap(), 2, "another daemon sees the same number");
}

on_both!(
    the_revision_grows_with_each_change_and_with_nothing_else,
    a_grant_comes_back_with_a_signature_that_holds,
    a_grant_is_revoked_once_and_listed_no_more,
    of_64_at_once_one_gets_the_only_call,
    calls_given_back_at_once_can_all_be_taken_again,
    a_call_given_back_can_be_taken_again_and_no_more_than_that,
    a_rate_allows_a_burst_and_then_one_call_per_interval,
    a_clock_put_back_by_a_year_costs_no_year,
    a_grant_that_is_gone_has_nothing_left,
    counters_survive_a_restart,
    a_bad_row_is_an_error_that_names_table_and_id,
);
