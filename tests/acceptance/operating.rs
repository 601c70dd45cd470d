//! What an operator sees of a running daemon: its metrics, whether it is ready and why not, and its traces.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use covenant_testkit::prometheus::Page;
use covenant_testkit::tmpfs::Tmpfs;
use covenant_testkit::wait::{LONG, until};
use covenant_testkit::{Daemon, Home, http};
use serde_json::{Value, json};

use crate::{home, unhurried};

/// The token of a new client.
fn client(home: &Home, name: &str) -> String {
    home.run(&["clients", "add", name]).ok().stdout.trim().to_owned()
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// The page, scraped as Prometheus would and read strictly.
fn scrape(port: u16, more: &str) -> Page {
    let answer = http::get(port, "/metrics", "localhost", more);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    let kind = "content-type: text/plain; version=0.0.4; charset=utf-8";
    assert!(head.to_lowercase().contains(kind), "{head}");
    let page = Page::read(body);
    assert!(page.is_ok(), "{page:?}\n{body}");
    page.unwrap()
}

/// Calls a tool over REST; the status.
fn call(port: u16, tool: &str, arguments: &Value, more: &str) -> String {
    let body = json!({ "arguments": arguments }).to_string();
    let request = format!(
        "POST /api/v1/tools/{tool}/call HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n{body}",
        body.len()
    );
    http::exchange(port, &request)
}

/// PACT-72: what was executed is counted and timed, in the form that Prometheus reads.
#[test]
fn metrics_count_what_was_called_and_never_say_by_whom_or_with_what() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let shown = bearer(&client(&home, "somebody"));
    assert!(call(port, "echo", &json!({"text": "confidential"}), &shown).contains("403"));
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    home.run(&["capabilities", "grant", "tool.call.echo", "--to", "client:somebody"]).ok();
    for _ in 0..3 {
        assert!(call(port, "echo", &json!({"text": "confidential"}), &shown).contains("200 OK"));
    }
    assert!(call(port, "echo", &json!({"text": 5}), &shown).contains("422"));
    assert!(call(port, "no_such_tool", &json!({}), &shown).contains("404"));
    assert!(call(port, "echo", &json!({}), &bearer("cv_wrong")).contains("401"));
    let mut mcp = home.mcp();
    mcp.call("echo", json!({"text": "confidential"}));

    let page = scrape(port, "");
    let calls =
        |outcome: &str| page.value("covenant_tool_calls_total", &[("tool", "echo"), ("outcome", outcome)]);
    assert_eq!((calls("ok"), calls("refused"), calls("error")), (Some(4.0), Some(2.0), Some(0.0)));
    for outcome in ["timed_out", "cancelled", "failed"] {
        assert_eq!(calls(outcome), Some(0.0), "{outcome}");
    }
    for (reason, count) in [
        ("not_granted", 1.0),
        ("invalid_arguments", 1.0),
        ("unknown_tool", 1.0),
        ("unauthenticated", 1.0),
        ("rate_limited", 0.0),
    ] {
        assert_eq!(page.value("covenant_refusals_total", &[("reason", reason)]), Some(count), "{reason}");
    }
    assert_eq!(page.value("covenant_call_seconds_count", &[("kind", "native")]), Some(4.0));
    assert!(page.value("covenant_call_seconds_sum", &[("kind", "native")]).unwrap() > 0.0);
    let rows = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().json_lines();
    let last = rows.last().unwrap()["seq"].as_f64().unwrap();
    until("a row is counted as soon as it is written", || {
        (scrape(port, "").value("covenant_audit_rows_total", &[]) == Some(last)).then_some(())
    });
    until("every row is on disk", || {
        (scrape(port, "").value("covenant_audit_lag_seconds", &[]) == Some(0.0)).then_some(())
    });
    for (name, least) in [
        ("covenant_connections", 2.0),
        ("covenant_sessions", 0.0),
        ("covenant_spans_dropped_total", 0.0),
        ("process_resident_memory_bytes", 1e6),
        ("process_open_fds", 10.0),
        ("covenant_start_time_seconds", 1.7e9),
    ] {
        assert!(page.value(name, &[]).unwrap() >= least, "{name}");
    }
    let version = daemon.status()["version"].as_str().unwrap().to_owned();
    assert_eq!(page.value("covenant_build_info", &[("version", &version)]), Some(1.0));
    for name in page.names() {
        assert!(!page.family(name).unwrap().help.is_empty(), "{name}");
    }
    let raw = http::get(port, "/metrics", "localhost", "");
    for word in ["somebody", "confidential", "no_such_tool", "user@local"] {
        assert!(!raw.contains(word), "{word}: {raw}");
    }
    daemon.stop();
}

/// Behind a proxy nobody is on this machine: metrics need a token, health does not, and readiness says only yes or no.
#[test]
fn behind_a_proxy_metrics_need_a_token_and_health_does_not() {
    let home = unhurried();
    let daemon = Daemon::start(&home, &["--behind-proxy"]);
    let port = daemon.port();
    let token = client(&home, "prometheus");
    for more in ["", &bearer("cv_wrong"), "Authorization: Basic eDp5\r\n"] {
        let answer = http::get(port, "/metrics", "localhost", more);
        assert!(answer.starts_with("HTTP/1.1 401") && !answer.contains("covenant_"), "{answer}");
        assert!(answer.to_lowercase().contains("www-authenticate: bearer"), "{answer}");
    }
    assert!(scrape(port, &bearer(&token)).family("covenant_tool_calls_total").is_some());
    assert!(http::get(port, "/healthz", "localhost", "").ends_with("\r\n\r\nok"));
    let ready = http::get(port, "/readyz", "localhost", "");
    assert!(ready.ends_with(r#"{"ready":true,"reasons":[]}"#), "{ready}");
    home.run(&["clients", "revoke", "prometheus"]).ok();
    assert!(http::get(port, "/metrics", "localhost", &bearer(&token)).starts_with("HTTP/1.1 401"));
    daemon.stop();
}

/// The reasons in an answer of `/readyz` that says no.
fn reasons(port: u16, more: &str) -> Vec<String> {
    let answer = http::get(port, "/readyz", "localhost", more);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 503"), "{answer}");
    let ready: Value = serde_json::from_str(body).unwrap();
    assert_eq!(ready["ready"], false);
    let reasons = ready["reasons"].as_array().unwrap();
    reasons.iter().map(|reason| reason.as_str().unwrap().to_owned()).collect()
}

/// Fills the disk under a daemon that was started so, and shows the test its port and a client's token.
fn on_a_full_disk(arguments: &[&str], test: impl FnOnce(u16, &str)) {
    let Some(disk) = Tmpfs::mount(16) else { return };
    let home = Home::within(disk.path(), env!("CARGO_BIN_EXE_covenant"));
    home.write("config.toml", "[rate_limit]\nrate = 0\n");
    let daemon = Daemon::start(&home, arguments);
    let (port, token) = (daemon.port(), bearer(&client(&home, "probe")));
    assert!(call(port, "clock", &json!({}), &token).contains("200 OK"));
    let filler = disk.fill();
    // The last page of the log has room for a few rows more, and for small ones when large ones fit no longer. Once a
    // row waits longer than it takes to try again, none does.
    until("the disk is full", || {
        call(port, "clock", &json!({}), &token);
        (scrape(port, &token).value("covenant_audit_lag_seconds", &[])? > 1.5).then_some(())
    });
    test(port, &token);
    std::fs::remove_file(filler).unwrap();
    until("it is ready again once there is room", || {
        http::get(port, "/readyz", "localhost", "").starts_with("HTTP/1.1 200").then_some(())
    });
    daemon.stop();
}

#[test]
fn on_a_full_disk_readiness_says_why_and_the_metrics_show_it() {
    on_a_full_disk(&[], |port, _| {
        let reasons = reasons(port, "");
        let [reason] = reasons.as_slice() else { panic!("{reasons:?}") };
        assert!(reason.starts_with("audit: ") && reason.contains("No space left"), "{reason}");
        let page = scrape(port, "");
        let clock =
            |outcome| page.value("covenant_tool_calls_total", &[("tool", "clock"), ("outcome", outcome)]);
        assert!(clock("failed") >= Some(1.0) && clock("ok") >= Some(1.0), "{page:?}");
        assert!(http::get(port, "/healthz", "localhost", "").ends_with("ok"), "it lives all the same");
    });
}

#[test]
fn behind_a_proxy_why_it_is_not_ready_is_for_those_with_a_token() {
    on_a_full_disk(&["--behind-proxy"], |port, token| {
        assert_eq!(reasons(port, ""), [""; 0]);
        assert_eq!(reasons(port, &bearer("cv_wrong")), [""; 0]);
        assert!(reasons(port, token)[0].starts_with("audit: "));
    });
}

/// A collector that speaks OTLP over HTTP: what was posted to it, in order.
struct Collector {
    port: u16,
    posts: Receiver<(String, Value)>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, posts) = channel();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                take(&stream, &sender);
            }
        });
        Self { port, posts }
    }

    /// The head of the next post, and its spans.
    fn next(&self) -> (String, Vec<Value>) {
        let (head, body) = self.posts.recv_timeout(LONG).unwrap();
        let resources = body["resourceSpans"].as_array().unwrap();
        let resource = &resources[0];
        assert_eq!(attribute(&resource["resource"], "service.name"), Some("covenant"));
        assert!(attribute(&resource["resource"], "service.version").is_some());
        let scopes = resource["scopeSpans"].as_array().unwrap();
        assert_eq!((resources.len(), scopes.len()), (1, 1), "{body}");
        (head, scopes[0]["spans"].as_array().unwrap().clone())
    }
}

fn take(stream: &TcpStream, posts: &Sender<(String, Value)>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return;
        }
    }
    let lower = head.to_lowercase();
    let length =
        lower.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = serde_json::from_slice(&body).unwrap();
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    (&mut &*stream).write_all(answer.as_bytes()).unwrap();
    let _ = posts.send((head, body));
}

fn attribute<'v>(holder: &'v Value, key: &str) -> Option<&'v str> {
    let found = holder["attributes"].as_array()?.iter().find(|attribute| attribute["key"] == key)?;
    found["value"]["stringValue"].as_str()
}

/// A call that carries a trace becomes a span of that trace, and its rows name it.
#[test]
fn calls_are_spans_of_the_callers_trace_at_the_collector() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    let collector = Collector::start();
    let home = home();
    let endpoint = format!("[telemetry]\notlp_endpoint = \"http://127.0.0.1:{}\"\n", collector.port);
    home.write("config.toml", &format!("{endpoint}otlp_headers = {{ X-Scope = \"team\" }}\n"));
    let daemon = home.up();
    let port = daemon.port();
    let token = bearer(&client(&home, "somebody"));
    let traced = |flags: &str| format!("{token}traceparent: 00-{TRACE}-b7ad6b7169203331-{flags}\r\n");
    assert!(call(port, "clock", &json!({}), &traced("00")).contains("200 OK"));
    assert!(call(port, "clock", &json!({}), &traced("01")).contains("200 OK"));
    assert!(call(port, "echo", &json!({"text": "x"}), &token).contains("403"));
    let (head, mut spans) = collector.next();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    let lower = head.to_lowercase();
    assert!(
        lower.contains("content-type: application/json\r\n") && lower.contains("x-scope: team\r\n"),
        "{head}"
    );
    while spans.len() < 2 {
        spans.extend(collector.next().1);
    }
    let [clock, echo] = spans.as_slice() else { panic!("what is not sampled is not sent: {spans:?}") };
    assert_eq!((&clock["traceId"], &clock["parentSpanId"]), (&json!(TRACE), &json!("b7ad6b7169203331")));
    assert_eq!((&clock["name"], &clock["kind"]), (&json!("tools/call clock"), &json!(2)));
    let nanos = |key: &str| clock[key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(nanos("startTimeUnixNano") < nanos("endTimeUnixNano"));
    for (key, value) in [
        ("mcp.tool.name", "clock"),
        ("covenant.outcome", "ok"),
        ("covenant.kind", "native"),
        ("covenant.principal", "client:somebody"),
    ] {
        assert_eq!(attribute(clock, key), Some(value), "{key}");
    }
    assert_eq!((attribute(clock, "error.type"), &clock["status"]), (None, &json!({})));
    assert_eq!(attribute(echo, "error.type"), Some("not_granted"));
    assert!(echo.get("parentSpanId").is_none(), "it had no trace, and begins one: {echo}");
    for span in [clock, echo] {
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        let rows = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().json_lines();
        let row =
            rows.iter().find(|row| row["call"].as_str() == attribute(span, "covenant.call.id")).unwrap();
        assert_eq!(row["trace_id"], span["traceId"]);
    }
    assert!(call(port, "clock", &json!({}), &traced("01")).contains("200 OK"));
    daemon.stop();
    assert_eq!(collector.next().1.len(), 1, "what was gathered is sent before the end");
}

#[test]
fn a_collector_that_is_not_there_is_one_warning_and_its_spans_are_counted_as_lost() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = home();
    home.write("config.toml", &format!("[telemetry]\notlp_endpoint = \"http://{gone}\"\n"));
    let daemon = home.up();
    let port = daemon.port();
    home.run(&["tools", "call", "clock"]).ok();
    until("the span is given up", || {
        (scrape(port, "").value("covenant_spans_dropped_total", &[]) == Some(1.0)).then_some(())
    });
    let log = std::fs::read_to_string(home.path().join("logs/covenant.log")).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("spans")).count(), 1, "{log}");
    assert!(log.contains("WARN covenant: spans are not taken"), "{log}");
    daemon.stop();
}
