//! The audit index on either database.

use covenant_store::{AuditFilter, IndexRow, Store};

use super::{Bench, at, on_both};

fn row(seq: u64) -> IndexRow {
    IndexRow {
        seq,
        ts: at(seq * 10),
        principal: if seq.is_multiple_of(2) { "client:even" } else { "client:odd" }.into(),
        agent_id: format!("tool:{}", seq % 5),
        kind: if seq.is_multiple_of(3) { "CallStarted" } else { "CallFinished" }.into(),
        decision: "ok".into(),
        call_id: (!seq.is_multiple_of(7)).then(|| format!("call_{}", seq / 3)),
        line: format!("{{\"seq\":{seq}}}"),
    }
}

fn rows(range: std::ops::RangeInclusive<u64>) -> Vec<IndexRow> {
    range.map(row).collect()
}

fn lines(seqs: impl IntoIterator<Item = u64>) -> Vec<String> {
    seqs.into_iter().map(|seq| row(seq).line).collect()
}

fn newest(limit: u32) -> AuditFilter {
    AuditFilter { limit, ..AuditFilter::default() }
}

async fn recent(store: &Store, filter: AuditFilter) -> Vec<String> {
    store.recent_audit(&filter).await.unwrap()
}

async fn batches_of_any_size_are_indexed_whole(bench: Bench) {
    let store = bench.open().await;
    assert_eq!(store.audit_indexed("aa").await.unwrap(), 0);
    let mut last = 0;
    for size in [1, 3, 17, 255, 256, 700] {
        store.index_audit("aa", &rows(last + 1..=last + size)).await.unwrap();
        last += size;
        assert_eq!(store.audit_indexed("aa").await.unwrap(), last);
    }
    store.index_audit("aa", &[]).await.unwrap();
    assert_eq!(recent(&store, newest(5000)).await, lines(1..=last));
}

async fn the_newest_rows_come_oldest_first_and_filtered(bench: Bench) {
    let store = bench.open().await;
    store.index_audit("aa", &rows(1..=100)).await.unwrap();
    assert_eq!(recent(&store, newest(3)).await, lines(98..=100));
    assert_eq!(recent(&store, newest(0)).await, lines([]));
    let since = AuditFilter { since: Some(at(970)), ..newest(50) };
    assert_eq!(recent(&store, since).await, lines(97..=100));
    let agent = AuditFilter { agent_id: Some("tool:1".into()), ..newest(2) };
    assert_eq!(recent(&store, agent).await, lines([91, 96]));
    let principal = AuditFilter { principal: Some("client:odd".into()), ..newest(2) };
    assert_eq!(recent(&store, principal).await, lines([97, 99]));
    let call = AuditFilter { call_id: Some("call_20".into()), ..newest(9) };
    assert_eq!(recent(&store, call).await, lines([60, 61, 62]));
    let all = AuditFilter {
        chain: Some("aa".into()),
        since: Some(at(0)),
        agent_id: Some("tool:1".into()),
        principal: Some("client:even".into()),
        kind: Some("CallStarted".into()),
        ..newest(2)
    };
    assert_eq!(recent(&store, all).await, lines([66, 96]));
}

async fn within_a_chain_the_sequence_is_the_order_whatever_the_clock_did(bench: Bench) {
    let store = bench.open().await;
    let mut back = rows(1..=4);
    back[3].ts = at(0);
    store.index_audit("aa", &back).await.unwrap();
    let chain = AuditFilter { chain: Some("aa".into()), ..newest(2) };
    assert_eq!(recent(&store, chain).await, lines([3, 4]));
}

async fn chains_do_not_touch_each_other(bench: Bench) {
    let store = bench.open().await;
    store.index_audit("aa", &rows(1..=10)).await.unwrap();
    store.index_audit("bb", &rows(1..=20)).await.unwrap();
    assert_eq!(store.audit_indexed("aa").await.unwrap(), 10);
    assert_eq!(store.prune_audit_index("bb", 11).await.unwrap(), 10);
    assert_eq!(recent(&store, newest(50)).await, lines(1..=20), "across chains the clock is the order");
    assert_eq!(store.clear_audit_index("bb").await.unwrap(), 10);
    assert_eq!(store.audit_indexed("bb").await.unwrap(), 0);
    assert_eq!(store.audit_indexed("aa").await.unwrap(), 10);
}

async fn more_rows_than_are_dropped_at_once_are_dropped(bench: Bench) {
    let store = bench.open().await;
    let sparse: Vec<_> = (1..=9).map(|number| row(number * 3000)).collect();
    store.index_audit("aa", &sparse).await.unwrap();
    assert_eq!(store.prune_audit_index("aa", 24_000).await.unwrap(), 7);
    assert_eq!(recent(&store, newest(50)).await, lines([24_000, 27_000]));
}

async fn what_the_file_says_now_replaces_what_was_indexed(bench: Bench) {
    let store = bench.open().await;
    store.index_audit("aa", &rows(1..=6)).await.unwrap();
    let mut rewritten = row(6);
    rewritten.line = "{\"seq\":6,\"again\":true}".into();
    store.index_audit("aa", &[rewritten.clone(), row(7)]).await.unwrap();
    assert_eq!(recent(&store, newest(2)).await, [rewritten.line, row(7).line]);
}

async fn a_batch_with_a_bad_row_leaves_nothing_behind(bench: Bench) {
    let store = bench.open().await;
    let mut batch = rows(1..=300);
    batch[299].line = "\0".into();
    assert!(store.index_audit("aa", &batch).await.is_err());
    assert_eq!(store.audit_indexed("aa").await.unwrap(), 0);
}

on_both!(
    batches_of_any_size_are_indexed_whole,
    the_newest_rows_come_oldest_first_and_filtered,
    within_a_chain_the_sequence_is_the_order_whatever_the_clock_did,
    chains_do_not_touch_each_other,
    more_rows_than_are_dropped_at_once_are_dropped,
    what_the_file_says_now_replaces_what_was_indexed,
    a_batch_with_a_bad_row_leaves_nothing_behind,
);
