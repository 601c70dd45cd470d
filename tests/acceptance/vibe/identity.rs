//! Who people are: workspaces, developers and their roles, the tokens of their agents, and who may act for whom.

use std::thread;

use covenant_testkit::{Home, HttpClient, Ran, StdioClient};
use serde_json::{Value, json};

use crate::{home, unhurried};

/// A home of either database, without limits.
fn homes() -> Vec<Home> {
    let server = covenant_testkit::postgres::database().unwrap().map(|url| {
        let home = home();
        home.write("config.toml", &format!("[rate_limit]\nrate = 0\n[database]\nurl = {}\n", json!(url)));
        home
    });
    std::iter::once(unhurried()).chain(server).collect()
}

/// Runs a command as whoever holds that token.
fn by(home: &Home, token: &str, arguments: &[&str]) -> Ran {
    home.command(arguments).env("COVENANT_TOKEN", token).run()
}

/// Makes a token, which stands alone on standard output.
fn token(home: &Home, arguments: &[&str]) -> String {
    let made = home.run(&[&["tokens", "create"], arguments].concat()).ok();
    let token = made.stdout.trim().to_owned();
    assert!(token.starts_with("cv_") && token.len() == 46, "{made:?}");
    assert_eq!(made.stdout, format!("{token}\n"));
    assert!(!made.stderr.contains(&token), "{made:?}");
    token
}

fn list(home: &Home, arguments: &[&str]) -> Vec<Value> {
    home.run(&[arguments, &["--json"]].concat()).ok().json().as_array().unwrap().clone()
}

fn column(rows: &[Value], name: &str) -> Vec<String> {
    rows.iter().map(|row| row[name].as_str().unwrap_or_default().to_owned()).collect()
}

fn id_of(home: &Home, label: &str) -> String {
    let tokens = list(home, &["tokens", "list"]);
    tokens.iter().rev().find(|token| token["label"] == label).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_operator_needs_no_set_up_and_a_name_keeps_their_workspace() {
    for home in homes() {
        let daemon = home.up();
        let alone = list(&home, &["team", "members"]);
        assert_eq!(
            (alone.len(), &alone[0]["handle"], &alone[0]["role"]),
            (1, &json!("local"), &json!("admin"))
        );
        assert_eq!(alone[0]["workspace"], "local");
        let named = home.run(&["team", "init", "acme", "--json"]).ok().json();
        assert_eq!((&named["name"], &named["was"]), (&json!("acme"), &json!("local")));
        home.run(&["team", "init", "Acme"]).exits(2);
        let other = home.run(&["team", "init", "other", "--json"]).ok().json();
        assert_eq!(other["was"], json!(null));
        assert_ne!(other["id"], named["id"]);
        drop(daemon);
        let _daemon = home.up();
        let members = list(&home, &["team", "members"]);
        assert_eq!(members.len(), 1, "{members:?}");
        assert_eq!((&members[0]["id"], &members[0]["workspace"]), (&alone[0]["id"], &json!("acme")));
        home.run(&["team", "invite", "ada"]).ok();
        home.run(&["team", "invite", "bob", "--workspace", "other"]).ok();
        home.run(&["team", "invite", "eve", "--workspace", "nowhere"]).exits(2);
        let handles =
            |workspace| column(&list(&home, &["team", "members", "--workspace", workspace]), "handle");
        assert_eq!(
            (handles("acme"), handles("other")),
            (vec!["local".into(), "ada".into()], vec!["bob".into()])
        );
    }
}

/// VIBE-186: a token is a developer's, is kept as its hash alone, and ends for good.
#[test]
fn an_invitation_is_enough_for_a_token_that_acts_as_that_developer() {
    for home in homes() {
        let _daemon = home.up();
        home.run(&["team", "init", "acme"]).ok();
        home.run(&["tokens", "create", "--for", "ada"]).exits(2);
        home.run(&["team", "invite", "ada"]).ok();
        let grants = list(&home, &["capabilities", "list"]);
        let held = |subject: &str| {
            grants
                .iter()
                .filter(|it| it["subject"] == subject && it["action"] == "tool.call.covibe_*")
                .count()
        };
        assert_eq!((held("dev:ada"), held("user@local"), held("dev:local"), held("dev:eve")), (1, 1, 1, 0));
        let ada = token(&home, &["--for", "ada", "--label", "laptop"]);
        let refused = by(&home, &ada, &["tools", "call", "echo", "--args", r#"{"text":"x"}"#]).exits(3);
        assert!(refused.stderr.contains("dev:ada may not do `tool.call.echo`"), "{refused:?}");
        home.run(&["capabilities", "grant", "tool.call.echo", "--to", "dev:ada"]).ok();
        by(&home, &ada, &["tools", "call", "echo", "--args", r#"{"text":"x"}"#]).ok();
        home.run(&["tokens", "create", "--for", "ada", "--label", "laptop"]).exits(2);
        home.run(&["tokens", "revoke", &id_of(&home, "laptop")]).ok();
        by(&home, &ada, &["tools", "list"]).exits(3);
        home.run(&["tokens", "revoke", &id_of(&home, "laptop")]).exits(2);
        let again = token(&home, &["--for", "ada", "--label", "laptop"]);
        assert_ne!(again, ada, "the label is free once its token has ended");
        by(&home, &ada, &["tools", "list"]).exits(3);
        let listed = list(&home, &["tokens", "list"]);
        assert_eq!(column(&listed, "developer"), ["ada", "ada"]);
        let members: Vec<&String> = listed[0].as_object().unwrap().keys().collect();
        assert_eq!(members, ["agent_type", "created_at", "developer", "id", "label", "revoked_at"]);
        assert_eq!((&listed[0]["revoked_at"].is_string(), &listed[1]["revoked_at"]), (&true, &json!(null)));
        nothing_holds(&home, &[&ada, &again]);
    }
}

/// Neither a file of the home nor a row has one of these.
fn nothing_holds(home: &Home, tokens: &[&str]) {
    let rows = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok();
    let kinds = column(&rows.json_lines(), "kind");
    for kind in ["WorkspaceMade", "DeveloperInvited", "TokenCreated", "TokenRevoked"] {
        assert!(kinds.iter().any(|it| it == kind), "{kind}: {kinds:?}");
    }
    let mut held = rows.stdout.into_bytes();
    for name in ["covenant.db", "covenant.db-wal", "logs/covenant.log"] {
        held.extend(std::fs::read(home.path().join(name)).unwrap_or_default());
    }
    for token in tokens {
        let body = &token.as_bytes()[3..];
        assert!(!held.windows(body.len()).any(|window| window == body));
    }
}

/// VIBE-189: a token has a label of its own where nobody names one.
#[test]
fn tokens_have_a_type_and_labels_that_differ() {
    let home = unhurried();
    let _daemon = home.up();
    let made = home.run(&["tokens", "create", "--agent-type", "claude-code", "--json"]).ok().json();
    let members: Vec<&String> = made.as_object().unwrap().keys().collect();
    assert_eq!(members, ["developer", "id", "label", "token"]);
    for kind in ["claude-code", "codex", "cursor", "claude-code"] {
        token(&home, &["--agent-type", kind]);
    }
    token(&home, &[]);
    token(&home, &[]);
    home.run(&["tokens", "create", "--agent-type", "gpt"]).exits(2);
    let listed = list(&home, &["tokens", "list", "--for", "local"]);
    let labels = ["claude-code", "claude-code 2", "codex", "cursor", "claude-code 3", "token", "token 2"];
    assert_eq!(column(&listed, "label"), labels);
    let types = ["claude-code", "claude-code", "codex", "cursor", "claude-code", "", ""];
    assert_eq!(column(&listed, "agent_type"), types);
}

#[test]
fn an_admin_acts_for_their_workspace_and_a_member_for_themselves() {
    for home in homes() {
        let _daemon = home.up();
        home.run(&["team", "init", "acme"]).ok();
        home.run(&["team", "init", "other"]).ok();
        home.run(&["team", "invite", "ada", "--role", "admin"]).ok();
        home.run(&["team", "invite", "mia"]).ok();
        home.run(&["team", "invite", "eve", "--role", "admin", "--workspace", "other"]).ok();
        let [ada, mia, eve] = ["ada", "mia", "eve"].map(|who| token(&home, &["--for", who, "--label", who]));
        let (adas, mias, eves) = (id_of(&home, "ada"), id_of(&home, "mia"), id_of(&home, "eve"));
        let locals = home.run(&["tokens", "create", "--json"]).ok().json()["id"].as_str().unwrap().to_owned();

        // An admin does what the operator would, in the workspace.
        by(&home, &ada, &["team", "invite", "zoe"]).ok();
        let zoe = by(&home, &ada, &["tokens", "create", "--for", "zoe", "--json"]).ok().json();
        let seen = by(&home, &ada, &["tokens", "list", "--json"]).ok().json();
        assert_eq!(column(seen.as_array().unwrap(), "developer"), ["ada", "mia", "zoe"]);
        by(&home, &ada, &["tokens", "revoke", zoe["id"].as_str().unwrap()]).ok();
        by(&home, &ada, &["team", "remove", "zoe"]).ok();
        // What is not there is told the same way as what is another's: the operator's, or of another workspace.
        let foreign = [eves.as_str(), locals.as_str(), "tok_aaaaaaaaaaaaaaa"];
        for id in foreign {
            let refused = by(&home, &ada, &["tokens", "revoke", id]).exits(2);
            assert!(refused.stderr.contains(&format!("there is no valid token {id}")), "{refused:?}");
        }
        for handle in ["eve", "local", "nobody"] {
            // Of `local`, whom everybody of the workspace sees, it is said whose the tokens are.
            for arguments in [["tokens", "create", "--for"], ["tokens", "list", "--for"]] {
                if handle == "local" {
                    by(&home, &ada, &[&arguments[..], &[handle]].concat()).exits(3);
                    continue;
                }
                let refused = by(&home, &ada, &[&arguments[..], &[handle]].concat()).exits(2);
                assert!(refused.stderr.contains(&format!("there is no developer `{handle}`")), "{refused:?}");
            }
            by(&home, &ada, &["team", "remove", handle]).exits(2);
        }
        by(&home, &ada, &["team", "members", "--workspace", "other"]).exits(2);
        by(&home, &ada, &["team", "invite", "spy", "--workspace", "other"]).exits(2);
        for arguments in [&["team", "init", "mine"][..], &["capabilities", "list"], &["clients", "list"]] {
            by(&home, &ada, arguments).exits(3);
        }

        // A member has tokens of their own and nothing else.
        let own = by(&home, &mia, &["tokens", "create", "--json"]).ok().json();
        let seen = by(&home, &mia, &["tokens", "list", "--json"]).ok().json();
        assert_eq!(column(seen.as_array().unwrap(), "label"), ["mia", "token"]);
        by(&home, &mia, &["tokens", "revoke", own["id"].as_str().unwrap()]).ok();
        for id in foreign.into_iter().chain([adas.as_str()]) {
            by(&home, &mia, &["tokens", "revoke", id]).exits(2);
        }
        by(&home, &mia, &["tokens", "create", "--for", "ada"]).exits(3);
        for arguments in [["team", "invite", "spy"], ["team", "remove", "mia"]] {
            let refused = by(&home, &mia, &arguments).exits(3);
            assert!(refused.stderr.contains("only an admin of it may"), "{refused:?}");
        }
        assert_eq!(column(&list(&home, &["team", "members"]), "handle"), ["local", "ada", "mia", "eve"]);
        by(&home, &eve, &["tokens", "revoke", &mias]).exits(2);
        by(&home, &mia, &["tokens", "list"]).ok();
    }
}

#[test]
fn a_token_made_for_an_agent_administers_nothing() {
    let home = unhurried();
    let _daemon = home.up();
    home.run(&["team", "invite", "ada", "--role", "admin"]).ok();
    let agent = token(&home, &["--for", "ada", "--agent-type", "codex"]);
    let id = id_of(&home, "codex");
    let acts = [
        &["tokens", "create"][..],
        &["tokens", "revoke", &id],
        &["team", "invite", "eve"],
        &["team", "remove", "ada"],
    ];
    for arguments in acts {
        let refused = by(&home, &agent, arguments).exits(3);
        assert!(refused.stderr.contains("its token was made for an agent"), "{refused:?}");
    }
    by(&home, &agent, &["team", "members"]).ok();
    let client = home.run(&["clients", "add", "tool"]).ok().stdout.trim().to_owned();
    for arguments in acts.into_iter().chain([&["team", "members"][..], &["tokens", "list"]]) {
        by(&home, &client, arguments).exits(3);
    }
    assert_eq!(list(&home, &["tokens", "list"]).len(), 1);
    assert_eq!(list(&home, &["team", "members"]).len(), 2);
}

#[test]
fn a_private_developer_is_private_to_the_other_members() {
    let home = unhurried();
    let _daemon = home.up();
    for arguments in [&["ada", "--role", "admin"][..], &["eve", "--private"], &["mia"]] {
        home.run(&[&["team", "invite"], arguments].concat()).ok();
    }
    let seen = |who: &str| {
        let shown = by(&home, &token(&home, &["--for", who]), &["team", "members", "--json"]).ok();
        (column(shown.json().as_array().unwrap(), "handle"), shown.stdout)
    };
    let (handles, text) = seen("mia");
    assert_eq!(handles, ["local", "ada", "@private", "mia"]);
    let eve = list(&home, &["team", "members"]).into_iter().find(|it| it["handle"] == "eve").unwrap();
    assert!(!text.contains("eve") && !text.contains(eve["id"].as_str().unwrap()), "{text}");
    for who in ["ada", "eve"] {
        assert_eq!(seen(who).0, ["local", "ada", "eve", "mia"], "{who}");
    }
}

#[test]
fn a_revoked_token_is_out_on_open_connections_sessions_and_streams_and_the_others_go_on() {
    let home = unhurried();
    let daemon = home.up();
    home.run(&["team", "invite", "ada"]).ok();
    let [leaves, stays] = ["leaves", "stays"].map(|label| token(&home, &["--for", "ada", "--label", label]));
    let start = |token: &str| {
        let mut line = StdioClient::start(home.command(&["--mcp"]).env("COVENANT_TOKEN", token));
        line.initialize();
        let mut http = HttpClient::new(daemon.port(), token);
        http.initialize();
        (line, http)
    };
    let (mut line, mut http) = start(&leaves);
    let (mut other_line, mut other_http) = start(&stays);
    let (mut stream, mut other_stream) = (http.listen(), other_http.listen());
    assert_eq!((stream.status, other_stream.status), (200, 200));
    let rest_of = |token: &str| by(&home, token, &["tokens", "list"]).code();
    assert_eq!(rest_of(&leaves), 0);

    home.run(&["tokens", "revoke", &id_of(&home, "leaves")]).ok();
    assert_eq!(stream.next(), None);
    assert_eq!(line.call("clock", json!({}))["error"]["code"], -31000);
    let ping = http.message("ping", &json!({}));
    assert_eq!(http.send(&http.legacy(&ping)).status, 401);
    assert_eq!(rest_of(&leaves), 3);

    assert!(other_stream.is_quiet());
    assert!(other_line.call("clock", json!({}))["result"].is_object());
    assert!(other_http.request("ping", json!({}))["result"].is_object());

    // Whoever is removed is out with every token, and their grants with them.
    home.run(&["team", "remove", "ada"]).ok();
    assert_eq!(other_stream.next(), None);
    assert_eq!(other_line.call("clock", json!({}))["error"]["code"], -31000);
    assert_eq!(rest_of(&stays), 3);
    let subjects = column(&list(&home, &["capabilities", "list"]), "subject");
    assert!(!subjects.contains(&"dev:ada".to_owned()), "{subjects:?}");
    home.run(&["tokens", "create", "--for", "ada"]).exits(2);
    home.run(&["team", "remove", "ada"]).exits(2);
    home.run(&["team", "remove", "local"]).exits(2);

    // The same person again: nothing they held before is valid.
    home.run(&["team", "invite", "ada"]).ok();
    assert_eq!((rest_of(&leaves), rest_of(&stays)), (3, 3));
    assert_eq!(rest_of(&token(&home, &["--for", "ada"])), 0);
}

#[test]
fn two_people_with_one_handle_are_one_and_a_refusal() {
    for home in homes() {
        let _daemon = home.up();
        home.run(&["team", "init", "acme"]).ok();
        home.run(&["team", "init", "other"]).ok();
        let codes: Vec<i32> = thread::scope(|scope| {
            let tries = ["acme", "other", "acme", "other"].map(|workspace| {
                scope.spawn(|| home.run(&["team", "invite", "ada", "--workspace", workspace]).code())
            });
            tries.into_iter().map(|tried| tried.join().unwrap()).collect()
        });
        assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
        assert_eq!(codes.iter().filter(|code| **code == 2).count(), 3, "{codes:?}");
        let handles = column(&list(&home, &["team", "members"]), "handle");
        assert_eq!(handles, ["local", "ada"]);
        let grants = column(&list(&home, &["capabilities", "list"]), "subject");
        assert_eq!(grants.iter().filter(|subject| *subject == "dev:ada").count(), 1);
    }
}

#[test]
fn a_handle_that_was_somebody_elsewhere_says_where_to_the_operator_and_to_nobody_else() {
    for home in homes() {
        let _daemon = home.up();
        for workspace in ["acme", "Night Shift"] {
            home.run(&["team", "init", workspace]).ok();
        }
        // However its letters are typed.
        home.run(&["team", "invite", "ada", "--workspace", "night shift"]).ok();
        home.run(&["team", "remove", "ada"]).ok();
        let refused = home.run(&["team", "invite", "ada"]);
        assert_eq!(refused.code(), 2, "{refused:?}");
        assert!(refused.stderr.contains("`ada` was removed from the workspace `Night Shift`"), "{refused:?}");
        assert!(refused.stderr.contains("covenant team invite ada --workspace 'Night Shift'"), "{refused:?}");
        home.run(&["team", "invite", "bob", "--role", "admin"]).ok();
        let bob = token(&home, &["--for", "bob"]);
        let hidden = by(&home, &bob, &["team", "invite", "ada"]);
        assert_eq!(hidden.code(), 2, "{hidden:?}");
        assert!(hidden.stderr.contains("already a developer `ada`"), "{hidden:?}");
        assert!(!hidden.stderr.contains("Night"), "{hidden:?}");
        home.run(&["team", "invite", "ada", "--workspace", "Night Shift"]).ok();
    }
}

#[test]
fn names_that_are_empty_too_long_or_odd_change_nothing() {
    let home = unhurried();
    let daemon = home.up();
    let operator = std::fs::read_to_string(home.path().join("identity/operator.token")).unwrap();
    let long = "x".repeat(100_000);
    let odd = ["", " ", "A", "@", "a b", "../x", "a\u{202e}b", "a\u{0}b", "local", "dev:ada", &long];
    let post = |path: &str, body: &Value| {
        let text = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
            operator.trim(),
            text.len()
        );
        let answer = covenant_testkit::http::exchange(daemon.port(), &(head + &text));
        assert!(answer.len() < 2000, "{}", answer.len());
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    for text in odd {
        assert_eq!(post("/api/v1/team/members", &json!({ "handle": text })), 422, "{text:.20}");
        assert_eq!(
            post("/api/v1/tokens", &json!({ "developer": text })),
            if text == "local" { 201 } else { 404 }
        );
    }
    for text in ["", " x", "local", "a\nb", &long] {
        assert_eq!(post("/api/v1/team/workspaces", &json!({ "name": text })), 422, "{text:.20}");
        if text != "local" {
            assert_eq!(post("/api/v1/tokens", &json!({ "label": text })), 422, "{text:.20}");
        }
    }
    for body in
        [json!({"handle": "ada", "role": "king"}), json!({"handle": "ada", "x": 1}), json!({"handle": 1})]
    {
        assert_eq!(post("/api/v1/team/members", &body), 422);
    }
    assert_eq!(post("/api/v1/tokens", &json!({"agent_type": "gpt"})), 422);
    home.run(&["tokens", "revoke", "call_aaaaaaaaaaaaaaa"]).exits(2);
    assert_eq!(column(&list(&home, &["team", "members"]), "handle"), ["local"]);
    assert_eq!(list(&home, &["tokens", "list"]).len(), 1);
    let hundred = (2..=100).map(|_| post("/api/v1/tokens", &json!({})));
    assert!(hundred.into_iter().all(|status| status == 201));
    assert_eq!(post("/api/v1/tokens", &json!({})), 409, "one holds a hundred");
}

#[test]
fn the_first_grants_come_with_the_version_that_has_them_and_stay_revoked() {
    let home = unhurried();
    let theirs = |home: &Home| {
        let grants = list(home, &["capabilities", "list"]);
        grants.into_iter().filter(|grant| grant["action"] == "tool.call.covibe_*").collect::<Vec<_>>()
    };
    let daemon = home.up();
    let first = theirs(&home);
    let mut subjects = column(&first, "subject");
    subjects.sort();
    assert_eq!(subjects, ["dev:local", "user@local"]);
    for grant in &first {
        home.run(&["capabilities", "revoke", grant["id"].as_str().unwrap()]).ok();
    }
    drop(daemon);
    let daemon = home.up();
    assert_eq!(theirs(&home), Vec::<Value>::new());
    drop(daemon);
    // A home of an earlier version has no mark of these.
    std::fs::remove_file(home.path().join("identity/first-team")).unwrap();
    let _daemon = home.up();
    assert_eq!(theirs(&home).len(), 2);
}
