//! The database file: what may be opened, what is refused and why, and who may read it.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use covenant_gate::ports::Tokens as _;
use covenant_store::{OpenError, Store};

use super::Bench;

async fn refused(url: &str, home: &Path) -> OpenError {
    Store::open(url, home).await.unwrap_err()
}

#[tokio::test]
async fn a_new_file_and_those_beside_it_are_for_the_owner_alone() {
    let bench = Bench::sqlite();
    let store = bench.open().await;
    store.tokens().await.unwrap();
    let entries: Vec<_> = std::fs::read_dir(bench.home.path()).unwrap().map(|entry| entry.unwrap()).collect();
    assert!(entries.len() >= 3, "the file, its log and its index: {entries:?}");
    for entry in entries {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
    }
    assert_eq!(store.place(), format!("sqlite:{}", bench.file().display()));
    store.close().await;
    assert_eq!(std::fs::read_dir(bench.home.path()).unwrap().count(), 1, "a clean close leaves one file");
}

#[tokio::test]
async fn an_absolute_path_is_not_of_the_home() {
    let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = elsewhere.path().join("other.db");
    for url in [format!("sqlite:{}", path.display()), format!("sqlite://{}", path.display())] {
        Store::open(&url, home.path()).await.unwrap().close().await;
    }
    assert!(path.is_file());
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named_and_left_alone() {
    let bench = Bench::sqlite();
    let garbage = b"this is not a database, it is a letter to my aunt. ".repeat(100);
    std::fs::write(bench.file(), &garbage).unwrap();
    let error = bench.try_open().await.unwrap_err();
    assert!(matches!(&error, OpenError::Damaged { path, .. } if *path == bench.file()), "{error:?}");
    assert!(error.to_string().contains("restore a backup"), "{error}");
    assert_eq!(std::fs::read(bench.file()).unwrap(), garbage);
}

#[tokio::test]
async fn a_database_that_was_cut_off_is_named() {
    let bench = Bench::sqlite();
    bench.open().await.close().await;
    std::fs::OpenOptions::new().write(true).open(bench.file()).unwrap().set_len(4096 + 10).unwrap();
    let error = bench.try_open().await.unwrap_err();
    assert!(matches!(&error, OpenError::Damaged { path, .. } if *path == bench.file()), "{error:?}");
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    let bench = Bench::sqlite();
    bench.raw("CREATE TABLE recipes (name TEXT)").await;
    let before = std::fs::read(bench.file()).unwrap();
    assert_eq!(refused(&bench.url, bench.home.path()).await, OpenError::Foreign { path: bench.file() });
    assert_eq!(std::fs::read(bench.file()).unwrap(), before);
}

#[tokio::test]
async fn a_file_of_another_user_is_refused() {
    let bench = Bench::sqlite();
    bench.open().await.close().await;
    // Root can give a file away; anyone else finds one of root's.
    let other = bench.file().metadata().unwrap().uid() + 1;
    let given = std::os::unix::fs::chown(bench.file(), Some(other), None);
    let file = if given.is_ok() { bench.file() } else { "/etc/passwd".into() };
    let error = refused(&format!("sqlite:{}", file.display()), bench.home.path()).await;
    assert!(matches!(&error, OpenError::OtherOwner { path, .. } if *path == file), "{error:?}");
}

#[tokio::test]
async fn a_place_where_no_file_can_be_is_refused() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("directory")).unwrap();
    for path in ["missing/covenant.db", "directory"] {
        let error = refused(&format!("sqlite:{path}"), home.path()).await;
        assert!(
            matches!(&error, OpenError::Unusable { path: named, .. } if named.ends_with(path)),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn urls_that_name_no_database_are_refused_without_repeating_a_password() {
    let home = tempfile::tempdir().unwrap();
    let unknown = ["", "covenant.db", "mysql://me:hunter22@db/x", "Sqlite:x"];
    for url in unknown {
        assert_eq!(refused(url, home.path()).await, OpenError::UnknownScheme, "{url}");
    }
    for url in ["sqlite::memory:", "sqlite:file::memory:", "sqlite:x?mode=memory"] {
        assert_eq!(refused(url, home.path()).await, OpenError::Memory, "{url}");
    }
    for url in ["sqlite:", "sqlite:x/", "sqlite:x?mode=ro", "sqlite:x\0y", "postgres://me:hunter22@db:port/x"]
    {
        let error = refused(url, home.path()).await;
        assert!(matches!(error, OpenError::BadUrl(_)), "{url}: {error:?}");
        assert!(!error.to_string().contains("hunter22"), "{error}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}
