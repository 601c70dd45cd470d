//! One database copied into another: all of it, or none, and nothing where something is already.

use std::collections::BTreeMap;
use std::sync::Mutex;

use covenant_gate::ports::Tokens as _;
use covenant_store::{CopiedTable, CopyError, Progress, copy};
use rusqlite::types::Value;

use super::{Bench, on_both};

/// More than a page, and no multiple of one.
const ROWS: i64 = 1100;

/// The tables of a file, as `SQLite` lists them, but the one that says which migrations ran.
fn tables(bench: &Bench) -> Vec<String> {
    let connection = rusqlite::Connection::open(bench.file()).unwrap();
    let sql =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut statement = connection.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    names.map(Result::unwrap).filter(|name| name != "schema_migrations").collect()
}

/// What row number `number` holds in that column. Every table has the same, so that what refers to another finds it.
fn value(kind: &str, number: i64, key: bool, nullable: bool) -> Value {
    if nullable && !key && number % 3 == 0 {
        return Value::Null;
    }
    match kind {
        "BIGINT" if key => Value::Integer(number),
        "BIGINT" => Value::Integer([number, i64::MIN, i64::MAX, 0, -1][usize::try_from(number % 5).unwrap()]),
        "TEXT" => Value::Text(format!("{number} \u{1f9ff} \"'\\\t\r\n")),
        "BYTEA" => Value::Blob([&number.to_be_bytes()[..], &[0, 255, 92, 10]].concat()),
        other => panic!("this test does not know the type {other}: teach it, and the copy"),
    }
}

/// Puts rows into every table there is, whatever it is for.
fn fill(bench: &Bench) {
    let mut connection = rusqlite::Connection::open(bench.file()).unwrap();
    let tx = connection.transaction().unwrap();
    tx.pragma_update(None, "defer_foreign_keys", true).unwrap();
    for table in tables(bench) {
        let mut columns: Vec<(String, String, bool, bool)> = Vec::new();
        let sql = format!("SELECT name, type, \"notnull\", pk FROM pragma_table_info('{table}')");
        let mut statement = tx.prepare(&sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            columns.push((
                row.get(0).unwrap(),
                row.get(1).unwrap(),
                !row.get::<_, bool>(2).unwrap(),
                row.get::<_, i64>(3).unwrap() > 0,
            ));
        }
        let marks = vec!["?"; columns.len()].join(", ");
        tx.execute(&format!("DELETE FROM {table}"), []).unwrap();
        for number in 1..=ROWS {
            let values = columns.iter().map(|(_, kind, nullable, key)| value(kind, number, *key, *nullable));
            let values = rusqlite::params_from_iter(values);
            tx.execute(&format!("INSERT INTO {table} VALUES ({marks})"), values).unwrap();
        }
    }
    tx.commit().unwrap();
}

async fn copied(from: &Bench, to: &Bench) -> Result<Vec<CopiedTable>, CopyError> {
    let (source, target) = (from.open().await, to.open().await);
    let copied = copy(&source, &target, &|_| {}).await;
    source.close().await;
    target.close().await;
    copied
}

async fn every_table_arrives_with_every_row(to: Bench) {
    let from = Bench::sqlite();
    from.open().await.close().await;
    fill(&from);
    let seen = Mutex::new(BTreeMap::new());
    let (source, target) = (from.open().await, to.open().await);
    let told = |progress| {
        if let Progress::Written(table, rows) = progress {
            seen.lock().unwrap().insert(table, rows);
        }
    };
    let copied = copy(&source, &target, &told).await.unwrap();
    source.close().await;
    target.close().await;
    let names: Vec<&str> = copied.iter().map(|table| table.table.as_str()).collect();
    assert_eq!(names, tables(&from), "every table that there is");
    for table in &copied {
        assert_eq!(i64::try_from(table.rows).unwrap(), ROWS, "{table:?}");
        assert_eq!(to.number(&format!("SELECT count(*) FROM {}", table.table)).await, ROWS, "{table:?}");
        assert_eq!(seen.lock().unwrap()[&table.table], table.rows, "progress is told");
    }
    for (sql, expected) in [
        ("SELECT count(*) FROM intents WHERE parent IS NULL", ROWS / 3),
        ("SELECT min(used) FROM grants", i64::MIN),
        ("SELECT max(used) FROM grants", i64::MAX),
        ("SELECT CAST(length(principal) AS BIGINT) FROM tokens WHERE id LIKE '1099 %'", 13),
        ("SELECT CAST(length(hash) AS BIGINT) FROM tokens WHERE id LIKE '7 %'", 12),
    ] {
        assert_eq!(to.number(sql).await, expected, "{sql}");
    }
    // And back, into a file: what comes out is what went in.
    if !to.is_sqlite() {
        let back = Bench::sqlite();
        assert_eq!(super::copy::copied(&to, &back).await.unwrap(), copied);
        assert_eq!(tables(&back), tables(&from));
    }
}

async fn what_refers_to_what_is_judged_again_afterwards(to: Bench) {
    let from = Bench::sqlite();
    from.open().await.close().await;
    copied(&from, &to).await.unwrap();
    if to.is_sqlite() {
        return;
    }
    let sql = "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND condeferrable";
    assert_eq!(to.number(sql).await, 0, "references are as they were made");
    assert!(to.number("SELECT count(*) FROM pg_constraint WHERE contype = 'f'").await > 0);
}

async fn a_target_that_holds_anything_is_refused_and_left_as_it_is(to: Bench) {
    let from = Bench::sqlite();
    from.open().await.close().await;
    fill(&from);
    to.open().await.close().await;
    for (put, take, table) in [
        ("INSERT INTO workspaces VALUES ('w', 'w', 1, 1)", "DELETE FROM workspaces", "workspaces"),
        ("UPDATE revision SET number = 7 WHERE id = 1", "UPDATE revision SET number = 0", "revision"),
    ] {
        to.raw(put).await;
        let refused = copied(&from, &to).await.unwrap_err();
        assert!(matches!(&refused, CopyError::NotEmpty { table: found, .. } if found == table), "{refused}");
        assert!(refused.to_string().contains("is not empty"), "{refused}");
        assert_eq!(to.number("SELECT count(*) FROM tokens").await, 0);
        to.raw(take).await;
    }
    copied(&from, &to).await.unwrap();
    assert!(matches!(copied(&from, &to).await, Err(CopyError::NotEmpty { .. })), "once is enough");
}

async fn a_copy_that_fails_in_the_middle_leaves_nothing_behind(to: Bench) {
    let from = Bench::sqlite();
    from.open().await.close().await;
    fill(&from);
    // One reference leads nowhere, which is found when all rows are written.
    from.raw("PRAGMA foreign_keys = OFF; UPDATE developers SET workspace_id = 'x' WHERE id LIKE '1100 %'")
        .await;
    let failed = copied(&from, &to).await.unwrap_err();
    assert!(matches!(&failed, CopyError::Failed { .. }), "{failed}");
    assert_eq!(to.number("SELECT count(*) FROM tokens").await, 0);
    assert_eq!(to.number("SELECT count(*) FROM revision").await, 2, "what a new one has is still there");
    from.raw("UPDATE developers SET workspace_id = id WHERE workspace_id = 'x'").await;
    copied(&from, &to).await.unwrap();
}

/// How many rows each table has, of those that the other has too.
async fn counts(bench: &Bench, other: &Bench) -> Vec<(String, i64)> {
    let mut counts = Vec::new();
    for table in tables(other) {
        let rows = bench.number(&format!("SELECT count(*) FROM {table}")).await;
        counts.push((table, rows));
    }
    counts
}

/// Has a database change one row of `notes` as it is put in: its text, or that it is there at all.
async fn meddled(to: &Bench, change: &str) {
    if to.is_sqlite() {
        let (time, act) = match change {
            "altered" => ("AFTER", "UPDATE notes SET text = 'x' WHERE id = NEW.id"),
            _ => ("BEFORE", "SELECT RAISE(IGNORE)"),
        };
        let when = "WHEN NEW.id LIKE '700 %'";
        to.raw(&format!("CREATE TRIGGER meddle {time} INSERT ON notes FOR EACH ROW {when} BEGIN {act}; END"))
            .await;
        return;
    }
    let act = if change == "altered" { "NEW.text = 'x'; RETURN NEW;" } else { "RETURN NULL;" };
    let function =
        format!("CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {act} END $$");
    let trigger = "CREATE TRIGGER meddle BEFORE INSERT ON notes FOR EACH ROW WHEN (NEW.id LIKE '700 %') EXECUTE FUNCTION meddle()";
    to.raw(&format!("{function}; {trigger}")).await;
}

async fn what_comes_out_otherwise_than_it_went_in_is_noticed_and_nothing_is_kept(to: Bench) {
    let from = Bench::sqlite();
    from.open().await.close().await;
    fill(&from);
    to.open().await.close().await;
    let new = counts(&to, &from).await;
    let number = |count: i64| u64::try_from(count).unwrap();
    for (change, left) in [("altered", ROWS), ("lost", ROWS - 1)] {
        meddled(&to, change).await;
        let failed = copied(&from, &to).await.unwrap_err();
        let CopyError::Differs { table, from: read, from_digest, to: written, to_digest } = &failed else {
            panic!("{change}: {failed}");
        };
        assert_eq!((table.as_str(), *read, *written), ("notes", number(ROWS), number(left)), "{failed}");
        assert_ne!(from_digest, to_digest);
        let told = failed.to_string();
        assert!(told.starts_with("table `notes` came out differently: 1100 rows with digest "), "{told}");
        assert!(told.contains(from_digest) && told.contains(to_digest), "{told}");
        assert_eq!(counts(&to, &from).await, new, "{change}: the target is as it was");
        let drop = if to.is_sqlite() { "DROP TRIGGER meddle" } else { "DROP FUNCTION meddle CASCADE" };
        to.raw(drop).await;
    }
    copied(&from, &to).await.unwrap();
}

async fn a_number_that_is_a_text_is_refused_by_a_server(to: Bench) {
    let from = Bench::sqlite();
    from.open().await.close().await;
    from.raw("INSERT INTO workspaces VALUES ('w', 'w', 'one', 1)").await;
    match copied(&from, &to).await {
        Ok(_) => assert!(to.is_sqlite(), "a file takes anything"),
        Err(failed) => {
            assert!(!to.is_sqlite(), "{failed}");
            assert!(failed.to_string().contains("column `turn` of table `workspaces`"), "{failed}");
            assert_eq!(to.open().await.tokens().await.unwrap(), []);
        }
    }
}

async fn a_database_is_not_copied_into_itself(bench: Bench) {
    assert!(matches!(copied(&bench, &bench).await, Err(CopyError::Same(_))));
}

on_both!(
    every_table_arrives_with_every_row,
    what_refers_to_what_is_judged_again_afterwards,
    a_target_that_holds_anything_is_refused_and_left_as_it_is,
    a_copy_that_fails_in_the_middle_leaves_nothing_behind,
    what_comes_out_otherwise_than_it_went_in_is_noticed_and_nothing_is_kept,
    a_number_that_is_a_text_is_refused_by_a_server,
    a_database_is_not_copied_into_itself,
);
