//! Where no word fits: parts of texts in scripts that put no space between words, and signs that are no words. Every text is
//! gone through, so it comes last, and has an end.

use covenant_model::note::{Found, Query, What};
use rusqlite::{Connection, params_from_iter};

use super::hit;
use super::plan::Plan;
use super::search::count;
use crate::db::DbError;

/// The most notes that are gone through, and the least characters of a part.
const MOST: u64 = 50_000;
const LEAST: usize = 2;

/// The notes whose text has every part, whatever the size of its letters.
pub(super) fn search(
    connection: &Connection,
    query: &Query,
    plan: &Plan,
    limit: i64,
) -> Result<Found, DbError> {
    let parts: Vec<&str> = query
        .terms
        .iter()
        .filter(|term| term.wanted)
        .filter_map(|term| match &term.what {
            What::Word(text) | What::Phrase(text) => Some(text.as_str()),
            What::Tag(_) | What::Path(_) => None,
        })
        .collect();
    // Words in other scripts are found by how they begin, or are not there.
    let odd = |part: &&str| !part.is_ascii() || !part.chars().any(char::is_alphanumeric);
    let long_enough = parts.iter().all(|part| part.chars().count() >= LEAST);
    let is_text = |what: &What| matches!(what, What::Word(_) | What::Phrase(_));
    let unwanted = query.terms.iter().any(|term| !term.wanted && is_text(&term.what));
    if !parts.iter().any(odd) || !long_enough || unwanted || count(connection, "FROM note", ())? > MOST {
        return Ok(Found::default());
    }
    let first = plan.values().len() + 2;
    let tests =
        (first..).zip(&parts).map(|(number, _)| format!(" AND words.body LIKE ?{number} ESCAPE '\\'"));
    let tests: String = tests.collect();
    let from = format!("FROM note JOIN words ON words.rowid = note.id WHERE ?1 = ''{}{tests}", plan.tail());
    let values: Vec<String> = std::iter::once(String::new())
        .chain(plan.values().iter().cloned())
        .chain(parts.iter().map(|part| like(part)))
        .collect();
    let sql = format!(
        "SELECT note.path, note.title, note.modified {from} ORDER BY note.modified DESC, note.path LIMIT {limit}"
    );
    let total = count(connection, &from, params_from_iter(&values))?;
    if total == 0 {
        return Ok(Found::default());
    }
    let mut statement = connection.prepare_cached(&sql)?;
    let hits = statement.query_map(params_from_iter(&values), hit)?.collect::<Result<_, _>>()?;
    Ok(Found { hits, total })
}

/// A pattern of everything that has that part.
fn like(part: &str) -> String {
    let escaped = part.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}
