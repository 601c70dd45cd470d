//! Tokens on either database.

use std::sync::Arc;

use covenant_gate::ports::{Badge, TokenRecord, Tokens as _};
use covenant_model::id::TokenId;
use covenant_model::principal::Principal;
use covenant_model::token;

use super::{Bench, at, on_both, seed, together};

fn record(number: u64, principal: &str, label: &str) -> TokenRecord {
    let secret = secret(number);
    TokenRecord {
        id: TokenId::from_random(seed(number)),
        hash: token::hash(secret.reveal()).unwrap(),
        principal: principal.parse().unwrap(),
        label: label.to_owned(),
        badge: Badge::default(),
        created_at: at(number),
        revoked_at: None,
    }
}

fn secret(number: u64) -> covenant_model::secret::Secret {
    let mut random = [7; 32];
    random[..8].copy_from_slice(&number.to_be_bytes());
    token::from_random(random)
}

async fn tokens_come_back_as_they_were_added_and_oldest_first(bench: Bench) {
    let store = bench.open().await;
    let (old, new) = (record(1, "client:claude", "laptop"), record(2, "dev:ada", "Ädä 🔑"));
    for token in [&new, &old] {
        assert!(store.add_token(token.clone()).await.unwrap());
    }
    assert_eq!(store.tokens().await.unwrap(), [old, new]);
}

async fn a_label_is_taken_until_its_token_is_revoked(bench: Bench) {
    let store = bench.open().await;
    assert!(store.add_token(record(1, "client:claude", "laptop")).await.unwrap());
    assert!(!store.add_token(record(2, "client:claude", "laptop")).await.unwrap());
    assert!(store.add_token(record(3, "client:claude", "desk")).await.unwrap());
    assert!(store.add_token(record(4, "client:codex", "laptop")).await.unwrap());
    store.revoke_tokens(Principal::client("claude").unwrap(), at(9)).await.unwrap();
    assert!(store.add_token(record(5, "client:claude", "laptop")).await.unwrap());
    assert_eq!(store.tokens().await.unwrap().len(), 4);
}

async fn revoking_ends_every_valid_token_of_that_principal_and_no_other(bench: Bench) {
    let store = bench.open().await;
    for token in [record(1, "client:a", "x"), record(2, "client:a", "y"), record(3, "client:b", "x")] {
        store.add_token(token).await.unwrap();
    }
    let principal = Principal::client("a").unwrap();
    assert_eq!(store.revoke_tokens(principal.clone(), at(9)).await.unwrap(), 2);
    assert_eq!(store.revoke_tokens(principal, at(10)).await.unwrap(), 0);
    let revoked: Vec<_> = store.tokens().await.unwrap().into_iter().map(|token| token.revoked_at).collect();
    assert_eq!(revoked, [Some(at(9)), Some(at(9)), None]);
}

async fn of_many_who_want_a_label_at_once_one_gets_it(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    let added = together((0..32).map(|number| {
        let store = Arc::clone(&stores[number % 2]);
        async move { store.add_token(record(number as u64, "client:a", "x")).await.unwrap() }
    }));
    assert_eq!(added.await.into_iter().filter(|added| *added).count(), 1);
}

async fn a_token_is_on_disk_only_as_its_hash(bench: Bench) {
    let store = bench.open().await;
    store.add_token(record(1, "client:a", "the label of this token")).await.unwrap();
    let mut bytes = Vec::new();
    if bench.is_sqlite() {
        for entry in std::fs::read_dir(bench.home.path()).unwrap() {
            bytes.extend(std::fs::read(entry.unwrap().path()).unwrap());
        }
        store.close().await;
        bytes.extend(std::fs::read(bench.file()).unwrap());
    } else {
        let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(&bench.url).await.unwrap();
        let query = sqlx::query_scalar::<_, String>("SELECT CAST(tokens AS TEXT) FROM tokens");
        bytes.extend(query.fetch_one(&mut connection).await.unwrap().into_bytes());
    }
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(holds(b"the label of this token"), "we looked where the row is");
    let secret = secret(1);
    assert!(!holds(secret.reveal().as_bytes()));
    assert!(!holds(&secret.reveal().as_bytes()[3..]), "nor without its prefix");
}

async fn a_bad_row_is_an_error_that_names_table_and_id(bench: Bench) {
    let store = bench.open().await;
    let token = record(1, "client:a", "x");
    store.add_token(token.clone()).await.unwrap();
    for damage in ["principal = 'nobody at all'", "created_at = -5", "hash = CAST('short' AS BYTEA)"] {
        bench.raw("UPDATE tokens SET principal = 'client:a', created_at = 1").await;
        bench.raw(&format!("UPDATE tokens SET {damage}")).await;
        let fault = store.tokens().await.unwrap_err();
        let column = damage.split(' ').next().unwrap();
        assert!(fault.to_string().contains("`tokens`"), "{fault}");
        assert!(fault.to_string().contains(token.id.as_str()), "{fault}");
        assert!(fault.cause().contains(&format!("`{column}`")), "{}", fault.cause());
    }
}

async fn a_text_with_nul_is_refused_alike(bench: Bench) {
    let store = bench.open().await;
    assert!(store.add_token(record(1, "client:a", "x\0y")).await.is_err());
    assert_eq!(store.tokens().await.unwrap(), []);
}

async fn hostile_texts_are_only_ever_values(bench: Bench) {
    let store = bench.open().await;
    let token = record(1, "client:a", "'); DROP TABLE tokens; -- $1 ?1 \" \\");
    assert!(store.add_token(token.clone()).await.unwrap());
    assert_eq!(store.tokens().await.unwrap(), [token]);
}

on_both!(
    tokens_come_back_as_they_were_added_and_oldest_first,
    a_label_is_taken_until_its_token_is_revoked,
    revoking_ends_every_valid_token_of_that_principal_and_no_other,
    of_many_who_want_a_label_at_once_one_gets_it,
    a_token_is_on_disk_only_as_its_hash,
    a_bad_row_is_an_error_that_names_table_and_id,
    a_text_with_nul_is_refused_alike,
    hostile_texts_are_only_ever_values,
);
