//! What the command line does through the daemon, it does by described requests; and what is described, it uses.

use std::collections::BTreeSet;

use covenant_testkit::{Home, Ran, StdioClient, wait::until};
use serde_json::Value;

use super::described::Described;
use crate::cov_agent::stage::{Language, install};
use crate::{home, now};

/// Commands that ask no daemon, by design.
const LOCAL: [&str; 9] = [
    "agents check",
    "backup",
    "completions",
    "config path",
    "logs",
    "restore",
    "sandbox check",
    "scripts check",
    "store copy",
];

/// Operations that no command needs, each with the reason.
const UNUSED: [(&str, &str); 11] = [
    ("callTeamTool", "it is for agents; people call a tool with `tools call`"),
    ("showTeamState", "pages ask that; agents and people call `covibe_team`"),
    ("auditParallelWork", "pages ask for that; agents and people call `covibe_team`"),
    ("planTask", "pages plan with it; agents and people call `covibe_task`"),
    ("planWorkstream", "pages plan with it; agents and people call `covibe_workstream`"),
    ("openapi", "it is for programs that are written against the API"),
    ("docs", "it is for a browser"),
    ("showSession", "the pages of a browser ask that"),
    ("connectServer", "`mcp restart` wakes a server"),
    ("disconnectServer", "people remove a server, or switch it off in its entry"),
    ("listServerTools", "`mcp list --tools` has their names, and `tools show` each of them"),
];

/// Every command there is, as the help lists them.
fn commands(home: &Home, group: &[&str]) -> BTreeSet<String> {
    let help = home.run(&[group, &["--help"]].concat()).ok().stdout;
    let Some((_, list)) = help.split_once("Commands:\n") else {
        return BTreeSet::from([group.join(" ")]);
    };
    let names = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| {
        line.strip_prefix("  ").filter(|line| !line.starts_with(' ')).and_then(|line| line.split(' ').next())
    });
    let names = names.filter(|name| *name != "help");
    names.flat_map(|name| commands(home, &[group, &[name]].concat())).collect()
}

/// The method and path of every request that was answered.
fn answered(home: &Home) -> BTreeSet<(String, String)> {
    let log = std::fs::read_to_string(home.path().join("logs/covenant.log")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let requests = lines.filter(|line| line["message"] == "answered request");
    let field = |line: &Value, name: &str| line["fields"][name].as_str().unwrap().to_owned();
    requests.map(|line| (field(&line, "method"), field(&line, "path"))).collect()
}

fn people(run: &mut impl FnMut(&[&str]) -> Ran) {
    run(&["team", "init", "acme"]);
    run(&["team", "invite", "ada"]);
    run(&["team", "invite", "ada", "--again"]);
    run(&["dashboard", "--no-open"]);
    run(&["dashboard", "--sign-out-all"]);
    run(&["team", "members"]);
    run(&["team", "events"]);
    run(&["team", "summary"]);
    run(&["tokens", "create", "--for", "ada"]);
    let tokens = run(&["tokens", "list", "--json"]).json();
    run(&["tokens", "revoke", tokens[0]["id"].as_str().unwrap()]);
    run(&["team", "remove", "ada"]);
}

#[test]
fn every_request_of_a_command_is_described_and_every_operation_is_used_by_one() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[logging]\nlevel = \"debug\"\nformat = \"json\"\n");
    let mut ran = BTreeSet::new();
    let mut run = |arguments: &[&str]| {
        let options = arguments.iter().position(|it| it.starts_with("--")).unwrap_or(arguments.len());
        let typed: Vec<&str> = arguments[..options].to_vec();
        ran.extend((1..=typed.len()).map(|words| typed[..words].join(" ")));
        home.command(arguments).input("long enough").run().ok()
    };
    run(&["up", "--detach"]);
    run(&["status"]);
    run(&["tools", "list"]);
    run(&["tools", "show", "echo"]);
    assert!(run(&["tools", "search", "verbatim"]).stdout.contains("echo"));
    run(&["capabilities", "grant", "tool.call.echo"]);
    run(&["tools", "call", "echo", "--args", r#"{"text":"hi"}"#]);
    run(&["capabilities", "explain", "user@local", "tool.call.echo"]);
    let grants = run(&["capabilities", "list", "--json"]).json();
    run(&["capabilities", "revoke", grants[0]["id"].as_str().unwrap()]);
    run(&["clients", "add", "claude"]);
    run(&["clients", "list"]);
    run(&["clients", "revoke", "claude"]);
    people(&mut run);
    run(&["secrets", "set", "API_KEY"]);
    run(&["secrets", "list"]);
    run(&["secrets", "remove", "API_KEY"]);
    run(&["memory", "search", "deploy"]);
    run(&["memory", "recent"]);
    home.write("scripts/weather.star", "result = 1\n");
    run(&["scripts", "list"]);
    run(&["scripts", "show", "weather"]);
    run(&["capabilities", "grant", "tool.call.echo", "--approval", "ask"]);
    for verdict in ["approve", "reject"] {
        let arguments = format!(r#"{{"text":"{verdict}"}}"#);
        assert_eq!(home.run(&["tools", "call", "echo", "--args", &arguments]).code(), 3);
        let waiting = run(&["approvals", "list", "--json"]).json();
        let id = waiting[0]["id"].as_str().unwrap();
        let mut watch = StdioClient::start(home.command(&["approvals", "watch", "--json"]));
        assert_eq!(watch.receive()["id"], id);
        run(&["approvals", "show", id]);
        run(&["approvals", verdict, id]);
    }
    run(&["agents", "new", "helper"]);
    install(&home, "slow", Language::Python, "");
    run(&["agents", "reload"]);
    run(&["agents", "list"]);
    run(&["agents", "show", "helper"]);
    run(&["intent", "--agent", "helper", "hello"]);
    run(&["intent", "--agent", "helper", "--stream", "hello"]);
    let stays = run(&["intent", "--agent", "slow", "--no-wait", "stay"]).stdout;
    run(&["intents", "list"]);
    run(&["intents", "show", stays.trim()]);
    run(&["intents", "cancel", stays.trim()]);
    run(&["agents", "usage"]);
    let program = home.program().with_file_name("server").display().to_string();
    run(&["mcp", "add", "fixture", &program, "stdio"]);
    run(&["mcp", "list"]);
    run(&["mcp", "test", "fixture"]);
    run(&["mcp", "restart", "fixture"]);
    run(&["mcp", "logs", "fixture"]);
    run(&["mcp", "remove", "fixture"]);
    run(&["audit", "recent", "--since", "1h", "--agent-id", "tool:echo"]);
    run(&["audit", "export"]);
    run(&["audit", "head"]);
    run(&["audit", "prune", "--before", &now()]);
    run(&["audit", "verify"]);
    run(&["config", "show"]);
    run(&["reload"]);
    run(&["doctor"]);
    run(&["sandbox", "run", "--", "true"]);
    let mut watch = StdioClient::start(home.command(&["audit", "watch", "--json"]));
    until("a row is seen", || {
        home.run(&["audit", "head"]).ok();
        home.command(&["secrets", "set", "API_KEY"]).input("long enough").run().ok();
        watch.try_receive()
    });
    drop(watch);
    let mut mcp = home.mcp();
    mcp.initialize();
    drop(mcp);
    let described = Described::ask(
        home.run(&["status", "--json"]).ok().json()["listen"][0]
            .as_str()
            .map_or(0, |at| at.rsplit(':').next().unwrap().parse().unwrap()),
    );
    run(&["stop"]);
    ran.extend(["approvals watch".to_owned(), "audit watch".to_owned()]);
    ran.extend(LOCAL.map(str::to_owned));
    let missing: Vec<String> = commands(&home, &[]).difference(&ran).cloned().collect();
    assert!(missing.is_empty(), "commands that this test does not run: {missing:?}");

    let mut used: BTreeSet<String> = UNUSED.map(|(id, _)| id.to_owned()).into();
    for (method, path) in answered(&home) {
        let operation = described.operation_of(&method, &path);
        used.insert(operation.unwrap_or_else(|| panic!("{method} {path} is not described")).id);
    }
    let api = described.operations().into_iter().filter(|operation| operation.path.starts_with("/api/v1/"));
    let unused: Vec<String> = api.map(|operation| operation.id).filter(|id| !used.contains(id)).collect();
    assert!(unused.is_empty(), "described, and used by no command: {unused:?}");
}
