//! The tools of a team in clients of other people: each lists all of them, and calls them, in every mode and by every way.

use serde_json::{Value, json};

use super::desk::{Desk, assert_shape};
use crate::clients::{Client, PROGRAMS, Way, inspect};
use crate::installed;
use crate::unhurried;

/// What a developer's agent is offered, the clock of every caller aside.
const TOOLS: [&str; 7] = [
    "covibe_coordination",
    "covibe_note",
    "covibe_session",
    "covibe_task",
    "covibe_team",
    "covibe_warning",
    "covibe_workstream",
];

/// What clients say they work on.
const THINGS: [&str; 24] = [
    "Paint every lathe yellow",
    "Weigh one piano twice",
    "Ring bells at noon",
    "Ship parts by rail",
    "Insure owners abroad",
    "Polish brass handles",
    "Translate invoices to Polish",
    "Count swans on Sunday",
    "Bake bread without salt",
    "Repair umbrella ribs",
    "Sort maps alphabetically",
    "Teach parrots whistling",
    "Dig wells near orchards",
    "Mend nets before dawn",
    "Photograph eclipses safely",
    "Catalogue fossil teeth",
    "Rehearse choir hymns",
    "Varnish violin scrolls",
    "Graft apple trees",
    "Splice telephone cables",
    "Forecast river floods",
    "Launder theatre curtains",
    "Engrave chess trophies",
    "Fumigate grain silos",
];

/// The names among listed tools that are a team's.
fn names(tools: &Value) -> Vec<&str> {
    let names = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    names.filter(|name| name.starts_with("covibe_")).collect()
}

#[test]
fn every_client_lists_all_tools_of_a_team_and_calls_them() {
    let Some(place) = installed::clients() else { return };
    let home = unhurried();
    let desk = Desk::at(&home, None);
    let ada = desk.invite("ada");
    let mut things = THINGS.into_iter();
    for (script, modes) in PROGRAMS {
        for (way, mode) in [Way::Stdio, Way::Http, Way::Bridge]
            .into_iter()
            .flat_map(|way| modes.iter().map(move |mode| (way, *mode)))
        {
            let client = Client { script, mode, way };
            // Each is about a thing of its own: the same work would be kept from starting.
            let Some(thing) = things.next() else { panic!("one more thing is needed for {client}") };
            let task = |operation: &str| {
                json!({"name": "covibe_task",
                    "arguments": {"operation": operation, "title": thing, "task_type": "test"}})
            };
            let calls = json!([
                task("start"),
                task("check"),
                task("start"),
                {"name": "covibe_session", "arguments": {"operation": "start", "agent_name": script}},
                {"name": "covibe_team", "arguments": {"operation": "feedback", "limit": 1}},
            ]);
            let file = home.beside("calls.json");
            std::fs::write(&file, calls.to_string()).unwrap();
            let mut command =
                client.command(&place, (&home, &desk.daemon), &["--calls", &file.display().to_string()]);
            let ran = command.env("COVENANT_TOKEN", &ada).output().unwrap();
            assert!(ran.status.success(), "{client}: {}", String::from_utf8_lossy(&ran.stderr));
            let said: Value = serde_json::from_slice(&ran.stdout).unwrap();
            client.spoke(&said);
            assert_eq!(names(&said["tools"]), TOOLS, "{client}");
            let mut told = Vec::new();
            for answer in said["answers"].as_array().unwrap() {
                let envelope = &answer["result"]["structuredContent"];
                assert_shape(envelope);
                told.push(envelope["status"].as_str().unwrap());
            }
            assert_eq!(told, ["blocked", "ok", "ok", "ok", "ok"], "{client}: {said}");
        }
    }
}

#[test]
fn the_inspector_lists_the_tools_of_a_team_in_every_era_and_finds_nothing_to_say_about_their_schemas() {
    let Some(suite) = installed::suite() else { return };
    let home = unhurried();
    let desk = Desk::at(&home, None);
    let ada = desk.invite("ada");
    for era in ["legacy", "auto", "modern"] {
        let inspect = |words: &[&str]| inspect(&suite, (&home, &desk.daemon), &ada, era, words);
        let listed = inspect(&["--method", "tools/list", "--strict"]);
        assert_eq!(names(&listed["tools"]), TOOLS, "{era}: {listed}");
        let call =
            ["--method", "tools/call", "--tool-name", "covibe_session", "--tool-arg", "operation=heartbeat"];
        let called = inspect(&call);
        assert_shape(&called["structuredContent"]);
        assert_eq!(called["structuredContent"]["status"], "ok", "{era}: {called}");
    }
}
