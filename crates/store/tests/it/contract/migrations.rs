//! How the tables of either database come to be, and what is refused.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use covenant_gate::ports::Tokens as _;
use covenant_store::{EventsWanted, OpenError};
use covenant_team::event::Log;

use super::{Bench, on_both, together};

/// What takes each migration back, the newest first, as if an older program had made the database.
const BACK: &[(u32, &str)] = &[
    (16, "DROP INDEX scope_verdicts_pair"),
    (15, "DROP TABLE inboxes; DROP TABLE messages; DROP TABLE claim_waits; DROP TABLE claims"),
    (
        14,
        "DROP TABLE weekly_summaries; DROP TABLE parallel_audits; \
         DROP INDEX notes_kind; \
         DROP INDEX session_contexts_newest; DROP INDEX agent_sessions_own; DROP INDEX agent_sessions_silent; \
         DROP INDEX agent_sessions_recent; DROP INDEX workstreams_own; DROP INDEX workstreams_standing; \
         DROP INDEX tasks_own; DROP INDEX tasks_standing",
    ),
    (
        13,
        "DROP INDEX workstreams_running; DROP INDEX tasks_running; DROP INDEX workstreams_ended; DROP INDEX tasks_ended; \
         DROP TABLE scope_verdicts; DROP TABLE overlap_warnings",
    ),
    (
        12,
        "DROP TABLE oidc_subjects; DROP TABLE passkeys; DROP TABLE web_sessions; DROP TABLE passwords; \
         DROP TABLE signin_codes",
    ),
    (
        11,
        "DROP TABLE agent_feedback_events; DROP TABLE usage_events; DROP TABLE work_events; \
         DROP TABLE preflight_checks; DROP TABLE notes; DROP TABLE session_contexts; DROP TABLE companions; \
         DROP TABLE local_worktrees; DROP TABLE agent_sessions; DROP TABLE tasks; DROP TABLE workstreams",
    ),
    (
        10,
        "DROP TABLE developers; DROP TABLE workspaces; \
         ALTER TABLE tokens DROP COLUMN agent_type; ALTER TABLE tokens DROP COLUMN may_approve",
    ),
    (9, "DROP TABLE intents; DROP TABLE receipts"),
    (
        8,
        "DROP INDEX approvals_digest; DROP INDEX approvals_named; \
         ALTER TABLE approvals DROP COLUMN kind; ALTER TABLE approvals DROP COLUMN sha256; \
         ALTER TABLE approvals DROP COLUMN decided_at; ALTER TABLE approvals DROP COLUMN decided_by; \
         ALTER TABLE approvals DROP COLUMN reason",
    ),
    (7, "DROP TABLE sessions"),
    (6, "DROP TABLE revision"),
    (5, "DROP TABLE audit_log; DROP TABLE audit_marks"),
    (4, "DROP TABLE audit_rows"),
];

/// Takes back every migration after that one.
async fn back_to(bench: &Bench, last: u32) {
    for (version, back) in BACK.iter().filter(|(version, _)| *version > last) {
        bench.raw(&format!("{back}; DELETE FROM schema_migrations WHERE version = {version}")).await;
    }
    assert_eq!(bench.number(APPLIED).await, i64::from(last));
}

const APPLIED: &str = "SELECT max(version) FROM schema_migrations";

fn backups(bench: &Bench) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(bench.home.path()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains(".backup-")).collect()
}

async fn a_fresh_database_gets_every_table_and_no_backup(bench: Bench) {
    let store = bench.open().await;
    assert_eq!(i64::from(store.schema_version()), bench.number(APPLIED).await);
    store.health().await.unwrap();
    assert_eq!(backups(&bench), [] as [PathBuf; 0]);
}

async fn opening_again_changes_nothing(bench: Bench) {
    bench.open().await.close().await;
    bench.raw("UPDATE schema_migrations SET applied_at = 5").await;
    bench.open().await.close().await;
    assert_eq!(bench.number("SELECT count(*) FROM schema_migrations WHERE applied_at <> 5").await, 0);
}

async fn those_who_come_first_at_once_do_not_trip_over_each_other(bench: Bench) {
    let bench = std::sync::Arc::new(bench);
    let opened = together((0..6).map(|_| {
        let bench = std::sync::Arc::clone(&bench);
        async move { bench.try_open().await.map(|store| store.schema_version()) }
    }));
    for version in opened.await {
        assert_eq!(i64::from(version.unwrap()), bench.number(APPLIED).await);
    }
}

async fn a_newer_schema_is_refused_and_left_alone(bench: Bench) {
    bench.open().await.close().await;
    bench.raw("INSERT INTO schema_migrations VALUES (999, 'tomorrow', 'x', 1)").await;
    let error = bench.try_open().await.unwrap_err();
    assert!(matches!(&error, OpenError::Newer { found: 999, .. }), "{error:?}");
    assert!(error.to_string().contains("use the newer Covenant"), "{error}");
    assert!(error.to_string().contains("restore the backup"), "{error}");
    assert_eq!(backups(&bench), [] as [PathBuf; 0]);
}

async fn a_changed_migration_is_refused(bench: Bench) {
    bench.open().await.close().await;
    bench.raw("UPDATE schema_migrations SET checksum = 'else' WHERE version = 2").await;
    let error = bench.try_open().await.unwrap_err();
    assert!(matches!(&error, OpenError::Changed { version: 2, .. }), "{error:?}");
}

async fn an_older_database_is_backed_up_and_then_upgraded(bench: Bench) {
    let newest = bench.open().await.schema_version();
    let before = BACK.iter().map(|(version, _)| *version).find(|version| *version < newest).unwrap();
    back_to(&bench, before).await;
    let store = bench.open().await;
    let wanted = EventsWanted { log: Log::Work, workspace: None, developer: None, after: None, limit: 9 };
    assert_eq!(store.team_events(wanted).await.unwrap(), [], "the tables are there again");
    if !bench.is_sqlite() {
        return;
    }
    let [backup] = backups(&bench).try_into().unwrap();
    let name = backup.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with(&format!("covenant.db.backup-v{before}-20")), "{name}");
    assert_eq!(backup.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let copy = rusqlite::Connection::open(&backup).unwrap();
    let applied: u32 = copy.query_row(APPLIED, [], |row| row.get(0)).unwrap();
    assert_eq!(applied, before, "it is what was there before");
    let sound: String = copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

async fn a_migration_that_fails_leaves_what_was_there(bench: Bench) {
    bench.open().await.close().await;
    back_to(&bench, 3).await;
    bench.raw("DELETE FROM schema_migrations WHERE version = 3").await;
    let error = bench.try_open().await.unwrap_err();
    assert!(matches!(&error, OpenError::Migration { version: 3, name: "approvals", .. }), "{error:?}");
    assert_eq!(bench.number(APPLIED).await, 2);
    bench.raw("DROP TABLE approvals").await;
    assert_eq!(bench.open().await.tokens().await.unwrap(), []);
}

async fn a_closed_store_refuses_and_says_so(bench: Bench) {
    let store = bench.open().await;
    store.close().await;
    store.close().await;
    assert!(store.tokens().await.unwrap_err().to_string().contains("stopping"));
    assert!(store.index_audit("aa", &[]).await.is_err());
}

on_both!(
    a_fresh_database_gets_every_table_and_no_backup,
    opening_again_changes_nothing,
    those_who_come_first_at_once_do_not_trip_over_each_other,
    a_newer_schema_is_refused_and_left_alone,
    a_changed_migration_is_refused,
    an_older_database_is_backed_up_and_then_upgraded,
    a_migration_that_fails_leaves_what_was_there,
    a_closed_store_refuses_and_says_so,
);
