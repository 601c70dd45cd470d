//! `vault_list`: what a directory of the vault holds, or all notes beneath it.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Value, json};

use super::{Absent, Parts, named};
use crate::vault::{self, Listed, Vault};

struct VaultList(Arc<Vault>);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(VaultList(vault::of(parts, "vault_list")?)))
}

impl Tool for VaultList {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "maxLength": 4096, "description": "Directory to list, relative to the vault; without it the whole vault"},
                "recursive": {"type": "boolean", "default": false, "description": "Whether to list all notes and directories beneath it"},
            },
            "additionalProperties": false,
        });
        ToolSpec::new(named("vault_list"), "List files in the Obsidian vault.", schema).with(
            "annotations",
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, _: Permit, mut arguments: Arguments, context: &'a Context) -> Run<'a> {
        let recursive = arguments.get("recursive").and_then(Value::as_bool).unwrap_or_default();
        let path = arguments.take_text("path").unwrap_or_default();
        let ended = context.cancelled().clone();
        let going =
            move || if ended.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        Box::pin(async move { list(&self.0, path, recursive, going).await.into() })
    }
}

pub(crate) async fn list(
    vault: &Arc<Vault>,
    path: String,
    recursive: bool,
    going: impl Fn() -> ControlFlow<()> + Send + 'static,
) -> ToolCallResult {
    let listed = vault.beside(move |vault| vault.list(&path, recursive, &going)).await;
    match listed {
        Err(error) => ToolCallResult::error(error),
        Ok(Listed { names, .. }) if names.is_empty() => {
            ToolCallResult::text("No files found").with_structured(json!({"files": []}))
        }
        Ok(Listed { names, more }) => {
            let mut text = names.join("\n");
            if more > 0 {
                // Writing to a `String` cannot fail.
                let _ = write!(text, "\n[and {more} more: list a directory beneath it]");
            }
            ToolCallResult::text(text).with_structured(json!({"files": names, "more": more}))
        }
    }
}
