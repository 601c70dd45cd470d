//! A directory kept in step with its git remote. A local edit is never lost: nothing is reset, nothing is checked out over
//! changes, and what conflicts is left as it was and told.
//!
//! What lies in the directory is data: hooks and watchers that a repository names are not started.

mod run;
mod sync;
mod trouble;

pub use run::{Program, Ran, Runs};
pub use trouble::Trouble;

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// How often is asked for news, and how seldom at least where that fails again and again.
const OFTEN: Duration = Duration::from_secs(30);
const SELDOM: Duration = Duration::from_mins(10);

/// A directory and its remote.
pub struct Git {
    runs: Box<dyn Runs>,
    /// Held by whoever changes the directory.
    pace: Mutex<Pace>,
}

/// When the remote is asked again.
struct Pace {
    asked: Option<Instant>,
    patience: Duration,
    trouble: Option<Trouble>,
}

impl Git {
    /// The directory in which git is run so.
    pub fn new(runs: Box<dyn Runs>) -> Self {
        Self { runs, pace: Mutex::new(Pace { asked: None, patience: OFTEN, trouble: None }) }
    }

    /// Brings what is new at the remote, if nobody asked for a while; tells what stands in the way. While somebody else is at
    /// work there, nobody is waited for.
    pub async fn freshen(&self) -> Option<Trouble> {
        let mut pace = self.pace.try_lock().ok()?;
        if pace.asked.is_some_and(|asked| asked.elapsed() < pace.patience) {
            return pace.trouble.clone();
        }
        let done = sync::bring(&*self.runs).await.err();
        pace.heard(done.clone());
        done
    }

    /// Does something to the file at that path, and then commits and pushes that file alone. `Err` holds what was done and
    /// what stood in the way of the rest.
    pub async fn publish<T, E>(
        &self,
        path: &str,
        message: &str,
        act: impl Future<Output = Result<T, E>>,
    ) -> Result<(T, Option<Trouble>), E> {
        let mut pace = self.pace.lock().await;
        let done = act.await?;
        let trouble = sync::send(&*self.runs, path, message).await.err();
        pace.heard(trouble.clone());
        Ok((done, trouble))
    }
}

impl Pace {
    fn heard(&mut self, trouble: Option<Trouble>) {
        self.asked = Some(Instant::now());
        self.patience = if trouble.is_none() { OFTEN } else { (self.patience * 2).min(SELDOM) };
        self.trouble = trouble;
    }
}

#[cfg(test)]
mod tests;
