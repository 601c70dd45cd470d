//! Tags: in the front matter, and `#like/this` in the text.

use std::collections::HashSet;

use serde_json::Value;

use super::MOST;

/// The most characters of a tag.
const LONGEST: usize = 200;

/// Tags in the order in which they came, each once: `#Moon` and `#moon` are one.
#[derive(Default)]
pub(super) struct Tags {
    seen: HashSet<String>,
    all: Vec<String>,
}

impl Tags {
    /// Takes those that a front matter names: a list, or a text with spaces or commas between them.
    pub(super) fn written(&mut self, value: Option<&Value>) {
        match value {
            Some(Value::Array(items)) => items.iter().for_each(|item| self.written(Some(item))),
            Some(Value::String(text)) => {
                text.split(|c: char| c == ',' || c.is_whitespace())
                    .for_each(|tag| self.take(tag.trim_start_matches('#')));
            }
            Some(Value::Number(number)) => self.take(&number.to_string()),
            _ => {}
        }
    }

    /// Takes those that stand in a piece of text, each behind a space or at its beginning.
    pub(super) fn inline(&mut self, text: &str) {
        let mut free = true;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            if c == '#' && free {
                let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
                let (tag, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                // `##` is a heading or nothing, and `#1` is a number.
                if !after.starts_with('#') && !tag.chars().all(|c| c.is_ascii_digit()) {
                    self.take(tag);
                }
                rest = after;
            }
            free = c.is_whitespace();
        }
    }

    fn take(&mut self, tag: &str) {
        let tag = tag.trim_end_matches('/');
        let sound = !tag.is_empty() && tag.chars().count() <= LONGEST && tag.chars().all(belongs);
        if sound && self.all.len() < MOST && self.seen.insert(tag.to_lowercase()) {
            self.all.push(tag.to_owned());
        }
    }

    pub(super) fn all(self) -> Vec<String> {
        self.all
    }
}

/// Whether a tag may have that character.
fn belongs(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '_' | '-' | '/')
        || (!c.is_ascii() && !c.is_whitespace() && !c.is_control() && !is_mark(c))
}

/// The punctuation beyond ASCII that ends a tag.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{a1}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff0f}')
}
