//! Secrets from both sources, edits that keep the rest of the file, and what the redactor then hides.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

fn home() -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(&dir.path().join("home")).unwrap();
    home.prepare().unwrap();
    (dir, home)
}

fn put(home: &Home, text: &str) {
    crate::atomic::write(&home.secrets(), text.as_bytes()).unwrap();
}

fn load(home: &Home, from_env: &[&str]) -> Result<Loaded, SecretsError> {
    let mut config = Config::default();
    config.secrets.from_env = from_env.iter().map(ToString::to_string).collect();
    config.database.url = "postgres://ada:db-password-1@db/c".to_owned();
    let environment = |name: &str| match name {
        "FROM_ENV" => Some("value-of-the-environment".to_owned()),
        "SHORT" => Some("abc".to_owned()),
        _ => None,
    };
    Secrets::load(home, &config, &environment)
}

#[test]
fn no_file_is_no_secrets() {
    let (_dir, home) = home();
    let loaded = load(&home, &[]).unwrap();
    assert!(loaded.secrets.named().is_empty() && loaded.warnings.is_empty());
}

#[test]
fn secrets_come_from_the_file_and_from_the_environment() {
    let (_dir, home) = home();
    put(&home, "[secrets]\nZ_KEY = \"value-of-the-file\"\n");
    let loaded = load(&home, &["FROM_ENV", "MISSING", "SHORT"]).unwrap();
    let entries = loaded.secrets.entries();
    let listed: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())).collect();
    assert_eq!(listed, [("FROM_ENV", "$FROM_ENV"), ("Z_KEY", "file")]);
    assert!(entries[0].set_at.is_none() && entries[1].set_at.is_some());
    assert!(loaded.warnings[0].contains("$MISSING is not set"), "{:?}", loaded.warnings);
    assert!(loaded.warnings[1].contains("$SHORT is not used"), "{:?}", loaded.warnings);
    assert!(!format!("{loaded:?}").contains("value-of-"));
}

#[test]
fn what_is_wrong_with_servers_is_no_remark_about_secrets() {
    let (_dir, home) = home();
    put(&home, "[[mcp.servers]]\nname = \"a\"\n[[mcp.servers]]\nname = \"b\"\ncommand = \"x\"\n");
    let loaded = load(&home, &[]).unwrap();
    assert_eq!((loaded.warnings.as_slice(), loaded.server_count()), (&[][..], 2));
    let [warning] = loaded.server_warnings.as_slice() else { panic!("{:?}", loaded.server_warnings) };
    assert!(warning.contains("`command` is missing"), "{warning}");
}

#[test]
fn a_name_in_both_places_is_taken_from_the_file_and_both_values_are_hidden() {
    let (_dir, home) = home();
    put(&home, "[secrets]\nFROM_ENV = \"value-of-the-file\"\n");
    let loaded = load(&home, &["FROM_ENV"]).unwrap();
    assert_eq!(loaded.secrets.get("FROM_ENV").unwrap().reveal(), "value-of-the-file");
    assert_eq!(loaded.warnings.len(), 1);
    let text = loaded.secrets.redactor().redact("value-of-the-file value-of-the-environment").into_owned();
    assert_eq!(text, "[REDACTED:FROM_ENV] [REDACTED:FROM_ENV]");
}

#[test]
fn entries_that_cannot_be_secrets_stop_the_start_and_are_not_shown() {
    let (_dir, home) = home();
    for (text, part) in [
        ("[secrets]\nlower = \"long enough\"", "`lower` cannot name a secret"),
        ("[secrets]\nSHORT = \"abc\"", "the value of SHORT is shorter"),
        ("[secrets]\nNUMBER = 123456789", "the value of NUMBER must be a text"),
        ("secrets = \"long enough\"", "must be a table"),
        ("[secrets]\nA = \"unfinished-value\n", "line 2, column"),
    ] {
        put(&home, text);
        let refused = load(&home, &[]).unwrap_err().to_string();
        assert!(refused.contains(part) && !refused.contains("123456789"), "{refused}");
        assert!(!refused.contains("long enough") && !refused.contains("unfinished"), "{refused}");
    }
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    let (_dir, home) = home();
    put(&home, "[secrets]\n");
    fs::set_permissions(home.secrets(), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(load(&home, &[]).unwrap_err().to_string().contains("chmod 600"));
}

#[test]
fn literal_credentials_of_server_entries_and_the_database_are_hidden_too() {
    let (_dir, home) = home();
    put(
        &home,
        "[[mcp.server]]\nname = \"a\"\nenv = { API_KEY = \"key-value-1\", LEVEL = \"not-a-secret\" }\n",
    );
    let config = "[[mcp.servers]]\nname = \"b\"\nurl = \"http://x\"\n[mcp.servers.headers]\n\
                  Authorization = \"Bearer header-value-2\"\nX-Token = \"${secret:OTHER}\"\n";
    crate::atomic::write(&home.config(), config.as_bytes()).unwrap();
    let redactor = load(&home, &[]).unwrap().secrets.redactor();
    let text = "key-value-1 not-a-secret header-value-2 ${secret:OTHER} db-password-1";
    assert_eq!(
        redactor.redact(text),
        "[REDACTED:API_KEY] not-a-secret [REDACTED:AUTHORIZATION] ${secret:OTHER} [REDACTED:DATABASE_PASSWORD]"
    );
}

#[test]
fn credentials_in_addresses_are_hidden_however_short_they_are_and_wherever_they_stand() {
    let (_dir, home) = home();
    let text = "[github]\ntoken = \"github-token\"\nbase_url = \"https://git:git-pw-1@git.example/api/v3\"\n\
        [chat.team]\nprovider = \"matrix\"\ntoken = \"matrix-token\"\nbase_url = \"https://m:matrix-pw@m.example\"\n\
        [chat.hook]\nprovider = \"webhook\"\nurl = \"https://h.example/in?token=hook-tk-1&page=services\"\n\
        [[calendars]]\nname = \"work\"\nurl = \"webcal://ada:cal-pw-1@cal.example/basic.ics?key=cal-key-1\"\n\
        [audit]\nanchor_url = \"https://ada:anchor-1@a.example/x?token=anchor-2\"\n";
    let config = Config::parse(&home.config(), text, &config::Overrides::default()).unwrap().config;
    let environment = |name: &str| match name {
        "HTTPS_PROXY" => Some("http://ada:proxy-pw-1@proxy.example:3128".to_owned()),
        "all_proxy" => Some("ada:proxy%2Fpw@proxy.example:3128".to_owned()),
        _ => None,
    };
    let redactor = Secrets::load(&home, &config, &environment).unwrap().secrets.redactor();
    for hidden in [
        "github-token",
        "git-pw-1",
        "matrix-token",
        "matrix-pw",
        "hook-tk-1",
        "cal-pw-1",
        "cal-key-1",
        "anchor-1",
        "anchor-2",
        "proxy-pw-1",
        "proxy/pw",
    ] {
        assert!(redactor.redact(hidden).starts_with("[REDACTED:"), "{hidden}");
    }
    for shown in ["git.example", "services", "basic.ics", "proxy.example", "/api/v3", "ada"] {
        assert_eq!(redactor.redact(shown), shown);
    }
}

#[test]
fn an_edit_keeps_comments_order_and_other_tables() {
    let (_dir, home) = home();
    let before = "# mine\n[secrets]\n# the first\nONE = \"value-one\" # really\nTWO = \"value-two\"\n\n[[mcp.server]]\nname = \"a\" # keep\n";
    put(&home, before);
    set(&home, "THREE", &Secret::new("value\nthree \"quoted\"".to_owned())).unwrap();
    set(&home, "TWO", &Secret::new("value-2".to_owned())).unwrap();
    let text = fs::read_to_string(home.secrets()).unwrap();
    for part in [
        "# mine\n",
        "# the first\nONE = \"value-one\" # really\n",
        "TWO = \"value-2\"",
        "name = \"a\" # keep",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let loaded = load(&home, &[]).unwrap().secrets;
    assert_eq!(loaded.get("THREE").unwrap().reveal(), "value\nthree \"quoted\"");
    assert!(
        remove(&home, "THREE").unwrap() && remove(&home, "TWO").unwrap() && !remove(&home, "TWO").unwrap()
    );
    assert!(fs::read_to_string(home.secrets()).unwrap().contains("ONE = \"value-one\" # really"));
    assert_eq!(home.secrets().metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_first_secret_makes_the_file_and_a_bad_one_does_not() {
    let (_dir, home) = home();
    assert!(matches!(set(&home, "bad", &Secret::new("long enough".to_owned())), Err(EditError::Bad(_))));
    assert!(matches!(set(&home, "GOOD", &Secret::new("short".to_owned())), Err(EditError::Bad(_))));
    assert!(!home.secrets().exists());
    set(&home, "GOOD", &Secret::new("long enough".to_owned())).unwrap();
    assert_eq!(fs::read_to_string(home.secrets()).unwrap(), "[secrets]\nGOOD = \"long enough\"\n");
}
