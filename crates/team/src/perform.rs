//! The way of every call of a team's tools: who it is, whose session, what is done, and what is written down of it.

pub(crate) mod outcome;

use covenant_model::envelope::Status;
use covenant_model::id::EventId;
use covenant_model::principal::{AgentType, Principal};
use covenant_model::time::Timestamp;
use serde_json::{Map, Value};

use crate::event::{Event, GivenFeedback, Unserved, bounded};
use crate::input::{Call, Invalid};
use crate::operate;
use crate::port::{Broken, Kept, Member, TeamTx};
use crate::session::Session;
use outcome::{Denied, Outcome, Stop};

/// A call of one of the tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Who calls.
    pub principal: Principal,
    /// Which agent its token was made for.
    pub agent_type: Option<AgentType>,
    /// What is called.
    pub call: Call,
    /// When.
    pub now: Timestamp,
}

/// Who calls, and in which session, once both are known to belong together.
pub(crate) struct Seat {
    pub(crate) member: Member,
    pub(crate) session: Option<Session>,
    pub(crate) agent_type: Option<AgentType>,
    pub(crate) now: Timestamp,
}

/// Performs a call in a transaction, which the caller commits if [`Outcome::is_kept`], and otherwise rolls back; then
/// [`unserved`] writes down that the call was made.
pub async fn perform(tx: &mut impl TeamTx, request: &Request) -> Kept<Outcome> {
    let done = serve(tx, request).await;
    match done {
        Ok((seat, outcome)) => {
            record(tx, request, &seat, &outcome).await?;
            Ok(outcome)
        }
        Err(Stop::Denied(denied)) => Ok(denied.into()),
        Err(Stop::Broken(broken)) => Err(broken),
    }
}

async fn serve(tx: &mut impl TeamTx, request: &Request) -> Result<(Seat, Outcome), Stop> {
    let Some(member) = tx.member(&request.principal).await? else {
        return Err(Denied::stranger(&request.principal).into());
    };
    let mut seat = Seat { member, session: None, agent_type: request.agent_type, now: request.now };
    if let Some(id) = request.call.session() {
        let session = tx.session(id).await?.filter(|session| session.developer == seat.member.id);
        seat.session = Some(session.ok_or_else(|| Denied::missing("session", id.as_str()))?);
    }
    let outcome = operate::operate(tx, &seat, &request.call).await?;
    if let Some(session) = seat.session.as_mut().filter(|_| outcome.is_kept() && !outcome.ended_session) {
        // Whoever works in a session is there.
        session.last_seen_at = request.now.max(session.last_seen_at);
        if session.ended_at.is_none() {
            tx.save_session(session).await?;
        }
    }
    Ok((seat, outcome))
}

/// Writes down what happened: each change, the feedback if there was some to heed, and the call itself.
async fn record(tx: &mut impl TeamTx, request: &Request, seat: &Seat, outcome: &Outcome) -> Kept<()> {
    if !outcome.is_kept() {
        return Ok(());
    }
    let session = outcome.session.clone().or_else(|| seat.session.as_ref().map(|session| session.id.clone()));
    let event = |id: EventId| Event {
        id,
        workspace: Some(seat.member.workspace.clone()),
        developer: Some(seat.member.id.clone()),
        session: session.clone(),
        event: request.call.name(),
        subject: outcome.subject.clone(),
        status: outcome.envelope.status.as_str().to_owned(),
        payload: Map::new(),
        at: request.now,
    };
    add_changes(tx, outcome, event).await?;
    let envelope = &outcome.envelope;
    if matches!(envelope.status, Status::Warning | Status::Blocked) {
        let told = event(EventId::from_random(tx.draw()?));
        let feedback = GivenFeedback {
            event: Event {
                payload: bounded(outcome.gist.clone().unwrap_or_else(|| envelope.data.clone())),
                ..told
            },
            tone: envelope.status.tone(),
            message: envelope.message.clone(),
            required_action: envelope.feedback.required_action.clone(),
        };
        tx.add_feedback(&feedback).await?;
    }
    let usage = event(EventId::from_random(tx.draw()?));
    tx.add_usage(&usage).await
}

async fn add_changes(tx: &mut impl TeamTx, outcome: &Outcome, event: impl Fn(EventId) -> Event) -> Kept<()> {
    let mut changes = Vec::with_capacity(outcome.changes.len());
    for change in &outcome.changes {
        changes.push(Event {
            event: change.event.to_owned(),
            subject: Some(change.subject.clone()),
            status: change.status.to_owned(),
            payload: bounded(change.payload.clone()),
            ..event(EventId::from_random(tx.draw()?))
        });
    }
    if changes.is_empty() { Ok(()) } else { tx.add_changes(&changes).await }
}

/// Ends some of what somebody has open who is no member any more, and writes down what changed. Whether there was any.
pub async fn depart(tx: &mut impl TeamTx, member: Member, now: Timestamp) -> Kept<bool> {
    let seat = Seat { member, session: None, agent_type: None, now };
    let outcome = match operate::depart(tx, &seat).await {
        Ok(outcome) => outcome,
        Err(Stop::Denied(denied)) => return Err(Broken(Outcome::from(denied).envelope.message)),
        Err(Stop::Broken(broken)) => return Err(broken),
    };
    let event = |id: EventId| Event {
        id,
        workspace: Some(seat.member.workspace.clone()),
        developer: Some(seat.member.id.clone()),
        session: None,
        event: String::new(),
        subject: None,
        status: String::new(),
        payload: Map::new(),
        at: now,
    };
    add_changes(tx, &outcome, event).await?;
    Ok(!outcome.changes.is_empty())
}

/// Writes down that a call was made which came to nothing: it was refused, could not be read, or broke.
pub async fn unserved(
    tx: &mut impl TeamTx,
    principal: Option<&Principal>,
    call: &Unserved,
    now: Timestamp,
) -> Kept<()> {
    let member = match principal {
        Some(principal) => tx.member(principal).await?,
        None => None,
    };
    let session = match (&member, &call.session) {
        (Some(member), Some(id)) => tx.session(id).await?.filter(|session| session.developer == member.id),
        _ => None,
    };
    let mut payload = call.details.clone();
    payload.insert("code".to_owned(), Value::from(call.code));
    let event = Event {
        id: EventId::from_random(tx.draw()?),
        workspace: member.as_ref().map(|member| member.workspace.clone()),
        developer: member.map(|member| member.id),
        session: session.map(|session| session.id),
        event: call.call.clone(),
        subject: None,
        status: call.status.as_str().to_owned(),
        payload: bounded(payload),
        at: now,
    };
    tx.add_usage(&event).await
}

impl From<Invalid> for Stop {
    fn from(invalid: Invalid) -> Self {
        Self::Denied(Denied::invalid(&invalid))
    }
}
