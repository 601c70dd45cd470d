//! Changing which servers are written down: one entry at a time, everything else in the file kept as its owner wrote it.

mod cut;
mod render;
mod undo;

use std::io;
use std::path::{Path, PathBuf};

use covenant_model::server::Entry;
use serde_json::Value;
use toml_edit::Item;
use zeroize::Zeroizing;

use super::entry;
use super::read::files;
use super::written::{self, SPELLINGS};
use crate::config;
use crate::home::Home;
use crate::secrets::SecretsError;
use crate::trust::{self, Kind, LIMIT};

pub(crate) use undo::Undo;

/// Why no file was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] SecretsError),
    /// There is one of that name.
    #[error("{} has a server `{name}` already; choose another name, or remove that one first", path.display())]
    Taken { name: String, path: PathBuf },
    /// There is none of that name.
    #[error(
        "neither config.toml nor secrets.toml has a server `{0}`; one that a plugin brings goes with the plugin, and \
         one that was added until the next restart is in no file"
    )]
    NotThere(String),
    /// The file is written in a way that it cannot be changed and stay what it is.
    #[error("{} cannot be changed without changing more of it; nothing was changed: edit it by hand", path.display())]
    Entangled { path: PathBuf },
    /// It would no longer be read.
    #[error("{} would become larger than {LIMIT} bytes; nothing was changed", path.display())]
    TooLarge { path: PathBuf },
    /// A file cannot be written.
    #[error("{} could not be written: {error}; nothing was changed", path.display())]
    Write { path: PathBuf, error: io::Error },
    /// A file that was written stays so.
    #[error("{} was changed and could not be put back: {error}; look at it", path.display())]
    Stays { path: PathBuf, error: io::Error },
    /// Somebody else wrote it in between.
    #[error(
        "{} was changed by somebody else in the meantime and is left as it is: look whether it says what you want",
        path.display()
    )]
    Overtaken { path: PathBuf },
}

/// Writes an entry at the end of `config.toml`: those of its keys that are not what they would be without.
pub(crate) fn add(home: &Home, entry: &Entry, undo: &mut Undo) -> Result<(), EditError> {
    for (path, kind) in files(home) {
        let text = read(&path, kind)?;
        let (entries, _) = written::configuration(&path, &text).map_err(SecretsError::from)?;
        if entries.iter().any(|written| written.name.as_deref() == Some(&entry.name)) {
            return Err(EditError::Taken { name: entry.name.clone(), path });
        }
    }
    let path = home.config();
    let before = read(&path, Kind::Program)?;
    let entangled = || EditError::Entangled { path: path.clone() };
    let after = appended(&path, &before, entry)?.ok_or_else(entangled)?;
    // What was written must be what is read.
    let (entries, _) = written::configuration(&path, &after).map_err(|_| entangled())?;
    let added = entries.iter().find(|written| written.name.as_deref() == Some(&entry.name));
    let read = added.and_then(|written| entry::parse(written.keys.as_ref()?).entry.ok());
    if read.as_ref() != Some(entry) {
        return Err(entangled());
    }
    undo.write(&path, &before, &after)
}

/// Takes the entry of that name out, wherever it is written; gives back the files that changed.
pub(crate) fn remove(home: &Home, name: &str, undo: &mut Undo) -> Result<Vec<PathBuf>, EditError> {
    let mut changed = Vec::new();
    for (path, kind) in files(home) {
        let before = read(&path, kind)?;
        if let Some(after) = without(&path, &before, name)? {
            changed.push((path, before, after));
        }
    }
    if changed.is_empty() {
        return Err(EditError::NotThere(name.to_owned()));
    }
    changed.iter().try_for_each(|(path, before, after)| undo.write(path, before, after))?;
    Ok(changed.into_iter().map(|(path, ..)| path).collect())
}

fn appended(path: &Path, before: &str, entry: &Entry) -> Result<Option<String>, EditError> {
    let Some(table) = render::table(entry) else { return Ok(None) };
    let mut document = config::toml(path, before).map_err(SecretsError::from)?;
    let list = document.get_mut("mcp").and_then(|mcp| mcp.as_table_like_mut()?.get_mut("servers"));
    if let Some(list) = list.and_then(Item::as_array_mut) {
        list.push(table.into_inline_table());
        return Ok(Some(document.to_string()));
    }
    // Put behind the text as it is: not even white space changes.
    let gap = if before.is_empty() {
        ""
    } else if before.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    Ok(Some(format!("{before}{gap}{}", render::text(table))))
}

fn without(path: &Path, before: &str, name: &str) -> Result<Option<String>, EditError> {
    let document = config::document(path, before).map_err(SecretsError::from)?;
    let had = written::json(document.as_item());
    let left = with_servers(had.clone(), |entry| entry != Some(name));
    if left == with_servers(had, |_| true) {
        return Ok(None);
    }
    let entangled = || EditError::Entangled { path: path.to_owned() };
    let cut = cut::tables(before, &document, name).ok_or_else(entangled)?;
    let after = cut::inline(path, &cut, name).map_err(|_| entangled())?;
    let document = config::document(path, &after).map_err(|_| entangled())?;
    // Nothing else may be gone.
    if with_servers(written::json(document.as_item()), |_| true) != left {
        return Err(entangled());
    }
    Ok(Some(after))
}

/// What a document says with only those servers. Where none is left, it does not matter how that is written.
fn with_servers(mut document: Value, keep: impl Fn(Option<&str>) -> bool) -> Value {
    let Some(root) = document.as_object_mut() else { return document };
    let Some(mcp) = root.get_mut("mcp").and_then(Value::as_object_mut) else { return document };
    for (spelling, _) in SPELLINGS {
        let Some(list) = mcp.get_mut(spelling).and_then(Value::as_array_mut) else { continue };
        list.retain(|entry| keep(entry.get("name").and_then(Value::as_str)));
        if list.is_empty() {
            mcp.remove(spelling);
        }
    }
    if mcp.is_empty() {
        root.remove("mcp");
    }
    document
}

fn read(path: &Path, kind: Kind) -> Result<Zeroizing<String>, SecretsError> {
    let content = trust::read(path, kind)?;
    let text = content.map(|content| config::utf8(path, content.bytes)).transpose()?;
    Ok(Zeroizing::new(text.unwrap_or_default()))
}

#[cfg(test)]
mod tests;
