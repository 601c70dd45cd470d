//! `workspace_write`: puts a file into the workspace, whole or not at all, with the directories it needs.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::json;

use super::{Absent, Parts, named};
use crate::apart::apart;
use crate::files::plain;
use crate::workspace::{Workspace, failed};

/// The most bytes of a file.
const LARGEST: usize = 10 << 20;

struct WorkspaceWrite(Workspace);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(WorkspaceWrite(Workspace::of(parts, "workspace_write")?)))
}

impl Tool for WorkspaceWrite {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "maxLength": 4096, "description": "Path to the file relative to workspace root"},
                "content": {"type": "string", "maxLength": LARGEST, "description": "All that the file shall hold"},
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        });
        ToolSpec::new(named("workspace_write"), "Write a file to the workspace", schema).with(
            "annotations",
            json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, _: Permit, mut arguments: Arguments, context: &'a Context) -> Run<'a> {
        let workspace = self.0.clone();
        let path = arguments.take_text("path").unwrap_or_default();
        let text = arguments.take_text("content").unwrap_or_default();
        Box::pin(apart(context, move |_| write(&workspace, &path, &text)))
    }
}

fn write(workspace: &Workspace, path: &str, content: &str) -> Result<ToolCallResult, String> {
    let (length, shown) = (content.len(), plain(path));
    if length > LARGEST {
        return Err(format!(
            "{shown} would have {length} bytes, and the limit is {LARGEST}; write several files"
        ));
    }
    let written = workspace.root().and_then(|root| root.write(path, content.as_bytes()));
    written.map_err(failed("failed to write file"))?;
    Ok(ToolCallResult::text(format!("Wrote {length} bytes to {shown}")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn call(place: &TempDir, path: &str, content: &str) -> Result<String, String> {
        let result = write(&Workspace::at(&place.path().join("work")), path, content)?;
        Ok(serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned())
    }

    #[test]
    fn the_answer_says_how_much_went_where() {
        let place = TempDir::new().unwrap();
        assert_eq!(
            call(&place, "/workspace/a/b.md", "für").as_deref(),
            Ok("Wrote 4 bytes to /workspace/a/b.md")
        );
        assert_eq!(call(&place, "a/b.md", "").as_deref(), Ok("Wrote 0 bytes to a/b.md"));
        assert_eq!(fs::read(place.path().join("work/a/b.md")).unwrap(), b"");
    }

    #[test]
    fn hostile_arguments_get_exact_answers() {
        let place = TempDir::new().unwrap();
        call(&place, "dir/notes.md", "x").unwrap();
        symlink("dir/notes.md", place.path().join("work/link")).unwrap();
        symlink("..", place.path().join("work/out")).unwrap();
        let escapes = |path: &str| {
            format!(
                "path escapes workspace: {path} leads outside; use a path beneath it, like notes.md or /workspace/notes.md"
            )
        };
        for (path, sentence) in [
            ("", "path is required: name a file beneath workspace, like notes.md".to_owned()),
            ("../x", escapes("../x")),
            ("/etc/x", escapes("/etc/x")),
            ("/workspace/../x", escapes("/workspace/../x")),
            ("out/x", escapes("out/x")),
            ("dir", "failed to write file: dir is a directory: name a file in it".to_owned()),
            ("/workspace", "failed to write file: /workspace is a directory: name a file in it".to_owned()),
            ("dir/notes.md/x", "failed to write file: dir/notes.md/x is not a directory, or goes through a file: list what is above it".to_owned()),
            ("link", "failed to write file: link is, or goes through, a symbolic link that is not followed here: name the file it leads to".to_owned()),
            ("a\0", "failed to write file: a\\u{0} has a NUL character: no file can be called that; leave it out".to_owned()),
        ] {
            assert_eq!(call(&place, path, "y"), Err(sentence), "{path:?}");
        }
        let large = "ä".repeat(LARGEST / 2 + 1);
        assert_eq!(
            call(&place, "large", &large).unwrap_err(),
            "large would have 10485762 bytes, and the limit is 10485760; write several files"
        );
        assert_eq!(fs::read(place.path().join("work/dir/notes.md")).unwrap(), b"x");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing beside the workspace");
    }
}
