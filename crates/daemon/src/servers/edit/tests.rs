//! Entries that are added and removed, and files of which nothing else changes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use covenant_model::server::{Isolation, SandboxEntry, Start, Transport};

use super::*;
use crate::atomic;

fn home() -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(&dir.path().join("home")).unwrap();
    home.prepare().unwrap();
    (dir, home)
}

fn add(home: &Home, entry: &Entry) -> Result<(), EditError> {
    super::add(home, entry, &mut Undo::default())
}

fn remove(home: &Home, name: &str) -> Result<Vec<PathBuf>, EditError> {
    super::remove(home, name, &mut Undo::default())
}

fn put_config(home: &Home, text: &str) {
    atomic::write(&home.config(), text.as_bytes()).unwrap();
}

fn config(home: &Home) -> String {
    fs::read_to_string(home.config()).unwrap()
}

fn entry(name: &str) -> Entry {
    Entry { name: name.to_owned(), command: "run".to_owned(), ..Entry::default() }
}

fn read_back(home: &Home, name: &str) -> Entry {
    let text = config(home);
    let (entries, _) = written::configuration(&home.config(), &text).unwrap();
    let written = entries.iter().find(|written| written.name.as_deref() == Some(name)).unwrap();
    entry::parse(written.keys.as_ref().unwrap()).entry.unwrap()
}

#[test]
fn a_first_entry_makes_the_file_with_what_it_says_and_no_more() {
    let (_dir, home) = home();
    let entry = Entry { args: vec!["-y".into(), "a \"b\"".into()], ..entry("x") };
    add(&home, &entry).unwrap();
    assert_eq!(
        config(&home),
        "[[mcp.servers]]\nname = \"x\"\ncommand = \"run\"\nargs = [\"-y\", 'a \"b\"']\n"
    );
    assert_eq!(home.config().metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn every_key_that_differs_is_written_and_read_back() {
    let (_dir, home) = home();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let program = Entry {
        args: vec!["$$HOME\n\u{1b}".into(), String::new()],
        env: [pair("A.B", "x = \"1\""), pair("TOKEN", "${secret:T}")].into(),
        prefix: Some("none".into()),
        include: vec!["read_*".into()],
        enabled: false,
        start: Start::Lazy,
        cwd: "/srv".into(),
        idle_stop_secs: 5,
        isolation: Isolation::Session,
        call_timeout_secs: 5,
        max_in_flight: 1,
        allow_sampling: true,
        pin: "warn".into(),
        sandbox: Some(SandboxEntry { network: "off".into(), ..SandboxEntry::default() }),
        ..entry("x")
    };
    let web = Entry {
        name: "ada's \"own\" \\ 日本".into(),
        url: "http://localhost:3100".into(),
        headers: [pair("Authorization", "Bearer ${secret:T}")].into(),
        transport: Some(Transport::Sse),
        sandbox: Some(SandboxEntry::default()),
        ..Entry::default()
    };
    for entry in [&program, &web] {
        add(&home, entry).unwrap();
        assert_eq!(&read_back(&home, &entry.name), entry);
    }
    assert!(config(&home).contains("sandbox = { network = \"off\" }\n"), "{}", config(&home));
}

#[test]
fn an_added_entry_leaves_every_other_byte_as_it_was() {
    let (_dir, home) = home();
    for before in [
        "# mine\n[http]\nlisten =   \"127.0.0.1:0\" # odd   spaces\n\n\n[[mcp.server]]\nname='a'\n[mcp.server.env]\nA = 'b'\n# end",
        "[mcp]\n# nothing yet\n[logging]\nlevel = \"debug\"\n",
        "a.b = 1\r\n",
        "# only a comment",
    ] {
        put_config(&home, before);
        add(&home, &entry("x")).unwrap();
        let after = config(&home);
        assert!(after.starts_with(before), "{after}");
        assert!(after.ends_with("\n\n[[mcp.servers]]\nname = \"x\"\ncommand = \"run\"\n"), "{after}");
        assert_eq!(read_back(&home, "x"), entry("x"));
    }
}

#[test]
fn an_entry_is_added_to_a_list_in_one_value() {
    let (_dir, home) = home();
    put_config(&home, "[mcp] # all of them\nservers = [{ name = \"a\", command = \"b\" }] # here\n[http]\n");
    add(&home, &entry("x")).unwrap();
    let after = config(&home);
    for part in
        ["[mcp] # all of them\n", "{ name = \"a\", command = \"b\" }, { name = \"x\"", "] # here\n[http]\n"]
    {
        assert!(after.contains(part), "{after}");
    }
    assert_eq!(read_back(&home, "x"), entry("x"));
}

#[test]
fn a_name_that_is_taken_is_refused_in_either_file() {
    let (_dir, home) = home();
    put_config(&home, "[[mcp.servers]]\nname = \"a\"\n");
    atomic::write(&home.secrets(), b"[[mcp.server]]\nname = \"b\"\n").unwrap();
    for (name, file) in [("a", "config.toml"), ("b", "secrets.toml")] {
        let refused = add(&home, &entry(name)).unwrap_err();
        assert!(
            matches!(refused, EditError::Taken { .. }) && refused.to_string().contains(file),
            "{refused}"
        );
    }
}

#[test]
fn what_cannot_be_changed_safely_is_left_alone() {
    let (_dir, home) = home();
    for before in
        ["mcp = { server = [] }\n", "mcp.servers = {}\n", "mcp = 1\n", "[mcp]\nservers = \n", "\u{0}"]
    {
        put_config(&home, before);
        let refused = add(&home, &entry("x")).unwrap_err();
        assert!(matches!(refused, EditError::Entangled { .. } | EditError::Read(_)), "{before}: {refused}");
        assert_eq!(config(&home), before);
    }
    let before = format!("#{}\n", "x".repeat(1024 * 1024 - 10));
    put_config(&home, &before);
    assert!(matches!(add(&home, &entry("x")).unwrap_err(), EditError::TooLarge { .. }));
    put_config(&home, "");
    let huge = Entry { idle_stop_secs: u64::MAX, ..entry("x") };
    assert!(matches!(add(&home, &huge).unwrap_err(), EditError::Entangled { .. }));
    fs::set_permissions(home.config(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(add(&home, &entry("x")).unwrap_err().to_string().contains("chmod go-w"));
    assert_eq!(config(&home), "");
}

#[test]
fn a_link_stays_a_link() {
    let (dir, home) = home();
    let elsewhere = dir.path().join("dotfiles.toml");
    fs::write(&elsewhere, "# mine\n").unwrap();
    symlink(&elsewhere, home.config()).unwrap();
    add(&home, &entry("x")).unwrap();
    assert!(home.config().symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&elsewhere).unwrap().starts_with("# mine\n\n[[mcp.servers]]"));
    remove(&home, "x").unwrap();
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "# mine\n");
}

/// What is left of that text without the server `x`.
fn left(before: &str) -> String {
    let (_dir, home) = home();
    put_config(&home, before);
    assert_eq!(remove(&home, "x").unwrap(), [home.config()]);
    config(&home)
}

#[test]
fn a_removed_entry_takes_its_own_comments_and_tables_and_nothing_else() {
    let a = "# about a\n[[mcp.servers]] # a\nname = \"a\"\n\n";
    let x =
        "# about x\n# more\n[[mcp.servers]]\nname = \"x\" # it\nargs = [\n  \"1\", # one\n]\n# off = 1\n\n";
    let sub = "[mcp.servers.env]\nA = \"b\"\n\n  [mcp.servers.sandbox]\n  network = \"off\"\n\n";
    let section = "# ---- section ----\n\n";
    let b = "[[mcp.server]]\nname = \"b\"\n[mcp.server.env]\nK = \"v\"\n\n";
    let http = "[http]\nlisten = \"127.0.0.1:0\"\n";
    let top = "# my file\n\ntop.key = 1\n\n";
    let join = |parts: &[&str]| parts.concat();
    for (before, after) in [
        (join(&[top, a, x, b, http]), join(&[top, a, b, http])),
        (join(&[top, a, x, sub, b, http]), join(&[top, a, b, http])),
        (join(&[x, a]), join(&[a])),
        (join(&[top, x, sub, http]), join(&[top, http])),
        (join(&[a, x, "# ---- section ----\n\n", b]), join(&[a, "\n", section, b])),
        (join(&[http, "\n", x]), http.to_owned()),
        (join(&[http, "\n", x, sub]), http.to_owned()),
        (join(&[x, a, x]), a.trim_end().to_owned() + "\n"),
        (x.to_owned(), String::new()),
        (join(&["# my file\n\n", x]), "# my file\n".to_owned()),
        (join(&[x.trim_end()]), String::new()),
        (x.replace('\n', "\r\n"), String::new()),
        (join(&[top, x, http]).replace('\n', "\r\n"), join(&[top, http]).replace('\n', "\r\n")),
        (x.replace("mcp.servers", "mcp.server"), String::new()),
    ] {
        assert_eq!(left(&before), after, "{before}");
    }
}

#[test]
fn texts_that_look_like_tables_and_comments_are_neither() {
    let odd = "[vault]\ntext = \"\"\"\n[[mcp.servers]]\nname = \"x\"\n# y\"\"\"\n";
    let x = "[[mcp.servers]]\nname = \"x\"\nargs = [\"\"\"\n\n[http]\n# z\"\"\"]\n";
    assert_eq!(left(&format!("{odd}{x}[http]\n")), format!("{odd}[http]\n"));
    assert_eq!(left(&format!("{x}{odd}")), odd);
}

#[test]
fn tables_of_an_entry_that_stand_apart_go_too() {
    let before = "[[mcp.servers]]\nname = \"x\"\n[http]\nlisten = \"127.0.0.1:0\"\n[mcp.servers.env]\nA = \"b\"\n[audit]\n";
    assert_eq!(left(before), "[http]\nlisten = \"127.0.0.1:0\"\n[audit]\n");
}

#[test]
fn an_entry_is_removed_from_a_list_in_one_value() {
    let before = "mcp.servers = [{name='a'}, {name='x'}, {name='b'}] # all\n[http] # y\n";
    assert_eq!(left(before), "mcp.servers = [{name='a'}, {name='b'}] # all\n[http] # y\n");
    assert_eq!(left("[mcp]\nserver = [{name='x'}]\n"), "[mcp]\nserver = []\n");
}

#[test]
fn an_entry_is_removed_from_both_files_and_a_missing_one_is_said_to_be() {
    let (_dir, home) = home();
    put_config(&home, "[[mcp.servers]]\nname = \"x\"\n[[mcp.servers]]\nname = \"y\"\n");
    atomic::write(&home.secrets(), b"[secrets]\nA_KEY = \"long enough\"\n[[mcp.server]]\nname = \"x\"\n")
        .unwrap();
    let mut undo = Undo::default();
    assert_eq!(super::remove(&home, "x", &mut undo).unwrap(), [home.config(), home.secrets()]);
    assert_eq!(config(&home), "[[mcp.servers]]\nname = \"y\"\n");
    assert_eq!(fs::read_to_string(home.secrets()).unwrap(), "[secrets]\nA_KEY = \"long enough\"\n");
    let refused = remove(&home, "x").unwrap_err();
    assert!(matches!(refused, EditError::NotThere(_)) && refused.to_string().contains("plugin"), "{refused}");
    undo.put_back().unwrap();
    assert!(config(&home).starts_with("[[mcp.servers]]\nname = \"x\"\n"));
    assert!(fs::read_to_string(home.secrets()).unwrap().ends_with("name = \"x\"\n"));
}

#[test]
fn where_there_is_nothing_to_remove_nothing_is_written() {
    let (_dir, home) = home();
    for before in
        ["[mcp]\n", "mcp.servers = []\n", "[[mcp.servers]]\nname = \"\"\n", "[[mcp.servers]]\nname = 1\n", ""]
    {
        put_config(&home, before);
        assert!(matches!(remove(&home, "x").unwrap_err(), EditError::NotThere(_)), "{before}");
        assert_eq!(config(&home), before);
    }
    put_config(&home, "[[mcp.servers]]\nname = \n");
    assert!(matches!(remove(&home, "x").unwrap_err(), EditError::Read(_)));
}

#[test]
fn a_file_that_was_made_is_taken_away_again() {
    let (_dir, home) = home();
    let mut undo = Undo::default();
    super::add(&home, &entry("x"), &mut undo).unwrap();
    undo.put_back().unwrap();
    assert!(!home.config().exists() && !home.secrets().exists());
}
