//! The operator signed out everywhere at once: for when a cookie of theirs may be somebody else's. It is a row.

use covenant_model::audit::Kind;

use crate::gate::Gate;
use crate::operator::Operator;
use crate::refusal::Fault;

impl Gate {
    /// Ends every session of the operator's browsers, and every link that nobody has used; how many sessions those were.
    pub async fn sign_out_everywhere(&self, operator: &Operator) -> Result<u64, Fault> {
        let who = operator.principal();
        let ended = self.store.end_web_sessions(who.clone(), self.clock.now()).await?;
        let reason = format!("everywhere: {ended} sessions");
        self.record_by(operator.actor(), Kind::SignedOut, who.as_str(), Some(&reason)).await?;
        Ok(ended)
    }
}
