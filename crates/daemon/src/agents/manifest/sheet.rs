//! The text of a manifest while it is read: each key once, by what it must be, and a note of all that is wrong.

use std::ops::RangeInclusive;

use toml_edit::{Item, Table, TableLike, Value};

use super::Problem;

/// The most characters of a value that stand in a sentence.
const SHOWN: usize = 64;

/// A text, its sections, and what was found so far.
pub(super) struct Sheet<'t> {
    pub(super) text: &'t str,
    pub(super) root: &'t Table,
    pub(super) wrong: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
}

/// A section, written in whatever way TOML has for one.
#[derive(Clone, Copy)]
pub(super) struct Part<'t> {
    pub(super) name: &'static str,
    pub(super) table: Option<&'t dyn TableLike>,
    at: usize,
}

impl Part<'_> {
    pub(super) fn is_there(&self) -> bool {
        self.table.is_some()
    }
}

impl<'t> Sheet<'t> {
    pub(super) fn new(text: &'t str, root: &'t Table) -> Self {
        Self { text, root, wrong: Vec::new(), warnings: Vec::new() }
    }

    /// Notes that something at that byte is wrong.
    pub(super) fn wrong(&mut self, at: usize, reason: impl Into<String>) {
        self.wrong.push(Problem::at(self.text, at, reason));
    }

    /// Notes something at that byte that a person should know.
    pub(super) fn warn(&mut self, at: usize, reason: impl Into<String>) {
        self.warnings.push(Problem::at(self.text, at, reason));
    }

    /// The section with that name; that it is something else than a section is noted.
    pub(super) fn section(&mut self, name: &'static str) -> Part<'t> {
        let part = self.quietly(name);
        if let Some(item) = self.root.get(name).filter(|_| !part.is_there()) {
            let kind = kind(item);
            self.wrong(part.at, format!("`{name}` is {kind}; write it as a section, once: [{name}]"));
        }
        part
    }

    /// The same, where that is noted already.
    pub(super) fn quietly(&self, name: &'static str) -> Part<'t> {
        let table = self.root.get(name).and_then(Item::as_table_like);
        Part { name, table, at: self.key(self.root, name) }
    }

    /// Where that key of a table stands; the beginning, where it does not.
    #[expect(clippy::unused_self, reason = "places are places in this sheet")]
    pub(super) fn key(&self, table: &dyn TableLike, key: &str) -> usize {
        table.key(key).and_then(toml_edit::Key::span).map_or(0, |span| span.start)
    }

    /// Notes that a key of a section that is there is missing, and what to write.
    pub(super) fn missing(&mut self, part: Part<'_>, key: &str, write: &str) {
        if part.table.is_some_and(|table| !table.contains_key(key)) {
            self.wrong(part.at, format!("`{}.{key}` is missing; write {write}", part.name));
        }
    }

    /// A text, and where it stands.
    pub(super) fn text(&mut self, part: Part<'t>, key: &str, write: &str) -> Option<(&'t str, usize)> {
        let item = part.table?.get(key)?;
        let at = item.span().map_or(part.at, |span| span.start);
        let text = item.as_str();
        if text.is_none() {
            let found = self.found(item);
            self.wrong(at, format!("`{}.{key}` is {found}; write {write}", part.name));
        }
        text.map(|text| (text, at))
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(&mut self, part: Part<'t>, key: &str, words: &[(&str, T)]) -> Option<T> {
        let allowed = either(&words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>());
        let (text, at) = self.text(part, key, &allowed)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let shown = quoted(text);
            self.wrong(at, format!("`{}.{key}` is {shown}; write {allowed}", part.name));
        }
        found
    }

    /// A whole number.
    pub(super) fn number(&mut self, part: Part<'t>, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let item = part.table?.get(key)?;
        let number = item.as_integer().and_then(|number| u64::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let at = item.span().map_or(part.at, |span| span.start);
            let (found, from, to) = (self.found(item), range.start(), range.end());
            let reason =
                format!("`{}.{key}` is {found}; write a whole number from {from} to {to}", part.name);
            self.wrong(at, reason);
        }
        number
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, part: Part<'t>, key: &str) -> Option<bool> {
        let item = part.table?.get(key)?;
        let flag = item.as_bool();
        if flag.is_none() {
            let at = item.span().map_or(part.at, |span| span.start);
            let found = self.found(item);
            self.wrong(at, format!("`{}.{key}` is {found}; write true or false", part.name));
        }
        flag
    }

    /// A value of the wrong kind, in words: what it is, and what is written there.
    pub(super) fn found(&self, item: &Item) -> String {
        let kind = kind(item);
        match item {
            Item::Value(Value::String(text)) => format!("the text {}", quoted(text.value())),
            Item::Value(value) if !value.is_array() && !value.is_inline_table() => {
                let written = value.span().and_then(|span| self.text.get(span)).unwrap_or_default();
                format!("`{}`", short(written.trim()))
            }
            _ => kind.to_owned(),
        }
    }
}

/// What something is, in words.
pub(super) fn kind(item: &Item) -> &'static str {
    match item {
        Item::Value(Value::String(_)) => "a text",
        Item::Value(Value::Integer(_) | Value::Float(_)) => "a number",
        Item::Value(Value::Boolean(_)) => "true or false",
        Item::Value(Value::Datetime(_)) => "a date",
        Item::Value(Value::Array(_)) => "a list",
        Item::ArrayOfTables(_) => "a list of sections",
        Item::Value(Value::InlineTable(_)) | Item::Table(_) => "a table",
        Item::None => "nothing",
    }
}

/// Somebody's text as it may stand in a sentence: short, and without characters that steer a terminal.
pub(super) fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// The same in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", short(text))
}

/// `a, b or c`.
pub(super) fn either(words: &[String]) -> String {
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}
