//! The arguments of `covibe_coordination`, and how what several operations take is read.

use covenant_model::id::{AgentSessionId, AskId, ClaimId, ContextId, TaskId, WorkstreamId};
use serde::Deserialize;

use super::{CoordinationOperation, Invalid, bounds, texts};
use crate::pattern::Pattern;
use crate::rules::lease;

/// The arguments of `covibe_coordination`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "named as on the wire; the schemas describe each")]
pub struct CoordinationInput {
    pub operation: CoordinationOperation,
    pub session_id: Option<AgentSessionId>,
    pub message: Option<String>,
    pub to: Option<String>,
    pub paths: Option<Vec<String>>,
    pub repo: Option<String>,
    pub ttl_minutes: Option<u64>,
    pub claim_id: Option<ClaimId>,
    pub ask_id: Option<AskId>,
    pub task_id: Option<TaskId>,
    pub workstream_id: Option<WorkstreamId>,
    pub context_id: Option<ContextId>,
    pub limit: Option<u64>,
    pub unread_only: Option<bool>,
}

/// A path or glob as it was written, and what it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) path: String,
    pub(crate) covers: Pattern,
}

impl CoordinationInput {
    /// What is said.
    pub(crate) fn said(&self) -> Result<String, Invalid> {
        texts::required("message", self.message.as_ref(), bounds::MESSAGE)
    }

    /// What is said, if something is.
    pub(crate) fn remark(&self) -> Result<Option<String>, Invalid> {
        texts::optional("message", self.message.as_ref(), bounds::MESSAGE)
    }

    /// The handle it is addressed to, if one is given. A blank one is nobody, and not everybody.
    pub(crate) fn addressee(&self) -> Result<Option<String>, Invalid> {
        match &self.to {
            None => Ok(None),
            Some(to) => texts::required("to", Some(to), bounds::HANDLE).map(Some),
        }
    }

    /// The repository, or nothing.
    pub(crate) fn place(&self) -> Result<String, Invalid> {
        Ok(texts::sought("repo", self.repo.as_ref(), bounds::PATH)?.unwrap_or_default())
    }

    /// The paths, each once, at least one.
    pub(crate) fn wanted(&self) -> Result<Vec<Wanted>, Invalid> {
        let paths = texts::paths("paths", self.paths.as_ref(), bounds::CLAIM_PATHS)?;
        if paths.is_empty() {
            return Err(Invalid::new("paths", "is required and may not be empty"));
        }
        let read = |(at, path): (usize, String)| match Pattern::read(&path) {
            Ok(covers) => Ok(Wanted { path, covers }),
            Err(reason) => Err(Invalid::new(format!("paths[{at}]"), reason)),
        };
        paths.into_iter().enumerate().map(read).collect()
    }

    /// For how long, in minutes.
    pub(crate) fn minutes(&self) -> Result<u64, Invalid> {
        let most = bounds::TTL_MINUTES;
        let minutes = self.ttl_minutes.unwrap_or(lease::MINUTES);
        if !(1..=most).contains(&minutes) {
            return Err(Invalid::new("ttl_minutes", format!("is a whole number from 1 to {most}")));
        }
        Ok(minutes)
    }
}
