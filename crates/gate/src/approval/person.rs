//! How the person before a client is reached: asked, where the client may approve; otherwise told where to decide.
//!
//! Whatever a client answers, it counts only if the client was added with the right to approve, and only for what its
//! person was shown whole.

use std::pin::Pin;
use std::time::Duration;

use covenant_model::approval::ApprovalKind;
use covenant_model::id::ApprovalId;
use covenant_model::visible;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::verdict::Decider;
use super::{Content, DecideError, LOOK, NewVerdict, Standing};
use crate::authenticate::Caller;
use crate::context::Context;
use crate::gate::Gate;
use crate::inquiry::{Inquiry, Unanswered, Why};
use crate::ports::Question;
use crate::refusal::{Fault, Refusal};
use crate::seal::{OPEN_MILLIS, Put};

/// How long a person who is asked may take.
const PATIENCE: Duration = Duration::from_millis(OPEN_MILLIS);

/// The most bytes that a person is shown by a client: what is longer, they read elsewhere.
const SHOWN: usize = 32 << 10;

/// What a person is asked about.
pub(super) struct Matter<'m> {
    pub(super) question: &'m Question,
    /// The entry that waits, which may be an earlier one.
    pub(super) id: &'m ApprovalId,
    /// Whether another text of the same name was approved before.
    pub(super) modified: bool,
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Approve,
    Reject,
    /// Nothing that decides.
    Nothing,
}

impl Word {
    /// A word that a client brings. Only what was chosen or declined decides: who closes a dialogue has said nothing.
    fn of(answer: &Value) -> Self {
        let chosen = answer.pointer("/content/verdict").and_then(Value::as_str);
        match (answer.get("action").and_then(Value::as_str), chosen) {
            (Some("accept"), Some("approve")) => Self::Approve,
            (Some("accept"), Some("reject")) | (Some("decline"), _) => Self::Reject,
            _ => Self::Nothing,
        }
    }
}

/// What goes on with a client's person while a call waits.
pub(super) struct Talk<'c> {
    id: ApprovalId,
    begun: Instant,
    /// Until it is answered, where an answer counts.
    open: Option<Pin<Box<dyn Future<Output = Word> + Send + 'c>>>,
}

impl Talk<'_> {
    /// How long the call waits in all, where it would wait that long without it.
    pub(super) fn patience(&self, wait: Duration) -> Duration {
        if self.open.is_some() { wait.max(PATIENCE) } else { wait }
    }

    /// Comes back once the person has answered. It does nothing with the answer: whoever stops waiting for it holds
    /// nothing up.
    pub(super) async fn heard(&mut self) -> Word {
        let Some(open) = &mut self.open else { return std::future::pending().await };
        let heard = open.await;
        self.open = None;
        heard
    }
}

/// What a client is told of a page by, where the call goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// A message of its own.
    Message,
    /// The answer to the call.
    Answer,
}

/// How a client's person can be reached.
enum Way {
    /// They are shown everything, and their answer counts.
    Form(Inquiry),
    /// They are told of a page.
    Page(Inquiry),
}

impl Gate {
    /// The refusal of what waits; with the page about it, where the client can send its person there.
    pub(super) fn pending(&self, tool: &str, id: &ApprovalId, context: &Context) -> Refusal {
        let page = self.page(id).filter(|_| context.is_live() && context.kinds().url);
        Refusal::PendingApproval { tool: tool.to_owned(), id: id.clone(), page }
    }

    fn page(&self, id: &ApprovalId) -> Option<String> {
        self.config().approvals_page.as_ref().map(|before| format!("{before}{id}"))
    }

    /// Whether what that caller's person says counts: now, whatever it was when they were asked. A run of an agent has no
    /// person before it.
    fn may_decide(&self, caller: &Caller) -> bool {
        caller.badge().may_approve
            && caller.mandate().is_none()
            && self.tokens.load().may_approve(caller.principal())
    }

    fn way(&self, caller: &Caller, matter: &Matter<'_>, context: &Context) -> Option<Way> {
        let kinds = context.kinds();
        if kinds.form
            && self.may_decide(caller)
            && let Some(form) = form(matter)
        {
            return Some(Way::Form(form));
        }
        let url = self.page(matter.id).filter(|_| kinds.url)?;
        Some(Way::Page(page(matter, &url, context)))
    }

    /// The talk about that, begun where it was not yet; nothing where the client is to come again with the answer.
    pub(super) fn talk<'t, 'c>(
        &self,
        caller: &Caller,
        matter: &Matter<'_>,
        context: &'c Context,
        telling: Telling,
        before: &'t mut Option<Talk<'c>>,
    ) -> Option<&'t mut Talk<'c>> {
        if before.as_ref().is_none_or(|talk| talk.id != *matter.id) {
            let mut talk = Talk { id: matter.id.clone(), begun: Instant::now(), open: None };
            let way = self.way(caller, matter, context);
            if context.is_live() {
                match way {
                    Some(Way::Form(inquiry)) => {
                        talk.open = Some(Box::pin(async move {
                            context.put_now(inquiry).await.map_or(Word::Nothing, |answer| Word::of(&answer))
                        }));
                    }
                    Some(Way::Page(inquiry)) if telling == Telling::Message => context.tell(inquiry),
                    _ => {}
                }
            } else if let Some(way) = way
                && context.brought().is_none_or(|(put, _)| put.id != talk.id)
            {
                let (shown, inquiry) = match way {
                    Way::Form(inquiry) => (true, inquiry),
                    Way::Page(inquiry) => (false, inquiry),
                };
                context.put_later(Put { id: talk.id, shown }, inquiry);
                return None;
            }
            *before = Some(talk);
        }
        before.as_mut()
    }

    /// Takes the word that a client brings for what its person was shown in the round before.
    pub(crate) async fn heed(&self, caller: &Caller, context: &Context) -> Result<(), Fault> {
        match context.brought() {
            Some((put, answer)) if put.shown => self.take(caller, &put.id, Word::of(answer)).await,
            _ => Ok(()),
        }
    }

    /// Takes a client's word, if it counts. That somebody else was quicker is no failure: the word is theirs then.
    pub(super) async fn take(&self, caller: &Caller, id: &ApprovalId, word: Word) -> Result<(), Fault> {
        let principal = caller.principal();
        if word == Word::Nothing || !self.may_decide(caller) {
            return Ok(());
        }
        let approve = word == Word::Approve;
        let reason = (!approve).then(|| format!("declined at {principal}"));
        let verdict = NewVerdict { approve, reason, ..NewVerdict::default() };
        match self.settle(Decider { principal, peer: None }, id, verdict).await {
            Err(DecideError::Fault(fault)) => Err(fault),
            _ => Ok(()),
        }
    }

    /// The same for a text: how it stands once its client's person was asked, or that the answer comes later.
    pub(crate) async fn persuaded(
        &self,
        caller: &Caller,
        text: Content<'_>,
        mut standing: Standing,
        context: &Context,
    ) -> Result<Standing, Unanswered> {
        let failed = |fault: Fault| Unanswered::because(Why::Failed(fault.to_string()));
        let mut decided = self.decided.subscribe();
        let mut talk = None;
        while let Some((id, modified)) = standing.waiting() {
            let question = self.question_about(caller.principal(), text).map_err(failed)?;
            let matter = Matter { question: &question, id: &id, modified };
            // What such a call is answered with is a result, which has no place for a page.
            let Some(talk) = self.talk(caller, &matter, context, Telling::Message, &mut talk) else {
                return Err(Unanswered::because(Why::Later));
            };
            let until = talk.begun + talk.patience(Duration::ZERO);
            tokio::select! {
                biased;
                () = context.taken_back() => return Ok(standing),
                word = talk.heard() => self.take(caller, &id, word).await.map_err(failed)?,
                () = tokio::time::sleep_until(until) => return Ok(standing),
                _ = decided.changed() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            standing = self.known_standing(text).await.map_err(failed)?.unwrap_or(standing);
        }
        Ok(standing)
    }
}

/// The question for a client that shows its person what it is told; nothing where that is too long to be shown whole.
fn form(matter: &Matter<'_>) -> Option<Inquiry> {
    let Matter { question, id, modified } = matter;
    let (who, view) = (&question.principal, visible::block(&question.view));
    if view.len() > SHOWN {
        return None;
    }
    let name = visible::line(&question.name);
    let asked = match question.kind {
        ApprovalKind::Call => format!("{who} wants to make this call. Approved, it is made once ({id})."),
        _ => format!("{who} wants to run '{name}'. Approved, this text may run from now on ({id})."),
    };
    let before = if *modified {
        format!(
            "\nAnother text of that name was approved before; what is different: covenant approvals show {id}"
        )
    } else {
        String::new()
    };
    let verdict = json!({"type": "string", "title": "Your decision", "enum": ["approve", "reject"]});
    Some(Inquiry::elicit(json!({
        "message": format!("{asked}{before}\n\n{view}"),
        "requestedSchema": {"type": "object", "properties": {"verdict": verdict}, "required": ["verdict"]},
    })))
}

/// What a client is told that sends its person to the page.
fn page(matter: &Matter<'_>, url: &str, context: &Context) -> Inquiry {
    let Matter { question, id, .. } = matter;
    let name = visible::line(&question.name);
    let message = format!("`{name}` waits for a person's approval ({id}); this page says how to decide");
    let mut params = json!({"mode": "url", "url": url, "message": message});
    if let (true, Some(members)) = (context.is_live(), params.as_object_mut()) {
        // Later revisions of the protocol have no such id.
        members.insert("elicitationId".to_owned(), id.as_str().into());
    }
    Inquiry::elicit(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_chosen_or_declined_decides() {
        for (answer, word) in [
            (json!({"action": "accept", "content": {"verdict": "approve"}}), Word::Approve),
            (json!({"action": "accept", "content": {"verdict": "reject"}}), Word::Reject),
            (json!({"action": "decline"}), Word::Reject),
            (json!({"action": "decline", "content": {"verdict": "approve"}}), Word::Reject),
            (json!({"action": "cancel"}), Word::Nothing),
            (json!({"action": "cancel", "content": {"verdict": "approve"}}), Word::Nothing),
            (json!({"action": "accept"}), Word::Nothing),
            (json!({"action": "accept", "content": {"verdict": "APPROVE"}}), Word::Nothing),
            (json!({"action": "accept", "content": {"verdict": true}}), Word::Nothing),
            (json!({"content": {"verdict": "approve"}}), Word::Nothing),
            (json!({"action": ["accept"], "content": {"verdict": "approve"}}), Word::Nothing),
            (json!(null), Word::Nothing),
        ] {
            assert_eq!(Word::of(&answer), word, "{answer}");
        }
    }
}
