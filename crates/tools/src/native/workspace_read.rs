//! `workspace_read`: a file of the workspace, whole or by lines. Text as text, anything else as a resource.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool, Veil};
use covenant_model::tool::{Content, ToolCallResult, ToolSpec};
use serde_json::json;
use url::Url;

use super::{Absent, Parts, named, whole};
use crate::apart::apart;
use crate::files::{Lines, Range, Root, plain};
use crate::workspace::{Workspace, failed};

/// The most bytes of text in one answer: what no model reads at once is better read in parts.
const TEXT: usize = 256 << 10;

/// The largest file that is given as it is, where it is not text.
const BLOB: u64 = 1 << 20;

struct WorkspaceRead(Workspace);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(WorkspaceRead(Workspace::of(parts, "workspace_read")?)))
}

impl Tool for WorkspaceRead {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "maxLength": 4096, "description": "Path to the file relative to workspace root"},
                "offset": {"type": "integer", "minimum": 1, "maximum": 9_007_199_254_740_991_u64, "description": "The first line to read, counted from 1"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 1_000_000, "description": "The most lines to read"},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        ToolSpec::new(named("workspace_read"), "Read a file from the workspace", schema).with(
            "annotations",
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        let workspace = self.0.clone();
        let wish = Wish::of(&arguments);
        let veil = context.veil();
        Box::pin(apart(context, move |ended| read(&workspace, &wish, &veil, &|| !ended.is_cancelled())))
    }
}

/// What is wanted.
struct Wish {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Wish {
    fn of(arguments: &Arguments) -> Self {
        let number = |property| arguments.get(property).and_then(whole);
        let path = arguments.text("path").unwrap_or_default().to_owned();
        Self { path, offset: number("offset"), limit: number("limit") }
    }

    /// The first line wanted.
    fn first(&self) -> u64 {
        self.offset.unwrap_or(1).max(1)
    }
}

fn read(
    workspace: &Workspace,
    wish: &Wish,
    veil: &Veil,
    going: &dyn Fn() -> bool,
) -> Result<ToolCallResult, String> {
    let failed = failed("failed to read file");
    let root = workspace.root().map_err(&failed)?;
    let range = Range { first: wish.first(), count: wish.limit.unwrap_or(u64::MAX), bytes: TEXT };
    let mut lines = root.read_lines(&wish.path, range, going).map_err(&failed)?;
    if let Some(total) = lines.total.filter(|total| *total < wish.first() && wish.first() > 1) {
        let (first, path) = (wish.first(), plain(&wish.path));
        return Err(format!(
            "offset {first} is past the end: {path} has {total} lines; use a smaller offset"
        ));
    }
    match text(&mut lines, veil) {
        Some(text) => Ok(answer(text, &lines, wish)),
        None if wish.offset.is_none() && wish.limit.is_none() => blob(&root, &wish.path),
        None => Err(binary(&wish.path, "has no lines to choose from; leave out offset and limit")),
    }
}

fn binary(path: &str, hint: &str) -> String {
    format!("{} is not UTF-8 text: it {hint}", plain(path))
}

/// The text, unless it is none, without secrets that the choice of lines took apart. A line that was cut may have been
/// cut inside a character.
fn text(lines: &mut Lines, veil: &Veil) -> Option<String> {
    let (before, after) = std::mem::take(&mut lines.around);
    let wanted = before.len()..before.len() + lines.bytes.len();
    let all = [before, std::mem::take(&mut lines.bytes), after].concat();
    String::from_utf8(veil.part(&all, wanted)).map_or_else(
        |error| {
            let (sound, cut) = (error.utf8_error().valid_up_to(), error.utf8_error().error_len().is_none());
            let mut bytes = error.into_bytes();
            bytes.truncate(sound);
            String::from_utf8(bytes).ok().filter(|_| lines.cut && cut)
        },
        Some,
    )
}

/// The text as it is; how to read on stands beside it.
fn answer(text: String, lines: &Lines, wish: &Wish) -> ToolCallResult {
    let mut result = ToolCallResult::text(text);
    let (path, first) = (plain(&wish.path), wish.first());
    let last = first + lines.count.saturating_sub(1);
    let more = if lines.cut {
        let next = last + 1;
        format!(
            "[{path}: line {first} has more than {TEXT} bytes, and only its beginning is shown. Call workspace_read with offset {next} for what comes after it.]"
        )
    } else if let Some(next) = lines.next {
        format!(
            "[{path}: lines {first} to {last}. The file goes on: call workspace_read with offset {next}.]"
        )
    } else {
        return result;
    };
    result.content.push(Content::Text { text: more });
    result
}

fn blob(root: &Root, path: &str) -> Result<ToolCallResult, String> {
    let size = root.metadata(path).map_err(failed("failed to read file"))?.size;
    if size > BLOB {
        let hint = format!(
            "has {size} bytes, and only files of at most {BLOB} are given as they are; make a smaller one of it first"
        );
        return Err(binary(path, &hint));
    }
    let bytes = root.read(path, BLOB).map_err(failed("failed to read file"))?;
    let block = json!({"type": "resource", "resource": {
        "uri": address(root, path),
        "mimeType": kind(path),
        "blob": STANDARD.encode(bytes),
    }});
    Ok(ToolCallResult { content: vec![Content::Block(block)], ..ToolCallResult::default() })
}

/// The address of a file, as resources have one.
fn address(root: &Root, path: &str) -> String {
    let relative = root.relative(path).unwrap_or_default();
    let Ok(mut address) = Url::parse("workspace:///") else { return String::new() };
    if let Ok(mut segments) = address.path_segments_mut() {
        segments.clear().extend(relative.split('/'));
    }
    address.into()
}

/// What sort of file it is, by its name.
fn kind(path: &str) -> &'static str {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "txt" | "md" | "csv" | "log" => "text/plain",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests;
