//! What holds of looks, snapshots, companions and sessions: each is written down by its event, and nothing else is.

use std::collections::BTreeSet;

use covenant_model::envelope::Status as Told;
use covenant_model::id::AgentSessionId;
use covenant_model::principal::AgentType;
use covenant_store::TeamEvent;
use covenant_team::work::Work;
use serde_json::json;

use super::team_laws::{Step, owner};
use super::team_seen::differing;

/// Whose token was made for which agent.
pub(super) const TYPED: (&str, AgentType) = ("ada", AgentType::Cursor);

impl Step<'_> {
    /// Insists on all of it.
    pub(super) fn looks_hold(&self) {
        self.each_look_has_its_event();
        self.each_sign_of_a_session_has_its_event();
        self.each_container_has_its_event();
        self.whoever_is_typed_is_who_the_token_says();
        self.rows_are_ones_own_and_of_calls_that_went_well();
    }

    /// What was called, as its usage event says: `task` and `check`.
    fn call(&self) -> (&str, &str) {
        let name = self.added("usage")[0].event.trim_start_matches("covibe_");
        name.split_once('.').unwrap()
    }

    /// A look is kept with one event that names it. A start looks again: it names the look that opened it, or, where it is
    /// blocked by what is new, the one it took itself.
    fn each_look_has_its_event(&self) {
        let Self { told, before, after, .. } = self;
        let own = owner(self.player);
        let (was, is) = (before.kept("check"), after.kept("check"));
        assert!(was.iter().all(|(id, row)| is.get(id) == Some(row)), "{told}: a look is never changed");
        let new: Vec<&str> = is.keys().copied().filter(|id| !was.contains_key(id)).collect();
        let (mut kept, mut opened) = (Vec::new(), Vec::new());
        for event in self.added("work").into_iter().filter(|event| is_look(event)) {
            let check = event.payload["check_id"].as_str().unwrap();
            assert!(is.get(check).is_some_and(|row| row.developer == own.as_str()), "{told}: {event:?}");
            let (first, blocked) = (self.call().1 == "check", event.payload.contains_key("blocked"));
            assert_eq!(event.payload.contains_key("activation"), !first, "{told}: {event:?}");
            assert_eq!(event.event, format!("{}.checked", self.call().0), "{told}");
            if first || !was.contains_key(check) {
                kept.push(check);
            }
            assert!(first || blocked || was.contains_key(check), "{told}: nothing opened it: {event:?}");
            opened.extend(event.subject_id.as_deref().filter(|_| !first && !blocked));
        }
        assert_eq!(kept, new, "{told}: not one event for each new look");
        let begun = self.subjects(&["task.started", "workstream.started", "workstream.start_planned"]);
        assert_eq!(opened, begun, "{told}: nothing begins without a look at what there is then");
    }

    fn each_sign_of_a_session_has_its_event(&self) {
        let Self { told, before, after, .. } = self;
        let went = |operation| {
            self.call() == ("session", operation) && matches!(self.status, Told::Ok | Told::Warning)
        };
        let session = self.added("usage")[0].session_id.as_ref().map(AgentSessionId::as_str);
        let expected: Vec<&str> = session.into_iter().filter(|_| went("activity")).collect();
        assert_eq!(self.subjects(&["session.activity"]), expected, "{told}");

        let changed = differing(&before.kept("snapshot"), &after.kept("snapshot")).len();
        let events = self.subjects(&["session.snapshot"]);
        assert_eq!((events.len(), changed), (usize::from(went("snapshot")), events.len()), "{told}");
        assert!(
            session.is_none() || events.iter().all(|about| Some(*about) == session),
            "{told}: {events:?}"
        );
    }

    fn each_container_has_its_event(&self) {
        let Self { told, before, after, .. } = self;
        let works = differing(&before.works, &after.works);
        let made = works.iter().filter(|(was, now)| was.is_none() && now.is_container());
        let made: Vec<&str> = made.map(|(_, now)| now.id.as_str()).collect();
        assert_eq!(self.subjects(&["workstream.auto_created"]), made, "{told}");
        for id in made {
            let within = |work: &&Work| work.workstream().is_some_and(|within| within.as_str() == id);
            assert_eq!(after.works.values().filter(within).count(), 1, "{told}: made for a task");
        }
    }

    fn whoever_is_typed_is_who_the_token_says(&self) {
        let Self { told, before, after, .. } = self;
        let sessions = differing(&before.sessions, &after.sessions);
        let mut contradicted = Vec::new();
        for (_, session) in sessions.iter().filter(|(was, _)| was.is_none()) {
            let typed = (self.player == TYPED.0).then(|| TYPED.1.as_str());
            assert_eq!(session.agent_type.as_deref(), typed.or(self.reported), "{told}");
            let differs = typed.is_some() && self.reported.is_some_and(|said| Some(said) != typed);
            contradicted.extend(differs.then(|| session.id.as_str()));
        }
        assert_eq!(self.subjects(&["session.agent_mismatch"]), contradicted, "{told}");
        for event in self.added("work").into_iter().filter(|event| event.event == "session.agent_mismatch") {
            assert_eq!(
                json!(event.payload),
                json!({"token": TYPED.1.as_str(), "reported": self.reported}),
                "{told}"
            );
        }
    }

    /// An error keeps no row at all, and whoever is blocked at most the look that it took.
    fn rows_are_ones_own_and_of_calls_that_went_well(&self) {
        let Self { told, before, after, .. } = self;
        let own = owner(self.player);
        let changed = differing(&before.rows, &after.rows);
        assert!(changed.iter().all(|(_, row)| row.developer == own.as_str()), "{told}: a row of another's");
        let new = after.rows.iter().filter(|(key, row)| before.rows.get(*key) != Some(row));
        let sorts: BTreeSet<&str> = new.filter_map(|(key, _)| key.split('|').next()).collect();
        let may = match (self.status, self.call()) {
            (Told::Error, _) => None,
            (_, (_, "check" | "start" | "start_planned")) => Some("check"),
            (_, ("session", "snapshot")) => Some("snapshot"),
            (_, ("session", "heartbeat")) => Some("companion"),
            (_, ("note", _)) => Some("note"),
            _ => None,
        };
        assert!(sorts.iter().all(|sort| Some(*sort) == may), "{told}: {sorts:?}");
        assert!(before.rows.keys().all(|key| after.rows.contains_key(key)), "{told}: a row is gone");
    }
}

fn is_look(event: &TeamEvent) -> bool {
    matches!(event.event.as_str(), "task.checked" | "workstream.checked")
}
