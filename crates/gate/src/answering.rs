//! Tools that answer for themselves: what they say where a call of theirs comes to nothing is theirs, and a `token` among their
//! arguments says on whose behalf they are called.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use covenant_model::principal::Principal;
use serde_json::{Map, Value};

use crate::authenticate::{Caller, Credential};
use crate::call::CallRequest;
use crate::call::trail::Trail;
use crate::context::Context;
use crate::gate::Gate;
use crate::observe::Subject;
use crate::output::{self, Redacted};
use crate::refusal::{CallError, Refusal};
use crate::registry::Entry;
use crate::tool::Run;

/// The argument that says on whose behalf.
const TOKEN: &str = "token";

/// A call that came to nothing.
#[derive(Debug, Clone, Copy)]
pub struct Unserved<'r> {
    /// On whose behalf it was called, as a permit would say it; nobody, where the token that was shown is nobody's.
    pub principal: Option<&'r Principal>,
    /// The tool that was called, as the caller wrote it.
    pub name: &'r str,
    /// With which arguments, without a token.
    pub arguments: &'r Map<String, Value>,
    /// Why it came to nothing.
    pub error: &'r CallError,
    /// Whether the tool was at work already: then it knows of the call.
    pub began: bool,
}

/// How such a tool answers.
pub trait Answering: Send + Sync {
    /// What is said of a call that came to nothing.
    fn unserved<'a>(&'a self, call: Unserved<'a>) -> Run<'a>;
    /// Whether a call of a tool that does not exist is its matter too. What it says of it goes nowhere.
    fn is_for(&self, name: &str) -> bool;
}

impl Gate {
    /// The call of a tool that answers for itself.
    pub(crate) async fn answer(
        &self,
        answering: &Arc<dyn Answering>,
        caller: &Caller,
        entry: &Arc<Entry>,
        mut request: CallRequest,
        context: Context,
    ) -> Result<Redacted, CallError> {
        let began = AtomicBool::new(false);
        let speaker = self.speaker(caller, entry.spec.name.as_str(), &mut request.arguments);
        // What is said of a call that came to nothing may name what was wrong with it.
        let (name, arguments) = (request.name.clone(), request.arguments.clone());
        let (result, principal) = match &speaker {
            Ok(speaker) => {
                let speaker = speaker.as_ref().unwrap_or(caller);
                (self.through(speaker, entry, request, context, Some(&began)).await, Some(speaker.issuer()))
            }
            Err((refusal, who)) => {
                let error = self.turned_away(caller, entry, refusal.clone(), &context).await;
                (Err(error), who.as_ref())
            }
        };
        let error = match result {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        let began = began.load(Ordering::Acquire);
        let call = Unserved { principal, name: &name, arguments: &arguments, error: &error, began };
        let said = answering.unserved(call).await;
        let said = output::redact(said, [&*self.redactor()], self.config().output_bytes)?;
        Ok(match &error {
            CallError::Refused(refusal) => said.instead_of(refusal.clone()),
            CallError::Fault(_) => said,
        })
    }

    /// Writes down, of whoever showed it, that a token was of no use: whom it speaks for is not known, or not to be heard.
    async fn turned_away(
        &self,
        caller: &Caller,
        entry: &Entry,
        refusal: Refusal,
        context: &Context,
    ) -> CallError {
        match Trail::begin(self, caller, &entry.agent_id, context) {
            Ok(trail) => trail.of(Subject::tool(entry)).refused(refusal.into()).await,
            Err(fault) => fault.into(),
        }
    }

    /// Whom a token among the arguments speaks for, if there is one. It is taken out: nobody else has to see it.
    ///
    /// A run of an agent has what its mandate names and nothing else, whatever tokens it comes across: one that it was
    /// slipped would carry what it knows to somebody else.
    fn speaker(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: &mut Map<String, Value>,
    ) -> Result<Option<Caller>, (Refusal, Option<Principal>)> {
        let unfit = |reason: &str| {
            let refusal = Refusal::InvalidArguments { tool: tool.to_owned(), reason: reason.to_owned() };
            Err((refusal, Some(caller.issuer().clone())))
        };
        let token = match arguments.remove(TOKEN) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(_)) if caller.mandate().is_some() => {
                return unfit("`token` is not for runs of agents, who speak for themselves: leave it out");
            }
            Some(Value::String(token)) => token,
            Some(_) => return unfit("`token` is not a text"),
        };
        let speaker = self.authenticate(&Credential::bearer(&token)).map_err(|refusal| (refusal, None))?;
        if !Arc::ptr_eq(&speaker.bucket, &caller.bucket) {
            self.admit(&speaker).map_err(|refusal| (refusal, Some(speaker.issuer().clone())))?;
        }
        Ok(Some(speaker.spoken_for()))
    }

    /// Lets the tool it was meant for know of a call that was refused before anything was looked up; nobody waits for that.
    pub fn missed(&self, caller: Option<&Caller>, name: &str, refusal: Refusal) {
        let tools = self.tools.load();
        let answering = match tools.find(name) {
            Some(entry) => entry.answering.clone(),
            None => tools.answering(name),
        };
        let Some(answering) = answering else { return };
        let principal = caller.map(|caller| caller.issuer().clone());
        // It is written down as the caller wrote it.
        let (name, error) = (self.redactor().shown(name, 64), CallError::Refused(refusal));
        tokio::spawn(async move {
            let arguments = Map::new();
            let principal = principal.as_ref();
            let call =
                Unserved { principal, name: &name, arguments: &arguments, error: &error, began: false };
            answering.unserved(call).await;
        });
    }
}
