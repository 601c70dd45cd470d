//! A team's work as it was up to a turn, read in slices: what changed, what is not over, what is over.

use covenant_model::id::WorkspaceId;
use covenant_model::time::Timestamp;
use covenant_team::work::{Kind, Work};

use super::work::{columns, table, task_columns, work, workstream_columns};
use crate::db::{DbError, Record, Rows, Value};

/// How much work is read at once.
const SLICE: u64 = 1_000;

/// Each in an order in which it is found.
const CHANGED_TASKS: &str = concat!(
    "SELECT turn, ",
    task_columns!(),
    " FROM tasks WHERE workspace_id = $1 AND turn <= $2 AND (turn, id) > ($3, $4) ORDER BY turn, id LIMIT $5"
);

const CHANGED_WORKSTREAMS: &str = concat!(
    "SELECT turn, ",
    workstream_columns!(),
    " FROM workstreams WHERE workspace_id = $1 AND turn <= $2 AND (turn, id) > ($3, $4) ORDER BY turn, id LIMIT $5"
);

const OPEN_TASKS_OF: &str = concat!(
    "SELECT turn, ",
    task_columns!(),
    " FROM tasks WHERE workspace_id = $1 AND ended_at IS NULL AND turn <= $2 AND id > $3 ORDER BY id LIMIT $4"
);

const OPEN_WORKSTREAMS_OF: &str = concat!(
    "SELECT turn, ",
    workstream_columns!(),
    " FROM workstreams WHERE workspace_id = $1 AND ended_at IS NULL AND turn <= $2 AND id > $3 ORDER BY id LIMIT $4"
);

const ENDED_TASKS: &str = concat!(
    "SELECT turn, ",
    task_columns!(),
    " FROM tasks WHERE workspace_id = $1 AND turn <= $2 AND (ended_at, id) > ($3, $4) AND ended_at < $6 ORDER BY ended_at, id LIMIT $5"
);

const ENDED_WORKSTREAMS: &str = concat!(
    "SELECT turn, ",
    workstream_columns!(),
    " FROM workstreams WHERE workspace_id = $1 AND turn <= $2 AND (ended_at, id) > ($3, $4) AND ended_at < $6 ORDER BY ended_at, id LIMIT $5"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[CHANGED_TASKS, CHANGED_WORKSTREAMS, OPEN_TASKS_OF, OPEN_WORKSTREAMS_OF, ENDED_TASKS, ENDED_WORKSTREAMS];

/// Which of a team's work is wanted, as it was up to a turn.
#[derive(Debug, Clone, Copy)]
pub(super) enum Span {
    /// What changed after one.
    Changed { after: u64, upto: u64 },
    /// What is not over.
    Open { upto: u64 },
    /// What is over since a moment, and where that is given only before another.
    Ended { since: Timestamp, before: Option<Timestamp>, upto: u64 },
}

/// How far a span was read: the last number, if it is in the order of one, and the last id.
#[derive(Debug, Default)]
pub(super) struct Cursor(Option<i64>, String);

/// A slice of a span, and where the next one begins.
pub(super) async fn slice(
    rows: &mut impl Rows,
    kind: Kind,
    workspace: &WorkspaceId,
    span: Span,
    Cursor(last, id): Cursor,
) -> Result<(Vec<Work>, Option<Cursor>), DbError> {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (sql, upto, first, column) = match (span, kind) {
        (Span::Changed { after, upto }, Kind::Task) => (CHANGED_TASKS, upto, whole(after) + 1, Some("turn")),
        (Span::Changed { after, upto }, _) => (CHANGED_WORKSTREAMS, upto, whole(after) + 1, Some("turn")),
        (Span::Open { upto }, Kind::Task) => (OPEN_TASKS_OF, upto, 0, None),
        (Span::Open { upto }, _) => (OPEN_WORKSTREAMS_OF, upto, 0, None),
        (Span::Ended { since, upto, .. }, Kind::Task) => {
            (ENDED_TASKS, upto, whole(since.millis()), Some("ended_at"))
        }
        (Span::Ended { since, upto, .. }, _) => {
            (ENDED_WORKSTREAMS, upto, whole(since.millis()), Some("ended_at"))
        }
    };
    let mut values = vec![workspace.as_str().into(), upto.into()];
    values.extend(column.map(|_| Value::from(last.unwrap_or(first))));
    values.extend([id.into(), SLICE.into()]);
    if let Span::Ended { before, .. } = span {
        values.push(before.map_or(i64::MAX.into(), Value::from));
    }
    let rows = rows.rows(sql, values).await?;
    let found = rows.iter().map(|row| work(kind, row)).collect::<Result<Vec<_>, _>>()?;
    let more = u64::try_from(rows.len()).is_ok_and(|count| count == SLICE);
    let next = match (rows.last().filter(|_| more), found.last()) {
        (Some(row), Some(work)) => {
            let record = Record::of(table(kind), row);
            let number = column.map(|column| record.count(column)).transpose()?;
            Some(Cursor(number.map(whole), work.id.to_string()))
        }
        _ => None,
    };
    Ok((found, next))
}
