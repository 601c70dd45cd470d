//! The index over the audit files: rows are added behind the log, found again, and thrown away at will.
//!
//! The files are the log. What stands here may lag behind, and is overwritten by what the files say.

use covenant_gate::refusal::Fault;
use covenant_model::time::Timestamp;

use crate::db::{Record, Sql, Value};
use crate::open::Store;

/// One row of the log, with what it is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRow {
    /// Its place in its chain.
    pub seq: u64,
    /// When it was written.
    pub ts: Timestamp,
    /// Who acted.
    pub principal: String,
    /// What was acted on.
    pub agent_id: String,
    /// What happened.
    pub kind: String,
    /// How it ended.
    pub decision: String,
    /// The call it belongs to.
    pub call_id: Option<String>,
    /// The row as it stands in the file, without the line's end.
    pub line: String,
}

/// Which rows are wanted. Without a chain, those of every daemon that shares the database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// At most so many, the newest.
    pub limit: u32,
    /// Only those of that chain.
    pub chain: Option<String>,
    /// Only those from then on.
    pub since: Option<Timestamp>,
    /// Only those about that tool or agent.
    pub agent_id: Option<String>,
    /// Only those of that principal.
    pub principal: Option<String>,
    /// Only those of that kind.
    pub kind: Option<String>,
    /// Only those of that call.
    pub call_id: Option<String>,
}

/// How many rows one statement may add: few different texts, so that each stays prepared.
const SIZES: [usize; 5] = [256, 64, 16, 4, 1];

const COLUMNS: usize = 9;

impl Store {
    /// The last row of that chain that is in the index; 0 if there is none.
    pub async fn audit_indexed(&self, chain: &str) -> Result<u64, Fault> {
        let sql = "SELECT COALESCE(MAX(seq), 0) AS seq FROM audit_rows WHERE chain = $1";
        let rows = self.db.query(sql, vec![chain.into()]).await?;
        Ok(rows.first().map_or(Ok(0), |row| Record::of("audit_rows", row).count("seq"))?)
    }

    /// Adds rows, all or none. A row that is there already becomes what the file says now.
    pub async fn index_audit(&self, chain: &str, rows: &[IndexRow]) -> Result<(), Fault> {
        let mut statements = Vec::new();
        let mut rest = rows;
        for size in SIZES {
            while let Some((now, later)) = rest.split_at_checked(size) {
                statements
                    .push((insert(size), now.iter().flat_map(|row| values(chain, row)).collect::<Vec<_>>()));
                rest = later;
            }
        }
        let written = self.db.write(move |tx| {
            let statements = statements.clone();
            Box::pin(async move {
                for (sql, values) in statements {
                    tx.execute(sql, values).await?;
                }
                Ok(())
            })
        });
        Ok(written.await?)
    }

    /// The newest rows that are wanted, oldest first, each as it stands in the file.
    pub async fn recent_audit(&self, filter: &AuditFilter) -> Result<Vec<String>, Fault> {
        let (sql, values) = recent(filter);
        let rows = self.db.query(sql, values).await?;
        let lines =
            rows.iter().rev().map(|row| Record::of("audit_rows", row).text("line").map(str::to_owned));
        Ok(lines.collect::<Result<_, _>>()?)
    }

    /// Drops the rows of that chain before that one; how many those were.
    pub async fn prune_audit_index(&self, chain: &str, before_seq: u64) -> Result<u64, Fault> {
        // In slices, so that nobody waits long for the writer.
        let sql = "DELETE FROM audit_rows WHERE chain = $1 AND seq < $2 \
                   AND seq < (SELECT MIN(seq) + 5000 FROM audit_rows WHERE chain = $1)";
        let mut dropped = 0;
        loop {
            match self.db.execute(sql, vec![chain.into(), before_seq.into()]).await? {
                0 => return Ok(dropped),
                slice => dropped += slice,
            }
        }
    }

    /// Drops every row of that chain, so that it can be read in again; how many those were.
    pub async fn clear_audit_index(&self, chain: &str) -> Result<u64, Fault> {
        self.prune_audit_index(chain, u64::MAX).await
    }
}

fn insert(rows: usize) -> Sql {
    let tuple = |row: usize| {
        let places: Vec<String> =
            (1..=COLUMNS).map(|column| format!("${}", row * COLUMNS + column)).collect();
        format!("({})", places.join(", "))
    };
    let tuples: Vec<String> = (0..rows).map(tuple).collect();
    let sql = format!(
        "INSERT INTO audit_rows (chain, seq, ts, principal, agent_id, kind, decision, call_id, line) VALUES {} \
         ON CONFLICT (chain, seq) DO UPDATE SET ts = excluded.ts, principal = excluded.principal, \
         agent_id = excluded.agent_id, kind = excluded.kind, decision = excluded.decision, \
         call_id = excluded.call_id, line = excluded.line",
        tuples.join(", ")
    );
    sql.into()
}

fn values(chain: &str, row: &IndexRow) -> [Value; COLUMNS] {
    [
        chain.into(),
        row.seq.into(),
        row.ts.into(),
        row.principal.as_str().into(),
        row.agent_id.as_str().into(),
        row.kind.as_str().into(),
        row.decision.as_str().into(),
        row.call_id.as_deref().into(),
        row.line.as_str().into(),
    ]
}

fn recent(filter: &AuditFilter) -> (String, Vec<Value>) {
    let mut values = vec![Value::Int(filter.limit.into())];
    let mut conditions = Vec::new();
    let mut only = |condition: &str, value: Option<Value>| {
        if let Some(value) = value {
            values.push(value);
            conditions.push(format!("{condition} ${}", values.len()));
        }
    };
    only("chain =", filter.chain.as_deref().map(Into::into));
    only("ts >=", filter.since.map(Into::into));
    only("agent_id =", filter.agent_id.as_deref().map(Into::into));
    only("principal =", filter.principal.as_deref().map(Into::into));
    only("kind =", filter.kind.as_deref().map(Into::into));
    only("call_id =", filter.call_id.as_deref().map(Into::into));
    let narrowed =
        if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    // Within a chain the sequence is the order, whatever the clock did; between chains there is only the clock.
    let order = if filter.chain.is_some() { "seq DESC" } else { "ts DESC, seq DESC" };
    (format!("SELECT seq, line FROM audit_rows {narrowed} ORDER BY {order} LIMIT $1"), values)
}
