//! From a question to hits, in an order that puts first what somebody most likely means.

use std::collections::HashMap;

use covenant_model::note::{Found, Hit, Query, What};
use rusqlite::{Connection, params_from_iter};

use super::plan::Plan;
use super::{hit, substring};
use crate::db::DbError;

/// From how many hits on not all of them are weighed: then the notes that have the words in their title, headings, tags or path
/// come first, and after them those that were written last.
const MANY: u64 = 4000;

/// A title says more than a heading or a tag, these say more than a path, and that says more than the text.
const WEIGHTS: &str = "10.0, 4.0, 4.0, 3.0, 1.0";

/// The best hits, and how many there are.
pub(super) fn search(connection: &Connection, query: &Query) -> Result<Found, DbError> {
    let plan = Plan::of(query);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let Some(matching) = &plan.matching else {
        // Signs that are no words can still be looked for.
        let is_text = |what: &What| matches!(what, What::Word(_) | What::Phrase(_));
        let signs = query.terms.iter().any(|term| term.wanted && is_text(&term.what));
        return if signs {
            substring::search(connection, query, &plan, limit)
        } else {
            by_time(connection, &plan, limit)
        };
    };
    let values = std::iter::once(matching).chain(plan.values());
    let total = count(connection, &fitting(&plan), params_from_iter(values))?;
    let hits = match total {
        0 => return substring::search(connection, query, &plan, limit),
        1..MANY => weighed(connection, &plan, matching, limit)?,
        _ => best_of_many(connection, &plan, matching, limit)?,
    };
    Ok(Found { hits, total })
}

/// The notes whose title fits, or something else that stands out if those are not too many either; then what was put last.
fn best_of_many(
    connection: &Connection,
    plan: &Plan,
    matching: &String,
    limit: i64,
) -> Result<Vec<Hit>, DbError> {
    let mut hits = Vec::new();
    for standing_out in &plan.standing_out {
        let values = std::iter::once(standing_out).chain(plan.values());
        if count(connection, &fitting(plan), params_from_iter(values))? < MANY {
            hits = weighed(connection, plan, standing_out, limit)?;
            break;
        }
    }
    let rest = first(connection, plan, matching, "words.rowid DESC", limit)?;
    let rest = shown(connection, &rest)?;
    let fresh: Vec<_> =
        rest.into_iter().filter(|hit| !hits.iter().any(|known| known.path == hit.path)).collect();
    hits.extend(fresh);
    hits.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(hits)
}

/// The best notes that fit.
fn weighed(connection: &Connection, plan: &Plan, matching: &String, limit: i64) -> Result<Vec<Hit>, DbError> {
    if !plan.tail().is_empty() {
        // Only those that fit in every way are weighed.
        let ids = first(connection, plan, matching, &format!("bm25(words, {WEIGHTS})"), limit)?;
        return shown(connection, &ids);
    }
    let sql = format!(
        "SELECT note.path, note.title, note.modified FROM words CROSS JOIN note ON note.id = words.rowid
         WHERE words MATCH ?1 AND rank MATCH 'bm25({WEIGHTS})' ORDER BY rank LIMIT {limit}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_map([matching], hit)?.collect::<Result<_, _>>()?)
}

/// The first notes in that order that fit.
fn first(
    connection: &Connection,
    plan: &Plan,
    matching: &String,
    order: &str,
    limit: i64,
) -> Result<Vec<i64>, DbError> {
    let values = std::iter::once(matching).chain(plan.values());
    let sql = format!("SELECT words.rowid {} ORDER BY {order} LIMIT {limit}", fitting(plan));
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_map(params_from_iter(values), |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// These notes in this order.
fn shown(connection: &Connection, ids: &[i64]) -> Result<Vec<Hit>, DbError> {
    let list: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let sql = format!("SELECT path, title, modified, id FROM note WHERE id IN ({})", list.join(", "));
    let mut statement = connection.prepare(&sql)?;
    let found = statement.query_map([], |row| Ok((row.get::<_, i64>(3)?, hit(row)?)))?;
    let mut found: HashMap<i64, Hit> = found.collect::<Result<_, _>>()?;
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// All notes that fit.
fn fitting(plan: &Plan) -> String {
    let tail = plan.tail();
    let join = if tail.is_empty() { "" } else { " CROSS JOIN note ON note.id = words.rowid" };
    format!("FROM words{join} WHERE words MATCH ?1{tail}")
}

/// Where no words are asked for: what was written last comes first.
fn by_time(connection: &Connection, plan: &Plan, limit: i64) -> Result<Found, DbError> {
    let from = format!("FROM note WHERE ?1 = ''{}", plan.tail());
    let empty = String::new();
    let values = || std::iter::once(&empty).chain(plan.values());
    let total = count(connection, &from, params_from_iter(values()))?;
    let mut statement = connection.prepare_cached(&newest(&from, limit))?;
    let hits = statement.query_map(params_from_iter(values()), hit)?.collect::<Result<_, _>>()?;
    Ok(Found { hits, total })
}

/// The notes that were written last.
pub(super) fn newest(from: &str, limit: i64) -> String {
    format!("SELECT path, title, modified {from} ORDER BY modified DESC, path LIMIT {limit}")
}

pub(super) fn count(
    connection: &Connection,
    from: &str,
    values: impl rusqlite::Params,
) -> Result<u64, DbError> {
    let mut statement = connection.prepare_cached(&format!("SELECT count(*) {from}"))?;
    Ok(statement.query_row(values, |row| row.get::<_, i64>(0))?.cast_unsigned())
}
