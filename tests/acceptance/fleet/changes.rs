//! Servers come and go while the daemon runs: by its files, by plugins, by commands, and nothing else is disturbed.

use std::os::unix::fs::PermissionsExt as _;

use covenant_testkit::wait::until;
use covenant_testkit::{Home, Upstream};
use serde_json::{Value, json};

use super::stage::{Stage, configure, text};
use crate::home;

fn config(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("config.toml")).unwrap()
}

#[track_caller]
fn until_gone(stage: &Stage<'_>, name: &str) {
    until(&format!("`{name}` is gone"), || stage.server(name).is_null().then_some(()));
}

fn process(stage: &Stage<'_>, name: &str) -> Value {
    let answer = stage.client().call(&format!("{name}__self"), json!({}));
    answer["result"]["structuredContent"]["pid"].clone()
}

/// A plugin that cannot be read, and keys without effect, are seen where people look for the servers they bring.
#[test]
fn what_is_wrong_with_files_is_told_with_the_servers() {
    let home = home();
    let good = Upstream::stdio(&home, "good", &[]).key("colour", json!("green"));
    let stage = Stage::with(&home, &[&good]);
    stage.ready("good");
    let warnings = || stage.servers()["warnings"].as_array().cloned().unwrap_or_default();
    let told = |text: &str| warnings().iter().any(|warning| warning.as_str().unwrap().contains(text));
    assert!(told("colour"), "{:?}", warnings());
    home.write("plugins/bad/plugin.toml", "[[mcp_servers]]\nname = \n");
    until("the plugin is told", || told("plugins/bad/plugin.toml, line 2").then_some(()));
    until("the log has it", || stage.daemon.printed().contains("plugin is not used").then_some(()));
    let listed = home.run(&["mcp", "list"]).ok();
    assert!(listed.stderr.contains("plugins/bad/plugin.toml, line 2"), "{}", listed.stderr);
    std::fs::remove_dir_all(home.path().join("plugins/bad")).unwrap();
    until("it is told no more", || (!told("plugins/bad")).then_some(()));
    // Of many the first are told, and where the others are.
    let many: String = (0..9).map(|number| format!("odd{number} = 1\n")).collect();
    home.write("config.toml", &format!("[rate_limit]\nrate = 0\n\n{}{many}", good.entry("mcp.servers")));
    let reloaded = home.run(&["reload"]).ok();
    assert!(
        reloaded.stderr.contains("more like these; see them with: covenant doctor"),
        "{}",
        reloaded.stderr
    );
    // An entry without a name is called by its line, and removed there.
    home.write("config.toml", "[rate_limit]\nrate = 0\n\n[[mcp.servers]]\ncommand = \"x\"\n");
    stage.until_state("config.toml line 4", "failed");
    let refused = home.run(&["mcp", "remove", "config.toml line 4"]).exits(2);
    assert!(
        refused.stderr.contains("without a name") && refused.stderr.contains("line 4)"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_files_are_watched_and_only_what_changed_is_touched() {
    let home = home();
    let stays = Upstream::stdio(&home, "stays", &[]);
    let stage = Stage::with(&home, &[&stays]);
    stage.ready("stays");
    let before = process(&stage, "stays");
    let comes = Upstream::stdio(&home, "comes", &[]);
    configure(&home, &[&stays, &comes]);
    stage.ready("comes");
    let renamed = Upstream::stdio(&home, "comes", &[]).key("prefix", json!("came"));
    configure(&home, &[&stays, &renamed]);
    until("its tools have other names", || {
        let now = stage.server("comes");
        (now["state"] == "ready" && now["prefix"] == "came").then_some(())
    });
    let mut client = stage.client();
    assert_eq!(text(&client.call("came__echo", json!({"text": "x"}))), "x");

    // A file that makes no sense changes nothing, and is said.
    home.write("config.toml", "[rate_limit]\nrate = 0\n[[mcp.servers]\nname = ");
    until("it is said", || stage.daemon.printed().contains("nothing was taken from it").then_some(()));
    assert_eq!(stage.server("comes")["state"], "ready");
    let listed = home.run(&["mcp", "list"]).ok();
    assert!(listed.stdout.contains("came__echo"), "{listed:?}");
    let warned = listed.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(warned.contains("config.toml, line 3") && warned.contains("stay as they were"), "{warned}");
    configure(&home, &[&stays]);
    until_gone(&stage, "comes");
    assert_eq!(home.run(&["mcp", "list"]).ok().stderr, "", "what is mended is not told");
    assert_eq!(client.call("came__echo", json!({"text": "x"}))["error"]["code"], -32602);

    home.write("secrets.toml", &comes.entry("mcp.server"));
    stage.ready("comes");
    home.write("secrets.toml", "");
    until_gone(&stage, "comes");
    assert_eq!(process(&stage, "stays"), before, "nobody touched it");
}

#[test]
fn a_warning_about_the_files_is_said_when_it_comes_and_once() {
    let home = home();
    let stays = Upstream::stdio(&home, "stays", &[]);
    let stage = Stage::with(&home, &[&stays]);
    stage.ready("stays");
    for plugin in ["first", "second"] {
        home.write(&format!("plugins/{plugin}/plugin.toml"), "[[mcp_servers]\n");
        let said = format!("plugins/{plugin}/plugin.toml");
        until("it is said", || stage.daemon.printed().contains(&said).then_some(()));
    }
    let printed = stage.daemon.printed();
    assert_eq!(printed.matches("plugins/first/plugin.toml").count(), 1, "{printed}");
}

#[test]
fn a_plugin_brings_its_servers_and_takes_them_along() {
    let home = home();
    let stays = Upstream::stdio(&home, "stays", &[]);
    let stage = Stage::with(&home, &[&stays]);
    stage.ready("stays");
    let before = process(&stage, "stays");
    let mine = Upstream::stdio(&home, "mine", &[]);
    home.write("plugins/first/plugin.toml", &format!("name = \"first\"\n\n{}", mine.entry("mcp_servers")));
    let now = stage.ready("mine");
    assert!(now["source"].as_str().unwrap().contains("first"), "{now}");
    let program = home.program().with_file_name("server");
    let document =
        json!({"name": "second", "mcpServers": {"theirs": {"command": program, "args": ["stdio"]}}});
    home.write("plugins/second/plugin.json", &document.to_string());
    stage.ready("theirs");
    // One that is broken disturbs no other, and one that anybody may write starts nothing.
    let open = Upstream::stdio(&home, "open", &[]);
    home.write("plugins/open/plugin.toml", &open.entry("mcp_servers"));
    std::fs::set_permissions(
        home.path().join("plugins/open/plugin.toml"),
        std::fs::Permissions::from_mode(0o666),
    )
    .unwrap();
    home.write("plugins/third/plugin.json", "{\"mcpServers\": ");
    std::fs::remove_dir_all(home.path().join("plugins/first")).unwrap();
    until_gone(&stage, "mine");
    assert_eq!(stage.ready("theirs")["state"], "ready");
    assert!(!stage.server("open")["connected"].as_bool().unwrap_or_default());
    std::fs::remove_file(home.path().join("plugins/second/plugin.json")).unwrap();
    until_gone(&stage, "theirs");
    assert_eq!(process(&stage, "stays"), before, "nobody touched it");
}

#[test]
fn commands_edit_the_configuration_and_leave_the_rest_as_it_was() {
    let home = home();
    let kept = Upstream::stdio(&home, "kept", &[]);
    let entry = kept.entry("mcp.servers");
    let before = format!(
        "# mine, by hand\n[rate_limit]\nrate = 0      # no hurry\n\n# the one I need\n{entry}# and a last word\n"
    );
    home.write("config.toml", &before);
    let stage = Stage::up(&home);
    stage.ready("kept");
    let pid = process(&stage, "kept");
    let program = home.program().with_file_name("server").display().to_string();
    home.run(&["mcp", "add", "typed", &program, "stdio", "legacy"]).ok();
    stage.ready("typed");
    let during = config(&home);
    for line in before.lines() {
        assert!(during.contains(line), "`{line}` was lost:\n{during}");
    }
    assert!(during.find("# mine, by hand") < during.find("# the one I need"), "{during}");
    let again = home.run(&["mcp", "add", "typed", &program, "stdio"]);
    assert_ne!(again.code(), 0, "a name is taken once");
    home.run(&["mcp", "remove", "typed"]).ok();
    until_gone(&stage, "typed");
    assert_eq!(config(&home).trim_end(), before.trim_end());
    assert_eq!(process(&stage, "kept"), pid, "nobody touched it");
    assert_ne!(home.run(&["mcp", "remove", "typed"]).code(), 0);
}

#[test]
fn what_was_added_until_the_restart_is_gone_after_it() {
    let home = home();
    let stage = Stage::with(&home, &[]);
    let program = home.program().with_file_name("server");
    let body = |name: &str, persist: bool| json!({"name": name, "command": program, "args": ["stdio", "offers=echo"], "persist": persist});
    for (name, persist) in [("passing", false), ("lasting", true)] {
        let (status, added) = stage.ask("POST", "mcp/servers", &body(name, persist));
        assert_eq!(
            (status, &added["connected"], &added["tools"]),
            (201, &json!(true), &json!([format!("{name}__echo")])),
            "{added}"
        );
    }
    // A reload is no reason to lose it.
    home.run(&["reload"]).ok();
    stage.ready("passing");
    stage.daemon.stop();
    let stage = Stage::up(&home);
    stage.ready("lasting");
    assert!(stage.server("passing").is_null());
}

/// A try says how far it came, for each way to fail; and it leaves the server that runs alone.
#[test]
fn a_try_says_which_phase_failed() {
    let home = home();
    let good = Upstream::stdio(&home, "good", &[]);
    let rows = [
        (Upstream::stdio(&home, "entry", &[]).key("cwd", json!("relative")), "entry", ""),
        (Upstream::stdio(&home, "unset", &["name=$NO_SUCH_VARIABLE"]), "entry", "NO_SUCH_VARIABLE"),
        (Upstream::command(&home, "start", "no-such-program", &[]), "start", "no-such-program"),
        (Upstream::stdio(&home, "dies", &["die@start"]), "handshake", "told to die at start"),
        (Upstream::stdio(&home, "mute", &["never@*"]).key("start_timeout_secs", 1), "handshake", "within"),
        (Upstream::url(&home, "nobody", "http://127.0.0.1:1/mcp"), "start", "reached"),
        (Upstream::http(&home, "closed", &["needs=another"]), "handshake", "401"),
        (Upstream::stdio(&home, "list", &["error@tools/list"]), "list", "told to fail"),
    ];
    let servers: Vec<&Upstream> =
        std::iter::once(&good).chain(rows.iter().map(|(server, ..)| server)).collect();
    let stage = Stage::with(&home, &servers);
    stage.ready("good");
    for (server, phase, why) in &rows {
        let ran = home.run(&["mcp", "test", &server.name, "--json"]).exits(1);
        let last = ran.json()["phases"]
            .as_array()
            .unwrap()
            .iter()
            .find(|phase| phase["ok"] == false)
            .cloned()
            .unwrap();
        assert_eq!(last["phase"], *phase, "{}: {last}", server.name);
        assert!(
            last.to_string().contains(why) || ran.stdout.contains(why),
            "{}: {}",
            server.name,
            ran.stdout
        );
    }
    home.run(&["mcp", "test", "good"]).ok();
    assert_eq!(good.count("started"), 2, "beside the one that runs");
    assert_eq!(stage.server("good")["restarts"], 0);
}
