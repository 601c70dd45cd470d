//! Rows by many ids at once: a few statements of fixed sizes, so that each is prepared once and asks as few times as it can.

use crate::db::{DbError, Row, Tx, Value};

/// How many ids one statement takes.
const SIZES: [usize; 3] = [8, 32, 128];

/// The rows of a statement that ends where the ids begin: `… WHERE id IN `.
pub(super) async fn query(tx: &mut Tx, sql: &str, ids: &[&str]) -> Result<Vec<Row>, DbError> {
    let mut rows = Vec::with_capacity(ids.len());
    for some in ids.chunks(128) {
        let Some(last) = some.last() else { continue };
        let size = SIZES.into_iter().find(|size| some.len() <= *size).unwrap_or(some.len());
        // What is asked for twice is found once.
        let asked = some.iter().chain(std::iter::repeat(last)).take(size);
        let values: Vec<Value> = asked.map(|id| Value::from(*id)).collect();
        let places: Vec<String> = (1..=size).map(|place| format!("${place}")).collect();
        rows.extend(tx.query(format!("{sql}({})", places.join(", ")), values).await?);
    }
    Ok(rows)
}
