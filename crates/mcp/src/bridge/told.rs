//! How a call is answered where no daemon answers it: as its tool would, so that the agent reads what happened and what to do.

use covenant_model::envelope::Envelope;
use serde_json::{Value, json};

use crate::era::Era;
use crate::message::Id;

/// An answer in the shape of an envelope, about a call that failed.
pub(super) fn failed(id: &Id, era: Era, envelope: &Envelope) -> String {
    result(id, era, &envelope.to_text(), &envelope.to_value(), true)
}

/// A result of a tool that says the same in its text and in its structure.
pub(super) fn result(id: &Id, era: Era, text: &str, structured: &Value, failed: bool) -> String {
    let mut result = json!({
        "content": [{ "type": "text", "text": text }],
        "structuredContent": structured,
        "isError": failed,
    });
    if let (Era::Modern, Some(members)) = (era, result.as_object_mut()) {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}
