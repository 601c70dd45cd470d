//! Entries as they stand in files, TOML or JSON: their keys in one form, and the line of each.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Number, Value};
use toml_edit::{Item, TableLike};

use crate::config::keys::{means_servers, shown};
use crate::config::{self, ConfigError};

/// The two spellings in `config.toml` and `secrets.toml`.
pub(super) const SPELLINGS: [(&str, &str); 2] =
    [("servers", "[[mcp.servers]]"), ("server", "[[mcp.server]]")];

/// One entry.
pub(super) struct Written {
    /// What its table is called.
    pub(super) title: &'static str,
    /// Its name, or what should have been one.
    pub(super) name: Option<String>,
    /// Its keys; none where it is no table.
    pub(super) keys: Option<Map<String, Value>>,
    /// The line it begins at, where that is known.
    line: Option<usize>,
    /// The lines of its keys, and of the keys of its tables as `env.NAME`.
    lines: BTreeMap<String, usize>,
}

impl Written {
    /// The line of that key; else the one where the entry begins.
    pub(super) fn line(&self, key: &str) -> Option<usize> {
        let outer = key.split_once('.').map_or(key, |(outer, _)| outer);
        self.lines.get(key).or_else(|| self.lines.get(outer)).copied().or(self.line)
    }
}

/// The entries of a file in the order they stand there, and sentences about keys beside them.
type Entries = (Vec<Written>, Vec<String>);

/// Entries, each with the place where it begins.
type Placed = Vec<(usize, Written)>;

/// The entries of `config.toml` or `secrets.toml`.
pub(super) fn configuration(path: &Path, text: &str) -> Result<Entries, ConfigError> {
    let document = config::document(path, text)?;
    let file = File { path, text, lines: Lines::of(text) };
    let (found, warnings) = file.section(document.get("mcp"))?;
    Ok((in_order(found), warnings))
}

/// The entries of a `plugin.toml`, which may spell them as the configuration does.
pub(super) fn plugin_toml(path: &Path, text: &str) -> Result<Entries, ConfigError> {
    let document = config::document(path, text)?;
    let file = File { path, text, lines: Lines::of(text) };
    let (mut found, mut warnings) = file.section(document.get("mcp"))?;
    for (key, item) in document.iter() {
        if key == "mcp_servers" {
            found.extend(file.list(item, key, "[[mcp_servers]]")?);
        } else if means_servers(key) {
            let at = file.at(document.key(key));
            warnings
                .push(format!("{at}: [{}] is not read; write each server as [[mcp_servers]]", shown(key)));
        }
    }
    Ok((in_order(found), warnings))
}

fn in_order(mut found: Placed) -> Vec<Written> {
    found.sort_by_key(|(offset, _)| *offset);
    found.into_iter().map(|(_, written)| written).collect()
}

/// A file that is read.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
    lines: Lines,
}

impl File<'_> {
    /// The entries of `[mcp]`, each with the place where it begins, and sentences about what else stands there.
    fn section(&self, section: Option<&Item>) -> Result<(Placed, Vec<String>), ConfigError> {
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        let Some(section) = section else { return Ok((found, warnings)) };
        let table = section.as_table_like().ok_or_else(|| {
            self.wrong(section, "`mcp` must be a table: write each server as [[mcp.servers]]")
        })?;
        for (key, item) in table.iter() {
            if let Some((_, title)) = SPELLINGS.iter().find(|(spelling, _)| *spelling == key) {
                found.extend(self.list(item, &format!("mcp.{key}"), title)?);
                continue;
            }
            let rest = "is not a known key; [mcp] has servers";
            warnings.push(format!("{}: `mcp.{}` {rest}", self.at(table.key(key)), shown(key)));
        }
        Ok((found, warnings))
    }

    /// The entries of a list.
    fn list(&self, item: &Item, key: &str, title: &'static str) -> Result<Placed, ConfigError> {
        entries(item, title, &self.lines).ok_or_else(|| {
            let reason =
                format!("`{key}` must be a list of tables: write each as {title}, in double brackets");
            self.wrong(item, &reason)
        })
    }

    /// Where a key stands, as sentences about it begin.
    fn at(&self, key: Option<&toml_edit::Key>) -> String {
        let line = key.and_then(toml_edit::Key::span).map_or(1, |span| self.lines.at(span.start));
        format!("{}, line {line}", self.path.display())
    }

    fn wrong(&self, item: &Item, reason: &str) -> ConfigError {
        config::malformed(self.path, self.text, item.span().map_or(0, |span| span.start), reason)
    }
}

/// The entries of a `plugin.json`; otherwise a clause that says what is wrong with it.
pub(super) fn plugin_json(text: &str) -> Result<Vec<Written>, String> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| format!("line {}, column {}: it is no sound JSON", error.line(), error.column()))?;
    let root = document.as_object().ok_or("it must be an object")?;
    let entries = match root.get("mcpServers") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(entries)) => entries,
        Some(_) => return Err("`mcpServers` must be an object of names and servers".to_owned()),
    };
    let written = |(name, value): (&String, &Value)| {
        let keys = value.as_object().map(|keys| {
            let mut keys = keys.clone();
            keys.insert("name".to_owned(), Value::String(name.clone()));
            keys
        });
        Written { title: "mcpServers", name: Some(name.clone()), keys, line: None, lines: BTreeMap::new() }
    };
    Ok(entries.iter().map(written).collect())
}

/// The entries of a list, each with the place where it begins; none where it is no list.
fn entries(item: &Item, title: &'static str, lines: &Lines) -> Option<Placed> {
    let start = |span: Option<std::ops::Range<usize>>| span.map_or(0, |span| span.start);
    if let Some(tables) = item.as_array_of_tables() {
        let entry = |table: &toml_edit::Table| {
            let start = start(table.span());
            (start, of_table(Some(table), title, lines, start))
        };
        return Some(tables.iter().map(entry).collect());
    }
    let entry = |value: &toml_edit::Value| {
        let start = start(value.span());
        let table = value.as_inline_table().map(|table| table as &dyn TableLike);
        (start, of_table(table, title, lines, start))
    };
    Some(item.as_array()?.iter().map(entry).collect())
}

fn of_table(table: Option<&dyn TableLike>, title: &'static str, lines: &Lines, start: usize) -> Written {
    let keys = table.map(json_table);
    let name = keys.as_ref().and_then(|keys| keys.get("name")?.as_str()).map(str::to_owned);
    let places = table.map(|table| key_lines(table, lines)).unwrap_or_default();
    Written { title, name, keys, line: Some(lines.at(start)), lines: places }
}

fn key_lines(table: &dyn TableLike, lines: &Lines) -> BTreeMap<String, usize> {
    let line = |table: &dyn TableLike, key: &str| {
        table.key(key).and_then(toml_edit::Key::span).map(|span| lines.at(span.start))
    };
    let mut found = BTreeMap::new();
    for (key, item) in table.iter() {
        found.extend(line(table, key).map(|line| (key.to_owned(), line)));
        let Some(inner) = item.as_table_like() else { continue };
        let names = inner.iter().filter_map(|(name, _)| Some((format!("{key}.{name}"), line(inner, name)?)));
        found.extend(names);
    }
    found
}

fn json_table(table: &dyn TableLike) -> Map<String, Value> {
    table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect()
}

/// The same as JSON. What JSON has no word for becomes something that no key takes.
pub(super) fn json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json_value(value),
        Item::Table(table) => Value::Object(json_table(table)),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| Value::Object(json_table(table))).collect(),
    }
}

fn json_value(value: &toml_edit::Value) -> Value {
    let none = || Value::Array(vec![Value::Null]);
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Number(Number::from(*number.value())),
        toml_edit::Value::Float(number) => Number::from_f64(*number.value()).map_or_else(none, Value::Number),
        toml_edit::Value::Boolean(flag) => Value::Bool(*flag.value()),
        toml_edit::Value::Datetime(_) => none(),
        toml_edit::Value::Array(values) => values.iter().map(json_value).collect(),
        toml_edit::Value::InlineTable(table) => Value::Object(json_table(table)),
    }
}

/// Where each line of a text ends: a file may hold many entries, and each is asked for its lines.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// The line of that byte, counted from one.
    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
}
