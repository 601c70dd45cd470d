//! An entry as it is written into a file: the keys that differ from their defaults, in the documented order.

use covenant_model::server::{Entry, SandboxEntry};
use serde_json::{Map, Value};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table};

use crate::servers::entry::KEYS;

/// The entry as a table; none where it holds something that TOML cannot say.
pub(super) fn table(entry: &Entry) -> Option<Table> {
    let (all, defaults) = (object(entry)?, object(&Entry::default())?);
    let mut table = Table::new();
    for (key, _) in KEYS {
        let Some(value) = all.get(*key) else { continue };
        if Some(value) == defaults.get(*key) && *key != "name" {
            continue;
        }
        let value = match (*key, value) {
            ("sandbox", Value::Object(sandbox)) => Value::Object(trimmed(sandbox)?),
            _ => value.clone(),
        };
        table.insert(key, Item::Value(toml(&value)?));
    }
    Some(table)
}

/// The table as a file holds it.
pub(super) fn text(table: Table) -> String {
    let mut servers = ArrayOfTables::new();
    servers.push(table);
    let mut mcp = Table::new();
    mcp.set_implicit(true);
    mcp.insert("servers", Item::ArrayOfTables(servers));
    let mut document = DocumentMut::new();
    document.insert("mcp", Item::Table(mcp));
    document.to_string()
}

fn object(value: &impl serde::Serialize) -> Option<Map<String, Value>> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

fn trimmed(sandbox: &Map<String, Value>) -> Option<Map<String, Value>> {
    let defaults = object(&SandboxEntry::default())?;
    let other = sandbox.iter().filter(|(key, value)| defaults.get(*key) != Some(value));
    Some(other.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn toml(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_i64()?.into(),
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => {
            let values: Option<Array> = values.iter().map(toml).collect();
            values?.into()
        }
        Value::Object(values) => {
            let mut table = InlineTable::new();
            for (key, value) in values {
                table.insert(key, toml(value)?);
            }
            table.into()
        }
    })
}
