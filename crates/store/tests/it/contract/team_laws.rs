//! What holds of every call of a team's tools: one usage event, one event for each thing that became another, feedback where there is
//! some, nobody touches what is not theirs, and what is refused changes nothing.

use std::collections::BTreeSet;

use covenant_model::envelope::Status as Told;
use covenant_model::id::DeveloperId;
use covenant_store::TeamEvent;
use covenant_team::session::{Session, SharedContext};
use covenant_team::warning::Settled;
use serde_json::json;

use super::team::developer;
use super::team_seen::{Known, Seen, differing};

/// Three of one team and one of another, in the order of their numbers.
pub(super) const PLAYERS: [&str; 4] = ["local", "ada", "bob", "eve"];

/// The developer who that player is.
pub(super) fn owner(player: &str) -> DeveloperId {
    let number = PLAYERS.iter().position(|name| *name == player).unwrap();
    developer(u64::try_from(number).unwrap())
}

/// One call: what was there before it and after it, and what is new in each log.
pub(super) struct Step<'s> {
    pub(super) told: &'s str,
    pub(super) player: &'s str,
    pub(super) status: Told,
    /// Which agent it said to be.
    pub(super) reported: Option<&'s str>,
    pub(super) before: &'s Seen,
    pub(super) after: &'s Seen,
    pub(super) known: &'s Known,
}

impl Step<'_> {
    /// Insists on all of it.
    pub(super) fn holds(&self) {
        self.is_written_down_once();
        self.each_change_has_its_event();
        self.touches_only_what_is_its_own();
        self.changes_nothing_when_refused();
        self.looks_hold();
    }

    /// The events of that log that were not there before.
    pub(super) fn added(&self, log: &str) -> Vec<&TeamEvent> {
        let known: BTreeSet<&str> = self.before.logs[log].iter().map(|event| event.id.as_str()).collect();
        self.after.logs[log].iter().filter(|event| !known.contains(event.id.as_str())).collect()
    }

    /// What the new events of those names are about, in order.
    pub(super) fn subjects(&self, names: &[&str]) -> Vec<&str> {
        let wanted = |event: &&TeamEvent| names.contains(&event.event.as_str());
        let mut subjects: Vec<&str> = self
            .added("work")
            .into_iter()
            .filter(wanted)
            .map(|event| event.subject_id.as_deref().unwrap())
            .collect();
        subjects.sort_unstable();
        subjects
    }

    fn is_written_down_once(&self) {
        let Self { told, player, status, .. } = self;
        let (work, usage, feedback) = (self.added("work"), self.added("usage"), self.added("feedback"));
        assert_eq!(usage.len(), 1, "{told}");
        assert_eq!(usage[0].status, status.as_str(), "{told}");
        assert_eq!(feedback.len(), usize::from(matches!(status, Told::Warning | Told::Blocked)), "{told}");
        for event in work.into_iter().chain(usage).chain(feedback) {
            assert_eq!(event.developer.as_deref(), Some(*player), "{told}");
            assert!(json!(event.payload).to_string().len() <= 8192, "{told}: too much is written down");
            if let Some(session) = &event.session_id {
                let whose = self.known.sessions.whose(session.as_str());
                assert_eq!(whose, Some(*player), "{told}: a session of another");
            }
        }
    }

    fn each_change_has_its_event(&self) {
        let Self { told, before, after, .. } = self;
        let works = self.added("work").into_iter().filter(|event| {
            let (kind, what) = event.event.split_once('.').unwrap();
            matches!(kind, "task" | "workstream") && what != "checked"
        });
        let mut works: Vec<&str> = works.map(|event| event.subject_id.as_deref().unwrap()).collect();
        works.sort_unstable();
        let changed = differing(&before.works, &after.works);
        let changed: Vec<&str> = changed.into_iter().map(|(_, work)| work.id.as_str()).collect();
        assert_eq!(works, changed, "{told}: not one event for each change of work");

        let sessions = differing(&before.sessions, &after.sessions);
        let begun = sessions.iter().filter(|(was, _)| was.is_none()).map(|(_, now)| now.id.as_str());
        assert_eq!(self.subjects(&["session.started"]), begun.collect::<Vec<_>>(), "{told}");
        let over = |session: &Session| session.ended_at.is_some();
        let ended = sessions.iter().filter(|(was, now)| !was.is_some_and(over) && over(now));
        let ended: Vec<&str> = ended.map(|(_, now)| now.id.as_str()).collect();
        assert_eq!(self.subjects(&["session.ended"]), ended, "{told}");

        let contexts = differing(&before.contexts, &after.contexts);
        let published = contexts.iter().filter(|(was, _)| was.is_none()).map(|(_, now)| now.id.as_str());
        let events = self.subjects(&["session.context_published"]);
        assert_eq!(events, published.collect::<Vec<_>>(), "{told}");
        let gone = |context: &SharedContext| context.revoked_at.is_some();
        let revoked = contexts.iter().filter(|(was, now)| !was.is_some_and(gone) && gone(now));
        let revoked: Vec<&str> = revoked.map(|(_, now)| now.id.as_str()).collect();
        assert_eq!(self.subjects(&["session.context_revoked"]), revoked, "{told}");
        let replaced = contexts
            .iter()
            .filter(|(was, now)| was.is_some_and(|was| was.superseded_by != now.superseded_by));
        for (_, context) in replaced {
            let by = context.superseded_by.as_ref().unwrap();
            assert!(events.contains(&by.as_str()), "{told}: superseded by what was not published");
        }

        let warnings = differing(&before.warnings, &after.warnings);
        let became = |settled: Settled| {
            let it = warnings.iter().filter(move |(_, now)| now.settled == settled);
            it.map(|(_, now)| now.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(self.subjects(&["warning.dismissed"]), became(Settled::Dismissed), "{told}");
        assert_eq!(self.subjects(&["warning.confirmed"]), became(Settled::Confirmed), "{told}");
        let judged = self.added("work").into_iter().filter(|event| event.event == "scope.judged");
        let judged: Vec<&str> = judged.filter_map(|event| event.payload["warning_id"].as_str()).collect();
        for warning in became(Settled::Judged) {
            assert_eq!(judged, [warning], "{told}: judged without an event");
        }

        let recorded = self.subjects(&["decision.recorded", "blocker.recorded"]);
        let notes = differing(&before.kept("note"), &after.kept("note")).len();
        assert_eq!(recorded.len(), notes, "{told}");
    }

    fn touches_only_what_is_its_own(&self) {
        let Self { told, before, after, .. } = self;
        let own = owner(self.player);
        for (_, work) in differing(&before.works, &after.works) {
            assert_eq!(work.developer, own, "{told}: touched another's work");
        }
        for (_, session) in differing(&before.sessions, &after.sessions) {
            assert_eq!(session.developer, own, "{told}: touched another's session");
        }
        for (_, context) in differing(&before.contexts, &after.contexts) {
            assert_eq!(context.developer, own, "{told}: touched another's context");
        }
        for (_, warning) in differing(&before.warnings, &after.warnings) {
            assert_eq!(warning.developer, own, "{told}: touched another's warning");
        }
    }

    /// An error changes nothing at all; whoever is blocked is seen, and may have been warned.
    fn changes_nothing_when_refused(&self) {
        let Self { told, before, after, .. } = self;
        if !matches!(self.status, Told::Error | Told::Blocked) {
            return;
        }
        let kept = differing(&before.works, &after.works).is_empty()
            && differing(&before.contexts, &after.contexts).is_empty()
            && before.kept("note") == after.kept("note");
        assert!(kept, "{told}: refused, and something changed");
        let (sessions, warnings) =
            (differing(&before.sessions, &after.sessions), differing(&before.warnings, &after.warnings));
        if self.status == Told::Error {
            let kept = sessions.is_empty() && warnings.is_empty() && self.added("work").is_empty();
            assert!(kept, "{told}: an error that changed something");
        }
        for (was, now) in warnings {
            let new = was.is_none() && now.settled == Settled::Open;
            assert!(new || now.settled == Settled::Superseded, "{told}: blocked, and a warning is settled");
        }
        for (was, now) in sessions {
            let seen = was.map(|was| Session { last_seen_at: now.last_seen_at, ..was.clone() });
            assert_eq!(seen.as_ref(), Some(now), "{told}: blocked, and more than when it was seen changed");
        }
    }
}
