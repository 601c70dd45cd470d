//! Pictures, sounds and other bytes of a result: they travel as base64, and base64 with a piece replaced is none. Where some hold a secret, the result
//! is not given.

use std::borrow::Cow;

use covenant_model::redact::Redactor;
use serde_json::{Map, Value};

/// Where the blocks of a result stand: a tool's, a resource's, a prompt's. What a tool structures itself is text.
const PLACES: [&str; 3] = ["content", "contents", "messages"];

/// Why a result is not given, where some of its bytes hold a secret.
pub(super) fn withheld(json: &str, redactor: &Redactor) -> Option<String> {
    let result: Map<String, Value> = serde_json::from_str(json).ok()?;
    PLACES.iter().filter_map(|place| result.get(*place)).find_map(|blocks| among(blocks, redactor))
}

fn among(value: &Value, redactor: &Redactor) -> Option<String> {
    match value {
        Value::Array(items) => items.iter().find_map(|item| among(item, redactor)),
        Value::Object(block) => {
            of(block, redactor).or_else(|| block.values().find_map(|member| among(member, redactor)))
        }
        _ => None,
    }
}

fn of(block: &Map<String, Value>, redactor: &Redactor) -> Option<String> {
    let text = |member: &str| block.get(member).and_then(Value::as_str);
    let (bytes, name) = match text("type") {
        Some("image") => (text("data")?, "the image"),
        Some("audio") => (text("data")?, "the audio"),
        _ => (text("blob")?, text("uri").unwrap_or("the resource")),
    };
    let Cow::Owned(redacted) = redactor.redact(bytes) else { return None };
    let secret = redacted.split_once("[REDACTED:").and_then(|(_, rest)| rest.split_once(']'))?.0;
    let name = redactor.redact(name);
    Some(format!("{name} holds the value of the secret {secret} and is not given"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `a secret!` as it stands in base64 behind one byte.
    const HIDDEN: &str = "/2Egc2VjcmV0IQ==";

    #[test]
    fn bytes_with_a_secret_are_withheld_wherever_they_stand() {
        let redactor = Redactor::new([("KEY", "a secret!")]);
        let resource = json!({"uri": "file:///a secret!/x", "blob": HIDDEN});
        let picture = json!({"type": "image", "mimeType": "image/png", "data": HIDDEN});
        let path = "file:///[REDACTED:KEY]/x";
        for (result, name) in [
            (
                json!({"content": [{"type": "text", "text": "x"}, {"type": "resource", "resource": resource}]}),
                path,
            ),
            (json!({"contents": [resource]}), path),
            (json!({"contents": [{"blob": HIDDEN}]}), "the resource"),
            (json!({"content": [picture]}), "the image"),
            (json!({"messages": [{"role": "user", "content": picture}]}), "the image"),
            (json!({"content": [{"type": "audio", "data": HIDDEN}]}), "the audio"),
        ] {
            let told = format!("{name} holds the value of the secret KEY and is not given");
            assert_eq!(withheld(&result.to_string(), &redactor), Some(told), "{result}");
        }
        for result in [
            json!({"content": [{"type": "text", "text": HIDDEN}]}),
            json!({"content": [{"type": "image", "data": "AAAA"}]}),
            json!({"content": [], "structuredContent": {"blob": HIDDEN}}),
            json!({"content": HIDDEN}),
            json!([HIDDEN]),
        ] {
            assert_eq!(withheld(&result.to_string(), &redactor), None, "{result}");
        }
    }
}
