//! Plugins that bring servers, plugins that bring none, and plugins that others could change.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

#[test]
fn plugins_of_both_kinds_bring_their_servers() {
    let (_dir, home) = home();
    put(
        &home,
        "plugins/b/plugin.toml",
        "name = \"b\"\n[skills]\nx = 1\n[[mcp_servers]]\nname = \"notes\"\ncommand = \"./bin/serve\"\n\
         args = [\"--root\", \"{workspace}/notes\", \"{plugin}\", \"$DIR\"]\ncwd = \"work\"\n\
         env = { W = \"{workspace}\" }\nsandbox = { read = [\"{workspace}\"] }\n",
    );
    put(
        &home,
        "plugins/a/plugin.json",
        r#"{"name": "a", "mcpServers": {
            "db": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "args": ["$CLAUDE_PLUGIN_ROOT"], "type": "stdio", "url": null},
            "web": {"type": "http", "url": "https://h/mcp", "headers": {"X-A": "b"}, "disabled": true}
        }}"#,
    );
    put(&home, "plugins/c/README", "nothing");
    put(&home, "plugins/.hidden/plugin.toml", "not = [read");
    put(&home, "plugins/file", "no directory");
    let found = found(&home);
    assert_eq!(found.warnings, [""; 0]);
    assert_eq!(
        summary(&found),
        [
            ("db", "plugins/a/plugin.json", true),
            ("web", "plugins/a/plugin.json", true),
            ("notes", "plugins/b/plugin.toml", true),
        ]
    );
    let root = home.root().display().to_string();
    let db = program(&found.wanted[0]);
    assert_eq!(
        (db.command.clone(), db.args.clone()),
        (format!("{root}/plugins/a/serve"), vec![format!("{root}/plugins/a")])
    );
    assert_eq!(db.env["CLAUDE_PLUGIN_ROOT"].reveal(), format!("{root}/plugins/a"));
    assert!(!found.wanted[1].enabled);
    let notes = program(&found.wanted[2]);
    assert_eq!(notes.command, format!("{root}/plugins/b/./bin/serve"));
    assert_eq!(
        notes.args,
        [
            "--root".to_owned(),
            format!("{root}/workspace/notes"),
            format!("{root}/plugins/b"),
            "/srv".to_owned()
        ]
    );
    assert_eq!(notes.cwd, Some(format!("{root}/plugins/b/work")));
    assert_eq!(notes.env["W"].reveal(), format!("{root}/workspace"));
    assert_eq!(notes.sandbox.as_ref().unwrap().read, [format!("{root}/workspace")]);
}

#[test]
fn a_plugin_may_spell_servers_as_the_configuration_does_and_other_spellings_are_told() {
    let (_dir, home) = home();
    put(
        &home,
        "plugins/a/plugin.toml",
        "[[mcp.servers]]\nname = \"one\"\ncommand = \"x\"\n[[mcp_servers]]\nname = \"two\"\ncommand = \"x\"\n\
         [[mcp.server]]\nname = \"three\"\ncommand = \"x\"\n",
    );
    put(&home, "plugins/b/plugin.toml", "[plugin]\nname = \"b\"\n[mcpServers.x]\ncommand = \"x\"\n");
    put(&home, "config.toml", "[mcpServers.x]\ncommand = \"x\"\n");
    let found = found(&home);
    let names: Vec<&str> = found.wanted.iter().map(|wanted| wanted.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "three"]);
    let [warning] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
    let told =
        "plugins/b/plugin.toml, line 3: [mcpServers] is not read; write each server as [[mcp_servers]]";
    assert!(warning.ends_with(told), "{warning}");
    let warnings = Config::load(&home, &Overrides::default()).unwrap().warnings;
    assert!(
        warnings[0]
            .ends_with("line 1: [mcpServers] is not a known section; write each server as [[mcp.servers]]")
    );
}

#[test]
fn the_workspace_and_the_directories_are_what_the_configuration_says() {
    let (dir, home) = home();
    let elsewhere = dir.path().join("else where");
    put(
        &home,
        "config.toml",
        format!(
            "[workspace]\npath = \"~/$x\"\n[plugins]\ndirs = [\"{}\", \"none\", \"mine\"]\n",
            elsewhere.display()
        ),
    );
    let entry = "[[mcp_servers]]\nname = \"x\"\ncommand = \"run\"\nargs = [\"{workspace}\"]\n";
    put(&home, "mine/p/plugin.toml", entry);
    put(&home, "plugins/p/plugin.toml", entry.replace("\"x\"", "\"not there\""));
    fs::create_dir_all(elsewhere.join("q")).unwrap();
    fs::write(elsewhere.join("q/plugin.toml"), entry.replace("\"x\"", "\"y\"")).unwrap();
    let found = found(&home);
    let elsewhere = elsewhere.join("q/plugin.toml").display().to_string();
    assert_eq!(summary(&found), [("y", elsewhere.as_str(), true), ("x", "mine/p/plugin.toml", true)]);
    assert_eq!(program(&found.wanted[0]).args, ["/users/ada/$x"]);
    let [missing] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
    assert!(missing.ends_with("/none is named in `plugins.dirs` and is not there"), "{missing}");
}

#[test]
fn a_malformed_plugin_brings_nothing_and_stops_nothing() {
    let (_dir, home) = home();
    let good = "[[mcp_servers]]\nname = \"good\"\ncommand = \"x\"\n";
    put(&home, "plugins/z/plugin.toml", good);
    for (file, text, part) in [
        ("plugin.toml", &b"[[mcp_servers]\n"[..], "plugin.toml, line 1, column"),
        ("plugin.toml", b"mcp_servers = 1\n", "line 1, column 15: `mcp_servers` must be a list of tables"),
        ("plugin.toml", b"a = \"\xff\"\n", "this byte is not UTF-8"),
        ("plugin.json", b"", "plugin.json, line 1, column 0: it is no sound JSON"),
        ("plugin.json", b"{\n\"mcpServers\": {\"a\": \"hunter2\", }", "plugin.json, line 2, column"),
        ("plugin.json", b"[]", "it must be an object"),
        ("plugin.json", b"{\"mcpServers\": [\"hunter2\"]}", "`mcpServers` must be an object"),
        ("plugin.json", &b"[".repeat(100_000), "no sound JSON"),
        ("plugin.json", &b" ".repeat(1024 * 1024 + 1), "larger than"),
    ] {
        put(&home, &format!("plugins/a/{file}"), text);
        let found = found(&home);
        assert_eq!(summary(&found), [("good", "plugins/z/plugin.toml", true)]);
        let [warning] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
        assert!(warning.contains(part) && warning.ends_with("; the plugin is not used"), "{warning}");
        assert!(!warning.contains("hunter2"), "{warning}");
        fs::remove_file(home.root().join("plugins/a").join(file)).unwrap();
    }
}

#[test]
fn a_wrong_entry_of_a_plugin_disables_that_entry_alone() {
    let (_dir, home) = home();
    put(
        &home,
        "plugins/a/plugin.json",
        r#"{"mcpServers": {"": {"command": "x"}, "good": {"command": "x"}, "text": "hunter2", "typed": {"args": 1}}}"#,
    );
    put(&home, "plugins/b/plugin.toml", "[[mcp_servers]]\nname = \"good\"\ncommand = \"y\"\n");
    let found = found(&home);
    let source = "plugins/a/plugin.json";
    assert_eq!(
        summary(&found),
        [
            ("plugins/a/plugin.json without a name", source, false),
            ("good", source, true),
            ("text", source, false),
            ("typed", source, false),
        ]
    );
    assert!(
        found.wanted[3]
            .plan
            .as_ref()
            .unwrap_err()
            .ends_with("plugin.json: mcpServers \"typed\": `args` must be a list of texts in quotes")
    );
    assert_eq!(found.warnings.len(), 4, "{:?}", found.warnings);
    assert!(found.warnings[3].contains("plugins/a/plugin.json has a server of that name already"));
}

#[test]
fn what_others_may_change_is_not_used() {
    let (_dir, home) = home();
    let entry = |name: &str| format!("[[mcp_servers]]\nname = \"{name}\"\ncommand = \"x\"\n");
    for plugin in ["a", "b", "c"] {
        put(&home, &format!("plugins/{plugin}/plugin.toml"), entry(plugin));
    }
    let open = |path: &str, mode| {
        fs::set_permissions(home.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    open("plugins/a", 0o777);
    open("plugins/b/plugin.toml", 0o620);
    symlink(home.root().join("plugins/c"), home.root().join("plugins/d")).unwrap();
    let found_some = found(&home);
    assert_eq!(summary(&found_some), [("c", "plugins/c/plugin.toml", true)]);
    let [a, b, d] = found_some.warnings.as_slice() else { panic!("{:?}", found_some.warnings) };
    assert!(a.contains("plugins/a can be written by other users (mode 777)"), "{a}");
    assert!(b.contains("plugin.toml can be written by other users (mode 620)"), "{b}");
    assert!(d.contains("plugins/d/plugin.toml, line 2") && d.contains("stays out"), "{d}");
    open("plugins", 0o770);
    let found_none = found(&home);
    assert!(found_none.wanted.is_empty());
    assert!(found_none.warnings[0].ends_with("its plugins are not used"), "{:?}", found_none.warnings);
}

#[test]
fn a_plugin_of_which_others_may_change_any_file_is_not_used() {
    let (dir, home) = home();
    let one = |name: &str, rest: &str| format!("[[mcp_servers]]\nname = \"{name}\"\n{rest}\n");
    let entries = [
        one("named", "command = \"./bin/run\""),
        one("relative", "command = \"python3\"\nargs = [\"server.py\"]\ncwd = \"lib\""),
        one("later", "command = \"./bin/later\""),
    ];
    put(&home, "plugins/a/plugin.toml", entries.concat());
    let files = ["bin/run", "lib/server.py", "lib/deep/er/part.py"];
    for file in files {
        put(&home, &format!("plugins/a/{file}"), "x");
    }
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let plugin = home.plugins().join("a");
    let usable = |found: &Found| -> Vec<String> {
        found.wanted.iter().filter(|wanted| wanted.plan.is_ok()).map(|wanted| wanted.name.clone()).collect()
    };
    let all = ["named", "relative", "later"];
    assert_eq!(usable(&found(&home)), all);
    // Whether it is named or read by what is named.
    for (path, mode) in files.iter().map(|file| (*file, 0o664)).chain([("lib/deep", 0o775)]) {
        let before = plugin.join(path).metadata().unwrap().permissions().mode();
        open(&plugin.join(path), mode);
        let refused = found(&home);
        assert!(refused.wanted.is_empty(), "{path}");
        let [warning] = refused.warnings.as_slice() else { panic!("{:?}", refused.warnings) };
        let told = format!("plugins/a/{path} can be written by other users (mode {mode:o})");
        assert!(warning.contains(&told) && warning.ends_with("the plugin is not used"), "{warning}");
        open(&plugin.join(path), before);
    }
    // What a link in it leads to is judged where it lies.
    let shared = dir.path().join("shared.py");
    fs::write(&shared, "x").unwrap();
    symlink(&shared, plugin.join("lib/link.py")).unwrap();
    open(&shared, 0o666);
    assert!(found(&home).warnings[0].contains("shared.py can be written by other users"));
    fs::remove_file(plugin.join("lib/link.py")).unwrap();
    // The same plugin, in a directory that others may change.
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(&plugin, elsewhere.join("a")).unwrap();
    symlink(elsewhere.join("a"), &plugin).unwrap();
    assert_eq!(usable(&found(&home)), all, "a link is followed");
    open(&elsewhere, 0o777);
    let found_none = found(&home);
    assert_eq!(usable(&found_none), [""; 0]);
    assert!(found_none.warnings[0].contains("elsewhere can be written by other users"), "{found_none:?}");
}

#[test]
fn a_file_beside_a_plugin_that_an_argument_leads_to_is_judged_too() {
    let (_dir, home) = home();
    let entry =
        "[[mcp_servers]]\nname = \"x\"\ncommand = \"python3\"\nargs = [\"../../beside.py\"]\ncwd = \"lib\"\n";
    put(&home, "plugins/a/plugin.toml", entry);
    put(&home, "plugins/a/lib/own.py", "x");
    put(&home, "plugins/beside.py", "x");
    assert!(found(&home).wanted[0].plan.is_ok());
    let beside = home.plugins().join("beside.py");
    fs::set_permissions(beside, fs::Permissions::from_mode(0o666)).unwrap();
    let refused = found(&home);
    let reason = refused.wanted[0].plan.as_ref().unwrap_err();
    assert!(reason.contains("beside.py can be written by other users"), "{reason}");
}

#[test]
fn plugins_that_are_too_many_are_not_read() {
    let (_dir, home) = home();
    put(&home, "plugins/p/plugin.toml", "[[mcp_servers]]\nname = \"x\"\ncommand = \"x\"\n");
    for n in 0..1000 {
        fs::create_dir(home.plugins().join(format!("q{n}"))).unwrap();
    }
    let found = found(&home);
    assert!(found.wanted.is_empty() && found.warnings[0].contains("more than 1000 directories"));
}

#[test]
fn credentials_of_plugins_are_hidden_even_where_the_entry_is_wrong() {
    let (_dir, home) = home();
    put(
        &home,
        "plugins/a/plugin.json",
        r#"{"mcpServers": {"x": {"command": 7, "env": {"API_KEY": "key-of-the-plugin"}},
            "y": {"url": "https://h/?token=token-of-the-plugin"}}}"#,
    );
    let config = Config::load(&home, &Overrides::default()).unwrap().config;
    let redactor = Secrets::load(&home, &config, &environment).unwrap().secrets.redactor();
    assert_eq!(
        redactor.redact("key-of-the-plugin token-of-the-plugin"),
        "[REDACTED:API_KEY] [REDACTED:TOKEN]"
    );
}

#[test]
fn placeholders_that_would_fill_the_memory_are_left() {
    let (_dir, home) = home();
    let many = "{workspace}".repeat(60_000);
    put(
        &home,
        "plugins/a/plugin.toml",
        format!("[[mcp_servers]]\nname = \"x\"\ncommand = \"x\"\nargs = [\"{many}\"]\n"),
    );
    let found = found(&home);
    assert!(found.wanted[0].plan.as_ref().unwrap_err().contains("longer than 128 KiB"));
}
