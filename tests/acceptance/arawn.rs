//! The second founding document: the runtime for external MCP servers, its configuration, commands and API.
//!
//! Names of its types and functions (`McpManager`, `connect_all`, …) are shown by what they were to do.

use std::os::unix::fs::PermissionsExt as _;

use covenant_testkit::wait::until;
use covenant_testkit::{Home, Upstream};
use serde_json::{Value, json};

use crate::fleet::stage::{Stage, failure, names, text, until_listed};
use crate::home;

/// The fixture server.
fn program(home: &Home) -> String {
    home.program().with_file_name("server").display().to_string()
}

/// ARAWN-01, ARAWN-02, ARAWN-04, ARAWN-27, ARAWN-28
#[test]
fn a_local_server_is_configured_in_config_toml_and_its_tools_are_discovered() {
    let home = home();
    let said = Upstream::stdio(&home, "said", &[]).key("transport", json!("stdio"));
    let unsaid = Upstream::stdio(&home, "unsaid", &[]);
    let stage = Stage::with(&home, &[&said, &unsaid]);
    let mut client = stage.client();
    for server in [&said, &unsaid] {
        assert_eq!(stage.ready(&server.name)["transport"], "stdio");
        assert!(!server.heard("tools/list").is_empty());
        assert_eq!(text(&client.call(&format!("{}__echo", server.name), json!({"text": "hi"}))), "hi");
    }
}

/// ARAWN-03, ARAWN-22, ARAWN-23, ARAWN-24, ARAWN-61
#[test]
fn a_servers_tools_stand_beside_our_own_on_the_same_path() {
    let home = home();
    let server = Upstream::stdio(&home, "one", &[]);
    let stage = Stage::with(&home, &[&server]);
    stage.ready("one");
    let listed = home.run(&["tools", "list", "--json"]).ok().json();
    let find =
        |name: &str| listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(find("echo")["description"], "Returns the provided text argument verbatim.");
    let rich = find("one__rich");
    assert_eq!(rich["description"], "Has all that a tool may have.");
    assert_eq!(
        rich["inputSchema"],
        json!({"type": "object", "properties": {"q": {"type": "string", "description": "Anything."}}})
    );
    home.run(&["tools", "call", "one__echo", "--args", r#"{"text":"hi"}"#]).exits(3);
    home.run(&["capabilities", "grant", "tool.call.one__*"]).ok();
    assert_eq!(home.run(&["tools", "call", "one__echo", "--args", r#"{"text":"hi"}"#]).ok().stdout, "hi\n");
    home.run(&["tools", "call", "one__add", "--args", r#"{"a":1,"b":2}"#]).ok();
    let rows = home.run(&["audit", "recent", "--json", "--agent-id", "tool:one__echo"]).ok().json_lines();
    assert!(rows.iter().any(|row| row["kind"] == "CallFinished" && row["decision"] == "ok"), "{rows:?}");
    assert_eq!((server.count("started"), server.heard("tools/call").len()), (1, 2), "all of them share one");
}

/// ARAWN-05, ARAWN-14, ARAWN-30, ARAWN-31
#[test]
fn a_plugin_names_the_servers_it_needs() {
    let home = home();
    let mine = Upstream::command(&home, "notes", &program(&home), &["stdio", "name={workspace}/notes"]);
    home.write(
        "plugins/notes/plugin.toml",
        &format!("name = \"notes\"\nversion = \"1\"\n\n{}", mine.entry("mcp_servers")),
    );
    home.write("config.toml", "[rate_limit]\nrate = 0\n");
    let stage = Stage::up(&home);
    let now = stage.ready("notes");
    assert!(now["source"].as_str().unwrap().contains("notes"), "{now}");
    let whose = format!("whose of {}/notes", home.path().join("workspace").display());
    assert_eq!(text(&stage.client().call("notes__whose", json!({}))), whose);
}

/// The plugin of the documentation, in a new home: its program ends where the directory it is given is not there.
#[test]
fn the_workspace_that_a_plugin_names_is_there_from_the_first_start_on() {
    let home = home();
    let line = "ls \"$1\" >&2 && exec \"$0\" stdio";
    let notes = Upstream::command(&home, "notes", "sh", &["-c", line, &program(&home), "{workspace}"]);
    home.write("plugins/notes/plugin.toml", &notes.entry("mcp_servers"));
    let stage = Stage::up(&home);
    let now = stage.ready("notes");
    assert_eq!((&now["restarts"], &now["error"]), (&json!(0), &Value::Null), "{now}");
    let metadata = home.path().join("workspace").metadata().unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o700);
}

/// ARAWN-06, ARAWN-17, ARAWN-29, ARAWN-60, ARAWN-62
#[test]
fn a_server_elsewhere_is_reached_by_http_and_by_events() {
    let home = home();
    let served = Upstream::http(&home, "served", &[]);
    let bare = Upstream::url(&home, "remote", &format!("http://localhost:{}", served.port()))
        .key("transport", json!("http"));
    let events = Upstream::sse(&home, "events", &[]);
    let local = Upstream::stdio(&home, "local", &[]);
    let stage = Stage::with(&home, &[&local, &bare, &events]);
    let mut client = stage.client();
    for (name, transport) in [("local", "stdio"), ("remote", "http"), ("events", "sse")] {
        assert_eq!(stage.ready(name)["transport"], transport);
        assert_eq!(text(&client.call(&format!("{name}__echo"), json!({ "text": name }))), name);
    }
    let posted = |line: &Value| line["way"] == "POST /mcp" && line["message"]["jsonrpc"] == "2.0";
    assert!(served.record().iter().any(posted), "{:?}", served.record());
}

/// ARAWN-07, ARAWN-37, ARAWN-38, ARAWN-39, ARAWN-40
#[test]
fn the_documents_commands_manage_servers() {
    let home = home();
    let stage = Stage::with(&home, &[]);
    // Arguments may begin with a dash, without `--` before them.
    let script = "exec \"$0\" stdio name=typed";
    home.run(&["mcp", "add", "typed", "sh", "-c", script, &program(&home)]).ok();
    stage.ready("typed");
    let listed = home.run(&["mcp", "list", "--json"]).ok().json();
    assert_eq!((&listed["total"], &listed["connected"]), (&json!(1), &json!(1)));
    let server = &listed["servers"][0];
    assert_eq!((&server["name"], &server["state"]), (&json!("typed"), &json!("ready")));
    assert!(server["tools"].as_array().unwrap().contains(&json!("typed__echo")), "{server}");
    let shown = home.run(&["mcp", "list"]).ok().stdout;
    let line = shown.lines().find(|line| line.starts_with("typed: ")).unwrap_or_else(|| panic!("{shown}"));
    assert!(line.contains("typed__add, typed__ask, ") && line.ends_with(" more"), "{shown}");
    let shown = home.run(&["mcp", "list", "--tools"]).ok().stdout;
    for tool in server["tools"].as_array().unwrap() {
        let tool = tool.as_str().unwrap();
        assert!(shown.lines().any(|line| line.trim() == tool), "{tool} is not named: {shown}");
    }
    assert_eq!(text(&stage.client().call("typed__whose", json!({}))), "whose of typed");

    let tested = home.run(&["mcp", "test", "typed", "--json"]).ok().json();
    let phases: Vec<&str> =
        tested["phases"].as_array().unwrap().iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["start", "handshake", "list", "stop"]);
    assert_eq!(
        (&tested["ok"], tested["tools"].as_array().unwrap().contains(&json!("echo"))),
        (&json!(true), true)
    );
    home.run(&["mcp", "remove", "typed"]).ok();
    assert!(stage.server("typed").is_null());
    assert_ne!(home.run(&["mcp", "test", "typed"]).code(), 0);
}

/// ARAWN-08, ARAWN-35, ARAWN-41, ARAWN-42, ARAWN-43
#[test]
fn the_api_adds_lists_and_removes_servers_at_runtime() {
    let home = home();
    let stage = Stage::with(&home, &[]);
    let body = json!({"name": "hot", "command": program(&home), "args": ["stdio", "offers=echo,add"]});
    let (status, added) = stage.ask("POST", "mcp/servers", &body);
    assert_eq!(status, 201, "{added}");
    assert_eq!(
        added,
        json!({"name": "hot", "connected": true, "tools": ["hot__add", "hot__echo"], "tool_count": 2})
    );
    assert_eq!(stage.ask("POST", "mcp/servers", &body).0, 409);
    assert_eq!(stage.ask("POST", "mcp/servers", &json!({"name": "", "command": "x"})).0, 422);
    assert_eq!(stage.ask("POST", "mcp/servers", &json!({"name": "neither"})).0, 422);
    let (status, failed) = stage.ask(
        "POST",
        "mcp/servers",
        &json!({"name": "dead", "command": program(&home), "args": ["stdio", "die@start"]}),
    );
    assert_eq!((status, &failed["connected"]), (201, &json!(false)), "{failed}");
    assert!(failed["error"].as_str().unwrap().contains("told to die"), "{failed}");
    let all = stage.servers();
    assert_eq!((&all["total"], &all["connected"]), (&json!(2), &json!(1)), "{all}");
    assert_eq!(stage.server("hot")["tools"], json!(["hot__add", "hot__echo"]));
    let (status, tools) = stage.ask("GET", "mcp/servers/hot/tools", &Value::Null);
    assert_eq!((status, &tools["tools"][1]["name"]), (200, &json!("hot__echo")), "{tools}");
    let (status, removed) = stage.ask("DELETE", "mcp/servers/hot", &Value::Null);
    assert_eq!((status, removed), (200, json!({"name": "hot", "removed": true})));
    assert_eq!(stage.ask("DELETE", "mcp/servers/hot", &Value::Null).0, 404);
    assert_eq!(stage.ask("GET", "mcp/servers/hot", &Value::Null).0, 404);
}

/// ARAWN-36, ARAWN-44
#[test]
fn a_server_that_goes_takes_its_tools_along_and_plugins_come_and_go() {
    let home = home();
    let stage = Stage::with(&home, &[]);
    let mut client = stage.client();
    let mine = Upstream::stdio(&home, "mine", &[]);
    home.write("plugins/mine/plugin.toml", &mine.entry("mcp_servers"));
    until_listed(&mut client, "mine__echo", true);
    std::fs::remove_dir_all(home.path().join("plugins/mine")).unwrap();
    until_listed(&mut client, "mine__echo", false);
    assert_eq!(client.call("mine__echo", json!({"text": "x"}))["error"]["code"], -32602);
    until("its process has ended", || (mine.count("ended") == 1).then_some(()));
    assert!(!names(&mut client).iter().any(|name| name.contains("__")), "only our own are left");
}

/// ARAWN-16, ARAWN-18, ARAWN-19, ARAWN-20, ARAWN-21
#[test]
fn a_server_is_connected_listed_called_and_disconnected() {
    let home = home();
    let lines = Upstream::stdio(&home, "lines", &[]);
    let web = Upstream::http(&home, "web", &["legacy"]);
    let stage = Stage::with(&home, &[&lines, &web]);
    let mut client = stage.client();
    for server in [&lines, &web] {
        let name = &server.name;
        stage.ready(name);
        assert_eq!(text(&client.call(&format!("{name}__echo"), json!({"text": "hi"}))), "hi");
        assert_eq!(server.heard("tools/call")[0]["params"]["name"], "echo");
        assert_eq!(server.heard("tools/call")[0]["params"]["arguments"], json!({"text": "hi"}));
        assert!(!server.heard("tools/list").is_empty());
        let (status, now) = stage.ask("POST", &format!("mcp/servers/{name}/disconnect"), &Value::Null);
        assert_eq!((status, &now["connected"]), (200, &json!(false)), "{now}");
        let (status, now) = stage.ask("POST", &format!("mcp/servers/{name}/connect"), &Value::Null);
        assert_eq!((status, &now["connected"]), (200, &json!(true)), "{now}");
    }
    assert_eq!((lines.count("ended"), lines.count("started")), (1, 2), "by the end of its input");
    let ended = |line: &Value| line["way"] == "DELETE /mcp";
    assert!(web.record().iter().any(ended), "the session was ended");
}

/// ARAWN-25, ARAWN-26
#[test]
fn success_is_its_content_and_failure_says_that_it_was_the_servers() {
    let home = home();
    let server = Upstream::stdio(&home, "one", &[]);
    let stage = Stage::with(&home, &[&server]);
    stage.ready("one");
    let mut client = stage.client();
    assert_eq!(text(&client.call("one__echo", json!({"text": "as it is"}))), "as it is");
    let said = failure(&client.call("one__refuse", json!({})), "one");
    assert!(said.contains("the server says no"), "{said}");
    let ran = home.run(&["tools", "call", "one__refuse"]).exits(1);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("MCP error: "), "{ran:?}");
    // A tool that fails by itself says what it says.
    let own = client.call("one__fail", json!({}));
    assert_eq!(own["result"]["content"][0]["text"], "it cannot be done");
}

/// ARAWN-15, ARAWN-32, ARAWN-33, ARAWN-34
#[test]
fn every_configured_server_is_connected_and_known_by_its_name() {
    let home = home();
    let servers: Vec<Upstream> = ["ada", "bob", "cat"]
        .into_iter()
        .map(|name| Upstream::stdio(&home, name, &[&format!("name={name}"), "offers=whose"]))
        .collect();
    let all: Vec<&Upstream> = servers.iter().collect();
    let stage = Stage::with(&home, &all);
    let mut client = stage.client();
    for name in ["ada", "bob", "cat"] {
        let now = stage.ready(name);
        assert_eq!(
            (&now["transport"], &now["era"], &now["tools"]),
            (&json!("stdio"), &json!("modern"), &json!([format!("{name}__whose")])),
            "{now}"
        );
        assert_eq!(text(&client.call(&format!("{name}__whose"), json!({}))), format!("whose of {name}"));
    }
    let theirs: Vec<String> = names(&mut client).into_iter().filter(|name| name.contains("__")).collect();
    assert_eq!(theirs, ["ada__whose", "bob__whose", "cat__whose"]);
}
