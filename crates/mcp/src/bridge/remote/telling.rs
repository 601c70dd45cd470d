//! How a trouble is told to whoever waits: a result of the tool for a call, an error of JSON-RPC for anything else.

use covenant_model::envelope::Envelope;
use serde_json::Value;

use super::super::told;
use super::exchange::Asked;
use super::road::Road;
use super::trouble::{Trouble, UNSURE};
use crate::message::Id;
use crate::reply::{INTERNAL_ERROR, RATE_LIMITED, RpcError, UNAUTHENTICATED, encode_error};

/// The answer to that request, as one line. The token is in none.
pub(super) fn answer(asked: &Asked, trouble: &Trouble, road: &Road) -> Vec<u8> {
    let line = match trouble {
        // What the origin said in the words of the protocol is passed on as it is.
        Trouble::Error(error) => {
            format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, asked.id)
        }
        Trouble::Enveloped(envelope, sound) if asked.is_call() => {
            let failed = !sound || is_error(envelope);
            told::result(&asked.id, asked.era, &envelope.to_string(), envelope, failed)
        }
        Trouble::Enveloped(envelope, _) => error(&asked.id, &enveloped(envelope)),
        trouble => {
            let told = trouble.told(road.origin(), road.has_token());
            if asked.is_call() {
                let doubt = if trouble.leaves_doubt() { format!(" {UNSURE}") } else { String::new() };
                let envelope = Envelope::error(told.message, told.action + &doubt);
                told::failed(&asked.id, asked.era, &envelope)
            } else {
                let message = format!("{} {}", told.message, told.action);
                error(&asked.id, &RpcError::new(code(trouble), message))
            }
        }
    };
    road.redacted(&line).into_bytes()
}

fn is_error(envelope: &Value) -> bool {
    serde_json::from_value::<Envelope>(envelope.clone()).is_ok_and(|known| known.status.is_error())
}

fn code(trouble: &Trouble) -> i32 {
    match trouble {
        Trouble::Refused(refused) if refused.status == 401 => UNAUTHENTICATED,
        Trouble::Refused(refused) if refused.status == 429 => RATE_LIMITED,
        Trouble::Crowded => RATE_LIMITED,
        _ => INTERNAL_ERROR,
    }
}

/// What a tool's envelope says, as an error.
fn enveloped(envelope: &Value) -> RpcError {
    let text = |pointer| envelope.pointer(pointer).and_then(Value::as_str);
    let words = [text("/message"), text("/feedback/required_action")];
    let message = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    RpcError { data: Some(envelope.clone()), ..RpcError::new(INTERNAL_ERROR, message) }
}

fn error(id: &Id, error: &RpcError) -> String {
    let mut line = Vec::new();
    encode_error(Some(id), error, &mut line);
    String::from_utf8(line).unwrap_or_default()
}
