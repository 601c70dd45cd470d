//! The tools by which agents of a team keep out of each other's way. What they do is decided in `team`; here they are offered,
//! and every answer is an envelope, also where the gate says no.

mod account;
mod told;

use std::sync::Arc;

use covenant_gate::answering::{Answering, Unserved};
use covenant_gate::arguments::Arguments;
use covenant_gate::ports::Answer;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Fault, Permit, RawOutput, Tool};
use covenant_model::envelope::{Envelope, Status};
use covenant_model::id::AgentSessionId;
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_model::tool::{ToolCallResult, ToolSpec};
use covenant_team::event;
use covenant_team::input::{self, Call};
use covenant_team::{Outcome, Request};
use serde_json::{Map, Value, json};

pub use account::Account;
pub use told::refused;

/// What every tool of a team is called by, in the beginning.
pub const PREFIX: &str = "covibe_";

/// Where the work of teams is kept.
pub trait Records: Send + Sync {
    /// Performs a call, and writes down that it was made.
    fn perform(&self, request: Request) -> Answer<'_, Outcome>;
    /// Writes down that a call was made which came to nothing.
    fn unserved(&self, principal: Option<Principal>, call: event::Unserved, at: Timestamp) -> Answer<'_, ()>;
}

/// All of them, with the account of what comes to nothing of their calls.
pub fn all(account: &Arc<Account>) -> Vec<Arc<dyn Tool>> {
    let made = |tool| Arc::new(TeamTool { tool, account: Arc::clone(account) }) as Arc<dyn Tool>;
    input::Tool::ALL.into_iter().map(made).collect()
}

/// One of them.
struct TeamTool {
    tool: input::Tool,
    account: Arc<Account>,
}

impl Tool for TeamTool {
    fn spec(&self) -> ToolSpec {
        let schema = Value::Object(input::schema(self.tool));
        ToolSpec::new(named(self.tool), about(self.tool), schema)
            .with("outputSchema", answer_schema())
            .with("annotations", annotations())
    }

    fn answering(&self) -> Option<Arc<dyn Answering>> {
        Some(Arc::clone(&self.account) as Arc<dyn Answering>)
    }

    fn run<'a>(&'a self, permit: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        let (account, tool) = (Arc::clone(&self.account), self.tool);
        let mut arguments = Value::Object(arguments.into_map());
        // What is kept is read by teammates and is in backups, long after anybody knows that it was a secret.
        context.redact(&mut arguments);
        // What was begun is finished and written down, whether or not somebody still waits for it.
        let done = tokio::spawn(seen_through(account, tool, permit, arguments));
        Box::pin(async move { written(&done.await.unwrap_or_else(|_| broken())) })
    }
}

/// Performs a call; one that breaks on the way is written down too.
async fn seen_through(
    account: Arc<Account>,
    tool: input::Tool,
    permit: Permit,
    arguments: Value,
) -> Envelope {
    let Value::Object(arguments) = arguments else { return broken() };
    let (name, principal) = (tool.call(&arguments), permit.issuer().clone());
    let by = Arc::clone(&account);
    // A task of its own, so that a panic in it is an answer here.
    let performed = tokio::spawn(async move { perform(&by, tool, &permit, arguments).await }).await;
    match performed {
        Ok(envelope) => envelope,
        Err(error) => {
            tracing::error!(tool.name = tool.name(), "a call was not seen to its end: {error}");
            account.broke(principal, name).await;
            broken()
        }
    }
}

async fn perform(
    account: &Arc<Account>,
    tool: input::Tool,
    permit: &Permit,
    arguments: Map<String, Value>,
) -> Envelope {
    let (name, session) = (tool.call(&arguments), session(&arguments));
    let call = match Call::read(tool, arguments) {
        Ok(call) => call,
        Err(invalid) => {
            let call = event::Unserved {
                call: name,
                status: Status::Error,
                code: "invalid_arguments",
                session,
                details: Map::new(),
            };
            account.note(Some(permit.issuer().clone()), call).await;
            return told::invalid(&invalid);
        }
    };
    let request = Request {
        // A run is nobody of a team itself: it works as whoever sent it, in their workspace.
        principal: permit.issuer().clone(),
        agent_type: permit.badge().agent_type,
        call,
        now: account.now(),
    };
    match account.records().perform(request).await {
        Ok(outcome) => outcome.envelope,
        Err(fault) => {
            tracing::error!(tool.name = tool.name(), cause = fault.cause(), "{fault}");
            account.broke(permit.issuer().clone(), name).await;
            told::fault(&fault)
        }
    }
}

impl Answering for Account {
    fn unserved<'a>(&'a self, call: Unserved<'a>) -> Run<'a> {
        Box::pin(async move {
            let (envelope, code) = told::of(call.error);
            if !call.began {
                let tool = input::Tool::ALL.into_iter().find(|tool| tool.name() == call.name);
                let name = match tool {
                    Some(tool) => tool.call(call.arguments),
                    None => call.name.chars().take(64).collect(),
                };
                let status = envelope.status;
                let details = Map::new();
                let session = session(call.arguments);
                let note = event::Unserved { call: name, status, code, session, details };
                self.note(call.principal.cloned(), note).await;
            }
            written(&envelope)
        })
    }

    fn is_for(&self, name: &str) -> bool {
        name.starts_with(PREFIX)
    }
}

/// The session that arguments name, whatever else is wrong with them.
fn session(arguments: &serde_json::Map<String, Value>) -> Option<AgentSessionId> {
    arguments.get("session_id")?.as_str()?.parse().ok()
}

/// An envelope as a tool's result.
fn written(envelope: &Envelope) -> RawOutput {
    let mut result = ToolCallResult::text(envelope.to_text()).with_structured(envelope.to_value());
    result.is_error = envelope.status.is_error();
    result.into()
}

fn broken() -> Envelope {
    told::fault(&Fault::new("the call was not seen to its end", "its task ended"))
}

#[expect(clippy::expect_used, reason = "the names are literals, and a test makes every tool")]
fn named(tool: input::Tool) -> covenant_model::tool::ToolName {
    tool.name().parse().expect("a tool of a team has a sound name")
}

fn about(tool: input::Tool) -> &'static str {
    match tool {
        input::Tool::Task => {
            "Log what you work on, so that no teammate's agent does the same. Before starting anything call \
             operation \"check\" with the title, then \"start\" with the same title; finish with \"complete\"."
        }
        input::Tool::Workstream => {
            "Log a larger piece of work that several tasks belong to: check, plan, start, update, complete or cancel it."
        }
        input::Tool::Session => {
            "Say that you are at work: start a session and pass its session_id to the other tools, heartbeat, submit \
             snapshots of the repository (names and hashes, never contents), publish where you stand, and end it."
        }
        input::Tool::Note => "Record a decision, or a blocker, and what task or workstream it is about.",
        input::Tool::Team => {
            "Ask about the team: its state and what you should do next, the warnings and blocks you were given lately, \
             which running work is done twice, and a summary of the last 7 days."
        }
        input::Tool::Warning => {
            "Put a warning about overlapping work aside, with a reason. It opens no start: candidates are judged with \
             scope_verdict when the work starts."
        }
        input::Tool::Coordination => {
            "Keep out of teammates' way and talk to them: claim paths before you change them and release them after, \
             announce, ask and reply, hand work off with your context, check who works on paths, read your inbox."
        }
    }
}

/// Every one of them writes something down that others read.
fn annotations() -> Value {
    json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false })
}

fn answer_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": { "type": "string", "enum": ["ok", "warning", "blocked", "error"] },
            "message": { "type": "string" },
            "feedback": {
                "type": "object",
                "properties": {
                    "type": { "type": "string", "enum": ["info", "warning", "block", "error"] },
                    "required_action": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                },
                "required": ["type", "required_action"],
            },
            "data": { "type": "object" },
        },
        "required": ["status", "message", "feedback", "data"],
    })
}
