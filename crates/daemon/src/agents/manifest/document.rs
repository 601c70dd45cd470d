//! The whole of a manifest as JSON: every section as it is written, ours with what they leave out.

use covenant_model::manifest::Manifest;
use serde_json::{Map, Value, json};
use toml_edit::{Item, TableLike};

use super::sheet::{Sheet, short};

/// How deep tables and lists may be in one another.
const DEEPEST: usize = 64;

/// Everything that is written; nothing where something is nested too deeply, which is noted.
pub(super) fn written(sheet: &mut Sheet<'_>) -> Option<Map<String, Value>> {
    let mut document = Map::new();
    for (name, item) in sheet.root {
        let Some(value) = value(item, DEEPEST) else {
            let at = sheet.key(sheet.root, name);
            let name = short(name);
            sheet.wrong(at, format!("[{name}] has more than {DEEPEST} levels; write it flatter"));
            return None;
        };
        document.insert(name.to_owned(), value);
    }
    Some(document)
}

/// Adds what the manifest's own sections leave out.
pub(super) fn fill_in(manifest: &mut Manifest) {
    let usual = json!({
        "agent": {"description": manifest.description},
        "capabilities": {"required": manifest.required, "optional": manifest.optional},
        "resources": manifest.resources,
        "settlement": manifest.settlement,
        "sandbox": {"required": manifest.sandbox_required},
    });
    let Value::Object(sections) = usual else { return };
    for (name, keys) in sections {
        let section = manifest.document.entry(name).or_insert_with(|| Value::Object(Map::new()));
        let (Value::Object(section), Value::Object(keys)) = (section, keys) else { continue };
        for (key, value) in keys {
            section.entry(key).or_insert(value);
        }
    }
}

/// An item with at most so many levels below it.
fn value(item: &Item, deep: usize) -> Option<Value> {
    let below = deep.checked_sub(1)?;
    match item {
        Item::None => Some(Value::Null),
        Item::Value(one) => scalar(one, below),
        Item::Table(keys) => table(keys, below),
        Item::ArrayOfTables(list) => {
            list.iter().map(|keys| table(keys, below)).collect::<Option<_>>().map(Value::Array)
        }
    }
}

fn table(keys: &dyn TableLike, below: usize) -> Option<Value> {
    let members = keys.iter().map(|(key, item)| Some((key.to_owned(), value(item, below)?)));
    members.collect::<Option<_>>().map(Value::Object)
}

fn scalar(one: &toml_edit::Value, below: usize) -> Option<Value> {
    Some(match one {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        // JSON has no infinity, and nothing that is no number.
        toml_edit::Value::Float(number) => serde_json::Number::from_f64(*number.value())
            .map_or_else(|| Value::from(number.value().to_string()), Value::Number),
        toml_edit::Value::Boolean(flag) => Value::from(*flag.value()),
        toml_edit::Value::Datetime(date) => Value::from(date.value().to_string()),
        toml_edit::Value::InlineTable(keys) => return table(keys, below),
        toml_edit::Value::Array(list) => {
            let deep = below.checked_sub(1)?;
            return list.iter().map(|one| scalar(one, deep)).collect::<Option<_>>().map(Value::Array);
        }
    })
}
