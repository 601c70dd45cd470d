//! The labelled texts: `docs.jsonl` and `pairs.jsonl`, with links taken transitively.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use covenant_team::title;
use covenant_team::work::Brief;
use serde_json::Value;

use crate::date;

/// The texts of one project, in order of creation.
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) docs: Vec<Doc>,
}

/// A text, and which others are the same work.
pub(crate) struct Doc {
    pub(crate) id: String,
    pub(crate) brief: Brief,
    pub(crate) title_key: String,
    /// Where its duplicates stand.
    pub(crate) duplicates: Vec<usize>,
}

/// All sets of a directory.
pub(crate) fn read(directory: &Path) -> Result<Vec<Set>, String> {
    let mut sets: BTreeMap<String, Vec<(i64, Doc)>> = BTreeMap::new();
    for Line { at, value } in lines(&directory.join("docs.jsonl"))? {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let needed =
            |key: &str| Some(text(key)).filter(|it| !it.is_empty()).ok_or(format!("{at}: no `{key}`"));
        let created = needed("created")?;
        let created = date::minutes(&created).ok_or(format!("{at}: `created` is no date: {created}"))?;
        let brief = Brief {
            title: needed("title")?,
            description: text("description"),
            scope: text("scope"),
            ..Brief::default()
        };
        let title_key = title::key(&brief.title);
        let doc = Doc { id: needed("id")?, title_key, brief, duplicates: Vec::new() };
        let set = sets.entry(needed("set")?).or_default();
        if set.iter().any(|(_, other)| other.id == doc.id) {
            return Err(format!("{at}: another line of its set has the id {}", doc.id));
        }
        set.push((created, doc));
    }
    let mut links: HashMap<String, Vec<(String, String)>> = HashMap::new();
    for Line { at, value } in lines(&directory.join("pairs.jsonl"))? {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let pair = (text("a"), text("b"));
        let set = sets.get(&text("set"));
        for id in [&pair.0, &pair.1] {
            if !set.is_some_and(|set| set.iter().any(|(_, doc)| doc.id == *id)) {
                return Err(format!("{at}: the set `{}` has no text `{id}`", text("set")));
            }
        }
        if value.get("label").is_none_or(|label| *label == 1) {
            links.entry(text("set")).or_default().push(pair);
        }
    }
    let set = |(name, mut docs): (String, Vec<(i64, Doc)>)| {
        docs.sort_by(|one, other| (one.0, &one.1.id).cmp(&(other.0, &other.1.id)));
        let mut docs: Vec<Doc> = docs.into_iter().map(|(_, doc)| doc).collect();
        link(&mut docs, links.get(&name).map_or(&[], Vec::as_slice));
        Set { name, docs }
    };
    Ok(sets.into_iter().map(set).collect())
}

/// A line of a file, and where it stands.
struct Line {
    at: String,
    value: Value,
}

fn lines(path: &Path) -> Result<Vec<Line>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let parse = |(line, text): (usize, &str)| {
        let at = format!("{}:{line}", path.display());
        let value = serde_json::from_str(text).map_err(|error| format!("{at}: {error}"))?;
        Ok(Line { at, value })
    };
    (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()).map(parse).collect()
}

/// Joins what is linked, also by way of others.
fn link(docs: &mut [Doc], links: &[(String, String)]) {
    let places: HashMap<&str, usize> =
        docs.iter().enumerate().map(|(at, doc)| (doc.id.as_str(), at)).collect();
    let mut groups: Vec<usize> = (0..docs.len()).collect();
    for (one, other) in links {
        if let (Some(one), Some(other)) = (places.get(one.as_str()), places.get(other.as_str())) {
            let (from, to) = (groups.get(*one).copied(), groups.get(*other).copied());
            if let (Some(from), Some(to)) = (from, to) {
                groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
    }
    let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
    groups.iter().enumerate().for_each(|(at, group)| members.entry(*group).or_default().push(at));
    for (at, doc) in docs.iter_mut().enumerate() {
        let group = groups.get(at).and_then(|group| members.get(group));
        doc.duplicates = group.into_iter().flatten().copied().filter(|other| *other != at).collect();
    }
}
