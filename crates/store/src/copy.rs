//! One database into another, whole: every table that the schema has, in one transaction, held against its source before it
//! counts. Which tables and columns there are is asked of the databases, so that a new migration needs nothing here.

mod tally;

use crate::db::sqlite::Sqlite;
use crate::db::{Db, DbError, PageFrom, Purpose, Shape, Tx, Value, quoted};
use crate::migrate;
use crate::open::Store;
use tally::Tally;

/// How many rows are held at a time, and about how many bytes.
const ROWS: usize = 512;
const BYTES: usize = 4 * 1024 * 1024;

/// A table that was copied, and found to be the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedTable {
    /// Its name.
    pub table: String,
    /// How many rows it has.
    pub rows: u64,
    /// What its rows come to, in whatever order.
    pub digest: String,
}

/// How far a copy has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// So many rows of that table are written.
    Written(String, u64),
    /// So many rows of that table were read back.
    Compared(String, u64),
}

/// Why a database was not copied. The target is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is something in the target.
    #[error(
        "{place} is not empty: its table `{table}` holds rows; name a database that nothing was kept in yet, such as one that `createdb` just made"
    )]
    NotEmpty {
        /// Which database.
        place: String,
        /// Which table.
        table: String,
    },
    /// They have other tables, or other columns.
    #[error("table `{table}` of {from} has no equal in {to}; bring both to the same version of Covenant")]
    Unlike {
        /// Which table.
        table: String,
        /// Where from.
        from: String,
        /// Where to.
        to: String,
    },
    /// What was written is not what was read.
    #[error(
        "table `{table}` came out differently: {from} rows with digest {from_digest} were read, and {to} rows with digest {to_digest} are there; nothing was kept of it, report this with the versions of both databases"
    )]
    Differs {
        /// Which table.
        table: String,
        /// How many rows the source has.
        from: u64,
        /// What they come to.
        from_digest: String,
        /// How many rows the target has.
        to: u64,
        /// What they come to.
        to_digest: String,
    },
    /// Both are one.
    #[error("{0} is the database that is in use; name another one to copy it to")]
    Same(String),
    /// One of the databases failed.
    #[error(
        "{place} failed: {reason}; nothing was kept of the copy, see that both can be reached and have room"
    )]
    Failed {
        /// Which database.
        place: String,
        /// Why.
        reason: String,
    },
}

/// What is told while it goes on.
pub type Told<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// Copies every row of one database into another, which must hold nothing but what a new one has.
pub async fn copy(from: &Store, to: &Store, told: Told<'_>) -> Result<Vec<CopiedTable>, CopyError> {
    if from.place() == to.place() {
        return Err(CopyError::Same(from.place()));
    }
    let reading = |error: DbError| failed(from, &error);
    let writing = |error: DbError| failed(to, &error);
    let mut source = from.db.begin(Purpose::Snapshot).await.map_err(reading)?;
    let mut target = to.db.begin(Purpose::Load).await.map_err(writing)?;
    let shapes = source.shapes().await.map_err(reading)?;
    let there = target.shapes().await.map_err(writing)?;
    if let Some(shape) = shapes.iter().find(|shape| !there.contains(shape)) {
        return Err(CopyError::Unlike { table: shape.table.clone(), from: from.place(), to: to.place() });
    }
    let held = target.hold(&shapes).await.map_err(writing)?;
    if let Some(table) = filled(&mut target, &shapes).await.map_err(writing)? {
        return Err(CopyError::NotEmpty { place: to.place(), table });
    }
    for shape in &shapes {
        target.execute(format!("DELETE FROM {}", quoted(&shape.table)), Vec::new()).await.map_err(writing)?;
    }
    for shape in &shapes {
        let mut pages = Pages::of(shape);
        while let Some(rows) = pages.next(&mut source).await.map_err(reading)? {
            target.load(shape, rows).await.map_err(writing)?;
            told(Progress::Written(shape.table.clone(), pages.read));
        }
    }
    target.settle(held).await.map_err(writing)?;
    let mut copied = Vec::with_capacity(shapes.len());
    for shape in &shapes {
        let progress = |rows| told(Progress::Compared(shape.table.clone(), rows));
        let read = Tally::of(&mut source, shape, u64::MAX, |_| {}).await.map_err(reading)?;
        let written = Tally::of(&mut target, shape, u64::MAX, progress).await.map_err(writing)?;
        copied.push(same(shape, &read, &written)?);
    }
    target.commit().await.map_err(writing)?;
    Ok(copied)
}

fn same(shape: &Shape, read: &Tally, written: &Tally) -> Result<CopiedTable, CopyError> {
    if read == written {
        return Ok(CopiedTable { table: shape.table.clone(), rows: read.rows(), digest: read.digest() });
    }
    Err(CopyError::Differs {
        table: shape.table.clone(),
        from: read.rows(),
        from_digest: read.digest(),
        to: written.rows(),
        to_digest: written.digest(),
    })
}

/// The first table that holds something else than it holds in a new database.
async fn filled(target: &mut Tx, shapes: &[Shape]) -> Result<Option<String>, DbError> {
    let new = Db::Sqlite(Sqlite::nowhere()?);
    let mut tx = new.begin(Purpose::Load).await?;
    migrate::rehearse(&mut tx).await?;
    let mut found = None;
    for shape in shapes {
        let expected = Tally::of(&mut tx, shape, u64::MAX, |_| {}).await?;
        if Tally::of(target, shape, expected.rows(), |_| {}).await? != expected {
            found = Some(shape.table.clone());
            break;
        }
    }
    drop(tx);
    new.close().await;
    Ok(found)
}

/// A table, read a page at a time in the order of its key.
struct Pages<'s> {
    shape: &'s Shape,
    behind: Option<Vec<Value>>,
    many: usize,
    read: u64,
}

impl<'s> Pages<'s> {
    fn of(shape: &'s Shape) -> Self {
        Self { shape, behind: None, many: ROWS, read: 0 }
    }

    /// The next rows; `None` behind the last.
    async fn next(&mut self, tx: &mut Tx) -> Result<Option<Vec<Vec<Value>>>, DbError> {
        let from = if self.behind.is_some() { PageFrom::Behind } else { PageFrom::Start };
        let mut values = self.behind.take().unwrap_or_default();
        values.push(Value::Int(i64::try_from(self.many).unwrap_or(i64::MAX)));
        let rows = tx.query(self.shape.page(from), values).await?;
        let rows: Vec<Vec<Value>> = rows.into_iter().map(|row| row.values).collect();
        let Some(last) = rows.last() else { return Ok(None) };
        self.behind = Some(self.shape.key.iter().filter_map(|place| last.get(*place)).cloned().collect());
        self.read = self.read.saturating_add(u64::try_from(rows.len()).unwrap_or(u64::MAX));
        let bytes: usize = rows.iter().flatten().map(Value::weight).sum();
        self.many = (rows.len().saturating_mul(BYTES) / bytes.max(1)).clamp(1, ROWS);
        Ok(Some(rows))
    }
}

fn failed(store: &Store, error: &DbError) -> CopyError {
    CopyError::Failed { place: store.place(), reason: error.to_string() }
}
