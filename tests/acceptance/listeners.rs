//! The ports: which requests they take, how they speak TLS, and that no crowd, however slow, shuts others out.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use covenant_testkit::crowd::Crowd;
use covenant_testkit::http::{exchange, get};
use covenant_testkit::tls::Certificate;
use covenant_testkit::wait::{LONG, until};
use covenant_testkit::{Daemon, Home};
use serde_json::{Value, json};

use crate::{home, unhurried};

/// How long anyone may have to wait for an answer, whatever others do. Idle machines need a hundredth of it.
const PROMPT: Duration = Duration::from_secs(3);

/// In KiB.
const MIB: u64 = 1024;

#[track_caller]
fn is_prompt(port: u16) {
    let begun = Instant::now();
    let answer = get(port, "/healthz", "localhost", "");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
    assert!(begun.elapsed() < PROMPT, "it took {:?}", begun.elapsed());
}

fn operator(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("identity/operator.token")).unwrap().trim().to_owned()
}

#[test]
fn only_our_own_names_and_pages_are_answered() {
    let home = home();
    let daemon = home.up();
    let port = daemon.port();
    for host in ["localhost".to_owned(), format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        assert!(get(port, "/healthz", &host, "").starts_with("HTTP/1.1 200"), "{host}");
    }
    for host in ["evil.example", "localhost:1", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
        let answer = get(port, "/healthz", host, "");
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("\"foreign\""), "{host}: {answer}");
    }
    let origin = |origin: &str| get(port, "/healthz", "localhost", &format!("Origin: {origin}\r\n"));
    assert!(origin(&format!("http://localhost:{port}")).starts_with("HTTP/1.1 200"));
    for page in ["https://evil.example".to_owned(), "null".to_owned(), format!("https://localhost:{port}")] {
        assert!(origin(&page).starts_with("HTTP/1.1 403"), "{page}");
    }
}

#[test]
fn a_header_that_means_two_things_is_refused() {
    let home = home();
    let daemon = home.up();
    let port = daemon.port();
    for name in [
        "Host",
        "Authorization",
        "Origin",
        "Mcp-Session-Id",
        "MCP-Protocol-Version",
        "Mcp-Method",
        "Mcp-Name",
        "Mcp-Param-City",
    ] {
        let answer =
            get(port, "/healthz", "localhost", &format!("{name}: localhost\r\n{name}: localhost\r\n"));
        assert!(answer.starts_with("HTTP/1.1 400"), "{name}: {answer}");
    }
    let lengths = get(port, "/healthz", "localhost", "Content-Length: 1\r\nContent-Length: 2\r\n");
    assert!(lengths.starts_with("HTTP/1.1 400"), "{lengths}");
    let accepts = get(port, "/healthz", "localhost", "Accept: text/plain\r\nAccept: application/json\r\n");
    assert!(accepts.starts_with("HTTP/1.1 200"), "others may stand twice: {accepts}");
}

#[test]
fn the_older_protocol_is_served_and_closed() {
    let home = home();
    let daemon = home.up();
    // `exchange` reads to the end: it would not return from a connection that stays open.
    for head in ["", "Host: localhost\r\n"] {
        let answer = exchange(daemon.port(), &format!("GET /healthz HTTP/1.0\r\n{head}\r\n"));
        assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with("ok"), "{answer}");
    }
    let answer = exchange(daemon.port(), "GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.0 403"), "{answer}");
}

#[test]
fn a_request_that_names_its_host_in_the_path_is_held_to_it() {
    let home = home();
    let daemon = home.up();
    let port = daemon.port();
    let ask = |target: &str, host: &str| get(port, target, host, "");
    assert!(ask(&format!("http://localhost:{port}/healthz"), "localhost").starts_with("HTTP/1.1 200"));
    assert!(ask("http://evil.example/healthz", "localhost").starts_with("HTTP/1.1 403"));
    assert!(ask(&format!("http://localhost:{port}/healthz"), "evil.example").starts_with("HTTP/1.1 403"));
}

#[test]
fn both_addresses_of_loopback_answer() {
    let home = home();
    let daemon = home.up();
    let listen = daemon.status()["listen"].clone();
    let addresses: Vec<&str> = listen.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    // A machine without IPv6 has no second one.
    let expected = if TcpListener::bind("[::1]:0").is_ok() { 2 } else { 1 };
    assert_eq!(addresses.len(), expected, "{addresses:?}");
    for address in addresses {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("ok"), "{address}: {answer}");
    }
}

#[test]
fn an_address_that_others_reach_is_refused_without_encryption() {
    let home = home();
    let refused = home.run(&["up", "--listen", "0.0.0.0:0"]).exits(2);
    for part in ["0.0.0.0", "tls_cert", "behind_proxy"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
}

#[test]
fn behind_a_proxy_only_the_public_name_is_ours_and_its_headers_open_nothing() {
    let home = home();
    home.write("config.toml", "[http]\npublic_url = \"https://covenant.example.org\"\n");
    let daemon = Daemon::start(&home, &["--behind-proxy"]);
    let port = daemon.port();
    let ask = |host: &str, more: &str| get(port, "/api/v1/status", host, more);
    let forwarded =
        "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: localhost\r\n";
    assert!(ask("covenant.example.org", forwarded).starts_with("HTTP/1.1 401"), "nobody is let in by them");
    assert!(ask("evil.example", forwarded).starts_with("HTTP/1.1 403"));
    let token = format!("Authorization: Bearer {}\r\n", operator(&home));
    let page = "Origin: https://covenant.example.org\r\n";
    assert!(ask("covenant.example.org", &format!("{token}{page}")).starts_with("HTTP/1.1 200"));
    let local = format!("Origin: http://localhost:{port}\r\n");
    assert!(ask("localhost", &format!("{token}{local}")).starts_with("HTTP/1.1 403"));
}

const TLS: &str = "[http]\ntls_cert = \"cert.pem\"\ntls_key = \"key.pem\"\n[rate_limit]\nrate = 0\n";

fn with_tls() -> (Home, Certificate) {
    let (home, certificate) = (home(), Certificate::new());
    home.write("config.toml", TLS);
    certificate.write(&home);
    (home, certificate)
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[test]
fn a_port_with_a_certificate_speaks_tls_and_nothing_else() {
    let (home, certificate) = with_tls();
    let daemon = home.up();
    let port = daemon.port();
    for address in ["127.0.0.1", "localhost"] {
        let answer = certificate.exchange((address, port), HEALTH).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
    }
    let stranger = Certificate::new().exchange(("127.0.0.1", port), HEALTH).unwrap_err();
    assert!(stranger.contains("certificate"), "{stranger}");
    let plain = exchange(port, HEALTH);
    assert!(plain.starts_with("HTTP/1.1 400") && plain.contains("this port speaks TLS"), "{plain}");
    let page = |scheme: &str| {
        let origin = format!("Origin: {scheme}://localhost:{port}\r\n");
        let request = HEALTH.replace("Connection", &format!("{origin}Connection"));
        certificate.exchange(("localhost", port), &request).unwrap()
    };
    assert!(page("https").starts_with("HTTP/1.1 200") && page("http").starts_with("HTTP/1.1 403"));
    assert_eq!(daemon.status()["tls"], true);
    let said = home.run(&["status", "--no-start"]).ok().stdout;
    assert!(said.contains(&format!("https://127.0.0.1:{port}")), "{said}");
    let shown = home.run(&["config", "show"]).ok().stdout;
    assert!(shown.contains("tls_key = \"key.pem\"") && !shown.contains("BEGIN"), "{shown}");
    daemon.stop();
}

#[test]
fn with_a_certificate_other_machines_may_ask() {
    let (home, certificate) = with_tls();
    let daemon = Daemon::start(&home, &["--listen", "0.0.0.0:0"]);
    let answer = certificate.exchange(("localhost", daemon.port()), HEALTH).unwrap();
    assert!(answer.ends_with("ok"), "{answer}");
    // Half a greeting and silence hold nobody up.
    let _slow = Crowd::gather(daemon.port(), 50, "\u{16}\u{3}\u{1}");
    let begun = Instant::now();
    assert!(certificate.exchange(("localhost", daemon.port()), HEALTH).unwrap().ends_with("ok"));
    assert!(begun.elapsed() < PROMPT, "it took {:?}", begun.elapsed());
}

#[test]
fn a_certificate_that_cannot_be_used_stops_the_start_with_file_and_reason() {
    let (home, certificate) = with_tls();
    let stops = |parts: &[&str]| {
        let refused = home.run(&["up"]).exits(2);
        for part in parts {
            assert!(refused.stderr.contains(part), "`{part}` is not in: {}", refused.stderr);
        }
        assert!(!refused.stderr.contains(certificate.key.lines().nth(1).unwrap()), "{}", refused.stderr);
    };
    home.write("cert.pem", "nothing");
    stops(&["cert.pem", "holds no certificate", "tls_cert"]);
    home.write("cert.pem", &Certificate::new().pem);
    stops(&["key.pem", "cert.pem", "belong together"]);
    home.write("cert.pem", &certificate.pem);
    home.write("key.pem", &certificate.key.replace("-----END", "-----"));
    stops(&["key.pem", "no sound PEM file"]);
    home.write("key.pem", &certificate.key);
    let key = home.path().join("key.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    stops(&["key.pem", "can be read by other users", "chmod 600"]);
    std::fs::remove_file(&key).unwrap();
    stops(&["key.pem", "not there"]);
    home.write("config.toml", "[http]\ntls_cert = \"cert.pem\"\n");
    stops(&["config.toml, line 2", "http.tls_key"]);
}

#[test]
fn a_reload_shows_a_renewed_certificate_and_keeps_the_old_one_if_the_new_is_bad() {
    let (home, first) = with_tls();
    let daemon = home.up();
    let port = daemon.port();
    let serves = |certificate: &Certificate| certificate.exchange(("localhost", port), HEALTH).is_ok();
    assert_eq!(home.run(&["reload", "--json"]).ok().json()["applied"], json!([]), "nothing was renewed");
    let second = Certificate::new();
    second.write(&home);
    assert!(serves(&first) && !serves(&second), "it takes effect when it is told to");
    assert_eq!(home.run(&["reload", "--json"]).ok().json()["applied"], json!(["http.tls_cert"]));
    assert!(serves(&second) && !serves(&first));

    home.write("key.pem", &first.key);
    let refused = home.run(&["reload"]).exits(2);
    assert!(refused.stderr.contains("belong together"), "{}", refused.stderr);
    assert!(serves(&second), "what was in effect stays in effect");

    // To speak plain HTTP where TLS was spoken is nothing for a reload.
    home.write("config.toml", "[rate_limit]\nrate = 0\n");
    home.write("key.pem", &second.key);
    let kept = home.run(&["reload", "--json"]).ok().json();
    assert_eq!(kept["needs_restart"], json!(["http.tls_cert", "http.tls_key"]));
    assert!(serves(&second));
}

#[test]
fn sessions_have_limits_that_are_shown_and_checked() {
    let home = home();
    let shown = home.run(&["config", "show", "--json", "--no-start"]).ok().json();
    assert_eq!(shown["http"]["session_idle_secs"], 86_400);
    assert_eq!(shown["http"]["max_sessions"], 10_000);
    home.write("config.toml", "[http]\nsession_idle_secs = 59\n");
    let refused = home.run(&["up"]).exits(2);
    assert!(refused.stderr.contains("http.session_idle_secs"), "{}", refused.stderr);
}

/// Rows of the log as they are written, over the port.
fn watch(home: &Home, port: u16) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let head = format!("Host: localhost\r\nAuthorization: Bearer {}\r\n\r\n", operator(home));
    stream.write_all(format!("GET /api/v1/audit/watch HTTP/1.1\r\n{head}").as_bytes()).unwrap();
    let mut rows = BufReader::new(stream);
    assert!(line_with(&mut rows, "HTTP/1.1").contains("200"));
    rows
}

/// The next line that holds that text.
fn line_with(rows: &mut BufReader<TcpStream>, part: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(rows.read_line(&mut line).unwrap() > 0, "the stream ended before {part}");
        if line.contains(part) {
            return line;
        }
    }
}

/// A crowd gets seats and no more than that; whoever comes gets one from it, whoever is answered keeps theirs, and what
/// it cost is there for the next.
#[test]
fn ten_thousand_idle_connections_lock_nobody_out_and_cost_little() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let mut rows = watch(&home, port);
    is_prompt(port);
    let (before, files) = (daemon.resident(), daemon.open_files());
    let mut crowd = Crowd::gather(port, 10_000, "");
    for _ in 0..20 {
        is_prompt(port);
    }
    let during = daemon.resident();
    assert!(during < before + 40 * MIB, "{before} KiB grew to {during} KiB");
    assert!(crowd.closed() + 4096 >= crowd.count(), "{} of {} were closed", crowd.closed(), crowd.count());
    assert!(daemon.open_files() < 4096 + 100);

    // Who came last has not been idle long, and who is being answered is not idle.
    let newest = crowd.newest().unwrap();
    newest.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    newest.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("ok"), "{answer}");
    home.run(&["tools", "call", "clock"]).ok();
    line_with(&mut rows, "CallFinished");

    drop(crowd);
    until("the crowd is gone", || (daemon.open_files() <= files + 10).then_some(()));
    let mut next = Crowd::gather(port, 10_000, "");
    is_prompt(port);
    assert!(next.closed() + 4096 >= next.count());
    let again = daemon.resident();
    assert!(again < during + 8 * MIB, "a second crowd took {again} KiB after {during} KiB");
}

/// Half a head, a body byte by byte, a body without end: they wait, and nobody else does. That each of them is closed
/// after its thirty seconds is shown beside the code, where time can be turned forward.
#[test]
fn four_hundred_slow_senders_hold_nobody_up_and_cost_little() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    is_prompt(port);
    let before = daemon.resident();
    let mut heads = Crowd::gather(port, 200, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ");
    let head = format!(
        "POST /api/v1/clients HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n",
        operator(&home)
    );
    let mut bytes = Crowd::gather(port, 100, &format!("{head}Content-Length: 100000\r\n\r\n{{\"name\":\""));
    let mut chunks = Crowd::gather(port, 100, &format!("{head}Transfer-Encoding: chunked\r\n\r\n"));
    // A body that nobody reads is not waited for at all.
    let mut strangers = Crowd::gather(
        port,
        10,
        "POST /api/v1/clients HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
    );
    for _ in 0..50 {
        heads.say("x");
        bytes.say("x");
        chunks.say("1\r\nx\r\n");
        is_prompt(port);
    }
    home.run(&["status", "--no-start"]).ok();
    assert_eq!((heads.closed(), bytes.closed(), chunks.closed()), (0, 0, 0), "they have their time");
    assert!(strangers.answered_and_closed(), "and strangers have none");
    let during = daemon.resident();
    assert!(during < before + 40 * MIB, "{before} KiB grew to {during} KiB");
}

/// The head of a request of that client's.
fn head(line: &str, token: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n")
}

fn client(home: &Home, name: &str) -> String {
    home.run(&["clients", "add", name]).ok().stdout.trim().to_owned()
}

/// Asks for MCP on a connection of its own: the connection, and what came back first.
fn upgrade(port: u16, token: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let request = head("GET /mcp", token) + "Connection: upgrade\r\nUpgrade: mcp\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = [0; 2048];
    let count = stream.read(&mut answer).unwrap();
    (stream, String::from_utf8_lossy(&answer[..count]).into_owned())
}

#[test]
fn one_client_holds_a_quarter_of_the_connections_of_a_port_and_no_more() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let (ada, bob) = (client(&home, "ada"), client(&home, "bob"));
    let mut held = Vec::new();
    let refused = loop {
        let (stream, answer) = upgrade(port, &ada);
        if !answer.starts_with("HTTP/1.1 101") {
            break answer;
        }
        held.push(stream);
        assert!(held.len() <= 1024, "one client may hold a quarter of 4096, or of fewer");
    };
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("end one first"), "{refused}");
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "notifications": {"toolsListChanged": true},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}},
    }})
    .to_string();
    let more = "Content-Type: application/json\r\nAccept: text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nConnection: close\r\n";
    let length = listen.len();
    let listens = format!("{}{more}Content-Length: {length}\r\n\r\n{listen}", head("POST /mcp", &ada));
    let heard = exchange(port, &listens);
    assert!(heard.starts_with("HTTP/1.1 429"), "streams are counted with them: {heard}");
    assert!(upgrade(port, &bob).1.starts_with("HTTP/1.1 101"), "others have their own");
    held.clear();
    until("what was held is free", || upgrade(port, &ada).1.starts_with("HTTP/1.1 101").then_some(()));
}

#[test]
fn to_ask_for_an_upgrade_is_a_request_like_any_other() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0.1\nburst = 2\n");
    let daemon = home.up();
    let token = client(&home, "ada");
    let answers: Vec<String> = (0..3).map(|_| upgrade(daemon.port(), &token).1).collect();
    assert!(answers[1].starts_with("HTTP/1.1 101"), "{answers:?}");
    assert!(answers[2].starts_with("HTTP/1.1 429") && answers[2].contains("retry-after"), "{answers:?}");
}

/// More half bodies than there are seats: whoever comes gets one from them, and a stop does not wait for them.
#[test]
fn a_crowd_that_sends_half_its_bodies_shuts_nobody_out_and_holds_up_no_stop() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let token = client(&home, "ada");
    let half = head("POST /mcp", &token) + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
    let mut crowd = Crowd::gather(port, 5000, &half);
    for _ in 0..20 {
        is_prompt(port);
    }
    assert!(crowd.closed() + 4096 >= crowd.count(), "{} of {} were closed", crowd.closed(), crowd.count());
    let begun = Instant::now();
    daemon.stop();
    assert!(begun.elapsed() < PROMPT, "it took {:?}", begun.elapsed());
}
