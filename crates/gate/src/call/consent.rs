//! The step at which a person may have to be asked: after it the call goes on, or is answered without having started.

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use super::Passage;
use crate::approval::{Approved, CallInQuestion};
use crate::authenticate::Caller;
use crate::context::Context;
use crate::gate::Gate;
use crate::inquiry::{Unanswered, Why};
use crate::output::Redacted;
use crate::refusal::CallError;

/// What a call is answered with.
type Answer = Result<Redacted, CallError>;

impl Gate {
    /// Lets a call on that needs no person's approval, or has it.
    pub(crate) async fn consent<'p>(
        &self,
        passage: Passage<'p>,
        caller: &Caller,
        arguments: &Map<String, Value>,
        context: &Context,
    ) -> ControlFlow<Answer, Passage<'p>> {
        let (error, asked) = match self.asked(&passage, caller, arguments, context).await {
            Ok(Approved::Now) => return ControlFlow::Continue(passage),
            Ok(Approved::Later(pending)) => {
                let bound = passage.trail.bound(passage.whole, passage.definition);
                match self.pause(passage.tool, Unanswered::because(Why::Later), &bound, context) {
                    Ok(asked) => (pending.into(), Some(asked)),
                    Err(error) => (error, None),
                }
            }
            Err(error) => (error, None),
        };
        passage.cleared.give_back().await;
        ControlFlow::Break(match (passage.trail.refused(error).await, asked) {
            // For the log it is refused until its client comes again.
            (CallError::Refused(_), Some(asked)) => Ok(asked),
            (error, _) => Err(error),
        })
    }

    async fn asked(
        &self,
        passage: &Passage<'_>,
        caller: &Caller,
        arguments: &Map<String, Value>,
        context: &Context,
    ) -> Result<Approved, CallError> {
        self.heed(caller, context).await?;
        let Some(grant) = passage.cleared.asking() else { return Ok(Approved::Now) };
        let call = CallInQuestion { tool: passage.tool, definition: passage.definition, arguments };
        self.approved(caller, grant, call, context).await
    }
}
