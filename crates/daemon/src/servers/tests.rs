//! Entries in every file and spelling, sound and not, and what is said of each.

mod plugins;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use covenant_mcp::fleet::Wanted;
use covenant_model::server::{Plan, Prefix, Program, Reach};

use super::read::Found;
use super::*;
use crate::config::{Config, Overrides};
use crate::home::Home;
use crate::secrets::{Secrets, SecretsError};

fn home() -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(&dir.path().join("home")).unwrap();
    home.prepare().unwrap();
    (dir, home)
}

fn put(home: &Home, file: &str, text: impl AsRef<[u8]>) {
    let path = home.root().join(file);
    let parent = path.parent().unwrap();
    fs::create_dir_all(parent).unwrap();
    for directory in parent.ancestors().take_while(|directory| directory.starts_with(home.root())) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    crate::atomic::write(&path, text.as_ref()).unwrap();
}

fn environment(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/users/ada".to_owned()),
        "DIR" => Some("/srv".to_owned()),
        "ADA_TOKEN" => Some("token-from-the-environment".to_owned()),
        _ => None,
    }
}

fn tried(home: &Home) -> Result<Found, SecretsError> {
    let config = Config::load(home, &Overrides::default())?.config;
    let secrets = Secrets::load(home, &config, &environment)?.secrets;
    read(home, &config, &secrets, &environment)
}

fn found(home: &Home) -> Found {
    tried(home).unwrap()
}

fn summary(found: &Found) -> Vec<(&str, &str, bool)> {
    found
        .wanted
        .iter()
        .map(|wanted| (wanted.name.as_str(), wanted.source.as_str(), wanted.plan.is_ok()))
        .collect()
}

fn plan(wanted: &Wanted) -> &Plan {
    wanted.plan.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

fn program(wanted: &Wanted) -> &Program {
    match &plan(wanted).reach {
        Reach::Program(program) => program,
        Reach::Web(_) => panic!("{} is no program", wanted.name),
    }
}

#[test]
fn no_files_are_no_servers() {
    let (_dir, home) = home();
    let found = found(&home);
    assert!(found.wanted.is_empty() && found.warnings.is_empty() && found.credentials.is_empty());
}

#[test]
fn both_spellings_in_both_files_are_read_in_the_order_they_stand() {
    let (_dir, home) = home();
    put(
        &home,
        "config.toml",
        "[[mcp.servers]]\nname = \"one\"\ncommand = \"a\"\n[[mcp.server]]\nname = \"two\"\nurl = \"http://h\"\n\
         type = \"sse\"\n[mcp.server.header]\nX-A = \"b\"\n[[mcp.servers]]\nname = \"three\"\ncommand = \"c\"\n",
    );
    put(
        &home,
        "secrets.toml",
        "mcp.server = [{ name = \"four\", command = \"$DIR/x\", args = [\"$HOME/notes\"], enabled = false }]\n\
         [secrets]\nA_KEY = \"value-of-a-key\"\n[[mcp.servers]]\nname = \"five\"\ncommand = \"x\"\n\
         env = { K = \"${secret:A_KEY}\" }\n",
    );
    let found = found(&home);
    assert_eq!(found.warnings, [""; 0]);
    assert_eq!(
        summary(&found),
        [
            ("one", "config.toml", true),
            ("two", "config.toml", true),
            ("three", "config.toml", true),
            ("four", "secrets.toml", true),
            ("five", "secrets.toml", true),
        ]
    );
    let Reach::Web(web) = &plan(&found.wanted[1]).reach else { panic!("no URL") };
    assert_eq!(web.headers["X-A"].reveal(), "b");
    assert_eq!(web.transport, covenant_model::server::WebTransport::Sse);
    assert_eq!(program(&found.wanted[3]).args, ["/users/ada/notes"]);
    assert!(!found.wanted[3].enabled && found.wanted[4].enabled);
    assert_eq!(program(&found.wanted[4]).env["K"].reveal(), "value-of-a-key");
}

#[test]
fn the_documented_entry_is_read_whole() {
    let (_dir, home) = home();
    put(
        &home,
        "config.toml",
        "[[mcp.servers]]\nname = \"filesystem\"\ncommand = \"npx\"\n\
         args = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"$HOME/notes\"]\n\
         env = { LOG_LEVEL = \"info\", TOKEN = \"${secret:FS_TOKEN}\" }\ntransport = \"stdio\"\n\
         prefix = \"filesystem\"\ninclude = [\"read_*\"]\nexclude = []\nenabled = true\nstart = \"eager\"\ncwd = \"\"\n\
         idle_stop_secs = 0\nisolation = \"shared\"\nstart_timeout_secs = 30\nlist_timeout_secs = 10\n\
         call_timeout_secs = 60\ncall_total_secs = 600\nmax_in_flight = 64\nera = \"auto\"\nallow_sampling = false\n\
         allow_elicitation = true\npin = \"quarantine\"\n\
         sandbox = { network = \"full\", read = [\"$HOME/notes\"], write = [], memory_mb = 512, required = false }\n",
    );
    put(&home, "secrets.toml", "[secrets]\nFS_TOKEN = \"value-of-the-token\"\n");
    let found = found(&home);
    assert_eq!(plan(&found.wanted[0]).prefix, Prefix::Named("filesystem".to_owned()));
    assert_eq!(program(&found.wanted[0]).sandbox.as_ref().unwrap().read, ["/users/ada/notes"]);
    assert!(found.warnings.iter().all(|warning| warning.contains("not used by this version")), "{found:?}");
    assert_eq!(found.warnings.len(), 3);
}

#[test]
fn a_wrong_entry_disables_one_server_and_says_where() {
    let (_dir, home) = home();
    put(
        &home,
        "config.toml",
        "[[mcp.servers]]\nname = \"good\"\ncommand = \"a\"\n\n[[mcp.servers]]\nname = \"undefined\"\ncommand = \"a\"\n\
         [mcp.servers.env]\nA = \"x\"\nB = \"hunter2 $NOWHERE\"\n[[mcp.servers]]\nname = \"typed\"\ncommand = 7\n\
         [[mcp.servers]]\ncommand = \"x\"\n[[mcp.servers]]\nname = \"both\"\ncommand = \"x\"\nurl = \"http://hunter2\"\n\
         [[mcp.servers]]\nname = \"a\\nb\"\ncommand = \"x\"\n[[mcp.servers]]\nname = \"off\"\nenabled = false\n",
    );
    put(&home, "secrets.toml", "mcp.servers = [1, { name = \"last\", command = \"x\" }]\n");
    let found = found(&home);
    let config = home.config().display().to_string();
    let secrets = home.secrets().display().to_string();
    let told: Vec<(&str, Option<&str>)> = found
        .wanted
        .iter()
        .map(|wanted| (wanted.name.as_str(), wanted.plan.as_ref().err().map(String::as_str)))
        .collect();
    let undefined = format!(
        "{config}, line 10: [[mcp.servers]] \"undefined\": `env.B` uses $NOWHERE, which is not set where the daemon runs: set it there, or write `$$` for a dollar sign"
    );
    let typed = format!("{config}, line 13: [[mcp.servers]] \"typed\": `command` must be a text in quotes");
    let unnamed = format!(
        "{config}, line 14: [[mcp.servers]] \"config.toml line 14\": `name` is missing: say what the server is called"
    );
    let both = format!(
        "{config}, line 19: [[mcp.servers]] \"both\": `url` stands beside `command`, and a server has only one of them: remove one"
    );
    let broken = format!(
        "{config}, line 21: [[mcp.servers]] \"a\\nb\": `name` is `a\\nb`, which holds characters that cannot be printed"
    );
    let off = format!(
        "{config}, line 23: [[mcp.servers]] \"off\": `command` is missing: say which program to start, or give the `url` of a server that runs"
    );
    let number = format!(
        "{secrets}, line 1: [[mcp.servers]] \"secrets.toml line 1\" must be a table with the keys of a server"
    );
    assert_eq!(
        told,
        [
            ("good", None),
            ("undefined", Some(undefined.as_str())),
            ("typed", Some(typed.as_str())),
            ("config.toml line 14", Some(unnamed.as_str())),
            ("both", Some(both.as_str())),
            ("a\\nb", Some(broken.as_str())),
            ("off", Some(off.as_str())),
            ("secrets.toml line 1", Some(number.as_str())),
            ("last", None),
        ]
    );
    assert_eq!(found.warnings.len(), 6, "loudly, but not of what is off: {:?}", found.warnings);
    assert!(!format!("{:?}", found.warnings).contains("hunter2"));
}

#[test]
fn of_two_servers_with_one_name_the_first_counts_and_the_other_is_reported() {
    let (_dir, home) = home();
    let entry = |command: &str| format!("[[mcp.servers]]\nname = \"x\"\ncommand = \"{command}\"\n");
    put(&home, "config.toml", entry("one") + &entry("two"));
    put(&home, "secrets.toml", entry("three"));
    let found = found(&home);
    assert_eq!(program(&found.wanted[0]).command, "one");
    assert_eq!(found.wanted.len(), 1);
    let [same, other] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
    assert!(same.ends_with("config.toml, line 5: [[mcp.servers]] \"x\" stays out: config.toml has a server of that name already; rename one of them"), "{same}");
    assert!(other.contains("secrets.toml, line 2"), "{other}");
}

#[test]
fn unknown_keys_are_warned_about_with_their_line() {
    let (_dir, home) = home();
    put(
        &home,
        "config.toml",
        "[mcp]\nservres = 1\n[[mcp.servers]]\nname = \"x\"\ncommand = \"a\"\ncomand = \"b\"\n[mcp.servers.wrong.deep]\n",
    );
    let found = found(&home);
    assert!(found.wanted[0].plan.is_ok());
    let [section, key, table] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
    assert!(
        section.ends_with("config.toml, line 2: `mcp.servres` is not a known key; [mcp] has servers"),
        "{section}"
    );
    assert!(
        key.ends_with("line 6: [[mcp.servers]] \"x\": unknown key `comand`; did you mean `command`?"),
        "{key}"
    );
    assert!(table.contains("unknown key `wrong`"), "{table}");
}

#[test]
fn malformed_files_stop_with_their_place() {
    let (_dir, home) = home();
    for (text, part) in [
        (&b"[[mcp.servers]]\nname = \n"[..], "line 2, column 8"),
        (b"mcp = 1\n", "line 1, column 7: `mcp` must be a table"),
        (b"[mcp]\nservers = \"x\"\n", "line 2, column 11: `mcp.servers` must be a list of tables"),
        (b"[mcp.servers]\nname = \"x\"\n", "write each as [[mcp.servers]], in double brackets"),
        (b"[mcp]\nserver = {}\n", "write each as [[mcp.server]]"),
        (b"[[mcp.servers]]\nname = \"\xff\"\n", "line 2, column 9: this byte is not UTF-8"),
    ] {
        for file in ["config.toml", "secrets.toml"] {
            put(&home, file, text);
            let refused = tried(&home).unwrap_err().to_string();
            assert!(refused.contains(part) && refused.contains(file), "{refused}");
            fs::remove_file(home.root().join(file)).unwrap();
        }
    }
    put(&home, "config.toml", "");
    fs::set_permissions(home.config(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(tried(&home).unwrap_err().to_string().contains("chmod go-w"));
}

#[test]
fn many_entries_and_many_keys_are_bounded() {
    let (_dir, home) = home();
    let entry = |n: u32| format!("[[mcp.servers]]\nname = \"s{n}\"\ncommand = \"x\"\n");
    let mut text = (0..10_000).map(entry).collect::<Vec<String>>().concat();
    text += "[[mcp.servers]]\nname = \"last\"\nenv = { API_KEY = \"hidden-all-the-same\" }\n";
    put(&home, "config.toml", text);
    let found_many = found(&home);
    assert_eq!((found_many.wanted.len(), found_many.warnings.len()), (1000, 1));
    assert!(found_many.warnings[0].contains("9001 of them"), "{:?}", found_many.warnings);
    assert_eq!(found_many.credentials.len(), 1);
    let key = |n: u32| format!("unknown_key_{n} = {n}\n");
    let keys = (0..10_000).map(key).collect::<Vec<String>>().concat();
    put(&home, "config.toml", format!("[[mcp.servers]]\nname = \"x\"\ncommand = \"x\"\n{keys}"));
    let found = found(&home);
    assert_eq!(found.warnings.len(), 17);
    assert!(found.warnings[16].ends_with("9984 more keys without effect"), "{}", found.warnings[16]);
    assert!(found.wanted[0].plan.is_ok());
}

#[test]
fn what_an_entry_hides_is_hidden_everywhere() {
    let (_dir, home) = home();
    put(
        &home,
        "config.toml",
        "[[mcp.servers]]\nname = \"x\"\ncommand = 7\nenv = { A_TOKEN = \"$ADA_TOKEN\", B_KEY = \"literal-key\" }\n\
         [[mcp.servers]]\nname = \"y\"\nurl = \"https://ada:url-password@h/?api_key=query-key&page=secondpage\"\n",
    );
    let config = Config::load(&home, &Overrides::default()).unwrap().config;
    let redactor = Secrets::load(&home, &config, &environment).unwrap().secrets.redactor();
    assert_eq!(
        redactor.redact("token-from-the-environment literal-key url-password query-key secondpage"),
        "[REDACTED:A_TOKEN] [REDACTED:B_KEY] [REDACTED:URL_PASSWORD] [REDACTED:API_KEY] secondpage"
    );
}

#[test]
fn a_url_that_is_none_is_found_when_the_entry_is_read() {
    let (_dir, home) = home();
    for url in ["http://h:99999/mcp", "http://[::1/mcp", "https://a b", "http://h:x/"] {
        put(&home, "config.toml", format!("[[mcp.servers]]\nname = \"x\"\nurl = \"{url}\"\n"));
        let found = found(&home);
        let reason = found.wanted[0].plan.as_ref().unwrap_err();
        assert!(reason.contains("`url` "), "{reason}");
    }
}
