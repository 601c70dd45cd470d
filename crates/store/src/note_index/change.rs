//! What is put into an index and forgotten, in one transaction.

use covenant_model::note::{Entry, key};
use rusqlite::{Connection, OptionalExtension as _, Transaction};

use crate::db::DbError;

/// All of it, or nothing.
pub(super) fn change(connection: &mut Connection, put: &[Entry], gone: &[String]) -> Result<(), DbError> {
    let transaction = connection.transaction()?;
    for path in gone {
        forget(&transaction, path)?;
    }
    for entry in put {
        forget(&transaction, &entry.path)?;
        add(&transaction, entry)?;
    }
    Ok(transaction.commit()?)
}

fn forget(transaction: &Transaction<'_>, path: &str) -> Result<(), DbError> {
    let mut find = transaction.prepare_cached("SELECT id FROM note WHERE path = ?1")?;
    let Some(id) = find.query_row([path], |row| row.get::<_, i64>(0)).optional()? else { return Ok(()) };
    for sql in [
        "DELETE FROM words WHERE rowid = ?1",
        "DELETE FROM link WHERE note = ?1",
        "DELETE FROM tag WHERE note = ?1",
        "DELETE FROM note WHERE id = ?1",
    ] {
        transaction.prepare_cached(sql)?.execute([id])?;
    }
    Ok(())
}

fn add(transaction: &Transaction<'_>, entry: &Entry) -> Result<(), DbError> {
    let mut note = transaction.prepare_cached(
        "INSERT INTO note (path, folded, key, title, inode, size, modified) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let id = note.insert((
        &entry.path,
        entry.path.to_lowercase(),
        key(&entry.path),
        &entry.title,
        entry.stamp.inode.cast_signed(),
        entry.stamp.size.cast_signed(),
        entry.stamp.modified,
    ))?;
    let mut words = transaction.prepare_cached(
        "INSERT INTO words (rowid, title, headings, tags, path, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let (headings, tags) = (entry.headings.join("\n"), entry.tags.join(" "));
    words.execute((id, &entry.title, headings, tags, &entry.path, &entry.text))?;
    let mut link = transaction.prepare_cached("INSERT INTO link (note, key, target) VALUES (?1, ?2, ?3)")?;
    for target in &entry.links {
        link.execute((id, key(target), target))?;
    }
    let mut tag = transaction.prepare_cached("INSERT INTO tag (note, tag) VALUES (?1, ?2)")?;
    for name in &entry.tags {
        tag.execute((id, name.to_lowercase()))?;
    }
    Ok(())
}
