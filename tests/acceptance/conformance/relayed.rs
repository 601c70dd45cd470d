//! The tools of the suite through the gate: the fixtures are another daemon's, which is an external server to the one
//! that the suite asks. It is reached over HTTP and by stdio, in either era, and both kinds of client ask.

use covenant_testkit::forwarder::Forwarder;
use covenant_testkit::wait::until;
use serde_json::Value;

use super::{Server, conforms};
use crate::{home, installed};

/// How many of a revision's scenarios are about tools.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 9), ("2026-07-28", 11)];

/// What the suite asks of tools. What they ask of their caller, and what they log, is not passed on.
fn about_tools(scenario: &str) -> bool {
    const NOT_PASSED_ON: [&str; 3] = ["-with-logging", "-sampling", "-elicitation"];
    const BESIDE: [&str; 3] =
        ["json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"];
    let asking = NOT_PASSED_ON.iter().any(|end| scenario.ends_with(end));
    (scenario.starts_with("tools-") && !asking) || BESIDE.contains(&scenario)
}

/// Puts a gate before the fixtures, which are reached as that entry says, and runs the suite against it.
fn conforms_through_the_gate(reached: impl FnOnce(&Server) -> String) {
    let Some(suite) = installed::suite() else { return };
    let Some(fixtures) = Server::start() else { return };
    let forwarder = Forwarder::bind().unwrap();
    let address = format!("http://localhost:{}", forwarder.port().unwrap());
    let home = home();
    // The fixtures' daemon has tools of its own beside them, which ours has too.
    let names = r#"prefix = "none"
include = ["test_*", "json_schema_*"]"#;
    let entry = format!("[[mcp.servers]]\nname = \"fixtures\"\n{names}\n{}", reached(&fixtures));
    home.write(
        "config.toml",
        &format!("[rate_limit]\nrate = 0\n[http]\npublic_url = \"{address}\"\n{entry}"),
    );
    let daemon = home.up();
    until("the fixtures are listed", || {
        let servers = home.run(&["mcp", "list", "--json"]).ok().json();
        assert_ne!(servers["servers"][0]["state"], "failed", "{servers:#}");
        (servers["connected"] == 1).then_some(())
    });
    let added = home.run(&["clients", "add", "suite", "--preset", "all", "--json"]).ok().json();
    let token = added["token"].as_str().unwrap();
    let port = daemon.port();
    forwarder.serve(([127, 0, 0, 1], port).into(), token);
    for (revision, scenarios) in REVISIONS {
        conforms(&suite, &format!("{address}/mcp"), revision, about_tools, scenarios);
    }
    let servers = home.run(&["mcp", "list", "--json"]).ok().json();
    assert_eq!(servers["servers"][0]["restarts"], Value::from(0), "{servers:#}");
    daemon.stop();
}

fn over_http(era: &str) {
    conforms_through_the_gate(|fixtures| format!("url = \"{}\"\nera = \"{era}\"\n", fixtures.url));
}

fn by_stdio(era: &str) {
    conforms_through_the_gate(|fixtures| {
        let Server { home, token, .. } = fixtures;
        let program = env!("CARGO_BIN_EXE_covenant");
        let words = format!("args = [\"--mcp\", \"--no-start\", \"--home\", {home:?}]");
        format!("command = {program:?}\n{words}\nenv = {{ COVENANT_TOKEN = {token:?} }}\nera = \"{era}\"\n")
    });
}

#[test]
fn the_tools_of_a_server_of_the_handshake_over_http_pass() {
    over_http("legacy");
}

#[test]
fn the_tools_of_a_stateless_server_over_http_pass() {
    over_http("modern");
}

#[test]
fn the_tools_of_a_server_of_the_handshake_by_stdio_pass() {
    by_stdio("legacy");
}

#[test]
fn the_tools_of_a_stateless_server_by_stdio_pass() {
    by_stdio("modern");
}
