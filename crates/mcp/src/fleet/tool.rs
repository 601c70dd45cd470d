//! A tool of an external server as the gate has it: listed as its server wrote it but for the name, run on its server.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::registry::HeaderArgument;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::tool::{ToolName, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::server::Server;

/// How much later than our own sentence the gate's comes.
const MARGIN: Duration = Duration::from_secs(5);

/// A tool of an external server.
pub(super) struct ExternalTool {
    /// Whose it is.
    pub(super) server: Arc<Server>,
    /// What its server calls it.
    pub(super) own: String,
    /// What it is called here.
    pub(super) name: ToolName,
    /// What lists say of it.
    pub(super) json: Arc<RawValue>,
    /// Which of its arguments stand in headers too.
    pub(super) headers: Box<[HeaderArgument]>,
    /// Whether a call that may have been done can be made again.
    pub(super) repeatable: bool,
}

impl Tool for ExternalTool {
    fn spec(&self) -> ToolSpec {
        let mut extra: Map<String, Value> = serde_json::from_str(self.json.get()).unwrap_or_default();
        extra.remove("name");
        let input_schema = extra.remove("inputSchema").unwrap_or_else(|| json!({"type": "object"}));
        let description = match extra.remove("description") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        ToolSpec { name: self.name.clone(), description, input_schema, extra }
    }

    fn listed(&self) -> Option<Arc<RawValue>> {
        Some(Arc::clone(&self.json))
    }

    fn required(&self) -> Vec<String> {
        vec![format!("tool.call.{}", self.name)]
    }

    fn agent_id(&self) -> String {
        format!("tool:{}", self.name)
    }

    fn kind(&self) -> &'static str {
        "external"
    }

    fn limit(&self) -> Duration {
        let plan = &self.server.plan;
        // A call may wait for its turn and for its server first, and each of these has a sentence of its own.
        [plan.call_timeout, plan.start_timeout, plan.list_timeout, plan.start_timeout, MARGIN]
            .into_iter()
            .fold(plan.call_total, Duration::saturating_add)
    }

    fn run<'a>(&'a self, permit: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move { self.server.call(self, permit.principal(), arguments.as_map(), context).await })
    }
}
