//! `vault_write`: puts a note into the vault, and where that is wanted commits and pushes it.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::json;

use super::{Absent, Parts, named};
use crate::files::plain;
use crate::vault::{self, Vault};

/// The most characters of a note, as large as one that is indexed whole.
const LARGEST: usize = 2 << 20;

struct VaultWrite(Arc<Vault>);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(VaultWrite(vault::of(parts, "vault_write")?)))
}

impl Tool for VaultWrite {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "maxLength": 4096, "description": "Path to the note relative to the vault; a name without an ending gets `.md`"},
                "content": {"type": "string", "maxLength": LARGEST, "description": "All that the note shall hold"},
                "commit_message": {"type": "string", "maxLength": 2000, "description": "What the commit says, where the vault is synced with git; without it `Update <file>`"},
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        });
        ToolSpec::new(named("vault_write"), "Write a note to the Obsidian vault.", schema).with(
            "annotations",
            json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": self.0.is_synced()}),
        )
    }

    fn run<'a>(&'a self, _: Permit, mut arguments: Arguments, _: &'a Context) -> Run<'a> {
        let mut text = |property| arguments.take_text(property);
        let (path, content, message) = (text("path"), text("content"), text("commit_message"));
        let (path, content) = (path.unwrap_or_default(), content.unwrap_or_default());
        Box::pin(async move { write(&self.0, path, content, message).await.into() })
    }
}

pub(crate) async fn write(
    vault: &Arc<Vault>,
    path: String,
    content: String,
    message: Option<String>,
) -> ToolCallResult {
    if content.len() > LARGEST {
        let reason =
            format!("the note has {} bytes and may have {LARGEST}: use several notes", content.len());
        return ToolCallResult::error(reason);
    }
    let written = match vault.write(path, content, message).await {
        Ok(written) => written,
        Err(error) => return ToolCallResult::error(error),
    };
    let path = plain(&written.path);
    let facts = |synced: bool| json!({"path": written.path, "written": true, "synced": synced});
    match &written.synced {
        None => ToolCallResult::text(format!("Wrote {path}")).with_structured(facts(false)),
        Some(Ok(())) => ToolCallResult::text(format!("Wrote and synced {path}")).with_structured(facts(true)),
        Some(Err(trouble)) => {
            let mut facts = facts(false);
            if let Some(members) = facts.as_object_mut() {
                members.insert("conflicts".to_owned(), trouble.conflicts().into());
            }
            let reason = format!("file written but git sync failed: {path} is saved in the vault; {trouble}");
            ToolCallResult::error(reason).with_structured(facts)
        }
    }
}
