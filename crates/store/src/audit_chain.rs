//! One daemon's audit log, committed to the database. Rows of other chains are never read, changed or waited for.

use std::sync::Arc;

use covenant_gate::audit::sink::{Ends, Entry, Kept, RowStore};
use covenant_gate::ports::Answer;
use covenant_gate::refusal::Fault;
use covenant_model::time::Timestamp;

use crate::db::{DbError, Purpose, Record, Sql, Value};
use crate::open::Store;

/// How many rows one statement may add. Fewer than that are one statement and so one round trip.
const MOST: usize = 64;

const COLUMNS: usize = 4;

const CHECKPOINT: &str = "checkpoint";
const TOMBSTONE: &str = "tombstone";

const MARK: &str = "INSERT INTO audit_marks (chain, kind, seq, line) VALUES ($1, $2, $3, $4) \
                    ON CONFLICT (chain, kind, seq) DO UPDATE SET line = excluded.line";

/// The rows of one chain.
pub struct AuditChain {
    store: Arc<Store>,
    chain: String,
}

impl Store {
    /// The chain of the daemon with that public key, in hexadecimal. From then on a commit is on disk.
    pub async fn audit_chain(self: &Arc<Self>, key: &str) -> Result<Arc<AuditChain>, Fault> {
        self.db.sync_commits().await?;
        Ok(Arc::new(AuditChain { store: Arc::clone(self), chain: key.to_owned() }))
    }
}

impl AuditChain {
    async fn kept(&self, sql: &'static str, rest: Vec<Value>) -> Result<Vec<Kept>, DbError> {
        let mut values = vec![Value::from(self.chain.as_str())];
        values.extend(rest);
        let rows = self.store.db.query(sql, values).await?;
        let kept = |row| {
            let record = Record::of("audit_log", row);
            Ok(Kept { seq: record.count("seq")?, line: record.text("line")?.to_owned() })
        };
        rows.iter().map(kept).collect()
    }

    async fn newest_mark(&self, kind: &str) -> Result<Option<Kept>, DbError> {
        let sql =
            "SELECT seq, line FROM audit_marks WHERE chain = $1 AND kind = $2 ORDER BY seq DESC LIMIT 1";
        Ok(self.kept(sql, vec![kind.into()]).await?.into_iter().next())
    }

    fn mark(&self, kind: &str, mark: Kept) -> Vec<Value> {
        vec![self.chain.as_str().into(), kind.into(), mark.seq.into(), mark.line.into()]
    }

    fn values(&self, rows: Vec<Entry>) -> Vec<Value> {
        let of = |Entry { seq, ts, line }: Entry| -> [Value; COLUMNS] {
            [self.chain.as_str().into(), seq.into(), ts.into(), line.into()]
        };
        rows.into_iter().flat_map(of).collect()
    }

    /// Statements in one transaction. Never tried again here: the log finds out itself what became of them.
    async fn together(&self, statements: Vec<(Sql, Vec<Value>)>) -> Result<(), DbError> {
        let mut tx = self.store.db.begin(Purpose::Append).await?;
        for (sql, values) in statements {
            tx.execute(sql, values).await?;
        }
        tx.commit().await
    }
}

impl RowStore for AuditChain {
    fn place(&self) -> String {
        self.store.place()
    }

    fn ends(&self) -> Answer<'_, Ends> {
        Box::pin(async move {
            let sql = "SELECT seq, line FROM audit_log WHERE chain = $1 ORDER BY seq DESC LIMIT 1";
            // The checkpoint first: the row it covers is there then.
            let (checkpoint, tombstone) =
                (self.newest_mark(CHECKPOINT).await?, self.newest_mark(TOMBSTONE).await?);
            let row = self.kept(sql, Vec::new()).await?.into_iter().next();
            Ok(Ends { tombstone, checkpoint, row })
        })
    }

    fn append(&self, mut rows: Vec<Entry>, checkpoints: Vec<Kept>) -> Answer<'_, ()> {
        Box::pin(async move {
            let mut statements = Vec::new();
            while !rows.is_empty() {
                let later = rows.split_off(rows.len().min(MOST));
                statements.push((insert(rows.len()), self.values(rows)));
                rows = later;
            }
            for mark in checkpoints {
                statements.push((MARK.into(), self.mark(CHECKPOINT, mark)));
            }
            // One statement is a transaction by itself.
            if statements.len() == 1
                && let Some((sql, values)) = statements.pop()
            {
                self.store.db.execute(sql, values).await?;
                return Ok(());
            }
            Ok(self.together(statements).await?)
        })
    }

    fn rows(&self, from: u64, most: u32) -> Answer<'_, Vec<Kept>> {
        Box::pin(async move {
            let sql = "SELECT seq, line FROM audit_log WHERE chain = $1 AND seq >= $2 ORDER BY seq LIMIT $3";
            Ok(self.kept(sql, vec![from.into(), i64::from(most).into()]).await?)
        })
    }

    fn rows_before(&self, before: u64, most: u32) -> Answer<'_, Vec<Kept>> {
        Box::pin(async move {
            let sql =
                "SELECT seq, line FROM audit_log WHERE chain = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3";
            Ok(self.kept(sql, vec![before.into(), i64::from(most).into()]).await?)
        })
    }

    fn first_since(&self, moment: Timestamp) -> Answer<'_, Option<u64>> {
        Box::pin(async move {
            let sql = "SELECT seq, line FROM audit_log WHERE chain = $1 AND ts >= $2 ORDER BY seq LIMIT 1";
            let found = self.kept(sql, vec![moment.into()]).await?;
            Ok(found.into_iter().next().map(|row| row.seq))
        })
    }

    fn checkpoints(&self, from: u64, most: u32) -> Answer<'_, Vec<Kept>> {
        Box::pin(async move {
            let sql = "SELECT seq, line FROM audit_marks WHERE chain = $1 AND kind = $2 AND seq >= $3 \
                       ORDER BY seq LIMIT $4";
            Ok(self.kept(sql, vec![CHECKPOINT.into(), from.into(), i64::from(most).into()]).await?)
        })
    }

    fn bury(&self, tombstone: Kept) -> Answer<'_, ()> {
        Box::pin(async move {
            let first_kept = tombstone.seq;
            let chain = || Value::from(self.chain.as_str());
            let statements: Vec<(Sql, Vec<Value>)> = vec![
                (
                    "DELETE FROM audit_marks WHERE chain = $1 AND kind = $2".into(),
                    vec![chain(), TOMBSTONE.into()],
                ),
                (MARK.into(), self.mark(TOMBSTONE, tombstone)),
                (
                    // The one at the cut stays: it proves the tombstone's hash.
                    "DELETE FROM audit_marks WHERE chain = $1 AND kind = $2 AND seq + 1 < $3".into(),
                    vec![chain(), CHECKPOINT.into(), first_kept.into()],
                ),
            ];
            Ok(self.together(statements).await?)
        })
    }

    fn remove_before(&self, first_kept: u64) -> Answer<'_, ()> {
        Box::pin(async move {
            // In slices, so that nobody waits long for the writer.
            let sql = "DELETE FROM audit_log WHERE chain = $1 AND seq < $2 \
                       AND seq < (SELECT MIN(seq) + 5000 FROM audit_log WHERE chain = $1)";
            while self.store.db.execute(sql, vec![self.chain.as_str().into(), first_kept.into()]).await? > 0 {
            }
            Ok(())
        })
    }
}

fn insert(rows: usize) -> Sql {
    let tuple = |row: usize| {
        let places: Vec<String> =
            (1..=COLUMNS).map(|column| format!("${}", row * COLUMNS + column)).collect();
        format!("({})", places.join(", "))
    };
    let tuples: Vec<String> = (0..rows).map(tuple).collect();
    format!("INSERT INTO audit_log (chain, seq, ts, line) VALUES {}", tuples.join(", ")).into()
}
