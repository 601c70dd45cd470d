//! Developers who were removed, on either database: what they have open ends, and nothing of anybody else's.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::id::DeveloperId;
use covenant_team::Request;
use covenant_team::input::{Call, Tool};
use covenant_team::port::TeamTx as _;
use covenant_team::work::{Status, Work};
use serde_json::json;

use super::team::{bare, developer, peopled, session_id, stream, turn, workspace};
use super::{Bench, at, on_both};

/// Work of that developer's.
fn of(number: u64, work: Work) -> Work {
    Work { developer: developer(number), status: Status::Active, ..work }
}

async fn keep(store: &covenant_store::Store, work: &[Work]) {
    let mut tx = turn(store).await;
    for work in work {
        tx.add_work(work).await.unwrap();
    }
    tx.commit().await.unwrap();
}

async fn open(bench: &Bench) -> i64 {
    bench.number("SELECT count(*) FROM tasks WHERE status = 'active'").await
}

/// Returns when somebody waits for a row that somebody else holds; on the one writer of a file nobody is seen to.
async fn somebody_waits(bench: &Bench) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while bench.number(waiting).await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn set_removed(bench: &Bench, id: &DeveloperId, at: &str) {
    bench.raw(&format!("UPDATE developers SET removed_at = {at} WHERE id = '{id}'")).await;
}

async fn who_was_removed_before_has_nothing_open_after(bench: Bench) {
    let store = peopled(&bench).await;
    let (gone, team, session) = (developer(4), workspace(1), session_id(1));
    let session = format!(
        "INSERT INTO agent_sessions (id, workspace_id, developer_id, started_at, last_seen_at) \
         VALUES ('{session}', '{team}', '{gone}', 1, 1)"
    );
    let claim = format!(
        "INSERT INTO claims (id, workspace_id, developer_id, session_id, repo, paths, renewal, created_at, expires_at) \
         VALUES ('{}', '{team}', '{gone}', '', '', '[\"a\"]', 60000, 1, 9999999999999)",
        covenant_model::id::ClaimId::from_random(super::seed(1))
    );
    for statement in [&session, &claim] {
        bench.raw(statement).await;
        let left = "SELECT (SELECT count(*) FROM agent_sessions WHERE ended_at IS NULL) \
                    + (SELECT count(*) FROM claims WHERE ending IS NULL)";
        assert_eq!(bench.number(left).await, 1);
        store.settle_departed(at(9)).await.unwrap();
        assert_eq!(bench.number(left).await, 0, "{statement}");
    }
    for work in [of(4, bare(1)), of(4, stream(1))] {
        keep(&store, std::slice::from_ref(&work)).await;
        store.settle_departed(at(9)).await.unwrap();
        let mut tx = store.begin_team().await.unwrap();
        assert_eq!(tx.work(&work.id).await.unwrap().unwrap().status, Status::Cancelled);
    }
}

async fn what_breaks_of_one_keeps_nothing_of_another_open(bench: Bench) {
    let store = peopled(&bench).await;
    keep(&store, &[of(1, bare(1)), of(4, bare(2))]).await;
    let damaged = format!("UPDATE tasks SET created_at = -1 WHERE developer_id = '{}'", developer(1));
    bench.raw(&damaged).await;
    set_removed(&bench, &developer(1), "7").await;
    store.settle_departed(at(9)).await.unwrap_err();
    assert_eq!(open(&bench).await, 1);
    bench.raw("UPDATE tasks SET created_at = 1").await;
    store.settle_departed(at(9)).await.unwrap();
    assert_eq!(open(&bench).await, 0, "it is ended as soon as it can be");
}

async fn who_was_invited_again_keeps_what_they_began(bench: Bench) {
    let store = peopled(&bench).await;
    keep(&store, &[of(4, bare(1))]).await;
    if bench.is_sqlite() {
        set_removed(&bench, &developer(4), "NULL").await;
        store.settle(&developer(4), at(9)).await.unwrap();
    } else {
        let held = turn(&store).await;
        let settling = tokio::spawn({
            let store = Arc::clone(&store);
            async move { store.settle(&developer(4), at(9)).await }
        });
        somebody_waits(&bench).await;
        set_removed(&bench, &developer(4), "NULL").await;
        drop(held);
        settling.await.unwrap().unwrap();
    }
    assert_eq!(open(&bench).await, 1);
    store.settle_departed(at(9)).await.unwrap();
    assert_eq!(open(&bench).await, 1);
}

async fn who_is_removed_while_their_call_waits_begins_nothing(bench: Bench) {
    if bench.is_sqlite() {
        return; // Whoever waits there has read nothing yet.
    }
    let store = peopled(&bench).await;
    let held = turn(&store).await;
    let arguments = json!({"operation": "plan", "title": "Redraw the icons"});
    let request = Request {
        principal: "dev:ada".parse().unwrap(),
        agent_type: None,
        call: Call::read(Tool::Workstream, arguments.as_object().unwrap().clone()).unwrap(),
        now: at(9),
    };
    let calling = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.perform(request).await }
    });
    somebody_waits(&bench).await;
    set_removed(&bench, &developer(1), "7").await;
    drop(held);
    let outcome = calling.await.unwrap().unwrap();
    assert_eq!((outcome.is_kept(), outcome.code), (false, Some("no_member")));
    assert_eq!(bench.number("SELECT count(*) FROM workstreams").await, 0);
}

on_both!(
    who_was_removed_before_has_nothing_open_after,
    what_breaks_of_one_keeps_nothing_of_another_open,
    who_was_invited_again_keeps_what_they_began,
    who_is_removed_while_their_call_waits_begins_nothing,
);
