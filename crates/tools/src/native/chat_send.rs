//! `chat_send`: tells a person something, where people are.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, RawOutput, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::json;

use super::{Absent, Parts, named};
use crate::chat::{LONGEST, Outlets, Sender};

struct ChatSend {
    outlets: Outlets,
}

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    let outlets = Outlets::of(parts).map_err(|reason| Absent { name: "chat_send", reason })?;
    Ok(Arc::new(ChatSend { outlets }))
}

impl Tool for ChatSend {
    fn spec(&self) -> ToolSpec {
        let providers = self.outlets.active().join(", ");
        let schema = json!({
            "type": "object",
            "properties": {
                "provider": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 64,
                    "description": format!("Which way the message goes, by its name in the configuration: {providers}"),
                },
                "target": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 300,
                    "description": "Whom it is for: `channel:ID`, `user:ID`, or an id",
                },
                "message": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": LONGEST,
                    "description": "What it says. Services take fewer characters: Discord 2000, Telegram 4096, Slack 40000",
                },
            },
            "required": ["provider", "target", "message"],
            "additionalProperties": false,
        });
        let annotations = json!({
            "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true
        });
        ToolSpec::new(named("chat_send"), "Sends a message via a chat provider.", schema)
            .with("annotations", annotations)
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            let text = |property| arguments.text(property).unwrap_or_default();
            // Within the gate every call has one.
            let id = context.call_id().map_or_else(|| "call".to_owned(), ToString::to_string);
            let sender = Sender { id: &id, veil: context.veil() };
            let sent = self.outlets.send(text("provider"), text("target"), text("message"), sender).await;
            RawOutput::from(sent.map_or_else(ToolCallResult::error, ToolCallResult::text))
        })
    }
}
