//! External servers behind the gate: calls of a stdio server and of an HTTP server beside the same server called
//! directly, a server that crashes, and fifty of which twenty are bad.
//!
//! Capability check, redaction and audit are on, the rate limit is off. Interleaved rounds in one run; the ratios are
//! what counts. `fleet 5` makes five rounds in place of forty.

#![expect(clippy::expect_used, reason = "a benchmark stops when it cannot run")]

use std::path::Path;
use std::time::{Duration, Instant};

use covenant_bench::http::{Caller, Era, Server, TEXT, throughput};
use covenant_bench::process::{at_rest, family, resident, worked};
use covenant_bench::upstream::{Echo, listed_directly, words};
use covenant_bench::{line, mebibytes, median, middle};
use covenant_testkit::Home;

/// Rounds, where nothing else is said.
const ROUNDS: usize = 40;

/// Calls in flight, calls in a round, and the share of the direct throughput that must be left with a stdio server and
/// with an HTTP server.
const GOALS: [(usize, u32, f64, f64); 2] = [(1, 800, 0.42, 0.28), (16, 2400, 0.75, 0.45)];

/// How many servers answer, and how many of each other kind there are beside them.
const GOOD: usize = 30;
const BAD: usize = 10;

/// Starts of all of them that are measured.
const STARTS: usize = 3;

/// Restarts that are measured: fewer than those after which a server is left alone.
const CRASHES: usize = 3;

fn main() {
    let rounds = std::env::args().nth(1).map_or(ROUNDS, |count| count.parse().expect("how many rounds?"));
    let covenant = std::env::current_exe().expect("this program").with_file_name("covenant");
    assert!(covenant.is_file(), "build it first: cargo build --release");
    calls(&covenant, rounds);
    fifty(&covenant);
}

/// A home with these servers in its configuration, and a secret to look for.
fn home(covenant: &Path, servers: &str) -> Home {
    let home = Home::new(covenant);
    home.write("config.toml", &format!("[rate_limit]\nrate = 0\n{servers}"));
    home.write("secrets.toml", "[secrets]\nAPI_KEY = \"a-secret-that-never-appears\"\n");
    home
}

/// One entry of a configuration.
fn entry(name: &str, rest: &str) -> String {
    format!("\n[[mcp.servers]]\nname = \"{name}\"\n{rest}")
}

/// An entry that is started with these words.
fn started(name: &str, words: &[String]) -> String {
    let (command, arguments) = words.split_first().expect("a program");
    entry(name, &format!("command = {command:?}\nargs = {arguments:?}\n"))
}

/// The token of a client that may call everything.
fn token(home: &Home, name: &str) -> String {
    let added = home.run(&["clients", "add", name, "--grant", "tool.call.*", "--json"]).ok().json();
    added.get("token").and_then(serde_json::Value::as_str).expect("a token").to_owned()
}

/// Asks again until it is so; how long that took.
fn until(begun: Instant, mut so: impl FnMut() -> bool) -> Duration {
    while !so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "waited a minute in vain");
        std::thread::sleep(Duration::from_millis(2));
    }
    begun.elapsed()
}

fn calls(covenant: &Path, rounds: usize) {
    let echo = Echo::start();
    let url = format!("url = \"http://127.0.0.1:{}/mcp\"\n", echo.port());
    let home = home(covenant, &(started("pipe", &words("stdio")) + &entry("web", &url)));
    let daemon = home.up();
    let token = token(&home, "load");
    let server = |tool: &str| Server {
        port: daemon.port(),
        pid: daemon.pid(),
        token: token.clone(),
        tool: tool.to_owned(),
    };
    let targets = [echo.server(), server("pipe__echo"), server("web__echo")];
    let mut asked = targets[1].session();
    until(Instant::now(), || {
        let tools = asked.tools().expect("a list");
        ["pipe__echo", "web__echo"].iter().all(|tool| tools.contains(tool))
    });
    for goals in GOALS {
        shares(&targets, goals, rounds);
    }
    line("memory of the daemon after these calls", &mebibytes(at_rest(daemon.pid())), "at most 25 MiB");
    let all: f64 = family(daemon.pid()).into_iter().map(resident).sum();
    line("with its launcher, what they share counted twice", &mebibytes(all), "");
    crashes(&targets[1]);
}

/// What is left of the direct throughput, and what a call by way of the stdio server costs the daemon.
fn shares(targets: &[Server; 3], goals: (usize, u32, f64, f64), rounds: usize) {
    let (in_flight, count, stdio, http) = goals;
    let connect =
        |server: &Server| (0..in_flight).map(|_| server.caller(Era::Session)).collect::<Vec<Caller>>();
    let mut callers = targets.each_ref().map(connect);
    for callers in &mut callers {
        throughput(callers, count);
    }
    let [to_direct, to_pipe, to_web] = &mut callers;
    let daemon = family(targets[1].pid);
    let (mut direct, mut pipe, mut web) = (Vec::new(), Vec::new(), Vec::new());
    let mut busy = 0.0;
    for _ in 0..rounds {
        direct.push(throughput(to_direct, count));
        let before = worked(&daemon);
        pipe.push(throughput(to_pipe, count));
        busy += worked(&daemon) - before;
        web.push(throughput(to_web, count));
    }
    let rate = |name: &str, rates: &[f64]| {
        let rate = format!("{:.0} per second", middle(rates.to_vec()));
        line(&format!("{name}, {in_flight} in flight"), &rate, "");
    };
    rate("echo in Node, directly", &direct);
    rate("a stdio server behind the gate", &pipe);
    rate("an HTTP server behind the gate", &web);
    let share = |name: &str, rates: &[f64], goal: f64| {
        let share = middle(rates.iter().zip(&direct).map(|(behind, direct)| behind / direct).collect());
        line(&format!("{name}, {in_flight} in flight"), &format!("{share:.2}"), &format!("at least {goal}"));
    };
    share("stdio server / direct", &pipe, stdio);
    share("HTTP server / direct", &web, http);
    let made = pipe.iter().map(|_| f64::from(count)).sum::<f64>();
    let each = format!("{:.0} µs", busy / made * 1e6);
    line(&format!("processor time of a call, stdio server, {in_flight} in flight"), &each, "at most 120 µs");
}

/// How long a server that crashed stays away from who goes on calling it.
fn crashes(server: &Server) {
    let mut session = server.session();
    let mut away = Vec::new();
    for _ in 0..CRASHES {
        let said = session.call("pipe__crash").expect("an answer");
        assert!(said.contains("\"isError\":true"), "{said}");
        away.push(until(Instant::now(), || session.call("pipe__echo").is_ok_and(|said| said.contains(TEXT))));
    }
    let worst = away.iter().max().copied().unwrap_or_default();
    line("a crashed server answers again, in the same session", &millis(median(away)), "");
    line("the slowest of these", &millis(worst), "at most 1000 ms");
}

/// Fifty servers, of which ten never answer and ten end at once, in homes that know nothing of them; then in one that does.
fn fifty(covenant: &Path) {
    let mut servers = String::new();
    for number in 0..GOOD {
        servers += &started(&format!("good-{number}"), &words("stdio"));
    }
    for number in 0..BAD {
        servers += &started(&format!("hung-{number}"), &["sleep".to_owned(), "1000".to_owned()]);
        servers += &started(&format!("ended-{number}"), &["false".to_owned()]);
    }
    let rounds: Vec<_> = (0..STARTS)
        .map(|_| {
            let directly = listed_directly(GOOD);
            let home = home(covenant, &servers);
            (directly, up_to_listed(&home), home)
        })
        .collect();
    let of = |time: fn(&(Duration, Up, Home)) -> Duration| median(rounds.iter().map(time).collect());
    let (directly, ready, listed) =
        (of(|round| round.0), of(|round| round.1.ready), of(|round| round.1.listed));
    let bad = 2 * BAD;
    line(
        &format!("`up` to ready, {GOOD} servers that answer and {bad} bad ones"),
        &millis(ready),
        "at most 150 ms",
    );
    line(&format!("{GOOD} such servers started by hand, until all have listed"), &millis(directly), "");
    line(&format!("`up` until the tools of all {GOOD} are listed"), &millis(listed), "");
    let ratio = |round: &(Duration, Up, Home)| round.1.listed.as_secs_f64() / round.0.as_secs_f64();
    let ratio = format!("{:.2}", middle(rounds.iter().map(ratio).collect()));
    line("the same, over by hand", &ratio, "at most 1.5");
    if let Some((_, _, home)) = rounds.last() {
        let again = up_to_listed(home);
        line("the second time, when the lists are known", &millis(again.listed), "");
        line("memory with fifty servers", &mebibytes(again.memory), "at most 25 MiB");
    }
}

/// How a daemon came up.
struct Up {
    ready: Duration,
    /// Until the tools of all good servers were listed.
    listed: Duration,
    memory: f64,
}

fn up_to_listed(home: &Home) -> Up {
    let begun = Instant::now();
    let daemon = home.up();
    let ready = begun.elapsed();
    let name = format!("load-{}", daemon.pid());
    let server = Server {
        port: daemon.port(),
        pid: daemon.pid(),
        token: token(home, &name),
        tool: "good-0__echo".to_owned(),
    };
    let mut session = server.session();
    let listed = until(begun, || session.tools().expect("a list").matches("__echo\"").count() == GOOD);
    let memory = resident(daemon.pid());
    daemon.stop();
    Up { ready, listed, memory }
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}
