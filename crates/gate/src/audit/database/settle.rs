//! What became of a commit that failed: it may have happened all the same. The database is asked where the chain ends
//! before anything else is written, and there is the answer.

use covenant_model::audit::{Chain, Decision, Event, Kind, OWN};

use super::super::claim::Owing as _;
use super::super::replay::Damage;
use super::end::Step;
use super::task::Task;
use super::{Lasts, Trouble, open};
use crate::ports::Answer;
use crate::refusal::Fault;

/// Why a call never ran whose row was kept after all.
const LATE: &str = "the database did not confirm this row in time, so the call did not run";

impl Task {
    /// Asks the database where the chain ends; which of the steps in doubt happened.
    pub(super) async fn settle(&mut self) -> Result<Option<Step>, Trouble> {
        let ends = self.answered(self.shared.store.ends()).await?;
        let stays = |told: String| Trouble { cause: told.clone(), told, lasts: Lasts::Stays };
        let found = open::end_of(&ends).map_err(|Damage { row, reason }| {
            stays(format!("the log in the database is damaged at row {row}: {reason}; restart the daemon"))
        })?;
        let settled = self.end.settle(found).ok_or_else(|| stays(strange(&self.end.chain(), &found)))?;
        self.shared.inbox.lock().queue.put_back(settled.owed.into_iter());
        // They came back after this round had taken what waits: the next one begins at once.
        self.shared.wake.notify_one();
        Ok(settled.happened)
    }

    /// Rows are there of which their callers were told that they are not.
    pub(super) fn came_late(&self, step: &Step) {
        for (seq, body) in &step.starts {
            self.shared.never_ran(body, *seq, LATE);
        }
        let reason = format!(
            "rows {} to {} were kept although the database did not confirm them in time: what they announce was not done",
            step.first,
            step.chain.last()
        );
        let event =
            Event { reason: Some(&reason), ..Event::new(OWN, OWN, Kind::LogRecovered, Decision::Done) };
        self.shared.owe_event(event);
    }

    pub(super) async fn answered<T>(&self, answer: Answer<'_, T>) -> Result<T, Trouble> {
        let patience = self.shared.limits.patience;
        let passes = |fault: Fault| Trouble {
            told: fault.to_string(),
            cause: fault.cause().to_owned(),
            lasts: Lasts::Passes,
        };
        let Ok(answered) = tokio::time::timeout(patience, answer).await else {
            let told = format!("the database has not answered for {} s", patience.as_secs());
            return Err(Trouble { cause: told.clone(), told, lasts: Lasts::Passes });
        };
        answered.map_err(passes)
    }
}

/// The database ends where neither we nor our last rows do.
fn strange(ours: &Chain, theirs: &Chain) -> String {
    let (ours, theirs) = (ours.last(), theirs.last());
    if theirs < ours {
        return format!(
            "the database has lost rows that it had kept: it ends with row {theirs}, and row {ours} was committed. \
             Find out why, then restart the daemon"
        );
    }
    format!(
        "another process writes this home's chain: the database ends with row {theirs}, and we wrote up to row {ours}. \
         Two daemons must not share one identity/: stop the other one, then restart this one"
    )
}
