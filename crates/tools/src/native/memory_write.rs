//! `memory_write`: writes down what its caller wants to know later, in place of a file or at its end.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Clock, Context, Permit, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{Absent, Parts, named};
use crate::apart::apart;
use crate::files::{Join, Root};
use crate::memory::{self, LARGEST, Memory, USUAL};

struct MemoryWrite {
    memory: Memory,
    clock: Arc<dyn Clock>,
}

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(MemoryWrite { memory: Memory::of(parts), clock: Arc::clone(&parts.clock) }))
}

impl Tool for MemoryWrite {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "content": {"type": "string", "maxLength": LARGEST, "description": "What to remember"},
                "file": {"type": "string", "maxLength": 128, "default": USUAL, "description": "MEMORY.md, today, a dated note like 2026-02-28.md, or another name ending in .md; MEMORY.md if left out"},
                "append": {"type": "boolean", "default": false, "description": "Add to the end of the file, on a new line, instead of replacing it"},
            },
            "required": ["content"],
            "additionalProperties": false,
        });
        ToolSpec::new(named("memory_write"), "Remember something for later", schema).with(
            "annotations",
            json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, permit: Permit, mut arguments: Arguments, context: &'a Context) -> Run<'a> {
        let (memory, whose, now) = (self.memory.clone(), permit.principal().clone(), self.clock.now());
        let file = arguments.take_text("file").unwrap_or_else(|| USUAL.to_owned());
        let text = arguments.take_text("content").unwrap_or_default();
        let how = if arguments.get("append") == Some(&Value::Bool(true)) { How::Add } else { How::Replace };
        Box::pin(apart(context, move |_| {
            let file = memory::file(&file, now, TimeZone::system())?;
            write(&memory.root(&whose).map_err(|error| error.to_string())?, &file, &text, how)
        }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Replace,
    Add,
}

fn write(root: &Root, file: &str, content: &str, how: How) -> Result<ToolCallResult, String> {
    let length = content.len();
    if u64::try_from(length).is_ok_and(|length| length > LARGEST) {
        return Err(format!(
            "{file} would have {length} bytes, and the limit is {LARGEST}; use several files"
        ));
    }
    let (done, written) = match how {
        How::Replace => ("Wrote", root.write(file, content.as_bytes())),
        How::Add => ("Appended", root.append(file, content.as_bytes(), Join::OnNewLine, LARGEST)),
    };
    written.map_err(|error| format!("failed to write memory: {error}"))?;
    Ok(ToolCallResult::text(format!("{done} {length} bytes to {file}")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use tempfile::TempDir;

    use super::*;

    fn root(place: &TempDir) -> Root {
        Memory::at(&place.path().join("memory")).root(&"client:ada".parse().unwrap()).unwrap()
    }

    fn call(place: &TempDir, file: &str, content: &str, how: How) -> Result<String, String> {
        let result = write(&root(place), file, content, how)?;
        Ok(serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned())
    }

    #[test]
    fn a_file_is_replaced_or_added_to_and_stays_private() {
        let place = TempDir::new().unwrap();
        for (content, how, told) in [
            ("- one", How::Add, "Appended 5 bytes to MEMORY.md"),
            ("- zwei ü", How::Add, "Appended 9 bytes to MEMORY.md"),
        ] {
            assert_eq!(call(&place, "MEMORY.md", content, how).as_deref(), Ok(told));
        }
        let file = place.path().join("memory/client-ada/MEMORY.md");
        assert_eq!(fs::read_to_string(&file).unwrap(), "- one\n- zwei ü");
        assert_eq!(
            call(&place, "MEMORY.md", "new", How::Replace).as_deref(),
            Ok("Wrote 3 bytes to MEMORY.md")
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        for (path, mode) in
            [("memory/client-ada/MEMORY.md", 0o600), ("memory/client-ada", 0o700), ("memory", 0o700)]
        {
            let found = fs::metadata(place.path().join(path)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{path}");
        }
    }

    #[test]
    fn what_would_grow_too_large_is_refused_whole() {
        let place = TempDir::new().unwrap();
        let most = "x".repeat(1 << 20);
        call(&place, "log.md", &most, How::Replace).unwrap();
        assert_eq!(
            call(&place, "log.md", "y", How::Add).unwrap_err(),
            "failed to write memory: log.md is too large: the limit is 1048576 bytes; use less, or several files"
        );
        assert_eq!(
            call(&place, "log.md", &format!("{most}y"), How::Replace).unwrap_err(),
            "log.md would have 1048577 bytes, and the limit is 1048576; use several files"
        );
    }

    #[test]
    fn a_link_to_anothers_memory_is_not_written_through() {
        let place = TempDir::new().unwrap();
        let other = place.path().join("memory/client-bob");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("MEMORY.md"), "bob").unwrap();
        drop(root(&place));
        symlink("../client-bob/MEMORY.md", place.path().join("memory/client-ada/MEMORY.md")).unwrap();
        for how in [How::Replace, How::Add] {
            assert!(call(&place, "MEMORY.md", "ada", how).unwrap_err().contains("symbolic link"));
        }
        assert_eq!(fs::read_to_string(other.join("MEMORY.md")).unwrap(), "bob");
    }
}
