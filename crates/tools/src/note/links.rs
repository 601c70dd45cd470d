//! Where a note leads: `[[Note#heading|alias]]`, `![[embeds]]`, and Markdown links to notes.

use serde_json::{Value, json};

use super::MOST;

/// The most bytes between the brackets of a link.
const LONGEST: usize = 1000;

/// A link to a note, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    /// What it names; empty for the note itself.
    pub target: String,
    /// The heading or block in there.
    pub heading: Option<String>,
    /// What it is shown as.
    pub alias: Option<String>,
    /// Whether what it names is shown in its place.
    pub embed: bool,
}

impl Link {
    /// As results have it, with the path of the note it leads to.
    pub fn told(&self, path: Option<&str>) -> Value {
        let mut told = json!({"target": self.target, "path": path, "embed": self.embed});
        if let Some(members) = told.as_object_mut() {
            for (name, value) in [("heading", &self.heading), ("alias", &self.alias)] {
                members.extend(value.as_deref().map(|value| (name.to_owned(), value.into())));
            }
        }
        told
    }
}

/// Takes the links that stand in values of the front matter.
pub(super) fn written(value: &Value, links: &mut Vec<Link>) {
    match value {
        Value::String(text) => inline(text, links),
        Value::Array(items) => items.iter().for_each(|item| written(item, links)),
        Value::Object(members) => members.values().for_each(|value| written(value, links)),
        _ => {}
    }
}

/// Takes the links that stand in a piece of text.
pub(super) fn inline(text: &str, links: &mut Vec<Link>) {
    let mut rest = text;
    while links.len() < MOST {
        let Some(at) = rest.find('[') else { return };
        let embed = rest.get(..at).is_some_and(|before| before.ends_with('!'));
        let after = rest.get(at + 1..).unwrap_or_default();
        let (link, next) = match after.strip_prefix('[') {
            Some(inside) => wiki(inside, embed),
            None => markdown(after, embed),
        }
        .map_or((None, after), |(link, next)| (link, next));
        links.extend(link);
        rest = next;
    }
}

/// A wikilink whose brackets were opened, and what follows it.
fn wiki(inside: &str, embed: bool) -> Option<(Option<Link>, &str)> {
    let (text, next) = inside.split_once("]]")?;
    if text.len() > LONGEST || text.contains('[') {
        return None;
    }
    let (named, alias) = match text.split_once('|') {
        // In a table the bar has a backslash before it.
        Some((named, alias)) => (named.strip_suffix('\\').unwrap_or(named), Some(alias)),
        None => (text, None),
    };
    Some((link(named, alias, embed), next))
}

/// A Markdown link whose first bracket was opened, and what follows it.
fn markdown(inside: &str, embed: bool) -> Option<(Option<Link>, &str)> {
    let (shown, after) = inside.split_once(']')?;
    let after = after.strip_prefix('(')?;
    let (address, next) = match after.strip_prefix('<') {
        Some(after) => {
            let (address, rest) = after.split_once('>')?;
            (address, rest.split_once(')')?.1)
        }
        None => after.split_once(')')?,
    };
    if address.len() > LONGEST {
        return None;
    }
    // A title may stand behind the address.
    let address = address.split_once(" \"").map_or(address, |(address, _)| address).trim();
    let named = address.split(['#', '?']).next().unwrap_or(address);
    let local = !address.contains("://") && covenant_model::note::without_md(named).len() < named.len();
    let decoded = if local { decoded(address) } else { None };
    Some((decoded.and_then(|address| link(&address, Some(shown), embed)), next))
}

fn link(named: &str, alias: Option<&str>, embed: bool) -> Option<Link> {
    let (target, heading) = match named.split_once('#') {
        Some((target, heading)) => (target, Some(heading.trim().to_owned())),
        None => (named, None),
    };
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let (target, heading) = (target.trim().to_owned(), heading.and_then(some));
    let alias = alias.map(|alias| alias.trim().to_owned()).and_then(some);
    let says_something = !target.is_empty() || heading.is_some();
    says_something.then_some(Link { target, heading, alias, embed })
}

/// `%20` and the like, as what they stand for.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}
