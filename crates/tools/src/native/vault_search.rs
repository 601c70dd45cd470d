//! `vault_search`: notes by words, phrases, tags and paths, the best first, each with the place that fits.

use std::fmt::Write as _;
use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::note::{Found, Query};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Value, json};

use super::{Absent, Parts, named};
use crate::files::plain;
use crate::vault::{self, Vault};

/// The most hits that are shown.
const SHOWN: usize = 50;

struct VaultSearch(Arc<Vault>);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(VaultSearch(vault::of(parts.vault.as_ref(), "vault_search")?)))
}

impl Tool for VaultSearch {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "maxLength": 1000, "description": "Words to look for; also \"a phrase\", tag:name, path:part, and - before what must not be there"},
                "path": {"type": "string", "maxLength": 4096, "description": "Directory to look in, relative to the vault; without it the whole vault"},
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        ToolSpec::new(named("vault_search"), "Search the notes of the Obsidian vault.", schema).with(
            "annotations",
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, _: Permit, mut arguments: Arguments, _: &'a Context) -> Run<'a> {
        let query = arguments.take_text("query").unwrap_or_default();
        let path = arguments.take_text("path");
        Box::pin(async move { search(&self.0, query, path).await.into() })
    }
}

pub(crate) async fn search(vault: &Arc<Vault>, asked: String, path: Option<String>) -> ToolCallResult {
    let query = Query { limit: SHOWN, ..Query::read(&asked) };
    if query.is_empty() {
        return ToolCallResult::error("query is required: name a word, a \"phrase\", tag:name or path:part");
    }
    let remark = vault.freshened().await;
    let found = vault.beside(move |vault| vault.search(query, path.as_deref())).await;
    match found {
        Ok(found) => told(&asked, &found, remark),
        Err(error) => ToolCallResult::error(error),
    }
}

fn told(asked: &str, found: &Found, remark: Option<String>) -> ToolCallResult {
    let hits =
        found.hits.iter().map(|hit| json!({"path": hit.path, "title": hit.title, "snippet": hit.snippet}));
    let mut facts = json!({"total": found.total, "hits": hits.collect::<Vec<Value>>()});
    let mut text = match found.total {
        0 => format!("No files containing '{}'", plain(asked)),
        1 => "Found in 1 file:".to_owned(),
        total => format!("Found in {total} files:"),
    };
    for hit in &found.hits {
        let _ = write!(text, "\n{}", plain(&hit.path));
        if !hit.snippet.is_empty() {
            let _ = write!(text, "\n  {}", hit.snippet);
        }
    }
    let shown = u64::try_from(found.hits.len()).unwrap_or_default();
    if found.total > shown && shown > 0 {
        let _ = write!(
            text,
            "\n[and {} more: use further words, tag: or path: to narrow it]",
            found.total - shown
        );
    }
    if let (Some(members), Some(remark)) = (facts.as_object_mut(), remark) {
        members.insert("remarks".to_owned(), json!([remark]));
    }
    ToolCallResult::text(text).with_structured(facts)
}
