//! What a whole team does, for one of it: bounded lists, what to heed in them, and what to do next.

mod gather;
mod shown;

use covenant_model::id::DeveloperId;
use serde_json::{Map, Value, json};

use self::gather::Look;
use super::faces::Faces;
use super::lots::Lot;
use super::{Done, details};
use crate::audit::{Audit, Conflict, Side};
use crate::input::TeamInput;
use crate::perform::Seat;
use crate::perform::outcome::Outcome;
use crate::port::TeamTx;
use crate::port::survey::Listed;
use crate::rules::next::{self, Doubled, Facts, Waiting};
use crate::rules::parallel;

/// How many rows each list has unless a call says otherwise.
const MOST: u32 = 50;

/// How many bytes of each list are told: an answer says everything twice, and may not be longer than 4 MiB.
const ROOM: usize = 96 * 1024;

/// How many stale sessions the feedback names.
const NAMED: usize = 20;

/// What is to be done about stale sessions, and about what an audit found.
const REVIEW: &str = "Review stale work before taking it over: see stale_sessions, read what its developer published with \
                      covibe_session operation \"get_context\", and check before you start.";
const AGREE: &str = "Look at the pairs in parallel_audit_conflicts whose `active` is true with their owners, agree on who goes \
                     on, and cancel or complete the other.";

/// Tells how the team stands.
pub(super) async fn state(tx: &mut impl TeamTx, seat: &Seat, input: &TeamInput) -> Done {
    let most = input.most(MOST)?;
    let look = gather::gather(tx, seat, most).await?;
    let faces = Faces::of(tx, seat, look.people()).await?;
    let pressing: Vec<&Conflict> = look.conflicts().iter().filter(|conflict| is_pressing(conflict)).collect();
    let work = |work: &Listed| shown::work(work, &faces);
    let actions = next::actions(&facts(&look, &waiting(&look, &faces), &doubled(&look, &faces)));
    let found = look.conflicts().iter().map(|found| shown::conflict(found, is_pressing(found), &faces));
    Ok(Page::of(told(&look, &pressing).remembered(gist(&look, &pressing, &faces)))
        .list("active_work", &look.active, work)
        .list("planned_work", &look.planned, work)
        .list("recent_completions", &look.completed, work)
        .list("active_workstreams", &look.streams, work)
        .list("planned_workstreams", &look.planned_streams, work)
        .list("risks_decisions", &look.notes, |note| shown::note(note, &faces))
        .list("recent_sessions", &look.sessions, |session| shown::session(session, &faces, seat.now))
        .list("stale_sessions", &look.stale, |session| {
            shown::stale(session, &look.active.items, &faces, seat.now)
        })
        .list("overlap_warnings", &look.warned, |warned| shown::warned(warned, &faces))
        .list("session_contexts", &look.contexts, |context| shown::context(context, &faces))
        .whole("next_actions", actions.iter().map(shown::action))
        .whole("latest_parallel_audits", look.audits.iter().map(|audit| shown::audit(audit, &faces)))
        .whole("parallel_audit_conflicts", found)
        .done())
}

/// Whether what an audit found still has to be heeded, as its work stands now.
fn is_pressing(conflict: &Conflict) -> bool {
    let [one, other] = &conflict.sides;
    parallel::is_pressing(one.status, other.status)
}

/// How it stands in a sentence, and what to do about it.
fn told(look: &Look, pressing: &[&Conflict]) -> Outcome {
    let mut parts = vec![
        format!("active {}", look.active.number),
        format!("planned {}", look.planned.number),
        format!("stale sessions {}", look.stale.number),
    ];
    if !pressing.is_empty() {
        parts.push(format!("pairs that look like the same work {}", pressing.len()));
    }
    let message = format!("The team's work: {}.", parts.join(", "));
    let actions: Vec<&str> = [(look.stale.number > 0, REVIEW), (!pressing.is_empty(), AGREE)]
        .into_iter()
        .filter_map(|(holds, action)| holds.then_some(action))
        .collect();
    if actions.is_empty() { Outcome::ok(message) } else { Outcome::warning(message, actions.join(" ")) }
}

/// What is kept of it as feedback: what there was to heed, without the sessions of those who are private.
fn gist(look: &Look, pressing: &[&Conflict], faces: &Faces) -> Map<String, Value> {
    let known = look.stale.items.iter().filter(|session| !faces.is_private(&session.developer));
    let stale: Vec<&str> = known.take(NAMED).map(|session| session.id.as_str()).collect();
    let pairs: Vec<Value> = pressing
        .iter()
        .take(NAMED)
        .map(|conflict| conflict.sides.each_ref().map(|side| side.id.as_str()).as_slice().into())
        .collect();
    details(json!({
        "stale_sessions": stale,
        "stale_sessions_number": look.stale.number,
        "parallel_audit_id": look.audits.first().map(|audit: &Audit| audit.id.as_str()),
        "parallel_audit_conflicts": pairs,
    }))
}

/// What an audit found of the caller's own, each once.
fn doubled<'l>(look: &'l Look, faces: &'l Faces) -> Vec<Doubled<'l>> {
    let pressing = look.conflicts().iter().filter(|conflict| is_pressing(conflict));
    let own = pressing.filter_map(|conflict| {
        let [one, other] = &conflict.sides;
        let runs = |side: &Side| faces.is_viewer(&side.developer) && side.status.is_running();
        let (own, other) =
            if runs(one) { (one, other) } else { Some((other, one)).filter(|_| runs(other))? };
        Some(Doubled { own, other, owner: faces.owner(&other.developer) })
    });
    own.take(gather::OWN).collect()
}

/// What others wait for, and who.
fn waiting<'l>(look: &'l Look, faces: &'l Faces) -> Vec<Waiting<'l>> {
    let messages = look.own.waiting.iter();
    messages.map(|message| Waiting { message, sender: faces.owner(&message.developer) }).collect()
}

fn facts<'l>(look: &'l Look, waiting: &'l [Waiting<'l>], doubled: &'l [Doubled<'l>]) -> Facts<'l> {
    Facts {
        waiting,
        stale: &look.own.stale,
        blocked: &look.own.blocked,
        doubled,
        warned: &look.own.undecided,
        planned: &look.own.planned,
        expired: look.own.expired.as_ref(),
    }
}

/// An answer that is filled list by list, and says at its end how many rows each of them leaves out.
struct Page {
    outcome: Outcome,
    left_out: Map<String, Value>,
}

impl Page {
    fn of(outcome: Outcome) -> Self {
        Self { outcome, left_out: Map::new() }
    }

    /// The same, with the rows of a list, as many as there is room for.
    fn list<T>(mut self, name: &str, lot: &Lot<T>, show: impl Fn(&T) -> Value) -> Self {
        let fits = |room: &mut usize, row: Value| {
            *room = room.checked_sub(row.to_string().len())?;
            Some(row)
        };
        let rows: Vec<Value> = lot.items.iter().map(show).scan(ROOM, fits).collect();
        let left = lot.number.saturating_sub(u64::try_from(rows.len()).unwrap_or(u64::MAX));
        if left > 0 {
            self.left_out.insert(name.to_owned(), left.into());
        }
        self.whole(name, rows.into_iter())
    }

    /// The same, with a list that is short by itself.
    fn whole(mut self, name: &str, rows: impl Iterator<Item = Value>) -> Self {
        self.outcome = self.outcome.with(name, rows.collect::<Vec<_>>());
        self
    }

    fn done(self) -> Outcome {
        self.outcome.with("left_out", self.left_out)
    }
}

impl Look {
    /// Everybody in it.
    fn people(&self) -> Vec<&DeveloperId> {
        let lists = [&self.active, &self.planned, &self.completed, &self.streams, &self.planned_streams];
        let work = lists.into_iter().flat_map(|lot| &lot.items).map(|work| &work.developer);
        let notes = self.notes.items.iter().map(|note| &note.developer);
        let sessions = [&self.sessions, &self.stale].into_iter().flat_map(|lot| &lot.items);
        let warned = self.warned.items.iter().map(|warned| &warned.developer);
        let contexts = self.contexts.items.iter().map(|context| &context.developer);
        let audits = self.audits.iter().map(|audit| &audit.developer);
        let sides = self.conflicts().iter().flat_map(|conflict| &conflict.sides);
        let senders = self.own.waiting.iter().map(|message| &message.developer);
        work.chain(notes)
            .chain(senders)
            .chain(sessions.map(|session| &session.developer))
            .chain(warned)
            .chain(contexts)
            .chain(audits)
            .chain(sides.map(|side| &side.developer))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_as_long_as_there_is_room_and_says_how_much_it_leaves_out() {
        let lot = |length: usize, number| Lot { items: vec!["x".repeat(length); 100], number };
        let page = Page::of(Outcome::ok("x"))
            .list("short", &lot(9, 100), |text| json!(text))
            .list("more", &lot(9, 10_000), |text| json!(text))
            .list("long", &lot(10_000, 100), |text| json!(text));
        let data = page.done().envelope.data;
        let length = |name: &str| data[name].as_array().unwrap().len();
        assert_eq!((length("short"), length("more"), length("long")), (100, 100, 9));
        assert_eq!(data["left_out"], json!({"more": 9_900, "long": 91}));
    }
}
