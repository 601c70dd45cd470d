//! `memory_read`: what its caller wrote down earlier. Nobody reads another's.

use std::ops::ControlFlow;
use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Clock, Context, Permit, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use jiff::tz::TimeZone;
use serde_json::json;

use super::{Absent, Parts, named};
use crate::apart::apart;
use crate::files::{FileKind, Page, Root, Why};
use crate::memory::{self, LARGEST, Memory, USUAL};

/// How many files are named to one who asks for one that is not there.
const NAMED: usize = 50;

struct MemoryRead {
    memory: Memory,
    clock: Arc<dyn Clock>,
}

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(MemoryRead { memory: Memory::of(parts), clock: Arc::clone(&parts.clock) }))
}

impl Tool for MemoryRead {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "file": {"type": "string", "maxLength": 128, "default": USUAL, "description": "MEMORY.md, today, a dated note like 2026-02-28.md, or another name ending in .md; MEMORY.md if left out"},
            },
            "additionalProperties": false,
        });
        ToolSpec::new(named("memory_read"), "Read what you remembered earlier", schema).with(
            "annotations",
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, permit: Permit, mut arguments: Arguments, context: &'a Context) -> Run<'a> {
        let (memory, whose, now) = (self.memory.clone(), permit.principal().clone(), self.clock.now());
        let file = arguments.take_text("file").unwrap_or_else(|| USUAL.to_owned());
        Box::pin(apart(context, move |_| {
            let file = memory::file(&file, now, TimeZone::system())?;
            read(&memory.root(&whose).map_err(|error| error.to_string())?, &file)
        }))
    }
}

fn read(root: &Root, file: &str) -> Result<ToolCallResult, String> {
    let bytes = match root.read(file, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.why == Why::Missing => return Ok(ToolCallResult::text(missing(root, file))),
        Err(error) => return Err(format!("failed to read memory: {error}")),
    };
    let text = String::from_utf8(bytes);
    text.map(ToolCallResult::text)
        .map_err(|_| format!("{file} is not UTF-8 text: write it anew with memory_write"))
}

/// That nothing was written there yet is an answer, and no failure.
fn missing(root: &Root, file: &str) -> String {
    let page = Page { after: "", count: NAMED, bytes: 4096 };
    let listed = root.list(".", page, &mut |_| ControlFlow::Continue(()));
    let entries = listed.map(|listing| listing.entries).unwrap_or_default();
    let there: Vec<_> = entries
        .iter()
        .filter(|entry| entry.kind == FileKind::File)
        .map(|entry| entry.name.as_str())
        .collect();
    let there = if there.is_empty() { "nothing yet".to_owned() } else { there.join(", ") };
    format!("{file} was not written yet. Memory holds: {there}. Write with memory_write.")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn call(place: &TempDir, whose: &str, file: &str) -> Result<String, String> {
        let result = read(&Memory::at(place.path()).root(&whose.parse().unwrap()).unwrap(), file)?;
        assert!(!result.is_error);
        Ok(serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned())
    }

    #[test]
    fn what_is_not_there_yet_is_said_with_what_is() {
        let place = TempDir::new().unwrap();
        assert_eq!(
            call(&place, "client:ada", "MEMORY.md").as_deref(),
            Ok("MEMORY.md was not written yet. Memory holds: nothing yet. Write with memory_write.")
        );
        for name in ["b.md", "a.md"] {
            fs::write(place.path().join("client-ada").join(name), "x").unwrap();
        }
        assert_eq!(
            call(&place, "client:ada", "MEMORY.md").as_deref(),
            Ok("MEMORY.md was not written yet. Memory holds: a.md, b.md. Write with memory_write.")
        );
    }

    #[test]
    fn nobody_reads_what_another_remembers() {
        let place = TempDir::new().unwrap();
        for whose in ["client-ada", "client-=41da", "user@local"] {
            fs::create_dir(place.path().join(whose)).unwrap();
            fs::write(place.path().join(whose).join("MEMORY.md"), whose).unwrap();
        }
        // Not even by a link that someone put there.
        std::os::unix::fs::symlink("../client-ada/MEMORY.md", place.path().join("user@local/ada.md"))
            .unwrap();
        assert_eq!(call(&place, "client:ada", "MEMORY.md").as_deref(), Ok("client-ada"));
        assert_eq!(call(&place, "client:Ada", "MEMORY.md").as_deref(), Ok("client-=41da"));
        assert!(call(&place, "agent:ada", "MEMORY.md").unwrap().contains("nothing yet"));
        let led = call(&place, "user@local", "ada.md").unwrap_err();
        assert!(led.starts_with("failed to read memory: path escapes memory: ada.md"), "{led}");
    }

    #[test]
    fn what_is_no_text_or_too_large_is_refused() {
        let place = TempDir::new().unwrap();
        fs::create_dir_all(place.path().join("dev-ada/dir.md")).unwrap();
        fs::write(place.path().join("dev-ada/b.md"), b"\xff").unwrap();
        fs::File::create(place.path().join("dev-ada/l.md")).unwrap().set_len(LARGEST + 1).unwrap();
        for (file, sentence) in [
            ("b.md", "b.md is not UTF-8 text: write it anew with memory_write"),
            (
                "l.md",
                "failed to read memory: l.md is too large: the limit is 1048576 bytes; use less, or several files",
            ),
            ("dir.md", "failed to read memory: dir.md is a directory: name a file in it"),
        ] {
            assert_eq!(call(&place, "dev:ada", file).unwrap_err(), sentence);
        }
    }
}
