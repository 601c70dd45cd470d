//! Intents as a person sends them, and as an MCP client does: to whom they go, what is printed, what is heard meanwhile.

use serde_json::{Value, json};

use super::stage::{Language, Stage, install, manifest};
use crate::{home, unhurried};

/// The answer alone on standard output; everything else beside it.
#[test]
fn the_command_prints_the_answer_and_nothing_else() {
    let home = home();
    install(&home, "py", Language::Python, "");
    let stage = Stage::up(&home);
    let ran = home.run(&["intent", "say", "the", "answer"]).ok();
    assert_eq!(ran.stdout, "the answer\n");
    assert_eq!(ran.stderr, "source: https://example.com/one\nsource: two\n");
    let failed = home.run(&["intent", "fail oh dear"]).exits(1);
    assert_eq!(failed.stdout, "oh dear\n");
    let reply = home.run(&["intent", "--json", "say hi"]).ok().json();
    let members: Vec<&String> = reply.as_object().unwrap().keys().collect();
    let mut expected =
        ["intent_id", "agent", "status", "text", "sources", "enforcement", "credits", "over_budget"];
    let mut sorted = members.clone();
    sorted.sort();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    for one in reply["enforcement"].as_array().unwrap() {
        assert_eq!(one.as_object().unwrap().len(), 3, "{one}");
        assert!(one["limit"].is_string() && one["by"].is_string() && one["enforced"].is_boolean(), "{one}");
    }
    let listed = home.run(&["intents", "list", "--json"]).ok().json();
    let seen: Vec<&Value> = listed.as_array().unwrap().iter().map(|intent| &intent["status"]).collect();
    assert_eq!(seen, ["ok", "error", "ok"], "newest first");
    assert_eq!(listed[0].as_object().unwrap().len(), 5, "{listed}");
    assert_eq!(listed[0]["intent_id"], reply["intent_id"]);
    let shown = home.run(&["intents", "show", reply["intent_id"].as_str().unwrap()]).ok().stdout;
    for part in ["py@local", "user@local", "wanted:\nsay hi", "answer:\nhi", "source: two", "LIMIT"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    // What would move the cursor or hide a line stays what it is.
    let ran = home.run(&["intent", "say \u{1b}[2Jgone \u{202e}txt"]).ok();
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'), "{:?}", ran.stdout);
    stage.nothing_left();
}

/// By id, by name, the only one there is, else the one that clearly fits; else nobody, and the candidates are listed.
/// COV-AGENT-05
#[test]
fn an_intent_goes_to_the_agent_it_names_or_clearly_fits() {
    let home = home();
    let none = |home: &covenant_testkit::Home| {
        let nobody = home.run(&["intent", "say hi"]).exits(2);
        assert!(
            nobody.stderr.contains("there are no agents; make one with: covenant agents new NAME"),
            "{}",
            nobody.stderr
        );
    };
    for (place, id, name, description) in [
        ("a", "research@local", "research", "Looks up facts in the library"),
        ("b", "research@office", "weather", "Tells the weather and the temperature"),
        ("c", "poet@local", "poet", "Writes verses"),
    ] {
        install(&home, place, Language::Python, "");
        let text = manifest(place, Language::Python, &format!("description = \"{description}\"\n"))
            .replace(&format!("{place}@local"), id)
            .replace(&format!("name = \"{place}\""), &format!("name = \"{name}\""));
        home.write(&format!("agents/{place}/agent.toml"), &text);
    }
    let stage = Stage::up(&home);
    let of = |agent: &str, text: &str| stage.intent(agent, text).ok().json()["agent"].clone();
    assert_eq!(of("research@local", "say hi"), "research@local");
    assert_eq!(of("research@office", "say hi"), "research@office");
    assert_eq!(of("research", "say hi"), "research@local", "by its name");
    let fits = |text: &str| home.run(&["intent", "--json", text]).json()["agent"].clone();
    assert_eq!(fits("say what the weather and the temperature are"), "research@office");
    assert_eq!(fits("say verses, poet"), "poet@local");
    let unclear = home.run(&["intent", "say nothing in particular"]).exits(2);
    for part in [
        "it is not clear which agent this is for",
        "research (research@local)",
        "weather (research@office)",
        "poet (poet@local)",
    ] {
        assert!(unclear.stderr.contains(part), "{}", unclear.stderr);
    }
    let unknown = home.run(&["intent", "--agent", "reserch", "hi"]).exits(2);
    assert!(
        unknown.stderr.contains("there is no agent `reserch` (did you mean `research`?)"),
        "{}",
        unknown.stderr
    );
    for gone in ["a", "b", "c"] {
        std::fs::remove_file(home.path().join(format!("agents/{gone}/agent.toml"))).unwrap();
    }
    home.run(&["agents", "reload"]).ok();
    none(&home);
}

/// Too little, too much, and in words that are none.
#[test]
fn intents_that_say_nothing_or_too_much_are_not_sent() {
    let home = unhurried();
    install(&home, "py", Language::Python, "");
    let stage = Stage::up(&home);
    for nothing in ["", " \n\t "] {
        let refused = home.run(&["intent", "--agent", "py", nothing]).exits(2);
        assert!(refused.stderr.contains("text`"), "{}", refused.stderr);
    }
    let operator = stage.operator();
    let send = |body: &Value| stage.ask(&operator, "POST", "intents", body);
    let most = format!("say {}", "ü".repeat(256 * 1024 - 4));
    let (status, reply) = send(&json!({"text": most, "agent": "py"}));
    assert_eq!(status, 200, "{reply:.300}");
    assert_eq!(reply["text"].as_str().unwrap().chars().count(), 256 * 1024 - 4);
    for body in [
        json!({"text": format!("{most}ü"), "agent": "py"}),
        json!({"text": 7, "agent": "py"}),
        json!({"agent": "py"}),
        json!({"text": "say hi", "agent": "py", "priority": "urgent"}),
        json!({"text": "say hi", "agent": "py", "parent": "x"}),
        json!({"text": "say hi", "agent": "py", "more": 1}),
        json!([]),
    ] {
        let (status, refused) = send(&body);
        assert!([400, 413, 422].contains(&status), "{status} {:.200} {refused}", body.to_string());
        assert!(refused["error"]["message"].is_string(), "{refused}");
    }
    let taken = home.run(&["intents", "list", "--json"]).ok().json();
    assert_eq!(taken.as_array().unwrap().len(), 1, "only one was taken in: {taken:.300}");
    assert_eq!(stage.said("py", "say I still serve"), "I still serve");
}

/// An agent is a tool, with its title and what it says of itself; while it runs its client hears of it.
#[test]
fn an_mcp_client_sends_an_agent_as_a_tool_and_hears_of_its_progress() {
    let home = unhurried();
    install(&home, "py", Language::Python, "");
    home.write(
        "agents/py/agent.toml",
        &manifest("py", Language::Python, "description = \"Does as it is told\"\n"),
    );
    let stage = Stage::up(&home);
    let mut client = home.mcp();
    client.initialize();
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "agent__py").unwrap();
    assert_eq!((&tool["title"], &tool["description"]), (&json!("py"), &json!("Does as it is told")));
    assert_eq!(tool["inputSchema"]["required"], json!(["text"]));
    let mut members: Vec<&String> = tool["inputSchema"]["properties"].as_object().unwrap().keys().collect();
    members.sort();
    assert_eq!(members, ["parent", "priority", "text"]);

    let params = json!({"name": "agent__py", "arguments": {"text": "mutter halfway", "priority": "high"}, "_meta": {"progressToken": "p"}});
    client.send(&json!({"jsonrpc": "2.0", "id": "it", "method": "tools/call", "params": params}));
    let mut heard = Vec::new();
    let answer = loop {
        let message = client.receive();
        if message["id"] == "it" {
            break message;
        }
        assert_eq!(
            (&message["method"], &message["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p")),
            "{message}"
        );
        heard.push((
            message["params"]["progress"].as_f64().unwrap(),
            message["params"]["message"].as_str().unwrap().to_owned(),
        ));
    };
    let said: Vec<&str> = heard.iter().map(|(_, said)| said.as_str()).collect();
    assert_eq!(said, ["py@local: waits for its turn", "py@local: runs", "py@local: halfway"]);
    assert!(heard.is_sorted_by(|(before, _), (after, _)| before < after), "{heard:?}");
    let result = &answer["result"];
    assert_eq!((&result["content"][0]["text"], &result["isError"]), (&json!("muttered"), &json!(false)));
    let reply = &result["structuredContent"];
    assert_eq!((&reply["agent"], &reply["status"]), (&json!("py@local"), &json!("ok")));
    assert_eq!(stage.shown(reply["intent_id"].as_str().unwrap())["priority"], "high");
    let failed = client.call("agent__py", json!({"text": "fail oh"}));
    assert_eq!(
        (&failed["result"]["isError"], &failed["result"]["content"][0]["text"]),
        (&json!(true), &json!("oh"))
    );

    // One who takes the request back ends the run.
    client.send(&json!({"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": {"name": "agent__py", "arguments": {"text": "stay"}}}));
    let running = covenant_testkit::wait::until("it runs", || {
        let all = home.run(&["intents", "list", "--json"]).ok().json();
        (all[0]["status"] == "running").then(|| all[0]["intent_id"].as_str().unwrap().to_owned())
    });
    client.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "long"}}),
    );
    stage.stands(&running, "cancelled");
    stage.nothing_left();
}

/// What the agent says meanwhile is shown as it comes, beside the answer.
#[test]
fn a_person_who_follows_an_intent_sees_what_its_agent_says() {
    let home = home();
    install(&home, "py", Language::Python, "");
    let _stage = Stage::up(&home);
    let ran = home.run(&["intent", "--stream", "mutter halfway there"]).ok();
    assert_eq!(ran.stdout, "muttered\n");
    assert!(ran.stderr.lines().any(|line| line == "halfway there"), "{}", ran.stderr);
    let lines = home.run(&["intent", "--stream", "--json", "mutter halfway there"]).ok().json_lines();
    assert!(lines.iter().any(|line| line["event"] == "said" && line["text"] == "halfway there"), "{lines:?}");
    assert_eq!(lines.last().unwrap()["text"], "muttered");
}
