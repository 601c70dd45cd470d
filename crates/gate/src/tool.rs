//! The one trait behind everything that can be called: native tools, scripts, agents, external servers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use covenant_model::tool::ToolSpec;
use serde_json::value::RawValue;

use crate::answering::Answering;
use crate::arguments::Arguments;
use crate::capability::Permit;
use crate::context::Context;
use crate::output::RawOutput;
use crate::refusal::Refusal;

/// A tool at work.
pub type Run<'a> = Pin<Box<dyn Future<Output = RawOutput> + Send + 'a>>;

/// Something that can be called. Its failures are results ([`RawOutput`] with `isError`), not errors.
pub trait Tool: Send + Sync + 'static {
    /// What the catalogue says of it.
    fn spec(&self) -> ToolSpec;

    /// The same as lists have it, where that was written by someone else and is passed on as it is.
    fn listed(&self) -> Option<Arc<RawValue>> {
        None
    }

    /// The capabilities a caller must hold, each checked and recorded on its own.
    fn required(&self) -> Vec<String> {
        vec![format!("tool.call.{}", self.spec().name)]
    }

    /// What everyone but the operator must hold besides: for agents, leave to send them something at all.
    fn dispatch(&self) -> Option<String> {
        None
    }

    /// What is looked up and recorded for each call, and decides nothing.
    fn optional(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why it takes no call now, if it does not. Asked when everything else allows one, before anything is recorded as begun.
    fn objection(&self) -> Option<Refusal> {
        None
    }

    /// How it answers where a call of it comes to nothing, if it does so itself.
    fn answering(&self) -> Option<Arc<dyn Answering>> {
        None
    }

    /// How audit rows name it.
    fn agent_id(&self) -> String {
        format!("tool:{}", self.spec().name)
    }

    /// What sort of tool it is: `native`, `script`, `external` or `agent`.
    fn kind(&self) -> &'static str {
        "native"
    }

    /// The longest a call may take.
    fn limit(&self) -> Duration {
        Duration::from_mins(10)
    }

    /// Does it. Holding a [`Permit`] means: authenticated, admitted, granted, validated, recorded.
    fn run<'a>(&'a self, permit: Permit, arguments: Arguments, context: &'a Context) -> Run<'a>;
}
