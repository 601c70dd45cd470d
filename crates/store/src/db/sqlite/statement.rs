//! Runs one statement on a connection: parameters in, rows out, errors sorted.

use std::sync::Arc;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode};

use super::super::{DbError, Row, Value};

/// What a statement did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// How many rows it changed; means nothing for a statement that only reads.
    pub(crate) changed: u64,
    /// What it returned.
    pub(crate) rows: Vec<Row>,
}

/// Runs it.
pub(super) fn run(connection: &Connection, sql: &str, values: &[Value]) -> Result<Ran, DbError> {
    // To SQLite `$2` is a name, numbered as it comes and slow to look up; `?2` is the second parameter.
    let mut statement = connection.prepare_cached(&sql.replace('$', "?"))?;
    if statement.parameter_count() != values.len() {
        return Err(DbError::Failed(format!("{} values do not fit: {sql}", values.len())));
    }
    for (index, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, value)?;
    }
    let columns: Arc<[Box<str>]> = statement.column_names().into_iter().map(Box::from).collect();
    let mut rows = Vec::new();
    let mut found = statement.raw_query();
    while let Some(row) = found.next()? {
        let values = (0..columns.len()).map(|index| row.get_ref(index).map_err(DbError::from).and_then(read));
        rows.push(Row { columns: Arc::clone(&columns), values: values.collect::<Result<_, _>>()? });
    }
    drop(found);
    Ok(Ran { changed: connection.changes(), rows })
}

fn read(value: ValueRef<'_>) -> Result<Value, DbError> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => Value::Text(
            String::from_utf8(bytes.to_vec()).map_err(|_| DbError::Damaged("a text is not UTF-8".into()))?,
        ),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    })
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(text),
            Some(ErrorCode::DiskFull) => Self::Full(text),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(text),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
                Self::Unreachable(text)
            }
            _ => Self::Failed(text),
        }
    }
}
