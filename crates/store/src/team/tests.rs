//! That every statement on teams' records finds its rows by an index, however many others there are, and that nobody waits for
//! all of them to be read.

use std::time::Duration;

use covenant_model::id::{DeveloperId, WorkspaceId};
use covenant_team::input::{Call, Tool};
use serde_json::json;

use super::*;

#[tokio::test]
async fn no_statement_reads_every_row_to_find_a_few() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open("sqlite:x.db", home.path()).await.unwrap();
    let all = [
        members::STATEMENTS,
        work::STATEMENTS,
        checks::STATEMENTS,
        sessions::STATEMENTS,
        contexts::STATEMENTS,
        events::STATEMENTS,
        warnings::STATEMENTS,
        likeness::STATEMENTS,
        span::STATEMENTS,
        shelves::STATEMENTS,
        audits::STATEMENTS,
        claims::STATEMENTS,
        messages::STATEMENTS,
        worktrees::STATEMENTS,
    ];
    for sql in all.into_iter().flatten().copied().chain([transaction::TURN]) {
        let most = (1..30).rev().find(|number| sql.contains(&format!("${number}"))).unwrap();
        let values = (0..most).map(|_| Value::Null).collect();
        let rows = store.db.query(format!("EXPLAIN QUERY PLAN {sql}"), values).await.unwrap();
        assert!(!rows.is_empty(), "{sql}");
        for row in &rows {
            let step = Record::of("the plan", row).text("detail").unwrap();
            // Orphans lie in an index of their own.
            let few = step == "SCAN tasks USING INDEX tasks_orphaned"
                // What is counted was found by an index, up to a bound.
                || step == "SCAN counted" && rows.iter().any(is_search);
            assert!(!step.contains("SCAN") || few, "{sql}: {step}");
            assert!(!step.contains("TEMP B-TREE"), "{sql}: {step}");
        }
    }
}

/// Whether a step of a plan finds its rows by an index.
fn is_search(row: &crate::db::Row) -> bool {
    Record::of("the plan", row).text("detail").unwrap().starts_with("SEARCH ")
}

/// How long nobody needs for a team of one task.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_teams_work_is_read_while_others_change_it() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open("sqlite:x.db", home.path()).await.unwrap();
    let (workspace, developer) = (WorkspaceId::from_random([1; 10]), DeveloperId::from_random([2; 10]));
    let now = Timestamp::from_millis(1_000_000);
    store.found_local(&workspace, &developer, now).await.unwrap();
    let call = |operation: &str| {
        let arguments = json!({"operation": operation, "title": "Retry failed uploads", "task_type": "bug"});
        let call = Call::read(Tool::Task, arguments.as_object().unwrap().clone()).unwrap();
        Request { principal: Principal::operator(), agent_type: None, call, now }
    };
    store.perform(call("plan")).await.unwrap();
    // Another daemon on the same file, which has looked at nothing.
    let other = Store::open("sqlite:x.db", home.path()).await.unwrap();
    let asked = other.attempt_within(&call("check"), Reach::Changes).await;
    let Err(DbError::Unread { workspace: unread, since }) = asked else { panic!("{asked:?}") };
    assert_eq!(unread, workspace);
    let writing = other.begin_team().await.unwrap();
    let read = other.likeness.read(&other.db, &workspace, since);
    tokio::time::timeout(PATIENCE, read).await.expect("nobody waits for who writes").unwrap();
    drop(writing);
    let told = other.attempt_within(&call("check"), Reach::Changes).await.unwrap();
    assert_eq!(told.envelope.data["matches"][0]["title"], "Retry failed uploads", "{told:?}");
}
