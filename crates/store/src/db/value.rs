//! Values that go into statements and come out of rows, and how a row's columns become things of the domain.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use covenant_model::time::Timestamp;

use super::DbError;

/// One value, in a form both databases have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// A fraction. We write none; a row may still hold one.
    Real(f64),
    /// Text without NUL.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Value {
    /// About how much memory it takes.
    pub(crate) fn weight(&self) -> usize {
        let bytes = match self {
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
            Self::Null | Self::Int(_) | Self::Real(_) => 0,
        };
        bytes.saturating_add(size_of::<Self>())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u64> for Value {
    /// Numbers past what a database holds become the largest it holds.
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<const N: usize> From<[u8; N]> for Value {
    fn from(bytes: [u8; N]) -> Self {
        Self::Blob(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Blob(bytes)
    }
}

impl From<Timestamp> for Value {
    fn from(moment: Timestamp) -> Self {
        moment.millis().into()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One row of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(super) columns: Arc<[Box<str>]>,
    pub(crate) values: Vec<Value>,
}

/// A row of a table, read with errors that say which row it was. Its first column tells it from the others.
pub(crate) struct Record<'r> {
    table: &'static str,
    row: &'r Row,
}

impl<'r> Record<'r> {
    /// Reads that row as one of that table.
    pub(crate) fn of(table: &'static str, row: &'r Row) -> Self {
        Self { table, row }
    }

    /// An error about one of its columns.
    pub(crate) fn bad(&self, column: &str, why: impl Display) -> DbError {
        let id = match self.row.values.first() {
            Some(Value::Text(text)) => text.chars().take(64).collect(),
            Some(Value::Int(number)) => number.to_string(),
            Some(Value::Blob(bytes)) => {
                bytes.iter().take(32).fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
            }
            _ => "?".to_owned(),
        };
        DbError::BadRow { table: self.table, id, column: column.to_owned(), why: why.to_string() }
    }

    fn value(&self, column: &str) -> Result<&'r Value, DbError> {
        let place = self.row.columns.iter().position(|name| &**name == column);
        place
            .and_then(|place| self.row.values.get(place))
            .ok_or_else(|| self.bad(column, "is not in the answer"))
    }

    /// A column of text.
    pub(crate) fn text(&self, column: &str) -> Result<&'r str, DbError> {
        match self.value(column)? {
            Value::Text(text) => Ok(text),
            _ => Err(self.bad(column, "is not text")),
        }
    }

    /// A column of text that may be empty.
    pub(crate) fn text_or_none(&self, column: &str) -> Result<Option<String>, DbError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            _ => self.text(column).map(|text| Some(text.to_owned())),
        }
    }

    /// A column of whole numbers.
    pub(crate) fn int(&self, column: &str) -> Result<i64, DbError> {
        match self.value(column)? {
            Value::Int(number) => Ok(*number),
            _ => Err(self.bad(column, "is not a whole number")),
        }
    }

    /// A column of counts, which are never below zero.
    pub(crate) fn count(&self, column: &str) -> Result<u64, DbError> {
        u64::try_from(self.int(column)?).map_err(|_| self.bad(column, "is below zero"))
    }

    /// A column of that many bytes.
    pub(crate) fn bytes<const N: usize>(&self, column: &str) -> Result<[u8; N], DbError> {
        let bytes = match self.value(column)? {
            Value::Blob(bytes) => <[u8; N]>::try_from(bytes.as_slice()).ok(),
            _ => None,
        };
        bytes.ok_or_else(|| self.bad(column, format!("is not {N} bytes")))
    }

    /// A column of bytes, however many.
    pub(crate) fn blob(&self, column: &str) -> Result<Vec<u8>, DbError> {
        match self.value(column)? {
            Value::Blob(bytes) => Ok(bytes.clone()),
            _ => Err(self.bad(column, "is not bytes")),
        }
    }

    /// A column of moments.
    pub(crate) fn moment(&self, column: &str) -> Result<Timestamp, DbError> {
        self.count(column).map(Timestamp::from_millis)
    }

    /// A column of moments that may be empty.
    pub(crate) fn moment_or_none(&self, column: &str) -> Result<Option<Timestamp>, DbError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            _ => self.moment(column).map(Some),
        }
    }

    /// A column of texts that a type of ours reads.
    pub(crate) fn parse<T: FromStr<Err: Display>>(&self, column: &str) -> Result<T, DbError> {
        self.text(column)?.parse().map_err(|error| self.bad(column, error))
    }

    /// A column of such texts that may be empty.
    pub(crate) fn parse_or_none<T: FromStr<Err: Display>>(&self, column: &str) -> Result<Option<T>, DbError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            _ => self.parse(column).map(Some),
        }
    }
}
