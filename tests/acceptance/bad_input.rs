//! Broken and hostile input on stdio: the documented error or a closed connection, and everyone else is served.

use covenant_testkit::{Home, StdioClient};
use serde_json::{Value, json};

use crate::unhurried;

/// A client that must be served whatever others do.
fn bystander(home: &Home) -> StdioClient {
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let mut client = home.mcp();
    client.initialize();
    client
}

#[track_caller]
fn is_served(client: &mut StdioClient) {
    assert_eq!(client.call("echo", json!({"text": "here"}))["result"]["content"][0]["text"], "here");
}

#[test]
fn nesting_ten_thousand_deep_is_a_parse_error() {
    let home = unhurried();
    let _daemon = home.up();
    let mut other = bystander(&home);
    let mut client = home.mcp();
    for deep in ["[".repeat(10_000), format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000))] {
        client.send_raw(format!("{deep}\n").as_bytes());
        assert_eq!(client.receive()["error"]["code"], -32700);
    }
    is_served(&mut client);
    is_served(&mut other);
}

#[test]
fn a_line_over_the_limit_is_refused_and_the_next_is_served() {
    let home = unhurried();
    let _daemon = home.up();
    let mut other = bystander(&home);
    let mut client = home.mcp();
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":\"{}\"}}}}\n",
        "x".repeat(5_000_000)
    );
    client.send_raw(long.as_bytes());
    let answer = client.receive();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("4194304"), "{answer}");
    is_served(&mut client);
    is_served(&mut other);
}

#[test]
fn bytes_that_are_not_utf8_are_a_parse_error() {
    let home = unhurried();
    let _daemon = home.up();
    let mut client = bystander(&home);
    client.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\xfeng\"}\n");
    assert_eq!(client.receive()["error"]["code"], -32700);
    is_served(&mut client);
}

#[test]
fn half_a_message_and_silence_holds_nobody_up() {
    let home = unhurried();
    let _daemon = home.up();
    let mut other = bystander(&home);
    let mut silent = home.mcp();
    silent.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    is_served(&mut other);
    // The rest arrives late and is answered.
    silent.send_raw(b"od\":\"ping\"}\n");
    assert_eq!(silent.receive()["id"], 1);
    silent.send_raw(b"{\"jsonrpc\":");
    assert_eq!(silent.close(), 0, "and one that never finishes ends with its input");
    is_served(&mut other);
}

#[test]
fn a_client_that_never_reads_holds_nobody_up() {
    let home = unhurried();
    let _daemon = home.up();
    let mut other = bystander(&home);
    let mut deaf = home.command(&["--mcp"]).deaf();
    let text = "x".repeat(100_000);
    let call = json!({"jsonrpc": "2.0", "id": "d", "method": "tools/call", "params": {"name": "echo", "arguments": {"text": text}}});
    // More than any pipe, socket or queue between us holds: at some point the daemon stops taking it.
    let taken = deaf
        .write_until_full(format!("{}\n", call.to_string().replace("\"d\"", "0")).as_bytes(), 100_000_000);
    assert!(taken < 100_000_000, "a client that never reads must be held back");
    is_served(&mut other);
}

#[test]
fn requests_without_an_id_and_unknown_notifications_are_not_answered() {
    let home = unhurried();
    let _daemon = home.up();
    let mut client = bystander(&home);
    client.send(&json!({"jsonrpc": "2.0", "method": "tools/list"}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/never-heard-of"}));
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 999}}));
    client.send(&json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    client.send(&json!({"jsonrpc": "2.0", "id": 6, "method": "ping"}));
    assert_eq!(client.receive()["id"], 6, "the first answer is that of the first real request");
}

/// Whatever bytes come, each line that is a request gets one answer and nothing else breaks.
#[test]
fn a_thousand_mutated_lines_leave_the_daemon_standing() {
    let home = unhurried();
    let _daemon = home.up();
    let mut other = bystander(&home);
    let mut client = home.mcp();
    let seed = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}}).to_string();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut lines = Vec::new();
    for _ in 0..1000 {
        let mut line = seed.clone().into_bytes();
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let place = usize::try_from(state >> 8).unwrap() % line.len();
            let byte = u8::try_from(state & 0xff).unwrap();
            line[place] = if byte == b'\n' { b' ' } else { byte };
        }
        line.push(b'\n');
        lines.extend(line);
    }
    client.send_raw(&lines);
    client.send(&json!({"jsonrpc": "2.0", "id": "last", "method": "ping"}));
    let mut answers = 0;
    loop {
        let answer: Value = client.receive();
        answers += 1;
        if answer["id"] == "last" {
            break;
        }
    }
    assert!(answers <= 1001, "{answers}");
    is_served(&mut other);
}
