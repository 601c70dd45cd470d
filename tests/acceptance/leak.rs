//! Secrets put into everything that can be said to the daemon, and then a search of every byte it said or wrote anywhere.
//!
//! This file has the ways that lead to no tool; `leak/tools.rs` has every tool, and what services may answer.

mod forms;
mod services;
mod stage;
mod tools;

use std::path::Path;

use serde_json::json;

use self::forms::{around, base64, hex};
use crate::unhurried;

fn secret(number: usize) -> String {
    format!("leak-{number:02}-{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

#[test]
fn no_byte_the_daemon_writes_holds_a_secret() {
    let home = unhurried();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[logging]\nlevel = \"debug\"\n");
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    for number in 0..50 {
        home.command(&["secrets", "set", &format!("LEAK_{number}")]).input(secret(number)).run().ok();
    }
    let mut said = String::new();
    let mut client = home.mcp();
    client.initialize();
    for number in 0..50 {
        let secret = secret(number);
        let forms = [
            secret.clone(),
            hex(&secret),
            base64(&secret),
            base64(&format!("x{secret}")),
            base64(&format!("xy{secret}")),
        ];
        for form in &forms {
            let mut keyed = serde_json::Map::new();
            keyed.insert(form.clone(), json!(form));
            let answers = [
                client.call("echo", json!({"text": format!("before {form} after")})),
                client.call("echo", json!({"text": 5, "more": form})),
                client.call("echo", json!(keyed)),
                client.call(form, json!({})),
                client.request(form, json!({})),
                client.request("tools/list", json!({"cursor": form})),
                client.request("logging/setLevel", json!({"level": form})),
            ];
            said.extend(answers.iter().map(ToString::to_string));
        }
        client.send_raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{secret}\",\"oops\n").as_bytes());
        said.push_str(&client.receive().to_string());
        let (arguments, action) = (format!("{{\"text\":\"{secret}\"}}"), format!("tool.call.{secret}"));
        for arguments in [
            vec!["tools", "call", "echo", "--args", &arguments],
            vec!["tools", "call", &secret],
            vec!["tools", "show", &secret],
            vec!["capabilities", "explain", "client:x", &action, "--json"],
            vec!["audit", "recent", "--agent-id", &secret],
        ] {
            let ran = home.run(&arguments);
            said.push_str(&ran.stdout);
            said.push_str(&ran.stderr);
        }
    }
    for arguments in [
        &["secrets", "list", "--json"][..],
        &["config", "show"],
        &["config", "show", "--json"],
        &["status", "--json"],
        &["doctor"],
        &["audit", "recent", "-n", "100000", "--json"],
        &["tools", "list", "--json"],
        &["logs", "-n", "100000"],
    ] {
        let ran = home.run(arguments);
        said.push_str(&ran.stdout);
        said.push_str(&ran.stderr);
    }
    said.push_str(&daemon.printed());
    daemon.stop();
    for number in 0..50 {
        for form in [secret(number), hex(&secret(number)), base64(&secret(number))] {
            assert!(!said.contains(&form), "LEAK_{number} was said: {}", around(&said, &form));
        }
    }
    files_without(&home.path());
}

/// A long secret that is quoted and cut leaves no piece behind: it is redacted before it is cut.
#[test]
fn no_piece_of_a_long_secret_is_said() {
    let home = unhurried();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[logging]\nlevel = \"debug\"\n");
    let daemon = home.up();
    let long: String =
        (0..200_u32).map(|n| char::from_digit((n * n * 7 + n * 3) % 36, 36).unwrap()).collect();
    home.command(&["secrets", "set", "LONG"]).input(long.clone()).run().ok();
    let mut said = String::new();
    let mut client = home.mcp();
    for text in [long.clone(), format!("{}{long}", "x".repeat(40)), format!("{}{long}", "y".repeat(110))] {
        let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": text, "io.modelcontextprotocol/clientCapabilities": {}}});
        said.push_str(&client.call(&text, json!({})).to_string());
        said.push_str(&client.request(&text, json!({})).to_string());
        said.push_str(&client.request("tools/list", meta).to_string());
        client.send_raw(format!("{{\"jsonrpc\":\"2.0\",\"{text}\":1,\"{text}\":2}}\n").as_bytes());
        said.push_str(&client.receive().to_string());
        let ran = home.run(&["tools", "show", &text]);
        said.push_str(&ran.stdout);
        said.push_str(&ran.stderr);
    }
    said.push_str(&daemon.printed());
    daemon.stop();
    for file in ["logs/covenant.log", "audit/000001.jsonl"] {
        said.push_str(&std::fs::read_to_string(home.path().join(file)).unwrap());
    }
    for start in 0..long.len() - 16 {
        let piece = &long[start..start + 16];
        assert!(!said.contains(piece), "{piece}: {}", around(&said, piece));
    }
}

/// Searches every file of the home but the one that holds the secrets on purpose.
fn files_without(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_without(&path);
        } else if path.is_file() && path.file_name().unwrap() != "secrets.toml" {
            let bytes = std::fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            for number in 0..50 {
                for form in [secret(number), hex(&secret(number)), base64(&secret(number))] {
                    assert!(
                        !text.contains(&form),
                        "LEAK_{number} stands in {}: {}",
                        path.display(),
                        around(&text, &form)
                    );
                }
            }
        }
    }
}
