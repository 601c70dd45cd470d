//! Single values of front matter: plain and quoted texts, numbers, and lists and maps written on one line.

use serde_json::{Map, Value};

/// A value written on one line.
pub(super) struct Flow<'t> {
    rest: &'t str,
}

impl<'t> Flow<'t> {
    /// Reads all of it.
    pub(super) fn read(text: &'t str, depth: usize) -> Result<Value, &'static str> {
        let text = text.trim();
        if !text.starts_with(['"', '\'', '[', '{']) {
            return plain(text);
        }
        let mut flow = Self { rest: text };
        let value = flow.value(depth)?;
        let after = flow.rest.trim_start();
        if after.is_empty() || after.starts_with('#') { Ok(value) } else { Err("goes on after its value") }
    }

    fn value(&mut self, depth: usize) -> Result<Value, &'static str> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some('"' | '\'') => {
                let (text, rest) = quoted(self.rest)?;
                self.rest = rest;
                Ok(Value::String(text))
            }
            Some('[' | '{') if depth == 0 => Err("is nested too deeply"),
            Some('[') => self.list(depth - 1),
            Some('{') => self.map(depth - 1),
            _ => plain(self.word(&[',', ']', '}'])),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, &'static str> {
        self.take('[');
        let mut items = Vec::new();
        while !self.take(']') {
            items.push(self.value(depth)?);
            if !self.take(',') && !self.rest.trim_start().starts_with(']') {
                return Err("has a list without an end");
            }
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, depth: usize) -> Result<Value, &'static str> {
        self.take('{');
        let mut map = Map::new();
        while !self.take('}') {
            let name = if self.rest.trim_start().starts_with(['"', '\'']) {
                let (name, rest) = quoted(self.rest.trim_start())?;
                self.rest = rest;
                name
            } else {
                self.word(&[':', ',', '}']).to_owned()
            };
            if !self.take(':') {
                return Err("has a map without an end, or a name without a value");
            }
            map.insert(name, self.value(depth)?);
            if !self.take(',') && !self.rest.trim_start().starts_with('}') {
                return Err("has a map without an end");
            }
        }
        Ok(Value::Object(map))
    }

    /// Takes that character, if it comes next.
    fn take(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// What stands before one of those.
    fn word(&mut self, ends: &[char]) -> &'t str {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        word.trim()
    }
}

/// A text in quotes, and what follows it.
pub(super) fn quoted(text: &str) -> Result<(String, &str), &'static str> {
    const OPEN: &str = "has a quote that is not closed";
    let mut chars = text.chars();
    let mark = chars.next().ok_or(OPEN)?;
    let mut read = String::new();
    loop {
        match chars.next().ok_or(OPEN)? {
            '\'' if mark == '\'' && chars.as_str().starts_with('\'') => {
                chars.next();
                read.push('\'');
            }
            c if c == mark => return Ok((read, chars.as_str())),
            '\\' if mark == '"' => read.push(match chars.next().ok_or(OPEN)? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '0' => '\0',
                'x' => coded(&mut chars, 2)?,
                'u' => coded(&mut chars, 4)?,
                'U' => coded(&mut chars, 8)?,
                c @ ('"' | '\\' | '/' | ' ') => c,
                _ => return Err("has an escape that is not known"),
            }),
            c => read.push(c),
        }
    }
}

fn coded(chars: &mut std::str::Chars<'_>, digits: usize) -> Result<char, &'static str> {
    let digits: String = chars.by_ref().take(digits).collect();
    let code = u32::from_str_radix(&digits, 16).ok();
    code.and_then(char::from_u32).ok_or("has an escape that is no character")
}

/// A text without the comment behind it.
pub(super) fn uncommented(text: &str) -> &str {
    if text.starts_with(['"', '\'', '[', '{']) {
        return text;
    }
    text.find(" #").and_then(|at| text.get(..at)).unwrap_or(text).trim_end()
}

/// A value without quotes.
fn plain(text: &str) -> Result<Value, &'static str> {
    if text.starts_with(['&', '*', '!', '%', '@', '`']) {
        return Err("has a value that must stand in quotes");
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
    })
}

/// A number, where a text is one and looks the same again: `007` and `1_000` are texts.
fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let leads = digits.bytes().next()?.is_ascii_digit()
        && (!digits.starts_with('0') || digits == "0" || digits.starts_with("0."));
    let fits = text.len() <= 24 && text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    (leads && fits)
        .then(|| serde_json::from_str::<serde_json::Number>(text).ok().map(Value::Number))
        .flatten()
}
