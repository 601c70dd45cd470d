//! What there is like the work that somebody wants to do: found, set apart from what only looks like it, and shown.

use covenant_model::id::WorkstreamId;
use serde_json::{Map, Value, json};

use super::details;
use super::files;
use super::people::People;
use crate::overlap::{Among, Match, Query, TOLD, is_escalatable, is_same_work};
use crate::perform::Seat;
use crate::perform::outcome::{Outcome, Stop};
use crate::port::TeamTx;
use crate::rules::{privacy, start};
use crate::warning::{Found, Warning};
use crate::work::{Action, Brief, Form, Kind, Status, Work, WorkId};

/// What is to be done, and what it cannot overlap with.
pub(super) struct Wanted<'w> {
    pub(super) kind: Kind,
    pub(super) brief: &'w Brief,
    /// The planned work that is to begin.
    pub(super) itself: Option<&'w WorkId>,
    /// The workstream that a task is to be part of.
    pub(super) within: Option<&'w WorkstreamId>,
    /// Whether it may be the caller's own planned workstream of that title: a look does not say what it is for.
    pub(super) undecided: bool,
}

/// What was found.
#[derive(Default)]
pub(super) struct Look {
    alike: Vec<Alike>,
    conflicts: Vec<Value>,
}

/// One piece of work that is like it.
struct Alike {
    found: Match<WorkId>,
    shown: Value,
    /// Whether somebody has to decide about it.
    escalated: bool,
}

/// Looks at everything that is open, or was over not long ago.
pub(super) async fn look(tx: &mut impl TeamTx, seat: &Seat, wanted: &Wanted<'_>) -> Result<Look, Stop> {
    let among = Among { except: wanted.itself, ended_since: seat.now.minus(start::PAST) };
    let query = Query::of(wanted.brief);
    let found = tx.alike(&seat.member.workspace, &query, &among, TOLD).await?;
    let mut people = People::default();
    let mut alike = Vec::with_capacity(found.len());
    for found in found {
        // Read as it is now, whatever was known of it when it was found.
        let Some(work) = tx.work(&found.id).await? else { continue };
        if is_its_own(wanted, &work) {
            continue;
        }
        let escalated =
            is_escalatable(&found) && work.status.is_open() && !is_its_place(seat, wanted, &found, &work);
        let shown = shown(tx, seat, &mut people, &found, &work).await?;
        alike.push(Alike { found, shown, escalated });
    }
    let conflicts = files::conflicts(tx, seat, &mut people, wanted).await?;
    Ok(Look { alike, conflicts })
}

/// Whether a task and its own workstream are compared: one is part of the other.
fn is_its_own(wanted: &Wanted<'_>, work: &Work) -> bool {
    let parent = match &work.id {
        WorkId::Workstream(id) => wanted.within == Some(id),
        WorkId::Task(_) => false,
    };
    let child = match (wanted.itself, work.workstream()) {
        (Some(WorkId::Workstream(id)), Some(of)) => id == of,
        _ => false,
    };
    parent || child
}

/// Whether there is nothing to decide because it is the asker's own workstream: one that a task would be part of, or the planned
/// one of that very title, which is to begin.
fn is_its_place(seat: &Seat, wanted: &Wanted<'_>, found: &Match<WorkId>, work: &Work) -> bool {
    let own_stream = work.kind() == Kind::Workstream && work.developer == seat.member.id;
    let planned = work.status == Status::Planned && found.same_title && wanted.undecided;
    own_stream && (wanted.kind == Kind::Task || planned)
}

/// The open work of that id, if it can be the same as what is wanted.
async fn named(
    tx: &mut impl TeamTx,
    seat: &Seat,
    wanted: &Wanted<'_>,
    id: &str,
) -> Result<Option<Work>, Stop> {
    let Some(id) = Kind::ALL.iter().find_map(|kind| WorkId::parse(*kind, id).ok()) else { return Ok(None) };
    let work = tx.work(&id).await?.filter(|work| {
        let ours = work.workspace == seat.member.workspace && wanted.itself != Some(&work.id);
        ours && work.status.is_open() && !is_its_own(wanted, work)
    });
    Ok(work)
}

/// A match as it was when it was found.
fn recalled(id: &WorkId, found: &Found) -> Match<WorkId> {
    Match {
        id: id.clone(),
        score: found.score,
        reason: found.reason.clone(),
        file_overlap: Vec::new(),
        same_title: false,
        action_divergent: false,
        component_divergent: false,
        low_information: false,
        identifiers_differ: false,
        open: true,
    }
}

/// A piece of work as whoever asks sees it.
async fn shown(
    tx: &mut impl TeamTx,
    seat: &Seat,
    people: &mut People,
    found: &Match<WorkId>,
    work: &Work,
) -> Result<Value, Stop> {
    let session = match &work.session {
        Some(id) => tx.session(id).await?,
        None => None,
    };
    let owner = people.name(tx, seat, &work.developer).await?;
    let repo = session.filter(|_| owner != privacy::PRIVATE).and_then(|session| session.repo);
    let mut shown = details(json!({
        "id": work.id.as_str(),
        "type": work.kind().as_str(),
        "title": work.brief.title,
        "scope": work.brief.scope,
        "owner": owner,
        "same_developer": work.developer == seat.member.id,
        "status": work.status.as_str(),
        "repo": repo,
        "action": work.brief.action.map(Action::as_str),
        "component": work.brief.component,
        "score": found.score,
        "reason": found.reason,
        "file_overlap": found.file_overlap,
    }));
    if let Form::Task { task_type, .. } = &work.form {
        shown.insert("task_type".to_owned(), task_type.as_str().into());
    }
    if found.action_divergent {
        shown.insert("action_divergent".to_owned(), true.into());
    }
    Ok(Value::Object(shown))
}

impl Look {
    /// What had to be decided about when its agent looked has to be still, as long as it is open: to say more of one's own work, or
    /// to call it by another component, makes no other work of it.
    pub(super) async fn hold_to(
        &mut self,
        tx: &mut impl TeamTx,
        seat: &Seat,
        wanted: &Wanted<'_>,
        warning: &Warning,
    ) -> Result<(), Stop> {
        let mut people = People::default();
        for found in warning.found.iter().filter(|found| found.escalated) {
            if let Some(alike) = self.alike.iter_mut().find(|alike| alike.found.id.as_str() == found.id) {
                alike.escalated = alike.escalated || alike.found.open;
                continue;
            }
            let Some(work) = named(tx, seat, wanted, &found.id).await? else { continue };
            let found = recalled(&work.id, found);
            let shown = shown(tx, seat, &mut people, &found, &work).await?;
            self.alike.push(Alike { found, shown, escalated: true });
        }
        Ok(())
    }

    /// Whether there is anything to tell.
    pub(super) fn warns(&self) -> bool {
        !self.alike.is_empty()
    }

    /// The ids of those that somebody has to decide about.
    pub(super) fn escalated(&self) -> Vec<&str> {
        self.alike.iter().filter(|alike| alike.escalated).map(|alike| alike.found.id.as_str()).collect()
    }

    /// Whether something is so much alike that planning the same is worth a warning, be it over or not.
    pub(super) fn is_strong(&self) -> bool {
        self.alike.iter().any(|alike| alike.escalated || !alike.found.open && is_same_work(&alike.found))
    }

    /// What is kept of it.
    pub(super) fn found(&self) -> Vec<Found> {
        let found = |alike: &Alike| Found {
            id: alike.found.id.to_string(),
            score: alike.found.score,
            reason: alike.found.reason.clone(),
            escalated: alike.escalated,
        };
        self.alike.iter().map(found).collect()
    }

    fn candidates(&self) -> Vec<&Value> {
        self.alike.iter().filter(|alike| alike.escalated).map(|alike| &alike.shown).collect()
    }

    /// What an event holds of it: which, and how much alike.
    pub(super) fn brief(&self) -> Map<String, Value> {
        let alike = self.alike.iter().map(|alike| json!({ "id": alike.found.id.as_str(), "score": alike.found.score, "escalated": alike.escalated }));
        details(json!({ "matches": alike.collect::<Vec<_>>(), "file_conflicts": self.conflicts.len() }))
    }
}

impl Outcome {
    /// The same, with everything that was found.
    pub(super) fn disclosing(self, look: &Look) -> Self {
        let matches: Vec<&Value> = look.alike.iter().map(|alike| &alike.shown).collect();
        self.with("requires_verdict", !look.escalated().is_empty())
            .with("candidates", json!(look.candidates()))
            .with("matches", json!(matches))
            .with("file_conflicts", json!(look.conflicts))
    }
}
