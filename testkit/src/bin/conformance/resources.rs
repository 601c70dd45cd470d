//! The resources of the suite: a text, some bytes, a template, and one that is watched.

use covenant_gate::Context;
use covenant_gate::provider::{NotProvided, Provided, Resources};
use serde_json::{Map, Value, json};

use crate::tools::PIXEL;

/// The one that changes.
pub(crate) const WATCHED: &str = "test://watched-resource";

/// All of them.
pub(crate) struct Fixtures;

impl Resources for Fixtures {
    fn name(&self) -> &'static str {
        "conformance"
    }

    fn list(&self) -> Vec<Value> {
        let entry = |uri: &str, kind: &str| {
            let name = uri.trim_start_matches("test://");
            json!({"uri": uri, "name": name, "description": format!("The fixture {name}"), "mimeType": kind})
        };
        vec![
            entry("test://static-text", "text/plain"),
            entry("test://static-binary", "image/png"),
            entry("test://example-resource", "text/plain"),
            entry(WATCHED, "text/plain"),
        ]
    }

    fn templates(&self) -> Vec<Value> {
        vec![json!({
            "uriTemplate": "test://template/{id}/data",
            "name": "template",
            "description": "Data by its id",
            "mimeType": "application/json",
        })]
    }

    fn serves(&self, uri: &str) -> bool {
        contents(uri).is_some()
    }

    fn tells_updates(&self) -> bool {
        true
    }

    fn read<'a>(&'a self, uri: &'a str, _: &'a Context) -> Provided<'a> {
        let found =
            contents(uri).map(|contents| Map::from_iter([("contents".to_owned(), json!([contents]))]));
        Box::pin(async move { found.ok_or_else(|| NotProvided::NotFound(format!("resource `{uri}`"))) })
    }
}

fn contents(uri: &str) -> Option<Value> {
    let text = |text: &str| Some(json!({"uri": uri, "mimeType": "text/plain", "text": text}));
    match uri {
        "test://static-text" => text("This is the content of the static text resource."),
        "test://static-binary" => Some(json!({"uri": uri, "mimeType": "image/png", "blob": PIXEL})),
        "test://example-resource" => text("This is the content of the example resource."),
        WATCHED => text("This is the content of the watched resource."),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            let there = !id.is_empty() && !id.contains('/');
            there.then(|| json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()}))
        }
    }
}
