//! Whether tokens or grants changed since someone looked: one number that grows with each change, in its transaction.

use covenant_gate::refusal::Fault;

use crate::db::{DbError, Purpose, Record, Tx, Value};
use crate::open::Store;

impl Store {
    /// The number of changes so far. Daemons that share the database read again when it has grown.
    pub async fn revision(&self) -> Result<u64, Fault> {
        let rows = self.db.query("SELECT id, number FROM revision WHERE id = 1", Vec::new()).await?;
        match rows.first() {
            Some(row) => Ok(Record::of("revision", row).count("number")?),
            None => Ok(0),
        }
    }

    /// Runs one statement on tokens or grants; if it changed anything, the revision grows with it.
    pub(crate) async fn amend(&self, sql: &'static str, values: Vec<Value>) -> Result<u64, DbError> {
        // Each statement stands for itself: the counter's row lock is all the order there has to be.
        let mut tx = self.db.begin(Purpose::Append).await?;
        let changed = tx.execute(sql, values).await?;
        if changed > 0 {
            grow(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(changed)
    }
}

/// Says in a transaction that it changes tokens or grants.
pub(crate) async fn grow(tx: &mut Tx) -> Result<(), DbError> {
    tx.execute("UPDATE revision SET number = number + 1 WHERE id = 1", Vec::new()).await.map(drop)
}
