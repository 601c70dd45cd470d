//! The lists of `[capabilities]`: actions, and in which namespaces they lie.

use covenant_model::action::ActionPattern;
use covenant_model::manifest::NAMESPACES;
use toml_edit::{Item, Value};

use super::sheet::{Part, Sheet, either, quoted};

/// The most actions of one list: each is looked up, and put on record, whenever the agent is run.
const MOST: usize = 128;

/// The actions of a list, each once. What is none, or lies elsewhere, is noted.
pub(super) fn list<'t>(sheet: &mut Sheet<'t>, part: Part<'t>, key: &str) -> Vec<ActionPattern> {
    let Some(item) = part.table.and_then(|table| table.get(key)) else { return Vec::new() };
    let at = item.span().map_or(0, |span| span.start);
    let write = format!("a list of actions, such as `{key} = [\"tool.web_search\"]`");
    let Some(written) = item.as_array() else {
        let found = sheet.found(item);
        sheet.wrong(at, format!("`capabilities.{key}` is {found}; write {write}"));
        return Vec::new();
    };
    if written.len() > MOST {
        let many = written.len();
        let reason = format!("`capabilities.{key}` has {many} actions; write at most {MOST}");
        sheet.wrong(at, format!("{reason}, or a pattern such as \"tool.call.github__*\""));
        return Vec::new();
    }
    let mut actions = Vec::new();
    for value in written {
        let at = value.span().map_or(at, |span| span.start);
        match action(sheet, value) {
            Ok(action) if !actions.contains(&action) => actions.push(action),
            Ok(_) => {}
            Err(reason) => sheet.wrong(at, format!("`capabilities.{key}` holds {reason}")),
        }
    }
    actions
}

/// One of them, or the end of a sentence about what it is.
fn action(sheet: &Sheet<'_>, value: &Value) -> Result<ActionPattern, String> {
    let Some(text) = value.as_str() else {
        let found = sheet.found(&Item::Value(value.clone()));
        return Err(format!("{found}; write each action in quotes, such as \"tool.web_search\""));
    };
    let lies_within = NAMESPACES.iter().any(|namespace| text.starts_with(namespace));
    if !lies_within {
        let namespaces = either(&NAMESPACES.map(|namespace| format!("`{namespace}`")));
        return Err(format!("{}; an action begins with {namespaces}", quoted(text)));
    }
    text.parse().map_err(|_| {
        format!(
            "{}, which is not an action; write dotted segments of letters, digits, `_` and `-`, of which only the \
             last may end in `*`, such as \"tool.call.echo\"",
            quoted(text)
        )
    })
}
