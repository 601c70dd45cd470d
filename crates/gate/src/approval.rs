//! Calls a grant wants a person asked about: one pending entry per exact call, bounded per principal.

use covenant_model::grant::Grant;
use covenant_model::id::ApprovalId;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::authenticate::Caller;
use crate::gate::Gate;
use crate::ports::{Asked, CallToApprove};
use crate::random;
use crate::refusal::{CallError, Refusal};

/// What a person decides on: a tool, its definition and its arguments.
pub(crate) struct Question<'q> {
    pub(crate) tool: &'q str,
    pub(crate) definition: &'q [u8],
    pub(crate) arguments: &'q Map<String, Value>,
}

impl Gate {
    /// Queues the call for a person and refuses it. The entry is bound to who calls, by which grant, the tool's
    /// definition and the arguments; the same call again finds the same entry.
    pub(crate) async fn ask(&self, caller: &Caller, grant: &Grant, question: Question<'_>) -> CallError {
        match self.queue(caller, grant, question).await {
            Ok(refusal) => refusal.into(),
            Err(error) => error,
        }
    }

    async fn queue(
        &self,
        caller: &Caller,
        grant: &Grant,
        question: Question<'_>,
    ) -> Result<Refusal, CallError> {
        let config = self.config().clone();
        let principal = caller.principal().clone();
        let tool = question.tool.to_owned();
        let mut shown = question.arguments.clone();
        shown.remove("token");
        let mut digest = Sha256::new();
        for part in [principal.as_str(), grant.id.as_str(), &Value::Object(shown.clone()).to_string()] {
            digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            digest.update(part.as_bytes());
        }
        digest.update(question.definition);
        let view = json!({"tool": &tool, "arguments": shown}).to_string();
        let now = self.clock.now();
        let call = CallToApprove {
            id: ApprovalId::from_random(random::bytes()?),
            digest: digest.finalize().into(),
            tool: tool.clone(),
            principal: principal.clone(),
            grant: grant.id.clone(),
            view: self.redactor().redact_json(&view).into_owned(),
            requested_at: now,
            expires_at: now.plus(config.approvals_expire),
        };
        let limit = config.approvals_per_principal;
        Ok(match self.store.ask(call, limit).await? {
            Asked::Pending(id) => Refusal::PendingApproval { tool, id },
            Asked::Full => Refusal::ApprovalsFull { principal, limit },
        })
    }
}
