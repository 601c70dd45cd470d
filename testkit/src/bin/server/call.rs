//! What each tool does.

use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{Body, Request, Server, error};
use crate::{era, faults};

/// Long enough for any test.
const FOREVER: Duration = Duration::from_mins(10);

/// Runs the tool that a request names.
pub(crate) fn call(server: &Server, request: &Request<'_>) -> Body {
    let none = Value::Null;
    let arguments = request.params.get("arguments").unwrap_or(&none);
    let name = request.params.get("name").and_then(Value::as_str).unwrap_or_default();
    let given = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
    match name {
        "echo" => text(given("text")),
        "add" => Some(Ok(add(arguments))),
        "slow" => slow(server, request, number("steps").unwrap_or(3), number("ms").unwrap_or(10)),
        "env" => text(&std::env::var(given("name")).unwrap_or_else(|_| "(unset)".to_owned())),
        "read" => text(&std::fs::read_to_string(given("path")).unwrap_or_else(|error| error.to_string())),
        "self" => Some(Ok(myself())),
        "more" => {
            server.change(given("name"));
            text("changed")
        }
        "blocks" => Some(Ok(blocks())),
        "region" => text(given("region")),
        "fail" => {
            Some(Ok(json!({"content": [{"type": "text", "text": "it cannot be done"}], "isError": true})))
        }
        "refuse" => Some(Err(error(-32_001, "the server says no"))),
        "ask" => Some(Ok(asked(server, request))),
        "crash" => faults::die("crash"),
        "hang" => {
            server.wait(request, FOREVER);
            None
        }
        "huge" => {
            let answer = json!({ "id": request.id });
            faults::huge(request.mouth, &answer, number("megabytes").unwrap_or(50));
            None
        }
        "leak" => leak(given("name")),
        "flaky_read" | "flaky_write" => flaky(name),
        other => text(&format!("{other} of {}", server.manner.name())),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "most tools answer with this")]
fn text(text: &str) -> Body {
    Some(Ok(json!({"content": [{"type": "text", "text": text}]})))
}

fn structured(value: &Value) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value})
}

fn add(arguments: &Value) -> Value {
    let number = |key: &str| arguments.get(key).and_then(Value::as_f64).unwrap_or_default();
    structured(&json!({"sum": number("a") + number("b")}))
}

fn slow(server: &Server, request: &Request<'_>, steps: u64, ms: u64) -> Body {
    let token = request.params.pointer("/_meta/progressToken");
    for step in 1..=steps {
        if !server.wait(request, Duration::from_millis(ms)) {
            return None;
        }
        if let Some(token) = token {
            let params = json!({"progressToken": token, "progress": step, "total": steps, "message": format!("step {step}")});
            request
                .mouth
                .say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        }
    }
    text(&format!("{steps} steps"))
}

fn myself() -> Value {
    let words: Vec<String> = std::env::args().collect();
    let cwd = std::env::current_dir().unwrap_or_default();
    structured(&json!({"pid": std::process::id(), "cwd": cwd, "words": words}))
}

/// Every kind of block, with members that nobody asked about.
fn blocks() -> Value {
    let pixel = "iVBORw0KGgo=";
    json!({
        "content": [
            {"type": "text", "text": "ünïcode \u{1F600}", "annotations": {"audience": ["user"], "priority": 0.5}},
            {"type": "image", "data": pixel, "mimeType": "image/png"},
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "test://one", "mimeType": "text/plain", "text": "inside"}},
            {"type": "resource_link", "uri": "test://two", "name": "two", "title": "Two"},
            {"type": "text", "text": "", "_meta": {"example.org/kept": 1}},
        ],
        "structuredContent": {"z": 1, "a": [null, true, 1.5, 12_345_678_901_234_567_890_u64], "m": {}},
        "isError": false,
        "_meta": {"example.org/result": "kept"},
    })
}

/// Servers of the modern era cannot ask.
fn asked(server: &Server, request: &Request<'_>) -> Value {
    if request.era == era::Era::Modern {
        return structured(&Value::Null);
    }
    let ping = server.ask(request, "are-you-there", "ping");
    let odd = server.ask(request, "odd", "nobody/knows");
    structured(&json!({"ping": ping, "odd": odd}))
}

/// Says a value by all of its ways out.
fn leak(name: &str) -> Body {
    let value = std::env::var(name).unwrap_or_default();
    eprintln!("the value of {name} is {value}");
    println!("the value of {name} is {value}");
    text(&format!("the value is {value}"))
}

/// Ends the server the first time, and answers the second.
fn flaky(name: &str) -> Body {
    let Some(path) = std::env::var_os("SERVER_STATE") else { return text("nothing remembers") };
    let path = std::path::Path::new(&path).with_extension(name);
    if path.exists() {
        return text("the second time");
    }
    // If it cannot be remembered, the next call dies as well, and the test says so.
    let _ = std::fs::write(path, "");
    faults::die(name)
}
