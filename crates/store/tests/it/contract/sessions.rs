//! Sessions on either database, of one daemon and of several.

use std::sync::Arc;

use covenant_model::session::{STATE_BYTES, SessionBounds, SessionRecord};
use covenant_model::time::Timestamp;
use covenant_store::Store;

use super::{Bench, at, on_both, together};

/// More than any of these tests opens.
fn wide() -> SessionBounds {
    SessionBounds { in_all: 100_000, per_principal: 100_000, idle_since: Timestamp::default() }
}

fn id(number: u64) -> [u8; 32] {
    let mut id = [5; 32];
    id[..8].copy_from_slice(&number.to_be_bytes());
    id
}

/// A session that was last used at the moment of its number.
fn record(number: u64, principal: &str) -> SessionRecord {
    SessionRecord {
        id: id(number),
        principal: principal.parse().unwrap(),
        state: format!(r#"{{"number":{number},"name":"Ädä 🔑 '$1"}}"#),
        opened_at: at(0),
        used_at: at(number),
    }
}

async fn open(store: &Store, number: u64, principal: &str, bounds: SessionBounds) -> Vec<[u8; 32]> {
    let mut gone = store.add_session(record(number, principal), bounds).await.unwrap();
    gone.sort_unstable();
    gone
}

async fn a_session_outlives_the_daemon_and_is_seen_by_its_neighbour(bench: Bench) {
    let store = bench.open().await;
    assert_eq!(open(&store, 1, "client:a", wide()).await, [] as [[u8; 32]; 0]);
    let neighbour = bench.open().await;
    assert_eq!(neighbour.session(id(1)).await.unwrap(), Some(record(1, "client:a")));
    assert_eq!(neighbour.session(id(2)).await.unwrap(), None);
    store.close().await;
    neighbour.close().await;
    let again = bench.open().await;
    assert_eq!(again.session(id(1)).await.unwrap(), Some(record(1, "client:a")));
    assert_eq!(again.count_sessions().await.unwrap(), 1);
}

async fn too_many_of_one_principal_cost_it_its_longest_idle_and_nobody_else(bench: Bench) {
    let store = bench.open().await;
    let bounds = SessionBounds { per_principal: 3, ..wide() };
    open(&store, 1, "client:b", bounds).await;
    for number in [4, 2, 3] {
        assert!(open(&store, number, "client:a", bounds).await.is_empty());
    }
    assert_eq!(open(&store, 5, "client:a", bounds).await, [id(2)]);
    let narrower = SessionBounds { per_principal: 2, ..wide() };
    assert_eq!(open(&store, 6, "client:a", narrower).await, [id(3), id(4)]);
    assert!(store.session(id(1)).await.unwrap().is_some(), "another's, and idle for longer");
    assert_eq!(store.count_sessions().await.unwrap(), 3);
}

async fn too_many_in_all_cost_the_longest_idle_whoever_has_it(bench: Bench) {
    let store = bench.open().await;
    let bounds = SessionBounds { in_all: 3, ..wide() };
    for (number, principal) in [(2, "client:a"), (1, "client:b"), (3, "client:c")] {
        assert!(open(&store, number, principal, bounds).await.is_empty());
    }
    assert_eq!(open(&store, 4, "client:d", bounds).await, [id(1)]);
    // What its principal's bound takes counts for the other one.
    let both = SessionBounds { per_principal: 1, ..bounds };
    assert_eq!(open(&store, 5, "client:c", both).await, [id(3)]);
    assert_eq!(store.count_sessions().await.unwrap(), 3);
    let none = SessionBounds { in_all: 0, per_principal: 0, ..wide() };
    assert_eq!(open(&store, 6, "client:c", none).await, [id(2), id(4), id(5)], "one always fits");
    assert_eq!(store.count_sessions().await.unwrap(), 1);
}

async fn what_is_over_goes_before_anything_else_does(bench: Bench) {
    let store = bench.open().await;
    for number in 1..=4 {
        open(&store, number, "client:a", wide()).await;
    }
    let bounds = SessionBounds { in_all: 3, per_principal: 3, idle_since: at(3) };
    assert_eq!(open(&store, 5, "client:a", bounds).await, [id(1), id(2)], "and then there was room");
    assert_eq!(store.count_sessions().await.unwrap(), 3);
    assert_eq!(store.expire_sessions(at(5)).await.unwrap().len(), 2);
    assert!(store.session(id(5)).await.unwrap().is_some(), "used at that very moment");
    assert!(store.expire_sessions(at(5)).await.unwrap().is_empty());
}

async fn use_is_noted_for_many_at_once_and_never_taken_back(bench: Bench) {
    let store = bench.open().await;
    // More than one statement holds, and none of the sizes alone.
    let count = 256 + 64 + 16 + 4 + 3;
    for number in 1..=count {
        open(&store, number, "client:a", wide()).await;
    }
    store.touch_sessions(Vec::new()).await.unwrap();
    let mut used: Vec<_> = (1..=count).map(|number| (id(number), at(1000 + number))).collect();
    used.push((id(1), at(5000)));
    used.push((id(1), at(2)));
    used.push((id(2), at(1)));
    used.push((id(999_999), at(9)));
    store.touch_sessions(used).await.unwrap();
    store.touch_sessions(vec![(id(3), at(0))]).await.unwrap();
    for number in 1..=count {
        let expected = if number == 1 { at(5000) } else { at(1000 + number) };
        let found = store.session(id(number)).await.unwrap().unwrap();
        assert_eq!(found, SessionRecord { used_at: expected, ..record(number, "client:a") }, "{number}");
    }
    assert_eq!(store.count_sessions().await.unwrap(), count, "nobody comes to be by being touched");
}

async fn a_state_is_replaced_where_there_is_a_session(bench: Bench) {
    let store = bench.open().await;
    open(&store, 1, "client:a", wide()).await;
    open(&store, 2, "client:a", wide()).await;
    assert!(store.set_session_state(id(1), "{}".into()).await.unwrap());
    assert!(!store.set_session_state(id(3), "{}".into()).await.unwrap());
    let expected = SessionRecord { state: "{}".into(), ..record(1, "client:a") };
    assert_eq!(store.session(id(1)).await.unwrap(), Some(expected));
    assert_eq!(store.session(id(2)).await.unwrap(), Some(record(2, "client:a")));
}

async fn sessions_end_one_by_one_and_with_their_principal(bench: Bench) {
    let store = bench.open().await;
    for (number, principal) in [(1, "client:a"), (2, "client:a"), (3, "client:b"), (4, "client:a")] {
        open(&store, number, principal, wide()).await;
    }
    assert!(store.remove_session(id(1)).await.unwrap());
    assert!(!store.remove_session(id(1)).await.unwrap());
    let mut ended = store.remove_sessions_of(&"client:a".parse().unwrap()).await.unwrap();
    ended.sort_unstable();
    assert_eq!(ended, [id(2), id(4)]);
    assert_eq!(store.count_sessions().await.unwrap(), 1);
    assert!(store.session(id(3)).await.unwrap().is_some());
}

async fn a_state_that_is_too_long_or_an_id_that_is_taken_is_refused_alike(bench: Bench) {
    let store = bench.open().await;
    let largest = SessionRecord { state: "x".repeat(STATE_BYTES), ..record(1, "client:a") };
    store.add_session(largest.clone(), wide()).await.unwrap();
    let larger = "x".repeat(STATE_BYTES + 1);
    let fault = store.set_session_state(id(1), larger.clone()).await.unwrap_err();
    assert!(fault.to_string().contains("too large"), "{fault}");
    assert!(
        store.add_session(SessionRecord { state: larger, ..record(2, "client:a") }, wide()).await.is_err()
    );
    let bounds = SessionBounds { idle_since: at(1), ..wide() };
    assert!(store.add_session(record(1, "client:b"), bounds).await.is_err());
    assert_eq!(store.session(id(1)).await.unwrap(), Some(largest), "as it was");
    assert_eq!(store.count_sessions().await.unwrap(), 1);
}

async fn a_damaged_session_is_an_error_that_names_its_row(bench: Bench) {
    let store = bench.open().await;
    open(&store, 1, "client:a", wide()).await;
    for damage in ["principal = 'nobody at all'", "used_at = -5"] {
        bench.raw("UPDATE sessions SET principal = 'client:a', used_at = 1").await;
        bench.raw(&format!("UPDATE sessions SET {damage}")).await;
        let fault = store.session(id(1)).await.unwrap_err();
        assert!(fault.to_string().contains("`sessions`"), "{fault}");
        assert!(fault.to_string().contains("`00000000000000010505"), "{fault}");
    }
}

async fn many_at_once_on_two_daemons_stay_within_the_bounds(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    let bounds = SessionBounds { in_all: 10, per_principal: 4, ..wide() };
    let gone = together((1..=60).map(|number| {
        let store = Arc::clone(&stores[usize::try_from(number % 2).unwrap()]);
        async move {
            let principal = format!("client:{}", number % 4);
            let gone = store.add_session(record(number, &principal), bounds).await.unwrap();
            let touched = (1..=60).rev().map(|other| (id(other), at(100 + number))).collect();
            store.touch_sessions(touched).await.unwrap();
            store.expire_sessions(at(0)).await.unwrap();
            gone
        }
    }));
    let mut gone = gone.await.concat();
    assert_eq!(stores[0].count_sessions().await.unwrap(), 10);
    gone.sort_unstable();
    assert_eq!(gone.len(), 50);
    gone.dedup();
    assert_eq!(gone.len(), 50, "each went once, and whoever removed it was told");
    assert_eq!(stores[1].revision().await.unwrap(), 0, "sessions are no reason to read grants again");
}

on_both!(
    a_session_outlives_the_daemon_and_is_seen_by_its_neighbour,
    too_many_of_one_principal_cost_it_its_longest_idle_and_nobody_else,
    too_many_in_all_cost_the_longest_idle_whoever_has_it,
    what_is_over_goes_before_anything_else_does,
    use_is_noted_for_many_at_once_and_never_taken_back,
    a_state_is_replaced_where_there_is_a_session,
    sessions_end_one_by_one_and_with_their_principal,
    a_state_that_is_too_long_or_an_id_that_is_taken_is_refused_alike,
    a_damaged_session_is_an_error_that_names_its_row,
    many_at_once_on_two_daemons_stay_within_the_bounds,
);
