//! The REST API is what its document says: every operation, every error, every request of the CLI, every command on
//! the page.

#![expect(clippy::panic, reason = "what an answer lacks is said with the answer")]

mod ask;
mod commands;
mod described;
mod mcp;
mod page;

use std::collections::BTreeSet;

use covenant_testkit::{Daemon, Home};
use serde_json::{Value, json};

use self::ask::{Answer, Ask};
use self::described::{Described, Operation};
use crate::cov_agent::stage::{Language, install};
use crate::{home, now};

/// Operations of another shape: `mcp.rs` asks for those of MCP, the tests of signing in for its pages, those of the metrics and
/// of teams for the last two.
const ELSEWHERE: [&str; 19] = [
    "mcpSend",
    "mcpListen",
    "mcpEnd",
    "signInPage",
    "signIn",
    "signOut",
    "signInByLink",
    "beginProvider",
    "bindProvider",
    "providerCallback",
    "signInByPasskey",
    "passkeyChallenge",
    "makePasskey",
    "removePasskey",
    "passkeyScript",
    "invitePage",
    "acceptInvite",
    "metrics",
    "callTeamTool",
];

/// Statuses that need patience or a broken disk; the tests of those have them.
const ELSEWHEN: [u16; 2] = [408, 503];

/// A daemon, its document, and the operator's token.
struct Api<'h> {
    daemon: Daemon<'h>,
    port: u16,
    described: Described,
    operator: String,
}

impl<'h> Api<'h> {
    fn start(home: &'h Home) -> Self {
        let daemon = home.up();
        let port = daemon.port();
        let operator = std::fs::read_to_string(home.path().join("identity/operator.token")).unwrap();
        Self { daemon, port, described: Described::ask(port), operator: operator.trim().to_owned() }
    }

    /// Asks as the operator, and insists on a described answer of that status.
    #[track_caller]
    fn expect(&self, status: u16, id: &str, name: &str, query: &str, body: &Value) -> Answer {
        let operation = self.described.operation(id);
        let mut ask = operation.at(name, query).token(&self.operator);
        ask.body = (!body.is_null()).then(|| body.to_string());
        let answer =
            if is_stream(id) && status == 200 { ask.first_line(self.port) } else { ask.send(self.port) };
        assert_eq!(answer.status, status, "{id}: {answer:?}");
        self.described.check(&operation, &answer);
        answer
    }

    fn operations(&self) -> impl Iterator<Item = Operation> {
        self.described.operations().into_iter().filter(|it| !ELSEWHERE.contains(&it.id.as_str()))
    }
}

/// Whether an answer goes on for as long as somebody listens.
fn is_stream(id: &str) -> bool {
    matches!(id, "watchRows" | "watchApprovals")
}

#[test]
fn every_operation_answers_as_described() {
    let home = home();
    home.write("scripts/open.star", "result = 1\n");
    std::fs::write(home.path().join("scripts/bytes.star"), [0xff]).unwrap();
    home.write("config.toml", "[rate_limit]\nrate = 0\n");
    home.write("memory/user@local/MEMORY.md", "Deploy on Friday.");
    install(&home, "research", Language::Python, "");
    home.write("agents/bad.toml", "[agent]\n");
    let api = Api::start(&home);
    let mut asked = BTreeSet::new();
    let mut expect = |status, id: &str, name: &str, query: &str, body: Value| {
        asked.insert(id.to_owned());
        api.expect(status, id, name, query, &body)
    };
    expect(200, "health", "", "", json!(null));
    expect(200, "ready", "", "", json!(null));
    expect(200, "openapi", "", "", json!(null));
    expect(200, "docs", "", "", json!(null));
    expect(200, "status", "", "", json!(null));
    expect(200, "config", "", "", json!(null));
    expect(200, "showTool", "echo", "", json!(null));
    let found = expect(200, "listTools", "", "?q=verbatim", json!(null)).json();
    assert_eq!((found["tools"].as_array().unwrap().len(), &found["tools"][0]["name"]), (1, &json!("echo")));
    let limits = json!({
        "arguments": {"text": {"glob": "*"}, "n": {"range": [1, null]}, "e": {"equals": 1}, "o": {"one_of": [1]}, "p": {"path": "a/**"}},
        "max_calls": 5, "rate": 0.5
    });
    let limited = json!({"subject": "any", "action": "tool.call.x*", "where": limits, "approval": "ask", "expires_at": "2100-01-01"});
    expect(201, "grantCapability", "", "", limited);
    let grant = json!({"subject": "user@local", "action": "tool.call.echo"});
    let granted = expect(201, "grantCapability", "", "", grant).json();
    let call = expect(200, "callTool", "echo", "", json!({"arguments": {"text": "hi"}})).json();
    assert_eq!(call["content"][0]["text"], "hi");
    expect(200, "callTool", "clock", "", json!(null));
    for principal in ["user@local", "client:nobody"] {
        let question = json!({"principal": principal, "action": "tool.call.echo", "arguments": {}});
        expect(200, "explainCapability", "", "", question);
    }
    expect(200, "listCapabilities", "", "", json!(null));
    expect(200, "revokeCapability", granted["grant"]["id"].as_str().unwrap(), "", json!(null));
    for name in ["one", "two", "three"] {
        expect(
            201,
            "addClient",
            "",
            "",
            json!({"name": name, "preset": "read-only", "grants": ["tool.call.*"], "may_approve": name == "two"}),
        );
    }
    expect(200, "revokeClient", "one", "", json!(null));
    expect(200, "listClients", "", "", json!(null));
    expect(201, "nameWorkspace", "", "", json!({"name": "acme"}));
    expect(201, "nameWorkspace", "", "", json!({"name": "other"}));
    expect(200, "listTeamEvents", "", "?kind=usage", json!(null));
    let ada = json!({"handle": "ada", "role": "admin", "private": true, "workspace": "other"});
    expect(201, "inviteMember", "", "", ada);
    expect(200, "listMembers", "", "?workspace=other", json!(null));
    expect(201, "inviteMemberAgain", "ada", "", json!(null));
    expect(201, "makeSignInLink", "", "", json!(null));
    expect(200, "signOutEverywhere", "", "", json!(null));
    expect(200, "showSession", "", "", json!(null));
    for (tool, arguments) in team_calls() {
        expect(200, "callTool", tool, "", json!({"arguments": arguments}));
    }
    expect(200, "auditParallelWork", "", "", json!(null));
    expect(200, "showTeamState", "", "?limit=5", json!(null));
    expect(200, "generateWeeklySummary", "", "", json!(null));
    expect(201, "planTask", "", "", json!({"title": "Weigh the piano", "task_type": "bug"}));
    expect(201, "planWorkstream", "", "", json!({"title": "Paint the lathe"}));
    let token = json!({"developer": "ada", "label": "laptop", "agent_type": "codex"});
    let made = expect(201, "createToken", "", "", token).json();
    expect(201, "createToken", "", "", json!({}));
    expect(200, "revokeToken", made["id"].as_str().unwrap(), "", json!(null));
    expect(200, "listTokens", "", "?developer=ada", json!(null));
    expect(200, "listTokens", "", "", json!(null));
    expect(200, "removeMember", "ada", "", json!(null));
    expect(200, "setSecret", "API_KEY", "", json!({"value": "long enough"}));
    expect(200, "listSecrets", "", "", json!(null));
    expect(200, "removeSecret", "API_KEY", "", json!(null));
    let found = expect(200, "searchMemory", "", "?q=deploy", json!(null)).json();
    assert_eq!((&found[0]["owner"], &found[0]["text"]), (&json!("user@local"), &json!("Deploy on Friday.")));
    expect(200, "recentMemory", "", "?limit=5", json!(null));
    let grant = json!({"subject": "user@local", "action": "tool.call.script_run"});
    expect(201, "grantCapability", "", "", grant);
    expect(200, "showScript", "bytes", "", json!(null));
    for (round, verdict) in ["approve", "reject", "reject"].into_iter().enumerate() {
        let header = "# @description: Says it.\n# @author: Ada\n# @version: 1\n# @secrets: API_KEY\n";
        home.write("scripts/weather.star", &format!("{header}result = {round}\n"));
        expect(200, "callTool", "script_run", "", json!({"arguments": {"name": "weather"}}));
        let waiting = expect(200, "listApprovals", "", "", json!(null)).json();
        let id = waiting[0]["id"].as_str().unwrap();
        expect(200, "watchApprovals", "", "", json!(null));
        expect(200, "showApproval", id, "", json!(null));
        expect(200, "approvalPage", id, "", json!(null));
        expect(200, "showScript", "weather", "", json!(null));
        let word = if verdict == "reject" { json!({"reason": "no"}) } else { json!({}) };
        expect(200, verdict, id, "", word);
        expect(200, "showScript", "weather.star", "", json!(null));
    }
    expect(200, "listApprovals", "", "?decided=true", json!(null));
    expect(200, "listScripts", "", "", json!(null));
    let program = home.program().with_file_name("server");
    expect(
        201,
        "addServer",
        "",
        "",
        json!({"name": "fixture", "command": program, "args": ["stdio", "malformed"]}),
    );
    expect(
        201,
        "addServer",
        "",
        "",
        json!({"name": "dead", "command": program, "args": ["stdio", "die@start"]}),
    );
    expect(200, "listServers", "", "", json!(null));
    for asked in ["showServer", "listServerTools", "listServerLogs", "testServer", "disconnectServer"] {
        expect(200, asked, "fixture", "", json!(null));
    }
    for asked in ["testServer", "connectServer", "restartServer", "showServer", "removeServer"] {
        expect(200, asked, "dead", "", json!(null));
    }
    expect(200, "connectServer", "fixture", "", json!(null));
    for asked in ["listAgents", "reloadAgents", "agentUsage", "showAgent"] {
        expect(200, asked, "research@local", "", json!(null));
    }
    let said = expect(200, "sendIntent", "", "", json!({"text": "say hi", "agent": "research"})).json();
    assert_eq!((&said["status"], &said["text"]), (&json!("ok"), &json!("hi")));
    let said = said["intent_id"].as_str().unwrap();
    let body =
        json!({"text": "stay", "agent": "research@local", "priority": "high", "parent": said, "wait": false});
    let stays = expect(202, "sendIntent", "", "", body).json();
    let stays = stays["intent_id"].as_str().unwrap();
    expect(200, "listIntents", "", "?agent=research@local", json!(null));
    expect(200, "showIntent", stays, "", json!(null));
    expect(200, "cancelIntent", stays, "", json!(null));
    for id in [said, stays] {
        expect(200, "showIntent", id, "", json!(null));
        expect(200, "followIntent", id, "", json!(null));
    }
    expect(200, "agentUsage", "", "?hours=2", json!(null));
    expect(200, "recentRows", "", "?limit=1000&since=2026-01-01", json!(null));
    expect(200, "watchRows", "", "?from=1", json!(null));
    expect(200, "takeCheckpoint", "", "", json!(null));
    expect(200, "exportRows", "", "", json!(null));
    let pruned = expect(200, "pruneRows", "", "", json!({"before": now()})).json();
    assert!(pruned["rows"].as_u64().unwrap() > 0, "{pruned}");
    let export = expect(200, "exportRows", "", "", json!(null)).body;
    assert!(export.contains("{\"tombstone\":"), "{export}");
    expect(200, "reload", "", "", json!(null));
    expect(202, "stop", "", "", json!(null));
    assert_eq!(asked, api.operations().map(|operation| operation.id).collect());
    assert_eq!(api.daemon.ended().0, 0);
}

/// Calls after which every list of a team's state has something.
fn team_calls() -> Vec<(&'static str, Value)> {
    let mut calls = vec![
        ("covibe_session", json!({"operation": "start", "agent_name": "one"})),
        ("covibe_session", json!({"operation": "publish_context", "title": "a", "summary": "b"})),
        ("covibe_note", json!({"kind": "decision", "text": "We retry."})),
        ("covibe_task", json!({"operation": "plan", "title": "Draw a chart", "task_type": "bug"})),
        ("covibe_workstream", json!({"operation": "plan", "title": "Draw charts"})),
    ];
    for _ in 0..2 {
        let work = |operation| json!({"operation": operation, "title": "Retry uploads to the bucket", "task_type": "bug"});
        calls.extend([("covibe_task", work("check")), ("covibe_task", work("start"))]);
    }
    calls
}

/// A name that nothing has, in the form such names have.
fn absent(path: &str) -> &'static str {
    match path.split('/').nth(3).unwrap_or("approvals") {
        "approvals" => "appr_aaaaaaaaaaaaaaa",
        "capabilities" => "grant_aaaaaaaaaaaaaaa",
        "intents" => "00000000-0000-4000-8000-000000000000",
        "secrets" => "NOTHING",
        "tokens" => "tok_aaaaaaaaaaaaaaa",
        _ => "nothing",
    }
}

/// A request that is to be answered with that error, where one request does it.
fn wrong(api: &Api<'_>, client: &str, operation: &Operation, status: u16) -> Option<Ask> {
    let (path, ours) = (operation.path.as_str(), api.operator.as_str());
    let there = match path.split('/').nth(3) {
        Some("tools") => "echo",
        _ if path.contains('{') => absent(path),
        _ => "",
    };
    let plain = operation.at(there, "");
    Some(match status {
        400 => Ask { headers: "Authorization: Bearer a\r\n".to_owned(), ..plain.token(ours) },
        401 => plain,
        403 if operation.is_administration() || operation.is_for_teams() => plain.token(client),
        403 => Ask { host: Some("evil.example.org".to_owned()), ..plain.token(ours) },
        404 if operation.id == "listMembers" => operation.at("", "?workspace=nothing").token(ours),
        404 if operation.id == "listTokens" => operation.at("", "?developer=nothing").token(ours),
        404 if operation.id == "inviteMember" => {
            Ask { body: Some(r#"{"handle":"ada","workspace":"nothing"}"#.to_owned()), ..plain.token(ours) }
        }
        404 if operation.id == "createToken" => {
            Ask { body: Some(r#"{"developer":"nothing"}"#.to_owned()), ..plain.token(ours) }
        }
        404 if operation.id == "sendIntent" => {
            Ask { body: Some(r#"{"text":"x","agent":"nothing"}"#.to_owned()), ..plain.token(ours) }
        }
        404 => operation.at(absent(path), "").token(ours),
        413 => Ask { body: Some(format!("{{\"x\":\"{}\"}}", "x".repeat(4096))), ..plain.token(ours) },
        422 if operation.takes_a_body() => Ask { body: Some("[]".to_owned()), ..plain.token(ours) },
        422 if ["removeMember", "inviteMemberAgain"].contains(&operation.id.as_str()) => {
            operation.at("local", "").token(ours)
        }
        422 if operation.id == "removeSecret" => operation.at("lower", "").token(ours),
        422 if operation.id == "agentUsage" => operation.at("", "?hours=100001").token(ours),
        422 if operation.id != "reload" => operation.at("", "?limit=100001").token(ours),
        _ => return None,
    })
}

#[test]
fn every_error_is_given_as_described() {
    let home = home();
    let kept = "[[mcp.servers]]\nname = \"kept\"\ncommand = \"true\"\nenabled = false\n";
    home.write("config.toml", &format!("[rate_limit]\nrate = 0\n[limits]\nrequest_bytes = 2048\n{kept}"));
    install(&home, "research", Language::Python, "[capabilities]\nrequired = [\"tool.web_search\"]\n");
    let api = Api::start(&home);
    let client = home.run(&["clients", "add", "eve"]).ok().stdout.trim().to_owned();
    let mut given = BTreeSet::new();
    let mut wanted = BTreeSet::new();
    for operation in api.operations() {
        for status in operation.errors() {
            wanted.insert((operation.id.clone(), status));
            let Some(ask) = wrong(&api, &client, &operation, status) else { continue };
            let answer = ask.send(api.port);
            assert_eq!(answer.status, status, "{}: {answer:?}", operation.id);
            api.described.check(&operation, &answer);
            given.insert((operation.id.clone(), status));
        }
    }
    let mut expect = |status, id: &str, name: &str, body: Value| {
        given.insert((id.to_owned(), status));
        api.expect(status, id, name, "", &body)
    };
    expect(403, "callTool", "echo", json!({"arguments": {"text": "x"}}));
    let intent = json!({"text": "say hi", "agent": "research"});
    expect(403, "sendIntent", "", intent.clone());
    expect(201, "grantCapability", "", json!({"subject": "user@local", "action": "tool.web_search"}));
    let said = expect(200, "sendIntent", "", intent.clone()).json();
    expect(409, "cancelIntent", said["intent_id"].as_str().unwrap(), json!(null));
    expect(422, "sendIntent", "", json!({"text": " ", "agent": "research", "parent": said["intent_id"]}));
    let asks = json!({"subject": "user@local", "action": "tool.web_search", "approval": "ask"});
    expect(201, "grantCapability", "", asks);
    expect(409, "sendIntent", "", intent);
    expect(409, "addClient", "", json!({"name": "eve"}));
    expect(409, "addServer", "", json!({"name": "kept", "command": "true"}));
    expect(201, "nameWorkspace", "", json!({"name": "acme"}));
    expect(409, "nameWorkspace", "", json!({"name": "Acme"}));
    expect(201, "inviteMember", "", json!({"handle": "ada"}));
    expect(409, "inviteMember", "", json!({"handle": "ada"}));
    expect(201, "createToken", "", json!({"developer": "ada", "label": "laptop"}));
    expect(409, "createToken", "", json!({"developer": "ada", "label": "laptop"}));
    expect(
        201,
        "grantCapability",
        "",
        json!({"subject": "any", "action": "tool.call.echo", "approval": "ask"}),
    );
    expect(409, "callTool", "echo", json!({"arguments": {"text": "x"}}));
    let waiting = expect(200, "listApprovals", "", json!(null)).json();
    let id = waiting[0]["id"].as_str().unwrap();
    expect(200, "reject", id, json!({}));
    expect(409, "reject", id, json!({}));
    expect(409, "approve", id, json!({}));
    expect(409, "approve", id, json!({"sha256": "000000000000"}));
    expect(422, "callTool", "echo", json!({"arguments": {"text": 1}}));
    expect(422, "callTool", "clock", json!({"argumnets": {}}));
    expect(
        422,
        "grantCapability",
        "",
        json!({"subject": "any", "action": "tool.call.x", "expires_at": "2020-01-01"}),
    );
    let asks = json!({"subject": "user@local", "action": "tool.call.covibe_team", "approval": "ask"});
    expect(201, "grantCapability", "", asks);
    for asked in ["showTeamState", "auditParallelWork", "generateWeeklySummary"] {
        expect(409, asked, "", json!(null));
    }
    for (plan, title) in
        [("planTask", "Weigh the grand piano"), ("planWorkstream", "Paint the turning lathe")]
    {
        let mut body = json!({"title": title});
        if plan == "planTask" {
            body["task_type"] = json!("bug");
        }
        expect(201, plan, "", body.clone());
        expect(409, plan, "", body);
    }
    home.write("secrets.toml", "this is no TOML");
    expect(409, "setSecret", "API_KEY", json!({"value": "long enough"}));
    expect(409, "removeSecret", "API_KEY", json!(null));
    home.write("config.toml", "[limits]\nrequest_bytes = \"many\"\n");
    expect(422, "reload", "", json!(null));
    home.write("config.toml", "[[mcp.servers]\n");
    api.expect(409, "removeServer", "kept", "?persist=true", &json!(null));
    given.insert(("removeServer".to_owned(), 409));
    given.extend(limited());
    wanted.retain(|(_, status)| !ELSEWHEN.contains(status));
    given.retain(|(_, status)| *status >= 400);
    assert_eq!(given, wanted);
}

/// What a caller is told who asks too often.
fn limited() -> Vec<(String, u16)> {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0.001\nburst = 1\n");
    let api = Api::start(&home);
    let token = home.run(&["clients", "add", "busy"]).ok().stdout.trim().to_owned();
    let ids = [
        "listTools",
        "showTool",
        "callTool",
        "sendIntent",
        "listIntents",
        "showIntent",
        "cancelIntent",
        "followIntent",
    ];
    home.run(&["team", "invite", "ada"]).ok();
    let ada = home.run(&["tokens", "create", "--for", "ada"]).ok().stdout.trim().to_owned();
    let team = [
        "listTeamEvents",
        "showTeamState",
        "auditParallelWork",
        "generateWeeklySummary",
        "planTask",
        "planWorkstream",
        "listMembers",
        "inviteMember",
        "inviteMemberAgain",
        "removeMember",
        "listTokens",
        "createToken",
        "revokeToken",
        "showSession",
    ];
    let ids = ids.map(|id| (id, &token)).into_iter().chain(team.map(|id| (id, &ada)));
    let answers = ids.map(|(id, token)| {
        let operation = api.described.operation(id);
        let mut ask = operation.at("clock", "").token(token);
        ask.body = match id {
            "sendIntent" => Some(r#"{"text":"x"}"#.to_owned()),
            "planTask" | "planWorkstream" => Some("{}".to_owned()),
            _ => None,
        };
        let answer = covenant_testkit::wait::until("it asks too often", || {
            Some(ask.send(api.port)).filter(|answer| answer.status == 429)
        });
        api.described.check(&operation, &answer);
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
        (id.to_owned(), 429)
    });
    answers.collect()
}

#[test]
fn head_is_get_without_a_body() {
    let home = home();
    // Of every kind there is one of that name.
    home.write("config.toml", "[[mcp.servers]]\nname = \"echo\"\ncommand = \"true\"\nenabled = false\n");
    home.write("scripts/echo.star", "result = 1\n");
    install(&home, "echo", Language::Python, "");
    let api = Api::start(&home);
    let waits = asked(&home, "x");
    let said = home.run(&["intent", "--json", "say hi"]).ok().json();
    for operation in api.operations().filter(|operation| operation.method == "get") {
        let name = match operation.path.split('/').nth(3) {
            Some("approvals") => &waits,
            _ if operation.id == "approvalPage" => &waits,
            Some("intents") => said["intent_id"].as_str().unwrap(),
            _ => "echo",
        };
        let ask = operation.at(name, "").token(&api.operator);
        let head = Ask { method: "HEAD".to_owned(), ..ask.clone() }.send(api.port);
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{}: {head:?}", operation.id);
        if !is_stream(&operation.id) {
            let get = ask.send(api.port);
            assert_eq!(head.header("content-type"), get.header("content-type"), "{}", operation.id);
        }
    }
}

/// Has a call asked for, and gives the id of what waits.
fn asked(home: &Home, path: &str) -> String {
    home.run(&["capabilities", "grant", "tool.call.workspace_read", "--approval", "ask"]).ok();
    let call = home.run(&["tools", "call", "workspace_read", "--args", &json!({"path": path}).to_string()]);
    assert_eq!(call.code(), 3, "{call:?}");
    let waiting = home.run(&["approvals", "list", "--json"]).ok().json();
    waiting.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_query_that_is_not_understood_is_named() {
    let home = home();
    let api = Api::start(&home);
    for operation in api.operations().filter(|operation| operation.path.starts_with("/api/")) {
        let refused = |query: &str, name: &str| {
            let answer = operation.at("echo", query).token(&api.operator).send(api.port);
            assert_eq!(answer.status, 400, "{} {query}: {answer:?}", operation.id);
            api.described.check(&operation, &answer);
            assert!(answer.json()["error"]["message"].as_str().unwrap().contains(name), "{answer:?}");
        };
        refused("?nonsense=1", "`nonsense`");
        for parameter in api.described.parameters(&operation).iter().filter(|it| it["in"] == "query") {
            let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
            if schema["type"] == "integer" || schema.get("$ref").is_some() {
                refused(&format!("?{name}=x"), name);
                refused(&format!("?{name}=-1"), name);
            }
            if schema["type"] == "string" {
                refused(&format!("?{name}=a&{name}=b"), name);
            }
        }
    }
}

#[test]
fn lists_come_in_parts_of_a_bounded_size() {
    let home = home();
    for name in ["one", "two", "three"] {
        install(&home, name, Language::Python, "");
    }
    let api = Api::start(&home);
    for name in ["one", "two", "three"] {
        home.run(&["team", "invite", name]).ok();
        home.run(&["tokens", "create", "--for", name]).ok();
        home.run(&["intent", "--agent", name, "say hi"]).ok();
        home.run(&["clients", "add", name, "--grant", "tool.call.echo"]).ok();
        home.command(&["secrets", "set", &name.to_uppercase()]).input("long enough").run().ok();
        home.write(&format!("scripts/{name}.star"), "result = 1\n");
        asked(&home, name);
    }
    for name in ["MEMORY.md", "2026-11-16.md", "ideas.md"] {
        home.write(&format!("memory/user@local/{name}"), "Tea at four.");
    }
    let mut lists = 0;
    for operation in api.operations() {
        let parameters = api.described.parameters(&operation);
        let bounded = parameters.iter().any(|it| it["name"] == "limit" && it["schema"]["maximum"].is_u64());
        let schema = operation.success();
        let is_list = schema["type"] == "array" || operation.id == "listTools";
        if !is_list {
            continue;
        }
        assert!(bounded, "{} gives as much as there is", operation.id);
        let things = |answer: &Answer| match answer.json() {
            Value::Array(things) => things,
            mut other => other["tools"].as_array_mut().unwrap().drain(..).collect(),
        };
        let whole = things(&api.expect(200, &operation.id, "", "", &json!(null)));
        assert!(whole.len() >= 2, "{}", operation.id);
        let mut parts = Vec::new();
        let mut ask = operation.at("", "?limit=1").token(&api.operator);
        loop {
            let answer = ask.send(api.port);
            api.described.check(&operation, &answer);
            assert_eq!(things(&answer).len(), 1, "{answer:?}");
            parts.extend(things(&answer));
            let Some(next) = answer.header("link") else { break };
            ask.target = next.strip_prefix('<').unwrap().split_once(">; rel=\"next\"").unwrap().0.to_owned();
        }
        assert_eq!(parts, whole, "{}", operation.id);
        lists += 1;
    }
    assert_eq!(lists, 14);
}

#[test]
fn the_description_is_open_to_our_own_pages_only() {
    let home = home();
    let api = Api::start(&home);
    for operation in api.operations().filter(Operation::is_open) {
        let ask = operation.at("appr_aaaaaaaaaaaaaaa", "");
        assert_eq!(ask.send(api.port).status, 200, "{}", operation.id);
        let foreign = Ask { headers: "Origin: http://evil.example.org\r\n".to_owned(), ..ask };
        assert_eq!(foreign.send(api.port).status, 403, "{}", operation.id);
    }
    let page = Ask::new("GET", "/api/v1/docs").send(api.port);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let secret = home.path();
    assert!(!page.body.contains(secret.to_str().unwrap()), "the page says nothing of this home");
}
