//! MCP over HTTP beside a bare axum server: one call in flight, sixteen, and what calls and idle sessions leave in memory.
//!
//! Interleaved rounds in one run; the ratios are what counts. `http 20000` makes that many calls for the memory figure
//! in place of a million; `http self` measures a second bare server in place of the daemon, which shows the noise.

#![expect(clippy::expect_used, reason = "a benchmark stops when it cannot run")]

use std::time::Duration;

use covenant_bench::http::{Caller, Era, Server, throughput};
use covenant_bench::one_core::OneCore;
use covenant_bench::process::at_rest;
use covenant_bench::yardstick::Bare;
use covenant_bench::{line, mebibytes, median, micros, middle};
use covenant_testkit::Home;

const ERAS: [(Era, &str); 3] =
    [(Era::Session, "legacy session"), (Era::Stateless, "stateless"), (Era::Plain, "plain POST")];

/// How many connections are "many".
const MANY: usize = 16;

/// How many sessions lie idle.
const IDLE: usize = 1000;

fn main() {
    let mut calls = 1_000_000;
    let mut itself = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "self" => itself = true,
            count => calls = count.parse().expect("how many calls, or `self`"),
        }
    }
    let bare = Bare::start();
    if itself {
        let other = Bare::start();
        return measure(&bare.server, &other.server, &other.server, calls);
    }
    let covenant = std::env::current_exe().expect("this program").with_file_name("covenant");
    assert!(covenant.is_file(), "build it first: cargo build --release");
    let home = Home::new(&covenant);
    home.write("config.toml", "[rate_limit]\nrate = 0\n");
    let daemon = home.up();
    let known_as = |name: &str| {
        let added = home.run(&["clients", "add", name, "--grant", "tool.call.echo", "--json"]).ok().json();
        let token = added.get("token").and_then(serde_json::Value::as_str).expect("a token").to_owned();
        Server { port: daemon.port(), pid: daemon.pid(), token, tool: "echo".to_owned() }
    };
    // A principal holds so many sessions and no more: those that lie idle are somebody else's.
    measure(&bare.server, &known_as("busy"), &known_as("idle"), calls);
}

fn measure(bare: &Server, ours: &Server, idle: &Server, calls: u32) {
    let together = OneCore::new(ours.pid);
    one_in_flight(bare, ours);
    drop(together);
    many_in_flight(bare, ours);
    memory_of_calls(ours, calls);
    memory_of_sessions(idle);
}

fn one_in_flight(bare: &Server, ours: &Server) {
    let mut pairs = ERAS.map(|(era, name)| (name, bare.caller(era), ours.caller(era), Vec::new()));
    for (_, bare, ours, _) in &mut pairs {
        bare.calls(2000);
        ours.calls(2000);
    }
    for _ in 0..40 {
        for (_, bare, ours, rounds) in &mut pairs {
            rounds.push((median(bare.calls(400)), median(ours.calls(400))));
        }
    }
    for (name, _, _, rounds) in pairs {
        let [bare, ours]: [Vec<Duration>; 2] =
            [rounds.iter().map(|round| round.0).collect(), rounds.iter().map(|round| round.1).collect()];
        line(&format!("bare axum, as a {name}, one in flight, p50"), &micros(median(bare)), "");
        line(&format!("covenant, {name}, one in flight, p50"), &micros(median(ours)), "");
        let ratios = rounds.iter().map(|(bare, ours)| ours.as_secs_f64() / bare.as_secs_f64()).collect();
        let goal = if name == "plain POST" { "" } else { "at most 1.5" };
        line(&format!("covenant / bare axum, {name}, p50"), &format!("{:.2}", middle(ratios)), goal);
    }
}

fn many_in_flight(bare: &Server, ours: &Server) {
    for (era, name) in ERAS {
        let mut bare: Vec<Caller> = (0..MANY).map(|_| bare.caller(era)).collect();
        let mut ours: Vec<Caller> = (0..MANY).map(|_| ours.caller(era)).collect();
        throughput(&mut bare, 4000);
        throughput(&mut ours, 4000);
        let rounds: Vec<_> =
            (0..60).map(|_| (throughput(&mut bare, 2000), throughput(&mut ours, 2000))).collect();
        let rate = |rates: Vec<f64>| format!("{:.0} per second", middle(rates));
        let bare = rounds.iter().map(|round| round.0).collect();
        line(&format!("bare axum, as a {name}, {MANY} in flight"), &rate(bare), "");
        let ours = rounds.iter().map(|round| round.1).collect();
        line(&format!("covenant, {name}, {MANY} in flight"), &rate(ours), "");
        let ratios = rounds.iter().map(|(bare, ours)| ours / bare).collect();
        let goal = if era == Era::Plain { "" } else { "at least 0.45" };
        line(&format!("covenant / bare axum, {name}"), &format!("{:.2}", middle(ratios)), goal);
    }
}

fn memory_of_calls(ours: &Server, calls: u32) {
    let eras = [Era::Session, Era::Stateless].into_iter().cycle().take(MANY);
    let callers = || eras.clone().map(|era| ours.caller(era)).collect::<Vec<_>>();
    throughput(&mut callers(), 100_000);
    let before = at_rest(ours.pid);
    throughput(&mut callers(), calls);
    let after = at_rest(ours.pid);
    line("memory after 100,000 calls", &mebibytes(before), "");
    line(&format!("memory after {calls} more"), &mebibytes(after), "");
    line("growth", &mebibytes(after - before), "at most 2 MiB");
}

fn memory_of_sessions(ours: &Server) {
    let before = at_rest(ours.pid);
    let sessions = ours.sessions(IDLE);
    let growth = at_rest(ours.pid) - before;
    line(&format!("memory of {IDLE} idle sessions"), &mebibytes(growth), "at most 20 MiB");
    let mut streams = Vec::with_capacity(IDLE);
    for session in &sessions {
        match ours.stream(session) {
            Ok(stream) => streams.push(stream),
            Err(error) => {
                line(&format!("stream {} was not opened: {error}", streams.len() + 1), "", "");
                break;
            }
        }
    }
    let growth = at_rest(ours.pid) - before;
    let what = format!("the same with a stream open on {} of them", streams.len());
    line(&what, &mebibytes(growth), &format!("at most 20 MiB, and {IDLE} streams"));
}
