//! The texts of `[agent]`: which must be there, and what makes one that can be used.

use covenant_model::manifest::tool_of;
use covenant_model::principal::Principal;
use covenant_model::tool::NAME_LIMIT;

use super::sheet::{Part, Sheet, quoted};

/// The most characters of a version, of a path, of a description.
const VERSION: usize = 128;
const PATH: usize = 4096;
const DESCRIPTION: usize = 4096;

/// `agent.id`.
pub(super) fn id<'t>(sheet: &mut Sheet<'t>, part: Part<'t>) -> Option<String> {
    const WRITE: &str = "name@host, such as `id = \"research@local\"`";
    let (text, at) = filled(sheet, part, "id", WRITE)?;
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    let why = if text.split_once('@').is_none_or(|(name, host)| name.is_empty() || host.is_empty()) {
        "is not of the form name@host"
    } else if text.split_once('@').is_none_or(|(name, host)| !plain(name) || !plain(host)) {
        "has other characters than letters, digits, `_`, `-` and `.` around one `@`"
    } else if text.parse::<Principal>().is_ok() {
        "is the person this home belongs to"
    } else if format!("agent:{text}").parse::<Principal>().is_err() {
        "is longer than 64 characters"
    } else {
        return Some(text);
    };
    sheet.wrong(at, format!("`agent.id` is {}, which {why}; write {WRITE}", quoted(&text)));
    None
}

/// `agent.name`.
pub(super) fn name<'t>(sheet: &mut Sheet<'t>, part: Part<'t>) -> Option<String> {
    let (text, at) = filled(sheet, part, "name", "a short name, such as `name = \"research\"`")?;
    printable(sheet, "name", &text, at)?;
    if tool_of(&text).len() > NAME_LIMIT {
        let most = NAME_LIMIT - tool_of("").len();
        sheet.wrong(
            at,
            format!(
                "`agent.name` is {}, and so long that no tool can be named after it; write at most {most} characters",
                quoted(&text)
            ),
        );
        return None;
    }
    Some(text)
}

/// `agent.version`.
pub(super) fn version<'t>(sheet: &mut Sheet<'t>, part: Part<'t>) -> Option<String> {
    let (text, at) = filled(sheet, part, "version", "a version in quotes, such as `version = \"0.1.0\"`")?;
    printable(sheet, "version", &text, at)?;
    at_most(sheet, "version", text, at, VERSION)
}

/// `agent.entry`.
pub(super) fn entry<'t>(sheet: &mut Sheet<'t>, part: Part<'t>) -> Option<String> {
    let write = "the path of the program or script, such as `entry = \"main.py\"`";
    let (text, at) = filled(sheet, part, "entry", write)?;
    printable(sheet, "entry", &text, at)?;
    at_most(sheet, "entry", text, at, PATH)
}

/// `agent.description`, which need not be there.
pub(super) fn description<'t>(sheet: &mut Sheet<'t>, part: Part<'t>) -> Option<String> {
    let (text, at) = sheet.text(part, "description", "a text in quotes, or leave it out")?;
    at_most(sheet, "description", text.to_owned(), at, DESCRIPTION)
}

/// A text that must be there and say something.
fn filled<'t>(sheet: &mut Sheet<'t>, part: Part<'t>, key: &str, write: &str) -> Option<(String, usize)> {
    sheet.missing(part, key, write);
    let (text, at) = sheet.text(part, key, write)?;
    if text.trim().is_empty() {
        sheet.wrong(at, format!("`agent.{key}` is empty; write {write}"));
        return None;
    }
    Some((text.to_owned(), at))
}

/// Notes a text with characters that nobody can see.
fn printable(sheet: &mut Sheet<'_>, key: &str, text: &str, at: usize) -> Option<()> {
    if text.chars().any(char::is_control) {
        let shown = quoted(text);
        sheet.wrong(at, format!("`agent.{key}` is {shown}, which has control characters; leave them out"));
        return None;
    }
    Some(())
}

/// Notes a text that is too long.
fn at_most(sheet: &mut Sheet<'_>, key: &str, text: String, at: usize, most: usize) -> Option<String> {
    if text.chars().nth(most).is_some() {
        sheet.wrong(at, format!("`agent.{key}` is longer than {most} characters; shorten it"));
        return None;
    }
    Some(text)
}
