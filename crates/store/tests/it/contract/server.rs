//! What only a server can do to us: not be there, refuse us, cut us off.

use covenant_gate::ports::Tokens as _;
use covenant_store::{OpenError, Store};

use super::Bench;

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_the_password() {
    let home = tempfile::tempdir().unwrap();
    let url = format!("postgres://ada:hunter22@localhost/covenant?host={}", home.path().display());
    let error = Store::open(&url, home.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("postgres://ada@"), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter22"), "{error}");
}

#[tokio::test]
async fn a_database_that_does_not_exist_is_named() {
    let Some(bench) = Bench::postgres() else { return };
    let url = bench.url.replace('?', "_nowhere?");
    let error = Store::open(&url, bench.home.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("_nowhere"), "{error}");
}

#[tokio::test]
async fn a_connection_that_the_server_cut_is_replaced() {
    let Some(bench) = Bench::postgres() else { return };
    let store = bench.open().await;
    store.tokens().await.unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    bench.raw(cut).await;
    store.tokens().await.unwrap();
    assert!(store.place().starts_with("postgres://covenant@/"), "{}", store.place());
}
