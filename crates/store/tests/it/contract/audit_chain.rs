//! The audit log in either database: what is appended is committed, chained, found again, and proved by an export.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::audit::read::{Filter, Proof, verify_file};
use covenant_gate::audit::{AuditLog, OpenError, Opened};
use covenant_gate::clock::HandClock;
use covenant_gate::refusal::Fault;
use covenant_model::audit::{Decision, Event, Kind, Report};
use covenant_model::redact::Redactor;
use covenant_store::Store;
use ed25519_dalek::SigningKey;

use super::{Bench, at, on_both, together};

fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn chain(key: &SigningKey) -> String {
    key.verifying_key().as_bytes().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// A log in that store, by the daemon with that key.
pub(super) struct Daemon {
    pub(super) log: AuditLog,
    pub(super) opened: Opened,
    clock: Arc<HandClock>,
    key: SigningKey,
}

impl Daemon {
    pub(super) async fn start(store: &Arc<Store>, number: u8) -> Self {
        Self::try_start(store, number).await.unwrap()
    }

    async fn try_start(store: &Arc<Store>, number: u8) -> Result<Self, OpenError> {
        let (key, clock) = (key(number), Arc::new(HandClock::at(at(0))));
        let rows = store.audit_chain(&chain(&key)).await.unwrap();
        let opened = AuditLog::open_in(rows, key.clone(), [1; 32], Arc::<HandClock>::clone(&clock)).await?;
        Ok(Self { log: opened.0, opened: opened.1, clock, key })
    }

    pub(super) async fn append(&self) -> Result<u64, Fault> {
        self.log.append(&[refused()], &Redactor::none()).await
    }

    async fn export(&self, bench: &Bench) -> PathBuf {
        let mut pieces = self.log.export().await.unwrap();
        let mut text = Vec::new();
        while let Some(piece) = pieces.recv().await {
            text.extend(piece.unwrap());
        }
        let file = bench.home.path().join(format!("{}.jsonl", chain(&self.key)));
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Exports the log and verifies that.
    pub(super) async fn verify(&self, bench: &Bench) -> Report {
        let file = self.export(bench).await;
        verify_file(&file, &Proof::trusting(&[self.key.verifying_key()])).unwrap()
    }
}

fn refused() -> Event<'static> {
    Event::new("client:a", "tool:echo", Kind::CallRefused, Decision::Refused)
}

fn started(call: &str) -> Event<'_> {
    Event { call: Some(call), ..Event::new("client:a", "tool:clock", Kind::CallStarted, Decision::Allowed) }
}

fn newest(limit: usize) -> Filter {
    Filter { limit, ..Filter::default() }
}

fn kinds(rows: &[String]) -> Vec<String> {
    let kind = |row: &String| {
        serde_json::from_str::<serde_json::Value>(row).unwrap()["kind"].as_str().unwrap().to_owned()
    };
    rows.iter().map(kind).collect()
}

async fn appends_from_many_callers_form_one_chain_that_an_export_proves(bench: Bench) {
    let store = bench.open().await;
    let daemon = Arc::new(Daemon::start(&store, 1).await);
    let callers = (0..40).map(|_| {
        let daemon = Arc::clone(&daemon);
        async move {
            let mut seqs = Vec::new();
            for _ in 0..15 {
                seqs.push(daemon.append().await.unwrap());
            }
            seqs
        }
    });
    let mut seqs = together(callers).await.concat();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=600).collect::<Vec<u64>>(), "each row has a number of its own");
    assert_eq!(bench.number("SELECT count(*) FROM audit_log").await, 600);
    assert!(bench.number("SELECT count(*) FROM audit_marks").await >= 2, "checkpoints come by themselves");
    let report = daemon.verify(&bench).await;
    assert!(report.valid, "{report:?}");
    assert_eq!((report.rows, report.verified_to), (600, 600));
}

async fn a_batch_larger_than_a_statement_is_committed_whole(bench: Bench) {
    let store = bench.open().await;
    let daemon = Daemon::start(&store, 1).await;
    for size in [1, 63, 64, 65, 200, 1000] {
        let before = *daemon.log.subscribe().borrow();
        let events = vec![refused(); size];
        assert_eq!(daemon.log.append(&events, &Redactor::none()).await.unwrap(), before + size as u64);
    }
    assert!(daemon.verify(&bench).await.valid);
}

async fn two_daemons_have_two_chains_and_each_goes_on_with_its_own(bench: Bench) {
    let (one, two) = (bench.open().await, bench.open().await);
    let (a, b) = (Daemon::start(&one, 1).await, Daemon::start(&two, 2).await);
    for _ in 0..3 {
        a.append().await.unwrap();
    }
    assert_eq!(b.append().await.unwrap(), 1);
    a.log.close().await;
    drop(a);
    let a = Daemon::start(&one, 1).await;
    assert_eq!(a.opened, Opened { last: 3, cut_bytes: 0, interrupted: 0 });
    assert_eq!(a.append().await.unwrap(), 4);
    assert_eq!((a.verify(&bench).await.rows, b.verify(&bench).await.rows), (4, 1));
    let theirs = verify_file(&a.export(&bench).await, &Proof::trusting(&[b.key.verifying_key()])).unwrap();
    assert!(!theirs.valid, "the key of one proves nothing about the other");
}

async fn a_chain_waits_for_no_other_one(bench: Bench) {
    if bench.is_sqlite() {
        return;
    }
    let store = bench.open().await;
    let (a, b) = (Daemon::start(&store, 1).await, Daemon::start(&store, 2).await);
    // A transaction that holds the next row of the one chain.
    let mut holder = <sqlx::PgConnection as sqlx::Connection>::connect(&bench.url).await.unwrap();
    let hold = format!(
        "BEGIN; INSERT INTO audit_log (chain, seq, ts, line) VALUES ('{}', 1, 0, 'x')",
        chain(&a.key)
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(hold)).execute(&mut holder).await.unwrap();
    let log = a.log.clone();
    let blocked = tokio::spawn(async move { log.append(&[refused()], &Redactor::none()).await });
    let unhindered = tokio::time::timeout(Duration::from_secs(2), async {
        for _ in 0..20 {
            b.append().await.unwrap();
        }
    });
    unhindered.await.expect("the other chain goes on");
    assert!(!blocked.is_finished());
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    assert_eq!(blocked.await.unwrap().unwrap(), 1);
}

async fn two_processes_with_one_key_do_not_fork_the_chain(bench: Bench) {
    let (one, two) = (bench.open().await, bench.open().await);
    let (a, b) = (Daemon::start(&one, 1).await, Daemon::start(&two, 1).await);
    a.append().await.unwrap();
    b.clock.advance(Duration::from_millis(1));
    let fault = b.append().await.unwrap_err();
    assert!(fault.to_string().contains("another process writes this home's chain"), "{fault}");
    assert!(b.log.health().unwrap_err().contains("stop the other one"));
    a.append().await.unwrap();
    let report = a.verify(&bench).await;
    assert!(report.valid && report.rows == 2, "{report:?}");
}

async fn a_call_that_a_crash_cut_off_is_ended_at_the_next_start(bench: Bench) {
    let store = bench.open().await;
    let daemon = Daemon::start(&store, 1).await;
    daemon.log.append(&[started("c1")], &Redactor::none()).await.unwrap();
    let second = daemon.log.append(&[started("c2")], &Redactor::none()).await.unwrap();
    daemon.log.checkpoint().await.unwrap();
    let done = Event { kind: Kind::CallFinished, started: Some(second), ..started("c2") };
    daemon.log.append(&[done], &Redactor::none()).await.unwrap();
    drop(daemon);
    let daemon = Daemon::start(&store, 1).await;
    assert_eq!(daemon.opened, Opened { last: 3, cut_bytes: 0, interrupted: 1 });
    daemon.append().await.unwrap();
    let rows = daemon.log.recent(newest(2)).await.unwrap();
    assert_eq!(kinds(&rows), ["CallInterrupted", "CallRefused"]);
    assert!(rows[0].contains(r#""call":"c1""#) && rows[0].contains(r#""started":1"#), "{rows:?}");
    daemon.log.close().await;
    drop(daemon);
    assert_eq!(Daemon::start(&store, 1).await.opened.interrupted, 0);
}

async fn tampering_is_found_in_the_export_and_at_the_next_start(bench: Bench) {
    for (number, change, row) in [
        (1, "UPDATE audit_log SET line = replace(line, 'tool:echo', 'tool:ohce') WHERE seq = 3", 3),
        (2, "DELETE FROM audit_log WHERE seq = 4", 4),
        (3, "DELETE FROM audit_log WHERE seq >= 5", 5),
        (4, "UPDATE audit_marks SET line = replace(line, '\"seq\":6', '\"seq\":5') WHERE seq = 6", 5),
    ] {
        let store = bench.open().await;
        let daemon = Daemon::start(&store, number).await;
        daemon.log.append(&[started("c1")], &Redactor::none()).await.unwrap();
        for _ in 0..5 {
            daemon.append().await.unwrap();
        }
        daemon.log.checkpoint().await.unwrap();
        bench.raw(&format!("{change} AND chain = '{}'", chain(&key(number)))).await;
        let report = daemon.verify(&bench).await;
        assert!(!report.valid, "{change}");
        assert_eq!(report.first_bad.as_ref().map(|bad| bad.seq), Some(row), "{change}: {report:?}");
        drop(daemon);
        let error = Daemon::try_start(&store, number).await.err().expect(change);
        assert!(matches!(&error, OpenError::DamagedRows { row: found, .. } if *found == row), "{error}");
        store.close().await;
    }
}

async fn pruning_leaves_a_tombstone_and_a_log_that_verifies(bench: Bench) {
    let store = bench.open().await;
    let daemon = Daemon::start(&store, 1).await;
    for _ in 0..10 {
        daemon.append().await.unwrap();
    }
    daemon.clock.advance(Duration::from_hours(1));
    let running = daemon.log.append(&[started("c1")], &Redactor::none()).await.unwrap();
    assert_eq!(daemon.log.prune(at(0)).await.unwrap().rows, 0, "nothing is that old");
    let pruned = daemon.log.prune(at(1)).await.unwrap();
    assert_eq!((pruned.rows, pruned.first_kept), (10, 11));
    let pruned = daemon.log.prune(at(1_000_000_000)).await.unwrap();
    assert_eq!((pruned.rows, pruned.first_kept), (0, running), "a call that runs is kept");
    let report = daemon.verify(&bench).await;
    assert!(report.valid && report.rows == 2, "{report:?}");
    assert_eq!(kinds(&daemon.log.recent(newest(9)).await.unwrap()), ["CallStarted", "LogPruned"]);
    let done = Event { kind: Kind::CallFinished, started: Some(running), ..started("c1") };
    daemon.log.append(&[done], &Redactor::none()).await.unwrap();
    assert_eq!(daemon.log.prune(at(1_000_000_000)).await.unwrap().rows, 3);
    assert_eq!(bench.number("SELECT count(*) FROM audit_marks WHERE kind = 'tombstone'").await, 1);
    // As if the prune had removed everything and the process had died: the tombstone alone says where to go on.
    drop(daemon);
    bench.raw("DELETE FROM audit_log").await;
    let daemon = Daemon::start(&store, 1).await;
    assert_eq!(daemon.append().await.unwrap(), 14);
    assert!(daemon.verify(&bench).await.valid);
}

async fn rows_are_read_from_any_number_on_and_newest_first(bench: Bench) {
    let store = bench.open().await;
    let daemon = Daemon::start(&store, 1).await;
    for number in 0..1100_u32 {
        let event = if number == 2 { started("c1") } else { refused() };
        if number == 1000 {
            daemon.clock.advance(Duration::from_mins(1));
        }
        daemon.log.append(&[event], &Redactor::none()).await.unwrap();
    }
    let (rest, rows) = daemon.log.rows(1098).next(2).await.unwrap();
    assert_eq!(rows.len(), 2);
    let (rest, rows) = rest.next(10).await.unwrap();
    assert!(rows.len() == 1 && rows[0].starts_with(r#"{"seq":1100,"#), "{rows:?}");
    let (rest, rows) = rest.next(10).await.unwrap();
    assert_eq!(rows.len(), 0);
    daemon.append().await.unwrap();
    assert_eq!(rest.next(10).await.unwrap().1.len(), 1);
    let young = Filter { since: Some(at(1)), ..newest(5000) };
    assert_eq!(daemon.log.recent(young).await.unwrap().len(), 101);
    let named = Filter { agent_id: Some("tool:clock".to_owned()), ..newest(5) };
    assert_eq!(kinds(&daemon.log.recent(named).await.unwrap()), ["CallStarted"]);
    assert_eq!(daemon.log.recent(newest(0)).await.unwrap().len(), 0);
}

on_both!(
    appends_from_many_callers_form_one_chain_that_an_export_proves,
    a_batch_larger_than_a_statement_is_committed_whole,
    two_daemons_have_two_chains_and_each_goes_on_with_its_own,
    a_chain_waits_for_no_other_one,
    two_processes_with_one_key_do_not_fork_the_chain,
    a_call_that_a_crash_cut_off_is_ended_at_the_next_start,
    tampering_is_found_in_the_export_and_at_the_next_start,
    pruning_leaves_a_tombstone_and_a_log_that_verifies,
    rows_are_read_from_any_number_on_and_newest_first,
);
