//! `workspace_list`: the names in a directory of the workspace, in order, a page at a time.

use std::ops::ControlFlow;
use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::context::Progress;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::tool::{Content, ToolCallResult, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Absent, Parts, named, whole};
use crate::apart::apart;
use crate::files::{FileKind, Listing, Page, escaped};
use crate::workspace::{Workspace, failed};

/// How many names an answer has where nobody says.
const USUAL: usize = 1000;

/// The most names, and the most bytes of names, of one answer.
const MOST: usize = 100_000;
const BYTES: usize = 1 << 20;

struct WorkspaceList(Workspace);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(WorkspaceList(Workspace::of(parts, "workspace_list")?)))
}

impl Tool for WorkspaceList {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "maxLength": 4096, "description": "Path to the directory relative to workspace root; the root itself if left out"},
                "after": {"type": "string", "maxLength": 1024, "description": "Only names that come after this one, to read on in a long list"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "The most names to list; 1000 if left out"},
            },
            "additionalProperties": false,
        });
        ToolSpec::new(named("workspace_list"), "List files in the workspace", schema).with(
            "annotations",
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        let workspace = self.0.clone();
        let wish = Wish::of(&arguments);
        Box::pin(async move {
            let (told, mut heard) = mpsc::channel(64);
            let mut listed = std::pin::pin!(apart(context, move |ended| {
                list(&workspace, &wish, &mut |count| {
                    // Whoever does not listen in time hears of the next.
                    let _ = told.try_send(count);
                    if ended.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
            }));
            loop {
                tokio::select! {
                    biased;
                    Some(count) = heard.recv() => context.progress(progress(count)),
                    output = &mut listed => return output,
                }
            }
        })
    }
}

/// What is wanted.
struct Wish {
    path: String,
    after: String,
    limit: usize,
}

impl Wish {
    fn of(arguments: &Arguments) -> Self {
        let text = |property| arguments.text(property).filter(|text| !text.is_empty());
        let limit = arguments.get("limit").and_then(whole).and_then(|limit| usize::try_from(limit).ok());
        Self {
            path: text("path").unwrap_or(".").to_owned(),
            after: text("after").unwrap_or_default().to_owned(),
            limit: limit.unwrap_or(USUAL).clamp(1, MOST),
        }
    }
}

fn progress(count: u64) -> Progress {
    let progress = u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
    Progress { progress, total: None, message: Some(format!("{count} names seen")) }
}

fn list(
    workspace: &Workspace,
    wish: &Wish,
    seen: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<ToolCallResult, String> {
    let page = Page { after: &wish.after, count: wish.limit, bytes: BYTES };
    let listed = workspace.root().and_then(|root| root.list(&wish.path, page, seen));
    Ok(answer(&listed.map_err(failed("failed to list directory"))?))
}

/// Names one per line, directories with a slash; how to read on stands beside them.
fn answer(listing: &Listing) -> ToolCallResult {
    if listing.entries.is_empty() {
        return ToolCallResult::text("No files found");
    }
    let mut lines: Vec<String> = Vec::new();
    for entry in &listing.entries {
        let slash = if entry.kind == FileKind::Directory { "/" } else { "" };
        lines.push(format!("{}{slash}", escaped(&entry.name)));
    }
    let mut result = ToolCallResult::text(lines.join("\n"));
    if let (Some(last), 1..) = (listing.entries.last(), listing.more) {
        let after = Value::from(last.name.as_str());
        let text = format!("[{} more names follow: call workspace_list with after {after}.]", listing.more);
        result.content.push(Content::Text { text });
    }
    result
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;

    fn call(work: &Path, path: &str, after: &str, limit: usize) -> Result<Vec<String>, String> {
        let wish = Wish { path: path.to_owned(), after: after.to_owned(), limit };
        let result = list(&Workspace::at(work), &wish, &mut |_| ControlFlow::Continue(()))?;
        let told = serde_json::to_value(result).unwrap();
        let texts = told["content"].as_array().unwrap().iter();
        Ok(texts.map(|block| block["text"].as_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn names_stand_one_per_line_and_directories_have_a_slash() {
        let work = TempDir::new().unwrap();
        assert_eq!(call(work.path(), ".", "", 10).unwrap(), ["No files found"]);
        fs::create_dir(work.path().join("sub")).unwrap();
        for name in ["b.md", ".hidden", "a b", "sub/x", "für"] {
            fs::write(work.path().join(name), "").unwrap();
        }
        assert_eq!(call(work.path(), "/workspace", "", 10).unwrap(), [".hidden\na b\nb.md\nfür\nsub/"]);
        assert_eq!(call(work.path(), "sub", "", 10).unwrap(), ["x"]);
    }

    #[test]
    fn a_name_cannot_pretend_to_be_two() {
        let work = TempDir::new().unwrap();
        fs::write(work.path().join("a\nb"), "").unwrap();
        fs::write(work.path().join("c"), "").unwrap();
        let told = call(work.path(), ".", "", 1).unwrap();
        assert_eq!(told, ["a\\u{a}b", "[1 more names follow: call workspace_list with after \"a\\nb\".]"]);
        assert_eq!(call(work.path(), ".", "a\nb", 1).unwrap(), ["c"]);
    }

    #[test]
    fn a_long_list_is_read_on_after_its_last_name() {
        let work = TempDir::new().unwrap();
        for number in 0..25 {
            fs::write(work.path().join(format!("{number:02}")), "").unwrap();
        }
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let told = call(work.path(), ".", &after, 10).unwrap();
            seen.extend(told[0].split('\n').map(str::to_owned));
            let Some(more) = told.get(1) else { break };
            assert!(more.contains(&format!("with after {:?}", seen.last().unwrap())), "{more}");
            after = seen.last().unwrap().clone();
        }
        assert_eq!(seen, (0..25).map(|number| format!("{number:02}")).collect::<Vec<_>>());
    }

    #[test]
    fn hostile_arguments_get_exact_answers() {
        let work = TempDir::new().unwrap();
        fs::write(work.path().join("file"), "").unwrap();
        let escapes = |path: &str| {
            format!(
                "path escapes workspace: {path} leads outside; use a path beneath it, like notes.md or /workspace/notes.md"
            )
        };
        for (path, sentence) in [
            ("..", escapes("..")),
            ("/", escapes("/")),
            ("/etc", escapes("/etc")),
            ("file", "failed to list directory: file is not a directory, or goes through a file: list what is above it".to_owned()),
            ("none", "failed to list directory: none does not exist in workspace: list the directory to see what is there".to_owned()),
        ] {
            assert_eq!(call(work.path(), path, "", 10), Err(sentence), "{path}");
        }
    }
}
