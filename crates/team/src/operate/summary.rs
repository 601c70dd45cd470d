//! The last seven days of a team, gathered for whoever asks, and told as a text.

use std::time::Duration;

use covenant_model::id::{DeveloperId, SummaryId};
use covenant_model::time::Timestamp;
use serde_json::{Map, Value, json};

use super::faces::Faces;
use super::lots::{self, Lot};
use super::{Done, details, moment};
use crate::audit::Audit;
use crate::input::NoteKind;
use crate::perform::Seat;
use crate::perform::outcome::{Outcome, Stop};
use crate::port::survey::{Listed, Shelf, Summary, Warned};
use crate::port::{Note, TeamTx};
use crate::rules::stale;
use crate::session::Session;
use crate::week::{Line, Section, Week};
use crate::work::{Kind, Status};

/// How long a week is.
const WEEK: Duration = Duration::from_hours(7 * 24);

/// How many of each are read: as many as are told.
const MOST: u32 = crate::week::LINES;

/// What a week is told from.
struct Gathered {
    completed: Lot<Listed>,
    planned: Lot<Listed>,
    active: Lot<Listed>,
    blocked: Lot<Listed>,
    blockers: Lot<Note>,
    decisions: Lot<Note>,
    warned: Lot<Warned>,
    audits: Lot<Audit>,
    sessions: Lot<Session>,
    stale: u64,
}

/// Tells the week, and keeps the text.
pub(super) async fn generate(tx: &mut impl TeamTx, seat: &Seat) -> Done {
    let since = seat.now.minus(WEEK);
    let gathered = gather(tx, seat, since).await?;
    let faces = Faces::of(tx, seat, gathered.people()).await?;
    let week = Week { since, until: seat.now, sections: gathered.sections(&faces, seat.now) };
    let counts = gathered.counts();
    let summary = Summary {
        id: SummaryId::from_random(tx.draw()?),
        workspace: seat.member.workspace.clone(),
        developer: seat.member.id.clone(),
        session: seat.session.as_ref().map(|session| session.id.clone()),
        since,
        markdown: week.markdown(),
        counts: counts.clone(),
        at: seat.now,
    };
    tx.add_summary(&summary).await?;
    let payload = details(json!({ "since": moment(since), "counts": counts }));
    Ok(Outcome::ok("The last 7 days of the team, as Markdown.")
        .with("summary_id", summary.id.as_str())
        .with("markdown", summary.markdown.as_str())
        .with("since", moment(since))
        .with("until", moment(seat.now))
        .with("counts", counts)
        .changed("weekly_summary.generated", &summary.id, "ok", payload)
        .about(&summary.id))
}

async fn gather(tx: &mut impl TeamTx, seat: &Seat, since: Timestamp) -> Result<Gathered, Stop> {
    use Kind::{Task, Workstream};
    let (ever, (first, last)) = (Timestamp::default(), stale::window(seat.now));
    let both = |status| [(Task, status), (Workstream, status)];
    Ok(Gathered {
        completed: lots::work(tx, seat, &both(Status::Done), since, MOST).await?,
        planned: lots::work(tx, seat, &both(Status::Planned), ever, MOST).await?,
        active: lots::work(tx, seat, &both(Status::Active), ever, MOST).await?,
        blocked: lots::work(tx, seat, &both(Status::Blocked), ever, MOST).await?,
        blockers: lots::notes(tx, seat, &[NoteKind::Blocker], since, MOST).await?,
        decisions: lots::notes(tx, seat, &[NoteKind::Decision], since, MOST).await?,
        warned: lots::warned(tx, seat, since, MOST).await?,
        audits: lots::audits(tx, seat, since, MOST).await?,
        sessions: lots::sessions(tx, seat, since, MOST).await?,
        stale: tx.number(&seat.member.workspace, Shelf::Silent(first, last)).await?,
    })
}

impl Gathered {
    fn people(&self) -> Vec<&DeveloperId> {
        let work = [&self.completed, &self.planned, &self.active, &self.blocked];
        let work = work.into_iter().flat_map(|part| &part.items).map(|work| &work.developer);
        let notes = [&self.blockers, &self.decisions].into_iter().flat_map(|part| &part.items);
        let warned = self.warned.items.iter().map(|warned| &warned.developer);
        let audits = self.audits.items.iter().map(|audit| &audit.developer);
        let sessions = self.sessions.items.iter().map(|session| &session.developer);
        work.chain(notes.map(|note| &note.developer)).chain(warned).chain(audits).chain(sessions).collect()
    }

    fn counts(&self) -> Map<String, Value> {
        details(json!({
            "completed": self.completed.number,
            "planned": self.planned.number,
            "active": self.active.number,
            "blockers": self.blocked.number.saturating_add(self.blockers.number),
            "decisions": self.decisions.number,
            "overlap_warnings": self.warned.number,
            "parallel_audits": self.audits.number,
            "sessions": self.sessions.number,
            "stale_sessions": self.stale,
        }))
    }

    fn sections(&self, faces: &Faces, now: Timestamp) -> Vec<Section> {
        let section = |heading, lines, number| Section { heading, lines, number };
        let of_work =
            |part: &Lot<Listed>| part.items.iter().map(|work| done(work, faces)).collect::<Vec<_>>();
        let of_notes =
            |part: &Lot<Note>| part.items.iter().map(|note| noted(note, faces)).collect::<Vec<_>>();
        let mut blockers = of_work(&self.blocked);
        blockers.extend(of_notes(&self.blockers));
        let blocking = self.blocked.number.saturating_add(self.blockers.number);
        let warned = self.warned.items.iter().map(|warned| Line {
            at: Some(warned.at),
            text: warned.title.clone(),
            marks: vec![faces.owner(&warned.developer).to_owned(), warned.id.to_string()],
            more: String::new(),
        });
        let audits = self.audits.items.iter().map(|audit| audited(audit, faces));
        let sessions = self.sessions.items.iter().map(|session| sat(session, faces, now));
        vec![
            section("Completed", of_work(&self.completed), self.completed.number),
            section("Planned", of_work(&self.planned), self.planned.number),
            section("Active work", of_work(&self.active), self.active.number),
            section("Blockers", blockers, blocking),
            section("Decisions", of_notes(&self.decisions), self.decisions.number),
            section("Overlap warnings", warned.collect(), self.warned.number),
            section("Parallel audits", audits.collect(), self.audits.number),
            section("Agent sessions", sessions.collect(), self.sessions.number),
        ]
    }
}

fn done(work: &Listed, faces: &Faces) -> Line {
    let more = match work.status {
        Status::Done => work.result_summary.as_ref(),
        _ => work.reason.as_ref(),
    };
    Line {
        at: None,
        text: work.title.clone(),
        marks: vec![faces.owner(&work.developer).to_owned(), work.id.kind().to_string()],
        more: more.cloned().unwrap_or_default(),
    }
}

fn noted(note: &Note, faces: &Faces) -> Line {
    let mut marks = vec![faces.owner(&note.developer).to_owned()];
    marks.extend(note.work.as_ref().map(ToString::to_string));
    Line { at: Some(note.at), text: note.text.clone(), marks, more: String::new() }
}

fn audited(audit: &Audit, faces: &Faces) -> Line {
    let best = audit.conflicts.first().map(|conflict| {
        let [one, other] = &conflict.sides;
        format!("{} and {}", one.title, other.title)
    });
    let pairs = u64::try_from(audit.conflicts.len()).unwrap_or(u64::MAX).saturating_add(audit.more);
    Line {
        at: Some(audit.at),
        text: match pairs {
            1 => format!("1 pair that looks like the same work, of {} looked at", audit.looked_at),
            _ => format!("{pairs} pairs that look like the same work, of {} looked at", audit.looked_at),
        },
        marks: vec![faces.owner(&audit.developer).to_owned()],
        more: best.unwrap_or_default(),
    }
}

/// A session. What somebody private calls their agent tells who they are.
fn sat(session: &Session, faces: &Faces, now: Timestamp) -> Line {
    let name = session.agent_name.as_ref().filter(|_| !faces.is_hidden(&session.developer));
    let agent = name.or(session.agent_type.as_ref()).map_or("an agent", String::as_str);
    let owner = faces.owner(&session.developer).to_owned();
    let standing = stale::standing(session, now).to_owned();
    Line {
        at: Some(session.last_seen_at),
        text: agent.to_owned(),
        marks: vec![owner, standing],
        more: String::new(),
    }
}
