//! A copy of a database beside whoever works with it, and what becomes of it under another key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use covenant_gate::ports::Grants as _;
use covenant_model::constraint::Constraints;
use covenant_model::grant::{Approval, Grant};
use covenant_model::id::GrantId;
use covenant_store::{HandedOver, SnapshotError, Store, check_file, newest_schema, snapshot};
use ed25519_dalek::SigningKey;

use super::{Bench, at, on_both, seed};

async fn a_copy_is_of_one_moment_while_others_write(bench: Bench) {
    let bench = Arc::new(bench);
    bench.open().await.close().await;
    bench.raw("INSERT INTO workspaces VALUES ('a', 'a', 0, 0), ('b', 'b', 0, 0)").await;
    let over = Arc::new(AtomicBool::new(false));
    // Two rows that always change together, and a long table between them.
    let writing = tokio::spawn({
        let (bench, over) = (Arc::clone(&bench), Arc::clone(&over));
        async move {
            let mut turn = 0_u64;
            while !over.load(Ordering::SeqCst) {
                turn += 1;
                bench.raw(&format!("UPDATE workspaces SET turn = {turn}")).await;
            }
            turn
        }
    });
    for round in 0..5 {
        let into = bench.home.path().join(format!("copy-{round}.db"));
        let copied = snapshot(&bench.url, bench.home.path(), &into, &|_| {}).await.unwrap().unwrap();
        assert_eq!(copied.schema, newest_schema());
        assert_eq!(check_file(&into).unwrap(), newest_schema());
        let connection = rusqlite::Connection::open(&into).unwrap();
        let sql = "SELECT count(DISTINCT turn), count(*) FROM workspaces";
        let found: (i64, i64) = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(found, (1, 2));
    }
    over.store(true, Ordering::SeqCst);
    assert!(writing.await.unwrap() > 0);
}

async fn an_older_schema_is_never_changed_by_copying_it(bench: Bench) {
    bench.open().await.close().await;
    bench.raw(&format!("DELETE FROM schema_migrations WHERE version = {}", newest_schema())).await;
    let into = bench.home.path().join("copy.db");
    let copied = snapshot(&bench.url, bench.home.path(), &into, &|_| {}).await;
    if bench.is_sqlite() {
        assert_eq!(copied.unwrap().unwrap().schema, newest_schema() - 1, "a file is copied as it is");
    } else {
        let refused = copied.unwrap_err();
        assert!(matches!(refused, SnapshotError::Open(_)), "{refused:?}");
        assert!(refused.to_string().contains("start its daemon with this version once"), "{refused}");
    }
    let applied = bench.number("SELECT max(version) FROM schema_migrations").await;
    assert_eq!(applied, i64::from(newest_schema() - 1));
}

#[tokio::test]
async fn where_there_is_no_file_yet_there_is_no_copy() {
    let bench = Bench::sqlite();
    let into = bench.home.path().join("copy.db");
    assert_eq!(snapshot(&bench.url, bench.home.path(), &into, &|_| {}).await.unwrap(), None);
    assert!(!into.exists() && !bench.file().exists());
}

fn grant(number: u64) -> Grant {
    Grant {
        id: GrantId::from_random(seed(number)),
        subject: "any".parse().unwrap(),
        action: "tool.call.echo".parse().unwrap(),
        constraints: Constraints::default(),
        approval: Approval::None,
        expires_at: None,
        granted_by: "user@local".into(),
        granted_at: at(number),
    }
}

async fn only_what_the_old_key_signed_goes_on_to_the_new_one(bench: Bench) {
    let [old, new, stranger] = [1, 2, 3].map(|number| SigningKey::from_bytes(&[number; 32]));
    let store: Arc<Store> = bench.open().await;
    store.add_grant(grant(1).sign(&old)).await.unwrap();
    store.add_grant(grant(2).sign(&stranger)).await.unwrap();
    let mut forged = grant(3).sign(&stranger);
    forged.key = old.verifying_key().to_bytes();
    store.add_grant(forged).await.unwrap();
    let sign = |signed: covenant_model::grant::SignedGrant| {
        signed.is_signed_by(&[old.verifying_key()]).then(|| signed.grant.sign(&new))
    };
    let done = store.hand_over(["old", "new"], sign).await.unwrap();
    assert_eq!(done, HandedOver { grants: 1, left: 2 });
    let valid: Vec<bool> = store
        .grants()
        .await
        .unwrap()
        .iter()
        .map(|grant| grant.is_signed_by(&[new.verifying_key()]))
        .collect();
    assert_eq!(valid, [true, false, false]);
    store.close().await;
}

on_both!(
    a_copy_is_of_one_moment_while_others_write,
    an_older_schema_is_never_changed_by_copying_it,
    only_what_the_old_key_signed_goes_on_to_the_new_one,
);
