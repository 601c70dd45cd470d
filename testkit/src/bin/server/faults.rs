//! What a bad server writes in place of, before or after a good answer.

use serde_json::{Value, json};

use crate::server::Mouth;

/// How many notifications are a flood.
const FLOOD: u64 = 20_000;

/// Ends the program with a status of its own and a last word.
pub(crate) fn die(at: &str) -> ! {
    eprintln!("warming up");
    eprintln!("fatal: told to die at {at}");
    std::process::exit(7)
}

/// Says an answer the way that fault has it.
pub(crate) fn say(mouth: &dyn Mouth, fault: Option<&str>, answer: &Value) {
    match fault {
        Some("never") => {}
        Some("wrong-id") => mouth.say(&with("id", json!(987_654_321), answer)),
        Some("twice") => {
            mouth.say(answer);
            mouth.say(answer);
        }
        Some("garbage") => {
            garbage(mouth);
            mouth.say(answer);
            garbage(mouth);
        }
        Some("flood") => {
            flood(mouth);
            mouth.say(answer);
        }
        Some("huge") => huge(mouth, answer, 50),
        Some("shapeless") => mouth.say(&with("result", json!("no object"), answer)),
        Some("error") => {
            let id = answer.get("id").cloned().unwrap_or_default();
            mouth.say(
                &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32_603, "message": "told to fail"}}),
            );
        }
        _ => mouth.say(answer),
    }
}

fn with(key: &str, value: Value, message: &Value) -> Value {
    let mut changed = message.clone();
    if let Some(members) = changed.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
    changed
}

/// Lines that are no message, or none that was asked for.
pub(crate) fn garbage(mouth: &dyn Mouth) {
    mouth.raw(b"Server listening on stdio (this line has no place here)");
    mouth.raw(b"");
    mouth.raw(b"\xff\xfe\x00 not utf-8 {\"jsonrpc\"");
    mouth.raw(b"{\"jsonrpc\":\"2.0\",\"id\":");
    mouth.raw(b"[1, 2, 3]");
    mouth.raw(b"null");
    mouth.raw("[".repeat(5_000).as_bytes());
    mouth.raw(br#"{"jsonrpc":"2.0","id":"nobody asked","result":{}}"#);
    mouth.raw(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#);
    mouth.raw(br#"{"jsonrpc":"2.0","method":"notifications/never-heard-of","params":[]}"#);
    mouth.raw(br#"{"jsonrpc":"1.0","method":5}"#);
}

fn flood(mouth: &dyn Mouth) {
    for number in 0..FLOOD {
        let message = match number % 3 {
            0 => {
                json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": number}})
            }
            1 => json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
            _ => {
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "nobody's", "progress": number}})
            }
        };
        mouth.say(&message);
    }
}

/// The answer, with a text of so many million bytes in place of its content.
pub(crate) fn huge(mouth: &dyn Mouth, answer: &Value, megabytes: u64) {
    let id = answer.get("id").cloned().unwrap_or_default();
    let length = usize::try_from(megabytes.saturating_mul(1_000_000)).unwrap_or_default();
    let text = "x".repeat(length);
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#);
    mouth.raw(format!("{head}{text}\"}}]}}}}").as_bytes());
}
