//! Intents that are for one agent, intents that are for any of several, and names that were mistyped.

use std::path::PathBuf;

use covenant_model::manifest::{Resources, Runtime, Settlement};
use serde_json::Map;

use super::*;

fn agent(name: &str, description: &str, actions: &[&str]) -> Manifest {
    Manifest {
        id: format!("{}@local", name.replace(' ', "-")),
        name: name.to_owned(),
        version: "1".to_owned(),
        description: description.to_owned(),
        runtime: Runtime::Python3,
        entry: "main.py".to_owned(),
        required: actions.iter().map(|action| action.parse().unwrap()).collect(),
        optional: Vec::new(),
        resources: Resources::default(),
        settlement: Settlement::default(),
        sandbox_required: false,
        document: Map::new(),
        file: PathBuf::from("agent.toml"),
        program: PathBuf::from("main.py"),
    }
}

fn team() -> Vec<Manifest> {
    vec![
        agent("research", "Searches the web and sums up what it finds", &["tool.web_search", "memory.write"]),
        agent("calendar keeper", "Looks after appointments and meetings", &["tool.call.calendar_read"]),
        agent("books", "", &["tool.call.acme__invoice-parse", "agent.ledger_post"]),
        agent("hi", "Greets people", &[]),
        agent("Übersetzer", "Übersetzt Texte ins Deutsche", &["memory.read"]),
    ]
}

fn to(text: &str) -> Result<String, String> {
    let team = team();
    let agents: Vec<&Manifest> = team.iter().collect();
    route(text, &agents).map(|agent| agent.name.clone()).map_err(|error| error.to_string())
}

#[test]
fn an_intent_goes_to_the_agent_whose_words_it_says() {
    for (text, name) in [
        ("Research: what is new in Rust?", "research"),
        ("RESEARCH", "research"),
        ("please search the web for it", "research"),
        ("which meetings do I have?", "calendar keeper"),
        ("look into my calendar", "calendar keeper"),
        ("parse this invoice, please", "books"),
        ("bring the ledger up to date", "books"),
        ("say hi to Ada", "hi"),
        ("ÜBERSETZER, los!", "Übersetzer"),
        ("ubersetzer, los!", "Übersetzer"),
        ("u\u{308}bersetzer", "Übersetzer"),
        ("texte", "Übersetzer"),
    ] {
        assert_eq!(to(text).as_deref(), Ok(name), "{text}");
    }
}

#[test]
fn what_fits_nobody_or_several_alike_is_asked_back_with_all_there_are() {
    for text in [
        "",
        "…",
        "this and that",
        "white elephants think",
        "what is the weather?",
        "call me",
        "write it down",
        "the and of which",
        "research the books",
        "tool",
    ] {
        let asked = to(text).unwrap_err();
        let begins = "it is not clear which agent this is for; name one with --agent: ";
        assert!(asked.starts_with(begins), "{text}: {asked}");
        for name in
            ["research (research@local)", "books (books@local)", "calendar keeper (calendar-keeper@local)"]
        {
            assert!(asked.contains(name), "{text}: {asked}");
        }
    }
    assert!(to("research the books").unwrap_err().contains("--agent: research (research@local), books ("));
}

#[test]
fn a_narrow_lead_over_a_long_list_is_none() {
    let many = |words: usize| (0..words).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
    let (one, two) = (agent("one", &many(10), &[]), agent("two", &many(9), &[]));
    let told = |text: &str| route(text, &[&one, &two]).map(|agent| agent.name.clone()).ok();
    assert_eq!(told(&many(10)), None, "ten words against nine");
    assert_eq!(told("w9"), Some("one".to_owned()));
    assert_eq!(told(&"w9 ".repeat(1000)), Some("one".to_owned()), "a word counts once");
}

#[test]
fn the_only_agent_gets_everything_and_nobody_nothing() {
    let only = agent("only", "", &[]);
    assert_eq!(route("", &[&only]).unwrap().name, "only");
    let none = "there are no agents; make one with: covenant agents new NAME";
    assert_eq!(route("x", &[]).unwrap_err().to_string(), none);
    assert_eq!(named("x", &[]).unwrap_err().to_string(), none);
}

#[test]
fn an_agent_is_named_by_its_id_or_its_name_and_a_slip_is_noticed() {
    let mut team = team();
    // Somebody calls an agent what another's id is.
    team.push(agent("hi@local", "", &[]));
    let agents: Vec<&Manifest> = team.iter().collect();
    assert_eq!(named("research@local", &agents).unwrap().name, "research");
    assert_eq!(named("calendar keeper", &agents).unwrap().id, "calendar-keeper@local");
    assert_eq!(named("hi@local", &agents).unwrap().name, "hi", "ids come first");
    for (wanted, meant) in [
        ("reserch", Some("research")),
        ("Research", Some("research")),
        ("books@locl", Some("books@local")),
        ("", None),
        ("nobody at all", None),
    ] {
        let told = named(wanted, &agents).unwrap_err().to_string();
        assert!(told.starts_with(&format!("there is no agent `{wanted}`")), "{told}");
        assert_eq!(told.contains("did you mean"), meant.is_some(), "{told}");
        assert!(meant.is_none_or(|meant| told.contains(&format!("did you mean `{meant}`?"))), "{told}");
        assert!(told.contains("there are: research (research@local), "), "{told}");
    }
    let odd = named("a\u{1b}[31m\n", &agents).unwrap_err().to_string();
    assert!(odd.starts_with("there is no agent `a\\u{1b}[31m\\n`; there are: "), "{odd}");
    let long = named(&"x".repeat(257), &agents).unwrap_err().to_string();
    assert!(long.starts_with("there is no agent `…`; there are: "), "{long}");
}

#[test]
fn of_very_many_the_first_are_listed() {
    let many: Vec<Manifest> = (0..30).map(|n| agent(&format!("a{n}"), "", &[])).collect();
    let agents: Vec<&Manifest> = many.iter().collect();
    let told = route("x", &agents).unwrap_err().to_string();
    assert!(told.contains("a9 (a9@local) and 20 more") && !told.contains("a10"), "{told}");
    let long = "word ".repeat(200_000);
    assert!(route(&long, &agents).is_err());
}

#[test]
fn the_list_of_empty_words_can_be_searched() {
    assert!(STOP.is_sorted());
}
