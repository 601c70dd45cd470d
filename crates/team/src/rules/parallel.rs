//! When two pieces of work are done in parallel that are the same work, and when that is still anybody's concern.

use std::time::Duration;

use crate::overlap::{Match, is_same_work};
use crate::port::survey::Listed;
use crate::work::{Status, WorkId};

/// How long what is done counts as done lately.
pub const RECENT: Duration = Duration::from_hours(14 * 24);

/// Whether running work and what was found to be like it conflict: the other runs too or was done lately, they are as much
/// alike as it takes, and the one is not what the other belongs to.
pub fn conflicts(running: &Listed, other: &Listed, found: &Match<WorkId>) -> bool {
    is_same_work(found)
        && running.id != other.id
        && is_pressing(running.status, other.status)
        && !belongs(running, other)
        && !belongs(other, running)
}

/// Whether a conflict between work that stands so has to be heeded: one of them runs, and the other was not given up. What is
/// over on both sides is history.
pub fn is_pressing(one: Status, other: Status) -> bool {
    let counts = |status: Status| status.is_running() || status == Status::Done;
    (one.is_running() || other.is_running()) && counts(one) && counts(other)
}

fn belongs(task: &Listed, workstream: &Listed) -> bool {
    matches!((&task.workstream, &workstream.id), (Some(of), WorkId::Workstream(id)) if of == id)
}

#[cfg(test)]
mod tests {
    use covenant_model::id::{DeveloperId, WorkstreamId};
    use covenant_model::time::Timestamp;

    use super::*;
    use crate::overlap::ESCALATION;
    use crate::work::Kind;
    use crate::work::Status::{Active, Blocked, Cancelled, Done, Planned};

    fn work(kind: Kind, number: u8, status: Status) -> Listed {
        Listed {
            id: WorkId::from_random(kind, [number; 10]),
            developer: DeveloperId::from_random([0; 10]),
            session: None,
            title: String::new(),
            status,
            task_type: None,
            priority: None,
            workstream: None,
            result_summary: None,
            reason: None,
            started_at: None,
            updated_at: Timestamp::default(),
        }
    }

    fn found(other: &Listed) -> Match<WorkId> {
        Match {
            id: other.id.clone(),
            score: ESCALATION,
            reason: String::new(),
            file_overlap: Vec::new(),
            same_title: false,
            action_divergent: false,
            component_divergent: false,
            low_information: false,
            identifiers_differ: false,
            open: other.status.is_open(),
        }
    }

    #[test]
    fn running_work_conflicts_with_what_runs_or_was_done() {
        for (one, other, pressing) in [
            (Active, Active, true),
            (Active, Blocked, true),
            (Blocked, Done, true),
            (Done, Active, true),
            (Done, Done, false),
            (Active, Planned, false),
            (Active, Cancelled, false),
            (Cancelled, Cancelled, false),
        ] {
            assert_eq!(is_pressing(one, other), pressing, "{one} and {other}");
            let (one, other) = (work(Kind::Task, 1, one), work(Kind::Task, 2, other));
            assert_eq!(conflicts(&one, &other, &found(&other)), pressing);
        }
    }

    #[test]
    fn whatever_speaks_against_a_match_ends_the_conflict() {
        let (one, other) = (work(Kind::Task, 1, Active), work(Kind::Task, 2, Active));
        let changes: [fn(&mut Match<WorkId>); 5] = [
            |found| found.score = ESCALATION - 0.001,
            |found| found.action_divergent = true,
            |found| found.component_divergent = true,
            |found| found.low_information = true,
            |found| found.identifiers_differ = true,
        ];
        for change in changes {
            let mut found = found(&other);
            assert!(conflicts(&one, &other, &found));
            change(&mut found);
            assert!(!conflicts(&one, &other, &found), "{found:?}");
        }
        assert!(!conflicts(&one, &one, &found(&one)), "nothing conflicts with itself");
    }

    #[test]
    fn a_task_does_not_conflict_with_what_it_belongs_to() {
        let stream = work(Kind::Workstream, 1, Active);
        let mut task = work(Kind::Task, 2, Active);
        assert!(conflicts(&task, &stream, &found(&stream)), "with another's it does");
        task.workstream = Some(WorkstreamId::from_random([1; 10]));
        assert!(!conflicts(&task, &stream, &found(&stream)));
        assert!(!conflicts(&stream, &task, &found(&task)));
    }
}
