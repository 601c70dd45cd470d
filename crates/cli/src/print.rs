//! Output for people and machines: tables that fit the terminal, colour only on one, and no character in anybody's
//! data that moves the cursor, hides text or turns its direction.

mod progress;
mod table;

pub(crate) use covenant_model::visible::{block as escape_block, line as escape};
pub(crate) use progress::Progress;
pub(crate) use table::{Cell, Table};

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use covenant_model::visible::is_hidden;
use serde::Serialize;

use crate::exit::Failure;

/// How headings look.
const HEADING: Style = Style::new().bold();

/// Writes one line to standard output.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}

/// Writes bytes to standard output as they are.
pub(crate) fn raw(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}

/// Writes one JSON document to standard output: readable on a terminal, one line elsewhere.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = if std::io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    let text = text
        .map_err(|error| Failure::failed(format!("the answer could not be written as JSON: {error}"), ""))?;
    line(&if std::io::stdout().is_terminal() { escape_json(&text) } else { Cow::Borrowed(text.as_str()) })
}

/// Writes a JSON document as it came, its members in their order; on a terminal so that it can be read.
pub(crate) fn json_text(document: &[u8]) -> Result<(), Failure> {
    match serde_json::from_slice::<serde_json::Value>(document) {
        Ok(value) if std::io::stdout().is_terminal() => json(&value),
        // Not every sound document can be held.
        Err(_) if std::io::stdout().is_terminal() => {
            let text = String::from_utf8_lossy(document);
            raw(format!("{}\n", escape_json(text.trim_ascii_end())).as_bytes())
        }
        _ => raw(&[document.trim_ascii_end(), b"\n"].concat()),
    }
}

/// JSON that is still JSON, without the characters JSON leaves as they are and a terminal does not.
pub(crate) fn escape_json(text: &str) -> Cow<'_, str> {
    let hides = |character: char| is_hidden(character) && character != '\n';
    if !text.contains(hides) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if !hides(character) {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

/// Says something beside the answer, on standard error.
pub(crate) fn note(text: &str) {
    let mut err = anstream::stderr().lock();
    // Nowhere is left to say that standard error is closed.
    let _ = writeln!(err, "{}", escape_block(text));
}

/// Says something with styles of our own beside the answer, on standard error; what is in it is escaped already.
pub(crate) fn note_styled(text: &str) {
    // Nowhere is left to say that standard error is closed.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Says something a person should know, on standard error.
pub(crate) fn warn(text: &str) {
    let yellow = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
    let mut err = anstream::stderr().lock();
    let _ = writeln!(err, "{yellow}warning:{yellow:#} {}", escape_block(text));
}

/// Says several such things; of many that are alike, the first few, and the command that shows the others, where there is
/// one.
pub(crate) fn warn_all(warnings: &[String], others: &str) {
    let (shown, left_out) = first_few(warnings, 3);
    for warning in shown {
        warn(warning);
    }
    match (left_out, others) {
        (0, _) => {}
        (count, "") => warn(&format!("and {count} more like these")),
        (count, others) => warn(&format!("and {count} more like these; see them with: {others}")),
    }
}

/// The first of many, and how many are left out. One left over is as short as saying so.
pub(crate) fn first_few<T>(all: &[T], few: usize) -> (&[T], usize) {
    let shown = if all.len() > few + 1 { few } else { all.len() };
    (all.get(..shown).unwrap_or(all), all.len() - shown)
}

/// How many columns a text takes. Wide scripts and emoji take two each; that is all the care tables need.
fn columns(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

fn width_of(character: char) -> usize {
    match character {
        '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// Cuts a text to that many columns, with `…` where something is missing.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if columns(text) <= most {
        return Cow::Borrowed(text);
    }
    let mut taken = 0;
    let mut out: String = text
        .chars()
        .take_while(|&character| {
            taken += width_of(character);
            taken < most
        })
        .collect();
    out.push('…');
    Cow::Owned(out)
}

/// The width of the terminal that standard output is, if it is one.
pub(crate) fn terminal_width() -> Option<usize> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_col)).filter(|&width| width > 0)
}

/// Writes `name  value` lines, aligned, for one thing.
pub(crate) fn facts(facts: &[(&str, String)]) -> Result<(), Failure> {
    let widest = facts.iter().map(|(name, _)| columns(name)).max().unwrap_or_default();
    for (name, value) in facts {
        let gap = widest.saturating_sub(columns(name)) + 2;
        line(&format!("{HEADING}{name}{HEADING:#}{:gap$}{}", "", escape(value)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
