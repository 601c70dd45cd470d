//! Taking a server out of a text: its tables with the comments right above them and in them, and not one byte more.

use std::path::Path;

use toml_edit::{Document, Item, Table};

use super::SPELLINGS;
use crate::config::{self, ConfigError};

/// A table with a header: where that begins, where its last value ends, and whether it goes.
struct Part {
    start: usize,
    end: usize,
    goes: bool,
}

/// The text without the tables of that server; none where their places are not known.
pub(super) fn tables(text: &str, document: &Document<&str>, name: &str) -> Option<String> {
    let root = document.as_table();
    let mut parts = vec![Part { start: 0, end: values_end(root), goes: false }];
    collect(root, name, &Doom::Root, &mut parts);
    parts.sort_by_key(|part| part.start);
    let begins: Vec<usize> = std::iter::once(0)
        .chain(parts.windows(2).map(|pair| match pair {
            [before, part] => begin(text, part.start, before.end),
            _ => 0,
        }))
        .collect();
    let mut kept = String::with_capacity(text.len());
    for (index, part) in parts.iter().enumerate() {
        let end = begins.get(index + 1).copied().unwrap_or(text.len());
        let from = if part.goes { rest(text, part.end, end) } else { begins.get(index).copied()? };
        kept.push_str(text.get(from..end)?);
    }
    if parts.last().is_some_and(|part| part.goes) {
        let length = kept.trim_end_matches(['\n', '\r']).len();
        let line = kept.get(length..)?.find('\n').map_or(0, |newline| newline + 1);
        kept.truncate(length + if length == 0 { 0 } else { line });
    }
    Some(kept)
}

/// Whether the tables below one go.
enum Doom {
    /// It is the root: those of `mcp` are looked at.
    Root,
    /// It is `mcp`: the entries are looked at.
    Servers,
    /// It is decided.
    Decided(bool),
}

fn collect(table: &Table, name: &str, doom: &Doom, parts: &mut Vec<Part>) {
    for (key, item) in table {
        let below = match doom {
            Doom::Root if key == "mcp" => Doom::Servers,
            Doom::Servers if SPELLINGS.iter().any(|(spelling, _)| *spelling == key) => Doom::Servers,
            Doom::Root | Doom::Servers => Doom::Decided(false),
            Doom::Decided(goes) => Doom::Decided(*goes),
        };
        match item {
            Item::Table(table) => {
                note(table, matches!(below, Doom::Decided(true)), parts);
                collect(table, name, &below, parts);
            }
            Item::ArrayOfTables(tables) => {
                for table in tables {
                    let named = table.get("name").and_then(Item::as_str) == Some(name);
                    let goes = match below {
                        Doom::Servers => named,
                        Doom::Root => false,
                        Doom::Decided(goes) => goes,
                    };
                    note(table, goes, parts);
                    collect(table, name, &Doom::Decided(goes), parts);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

fn note(table: &Table, goes: bool, parts: &mut Vec<Part>) {
    // Tables that only the headers of others imply, and dotted keys, have no header.
    let Some(header) = table.span().filter(|span| !span.is_empty()) else { return };
    if !table.is_implicit() && !table.is_dotted() {
        parts.push(Part { start: header.start, end: header.end.max(values_end(table)), goes });
    }
}

/// Where the last value of a table ends that stands below its own header.
fn values_end(table: &Table) -> usize {
    let end = |(_, item): (&str, &Item)| match item {
        Item::Value(_) => item.span().map_or(0, |span| span.end),
        Item::Table(table) if table.is_dotted() => values_end(table),
        Item::None | Item::Table(_) | Item::ArrayOfTables(_) => 0,
    };
    table.iter().map(end).max().unwrap_or_default()
}

/// Where the lines of a header begin: with the comments right above it, but not before the last value.
fn begin(text: &str, header: usize, floor: usize) -> usize {
    let line_of =
        |offset: usize| text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let mut begin = line_of(header);
    while begin > floor {
        let above = line_of(begin - 1);
        let line = text.get(above..begin).unwrap_or_default();
        if above < floor || !line.trim_start().starts_with('#') {
            break;
        }
        begin = above;
    }
    begin
}

/// Where the rest behind a table that goes begins: at the first empty line, if more than empty lines follow.
fn rest(text: &str, end: usize, limit: usize) -> usize {
    let mut at = end;
    let mut first = true;
    for line in text.get(end..limit).unwrap_or_default().split_inclusive('\n') {
        if !first && line.trim().is_empty() {
            break;
        }
        at += line.len();
        first = false;
    }
    let empty = text.get(at..limit).unwrap_or_default().trim().is_empty();
    if empty { limit } else { at }
}

/// The text without the server where it stands in a list in one value.
pub(super) fn inline(path: &Path, text: &str, name: &str) -> Result<String, ConfigError> {
    let mut document = config::toml(path, text)?;
    let mut changed = false;
    for (spelling, _) in SPELLINGS {
        let list = document.get_mut("mcp").and_then(|mcp| mcp.as_table_like_mut()?.get_mut(spelling));
        let Some(list) = list.and_then(Item::as_array_mut) else { continue };
        let before = list.len();
        list.retain(|entry| {
            let entry = entry.as_inline_table().and_then(|entry| entry.get("name"));
            entry.and_then(toml_edit::Value::as_str) != Some(name)
        });
        changed |= list.len() != before;
    }
    Ok(if changed { document.to_string() } else { text.to_owned() })
}
