//! The bridge to a daemon elsewhere, with a real one at the other end: by which name, with which token, in which era.

use std::os::unix::fs::PermissionsExt as _;

use covenant_testkit::tls::Certificate;
use covenant_testkit::{Daemon, Home, StdioClient};
use serde_json::{Value, json};

use super::origin::{bridge, stateless, told};
use crate::{home, unhurried};

/// The token of a new client, granted `echo`.
fn client(home: &Home, name: &str) -> String {
    home.run(&["clients", "add", name, "--grant", "tool.call.echo"]).ok().stdout.trim().to_owned()
}

fn origin(daemon: &Daemon<'_>) -> String {
    format!("http://127.0.0.1:{}", daemon.port())
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Waits for that notification.
fn hears(client: &mut StdioClient, method: &str) {
    while client.receive()["method"] != method {}
}

/// VIBE-03, VIBE-21, VIBE-22: a link called `covibe-mcp` is the bridge, and the two variables are all it needs.
#[test]
fn called_covibe_mcp_it_bridges_to_the_daemon_that_the_environment_names() {
    let home = unhurried();
    let daemon = home.up();
    let token = client(&home, "ada");
    let link = home.beside("covibe-mcp");
    std::os::unix::fs::symlink(home.program(), &link).unwrap();
    let elsewhere = Home::within(&home.beside("elsewhere"), link);
    std::fs::create_dir(home.beside("elsewhere")).unwrap();
    let start = || {
        let command = elsewhere.command(&[]).env("COVIBE_BASE_URL", origin(&daemon));
        StdioClient::start(command.env("COVIBE_MCP_TOKEN", token.clone()))
    };

    let mut legacy = start();
    let opened = legacy.initialize();
    assert_eq!(opened["result"]["serverInfo"]["name"], "covenant", "{opened}");
    assert_eq!(names(&legacy.request("tools/list", json!({}))), ["clock", "echo"]);
    legacy.send(&json!({"jsonrpc": "2.0", "id": "a\"b", "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "hi"}}}));
    let called = legacy.receive();
    assert_eq!((&called["id"], &called["result"]["content"][0]["text"]), (&json!("a\"b"), &json!("hi")));
    home.run(&["capabilities", "grant", "tool.call.workspace_read", "--to", "client:ada"]).ok();
    hears(&mut legacy, "notifications/tools/list_changed");
    assert_eq!(names(&legacy.request("tools/list", json!({}))), ["clock", "echo", "workspace_read"]);

    let mut modern = start();
    let found = modern.request("server/discover", stateless(json!({})));
    assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28", "{found}");
    assert_eq!(
        names(&modern.request("tools/list", stateless(json!({})))),
        ["clock", "echo", "workspace_read"]
    );
    let params = stateless(json!({"name": "echo", "arguments": {"text": "grün"}}));
    let called = modern.request("tools/call", params);
    assert_eq!(
        (&called["result"]["resultType"], &called["result"]["content"][0]["text"]),
        (&json!("complete"), &json!("grün"))
    );
    assert_eq!((legacy.close(), modern.close()), (0, 0));
    let rows = home.run(&["audit", "recent", "--json"]).ok().stdout;
    assert!(rows.contains("client:ada"), "the calls are the client's: {rows}");
    assert!(!elsewhere.path().exists(), "no daemon was started here");
}

#[test]
fn a_token_that_is_revoked_midway_is_refused_in_either_era_and_never_shown() {
    let home = unhurried();
    let daemon = home.up();
    let token = client(&home, "ada");
    let mut bridges = [(); 2].map(|()| bridge(&home, &origin(&daemon), &[("COVIBE_MCP_TOKEN", &token)]));
    let [legacy, modern] = &mut bridges;
    legacy.initialize();
    let arguments = json!({"name": "echo", "arguments": {"text": "hi"}});
    assert_eq!(legacy.request("tools/call", arguments.clone())["result"]["isError"], false);
    assert_eq!(modern.request("tools/call", stateless(arguments.clone()))["result"]["isError"], false);
    home.run(&["clients", "revoke", "ada"]).ok();
    for answer in [
        legacy.request("tools/call", arguments.clone()),
        modern.request("tools/call", stateless(arguments)),
        legacy.request("tools/list", json!({})),
    ] {
        assert_eq!(answer["error"]["code"], -31000, "{answer}");
        assert!(!answer.to_string().contains(&token), "{answer}");
    }
}

#[test]
fn over_tls_the_systems_roots_decide_whom_the_token_is_shown() {
    let home = unhurried();
    let certificate = Certificate::new();
    certificate.write(&home);
    home.write("config.toml", "[http]\ntls_cert = \"cert.pem\"\ntls_key = \"key.pem\"\n");
    let daemon = home.up();
    let token = client(&home, "ada");
    let url = format!("https://localhost:{}", daemon.port());
    let (right, other) = (home.path().join("cert.pem"), home.path().join("other.pem"));
    home.write("other.pem", &Certificate::new().pem);
    for (roots, trusted) in [(right, true), (other, false), (home.beside("nowhere.pem"), false)] {
        let roots = roots.display().to_string();
        let mut client = bridge(&home, &url, &[("COVIBE_MCP_TOKEN", &token), ("SSL_CERT_FILE", &roots)]);
        client.initialize();
        let called = client.call("echo", json!({"text": "hi"}));
        if trusted {
            assert_eq!(called["result"]["content"][0]["text"], "hi", "{called}");
        } else {
            let message = told(&called);
            assert!(message.contains("could not be reached") && message.contains("certificate"), "{message}");
        }
    }
}

#[test]
fn a_daemon_that_goes_and_comes_back_is_found_again() {
    let home = unhurried();
    let daemon = home.up();
    let token = client(&home, "ada");
    let (port, url) = (daemon.port(), origin(&daemon));
    let mut client = bridge(&home, &url, &[("COVIBE_MCP_TOKEN", &token)]);
    client.initialize();
    assert_eq!(names(&client.request("tools/list", json!({}))), ["clock", "echo"]);
    daemon.stop();
    let listed = client.request("tools/list", json!({}));
    let message = listed["error"]["message"].as_str().unwrap_or_else(|| panic!("{listed}"));
    assert!(message.contains(&url) && message.contains("could not be reached"), "{message}");
    assert!(told(&client.call("echo", json!({"text": "hi"}))).contains("could not be reached"));
    let mut late = bridge(&home, &url, &[("COVIBE_MCP_TOKEN", &token)]);
    assert_eq!(
        late.initialize()["result"]["capabilities"]["tools"]["listChanged"],
        true,
        "answered all the same"
    );
    let discovered = late.request("server/discover", stateless(json!({})));
    assert_eq!(discovered["result"]["ttlMs"], 0, "{discovered}");

    let _daemon = Daemon::start(&home, &["--listen", &format!("127.0.0.1:{port}")]);
    assert_eq!(client.call("echo", json!({"text": "hi"}))["result"]["content"][0]["text"], "hi");
    assert_eq!(names(&late.request("tools/list", json!({}))), ["clock", "echo"]);
    assert_eq!(client.close(), 0);
}

/// Writes the file of credentials, with that mode.
fn keep(home: &Home, credentials: &Value, mode: u32) {
    let file = home.beside(".covibe/credentials.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, credentials.to_string()).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// VIBE-24, VIBE-25: without a token in the environment, the one that is kept for this agent and this daemon is used.
#[test]
fn the_token_that_is_kept_for_an_agent_is_chosen_by_its_marker() {
    let home = unhurried();
    let daemon = home.up();
    let url = origin(&daemon);
    let (codex, cursor) = (client(&home, "codex"), client(&home, "cursor"));
    home.run(&["capabilities", "grant", "tool.call.workspace_read", "--to", "client:cursor"]).ok();
    keep(
        &home,
        &json!({format!("{url}/"): {"codex": codex, "cursor": cursor}, "https://a.example": {"claude-code": codex}}),
        0o600,
    );
    let seen = |environment: &[(&str, &str)]| {
        let listed = bridge(&home, &url, environment).request("tools/list", json!({}));
        if listed["error"].is_object() { listed["error"]["code"].clone() } else { json!(names(&listed)) }
    };
    assert_eq!(seen(&[("COVIBE_AGENT", "codex")]), json!(["clock", "echo"]));
    assert_eq!(seen(&[("COVIBE_AGENT", "cursor")]), json!(["clock", "echo", "workspace_read"]));
    assert_eq!(seen(&[("COVIBE_AGENT", "claude-code")]), -31000, "kept for another daemon");
    assert_eq!(seen(&[]), -31000, "nothing says which agent this is");
    assert_eq!(
        seen(&[("COVIBE_AGENT", "codex"), ("COVIBE_MCP_TOKEN", &cursor)]),
        json!(["clock", "echo", "workspace_read"])
    );
    let both = [("COVENANT_TOKEN", codex.as_str()), ("COVIBE_MCP_TOKEN", &cursor)];
    assert_eq!(seen(&both), json!(["clock", "echo"]), "COVENANT_TOKEN is the first");

    // The same for the daemon of this home, by its socket.
    let local = home.command(&["--mcp"]).env("COVIBE_AGENT", "codex");
    let address = url.strip_prefix("http://").unwrap();
    let listed = StdioClient::start(local.env("COVENANT_LISTEN", address)).request("tools/list", json!({}));
    assert_eq!(names(&listed), ["clock", "echo"], "not all that the operator sees");

    keep(&home, &json!({&url: {"codex": codex}}), 0o640);
    let open = home.command(&["--mcp", "--url", &url]).env("COVIBE_AGENT", "codex").run().exits(2);
    assert!(
        open.stderr.contains("can be read by other users") && !open.stderr.contains(&codex),
        "{}",
        open.stderr
    );
    let unknown = home.command(&["--mcp", "--url", &url]).env("COVIBE_AGENT", "gemini").run().exits(2);
    assert!(
        unknown.stderr.contains("`gemini`") && unknown.stderr.contains("claude-code"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn only_the_origin_of_a_daemon_is_taken_and_a_typed_one_wins() {
    let home = home();
    for (url, words) in [
        ("http://192.0.2.1:8421", "https://"),
        ("https://ada:hunter2@covenant.example.org", "COVIBE_MCP_TOKEN"),
        ("https://covenant.example.org/mcp", "`/mcp` is added"),
        ("https://covenant.example.org/?token=hunter2", "scheme, host and port alone"),
        ("https://covenant.example.org#hunter2", "scheme, host and port alone"),
        ("covenant.example.org", "scheme and host"),
        ("ftp://covenant.example.org", "https://"),
    ] {
        for ran in [
            home.run(&["--mcp", "--url", url]).exits(2),
            home.command(&["--mcp"]).env("COVIBE_BASE_URL", url).run().exits(2),
            home.command(&["--mcp", "--url", url])
                .env("COVIBE_BASE_URL", "http://127.0.0.1:1")
                .run()
                .exits(2),
        ] {
            assert!(ran.stderr.contains(words) && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
        }
    }
    let slow = home.command(&["--mcp", "--url", "http://127.0.0.1:1"]).env("COVIBE_TIMEOUT_MS", "soon");
    assert!(slow.run().exits(2).stderr.contains("COVIBE_TIMEOUT_MS"));
    home.run(&["status", "--url", "http://127.0.0.1:1"]).exits(2);
}
