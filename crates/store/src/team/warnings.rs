//! What developers were warned of: the checks that warned, newest first.

use covenant_model::time::Timestamp;
use covenant_team::port::survey::{Warned, Whose};
use covenant_team::work::Brief;

use crate::db::{DbError, Record, Row, Tx};

macro_rules! newest {
    ($whose:literal) => {
        concat!(
            "SELECT warning_id, developer_id, kind, inputs, at FROM preflight_checks WHERE warning_id IS NOT NULL AND ",
            $whose,
            " = $1 AND at >= $2 ORDER BY at DESC, id DESC LIMIT $3"
        )
    };
}

const NEWEST: &str = newest!("workspace_id");
const OWN: &str = newest!("developer_id");

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[NEWEST, OWN];

/// Those since then.
pub(super) async fn newest(
    tx: &mut Tx,
    whose: Whose<'_>,
    since: Timestamp,
    most: u32,
) -> Result<Vec<Warned>, DbError> {
    let (sql, id) = match whose {
        Whose::Team(id) => (NEWEST, id.as_str()),
        Whose::Own(id) => (OWN, id.as_str()),
    };
    let values = vec![id.into(), since.into(), u64::from(most).into()];
    tx.query(sql, values).await?.iter().map(warned).collect()
}

fn warned(row: &Row) -> Result<Warned, DbError> {
    let record = Record::of("preflight_checks", row);
    let brief: Brief =
        serde_json::from_str(record.text("inputs")?).map_err(|error| record.bad("inputs", error))?;
    Ok(Warned {
        id: record.parse("warning_id")?,
        developer: record.parse("developer_id")?,
        kind: record.parse("kind")?,
        title: brief.title,
        at: record.moment("at")?,
    })
}
