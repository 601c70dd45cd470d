//! Front matter: the part of YAML that Obsidian writes, between two lines of `---` at the very beginning.
//!
//! Scalars, lists in both spellings, maps, quoted and folded texts, comments. What is no part of it (anchors, types, keys that
//! stand twice) is an error with its line, so that nothing is guessed.

mod scalar;

use serde_json::{Map, Value};

use scalar::Flow;

/// The most bytes and the deepest nesting that are read.
const MOST: usize = 64 * 1024;
const DEEPEST: usize = 4;

/// What the front matter says, or why it cannot be read, and the text after it. A text without one says nothing; one that
/// cannot be read is part of the text.
pub(super) fn split(text: &str) -> (Result<Map<String, Value>, String>, &str) {
    let Some((inside, body)) = cut(text) else { return (Ok(Map::new()), text) };
    if inside.len() > MOST {
        return (Err(format!("it is longer than {} KiB", MOST / 1024)), text);
    }
    match read(inside) {
        Ok(front) => (Ok(front), body),
        Err(error) => (Err(error), text),
    }
}

/// What stands between the two lines, and after them.
fn cut(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, inside) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut at = 0;
    for line in inside.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((inside.get(..at)?, inside.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// A line that says something: its number, how far it is indented, and what stands there.
#[derive(Debug, Clone, Copy)]
struct Line<'t> {
    number: usize,
    indent: usize,
    text: &'t str,
}

fn read(inside: &str) -> Result<Map<String, Value>, String> {
    // The first line of a note is the one above.
    let lines = inside.lines().zip(2..).map(|(line, number)| {
        let text = line.trim_start_matches(' ');
        Line { number, indent: line.len() - text.len(), text: text.trim_end() }
    });
    let mut reader = Reader { lines: lines.collect(), at: 0 };
    match reader.peek() {
        None => Ok(Map::new()),
        Some(first) => {
            let map = reader.map(first.indent, 1)?;
            reader.peek().map_or(Ok(map), |line| Err(odd(line, "is indented less than what is above it")))
        }
    }
}

fn odd(line: Line<'_>, what: &str) -> String {
    format!("line {} {what}", line.number)
}

struct Reader<'t> {
    lines: Vec<Line<'t>>,
    at: usize,
}

impl<'t> Reader<'t> {
    /// The next line that is neither empty nor a comment.
    fn peek(&mut self) -> Option<Line<'t>> {
        while let Some(line) = self.lines.get(self.at) {
            if !line.text.is_empty() && !line.text.starts_with('#') {
                return Some(*line);
            }
            self.at += 1;
        }
        None
    }

    fn map(&mut self, indent: usize, depth: usize) -> Result<Map<String, Value>, String> {
        let mut map = Map::new();
        while let Some(line) = self.peek().filter(|line| line.indent >= indent) {
            if line.indent > indent {
                return Err(odd(line, "is indented more than what is above it"));
            }
            let (name, rest) = named(line.text).ok_or_else(|| odd(line, "is not `name: value`"))?;
            self.at += 1;
            let value = self.value(line, rest, depth)?;
            if map.insert(name.clone(), value).is_some() {
                return Err(odd(line, &format!("names `{name}` a second time")));
            }
        }
        Ok(map)
    }

    fn list(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent == indent) {
            let Some(rest) = item(line.text) else { break };
            let inner = indent + (line.text.len() - rest.len());
            if named(rest).is_some() && !rest.starts_with(['"', '\'', '[', '{']) {
                // A map whose first line stands behind the dash.
                if let Some(slot) = self.lines.get_mut(self.at) {
                    *slot = Line { indent: inner, text: rest, ..line };
                }
                items.push(Value::Object(self.nested(line, depth, |reader| reader.map(inner, depth + 1))?));
            } else {
                self.at += 1;
                items.push(self.value(line, rest, depth)?);
            }
        }
        Ok(Value::Array(items))
    }

    fn nested<T>(
        &mut self,
        line: Line<'_>,
        depth: usize,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        if depth >= DEEPEST { Err(odd(line, "is nested too deeply")) } else { read(self) }
    }

    /// What stands behind a name or a dash, there or on the lines below.
    fn value(&mut self, line: Line<'t>, rest: &str, depth: usize) -> Result<Value, String> {
        let wrong = |error: &str| odd(line, error);
        if let Some(style) = rest.strip_prefix('|').or(rest.strip_prefix('>')) {
            let modest = style.chars().all(|c| matches!(c, '-' | '+'));
            return if modest { Ok(self.block(line, rest)) } else { Err(wrong("begins a text oddly")) };
        }
        if !rest.is_empty() && !rest.starts_with('#') {
            let more =
                if rest.starts_with(['"', '\'', '[', '{']) { String::new() } else { self.folded(line) };
            let whole = format!("{}{more}", scalar::uncommented(rest));
            return Flow::read(&whole, DEEPEST.saturating_sub(depth)).map_err(wrong);
        }
        match self.peek() {
            Some(below)
                if below.indent >= line.indent && item(below.text).is_some() && is_name(line.text) =>
            {
                self.nested(below, depth, |reader| reader.list(below.indent, depth + 1))
            }
            Some(below) if below.indent > line.indent => {
                let read = |reader: &mut Self| reader.map(below.indent, depth + 1);
                self.nested(below, depth, read).map(Value::Object)
            }
            _ => Ok(Value::Null),
        }
    }

    /// The lines below that go on with a plain text.
    fn folded(&mut self, line: Line<'_>) -> String {
        let mut text = String::new();
        while let Some(below) = self.lines.get(self.at) {
            let goes_on = below.indent > line.indent && !below.text.is_empty();
            if !goes_on || named(below.text).is_some() || item(below.text).is_some() {
                break;
            }
            text.push(' ');
            text.push_str(scalar::uncommented(below.text));
            self.at += 1;
        }
        text
    }

    /// The lines of a text that begins with `|` or `>`.
    fn block(&mut self, line: Line<'_>, style: &str) -> Value {
        let between = if style.starts_with('|') { "\n" } else { " " };
        let (mut text, mut within) = (String::new(), None);
        while let Some(below) = self.lines.get(self.at) {
            if !below.text.is_empty() && below.indent <= line.indent {
                break;
            }
            if below.text.is_empty() {
                text.push('\n');
            } else {
                let first = *within.get_or_insert(below.indent);
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push_str(between);
                } else if text.ends_with('\n') && between == "\n" {
                    text.push('\n');
                }
                text.extend(std::iter::repeat_n(' ', below.indent.saturating_sub(first)));
                text.push_str(below.text);
            }
            self.at += 1;
        }
        Value::String(text.trim_end_matches('\n').to_owned())
    }
}

/// What stands behind the dash of a list.
fn item(text: &str) -> Option<&str> {
    if text == "-" { Some("") } else { text.strip_prefix("- ").map(str::trim_start) }
}

fn is_name(text: &str) -> bool {
    item(text).is_none()
}

/// A name, and what stands behind its colon.
fn named(text: &str) -> Option<(String, &str)> {
    if text.starts_with(['"', '\'']) {
        let (name, rest) = scalar::quoted(text).ok()?;
        let rest = rest.trim_start().strip_prefix(':')?;
        return (rest.is_empty() || rest.starts_with(' ')).then(|| (name, rest.trim_start()));
    }
    let (name, rest) = match text.split_once(": ") {
        Some((name, rest)) => (name, rest.trim_start()),
        None => (text.strip_suffix(':')?, ""),
    };
    let plain = !name.is_empty()
        && !name.starts_with(['[', '{', '&', '*', '!', '|', '>', '%', '@', '`', '-', '#', '?']);
    plain.then(|| (name.trim_end().to_owned(), rest))
}
