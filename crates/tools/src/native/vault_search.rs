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
use crate::note::Sought;
use crate::vault::{self, Vault};

/// The most hits that are shown.
const SHOWN: usize = 50;

struct VaultSearch(Arc<Vault>);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(VaultSearch(vault::of(parts, "vault_search")?)))
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
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": self.0.is_synced()}),
        )
    }

    fn run<'a>(&'a self, _: Permit, mut arguments: Arguments, context: &'a Context) -> Run<'a> {
        let query = arguments.take_text("query").unwrap_or_default();
        let path = arguments.take_text("path");
        Box::pin(async move { search(&self.0, query, path, context).await.into() })
    }
}

pub(crate) async fn search(
    vault: &Arc<Vault>,
    asked: String,
    path: Option<String>,
    context: &Context,
) -> ToolCallResult {
    let query = Query { limit: SHOWN, ..Query::read(&asked) };
    if query.is_empty() {
        return ToolCallResult::error("query is required: name a word, a \"phrase\", tag:name or path:part");
    }
    let sought = Sought::of(&query);
    let remark = vault.freshened().await;
    let found = match vault.beside(move |vault| vault.search(query, path.as_deref())).await {
        Ok(found) => found,
        Err(error) => return ToolCallResult::error(error),
    };
    let mut places = Vec::with_capacity(found.hits.len());
    for hit in &found.hits {
        // What has gone meanwhile has no place; and one text is held at a time.
        let path = hit.path.clone();
        let text = vault.beside(move |vault| vault.text(&path)).await.unwrap_or_default();
        places.push(sought.shown(&context.without_secrets(&text)));
    }
    told(&asked, &found, &places, remark)
}

/// The answer, with the place of each hit.
fn told(asked: &str, found: &Found, places: &[String], remark: Option<String>) -> ToolCallResult {
    let hits = || found.hits.iter().zip(places);
    let listed = hits().map(|(hit, place)| json!({"path": hit.path, "title": hit.title, "snippet": place}));
    let mut facts = json!({"total": found.total, "hits": listed.collect::<Vec<Value>>()});
    let mut text = match found.total {
        0 => format!("No files containing '{}'", plain(asked)),
        1 => "Found in 1 file:".to_owned(),
        total => format!("Found in {total} files:"),
    };
    for (hit, place) in hits() {
        let _ = write!(text, "\n{}", plain(&hit.path));
        if !place.is_empty() {
            let _ = write!(text, "\n  {place}");
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
