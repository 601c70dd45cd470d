//! The two eras of the protocol: which one a message is of, and what a result says in each.

use serde_json::{Map, Value, json};

use crate::manner::Manner;

/// The stateless revision.
pub(crate) const MODERN: &str = "2026-07-28";

/// The revisions with a handshake, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// An era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With a handshake.
    Legacy,
    /// Every request stands for itself.
    Modern,
}

/// The era of a message.
pub(crate) fn of(message: &Value) -> Era {
    let version = message.pointer("/params/_meta").and_then(|meta| meta.get(VERSION));
    if version.is_some() { Era::Modern } else { Era::Legacy }
}

/// The revision a handshake agrees on.
pub(crate) fn agreed(wanted: Option<&str>) -> &str {
    wanted.filter(|wanted| LEGACY.contains(wanted)).unwrap_or("2025-11-25")
}

/// The answer to `initialize`.
pub(crate) fn hello(manner: &Manner, wanted: Option<&str>) -> Value {
    json!({
        "protocolVersion": agreed(wanted),
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": info(manner),
    })
}

/// The answer to `server/discover`.
pub(crate) fn discovery() -> Value {
    json!({
        "supportedVersions": [MODERN],
        "capabilities": {"tools": {"listChanged": true}},
        "ttlMs": 1000,
        "cacheScope": "private",
    })
}

fn info(manner: &Manner) -> Value {
    json!({"name": manner.name(), "version": "1.0.0"})
}

/// A result as the era wants it.
pub(crate) fn dressed(era: Era, manner: &Manner, method: &str, mut result: Value) -> Value {
    let Some(members) = result.as_object_mut().filter(|_| era == Era::Modern) else { return result };
    members.entry("resultType").or_insert(json!("complete"));
    if method == "tools/list" {
        members.insert("ttlMs".to_owned(), json!(0));
        members.insert("cacheScope".to_owned(), json!("private"));
    }
    let meta = members.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), info(manner));
    }
    result
}
