//! The vault: notes are read, written, listed and searched, kept in step with git, and nothing else is ever reached.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use covenant_testkit::wait::until;
use covenant_testkit::{Home, StdioClient};
use serde_json::{Value, json};

use super::{client, failure, text};
use crate::home;

const TOOLS: [&str; 4] = ["vault_read", "vault_write", "vault_list", "vault_search"];

/// A home with a vault, which is an empty directory.
fn with_vault() -> (Home, PathBuf) {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[vault]\npath = \"vault\"\n");
    let vault = home.path().join("vault");
    fs::create_dir(&vault).unwrap();
    (home, vault)
}

fn put(vault: &Path, path: &str, text: &str) {
    let path = vault.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn ada(home: &Home) -> StdioClient {
    client(home, "ada", &TOOLS)
}

/// PACT-29: a note, and what it says of itself.
#[test]
fn a_note_is_read_with_its_front_matter_tags_links_and_backlinks() {
    let (home, vault) = with_vault();
    let note = "---\ntags: [space]\nstatus: done\n---\n# Apollo 11\nTo the [[Moon|moon]]. #landing\n";
    put(&vault, "Projects/Apollo.md", note);
    put(&vault, "Moon.md", "");
    put(&vault, "Home.md", "See [[Apollo#Crew]] and [it](Projects/Apollo.md).");
    let _daemon = home.up();
    let mut ada = ada(&home);
    let read = ada.call("vault_read", json!({"path": "Projects/Apollo"}));
    assert_eq!(text(&read), note);
    let expected = json!({
        "path": "Projects/Apollo.md", "title": "Apollo 11",
        "frontmatter": {"tags": ["space"], "status": "done"}, "tags": ["space", "landing"],
        "links": [{"target": "Moon", "path": "Moon.md", "alias": "moon", "embed": false}], "backlinks": ["Home.md"],
    });
    assert_eq!(read["result"]["structuredContent"], expected);
}

/// PACT-30, PACT-31: what is written lies in the vault and is listed; hidden names are not.
#[test]
fn notes_are_written_and_listed() {
    let (home, vault) = with_vault();
    put(&vault, ".obsidian/app.json", "{}");
    let _daemon = home.up();
    let mut ada = ada(&home);
    assert_eq!(text(&ada.call("vault_list", json!({}))), "No files found");
    let wrote = ada.call("vault_write", json!({"path": "Daily/2026-11-16.md", "content": "für heute\n"}));
    assert_eq!(text(&wrote), "Wrote Daily/2026-11-16.md");
    assert_eq!(fs::read_to_string(vault.join("Daily/2026-11-16.md")).unwrap(), "für heute\n");
    put(&vault, "pic.png", "x");
    assert_eq!(text(&ada.call("vault_list", json!({}))), "Daily/\npic.png");
    assert_eq!(text(&ada.call("vault_list", json!({"path": "Daily"}))), "2026-11-16.md");
    assert_eq!(text(&ada.call("vault_list", json!({"recursive": true}))), "Daily/\nDaily/2026-11-16.md");
}

/// PACT-32: ranked, with snippets; a file that changes outside is found as it is now, also after a crash.
#[test]
fn notes_are_searched_and_every_change_is_found() {
    let (home, vault) = with_vault();
    put(&vault, "Moon.md", "It orbits.");
    put(&vault, "Apollo.md", "They went to the moon, and came back. #space");
    put(&vault, "old/Mars.md", "Red.");
    let daemon = home.up();
    let mut ada = ada(&home);
    let search = |ada: &mut StdioClient, query: &str| {
        text(&ada.call("vault_search", json!({"query": query}))).to_owned()
    };
    let found = search(&mut ada, "moon");
    assert!(found.starts_with("Found in 2 files:\nMoon.md\n"), "titles first: {found}");
    assert!(found.contains("Apollo.md\n  They went to the **moon**, and came back."), "{found}");
    assert_eq!(search(&mut ada, "moon tag:space -orbits").lines().nth(1), Some("Apollo.md"));
    assert_eq!(search(&mut ada, "venus"), "No files containing 'venus'");
    for (path, content, query) in [("new/deep/Venus.md", "hot", "venus"), ("old/Mars.md", "Green!", "green")]
    {
        put(&vault, path, content);
        assert_eq!(search(&mut ada, query).lines().nth(1), Some(path));
    }
    fs::remove_dir_all(vault.join("new")).unwrap();
    assert_eq!(search(&mut ada, "venus"), "No files containing 'venus'");
    for query in ["\"moon", "*", "NEAR(a b)", "a AND", "') --", "tag:", "-"] {
        text(&ada.call("vault_search", json!({ "query": query })));
    }
    daemon.kill();
    put(&vault, "Moon.md", "It still circles.");
    fs::write(home.path().join("index/vault.db"), "no database any more").unwrap();
    let _daemon = home.up();
    let mut ada = client(&home, "bea", &TOOLS);
    assert_eq!(search(&mut ada, "circles").lines().nth(1), Some("Moon.md"));
}

/// A place that is shown is cut and marked; a secret in it is gone before that.
#[test]
fn no_part_of_a_secret_is_shown_by_a_search() {
    let (home, vault) = with_vault();
    home.write("secrets.toml", "[secrets]\nDEPLOY = \"alpha-bravo-charlie-delta\"\n");
    let hay = "hay ".repeat(70);
    put(&vault, "Keys.md", "The key is alpha-bravo-charlie-delta, keep it.");
    put(&vault, "Far.md", &format!("needle {hay}alpha-bravo-charlie-delta {hay}"));
    for length in 200..260 {
        put(
            &vault,
            &format!("edge/{length}.md"),
            &format!("needle {} alpha-bravo-charlie-delta", "x".repeat(length)),
        );
    }
    let _daemon = home.up();
    let mut ada = ada(&home);
    for query in [
        "bravo",
        "charlie",
        "\"bravo charlie\"",
        "alpha key",
        "alpha-bravo",
        "needle",
        "keep",
        "tag:none -x",
        "path:Keys",
    ] {
        let answer = ada.call("vault_search", json!({ "query": query }));
        // The query itself is repeated where nothing was found.
        let shown = answer["result"].to_string().replace("**", "");
        for part in ["alpha-bra", "bravo-", "-charlie", "rlie-delta"] {
            assert!(!shown.contains(part), "{query} shows {part}: {shown}");
        }
    }
    let found = ada.call("vault_search", json!({"query": "key"}));
    assert_eq!(
        found["result"]["structuredContent"]["hits"][0]["snippet"],
        "The **key** is [REDACTED:DEPLOY], keep it."
    );
}

/// No directory of the daemon's own is a vault or a workspace, whoever wrote that in the configuration.
#[test]
fn what_the_daemon_keeps_for_itself_is_no_vault_and_no_workspace() {
    let home = home();
    for (workspace, vault) in [("identity", "."), ("..", "memory"), (".", "identity")] {
        let config = format!("[workspace]\npath = \"{workspace}\"\n[vault]\npath = \"{vault}\"\n");
        home.write("config.toml", &config);
        let daemon = home.up();
        let listed = home.run(&["tools", "list", "--json"]).ok().json();
        let names = listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
        let wrong: Vec<_> =
            names.filter(|name| name.starts_with("vault_") || name.starts_with("workspace_")).collect();
        assert_eq!(wrong, Vec::<&str>::new(), "{workspace}, {vault}");
        for section in ["[workspace] path", "[vault] path"] {
            until("the reason is said", || daemon.printed().contains(section).then_some(()));
            let told = home.run(&["doctor"]).stdout;
            assert!(told.contains(section), "{told}");
        }
        let reloaded = home.run(&["reload"]).ok();
        assert!(format!("{}{}", reloaded.stdout, reloaded.stderr).contains("[vault] path"), "{reloaded:?}");
        daemon.kill();
    }
}

/// PACT-61: neither outside nor what makes Obsidian and git run programs.
#[test]
fn nothing_but_notes_is_reached_in_a_vault() {
    let (home, vault) = with_vault();
    put(&vault, ".git/config", "[core]\n");
    put(&vault, ".obsidian/plugins/x/main.js", "");
    fs::create_dir(home.path().join("vault-evil")).unwrap();
    fs::write(home.path().join("vault-evil/a.md"), "secret").unwrap();
    symlink(home.path(), vault.join("up")).unwrap();
    symlink(".git", vault.join("repo")).unwrap();
    let _daemon = home.up();
    let mut ada = ada(&home);
    let evil = home.path().join("vault-evil/a.md").display().to_string();
    let config = fs::read_to_string(home.path().join("config.toml")).unwrap();
    for path in [
        "../config.toml",
        "a/../../config.toml",
        "/etc/passwd",
        &evil,
        "/vault/../config.toml",
        "/vault-evil/a.md",
    ] {
        let calls = [
            ("vault_read", json!({ "path": path })),
            ("vault_write", json!({"path": path, "content": "x"})),
            ("vault_list", json!({ "path": path })),
            ("vault_search", json!({"query": "x", "path": path})),
        ];
        for (tool, arguments) in calls {
            let told = format!(
                "Error: path escapes vault: {path} leads outside; use a path beneath it, like notes.md or /vault/notes.md"
            );
            assert_eq!(failure(&ada.call(tool, arguments)), told, "{tool}");
        }
    }
    let hidden = "is no note: names that begin with a dot belong to Obsidian and git; use another name";
    let followed =
        "is, or goes through, a symbolic link that is not followed here: name the file it leads to";
    for (path, told) in [
        (".git/config", hidden),
        (".obsidian/plugins/x/main.js", hidden),
        ("a/../.git/config", hidden),
        ("up/config.toml", followed),
        ("repo/config.md", followed),
        ("repo/x.md", followed),
    ] {
        let calls = [
            ("read", ada.call("vault_read", json!({ "path": path }))),
            ("write", ada.call("vault_write", json!({"path": path, "content": "x"}))),
        ];
        for (verb, answer) in calls {
            let begins = if told == hidden { String::new() } else { format!("failed to {verb} file: ") };
            assert_eq!(failure(&answer), format!("Error: {begins}{path} {told}"));
        }
    }
    assert_eq!(fs::read_to_string(home.path().join("config.toml")).unwrap(), config);
    assert!(!Path::new("/etc/passwd.md").exists() && !vault.join(".git/config.md").exists());
    assert_eq!(fs::read_to_string(vault.join(".git/config")).unwrap(), "[core]\n");
    assert_eq!(fs::read_to_string(home.path().join("vault-evil/a.md")).unwrap(), "secret");
    assert!(!vault.join(".git/x.md").exists());
}

#[test]
fn without_a_vault_there_are_no_tools_for_one() {
    let home = home();
    let _daemon = home.up();
    let listed = home.run(&["tools", "list", "--json"]).ok().json();
    let names = listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
    assert_eq!(names.filter(|name| name.starts_with("vault_")).count(), 0);
}

/// Runs git as a person does.
#[track_caller]
fn git(directory: &Path, arguments: &[&str]) -> String {
    let person = ["-c", "user.name=Bea", "-c", "user.email=bea@example.org", "-c", "init.defaultBranch=main"];
    let mut command = std::process::Command::new("git");
    command
        .current_dir(directory)
        .args(person)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", directory);
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// A home whose vault is a clone, and another clone of the same remote.
fn with_remote() -> (Home, PathBuf, PathBuf, PathBuf) {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[vault]\npath = \"vault\"\ngit_sync = true\n");
    let world = home.beside("world");
    fs::create_dir(&world).unwrap();
    git(&world, &["init", "--quiet", "--bare", "remote.git"]);
    git(&world, &["clone", "--quiet", "remote.git", "bea"]);
    let bea = world.join("bea");
    put(&bea, "Home.md", "one\n");
    git(&bea, &["add", "Home.md"]);
    git(&bea, &["commit", "--quiet", "--message=Begin"]);
    git(&bea, &["push", "--quiet", "origin", "HEAD:main"]);
    let vault = home.path().join("vault");
    git(&home.path(), &["clone", "--quiet", world.join("remote.git").to_str().unwrap(), "vault"]);
    (home, vault, world.join("remote.git"), bea)
}

#[test]
fn a_synced_vault_sends_what_is_written_and_brings_what_is_new() {
    let (home, vault, remote, bea) = with_remote();
    let hook = vault.join(".git/hooks/pre-commit");
    put(&vault, ".git/hooks/pre-commit", "#!/bin/sh\ntouch started\nexit 1\n");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let _daemon = home.up();
    let mut ada = ada(&home);
    let wrote = ada.call("vault_write", json!({"path": "Ideas.md", "content": "moon"}));
    assert_eq!(text(&wrote), "Wrote and synced Ideas.md");
    assert_eq!(git(&remote, &["log", "-1", "--format=%s", "main"]), "Update Ideas.md");
    let message = json!({"path": "Ideas.md", "content": "mars", "commit_message": "--amend; touch started"});
    assert_eq!(text(&ada.call("vault_write", message)), "Wrote and synced Ideas.md");
    assert_eq!(git(&remote, &["log", "-1", "--format=%s", "main"]), "--amend; touch started");
    git(&bea, &["pull", "--quiet"]);
    assert_eq!(fs::read_to_string(bea.join("Ideas.md")).unwrap(), "mars");
    assert!(!vault.join("started").exists(), "no hook was started");
}

#[test]
fn a_conflict_is_reported_and_neither_edit_is_lost() {
    let (home, vault, remote, bea) = with_remote();
    put(&bea, "Home.md", "from bea\n");
    git(&bea, &["commit", "--quiet", "--all", "--message=Bea"]);
    git(&bea, &["push", "--quiet", "origin", "HEAD:main"]);
    let _daemon = home.up();
    let mut ada = ada(&home);
    let wrote = ada.call("vault_write", json!({"path": "Home.md", "content": "from ada\n"}));
    let told = failure(&wrote);
    assert!(told.starts_with("Error: file written but git sync failed: Home.md is saved in the vault; changed both here and at the remote: Home.md;"), "{told}");
    let facts = json!({"path": "Home.md", "written": true, "synced": false, "conflicts": ["Home.md"]});
    assert_eq!(wrote["result"]["structuredContent"], facts);
    assert_eq!(fs::read_to_string(vault.join("Home.md")).unwrap(), "from ada\n");
    assert_eq!(git(&remote, &["show", "main:Home.md"]), "from bea");
    assert_eq!(git(&vault, &["status", "--porcelain"]), "");
    fs::rename(&remote, remote.with_extension("gone")).unwrap();
    let wrote = ada.call("vault_write", json!({"path": "b.md", "content": "b"}));
    assert!(failure(&wrote).contains("file written but git sync failed"), "{wrote}");
    assert_eq!(text(&ada.call("vault_read", json!({"path": "b.md"}))), "b", "and can be read all the same");
}

/// Whoever takes a reading back does not kill the git that is in the middle of a merge.
#[test]
fn a_merge_that_was_begun_is_finished_though_its_reader_gave_up() {
    let (home, vault, _, bea) = with_remote();
    let (begun, go) = (home.beside("begun"), home.beside("go"));
    let wait =
        format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.01; done; cat", begun.display(), go.display());
    git(&vault, &["config", "filter.slow.smudge", &wait]);
    put(&bea, ".gitattributes", "Slow.md filter=slow\n");
    put(&bea, "Slow.md", "at last");
    git(&bea, &["add", "."]);
    git(&bea, &["commit", "--quiet", "--message=Slow"]);
    git(&bea, &["push", "--quiet", "origin", "HEAD:main"]);
    let _daemon = home.up();
    let mut ada = ada(&home);
    let params = json!({"name": "vault_read", "arguments": {"path": "Home.md"}});
    ada.send(&json!({"jsonrpc": "2.0", "id": "r", "method": "tools/call", "params": params}));
    until("the merge is under way", || begun.exists().then_some(()));
    assert!(vault.join(".git/index.lock").exists());
    ada.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "r"}}));
    until("the call has ended", || {
        super::rows(&home).iter().any(|row| row["kind"] == "CallFinished").then_some(())
    });
    fs::write(&go, "").unwrap();
    until("the merge is done", || (!vault.join(".git/index.lock").exists()).then_some(()));
    assert_eq!(fs::read_to_string(vault.join("Slow.md")).unwrap(), "at last");
    assert_eq!(git(&vault, &["status", "--porcelain"]), "");
}

/// What clients remember is searched by the operator, and by nobody else.
#[test]
fn memory_is_searched_by_the_operator() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n");
    let _daemon = home.up();
    assert_eq!(home.run(&["memory", "recent", "--json"]).ok().json(), json!([]));
    let mut ada = client(&home, "Ada", &["memory_write"]);
    text(&ada.call("memory_write", json!({"content": "The deploy key is in the drawer."})));
    text(&ada.call("memory_write", json!({"content": "Tea at four.", "file": "2026-11-16.md"})));
    let found = home.run(&["memory", "search", "deploy", "key", "--json"]).ok().json();
    let entry = &found[0];
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!((&entry["owner"], &entry["intent_id"]), (&json!("client:Ada"), &Value::Null));
    assert_eq!(entry["text"], "The deploy key is in the drawer.");
    assert_eq!(entry["id"], "client-=41da/MEMORY.md");
    assert!(entry["created_at"].is_string(), "{entry}");
    assert_eq!(home.run(&["memory", "recent", "-n", "1", "--json"]).ok().json().as_array().unwrap().len(), 1);
    assert!(home.run(&["memory", "search", "tea"]).ok().stdout.contains("Tea at four."));
    let token = super::token(&home, "spy", &[]);
    let spied = home.command(&["memory", "search", "deploy"]).env("COVENANT_TOKEN", &token).run();
    assert!(spied.code() != 0 && !spied.stdout.contains("drawer"), "{spied:?}");
    until("another look finds the same", || {
        let again = home.run(&["memory", "search", "drawer", "--json"]).ok().json();
        (again == found).then_some(())
    });
}
