//! Many rows at once, by way of `COPY` in its binary form, into tables that are held for it.

use sqlx::{AssertSqlSafe, Row as _};

use super::super::{DbError, Held, Kind, Shape, Value, quoted};
use super::Transaction;

/// How many bytes are sent at a time.
const PIECE: usize = 256 * 1024;

/// What the binary form begins with: its signature, no flags, no extension.
const HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// What it ends with.
const END: [u8; 2] = (-1_i16).to_be_bytes();

/// For each reference among our tables that is judged at once: the statement that makes it wait for the end, and the one
/// that takes that back.
const REFERENCES: &str = "SELECT format('ALTER TABLE %s ALTER CONSTRAINT %I DEFERRABLE INITIALLY DEFERRED', conrelid::regclass, conname), \
            format('ALTER TABLE %s ALTER CONSTRAINT %I NOT DEFERRABLE', conrelid::regclass, conname) \
     FROM pg_constraint WHERE contype = 'f' AND NOT condeferrable AND connamespace = current_schema()::regnamespace";

impl Transaction {
    pub(in super::super) async fn load(&mut self, shape: &Shape, rows: &[Vec<Value>]) -> Result<(), DbError> {
        let (table, columns) = (quoted(&shape.table), shape.list());
        let sql = format!("COPY {table} ({columns}) FROM STDIN WITH (FORMAT binary)");
        let mut copy = self.0.copy_in_raw(&sql).await?;
        let mut piece = HEAD.to_vec();
        for row in rows {
            if let Err(error) = put(&mut piece, shape, row) {
                copy.abort("a value does not fit").await?;
                return Err(error);
            }
            if piece.len() >= PIECE {
                copy.send(std::mem::take(&mut piece)).await?;
            }
        }
        piece.extend(END);
        copy.send(piece).await?;
        copy.finish().await?;
        Ok(())
    }

    pub(in super::super) async fn hold(&mut self, shapes: &[Shape]) -> Result<Held, DbError> {
        let tables: Vec<String> = shapes.iter().map(|shape| quoted(&shape.table)).collect();
        self.raw(format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", tables.join(", "))).await?;
        let mut held = Held::default();
        for row in sqlx::query(REFERENCES).fetch_all(&mut *self.0).await? {
            self.raw(row.try_get(0)?).await?;
            held.undo.push(row.try_get(1)?);
        }
        Ok(held)
    }

    pub(in super::super) async fn settle(&mut self, held: Held) -> Result<(), DbError> {
        self.raw("SET CONSTRAINTS ALL IMMEDIATE".to_owned()).await?;
        for statement in held.undo {
            self.raw(statement).await?;
        }
        Ok(())
    }

    async fn raw(&mut self, statement: String) -> Result<(), DbError> {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *self.0).await?;
        Ok(())
    }
}

/// Adds a row in the binary form.
fn put(piece: &mut Vec<u8>, shape: &Shape, row: &[Value]) -> Result<(), DbError> {
    let unfit = |column: &str, why: &str| {
        DbError::Failed(format!("column `{column}` of table `{}` holds {why}", shape.table))
    };
    if row.len() != shape.columns.len() {
        return Err(DbError::Failed(format!(
            "a row of table `{}` has too few values or too many",
            shape.table
        )));
    }
    let fields = i16::try_from(row.len()).map_err(|_| unfit("", "too many columns"))?;
    piece.extend(fields.to_be_bytes());
    for (column, value) in shape.columns.iter().zip(row) {
        let (int, real);
        let bytes: &[u8] = match (column.kind, value) {
            (_, Value::Null) => {
                piece.extend((-1_i32).to_be_bytes());
                continue;
            }
            (Kind::Int, Value::Int(number)) => {
                int = number.to_be_bytes();
                &int
            }
            (Kind::Real, Value::Real(number)) => {
                real = number.to_be_bytes();
                &real
            }
            (Kind::Text, Value::Text(text)) => text.as_bytes(),
            (Kind::Blob, Value::Blob(bytes)) => bytes,
            _ => return Err(unfit(&column.name, "a value of another type than it should")),
        };
        let length = i32::try_from(bytes.len()).map_err(|_| unfit(&column.name, "more than 2 GiB"))?;
        piece.extend(length.to_be_bytes());
        piece.extend(bytes);
    }
    Ok(())
}
