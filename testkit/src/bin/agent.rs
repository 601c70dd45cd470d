//! An agent in Rust that does what its intent says: `say TEXT`, `tell`, or `calls [[METHOD, PARAMS], …]`.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let (line, rest) = input.split_once('\n').ok_or("no line")?;
    let intent: Value = serde_json::from_str(line)?;
    let wanted = intent.get("text").and_then(Value::as_str).unwrap_or_default();
    let (word, more) = wanted.split_once(' ').unwrap_or((wanted, ""));
    let text = match word {
        "tell" => told(line, rest)?.to_string(),
        "calls" => {
            let calls: Vec<(String, Value)> = serde_json::from_str(more)?;
            let answers: Outcome<Vec<Value>> =
                calls.iter().map(|(method, params)| ask(method, params)).collect();
            Value::from(answers?).to_string()
        }
        _ => more.to_owned(),
    };
    let answer = json!({
        "intent_id": intent.get("id"),
        "status": "ok",
        "text": text,
        "sources": ["https://example.com/one", "two"],
    });
    writeln!(std::io::stdout(), "{answer}")?;
    Ok(())
}

/// All that a run is told.
fn told(line: &str, rest: &str) -> Outcome<Value> {
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    Ok(json!({
        "line": format!("{line}\n"),
        "rest": rest,
        "words": std::env::args().collect::<Vec<_>>(),
        "program": std::env::current_exe()?,
        "directory": std::env::current_dir()?,
        "environment": environment,
    }))
}

/// What the daemon answers to a request of the protocol.
fn ask(method: &str, params: &Value) -> Outcome<Value> {
    let (url, token) = (std::env::var("COVENANT_URL")?, std::env::var("COVENANT_TOKEN")?);
    let host = url.trim_start_matches("http://");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let length = body.len();
    let mut stream = TcpStream::connect(host)?;
    write!(
        stream,
        "POST /mcp HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    Ok(serde_json::from_str(body)?)
}
