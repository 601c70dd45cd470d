//! Changing `secrets.toml`: one name at a time, everything else in the file kept as its owner wrote it.

use std::io;
use std::path::PathBuf;

use covenant_model::secret::{BadSecret, Secret, check_name, check_value};
use toml_edit::{DocumentMut, Item, Table, value};
use zeroize::Zeroizing;

use super::SecretsError;
use crate::atomic;
use crate::config;
use crate::home::Home;
use crate::trust::{self, Kind};

/// Why a secret was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It cannot be a secret.
    #[error(transparent)]
    Bad(#[from] BadSecret),
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] SecretsError),
    /// The file cannot be written.
    #[error("{} could not be written: {error}; nothing was changed", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Write { path: PathBuf, error: io::Error },
}

/// Keeps that secret under that name; an older value is replaced.
pub fn set(home: &Home, name: &str, secret: &Secret) -> Result<(), EditError> {
    check_name(name)?;
    check_value(name, secret.reveal())?;
    let mut document = read(home)?;
    let table = document.entry("secrets").or_insert_with(|| Item::Table(Table::new()));
    let path = home.secrets();
    let table = table.as_table_like_mut().ok_or(SecretsError::NotATable { path })?;
    table.insert(name, value(secret.reveal()));
    write(home, &document)
}

/// Forgets the secret with that name; `false` if the file holds none.
pub fn remove(home: &Home, name: &str) -> Result<bool, EditError> {
    check_name(name)?;
    let mut document = read(home)?;
    let table = document.get_mut("secrets").and_then(Item::as_table_like_mut);
    if table.and_then(|table| table.remove(name)).is_none() {
        return Ok(false);
    }
    write(home, &document)?;
    Ok(true)
}

fn read(home: &Home) -> Result<DocumentMut, SecretsError> {
    let path = home.secrets();
    match trust::read(&path, Kind::Private)? {
        Some(content) => Ok(config::toml(&path, &config::utf8(&path, content.bytes)?)?),
        None => Ok(DocumentMut::new()),
    }
}

fn write(home: &Home, document: &DocumentMut) -> Result<(), EditError> {
    let path = home.secrets();
    let text = Zeroizing::new(document.to_string());
    atomic::write(&path, text.as_bytes()).map_err(|error| EditError::Write { path, error })
}

/// The file as it was, to be put back if a change cannot be recorded.
pub struct Snapshot(Option<Zeroizing<Vec<u8>>>);

impl Snapshot {
    /// Takes one.
    pub fn take(home: &Home) -> Result<Self, SecretsError> {
        let content = trust::read(&home.secrets(), Kind::Private)?;
        Ok(Self(content.map(|content| Zeroizing::new(content.bytes))))
    }

    /// Puts it back.
    pub fn put_back(self, home: &Home) -> Result<(), EditError> {
        let path = home.secrets();
        let done = match self.0 {
            Some(bytes) => atomic::write(&path, &bytes),
            None => std::fs::remove_file(&path),
        };
        done.map_err(|error| EditError::Write { path, error })
    }
}
