//! `vault_read`: a note of the vault, with its front matter, tags, links and backlinks beside the text.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool, Veil};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::json;

use super::{Absent, Parts, named};
use crate::vault::{self, Vault};

struct VaultRead(Arc<Vault>);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(VaultRead(vault::of(parts, "vault_read")?)))
}

impl Tool for VaultRead {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "maxLength": 4096, "description": "Path to the note relative to the vault; `.md` may be left out"},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        ToolSpec::new(named("vault_read"), "Read a note from the Obsidian vault.", schema).with(
            "annotations",
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": self.0.is_synced()}),
        )
    }

    fn run<'a>(&'a self, _: Permit, mut arguments: Arguments, context: &'a Context) -> Run<'a> {
        let path = arguments.take_text("path").unwrap_or_default();
        Box::pin(async move { read(&self.0, path, context.veil()).await.into() })
    }
}

pub(crate) async fn read(vault: &Arc<Vault>, path: String, veil: Veil) -> ToolCallResult {
    let remark = vault.freshened().await;
    match vault.beside(move |vault| vault.read(&path, remark, &veil)).await {
        Ok(reading) => ToolCallResult::text(reading.text).with_structured(reading.facts),
        Err(error) => ToolCallResult::error(error),
    }
}
