//! The transaction type itself, mostly on a file; on a server where that differs.

#[path = "../../../../testkit/src/postgres.rs"]
#[expect(unreachable_pub, reason = "public in the test kit, private here")]
mod server;

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

fn open(home: &tempfile::TempDir) -> Db {
    let path = home.path().join("x.db");
    if !path.exists() {
        crate::file::create(&path).unwrap();
    }
    Db::Sqlite(sqlite::Sqlite::open(&path).unwrap())
}

async fn numbers(db: &Db) -> Vec<Value> {
    let rows = db.query("SELECT n FROM t ORDER BY n", Vec::new()).await.unwrap();
    rows.into_iter().flat_map(|row| row.values).collect()
}

async fn table(home: &tempfile::TempDir) -> Db {
    let db = open(home);
    db.execute("CREATE TABLE t (n BIGINT PRIMARY KEY, x TEXT)", Vec::new()).await.unwrap();
    db
}

#[tokio::test]
async fn a_transaction_that_is_dropped_never_happened() {
    let home = tempfile::tempdir().unwrap();
    let db = table(&home).await;
    let mut tx = db.begin(Purpose::Work).await.unwrap();
    assert_eq!(tx.execute("INSERT INTO t (n) VALUES ($1)", vec![1_i64.into()]).await.unwrap(), 1);
    drop(tx);
    assert_eq!(numbers(&db).await, []);
    let mut tx = db.begin(Purpose::Work).await.unwrap();
    tx.execute("INSERT INTO t (n) VALUES ($1)", vec![2_i64.into()]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(numbers(&db).await, [Value::Int(2)]);
}

#[tokio::test]
async fn a_caller_that_goes_away_in_the_middle_leaves_the_writer_free() {
    let home = tempfile::tempdir().unwrap();
    let db = table(&home).await;
    let stuck = async {
        let mut tx = db.begin(Purpose::Work).await.unwrap();
        tx.execute("INSERT INTO t (n) VALUES (1)", Vec::new()).await.unwrap();
        std::future::pending::<()>().await;
        drop(tx);
    };
    let cut = tokio::time::timeout(Duration::from_millis(50), stuck).await;
    assert!(cut.is_err());
    db.execute("INSERT INTO t (n) VALUES (2)", Vec::new()).await.unwrap();
    assert_eq!(numbers(&db).await, [Value::Int(2)]);
}

#[tokio::test]
async fn parameters_go_by_their_number_not_by_their_place() {
    let home = tempfile::tempdir().unwrap();
    let db = table(&home).await;
    let sql = "INSERT INTO t (x, n) VALUES ($2, $1) RETURNING x, n, $2 AS again";
    let rows = db.change(sql, vec![7_i64.into(), "seven".into()]).await.unwrap();
    assert_eq!(rows[0].values, ["seven".into(), 7_i64.into(), "seven".into()]);
    assert!(db.change(sql, vec![8_i64.into()]).await.is_err(), "a value is missing");
}

#[tokio::test]
async fn work_that_loses_a_race_is_tried_again_and_rolled_back_each_time() {
    let home = tempfile::tempdir().unwrap();
    let db = table(&home).await;
    let attempts = std::sync::Arc::new(AtomicU32::new(0));
    let counter = std::sync::Arc::clone(&attempts);
    let done = db.write(move |tx| {
        let counter = std::sync::Arc::clone(&counter);
        Box::pin(async move {
            tx.execute("INSERT INTO t (n) VALUES (1)", Vec::new()).await?;
            match counter.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => Err(DbError::Conflict("someone was faster".into())),
                _ => Ok("done"),
            }
        })
    });
    assert_eq!(done.await.unwrap(), "done");
    assert_eq!(attempts.load(Ordering::SeqCst), 3);
    assert_eq!(numbers(&db).await, [Value::Int(1)]);
}

#[tokio::test]
async fn work_that_always_loses_is_given_up_after_a_bounded_number_of_attempts() {
    let home = tempfile::tempdir().unwrap();
    let db = table(&home).await;
    let attempts = std::sync::Arc::new(AtomicU32::new(0));
    let counter = std::sync::Arc::clone(&attempts);
    let lost = db.write::<(), _>(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Err(DbError::Conflict("someone is always faster".into())) })
    });
    assert!(matches!(lost.await, Err(DbError::Conflict(_))));
    assert_eq!(attempts.load(Ordering::SeqCst), ATTEMPTS);
}

#[tokio::test]
async fn readers_change_nothing_and_see_every_commit() {
    let home = tempfile::tempdir().unwrap();
    let db = table(&home).await;
    assert!(db.query("INSERT INTO t (n) VALUES (1) RETURNING n", Vec::new()).await.is_err());
    for number in 0..200_i64 {
        db.execute("INSERT INTO t (n) VALUES ($1)", vec![number.into()]).await.unwrap();
        assert_eq!(i64::try_from(numbers(&db).await.len()).unwrap(), number + 1);
    }
}

#[tokio::test]
async fn another_connection_that_holds_the_file_is_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let db = table(&home).await;
    let other = open(&home);
    let mut tx = other.begin(Purpose::Work).await.unwrap();
    tx.execute("INSERT INTO t (n) VALUES (1)", Vec::new()).await.unwrap();
    let (waited, ()) = tokio::join!(db.execute("INSERT INTO t (n) VALUES (2)", Vec::new()), async {
        tokio::task::yield_now().await;
        tx.commit().await.unwrap();
    });
    assert_eq!(waited.unwrap(), 1);
}

#[tokio::test]
async fn a_transaction_waits_for_that_of_another_connection_and_sees_what_it_did() {
    let home = tempfile::tempdir().unwrap();
    let (db, other) = (table(&home).await, open(&home));
    let mut tx = other.begin(Purpose::Work).await.unwrap();
    let begin = db.begin(Purpose::Work);
    tokio::pin!(begin);
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut begin).await.is_err(), "it waits");
    tx.execute("INSERT INTO t (n) VALUES (1)", Vec::new()).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = begin.await.unwrap();
    assert_eq!(tx.query("SELECT n FROM t", Vec::new()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn on_a_server_one_of_two_transactions_that_count_and_then_insert_loses() {
    let Some(url) = server::database().unwrap() else { return };
    let db = Db::Postgres(postgres::Postgres::open(url.parse().unwrap()).await.unwrap());
    db.execute("CREATE TABLE t (n BIGINT PRIMARY KEY, x TEXT)", Vec::new()).await.unwrap();
    let (mut first, mut second) =
        (db.begin(Purpose::Work).await.unwrap(), db.begin(Purpose::Work).await.unwrap());
    for (tx, number) in [(&mut first, 1_i64), (&mut second, 2)] {
        assert_eq!(tx.query("SELECT n FROM t", Vec::new()).await.unwrap().len(), 0);
        // A null first, so that the server has to find out what type `$2` is.
        let sql = "INSERT INTO t (n, x) VALUES ($1, $2)";
        tx.execute(sql, vec![number.into(), Value::Null]).await.unwrap();
        tx.execute(sql, vec![(number + 10).into(), "text".into()]).await.unwrap();
    }
    first.commit().await.unwrap();
    let lost = second.commit().await.unwrap_err();
    assert!(lost.is_worth_retrying(), "{lost}");
    assert_eq!(numbers(&db).await, [Value::Int(1), Value::Int(11)]);
}
