//! The log in a database whose answers come late, get lost, or do not come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use covenant_model::redact::Redactor;
use futures_util::future::join_all;

use super::super::combine::Limits;
use super::super::{AuditLog, Opened};
use super::table::{Mood, Table};
use super::{HandClock, Home, Report, Timestamp, finished, key, proof, read, row, started, until};

fn quick() -> Limits {
    Limits {
        checkpoint_rows: u64::MAX,
        checkpoint_every: Duration::from_hours(1),
        retry: Duration::from_millis(5),
        patience: Duration::from_millis(50),
        ..Limits::default()
    }
}

async fn reopened(table: &Arc<Table>, limits: Limits) -> (AuditLog, Opened) {
    static STARTS: AtomicU64 = AtomicU64::new(1_700_000_000_000);
    // Each life of the log begins a little later.
    let now = Timestamp::from_millis(STARTS.fetch_add(1, Ordering::Relaxed));
    let store = Arc::<Table>::clone(table);
    AuditLog::open_in_with(store, key(), [1; 32], Arc::new(HandClock::at(now)), limits).await.unwrap()
}

async fn open_with(table: &Arc<Table>, limits: Limits) -> AuditLog {
    reopened(table, limits).await.0
}

async fn open(table: &Arc<Table>) -> AuditLog {
    open_with(table, quick()).await
}

async fn append(log: &AuditLog) -> Result<u64, crate::Fault> {
    log.append(&[row()], &Redactor::none()).await
}

/// Exports the log and verifies that.
async fn verified(log: &AuditLog) -> Report {
    let mut pieces = log.export().await.unwrap();
    let mut text = Vec::new();
    while let Some(piece) = pieces.recv().await {
        text.extend(piece.unwrap());
    }
    let home = Home::new();
    let file = home.dir.with_extension("export");
    std::fs::write(&file, text).unwrap();
    read::verify_file(&file, &proof()).unwrap()
}

fn told(table: &Table) -> Vec<String> {
    let of = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let reason = row["reason"].as_str().unwrap_or_default().to_owned();
        format!("{} {reason}", row["kind"].as_str().unwrap()).trim().to_owned()
    };
    table.state.lock().rows.values().map(|row| of(&row.line)).collect()
}

#[tokio::test]
async fn those_who_wait_together_are_committed_together() {
    let table = Table::new();
    let log = open(&table).await;
    table.turns.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let all = join_all((0..200).map(|_| append(&log)));
    let release = async {
        tokio::task::yield_now().await;
        table.turns.add_permits(1000);
    };
    let (answers, ()) = tokio::join!(all, release);
    let mut seqs: Vec<u64> = answers.into_iter().map(Result::unwrap).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=200).collect::<Vec<_>>());
    assert!(table.state.lock().commits <= 2, "{}", table.state.lock().commits);
    assert_eq!((verified(&log).await.valid, verified(&log).await.verified_to), (true, 200));
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_found_and_not_repeated() {
    let table = Table::new();
    let log = open(&table).await;
    table.will(&[Mood::LoseAnswer]);
    assert_eq!(append(&log).await.unwrap(), 1);
    table.will(&[Mood::Refuse]);
    assert_eq!(append(&log).await.unwrap(), 2, "one that did not happen is tried again");
    table.will(&[Mood::Hang]);
    assert_eq!(append(&log).await.unwrap(), 3, "and so is one that never answered");
    assert_eq!(log.health(), Ok(()));
    assert_eq!(verified(&log).await.rows, 3);
}

#[tokio::test]
async fn without_a_database_nothing_is_done_and_it_heals_by_itself() {
    let table = Table::new();
    let log = open(&table).await;
    append(&log).await.unwrap();
    table.set_gone(true);
    let fault = append(&log).await.unwrap_err();
    assert!(fault.to_string().contains("so nothing is done: the database cannot be reached"), "{fault}");
    assert!(log.health().unwrap_err().starts_with("audit: the database cannot be reached"));
    assert!(log.checkpoint().await.is_err());
    log.owe(finished("c", 1), &Redactor::none());
    table.set_gone(false);
    until(|| log.health().is_ok()).await;
    append(&log).await.unwrap();
    let report = verified(&log).await;
    assert!(report.valid, "{report:?}");
    let told = told(&table);
    assert_eq!((told.len(), told[0].as_str()), (4, "CallRefused"), "{told:?}");
    assert!(told[1].starts_with("LogRecovered the log could not be written from this moment"), "{told:?}");
    assert_eq!(told[2..], ["CallFinished", "CallRefused"], "what was owed is written once");
}

#[tokio::test]
async fn rows_that_turn_out_to_be_there_after_all_are_ended_and_explained() {
    let table = Table::new();
    let log = open(&table).await;
    table.will(&[Mood::Lose]);
    log.owe(finished("before", 7), &Redactor::none());
    log.append(&[row(), started("c1")], &Redactor::none()).await.unwrap_err();
    table.set_gone(false);
    until(|| log.health().is_ok()).await;
    let report = verified(&log).await;
    assert!(report.valid, "{report:?}");
    let told = told(&table);
    assert_eq!(told[..3], ["CallFinished", "CallRefused", "CallStarted"], "{told:?}");
    let rest = told[3..].join("\n");
    assert_eq!(
        rest.matches("CallInterrupted the database did not confirm this row in time").count(),
        1,
        "{rest}"
    );
    assert_eq!(rest.matches("LogRecovered rows 1 to 3 were kept although").count(), 1, "{rest}");
    assert_eq!(rest.matches("LogRecovered the log could not be written").count(), 1, "{rest}");
    assert_eq!(told.len(), 6, "and nothing is written twice: {told:?}");
    log.close().await;
    drop(log);
    let (_, opened) = reopened(&table, quick()).await;
    assert_eq!(opened.interrupted, 0);
}

#[tokio::test]
async fn a_commit_that_comes_after_it_was_given_up_does_not_fork_the_chain() {
    let table = Table::new();
    let log = open(&table).await;
    append(&log).await.unwrap();
    table.will(&[Mood::Late, Mood::Refuse]);
    log.append(&[started("c1")], &Redactor::none()).await.unwrap_err();
    until(|| log.health().is_ok()).await;
    append(&log).await.unwrap();
    let report = verified(&log).await;
    assert!(report.valid, "{report:?}");
    let told = told(&table).join("\n");
    assert_eq!(told.matches("CallStarted").count(), 1, "{told}");
    assert_eq!(told.matches("CallInterrupted the database did not confirm").count(), 1, "{told}");
}

#[tokio::test]
async fn a_second_process_with_the_same_key_ends_the_first_one_s_log_and_forks_nothing() {
    let table = Table::new();
    let (one, two) = (open(&table).await, open(&table).await);
    append(&one).await.unwrap();
    let fault = append(&two).await.unwrap_err();
    assert!(fault.to_string().contains("another process writes this home's chain"), "{fault}");
    append(&one).await.unwrap();
    let fault = append(&two).await.unwrap_err();
    assert!(
        fault.to_string().contains("Two daemons must not share one identity/"),
        "it does not pass: {fault}"
    );
    assert!(two.health().is_err());
    two.close().await;
    assert_eq!(verified(&one).await.rows, 2);
}

#[tokio::test]
async fn rows_that_the_database_lost_are_said() {
    let table = Table::new();
    let log = open(&table).await;
    append(&log).await.unwrap();
    append(&log).await.unwrap();
    table.state.lock().rows.remove(&2);
    table.will(&[Mood::Refuse]);
    let fault = append(&log).await.unwrap_err();
    assert!(fault.to_string().contains("has lost rows that it had kept: it ends with row 1"), "{fault}");
}

#[tokio::test]
async fn checkpoints_come_after_so_many_rows_or_so_much_time() {
    let table = Table::new();
    let log = open_with(&table, Limits { checkpoint_rows: 4, ..quick() }).await;
    for _ in 0..9 {
        append(&log).await.unwrap();
    }
    assert_eq!(table.state.lock().checkpoints.keys().copied().collect::<Vec<_>>(), [4, 8]);
    drop(log);
    let log = open_with(&table, Limits { checkpoint_every: Duration::from_millis(20), ..quick() }).await;
    until(|| table.state.lock().checkpoints.contains_key(&9)).await;
    drop(log);
}

#[tokio::test]
async fn a_caller_who_goes_away_leaves_a_call_that_never_ran() {
    let table = Table::new();
    let log = open(&table).await;
    table.turns.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let (events, redactor) = ([started("c1")], Redactor::none());
    let waiting = log.append(&events, &redactor);
    assert!(tokio::time::timeout(Duration::from_millis(10), waiting).await.is_err());
    table.turns.add_permits(1000);
    until(|| table.state.lock().rows.len() == 2).await;
    assert_eq!(told(&table)[1], "CallInterrupted the caller went away before the call began");
}

#[tokio::test]
async fn only_so_many_rows_wait() {
    let table = Table::new();
    let log =
        open_with(&table, Limits { waiting_rows: 3, patience: Duration::from_secs(30), ..quick() }).await;
    table.turns.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let first = tokio::spawn({
        let log = log.clone();
        async move { append(&log).await }
    });
    tokio::task::yield_now().await;
    let release = async {
        tokio::task::yield_now().await;
        table.turns.add_permits(1000);
    };
    let (answers, ()) = tokio::join!(join_all((0..4).map(|_| append(&log))), release);
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 3);
    let refused = answers.into_iter().find_map(Result::err).unwrap();
    assert!(refused.to_string().contains("too many rows wait"), "{refused}");
    assert_eq!(first.await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn a_log_that_ends_writes_what_it_owes_and_a_checkpoint_and_takes_no_more() {
    let table = Table::new();
    let log = open(&table).await;
    append(&log).await.unwrap();
    log.owe(finished("c", 1), &Redactor::none());
    log.close().await;
    assert_eq!(table.state.lock().checkpoints.keys().copied().collect::<Vec<_>>(), [2]);
    assert!(append(&log).await.unwrap_err().to_string().contains("it was closed"));
    assert!(log.checkpoint().await.is_err());
    log.close().await;
    let log = open(&table).await;
    table.set_gone(true);
    tokio::time::timeout(Duration::from_secs(5), log.close()).await.expect("it ends without a database too");
}

#[tokio::test]
async fn the_lag_is_the_age_of_what_is_not_committed() {
    let table = Table::new();
    let clock = Arc::new(HandClock::at(Timestamp::from_millis(1_700_000_000_000)));
    let (store, shown) = (Arc::<Table>::clone(&table), Arc::<HandClock>::clone(&clock));
    let limits = Limits { patience: Duration::from_mins(1), ..quick() };
    let log = AuditLog::open_in_with(store, key(), [1; 32], shown, limits).await.unwrap().0;
    table.turns.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    assert_eq!(log.lag(), Duration::ZERO);
    log.owe(row(), &Redactor::none());
    clock.advance(Duration::from_secs(3));
    assert_eq!(log.lag(), Duration::from_secs(3), "it waits");
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    log.owe(row(), &Redactor::none());
    clock.advance(Duration::from_secs(1));
    assert_eq!(log.lag(), Duration::from_secs(4), "it is being committed");
    table.turns.add_permits(1000);
    until(|| log.lag() == Duration::ZERO).await;
    assert_eq!(table.state.lock().rows.len(), 2);
    table.set_gone(true);
    log.owe(row(), &Redactor::none());
    until(|| log.health().is_err()).await;
    clock.advance(Duration::from_secs(9));
    assert_eq!(log.lag(), Duration::from_secs(9), "the database is gone");
    table.set_gone(false);
    until(|| log.lag() == Duration::ZERO).await;
}
