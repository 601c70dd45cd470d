//! What a person decides: calls that a grant wants asked about, and texts that are run. One entry per exact thing, bounded
//! per principal.

mod person;
mod verdict;
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
use crate::ports::{ApprovalRecord, Asked, Question};
use crate::random;
use crate::refusal::{CallError, Fault, Refusal};
use person::{Matter, Telling};
pub use verdict::{DecideError, NewVerdict};

/// How often a call that waits looks whether another daemon on the same database has heard the person.
const LOOK: Duration = Duration::from_secs(1);

/// The call a person decides on: a tool, its definition and its arguments.
pub(crate) struct CallInQuestion<'q> {
    pub(crate) tool: &'q str,
    pub(crate) definition: &'q [u8],
    pub(crate) arguments: &'q Map<String, Value>,
}

/// What came of asking for a call.
pub(crate) enum Approved {
    /// It may be made, once.
    Now,
    /// Its client is asked, and makes it again with the answer; until then it is refused.
    Later(Refusal),
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
    /// long as the configuration says, or its client's person takes to answer, and not once its caller takes the call back.
    pub(crate) async fn approved(
        &self,
        caller: &Caller,
        grant: &Grant,
        call: CallInQuestion<'_>,
        context: &Context,
    ) -> Result<Approved, CallError> {
        let limit = self.config().approvals_per_principal;
        let (begun, wait) = (tokio::time::Instant::now(), self.config().approvals_wait);
        let mut decided = self.decided.subscribe();
        let mut talk = None;
        loop {
            // Made anew each time: what has expired meanwhile is asked again, under another id.
            let question = self.question_of(caller, grant, &call)?;
            let (now, new) = (question.requested_at, question.id.clone());
            match self.store.ask(question.clone(), limit).await? {
                Asked::Approved(id) if self.store.use_up(id.clone(), now).await? => return Ok(Approved::Now),
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
                Asked::Pending { id, modified } => {
                    // Once: whoever waits here hears it too, and would look again and again.
                    if id == new {
                        self.announce_approvals();
                    }
                    let pending = self.pending(call.tool, &id, context);
                    let matter = Matter { question: &question, id: &id, modified };
                    let telling = if wait.is_zero() { Telling::Answer } else { Telling::Message };
                    let Some(talk) = self.talk(caller, &matter, context, telling, &mut talk) else {
                        return Ok(Approved::Later(pending));
                    };
                    let until = begun + talk.patience(wait);
                    tokio::select! {
                        biased;
                        () = context.cancel.cancelled() => return Err(pending.into()),
                        // Its word would be for somebody who is no longer there.
                        () = caller.over() => return Err(pending.into()),
                        word = talk.heard() => self.take(caller, &id, word).await?,
                        () = tokio::time::sleep_until(until) => return Err(pending.into()),
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

    fn question_about(&self, principal: &Principal, content: Content<'_>) -> Result<Question, Fault> {
        let view = self.redactor().redact(content.text).into_owned();
        let (digest, sha256) = (content.digest(), content.sha256());
        self.question(ApprovalKind::Script, content.name, principal, digest, sha256, view)
    }

    /// Whether that text may run. Where nobody was asked yet, a person is.
    pub(crate) async fn standing(
        &self,
        principal: &Principal,
        content: Content<'_>,
    ) -> Result<Standing, Fault> {
        let (name, question) = (content.name, self.question_about(principal, content)?);
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

    /// Tells whoever waits that something about approvals has changed.
    fn announce_approvals(&self) {
        self.decided.send_modify(|revision| *revision = revision.wrapping_add(1));
    }

    /// Changes whenever something waits or was decided.
    pub fn approvals_changed(&self) -> tokio::sync::watch::Receiver<u64> {
        self.decided.subscribe()
    }
}

impl Standing {
    /// What waits, and whether another text of the same name was approved before.
    fn waiting(&self) -> Option<(ApprovalId, bool)> {
        match self {
            Self::Pending(id) => Some((id.clone(), false)),
            Self::Modified(id) => Some((id.clone(), true)),
            _ => None,
        }
    }

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
