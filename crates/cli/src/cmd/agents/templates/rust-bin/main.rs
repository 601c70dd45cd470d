//! AGENT_NAME: an agent to begin with. Build it with `cargo build --release`.
//!
//! The daemon starts this program once for each intent, in a sandbox of its own:
//!
//! - It gets one line of JSON on standard input:
//!   `{"id", "text", "issuer": {"display", "pubkey"}, "issued_at", "priority", "parent"}`
//! - It writes one line of JSON on standard output, and nothing else:
//!   `{"intent_id", "status": "ok" or "error", "text", "sources": [...]}`
//! - Standard error goes to the daemon's log.
//! - It ends by itself, with exit code 0, before `cpu_ms_per_task` is over.
//!
//! Tools are called over HTTP: `COVENANT_URL` is where the daemon is, and
//! `COVENANT_TOKEN` is good until this run ends. What may be called is what the
//! manifest names, of that what whoever sent the intent may call.

use std::env;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{json, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let intent: Value = serde_json::from_str(&line)?;
    let (text, sources) = work(&intent);
    let answer = json!({
        "intent_id": intent["id"],
        "status": "ok",
        "text": text,
        "sources": sources,
    });
    writeln!(io::stdout(), "{answer}")?;
    Ok(())
}

/// Does what is wanted: a text, and where it comes from.
fn work(intent: &Value) -> (String, Vec<&'static str>) {
    let told = format!("You said: {}", intent["text"].as_str().unwrap_or_default());
    match call_tool("clock", json!({})).and_then(|text| milliseconds(&text)) {
        Ok(now) => (format!("{told}. It is {now} milliseconds after 1970."), vec!["tool:clock"]),
        Err(error) => {
            // A tool that is refused is no reason to give up: say what is known without it.
            eprintln!("clock: {error}");
            (format!("{told}. I may not look at the clock: {error}"), Vec::new())
        }
    }
}

/// What the clock says.
fn milliseconds(text: &str) -> Result<u64, Box<dyn Error>> {
    let answer: Value = serde_json::from_str(text)?;
    answer["epoch_ms"].as_u64().ok_or_else(|| "the clock says nothing".into())
}

/// Calls a tool through the daemon, and gives back the text it answers.
fn call_tool(name: &str, arguments: Value) -> Result<String, Box<dyn Error>> {
    let request = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    });
    let answer: Value = serde_json::from_str(&post("/mcp", &request.to_string())?)?;
    if let Some(error) = answer.get("error") {
        return Err(error["message"].as_str().unwrap_or("the call was refused").into());
    }
    let result = &answer["result"];
    let parts = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    let text = texts.join("\n");
    if result["isError"] == true {
        return Err(text.into());
    }
    Ok(text)
}

/// Sends a text to the daemon, and gives back what it answers.
fn post(path: &str, body: &str) -> Result<String, Box<dyn Error>> {
    let (url, token) = (env::var("COVENANT_URL")?, env::var("COVENANT_TOKEN")?);
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let length = body.len();
    // HTTP/1.0: the answer comes in one piece, and then the connection is closed.
    write!(
        stream,
        "POST {path} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((_, body)) => Ok(body.to_owned()),
        None => Err("the daemon did not answer in HTTP".into()),
    }
}
