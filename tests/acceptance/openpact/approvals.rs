//! Approval: nothing runs that a person has not seen, and what they saw is what runs.

use covenant_testkit::{Home, StdioClient, wait::until};
use serde_json::{Value, json};

use super::{client, failure, rows, speaking, text, token};
use crate::unhurried;

const PENDING: &str =
    "is pending approval. An administrator must review and approve this script before it can be executed.";

/// What is said of a script that is a link.
const UNUSABLE: &str = "script 'link' cannot be used: it is a symbolic link, and none is followed; put a copy of the file in its place";

fn run(client: &mut StdioClient, name: &str) -> Value {
    client.call("script_run", json!({ "name": name }))
}

/// What waits: ids, oldest first.
fn waiting(home: &Home) -> Vec<String> {
    let list = home.run(&["approvals", "list", "--json"]).ok().json();
    list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

/// Approves the one thing that waits.
#[track_caller]
fn approve(home: &Home) {
    let ids = waiting(home);
    assert_eq!(ids.len(), 1, "{ids:?}");
    home.run(&["approvals", "approve", &ids[0]]).ok();
}

fn script(home: &Home, name: &str, text: &str) {
    home.write(&format!("scripts/{name}.star"), text);
}

/// PACT-44, PACT-45, PACT-46, PACT-47, PACT-56: the story of the document, with its sentence.
#[test]
fn a_new_script_waits_until_a_person_has_approved_its_text() {
    let home = unhurried();
    script(&home, "new_feature", "# @description: New.\nresult = {\"feature\": 1}\n");
    let daemon = home.up();
    let secret = token(&home, "ada", &["script_run"]);
    let mut ada = speaking(&home, &secret);
    let sentence = format!("Error: Script 'new_feature.star' {PENDING}");
    for _ in 0..2 {
        assert_eq!(failure(&run(&mut ada, "new_feature")), sentence);
    }
    let ids = waiting(&home);
    assert_eq!(ids.len(), 1, "one text waits once");
    let shown = home.run(&["approvals", "show", &ids[0]]).ok().stdout;
    assert!(
        shown.contains("script new_feature.star (pending)") && shown.contains("result = {\"feature\": 1}"),
        "{shown}"
    );
    assert!(shown.contains("for     client:ada"), "{shown}");
    let told = home.run(&["approvals", "approve", &ids[0]]).ok().stdout;
    assert_eq!(told.trim(), format!("approved script new_feature.star ({})", ids[0]));
    assert_eq!(text(&run(&mut ada, "new_feature")), "{\"feature\":1}");

    script(&home, "new_feature", "# @description: New.\nresult = {\"feature\": 2}\n");
    let edited = run(&mut ada, "new_feature");
    assert_eq!(failure(&edited), sentence);
    assert_eq!(edited["result"]["_meta"]["approval_status"], "modified");
    let shown = home.run(&["approvals", "show", &waiting(&home)[0]]).ok().stdout;
    assert!(
        shown.contains("- result = {\"feature\": 1}") && shown.contains("+ result = {\"feature\": 2}"),
        "{shown}"
    );
    approve(&home);
    drop(ada);
    daemon.stop();

    let _daemon = home.up();
    let mut ada = speaking(&home, &secret);
    assert_eq!(text(&run(&mut ada, "new_feature")), "{\"feature\":2}", "what was approved stays so");
}

/// PACT-40, PACT-42: a text that is sent waits like any other, under the beginning of its hash.
#[test]
fn a_text_that_is_sent_waits_as_well() {
    let home = unhurried();
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_exec"]);
    let exec = |ada: &mut StdioClient, code: &str| ada.call("script_exec", json!({ "code": code }));
    let answer = exec(&mut ada, "result = 6 * 7");
    let told = failure(&answer);
    let name =
        told.strip_prefix("Error: Script '").and_then(|rest| rest.strip_suffix(&format!("' {PENDING}")));
    let name = name.unwrap_or_else(|| panic!("{told}")).to_owned();
    let digits = name.strip_prefix("exec-").and_then(|rest| rest.strip_suffix(".star")).unwrap();
    assert!(digits.len() == 12 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{name}");
    assert!(answer["result"]["_meta"]["sha256"].as_str().unwrap().contains(digits), "{answer}");
    approve(&home);
    assert_eq!(text(&exec(&mut ada, "result = 6 * 7")), "42");
    assert!(failure(&exec(&mut ada, "result = 6 * 7 ")).ends_with(PENDING), "another text");
    assert!(failure(&exec(&mut ada, "def main():\n    return secrets.list()")).ends_with(PENDING));
    let waits = waiting(&home).len();
    let broken = exec(&mut ada, "x = ");
    assert!(
        failure(&broken).starts_with("Error: exec-") && failure(&broken).contains(".star:1:5: "),
        "{broken}"
    );
    assert_eq!(waiting(&home).len(), waits, "nobody is asked about what can never run");
}

/// PACT-43: by its hash one text, by its bare name any; and a person is told which it is.
#[test]
fn the_allowlist_lets_scripts_run() {
    let home = unhurried();
    script(&home, "pinned", "result = 1\n");
    script(&home, "bare", "result = 1\n");
    let daemon = home.up();
    let hash =
        home.run(&["scripts", "show", "pinned", "--json"]).ok().json()["sha256"].as_str().unwrap().to_owned();
    daemon.stop();
    let allowlist = format!("allowlist = {{ pinned = \"{hash}\", bare = \"\" }}");
    home.write("config.toml", &format!("[rate_limit]\nrate = 0\n[scripts]\n{allowlist}\n"));
    let daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run", "script_list"]);
    assert_eq!(text(&run(&mut ada, "pinned")), "1");
    assert_eq!(text(&run(&mut ada, "bare")), "1");
    let list = home.run(&["scripts", "list"]).ok().stdout;
    assert!(
        list.contains("approved by allowlist, unpinned") && list.contains("approved by allowlist\n"),
        "{list}"
    );
    assert!(daemon.printed().contains("`bare` in `scripts.allowlist` is unpinned"), "{}", daemon.printed());

    for name in ["pinned", "bare"] {
        script(&home, name, "result = 2\n");
    }
    assert_eq!(failure(&run(&mut ada, "pinned")), format!("Error: Script 'pinned.star' {PENDING}"));
    assert_eq!(text(&run(&mut ada, "bare")), "2");
}

/// Where the scripts lie where agents write (4.3 of the older system), a bare name would let one approve its own.
#[test]
fn a_bare_name_does_not_count_where_tools_can_write_the_script() {
    let home = unhurried();
    let (pinned, hash) =
        ("result = \"pinned\"\n", "sha256:fb37019f2a04991f2a3244b753f4bb814258e405d22cab78ea1c3673f9e90a25");
    for (path, place, tool) in
        [("workspace/scripts", "workspace", "workspace_write"), ("vault/scripts", "vault", "vault_write")]
    {
        home.write(
            "config.toml",
            &format!(
                "[rate_limit]\nrate = 0\n[vault]\npath = \"vault\"\n[scripts]\npath = \"{path}\"\n\
                 allowlist = {{ mine = \"\", pinned = \"{hash}\" }}\n"
            ),
        );
        std::fs::create_dir_all(home.path().join(place)).unwrap();
        let daemon = home.up();
        let mut ada = client(&home, place, &["script_run", "script_list", tool]);
        for (name, content) in [("mine", "result = \"evil\"\n"), ("pinned", pinned)] {
            let file = format!("scripts/{name}.star");
            let wrote = ada.call(tool, json!({"path": file, "content": content}));
            assert_eq!(wrote["result"]["isError"], false, "{wrote}");
        }
        assert_eq!(failure(&run(&mut ada, "mine")), format!("Error: Script 'mine.star' {PENDING}"));
        assert_eq!(text(&run(&mut ada, "pinned")), "\"pinned\"");
        let told = format!(
            "the script `mine` in `scripts.allowlist` does not count: it has no hash, and `scripts.path` lies in the {place}, where tools write"
        );
        assert!(daemon.printed().contains(&told), "{}", daemon.printed());
        let listed = home.run(&["scripts", "list", "--json"]).ok().json();
        let status = |place: usize| (listed[place]["status"].clone(), listed[place]["allowlist"].clone());
        assert_eq!(status(0), (json!("pending"), Value::Null), "{listed}");
        assert_eq!(status(1), (json!("approved"), json!("pinned")), "{listed}");
        daemon.stop();
    }
}

/// PACT-38, PACT-41: what is listed is what holds (hole 7), and no copy is kept that could be another (hole 6).
#[test]
fn the_list_tells_how_each_stands_and_nothing_is_run_from_memory() {
    let home = unhurried();
    let (good, evil) = (
        "# @description: Good.\n# @author: Ada\n# @version: 1.2\n# @secrets: KEY\nresult = \"good\"\n",
        "result = \"evil\"\n",
    );
    script(&home, "one", good);
    std::os::unix::fs::symlink("one.star", home.path().join("scripts/link.star")).unwrap();
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run", "script_list", "script_reload"]);
    let status = |ada: &mut StdioClient| {
        let answer = ada.call("script_list", json!({}));
        let list: Value = serde_json::from_str(text(&answer)).unwrap();
        assert_eq!((&list["count"], &list["unusable"]), (&json!(1), &json!([UNUSABLE])), "{list}");
        list["scripts"][0].clone()
    };
    let entry = status(&mut ada);
    assert_eq!(
        (&entry["name"], &entry["description"], &entry["required_secrets"]),
        (&json!("one"), &json!("Good."), &json!(["KEY"]))
    );
    assert_eq!(entry["metadata"], json!({"author": "Ada", "version": "1.2"}));
    assert_eq!(entry["approval_status"], "pending");
    assert_eq!(waiting(&home), [""; 0], "to list asks nobody");
    run(&mut ada, "one");
    approve(&home);
    assert_eq!(status(&mut ada)["approval_status"], "approved");

    script(&home, "one", evil);
    assert_eq!(status(&mut ada)["approval_status"], "pending", "nobody has asked for this text");
    assert_eq!(
        text(&ada.call("script_reload", json!({}))),
        json!({"count": 1, "message": "Reloaded 1 scripts", "unusable": [UNUSABLE]}).to_string()
    );
    script(&home, "one", good);
    assert_eq!(text(&run(&mut ada, "one")), "\"good\"", "what was listed in between is not run");
    script(&home, "one", evil);
    assert!(failure(&run(&mut ada, "one")).ends_with(PENDING));
    assert_eq!(status(&mut ada)["approval_status"], "modified");
    approve(&home);
    assert_eq!(text(&run(&mut ada, "one")), "\"evil\"", "a new text runs at once when it is approved");
    let ran = ada.call("script_list", json!({"path": "/"}));
    assert_eq!(ran["error"]["code"], -32602, "{ran}");
}

/// PACT-69: how it stands is in the answer, and who rejected it says why.
#[test]
fn a_rejected_script_is_told_so() {
    let home = unhurried();
    script(&home, "bad", "result = 1\n");
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run", "script_list"]);
    let first = run(&mut ada, "bad");
    let meta = &first["result"]["_meta"];
    let id = waiting(&home).remove(0);
    assert_eq!((&meta["approval_status"], &meta["approval_id"]), (&json!("pending"), &json!(id)));
    home.run(&["approvals", "reject", &id, "--reason", "it does nothing"]).ok();
    let answer = run(&mut ada, "bad");
    assert_eq!(
        failure(&answer),
        "Error: Script 'bad.star' was rejected by an administrator: it does nothing. It is not executed."
    );
    assert_eq!(answer["result"]["_meta"]["approval_status"], "rejected");
    assert_eq!(waiting(&home), [""; 0], "it is not asked again");
    assert!(home.run(&["scripts", "list"]).ok().stdout.contains("rejected"));
    let again = home.run(&["approvals", "approve", &id]);
    assert!(again.code() != 0 && again.stderr.contains("is rejected already"), "{again:?}");
    assert!(again.stderr.contains(&format!("covenant approvals approve {id} --revise")), "{again:?}");
    let same = home.run(&["approvals", "reject", &id, "--revise", "--json"]).exits(2);
    let told: Value = serde_json::from_str(same.stderr.trim()).unwrap();
    assert_eq!(
        (&told["error"]["code"], &told["error"]["action"]),
        (&json!("decided"), &json!("nothing is left to do"))
    );
    home.run(&["approvals", "approve", &id, "--revise"]).ok();
    assert_eq!(text(&run(&mut ada, "bad")), "1");
    home.run(&["approvals", "reject", &id, "--revise"]).ok();
    assert_eq!(
        failure(&run(&mut ada, "bad")),
        "Error: Script 'bad.star' was rejected by an administrator. It is not executed."
    );
}

/// PACT-82: whoever may call tools may not decide; nor does a tool or a script.
#[test]
fn a_client_cannot_approve() {
    let home = unhurried();
    script(&home, "one", "result = 1\n");
    let daemon = home.up();
    let secret = token(&home, "ada", &["*"]);
    let mut ada = speaking(&home, &secret);
    run(&mut ada, "one");
    let id = waiting(&home).remove(0);
    for (method, path) in [
        ("POST", format!("/api/v1/approvals/{id}/approve")),
        ("GET", "/api/v1/approvals".to_owned()),
        ("GET", "/api/v1/scripts/one".to_owned()),
    ] {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {secret}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
            daemon.port()
        );
        let answer = covenant_testkit::http::exchange(daemon.port(), &request);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{path}: {answer}");
    }
    let listed = ada.request("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"script_run") && !names.iter().any(|name| name.contains("approv")), "{names:?}");
    assert!(failure(&run(&mut ada, "one")).ends_with(PENDING));
}

/// What was shown is what is approved, and what was approved is what runs, whatever happens to the file meanwhile.
#[test]
fn a_text_that_is_swapped_does_not_run() {
    let home = unhurried();
    let (good, evil) = ("result = \"good\"\n", "result = \"evil\"\n");
    script(&home, "one", good);
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run"]);
    run(&mut ada, "one");
    let id = waiting(&home).remove(0);
    let shown = home.run(&["approvals", "show", &id, "--json"]).ok().json();
    assert_eq!(shown["content"], good);
    script(&home, "one", evil);
    let other = home.run(&["approvals", "approve", &id, "--sha256", &"0".repeat(64)]);
    assert!(other.code() != 0 && other.stderr.contains("look at it again"), "{other:?}");
    let hash = shown["sha256"].as_str().unwrap();
    let (few, odd) = (hash.get(..11).unwrap(), "not a hash at all");
    for short in [few, odd, ""] {
        let refused = home.run(&["approvals", "approve", &id, "--sha256", short]).exits(2);
        assert!(refused.stderr.contains("at least its first 12 hexadecimal digits"), "{refused:?}");
    }
    home.run(&["approvals", "approve", &id, "--sha256", &hash.get(..12).unwrap().to_uppercase()]).ok();
    assert!(failure(&run(&mut ada, "one")).ends_with(PENDING), "the file has another text now");
    script(&home, "one", good);
    assert_eq!(text(&run(&mut ada, "one")), "\"good\"");

    script(&home, "ONE", evil);
    for name in ["ONE", "One"] {
        let answer = run(&mut ada, name);
        assert!(failure(&answer).contains(&format!("'{name}")), "{answer}");
    }
    script(&home, "two", good);
    assert_eq!(
        failure(&run(&mut ada, "two")),
        format!("Error: Script 'two.star' {PENDING}"),
        "the same text under another name"
    );
}

#[test]
fn hidden_characters_are_shown() {
    let home = unhurried();
    script(&home, "trick", "# \u{202e}oof\u{1b}[2K\nresult = 1  # \u{200b}\n");
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run"]);
    run(&mut ada, "trick");
    let id = waiting(&home).remove(0);
    for arguments in [&["approvals", "show", &id][..], &["scripts", "show", "trick"]] {
        let shown = home.run(arguments).ok().stdout;
        assert!(shown.contains("# \\u{202e}oof") && shown.contains("\\u{200b}"), "{shown}");
        assert!(!shown.contains(['\u{202e}', '\u{1b}', '\u{200b}']), "{shown:?}");
    }
}

#[test]
fn of_two_who_decide_at_once_one_is_told_that_it_is_decided() {
    let home = unhurried();
    script(&home, "one", "result = 1\n");
    let _daemon = home.up();
    let mut ada = client(&home, "ada", &["script_run"]);
    run(&mut ada, "one");
    let id = waiting(&home).remove(0);
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let approvers = ["approve", "reject", "approve", "reject"].map(|verdict| {
            let (home, id) = (&home, &id);
            scope.spawn(move || home.run(&["approvals", verdict, id]).code())
        });
        approvers.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    let decided = rows(&home).into_iter().filter(|row| row["kind"] == "ApprovalDecided");
    assert_eq!(decided.count(), 1);
}

/// A grant that wants every call asked about: each approval is for one call, with those arguments.
#[test]
fn an_asked_call_is_made_once_for_each_approval() {
    let home = unhurried();
    let _daemon = home.up();
    let secret = token(&home, "ada", &[]);
    home.run(&["capabilities", "grant", "tool.call.echo", "--to", "client:ada", "--approval", "ask"]).ok();
    let mut ada = speaking(&home, &secret);
    let mut watch = StdioClient::start(home.command(&["approvals", "watch"]));
    let call = |ada: &mut StdioClient, text: &str| ada.call("echo", json!({ "text": text }));
    let refused = call(&mut ada, "hi");
    assert_eq!(refused["error"]["code"], -31003, "{refused}");
    let id = refused["error"]["data"]["approval_id"].as_str().unwrap().to_owned();
    assert_eq!(waiting(&home), [id.as_str()]);
    let line = watch.line();
    assert!(
        line.contains("pending") && line.contains("call echo for client:ada") && line.contains(&id),
        "{line}"
    );
    let shown = home.run(&["approvals", "show", &id]).ok().stdout;
    assert!(shown.contains("\"text\": \"hi\""), "{shown}");
    home.run(&["approvals", "approve", &id]).ok();
    let line = watch.line();
    assert!(line.contains("approved") && line.contains("call echo for client:ada"), "{line}");
    assert_eq!(call(&mut ada, "ho")["error"]["code"], -31003, "other arguments");
    assert_eq!(text(&call(&mut ada, "hi")), "hi");
    let second = call(&mut ada, "hi");
    assert_eq!(second["error"]["code"], -31003, "{second}");
    let id = second["error"]["data"]["approval_id"].as_str().unwrap();
    for reason in ["no\u{1b}[2J", "no\nand no"] {
        let refused = home.run(&["approvals", "reject", id, "--reason", reason]);
        assert_ne!(refused.code(), 0, "the reason is said to others, in one line");
        assert!(refused.stderr.contains("`reason` has a control character"), "{}", refused.stderr);
    }
    home.run(&["approvals", "reject", id, "--reason", "once is enough"]).ok();
    let rejected = call(&mut ada, "hi");
    assert_eq!(rejected["error"]["code"], -31007, "{rejected}");
    assert_eq!(rejected["error"]["data"]["approval_id"], id);
    assert!(rejected["error"]["message"].as_str().unwrap().contains("once is enough"), "{rejected}");
}

#[test]
fn a_call_waits_for_the_person_as_long_as_is_configured() {
    let home = unhurried();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[approvals]\nwait_secs = 600\n");
    let _daemon = home.up();
    let secret = token(&home, "ada", &[]);
    home.run(&["capabilities", "grant", "tool.call.echo", "--to", "client:ada", "--approval", "ask"]).ok();
    for (verdict, word) in [("approve", "hi"), ("reject", "ho")] {
        let mut ada = speaking(&home, &secret);
        ada.send(&json!({"jsonrpc": "2.0", "id": word, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": word}}}));
        let id = until("it waits", || waiting(&home).pop());
        assert_eq!(ada.try_receive(), None, "it is not answered before");
        home.run(&["approvals", verdict, &id]).ok();
        let answer = ada.receive();
        match verdict {
            "approve" => assert_eq!(text(&answer), "hi"),
            _ => assert_eq!(answer["error"]["code"], -31007, "{answer}"),
        }
    }
    home.write("config.toml", "[rate_limit]\nrate = 0\n[approvals]\nwait_secs = 1\n");
    home.run(&["reload"]).ok();
    let mut ada = speaking(&home, &secret);
    assert_eq!(ada.call("echo", json!({"text": "late"}))["error"]["code"], -31003, "nobody came");
}
