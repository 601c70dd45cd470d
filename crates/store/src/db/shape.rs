//! Tables as they are found in a database: their columns, what these hold, and by which of them rows are told apart.

use super::{DbError, Record, Row};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Whole numbers of 64 bits.
    Int,
    /// Fractions.
    Real,
    /// Text.
    Text,
    /// Bytes.
    Blob,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) kind: Kind,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Its name.
    pub(crate) table: String,
    /// Its columns, in their order.
    pub(crate) columns: Vec<Column>,
    /// Where among the columns those of the primary key are, in the key's order.
    pub(crate) key: Vec<usize>,
}

impl Shape {
    /// The statement that adds one row.
    pub(crate) fn insertion(&self) -> String {
        let values: Vec<String> = (1..=self.columns.len()).map(|number| format!("${number}")).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", quoted(&self.table), self.list(), values.join(", "))
    }

    /// The statement that reads the next rows in the order of the key: the first ones, or those after the row whose key
    /// is given. Its last parameter is how many.
    pub(crate) fn page(&self, from: From) -> String {
        let key: Vec<String> =
            self.key.iter().filter_map(|place| self.columns.get(*place)).map(name).collect();
        let key = key.join(", ");
        let (after, limit) = match from {
            From::Start => (String::new(), 1),
            From::Behind => {
                let values: Vec<String> = (1..=self.key.len()).map(|number| format!("${number}")).collect();
                (format!(" WHERE ({key}) > ({})", values.join(", ")), self.key.len() + 1)
            }
        };
        format!("SELECT {} FROM {}{after} ORDER BY {key} LIMIT ${limit}", self.list(), quoted(&self.table))
    }

    /// The columns, as they stand in a statement.
    pub(crate) fn list(&self) -> String {
        self.columns.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// At the first row.
    Start,
    /// Behind a row.
    Behind,
}

fn name(column: &Column) -> String {
    quoted(&column.name)
}

/// A name as it stands in a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The tables that such rows speak of: one for each column, those of a table together.
pub(super) fn of(rows: &[Row]) -> Result<Vec<Shape>, DbError> {
    let mut shapes: Vec<(Shape, Vec<(i64, usize)>)> = Vec::new();
    for row in rows {
        let record = Record::of("the list of tables", row);
        let (table, column) = (record.text("table_name")?, record.text("column_name")?);
        let kind = match record.text("kind")? {
            "bigint" => Kind::Int,
            "double precision" => Kind::Real,
            "text" => Kind::Text,
            "bytea" => Kind::Blob,
            other => return Err(record.bad(column, format!("has the type {other}, which cannot be copied"))),
        };
        if shapes.last().is_none_or(|(shape, _)| shape.table != table) {
            shapes
                .push((Shape { table: table.to_owned(), columns: Vec::new(), key: Vec::new() }, Vec::new()));
        }
        if let Some((shape, key)) = shapes.last_mut() {
            let place = record.int("place")?;
            if place > 0 {
                key.push((place, shape.columns.len()));
            }
            shape.columns.push(Column { name: column.to_owned(), kind });
        }
    }
    let keyed = |(mut shape, mut key): (Shape, Vec<(i64, usize)>)| {
        key.sort_unstable();
        shape.key = key.into_iter().map(|(_, index)| index).collect();
        if shape.key.is_empty() {
            let table = &shape.table;
            return Err(DbError::Failed(format!(
                "table `{table}` has no primary key, so it cannot be copied"
            )));
        }
        Ok(shape)
    };
    shapes.into_iter().map(keyed).collect()
}
