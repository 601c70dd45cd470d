//! What a script costs that returns at once: a call through the daemon, its sandboxed child included, beside the same call
//! of a tool that needs no child, and a script that calls a tool in turn. `scripts 50` makes fifty rounds instead.

#![expect(clippy::expect_used, reason = "a benchmark stops when it cannot run")]

use std::time::{Duration, Instant};

use covenant_bench::{line, median, process};
use covenant_testkit::{Home, StdioClient};
use serde_json::{Value, json};

/// Rounds, where nothing else is said.
const ROUNDS: usize = 200;

/// Rounds before anything counts.
const WARM: usize = 10;

const CONFIG: &str = "\
[rate_limit]
rate = 0
[scripts]
allowlist = [\"nothing\", \"calls\"]
";

fn main() {
    let rounds = std::env::args().nth(1).map_or(ROUNDS, |count| count.parse().expect("how many rounds?"));
    let covenant = std::env::current_exe().expect("this program").with_file_name("covenant");
    assert!(covenant.is_file(), "build it first: cargo build --release");
    let home = Home::new(&covenant);
    home.write("config.toml", CONFIG);
    home.write("scripts/nothing.star", "result = 1\n");
    home.write("scripts/calls.star", "def main():\n    return tools.call(\"echo\", {\"text\": \"hi\"})\n");
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.*"]).ok();
    let mut client = home.mcp();
    client.initialize();
    let ways = [
        ("echo, for comparison", "echo", json!({"text": "hi"}), ""),
        ("a script that returns at once", "script_run", json!({"name": "nothing"}), "at most 25 ms"),
        ("a script that calls a tool", "script_run", json!({"name": "calls"}), ""),
    ];
    let mut times: [Vec<Duration>; 3] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    for round in 0..rounds + WARM {
        for ((_, tool, arguments, _), times) in ways.iter().zip(&mut times) {
            let time = once(&mut client, tool, arguments);
            if round >= WARM {
                times.push(time);
            }
        }
    }
    for ((what, _, _, goal), times) in ways.into_iter().zip(times) {
        line(what, &format!("{:.2} ms", median(times).as_secs_f64() * 1e3), goal);
    }
    let resident = process::resident(daemon.pid());
    line(&format!("resident memory after {} runs", 2 * (rounds + WARM)), &format!("{resident:.1} MiB"), "");
}

fn once(client: &mut StdioClient, tool: &str, arguments: &Value) -> Duration {
    let begun = Instant::now();
    let answer = client.call(tool, arguments.clone());
    let time = begun.elapsed();
    assert!(answer.pointer("/result/isError") == Some(&Value::Bool(false)), "{answer}");
    time
}
