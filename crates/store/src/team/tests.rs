//! That every statement on teams' records finds its rows by an index, however many others there are.

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
