//! What a caller may see and read: lists hold only what the same decision would let it call.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::authenticate::Caller;
use crate::call::Passage;
use crate::call::trail::Trail;
use crate::context::Context;
use crate::gate::Gate;
use crate::limit::Admitted;
use crate::observe::Subject;
use crate::operator::Operator;
use crate::output::{RawOutput, Redacted};
use crate::provider::{NotProvided, Provided, Resources};
use crate::refusal::{CallError, Fault, Refusal};
use crate::registry::HeaderArgument;

/// What there is besides tools. Faces advertise nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one capability of the protocol")]
pub struct Offers {
    /// Some source of resources.
    pub resources: bool,
    /// Some source of prompts.
    pub prompts: bool,
    /// Some source of resources that tells when one changes.
    pub updates: bool,
    /// A source of completions.
    pub completions: bool,
}

impl Gate {
    /// What there is besides tools.
    pub fn offers(&self) -> Offers {
        Offers {
            resources: !self.resources.is_empty(),
            prompts: !self.prompts.is_empty(),
            updates: self.resources.iter().any(|source| source.tells_updates()),
            completions: self.completions.is_some(),
        }
    }

    /// The specs of the tools this caller may call, in the order of names.
    pub fn tools(&self, admitted: &Admitted) -> Vec<Arc<RawValue>> {
        let tools = self.tools.load();
        let mine = tools.entries().filter(|entry| self.shows(admitted.caller(), entry));
        mine.map(|entry| self.shown(&entry.json)).collect()
    }

    /// Which arguments of a tool stand in headers too, if this caller may call it and there are any.
    pub fn header_arguments(&self, admitted: &Admitted, name: &str) -> Vec<HeaderArgument> {
        let tools = self.tools.load();
        let Some(entry) = tools.find(name).filter(|entry| !entry.headers.is_empty()) else {
            return Vec::new();
        };
        if self.shows(admitted.caller(), entry) { entry.headers.to_vec() } else { Vec::new() }
    }

    /// The whole catalogue, for the operator's own views.
    pub fn catalogue(&self, _operator: &Operator) -> Vec<Arc<RawValue>> {
        self.tools.load().entries().map(|entry| self.shown(&entry.json)).collect()
    }

    /// A spec without secrets: a server may have put one into its description.
    fn shown(&self, json: &Arc<RawValue>) -> Arc<RawValue> {
        match self.redactor().redact_json(json.get()) {
            std::borrow::Cow::Borrowed(_) => json.clone(),
            std::borrow::Cow::Owned(text) => {
                RawValue::from_string(text).map_or_else(|_| RawValue::NULL.to_owned().into(), Into::into)
            }
        }
    }

    /// The resources this caller may read.
    pub fn resources(&self, admitted: &Admitted) -> Vec<Value> {
        self.readable(admitted, <dyn Resources>::list)
    }

    /// The templates of resources this caller may read.
    pub fn resource_templates(&self, admitted: &Admitted) -> Vec<Value> {
        self.readable(admitted, <dyn Resources>::templates)
    }

    fn readable(&self, admitted: &Admitted, list: impl Fn(&dyn Resources) -> Vec<Value>) -> Vec<Value> {
        let redactor = self.redactor();
        let may = |source: &str| self.foresees(admitted.caller(), &format!("tool.resource.{source}"));
        let mine = self.resources.iter().filter(|source| may(source.name()));
        let mut listed: Vec<Value> = mine.flat_map(|source| list(source.as_ref())).collect();
        for value in &mut listed {
            redactor.redact_value(value);
        }
        listed
    }

    /// Whether this caller may follow that resource: it is there, tells of changes, and may be read.
    pub fn may_follow(&self, admitted: &Admitted, uri: &str) -> Result<(), Refusal> {
        let sources = self.resources.iter().filter(|source| source.tells_updates());
        let Some(source) = sources.into_iter().find(|source| source.serves(uri)) else {
            return Err(Refusal::NotFound { what: self.shortened(&format!("resource `{uri}` to follow")) });
        };
        let (principal, action) = (admitted.caller().principal(), format!("tool.resource.{}", source.name()));
        if self.foresees(admitted.caller(), &action) {
            return Ok(());
        }
        Err(Refusal::NotGranted { action, principal: principal.clone(), why: String::new() })
    }

    /// The prompts this caller may get.
    pub fn prompts(&self, admitted: &Admitted) -> Vec<Value> {
        let redactor = self.redactor();
        let all = self.prompts.iter().flat_map(|source| source.list());
        let mut listed: Vec<Value> = all
            .filter(|prompt| {
                let name = prompt.get("name").and_then(Value::as_str).unwrap_or_default();
                self.foresees(admitted.caller(), &format!("tool.prompt.{name}"))
            })
            .collect();
        for value in &mut listed {
            redactor.redact_value(value);
        }
        listed
    }

    /// Reads a resource: checked, recorded and redacted as a call is.
    pub async fn read_resource(
        &self,
        admitted: Admitted,
        uri: &str,
        context: Context,
    ) -> Result<Redacted, CallError> {
        let Some(source) = self.resources.iter().find(|source| source.serves(uri)) else {
            return Err(self.missing(&format!("resource `{uri}`")));
        };
        let name = source.name();
        let asked = Asked::new(format!("resource:{name}"), format!("tool.resource.{name}")).of("uri", uri);
        let trail = Trail::begin(self, admitted.caller(), &asked.agent_id, &context)?.of(Subject::RESOURCE);
        let mut context =
            context.traced(trail.trace()).inside(trail.call(), self.redactor(), self.seat(admitted.caller()));
        let caller = admitted.caller();
        self.provide(caller, &asked, trail, &mut context, |context| source.read(uri, context)).await
    }

    /// Gets a prompt: checked, recorded and redacted as a call is.
    pub async fn get_prompt(
        &self,
        admitted: Admitted,
        name: &str,
        arguments: Map<String, Value>,
        context: Context,
    ) -> Result<Redacted, CallError> {
        let named = |prompt: &Value| prompt.get("name").and_then(Value::as_str) == Some(name);
        let Some(source) = self.prompts.iter().find(|source| source.list().iter().any(named)) else {
            return Err(self.missing(&format!("prompt `{name}`")));
        };
        let mut asked = Asked::new(format!("prompt:{name}"), format!("tool.prompt.{name}"));
        asked.arguments.clone_from(&arguments);
        let trail = Trail::begin(self, admitted.caller(), &asked.agent_id, &context)?.of(Subject::PROMPT);
        let mut context =
            context.traced(trail.trace()).inside(trail.call(), self.redactor(), self.seat(admitted.caller()));
        let caller = admitted.caller();
        self.provide(caller, &asked, trail, &mut context, |context| source.get(name, &arguments, context))
            .await
    }

    /// Completes an argument; who may use what the reference names may complete it.
    pub async fn complete(
        &self,
        admitted: Admitted,
        params: Map<String, Value>,
        context: Context,
    ) -> Result<Redacted, CallError> {
        let Some(source) = &self.completions else { return Err(self.missing("completion")) };
        let reference = params.get("ref");
        let text =
            |member: &str| reference.and_then(|r| r.get(member)).and_then(Value::as_str).unwrap_or_default();
        let (uri, name) = (text("uri"), text("name"));
        let mut asked = if text("type") == "ref/prompt" {
            let named = |prompt: &Value| prompt.get("name").and_then(Value::as_str) == Some(name);
            if !self.prompts.iter().any(|source| source.list().iter().any(named)) {
                return Err(self.missing(&format!("prompt `{name}`")));
            }
            Asked::new(format!("prompt:{name}"), format!("tool.prompt.{name}"))
        } else {
            let Some(server) = self.resources.iter().find(|source| source.serves(uri)) else {
                return Err(self.missing(&format!("resource `{uri}`")));
            };
            Asked::new(format!("resource:{}", server.name()), format!("tool.resource.{}", server.name()))
        };
        asked.arguments.clone_from(&params);
        let trail = Trail::begin(self, admitted.caller(), &asked.agent_id, &context)?.of(Subject::COMPLETION);
        let mut context =
            context.traced(trail.trace()).inside(trail.call(), self.redactor(), self.seat(admitted.caller()));
        let caller = admitted.caller();
        self.provide(caller, &asked, trail, &mut context, |context| source.complete(&params, context)).await
    }

    /// The path of what is no tool: the same as a tool's, but for look-up and schema.
    async fn provide<'c>(
        &'c self,
        caller: &Caller,
        asked: &'c Asked,
        mut trail: Trail<'c>,
        context: &'c mut Context,
        work: impl FnOnce(&'c Context) -> Provided<'c>,
    ) -> Result<Redacted, CallError> {
        let cleared = match self.clear(caller, &[&asked.action], &asked.arguments, &mut trail).await {
            Ok(cleared) => cleared,
            Err(error) => return Err(trail.refused(error).await),
        };
        let (digest, whole) = self.digests_of(&asked.arguments);
        if let Err(refusal) = self.resume(caller, &asked.agent_id, (whole, &[]), context) {
            cleared.give_back().await;
            return Err(trail.refused(refusal.into()).await);
        }
        let passage = Passage { trail, cleared, digest, tool: &asked.agent_id, whole, definition: &[] };
        let passage = match self.consent(passage, caller, &asked.arguments, context).await {
            ControlFlow::Continue(passage) => passage,
            ControlFlow::Break(answer) => return answer,
        };
        self.pass(passage, context, |_permit, context| {
            let provided = work(context);
            Box::pin(async move {
                match provided.await {
                    Ok(members) => Ok(RawOutput::members(members)),
                    Err(NotProvided::Unanswered(unanswered)) => Ok(unanswered.into()),
                    Err(why) => Err(self.not_provided(&why, context)),
                }
            })
        })
        .await
    }

    fn not_provided(&self, why: &NotProvided, context: &Context) -> CallError {
        match why {
            NotProvided::NotFound(what) => {
                Refusal::NotFound { what: self.shortened(&context.redacted(what)) }.into()
            }
            NotProvided::Unanswered(_) => Fault::new("a question was left open", "unanswered").into(),
            NotProvided::Failed(why) => {
                let why = self.redactor().shown(&context.redacted(why), 1000);
                Fault::new(why, "the provider failed").into()
            }
        }
    }

    /// There is none, and there is no call to record.
    fn missing(&self, what: &str) -> CallError {
        let refusal = Refusal::NotFound { what: self.shortened(what) };
        self.count_refusal(&refusal);
        refusal.into()
    }

    fn shortened(&self, what: &str) -> String {
        self.redactor().shown(what, 200)
    }
}

/// What is asked of a provider, as grants and the log name it.
struct Asked {
    agent_id: String,
    action: String,
    arguments: Map<String, Value>,
}

impl Asked {
    fn new(agent_id: String, action: String) -> Self {
        Self { agent_id, action, arguments: Map::new() }
    }

    fn of(mut self, member: &str, value: &str) -> Self {
        self.arguments.insert(member.to_owned(), value.into());
        self
    }
}
