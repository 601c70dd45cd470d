//! How work may go on from how it stands: which step leads where, which one is made already, and which cannot be made.

use crate::work::{Kind, Status};

/// What becomes of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It leads there.
    To(Status),
    /// It was made before: nothing changes.
    Already,
    /// It cannot be made: what to do instead.
    No(&'static str),
}

/// Starting what was planned.
pub fn start_planned(status: Status) -> Step {
    match status {
        Status::Planned => Step::To(Status::Active),
        Status::Active | Status::Blocked => Step::Already,
        Status::Done | Status::Cancelled => Step::No("Plan or start new work; what is over stays over."),
    }
}

/// Saying that running work goes on, or is stuck.
pub fn update(status: Status, wanted: Status) -> Step {
    match (status, wanted) {
        (Status::Planned, _) => {
            Step::No("Start it with operation \"start_planned\"; until then it stays planned.")
        }
        (Status::Done | Status::Cancelled, _) => {
            Step::No("Plan or start new work; what is over cannot be reopened.")
        }
        (_, Status::Done) => Step::No("Finish it with operation \"complete\" and a result_summary."),
        (_, Status::Cancelled) => Step::No("Give it up with operation \"cancel\" and a reason."),
        (_, Status::Planned) => Step::No("Work that was started does not become planned again."),
        (now, wanted) if now == wanted => Step::Already,
        (_, wanted) => Step::To(wanted),
    }
}

/// Finishing.
pub fn complete(status: Status) -> Step {
    match status {
        Status::Active | Status::Blocked => Step::To(Status::Done),
        Status::Done => Step::Already,
        Status::Planned => Step::No("Start it first with operation \"start_planned\", or cancel it."),
        Status::Cancelled => Step::No("It was cancelled; plan or start new work."),
    }
}

/// Giving up.
pub fn cancel(kind: Kind, status: Status) -> Step {
    match (kind, status) {
        (_, Status::Cancelled) => Step::Already,
        (_, Status::Planned) | (Kind::Task, Status::Active | Status::Blocked) => Step::To(Status::Cancelled),
        (Kind::Workstream, Status::Active | Status::Blocked) => {
            Step::No("A workstream that was started is finished with operation \"complete\".")
        }
        (_, Status::Done) => Step::No("It is done; there is nothing to give up."),
    }
}

#[cfg(test)]
mod tests {
    use Status::{Active, Blocked, Cancelled, Done, Planned};

    use super::*;

    const NO: Step = Step::No("");

    /// The same, whatever the words.
    fn bare(step: Step) -> Step {
        if let Step::No(_) = step { NO } else { step }
    }

    #[test]
    fn every_step_from_every_standing() {
        let table = [
            // status, start_planned, complete, cancel a task, cancel a workstream
            (Planned, Step::To(Active), NO, Step::To(Cancelled), Step::To(Cancelled)),
            (Active, Step::Already, Step::To(Done), Step::To(Cancelled), NO),
            (Blocked, Step::Already, Step::To(Done), Step::To(Cancelled), NO),
            (Done, NO, Step::Already, NO, NO),
            (Cancelled, NO, NO, Step::Already, Step::Already),
        ];
        for (status, starts, completes, task, workstream) in table {
            assert_eq!(bare(start_planned(status)), starts, "start_planned of {status}");
            assert_eq!(bare(complete(status)), completes, "complete of {status}");
            assert_eq!(bare(cancel(Kind::Task, status)), task, "cancel of a {status} task");
            assert_eq!(bare(cancel(Kind::Workstream, status)), workstream, "cancel of a {status} workstream");
        }
    }

    #[test]
    fn an_update_moves_running_work_between_active_and_blocked_alone() {
        for status in Status::ALL {
            for wanted in Status::ALL {
                let expected = match (status, wanted) {
                    (Active, Blocked) | (Blocked, Active) => Step::To(*wanted),
                    (Active, Active) | (Blocked, Blocked) => Step::Already,
                    _ => NO,
                };
                assert_eq!(bare(update(*status, *wanted)), expected, "{status} to {wanted}");
            }
        }
    }
}
