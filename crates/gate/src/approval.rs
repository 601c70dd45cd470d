//! What a person decides: calls that a grant wants asked about, and texts that are run. One entry per exact thing, bounded
//! per principal.

mod view;

use std::time::Duration;

use covenant_model::approval::{Approval, ApprovalKind, ApprovalShown};
use covenant_model::audit::{Decision, Event, Kind};
use covenant_model::grant::Grant;
use covenant_model::id::ApprovalId;
use covenant_model::principal::Principal;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::authenticate::Caller;
use crate::context::Context;
use crate::gate::Gate;
use crate::operator::Operator;
use crate::ports::{ApprovalRecord, Asked, Decided, Question, Verdict};
use crate::random;
use crate::refusal::{CallError, Fault, Refusal};

/// How often a call that waits looks whether another daemon on the same database has heard the person.
const LOOK: Duration = Duration::from_secs(1);

/// The fewest digits of a hash that stand for it: nobody finds a second text that begins with the same by chance.
const FEWEST_DIGITS: usize = 12;

/// The call a person decides on: a tool, its definition and its arguments.
pub(crate) struct CallInQuestion<'q> {
    pub(crate) tool: &'q str,
    pub(crate) definition: &'q [u8],
    pub(crate) arguments: &'q Map<String, Value>,
}

/// A text that is to be run, as it is: what is approved is what was hashed.
#[derive(Debug, Clone, Copy)]
pub struct Content<'c> {
    /// What people know it by, such as `weather.star`.
    pub name: &'c str,
    /// The whole text.
    pub text: &'c str,
}

/// How a text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It may run.
    Approved,
    /// A person has not decided yet.
    Pending(ApprovalId),
    /// The same, and another text of that name was approved before.
    Modified(ApprovalId),
    /// It may not.
    Rejected {
        /// The entry.
        id: ApprovalId,
        /// Why, if they said.
        reason: Option<String>,
    },
    /// Nobody was asked: too much of this principal waits already.
    Full {
        /// How much may wait.
        limit: u32,
    },
}

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

impl Content<'_> {
    /// The hash of the text.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// Binds name and text.
    fn digest(&self) -> [u8; 32] {
        let parts = [ApprovalKind::Script.as_str().as_bytes(), self.name.as_bytes(), &self.sha256()];
        Sha256::digest(joined(parts)).into()
    }
}

/// Parts one after the other, none of which can run into the next.
fn joined<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let mut joined = Vec::new();
    for part in parts {
        joined.extend_from_slice(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        joined.extend_from_slice(part);
    }
    joined
}

impl Gate {
    /// Comes back once a person has approved this very call, which is used up by that; otherwise with why not. It waits as
    /// long as the configuration says, and not once its caller takes the call back.
    pub(crate) async fn approved(
        &self,
        caller: &Caller,
        grant: &Grant,
        call: CallInQuestion<'_>,
        context: &Context,
    ) -> Result<(), CallError> {
        let limit = self.config().approvals_per_principal;
        let until = tokio::time::Instant::now() + self.config().approvals_wait;
        let mut decided = self.decided.subscribe();
        loop {
            // Made anew each time: what has expired meanwhile is asked again, under another id.
            let question = self.question_of(caller, grant, &call)?;
            let (now, new) = (question.requested_at, question.id.clone());
            match self.store.ask(question.clone(), limit).await? {
                Asked::Approved(id) if self.store.use_up(id.clone(), now).await? => return Ok(()),
                // Another call of the same kind was quicker.
                Asked::Approved(_) => {}
                Asked::Rejected { id, reason } => {
                    let reason = reason.map(|reason| format!(": {}", self.redactor().shown(&reason, 500)));
                    let (tool, reason) = (question.name, reason.unwrap_or_default());
                    return Err(Refusal::ApprovalRejected { tool, id, reason }.into());
                }
                Asked::Full => {
                    return Err(Refusal::ApprovalsFull { principal: question.principal, limit }.into());
                }
                Asked::Pending { id, .. } => {
                    // Once: whoever waits here hears it too, and would look again and again.
                    if id == new {
                        self.announce_approvals();
                    }
                    let pending = || Refusal::PendingApproval { tool: question.name.clone(), id: id.clone() };
                    tokio::select! {
                        biased;
                        () = context.cancel.cancelled() => return Err(pending().into()),
                        // Its word would be for somebody who is no longer there.
                        () = caller.over() => return Err(pending().into()),
                        () = tokio::time::sleep_until(until) => return Err(pending().into()),
                        _ = decided.changed() => {}
                        () = tokio::time::sleep(LOOK) => {}
                    }
                }
            }
        }
    }

    fn question_of(
        &self,
        caller: &Caller,
        grant: &Grant,
        call: &CallInQuestion<'_>,
    ) -> Result<Question, CallError> {
        let principal = caller.principal();
        let Some(view) = view::of(call.tool, call.arguments, &self.redactor()) else {
            let reason = format!(
                "a person must approve this call, and can be shown at most {} KiB of arguments: give it less",
                view::LONGEST >> 10
            );
            return Err(Refusal::InvalidArguments { tool: call.tool.to_owned(), reason }.into());
        };
        let arguments = serde_json::to_vec(call.arguments)
            .map_err(|error| Fault::new("the arguments cannot be written", error))?;
        let parts =
            [principal.as_str().as_bytes(), grant.id.as_str().as_bytes(), &arguments, call.definition];
        // Keyed, as rows name it: what few arguments are possible could be found out from a bare hash.
        let digest = self.audit().digest(&joined(parts)).0;
        let question = self.question(ApprovalKind::Call, call.tool, principal, digest, digest, view)?;
        Ok(Question { grant: Some(grant.id.clone()), ..question })
    }

    fn question(
        &self,
        kind: ApprovalKind,
        name: &str,
        principal: &Principal,
        digest: [u8; 32],
        sha256: [u8; 32],
        view: String,
    ) -> Result<Question, Fault> {
        let now = self.clock.now();
        Ok(Question {
            id: ApprovalId::from_random(random::bytes()?),
            kind,
            digest,
            sha256,
            name: name.to_owned(),
            principal: principal.clone(),
            grant: None,
            view,
            requested_at: now,
            expires_at: now.plus(self.config().approvals_expire),
        })
    }

    /// Whether that text may run. Where nobody was asked yet, a person is.
    pub(crate) async fn standing(
        &self,
        principal: &Principal,
        content: Content<'_>,
    ) -> Result<Standing, Fault> {
        let (name, sha256) = (content.name, content.sha256());
        let view = self.redactor().redact(content.text).into_owned();
        let question =
            self.question(ApprovalKind::Script, name, principal, content.digest(), sha256, view)?;
        let (limit, id) = (self.config().approvals_per_principal, question.id.clone());
        let asked = self.store.ask(question, limit).await?;
        if matches!(&asked, Asked::Pending { id: pending, .. } if *pending == id) {
            let reason = format!("{id} {name}");
            let mut event =
                Event::new(principal.as_str(), "gate", Kind::ApprovalRequested, Decision::Refused);
            event.reason = Some(&reason);
            let recorded = self.audit().append(std::slice::from_ref(&event), &self.redactor()).await;
            if let Err(fault) = recorded {
                // A question without a record was not asked: the next one is, and has its row.
                self.store.withdraw(id).await?;
                return Err(fault);
            }
            self.announce_approvals();
        }
        Ok(Standing::of(asked, limit))
    }

    /// How that text stands, without asking anyone; nothing where nobody was asked.
    pub async fn known_standing(&self, content: Content<'_>) -> Result<Option<Standing>, Fault> {
        let (name, digest) = (content.name.to_owned(), content.digest());
        let asked = self.store.standing(ApprovalKind::Script, name, digest, self.clock.now()).await?;
        Ok(asked.map(|asked| Standing::of(asked, 0)))
    }

    /// What waits for a person, oldest first; before it what was decided, if that is wanted.
    pub async fn approvals(&self, _operator: &Operator, decided: bool) -> Result<Vec<Approval>, Fault> {
        self.store.approvals(decided, self.clock.now()).await
    }

    /// One entry whole.
    pub async fn approval(
        &self,
        _operator: &Operator,
        id: &ApprovalId,
    ) -> Result<Option<ApprovalShown>, Fault> {
        let found = self.store.approval(id.clone(), self.clock.now()).await?;
        Ok(found.map(|(ApprovalRecord { entry, view }, before)| ApprovalShown {
            approval: entry,
            content: view,
            previous: before.map(|before| before.view),
        }))
    }

    /// Takes a person's word. With the hash of what they saw, or its beginning, it counts only if that is what is asked.
    pub async fn give_verdict(
        &self,
        operator: &Operator,
        id: &ApprovalId,
        verdict: NewVerdict,
    ) -> Result<Approval, DecideError> {
        let missing = || DecideError::Missing { id: id.clone() };
        if let Some(seen) = verdict.sha256 {
            let entry = self.approval(operator, id).await?.ok_or_else(missing)?.approval;
            let bare = seen.strip_prefix("sha256:").unwrap_or(&seen).to_ascii_lowercase();
            if bare.len() < FEWEST_DIGITS || !bare.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                let seen = seen.chars().take(80).flat_map(char::escape_debug).collect();
                return Err(DecideError::NoHash { seen });
            }
            if !entry.sha256.to_ascii_lowercase().starts_with(&bare) {
                return Err(DecideError::Other { id: id.clone(), actual: entry.sha256, seen: bare });
            }
        }
        let at = self.clock.now();
        let word = Verdict {
            approve: verdict.approve,
            by: operator.principal().to_string(),
            reason: verdict.reason,
            revise: verdict.revise,
            at,
        };
        match self.store.decide(id.clone(), word).await? {
            Decided::Done(entry) => {
                if let Err(fault) = self.record_verdict(operator, &entry).await {
                    // A word without a record does not count. Nothing can have run by it: calls need a record too.
                    self.store.reopen(id.clone(), at).await?;
                    return Err(fault.into());
                }
                self.announce_approvals();
                Ok(entry)
            }
            Decided::Already(entry) => Err(DecideError::Already(Box::new(entry))),
            Decided::Missing => Err(missing()),
        }
    }

    async fn record_verdict(&self, operator: &Operator, entry: &Approval) -> Result<(), Fault> {
        let why = entry.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let reason = format!("{} {} {} sha256:{}{why}", entry.status, entry.kind, entry.name, entry.sha256);
        self.record(operator, Kind::ApprovalDecided, entry.id.as_str(), Some(&reason)).await
    }

    /// Tells whoever waits that something about approvals has changed.
    fn announce_approvals(&self) {
        self.decided.send_modify(|revision| *revision = revision.wrapping_add(1));
    }

    /// Changes whenever something waits or was decided.
    pub fn approvals_changed(&self) -> tokio::sync::watch::Receiver<u64> {
        self.decided.subscribe()
    }
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

impl Standing {
    fn of(asked: Asked, limit: u32) -> Self {
        match asked {
            Asked::Approved(_) => Self::Approved,
            Asked::Pending { id, modified: false } => Self::Pending(id),
            Asked::Pending { id, modified: true } => Self::Modified(id),
            Asked::Rejected { id, reason } => Self::Rejected { id, reason },
            Asked::Full => Self::Full { limit },
        }
    }
}
