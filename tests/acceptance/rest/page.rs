//! The commands that we write down work when they are typed: each one on the page, and those of the tour.

use std::process::{Command, Stdio};

use covenant_testkit::{Home, wait::until};

use super::ask::Ask;
use super::{asked, is_stream};
use crate::cov_agent::stage::{Language, install};
use crate::home;

/// One waits for what may never come; the others have tests of their own.
const ELSEWHERE: &[&str] = &[
    "mcpListen",
    "metrics",
    "signInPage",
    "signIn",
    "signOut",
    "signInByLink",
    "invitePage",
    "acceptInvite",
    "beginProvider",
    "bindProvider",
    "providerCallback",
    "signInByPasskey",
    "passkeyChallenge",
    "makePasskey",
    "removePasskey",
];

/// Each operation of the page with its two commands.
fn commands(port: u16) -> Vec<(String, [String; 2])> {
    let page = Ask::new("GET", "/api/v1/docs").send(port).body;
    let sections = page.split("<section id=\"").skip(1).filter(|section| section.contains("<pre>curl"));
    let found = sections.map(|section| {
        let mut commands =
            section.split("<pre>").skip(1).map(|rest| unescape(rest.split("</pre>").next().unwrap()));
        let id = section.split('"').next().unwrap().to_owned();
        (id, [commands.next().unwrap(), commands.next().unwrap()])
    });
    let mut found: Vec<_> = found.filter(|(id, _)| !ELSEWHERE.contains(&id.as_str())).collect();
    // What is called must be granted before, a server is used before it goes, and nothing comes after the end.
    let late = |id: &str| {
        ["callTool", "approve", "reject", "revokeCapability", "removeMember", "removeServer", "stop"]
            .iter()
            .position(|late| *late == id)
            .map_or(0, |at| at + 1)
    };
    found.sort_by_key(|(id, _)| late(id));
    found
}

fn unescape(html: &str) -> String {
    let plain = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    plain.replace("&amp;", "&")
}

fn shell(home: &Home, grant: &str, command: &str) -> Command {
    let token = std::fs::read_to_string(home.path().join("identity/operator.token")).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-euc", command]).env("COVENANT_HOME", home.path()).env("TOKEN", token.trim());
    shell.env("ID", grant).env("HOME", home.beside("nobody")).stdin(Stdio::null());
    shell
}

/// Whether `curl` is there; `false` with one loud line where it is not.
fn has_curl() -> bool {
    let there = Command::new("curl").arg("--version").output().is_ok();
    assert!(there || std::env::var_os("CI").is_none(), "CI has curl");
    if !there {
        eprintln!("SKIPPED: curl is not installed");
    }
    there
}

fn try_all(door: usize) {
    if !has_curl() {
        return;
    }
    let home = home();
    home.write("scripts/weather.star", "result = 1\n");
    home.run(&["agents", "new", "research"]).ok();
    install(&home, "slow", Language::Python, "");
    let daemon = home.up();
    let said = home.run(&["intent", "--agent", "research", "--json", "hello"]).ok().json();
    let stays = home.run(&["intent", "--agent", "slow", "--no-wait", "stay"]).ok().stdout;
    let (kept, dropped) = (asked(&home, "kept"), asked(&home, "dropped"));
    let grant = home.run(&["capabilities", "grant", "tool.call.clock", "--json"]).ok().json();
    let grant = grant["id"].as_str().unwrap();
    let token = home.run(&["tokens", "create", "--json"]).ok().json();
    let commands = commands(daemon.port());
    assert!(commands.len() > 20, "{}", commands.len());
    let mut session = String::new();
    for (id, both) in commands {
        let command = &both[door];
        let grant = match id.as_str() {
            "showApproval" | "approvalPage" | "approve" => &kept,
            "reject" => &dropped,
            "showIntent" | "followIntent" => said["intent_id"].as_str().unwrap(),
            "cancelIntent" => stays.trim(),
            "revokeToken" => token["id"].as_str().unwrap(),
            _ => grant,
        };
        if is_stream(&id) {
            // It goes on for ever, so it is left when the first row is there.
            let out = home.beside("rows");
            let mut shell = shell(&home, grant, &format!("exec {command}"));
            let mut child = shell.stdout(std::fs::File::create(&out).unwrap()).spawn().unwrap();
            until("the first row", || {
                let told = std::fs::read_to_string(&out).unwrap();
                (told.contains("\"seq\":1,") || told.contains("\"id\":\"appr_")).then_some(())
            });
            child.kill().unwrap();
            child.wait().unwrap();
            continue;
        }
        let mut shell = shell(&home, grant, &format!("{command} -w '\n%{{http_code}}'"));
        let ran = shell.env("MCP_SESSION_ID", &session).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        let status = out.rsplit('\n').next().unwrap();
        if let Some((_, named)) = out.split_once("mcp-session-id: ") {
            named.lines().next().unwrap_or_default().clone_into(&mut session);
        }
        assert!(
            ran.status.success() && ["200", "201", "202", "204"].contains(&status),
            "{command}\n{out}\n{err}"
        );
    }
    assert_eq!(daemon.ended().0, 0, "the last command was to stop it");
}

#[test]
fn the_commands_for_the_socket_work_as_written() {
    try_all(0);
}

#[test]
fn the_commands_for_the_port_work_as_written() {
    try_all(1);
}

#[test]
fn the_tour_works_as_written() {
    if !has_curl() {
        return;
    }
    let home = home();
    let daemon = home.up();
    let tour = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md")).unwrap();
    let blocks = tour.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let typed: String = blocks.collect();
    let typed = typed.replace("localhost:8421", &format!("localhost:{}", daemon.port()));
    let program = home.program().parent().unwrap().to_str().unwrap();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let here = home.beside("here");
    std::fs::create_dir(&here).unwrap();
    let ran =
        shell(&home, "", &typed).env("PATH", path).env_remove("TOKEN").current_dir(here).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    assert_eq!(out.matches("\"text\":\"hi\"").count(), 2, "{out}");
    assert_eq!(out.matches("{\"error\":").count(), 1, "the one that is told: {out}");
    assert!(
        out.contains("not_operator") && out.contains("; rel=\"next\"") && out.contains("verified"),
        "{out}"
    );
}
