//! Starting, stopping and everything that can be wrong before either.

use std::os::unix::fs::PermissionsExt as _;

use covenant_testkit::http::get;
use covenant_testkit::wait::until;
use covenant_testkit::{Daemon, Home};
use serde_json::json;

use crate::home;

#[test]
fn up_says_where_it_is_and_how_to_connect() {
    let home = home();
    let daemon = home.up();
    let printed = until("it has said everything", || {
        let printed = daemon.printed();
        printed.contains("covenant tools list").then_some(printed)
    });
    let url = format!("http://localhost:{}/mcp", daemon.port());
    for part in ["127.0.0.1:", "sock", "Claude Code", "Cursor", "Codex", "VS Code", "covenant --mcp", &url] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let shown = home.run(&["status"]).ok().stdout;
    assert!(shown.contains(&url) && !shown.contains("public "), "{shown}");
    let status = daemon.status();
    assert_eq!(status["ready"], true);
    assert_eq!(status["pid"], json!(daemon.pid()));
    assert!(get(daemon.port(), "/healthz", "localhost", "").starts_with("HTTP/1.1 200"));
    assert!(get(daemon.port(), "/readyz", "127.0.0.1", "").contains("\"ready\":true"));
    daemon.stop();
    home.run(&["status", "--no-start"]).exits(4);
    assert!(!home.path().join("sock").exists(), "a clean stop leaves no socket");
}

#[test]
fn strangers_and_other_sites_are_kept_out_of_the_port() {
    let home = home();
    let daemon = home.up();
    let port = daemon.port();
    assert!(get(port, "/healthz", "evil.example", "").starts_with("HTTP/1.1 403"));
    assert!(
        get(port, "/healthz", "localhost", "Origin: https://evil.example\r\n").starts_with("HTTP/1.1 403")
    );
    let anonymous = get(port, "/api/v1/status", "localhost", "");
    assert!(
        anonymous.starts_with("HTTP/1.1 401")
            && anonymous.to_lowercase().contains("www-authenticate: bearer"),
        "{anonymous}"
    );
    let token = std::fs::read_to_string(home.path().join("identity/operator.token")).unwrap();
    let known =
        get(port, "/api/v1/status", "localhost", &format!("Authorization: Bearer {}\r\n", token.trim()));
    assert!(known.starts_with("HTTP/1.1 200"), "{known}");
}

#[test]
fn commands_start_a_daemon_when_none_runs_and_say_so() {
    let home = home();
    home.run(&["tools", "list", "--no-start"]).exits(4);
    let watched = home.run(&["approvals", "watch", "--no-start"]).exits(4).stderr;
    assert!(watched.starts_with("error: "), "nothing is announced that does not come: {watched}");
    let ran = home.run(&["tools", "list"]).ok();
    assert!(ran.stderr.contains("started the daemon"), "{}", ran.stderr);
    let again = home.run(&["tools", "list"]).ok();
    assert!(!again.stderr.contains("started the daemon"), "{}", again.stderr);
    home.run(&["stop"]).ok();
    let mut client = home.mcp();
    assert!(client.request("ping", json!({})).get("result").is_some(), "the bridge starts one too");
    assert_eq!(client.close(), 0);
    home.run(&["stop"]).ok();
    home.run(&["up", "--detach"]).ok();
    home.run(&["status", "--no-start"]).ok();
    home.run(&["stop"]).ok();
    home.run(&["stop", "--no-start"]).exits(4);
}

#[test]
fn a_second_daemon_is_told_who_holds_the_home() {
    let home = home();
    let daemon = home.up();
    let second = home.run(&["up"]).exits(1);
    assert!(second.stderr.contains(&daemon.pid().to_string()), "{}", second.stderr);
    daemon.kill();
    // A lock of the dead is no obstacle, and neither is the socket it left.
    assert!(home.path().join("sock").exists());
    home.up().stop();
}

#[test]
fn the_bridge_answers_for_a_daemon_that_died_and_goes_on_with_the_next() {
    let home = home();
    let daemon = home.up();
    let mut client = home.mcp();
    client.initialize();
    daemon.kill();
    // The next request finds nobody: the bridge starts a daemon, or says what to do; the one after it is served.
    until("the session goes on", || client.request("ping", json!({})).get("result").map(|_| ()));
    assert!(client.request("tools/list", json!({}))["result"]["tools"].is_array());
    home.run(&["stop"]).ok();
}

#[test]
fn broken_configuration_is_refused_with_file_line_and_reason() {
    for (text, parts) in [
        ("[http\nlisten = 1", &["config.toml", "line 1"][..]),
        ("[rate_limit]\nrate = \"fast\"", &["config.toml", "line 2", "rate_limit.rate"]),
        ("[http]\nbehind_proxy = \"yes\"", &["config.toml", "line 2", "http.behind_proxy"]),
        ("[rate_limit]\nrate = -1", &["rate_limit.rate"]),
        ("[database]\nurl = \"mysql://x\"", &["database.url", "sqlite:", "postgres://"]),
        ("[logging]\nlevel = \"loud\"", &["config.toml", "line 2", "debug"]),
    ] {
        let home = home();
        home.write("config.toml", text);
        let ran = home.run(&["up"]);
        assert!([1, 2].contains(&ran.code()), "{text}: {}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{text}: {part}: {}", ran.stderr);
        }
        assert!(!home.path().join("covenant.db").exists(), "nothing is half written");
    }
}

#[test]
fn only_loopback_is_listened_on_without_tls() {
    let home = home();
    let ran = home.run(&["up", "--listen", "0.0.0.0:0"]);
    assert!([1, 2].contains(&ran.code()), "{}", ran.stderr);
    assert!(ran.stderr.contains("0.0.0.0") && ran.stderr.contains("listen on 127.0.0.1"), "{}", ran.stderr);
}

#[test]
fn unknown_keys_are_named_and_do_no_harm() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrat = 5\n[nonsense]\nx = 1\n");
    let daemon = home.up();
    let printed = until("the warnings", || {
        let printed = daemon.printed();
        printed.contains("nonsense").then_some(printed)
    });
    assert!(printed.contains("rate_limit.rat"), "{printed}");
}

#[test]
fn a_home_that_others_may_write_or_own_is_refused() {
    let home = home();
    home.write("config.toml", "");
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let ran = home.run(&["up"]);
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("chmod 700"), "{}", ran.stderr);
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::set_permissions(home.path().join("config.toml"), std::fs::Permissions::from_mode(0o666))
        .unwrap();
    let ran = home.run(&["up"]);
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("config.toml"), "{}", ran.stderr);

    if rustix::process::getuid().is_root() {
        std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).unwrap();
        let ran = home.run(&["up"]);
        assert_ne!(ran.code(), 0);
        assert!(ran.stderr.contains("belongs to user 65534"), "{}", ran.stderr);
    } else {
        assert!(std::env::var_os("CI").is_none(), "CI runs as root");
    }
}

#[test]
fn an_unreadable_home_is_refused_with_the_way_out() {
    if !rustix::process::getuid().is_root() {
        assert!(std::env::var_os("CI").is_none(), "CI runs as root, to become someone else");
        return;
    }
    let home = home();
    home.write("config.toml", "");
    std::fs::set_permissions(home.beside(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = home.beside("covenant");
    covenant_testkit::program::copy(home.program(), &program);
    let ran = Home::within(&home.beside(""), program).command(&["up"]).uid(65534).run();
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains(home.path().to_str().unwrap()), "{}", ran.stderr);
    assert!(ran.stderr.contains("help:"), "{}", ran.stderr);
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let home = home();
    home.up().stop();
    let database = home.path().join("covenant.db");
    let run = |sql: &str| covenant_testkit::sqlite::execute(&database, sql);
    run(
        "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (9999, 'future', 'x', 0)",
    );
    let before = std::fs::read(&database).unwrap();
    let ran = home.run(&["up"]);
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("9999") && ran.stderr.contains("newer"), "{}", ran.stderr);
    assert!(home.run(&["doctor"]).exits(1).stdout.contains("9999"));
    assert_eq!(before, std::fs::read(&database).unwrap(), "nothing was changed");
    run("DELETE FROM schema_migrations WHERE version = 9999");
    home.up().stop();
}

#[test]
fn a_corrupt_database_is_refused_by_name() {
    let home = home();
    home.write("covenant.db", &"this is not a database. ".repeat(100));
    let ran = home.run(&["up"]);
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("covenant.db"), "{}", ran.stderr);
    let doctor = home.run(&["doctor"]).exits(1);
    assert!(doctor.stdout.contains("not a sound SQLite database"), "{}", doctor.stdout);
}

#[test]
fn a_daemon_that_cannot_start_says_why_wherever_it_was_started_from() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = -1\n");
    let reason = "rate_limit.rate";
    assert!(home.run(&["up"]).exits(2).stderr.contains(reason));
    assert!(home.run(&["up", "--detach"]).exits(2).stderr.contains(reason));
    assert!(home.run(&["tools", "list"]).exits(4).stderr.contains(reason));
    let told = home.run(&["tools", "list", "--json"]).exits(4).stderr;
    let told: serde_json::Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert!(told["error"]["message"].as_str().unwrap().contains(reason), "{told}");
    let answers = home
        .command(&["--mcp"])
        .input("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .run()
        .json_lines();
    assert_eq!(answers[0]["error"]["code"], -32603);
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains(reason), "{answers:?}");
}

/// Answers are written out before the bridge ends, whatever they are written to.
#[test]
fn the_bridge_writes_to_files_and_says_when_it_cannot() {
    let home = home();
    let _daemon = home.up();
    let requests = home.beside("requests.jsonl");
    std::fs::write(&requests, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n").unwrap();
    let bridge = |output: std::fs::File| {
        let mut command = std::process::Command::new(home.program());
        command.args(["--mcp", "--home"]).arg(home.path());
        command.stdin(std::fs::File::open(&requests).unwrap()).stdout(output).output().unwrap().status
    };
    let answers = home.beside("answers.jsonl");
    assert!(bridge(std::fs::File::create(&answers).unwrap()).success());
    let answer = std::fs::read_to_string(&answers).unwrap();
    assert!(answer.ends_with("}\n") && answer.contains("\"clock\""), "{answer}");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(bridge(full).code(), Some(1), "lost answers are not success");
}

#[test]
fn a_taken_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let home = home();
    let ran = home.run(&["up", "--listen", &address]);
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains(&address) && ran.stderr.contains("--listen"), "{}", ran.stderr);
}

#[test]
fn sigterm_is_a_graceful_stop_and_reload_applies_what_it_can() {
    let home = home();
    let daemon = home.up();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[database]\nurl = \"sqlite:other.db\"\n");
    let reloaded = home.run(&["reload", "--json"]).ok().json();
    assert!(reloaded["applied"].to_string().contains("rate_limit"), "{reloaded}");
    assert!(reloaded["needs_restart"].to_string().contains("database"), "{reloaded}");
    let mut client = home.mcp();
    for _ in 0..50 {
        assert!(client.request("ping", json!({})).get("result").is_some(), "the limit is off");
    }
    home.write("config.toml", "[rate_limit\n");
    let broken = home.run(&["reload"]);
    assert_ne!(broken.code(), 0);
    assert!(broken.stderr.contains("config.toml"), "{}", broken.stderr);
    assert!(client.request("ping", json!({})).get("result").is_some(), "what was in force stays in force");
    let log = std::fs::read_to_string(home.path().join("logs/covenant.log")).unwrap();
    assert!(log.contains("applied=rate_limit.rate needs_restart=database.url"), "{log}");
    assert!(log.contains("nothing was reloaded: "), "{log}");
    daemon.signal(rustix::process::Signal::TERM);
    let (code, printed) = daemon.ended();
    assert_eq!(code, 0, "{printed}");
    let report = home.run(&["audit", "verify", "--json"]).ok().json();
    assert_eq!(report["verified_to"], report["rows"], "a clean stop ends with a checkpoint: {report}");
}

#[test]
fn doctor_and_config_work_with_and_without_a_daemon() {
    let home = home();
    home.write("config.toml", "[database]\nurl = \"sqlite:covenant.db\"\n");
    home.run(&["doctor", "--no-start"]);
    assert!(home.run(&["config", "show", "--no-start"]).ok().stdout.contains("rate"));
    let daemon = home.up();
    home.run(&["doctor"]).ok();
    let report = home.run(&["doctor", "--json"]).ok().json();
    assert!(report.to_string().contains("audit"), "{report}");
    assert_eq!(
        home.run(&["config", "path"]).ok().stdout.trim(),
        home.path().join("config.toml").to_str().unwrap()
    );
    daemon.stop();
}

#[test]
fn a_long_home_path_gets_its_socket_elsewhere() {
    let home = home();
    let deep = home.beside(&"d".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let home = Home::within(&deep, home.program());
    let daemon = home.up();
    home.run(&["tools", "list"]).ok();
    let socket = daemon.status()["socket"].as_str().unwrap().to_owned();
    assert!(socket.len() <= 107 && !socket.starts_with(deep.to_str().unwrap()), "{socket}");
    daemon.stop();
}

#[test]
fn completions_and_version_need_nothing() {
    let home = home();
    assert!(home.run(&["completions", "bash"]).ok().stdout.contains("covenant"));
    assert!(home.run(&["--version"]).ok().stdout.starts_with("covenant "));
    home.run(&["nonsense"]).exits(2);
    assert!(!home.path().exists(), "nothing was made");
}

#[test]
fn detached_and_foreground_listen_where_they_are_told() {
    let home = home();
    let daemon = Daemon::start(&home, &["--listen", "127.0.0.1:0"]);
    assert!(daemon.status()["listen"].to_string().contains("127.0.0.1:"));
}

#[test]
fn the_same_daemon_serves_from_postgresql() {
    let Some(url) = covenant_testkit::postgres::database().unwrap() else { return };
    let home = home();
    home.write("config.toml", &format!("[rate_limit]\nrate = 0\n[database]\nurl = \"{url}\"\n"));
    let daemon = home.up();
    assert!(daemon.status()["database"].as_str().unwrap().starts_with("postgres"));
    home.run(&["capabilities", "grant", "tool.call.echo", "--where", r#"{"max_calls":2}"#]).ok();
    let token = home.run(&["clients", "add", "claude"]).ok().stdout;
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"hi"}"#]).ok();
    daemon.kill();
    let daemon = home.up();
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"hi"}"#]).ok();
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"hi"}"#]).exits(3);
    home.command(&["tools", "call", "clock"]).env("COVENANT_TOKEN", token.trim()).run().ok();
    assert!(!home.path().join("covenant.db").exists(), "one database, not two");
    daemon.stop();
    home.run(&["audit", "verify"]).ok();
}

/// Two homes, one database: what is granted or revoked through one holds for the other.
#[test]
fn daemons_that_share_a_database_see_each_others_grants_and_revocations() {
    let Some(url) = covenant_testkit::postgres::database().unwrap() else { return };
    let config = format!("[rate_limit]\nrate = 0\n[database]\nurl = \"{url}\"\n");
    let (first, second) = (home(), home());
    first.write("config.toml", &config);
    let _first = first.up();
    let key = std::fs::read_to_string(first.path().join("identity/local.pub")).unwrap();
    second.write("config.toml", &format!("{config}[cluster]\ntrusted_keys = [\"{}\"]\n", key.trim()));
    let _second = second.up();
    let token =
        first.run(&["clients", "add", "claude", "--grant", "tool.call.echo"]).ok().stdout.trim().to_owned();
    let call = || {
        let call = second.command(&["tools", "call", "echo", "--args", r#"{"text":"hi"}"#]);
        call.env("COVENANT_TOKEN", &token).run().code()
    };
    until("the other daemon knows the client and its grant", || (call() == 0).then_some(()));
    first.run(&["clients", "revoke", "claude"]).ok();
    until("the other daemon knows that it was revoked", || (call() == 3).then_some(()));
}
