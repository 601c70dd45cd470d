//! A word about something that waits: whose it is, whether it counts, and that it is on record.

use covenant_model::approval::Approval;
use covenant_model::audit::{Decision, Event, Kind};
use covenant_model::id::ApprovalId;
use covenant_model::principal::Principal;
use tokio::sync::broadcast;

use crate::gate::Gate;
use crate::operator::Operator;
use crate::ports::{Decided, Verdict};
use crate::refusal::Fault;

/// The fewest digits of a hash that stand for it: nobody finds a second text that begins with the same by chance.
const FEWEST_DIGITS: usize = 12;

/// Why a verdict does not count.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// There is no such entry.
    #[error("there is no approval {id}")]
    Missing {
        /// What was asked for.
        id: ApprovalId,
    },
    /// It does not wait any more.
    #[error("{}", already(.0))]
    Already(Box<Approval>),
    /// What was seen is something else.
    #[error(
        "{id} is about {actual}, and what you saw was {seen}: look at it again with: covenant approvals show {id}"
    )]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Other { id: ApprovalId, actual: String, seen: String },
    /// What is to say which text was seen says too little, or is no hash.
    #[error(
        "`{seen}` does not say what you saw: write the hash, or at least its first {FEWEST_DIGITS} hexadecimal digits"
    )]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    NoHash { seen: String },
    /// Something broke.
    #[error(transparent)]
    Fault(#[from] Fault),
}

fn already(entry: &Approval) -> String {
    let Approval { id, status, .. } = entry;
    let by = entry.decided_by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    let at = entry.decided_at.map(|at| format!(" at {at}")).unwrap_or_default();
    format!("{id} is {status} already{by}{at}")
}

/// What a person says about an entry.
#[derive(Debug, Clone, Default)]
pub struct NewVerdict {
    /// Whether it may.
    pub approve: bool,
    /// The hash of what they saw.
    pub sha256: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Whether it may change what was decided before.
    pub revise: bool,
}

/// Who decides, and from where.
#[derive(Clone, Copy)]
pub(super) struct Decider<'d> {
    pub(super) principal: &'d Principal,
    pub(super) peer: Option<&'d str>,
}

impl Gate {
    /// Takes a person's word. With the hash of what they saw, or its beginning, it counts only if that is what is asked.
    pub async fn give_verdict(
        &self,
        operator: &Operator,
        id: &ApprovalId,
        verdict: NewVerdict,
    ) -> Result<Approval, DecideError> {
        if let Some(seen) = &verdict.sha256 {
            let missing = || DecideError::Missing { id: id.clone() };
            let entry = self.approval(operator, id).await?.ok_or_else(missing)?.approval;
            let bare = seen.strip_prefix("sha256:").unwrap_or(seen).to_ascii_lowercase();
            if bare.len() < FEWEST_DIGITS || !bare.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                let seen = seen.chars().take(80).flat_map(char::escape_debug).collect();
                return Err(DecideError::NoHash { seen });
            }
            if !entry.sha256.to_ascii_lowercase().starts_with(&bare) {
                return Err(DecideError::Other { id: id.clone(), actual: entry.sha256, seen: bare });
            }
        }
        let decider = Decider { principal: operator.principal(), peer: operator.peer() };
        self.settle(decider, id, verdict).await
    }

    /// Takes the word of someone whose word counts.
    pub(super) async fn settle(
        &self,
        decider: Decider<'_>,
        id: &ApprovalId,
        verdict: NewVerdict,
    ) -> Result<Approval, DecideError> {
        let at = self.clock.now();
        let word = Verdict {
            approve: verdict.approve,
            by: decider.principal.to_string(),
            reason: verdict.reason,
            revise: verdict.revise,
            at,
        };
        match self.store.decide(id.clone(), word).await? {
            Decided::Done(entry) => {
                if let Err(fault) = self.record_verdict(decider, &entry).await {
                    // A word without a record does not count. Nothing can have run by it: calls need a record too.
                    self.store.reopen(id.clone(), at).await?;
                    return Err(fault.into());
                }
                self.announce_approvals();
                // Nobody was told of it: nobody is told that it is over.
                let _ = self.verdicts.send(id.clone());
                Ok(entry)
            }
            Decided::Already(entry) => Err(DecideError::Already(Box::new(entry))),
            Decided::Missing => Err(DecideError::Missing { id: id.clone() }),
        }
    }

    async fn record_verdict(&self, decider: Decider<'_>, entry: &Approval) -> Result<(), Fault> {
        let why = entry.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let reason = format!("{} {} {} sha256:{}{why}", entry.status, entry.kind, entry.name, entry.sha256);
        let who = decider.principal.as_str();
        let mut event = Event::new(who, entry.id.as_str(), Kind::ApprovalDecided, Decision::Done);
        event.reason = Some(&reason);
        event.peer = decider.peer;
        self.audit().append(std::slice::from_ref(&event), &self.redactor()).await.map(drop)
    }

    /// What people decide from now on, here; another daemon on the same database tells its own.
    pub fn verdicts(&self) -> broadcast::Receiver<ApprovalId> {
        self.verdicts.subscribe()
    }
}
