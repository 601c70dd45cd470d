//! What is done where a home goes on with another key than the one its rows were made with.

use covenant_gate::refusal::Fault;
use covenant_model::grant::SignedGrant;

use crate::db::{DbError, Purpose};
use crate::grants::{self, VALID};
use crate::open::Store;

/// What went on to the new key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandedOver {
    /// Grants that are signed anew.
    pub grants: u64,
    /// Grants that stay as they were.
    pub left: u64,
}

impl Store {
    /// Signs grants anew, as `sign` does, and takes over what the daemon with the old chain had under way. A grant for
    /// which `sign` has nothing stays as it is. Whoever does this is alone with the database.
    pub async fn hand_over(
        &self,
        [old, new]: [&str; 2],
        sign: impl Fn(SignedGrant) -> Option<SignedGrant> + Send,
    ) -> Result<HandedOver, Fault> {
        let mut tx = self.db.begin(Purpose::Append).await?;
        let rows = tx.query(VALID, Vec::new()).await?;
        let grants = rows.iter().map(grants::grant).collect::<Result<Vec<_>, DbError>>()?;
        let mut done = HandedOver::default();
        for signed in grants.into_iter().map(sign) {
            let Some(SignedGrant { grant, key, signature }) = signed else {
                done.left += 1;
                continue;
            };
            let sql = "UPDATE grants SET signer = $2, signature = $3 WHERE id = $1";
            tx.execute(sql, vec![grant.id.as_str().into(), key.into(), signature.into()]).await?;
            done.grants += 1;
        }
        // So that what was under way is told as over when the daemon starts.
        let sql = "UPDATE intents SET chain = $2 WHERE chain = $1";
        tx.execute(sql, vec![old.into(), new.into()]).await?;
        tx.commit().await?;
        Ok(done)
    }
}
