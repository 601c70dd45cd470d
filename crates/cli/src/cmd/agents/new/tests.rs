//! What a new agent is made of, and which names it may have.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use covenant_daemon::agents::manifest::{self, Reading};

use super::*;

fn home() -> (tempfile::TempDir, Home) {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::at(&directory.path().join("home")).unwrap();
    (directory, home)
}

fn made(home: &Home, name: &str, runtime: Runtime) -> Result<Vec<PathBuf>, Failure> {
    free(home, name)?;
    make(&home.agents().join(name), name, template::of(runtime))
}

#[test]
fn every_new_manifest_is_read_without_a_word_and_says_every_key() {
    for runtime in Runtime::ALL {
        let (_, text) = template::of(runtime).files[0];
        let text = template::filled(text, "helper");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let Reading { manifest, warnings } =
            manifest::read(Path::new("agent.toml"), text.as_bytes()).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!((manifest.id.as_str(), manifest.name.as_str()), ("helper@local", "helper"));
        assert_eq!(manifest.runtime, runtime);
        assert_eq!(manifest.optional, ["tool.call.clock".parse().unwrap()]);
        for (section, keys) in &manifest.document {
            assert!(text.contains(&format!("\n[{section}]\n")), "[{section}]");
            for key in keys.as_object().unwrap().keys() {
                let lines: Vec<&str> = text.lines().collect();
                let place = lines.iter().position(|line| line.starts_with(&format!("{key} = ")));
                assert!(place.is_some(), "{section}.{key} is not written");
                let above = lines[place.unwrap() - 1];
                assert!(above.starts_with("# ") || key == "version", "{section}.{key} is not explained");
            }
        }
    }
}

#[test]
fn a_new_agent_is_one_that_the_daemon_takes() {
    let (_directory, home) = home();
    for (name, runtime) in [("a", Runtime::Python3), ("b-2", Runtime::Node), ("c_3", Runtime::RustBin)] {
        let files = made(&home, name, runtime).unwrap();
        assert_eq!(files[0], home.agents().join(name).join("agent.toml"));
        for file in files {
            assert!(!fs::read_to_string(&file).unwrap().contains("AGENT_NAME"), "{}", file.display());
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o022, 0, "{}", file.display());
        }
    }
    let catalogue = Catalogue::scan(&home);
    assert!(catalogue.bad.is_empty(), "{:?}", catalogue.bad);
    let ids: Vec<&str> = catalogue.agents.iter().map(|agent| agent.id.as_str()).collect();
    assert_eq!(ids, ["a@local", "b-2@local", "c_3@local"]);
    // Only the program that has to be built is not there yet.
    assert!(
        matches!(&catalogue.warnings[..], [one] if one.contains("release/c_3, does not exist; build it"))
    );
}

#[test]
fn what_is_there_is_never_changed() {
    let (_directory, home) = home();
    made(&home, "a", Runtime::Python3).unwrap();
    let script = home.agents().join("a/main.py");
    fs::write(&script, "mine").unwrap();
    let failure = made(&home, "a", Runtime::Python3).unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage);
    assert!(failure.message().ends_with("a/agent.toml is an agent of that name already"), "{failure:?}");
    fs::remove_file(home.agents().join("a/agent.toml")).unwrap();
    let failure = made(&home, "a", Runtime::Node).unwrap_err();
    assert!(
        failure.message().ends_with("agents/a is there already, and nothing in it was changed"),
        "{failure:?}"
    );
    assert_eq!(fs::read_to_string(&script).unwrap(), "mine");
    assert_eq!(fs::read_dir(home.agents().join("a")).unwrap().count(), 1);
}

#[test]
fn a_name_that_makes_anothers_tool_is_taken() {
    let (_directory, home) = home();
    made(&home, "a", Runtime::Python3).unwrap();
    let file = home.agents().join("a/agent.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"a@local\"", "\"z@far\"").replace("name = \"a\"", "name = \"b c\""))
        .unwrap();
    assert!(made(&home, "b_c", Runtime::Python3).is_err());
    assert!(made(&home, "z", Runtime::Python3).is_ok());
}

#[test]
fn names_are_short_and_plain() {
    for good in ["a", "helper", "web-search_2", &"x".repeat(32)] {
        assert_eq!(name(good).as_deref(), Ok(good));
    }
    for bad in ["", "A", "2nd", "-x", "_x", "a b", "a/b", "..", "a.b", "ä", "a@local", &"x".repeat(33)] {
        assert!(name(bad).is_err(), "{bad}");
    }
    assert_eq!(runtime("node"), Ok(Runtime::Node));
    assert_eq!(
        runtime("ruby").unwrap_err(),
        "`ruby` is not a runtime: write `rust-bin`, `python3` or `node`"
    );
}

#[test]
fn what_comes_next_can_be_pasted_wherever_the_home_lies() {
    let steps = next(Path::new("/home/ada/it's here/a"), "a", template::of(Runtime::RustBin));
    assert_eq!(
        steps,
        [
            "(cd '/home/ada/it'\\''s here/a' && cargo build --release)",
            "covenant agents reload",
            "covenant intent --agent a \"what time is it?\"",
        ]
    );
    assert_eq!(next(Path::new("/x/a"), "a", template::of(Runtime::Node)).len(), 2);
}
