//! A home in one file and back, and its database somewhere else: nothing is lost, nothing is half done.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use covenant_testkit::wait::until;
use covenant_testkit::{Home, Ran};
use serde_json::{Value, json};

use crate::unhurried;

const ECHO: [&str; 5] = ["tools", "call", "echo", "--args", r#"{"text":"hi"}"#];

/// A command with a passphrase on its standard input.
fn with_passphrase(home: &Home, arguments: &[&str], passphrase: &str) -> Ran {
    home.command(arguments).arguments(&["--passphrase-file", "-"]).input(format!("{passphrase}\n")).run()
}

/// What is granted, as anyone may see it.
fn grants(home: &Home) -> Value {
    home.run(&["capabilities", "list", "--json"]).ok().json()
}

fn token(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("identity/operator.token")).unwrap()
}

/// What is in the directory that a test's homes and files lie in.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// Calls come in from four clients all the while; whatever moment a backup is of, its log can be verified and gone on with.
#[test]
fn a_backup_of_a_daemon_at_work_comes_back_whole() {
    let home = unhurried();
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let client = home.run(&["clients", "add", "claude", "--grant", "tool.call.echo"]).ok().stdout;
    home.command(&["secrets", "set", "API_KEY"]).input("sk-0123456789abcdef").run().ok();
    home.write("agents/helper/agent.toml", "# an agent\n");
    let (over, calls) = (AtomicBool::new(false), AtomicU32::new(0));
    let files: Vec<String> =
        (0..3).map(|number| home.beside(&format!("b{number}.tar")).display().to_string()).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = home.mcp();
                while !over.load(Ordering::SeqCst) {
                    let answer = client.call("echo", json!({"text": "hi"}));
                    assert!(answer.get("result").is_some(), "{answer}");
                    calls.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for file in &files {
            let before = calls.load(Ordering::SeqCst);
            until("calls come in", || (calls.load(Ordering::SeqCst) > before + 50).then_some(()));
            let made =
                with_passphrase(&home, &["backup", file, "--with-secrets", "--json"], "one two three").ok();
            assert_eq!(made.json()["with_secrets"], true);
        }
        over.store(true, Ordering::SeqCst);
    });
    let granted = grants(&home);
    daemon.stop();
    for file in &files {
        let text = std::fs::read(file).unwrap();
        assert!(!text.windows(8).any(|window| window == b"sk-01234"), "secrets are sealed");
        let other = crate::home();
        with_passphrase(&other, &["restore", file], "one two three").ok();
        other.run(&["audit", "verify"]).ok();
        assert_eq!(token(&other), token(&home));
        let daemon = other.up();
        assert_eq!(grants(&other), granted);
        other.command(&ECHO).env("COVENANT_TOKEN", client.trim()).run().ok();
        assert_eq!(other.run(&["secrets", "list", "--json"]).ok().json()[0]["name"], "API_KEY");
        let rows = other.run(&["audit", "verify", "--json"]).ok().json();
        assert!(rows["rows"].as_u64().unwrap() > 100, "the log goes on from where it was: {rows}");
        daemon.stop();
        other.run(&["audit", "verify"]).ok();
        assert!(other.path().join("agents/helper/agent.toml").exists());
    }
}

/// Who has the file has no key of the home: what was granted and given out still holds, under new ones.
#[test]
fn a_backup_without_secrets_gives_a_home_with_new_keys_that_works() {
    let home = unhurried();
    let daemon = home.up();
    let given = grants(&home).as_array().unwrap().clone();
    let clock = given.iter().find(|grant| grant["action"] == "tool.call.clock").unwrap();
    let clock = clock["id"].as_str().unwrap().to_owned();
    home.run(&["capabilities", "revoke", &clock]).ok();
    home.run(&["capabilities", "grant", "tool.call.echo", "--where", r#"{"max_calls":3}"#]).ok();
    home.run(&ECHO).ok();
    let claude = home.run(&["clients", "add", "claude", "--grant", "tool.call.echo"]).ok().stdout;
    let gone = home.run(&["clients", "add", "gone", "--grant", "tool.call.echo"]).ok().stdout;
    home.run(&["clients", "revoke", "gone"]).ok();
    home.command(&["secrets", "set", "API_KEY"]).input("sk-0123456789abcdef").run().ok();
    let file = home.beside("b.tar").display().to_string();
    let made = home.run(&["backup", &file]).ok();
    assert!(made.stderr.contains("keys and secrets are not in it"), "{}", made.stderr);
    let granted = grants(&home);
    daemon.stop();
    let other = crate::home();
    let told = other.run(&["restore", &file]).ok();
    let anew = format!("{} of its grants were signed anew", granted.as_array().unwrap().len());
    for said in ["it has new keys", &anew, "covenant audit verify", "secrets set"] {
        assert!(told.stderr.contains(said), "{said}: {}", told.stderr);
    }
    assert_ne!(token(&other), token(&home));
    let before = other.path().join("audit-before-restore");
    let key = before.join("local.pub").display().to_string();
    other.run(&["audit", "verify", before.to_str().unwrap(), "--key", &key]).ok();
    let daemon = other.up();
    assert_eq!(grants(&other), granted, "with their ids, and without what was revoked");
    for code in [0, 0, 3] {
        other.run(&ECHO).exits(code);
    }
    other.command(&ECHO).env("COVENANT_TOKEN", claude.trim()).run().ok();
    other.command(&ECHO).env("COVENANT_TOKEN", gone.trim()).run().exits(3);
    other.command(&ECHO).env("COVENANT_TOKEN", token(&home).trim()).run().exits(3);
    assert_eq!(other.run(&["secrets", "list", "--json"]).ok().json(), json!([]));
    other.run(&["audit", "verify"]).ok();
    daemon.stop();
    let log = std::fs::read_to_string(other.path().join("logs/covenant.log")).unwrap();
    assert!(!log.contains("no valid signature"), "{log}");
}

#[test]
fn what_is_no_good_backup_is_refused_in_a_sentence_and_leaves_no_trace() {
    let home = unhurried();
    let daemon = home.up();
    let place = home.beside("b.tar");
    let file = place.display().to_string();
    with_passphrase(&home, &["backup", &file, "--with-secrets"], "short").exits(2);
    with_passphrase(&home, &["backup", &file, "--with-secrets"], "one two three").ok();
    let again = with_passphrase(&home, &["backup", &file, "--with-secrets"], "one two three").exits(2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    let busy = with_passphrase(&home, &["restore", &file, "--force"], "one two three").exits(1);
    assert!(busy.stderr.contains("covenant stop"), "{}", busy.stderr);
    daemon.stop();
    let taken = with_passphrase(&home, &["restore", &file], "one two three").exits(2);
    assert!(taken.stderr.contains("is not empty"), "{}", taken.stderr);
    let whole = std::fs::read(&place).unwrap();
    let other = crate::home();
    let refused = |bytes: &[u8], passphrase: &str, expect: &str| {
        std::fs::write(&place, bytes).unwrap();
        let ran = with_passphrase(&other, &["restore", &file], passphrase).exits(2);
        assert!(ran.stderr.contains(expect) && ran.stderr.contains("nothing was written"), "{}", ran.stderr);
        assert_eq!(names(other.path().parent().unwrap()), [] as [&str; 0]);
    };
    refused(&whole[..whole.len() / 2], "one two three", "a part of it is missing");
    refused(&whole[..whole.len() - 512], "one two three", "a part of it is missing");
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    refused(&changed, "one two three", "changed since");
    refused(b"hello", "one two three", "a part of it is missing");
    refused(&vec![b'x'; 5000], "one two three", "no backup that Covenant made");
    refused(&whole, "one two four", "the passphrase does not open");
    std::fs::write(&place, &whole).unwrap();
    other.run(&["restore", &file]).exits(2);
    other.run(&["restore", &file, "--without-secrets"]).ok();
    with_passphrase(&other, &["restore", &file, "--force"], "one two three").ok();
    assert_eq!(token(&other), token(&home));
    let beside = names(other.path().parent().unwrap());
    assert!(
        matches!(&beside[..], [home, old] if home == "home" && old.starts_with("home.before-restore-")),
        "{beside:?}"
    );
}

#[test]
fn a_home_moves_to_postgresql_with_all_it_knows_and_back_by_its_backup() {
    let Some(url) = covenant_testkit::postgres::database().unwrap() else { return };
    let url = url.replace("covenant@", "covenant:p4ssw0rd-of-the-server@");
    let home = unhurried();
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo", "--where", r#"{"max_calls":4}"#]).ok();
    home.run(&ECHO).ok();
    let claude = home.run(&["clients", "add", "claude", "--grant", "tool.call.echo"]).ok().stdout;
    let granted = grants(&home);
    let busy = home.run(&["store", "copy", "--to", &url]).exits(1);
    assert!(busy.stderr.contains("covenant stop"), "{}", busy.stderr);
    daemon.stop();
    home.run(&["store", "copy", "--to", "mysql://x"]).exits(2);
    let copied = home.run(&["store", "copy", "--to", &url, "--json"]).ok();
    assert!(!copied.stdout.contains("p4ssw0rd"), "{}", copied.stdout);
    let rows = |table: &str| {
        let tables = copied.json()["tables"].as_array().unwrap().clone();
        tables.iter().find(|found| found["table"] == table).unwrap()["rows"].as_u64().unwrap()
    };
    let many = u64::try_from(granted.as_array().unwrap().len()).unwrap();
    assert_eq!((rows("grants"), rows("tokens")), (many, 1));
    let again = home.run(&["store", "copy", "--to", &url]).exits(2);
    assert!(again.stderr.contains("is not empty"), "{}", again.stderr);
    std::fs::remove_file(home.path().join("covenant.db")).unwrap();
    home.write("config.toml", &format!("[rate_limit]\nrate = 0\n[database]\nurl = \"{url}\"\n"));
    let daemon = home.up();
    assert!(daemon.status()["database"].as_str().unwrap().starts_with("postgres"));
    assert_eq!(grants(&home), granted);
    home.command(&ECHO).env("COVENANT_TOKEN", claude.trim()).run().ok();
    home.run(&ECHO).ok();
    // And back: a backup of what is on a server is a home that needs none.
    let file = home.beside("b.tar").display().to_string();
    home.run(&["backup", &file]).ok();
    assert!(!String::from_utf8_lossy(&std::fs::read(&file).unwrap()).contains("p4ssw0rd"));
    let other = crate::home();
    let told = other.run(&["restore", &file]).ok();
    assert!(told.stderr.contains("covenant store copy"), "{}", told.stderr);
    daemon.stop();
    let daemon = other.up();
    assert!(daemon.status()["database"].as_str().unwrap().starts_with("sqlite"));
    assert_eq!(grants(&other), granted);
    for code in [0, 0, 3] {
        other.run(&ECHO).exits(code);
    }
    other.command(&ECHO).env("COVENANT_TOKEN", claude.trim()).run().ok();
}
