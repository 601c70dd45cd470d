//! The contract of a run that is kept: how it is started, the line it reads, the line it writes, what it says beside.

use covenant_testkit::wait::until;
use serde_json::{Value, json};

use super::stage::{Language, Stage, install};
use crate::{home, unhurried};

/// One agent of each kind, under the name of its runtime.
fn three(home: &covenant_testkit::Home, more: &str) {
    for language in Language::ALL {
        install(home, language.runtime(), language, more);
    }
}

/// COV-AGENT-25, COV-AGENT-26, COV-AGENT-27
#[test]
fn each_runtime_executes_its_entry_as_the_document_says() {
    let home = home();
    three(&home, "");
    let stage = Stage::up(&home);
    for language in Language::ALL {
        let told = stage.told(language.runtime(), "tell");
        let entry = home.path().join("agents").join(language.runtime()).join(language.entry());
        let program = told["program"].as_str().unwrap().rsplit('/').next().unwrap();
        match language {
            Language::Rust => {
                assert_eq!(told["words"], json!([entry]));
                assert_eq!(program, language.entry());
            }
            Language::Python => {
                assert_eq!(told["words"], json!([entry]));
                assert!(program.starts_with("python3"), "{program}");
            }
            Language::Node => {
                assert_eq!(told["words"], json!([told["program"], entry]));
                assert_eq!(program, "node");
            }
        }
        assert_eq!(told["environment"]["HOME"], told["directory"], "a place of its own");
        assert_eq!(told["environment"]["TMPDIR"], told["directory"]);
        assert_eq!(told["environment"]["COVENANT_URL"], format!("http://127.0.0.1:{}", stage.port));
        for foreign in ["COVENANT_HOME", "COVENANT_LISTEN"] {
            assert_eq!(told["environment"][foreign], Value::Null, "nothing of the daemon's own");
        }
    }
}

/// One line, then the end of the input; of these members and no others.
/// COV-AGENT-28, COV-AGENT-29, COV-AGENT-30
#[test]
fn an_agent_reads_exactly_one_line_with_the_documents_members() {
    let home = home();
    three(&home, "");
    let stage = Stage::up(&home);
    for language in Language::ALL {
        let reply = stage.intent(language.runtime(), "tell me \"ünïcode\"\nand\tmore \u{1F600}").ok().json();
        let told: Value = serde_json::from_str(reply["text"].as_str().unwrap()).unwrap();
        let line = told["line"].as_str().unwrap();
        assert_eq!((line.matches('\n').count(), line.ends_with('\n')), (1, true), "{line}");
        assert_eq!(told["rest"], "");
        let intent: Value = serde_json::from_str(line).unwrap();
        let mut members: Vec<&String> = intent.as_object().unwrap().keys().collect();
        members.sort();
        assert_eq!(members, ["id", "issued_at", "issuer", "parent", "priority", "text"]);
        assert_eq!(intent["id"], reply["intent_id"]);
        let id = intent["id"].as_str().unwrap();
        let groups: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12], "{id}");
        assert_eq!(intent["text"], "tell me \"ünïcode\"\nand\tmore \u{1F600}");
    }
}

/// COV-AGENT-31, COV-AGENT-32, COV-AGENT-33, COV-AGENT-34
#[test]
fn an_agent_is_told_who_wants_it_since_when_how_urgently_and_within_what() {
    let home = unhurried();
    three(&home, "[settlement]\npriority = \"low\"\n");
    let stage = Stage::up(&home);
    let token = stage.client("ada", &["tool.call.agent__*"]);
    for language in Language::ALL {
        let agent = language.runtime();
        let first = stage.intent(agent, "tell").ok().json();
        let second = [
            "intent",
            "--json",
            "--agent",
            agent,
            "--priority",
            "high",
            "--parent",
            first["intent_id"].as_str().unwrap(),
            "tell",
        ];
        let second = home.run(&second).ok().json();
        let (status, third) = stage.ask(
            &token,
            "POST",
            "intents",
            &json!({"text": "tell", "agent": agent, "priority": "normal"}),
        );
        assert_eq!(status, 200, "{third}");
        let cases = [
            (&first, "user@local", "low", Value::Null),
            (&second, "user@local", "high", first["intent_id"].clone()),
            (&third, "client:ada", "normal", Value::Null),
        ];
        for (reply, issuer, priority, parent) in cases {
            let told: Value = serde_json::from_str(reply["text"].as_str().unwrap()).unwrap();
            let intent: Value = serde_json::from_str(told["line"].as_str().unwrap()).unwrap();
            assert_eq!(intent["issuer"].as_object().unwrap().len(), 2, "{intent}");
            assert_eq!(intent["issuer"]["display"], issuer);
            assert_eq!(
                decoded(intent["issuer"]["pubkey"].as_str().unwrap()),
                key(&home),
                "the home's own key"
            );
            assert_eq!((&intent["priority"], &intent["parent"]), (&json!(priority), &parent));
            let shown = stage.shown(reply["intent_id"].as_str().unwrap());
            assert_eq!(
                (&shown["priority"], &shown["parent"], &shown["issuer"]),
                (&json!(priority), &parent, &json!(issuer))
            );
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
            let issued = u128::from(intent["issued_at"].as_u64().unwrap());
            assert!(issued <= now && now - issued < 60_000, "milliseconds since 1970: {issued}");
        }
    }
    let unknown = "01234567-89ab-4cde-8f01-23456789abcd";
    for (parent, says) in [(unknown, "there is no intent"), ("nonsense", "is no intent id")] {
        let refused = home.run(&["intent", "--agent", "python3", "--parent", parent, "say hi"]).exits(2);
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
}

/// The bytes that a text in base58 stands for.
fn decoded(text: &str) -> Vec<u8> {
    let alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut bytes = vec![0_u8; 32];
    for letter in text.chars() {
        let mut carry = alphabet.find(letter).unwrap_or_else(|| panic!("{text}"));
        for byte in bytes.iter_mut().rev() {
            carry += usize::from(*byte) * 58;
            *byte = u8::try_from(carry & 255).unwrap();
            carry >>= 8;
        }
        assert_eq!(carry, 0, "{text} is longer than a key");
    }
    bytes
}

/// The public key of a home.
fn key(home: &covenant_testkit::Home) -> Vec<u8> {
    let text = std::fs::read_to_string(home.path().join("identity/local.pub")).unwrap();
    let word = text.split_whitespace().last().unwrap();
    let pairs: Vec<&str> = (0..word.len() / 2).map(|at| &word[at * 2..at * 2 + 2]).collect();
    pairs.iter().map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// What it writes is what is told, wherever one looks; more members than these are nobody's business.
/// COV-AGENT-36, COV-AGENT-37, COV-AGENT-38, COV-AGENT-39
#[test]
fn what_an_agent_answers_is_what_is_told() {
    let home = home();
    three(&home, "");
    let stage = Stage::up(&home);
    for language in Language::ALL {
        let reply = stage.intent(language.runtime(), "say  two\n lines, \u{202e}ünï ").ok().json();
        assert_eq!((&reply["status"], &reply["text"]), (&json!("ok"), &json!(" two\n lines, \u{202e}ünï ")));
        assert_eq!(reply["sources"], json!(["https://example.com/one", "two"]));
        let shown = stage.shown(reply["intent_id"].as_str().unwrap());
        for member in
            ["intent_id", "agent", "status", "text", "sources", "enforcement", "credits", "over_budget"]
        {
            assert_eq!(shown[member], reply[member], "{member}");
        }
    }
    let failed = stage.intent("python3", "fail so sorry").exits(1).json();
    assert_eq!((&failed["status"], &failed["text"]), (&json!("error"), &json!("so sorry")));
    assert_eq!(failed["sources"], json!([]));
    for more in [json!({"sources": null}), json!({"more": {"x": [1]}}), json!({"text": ""})] {
        assert_eq!(stage.intent("python3", &format!("with {more}")).ok().json()["status"], "ok", "{more}");
    }
}

/// While it runs, with its id; in the log that the operator reads. What is secret is not in it.
/// COV-AGENT-40
#[test]
fn what_an_agent_says_beside_is_in_the_log_as_it_is_said() {
    let home = unhurried();
    install(&home, "talks", Language::Python, "");
    let stage = Stage::up(&home);
    let log = || std::fs::read_to_string(home.path().join("logs/covenant.log")).unwrap();
    let id = stage.send("talks", "stay", &[]);
    let said = |text: String, word: &str| {
        text.lines().any(|line| line.contains("talks@local") && line.contains(word))
    };
    until("what it said is in the log", || said(log(), ": stays ").then_some(()));
    until("and on the operator's screen", || said(stage.daemon.printed(), ": stays ").then_some(()));
    assert_eq!(stage.shown(&id)["status"], "running");
    home.run(&["intents", "cancel", &id]).ok();
    stage
        .intent(
            "talks",
            "mutter \u{1b}[31mred\u{7} and Bearer cv_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG",
        )
        .ok();
    until("it is in the log", || log().contains("red").then_some(()));
    assert!(!log().contains('\u{1b}') && !log().contains('\u{7}'), "nothing that a terminal would obey");
    stage.nothing_left();
}

/// An agent that gives its token away in its answer or beside it gives nothing away.
#[test]
fn the_token_of_a_run_is_not_in_what_is_told_or_kept() {
    let home = home();
    three(&home, "");
    let stage = Stage::up(&home);
    for language in Language::ALL {
        let reply = stage.intent(language.runtime(), "tell").ok().json();
        let told: Value = serde_json::from_str(reply["text"].as_str().unwrap()).unwrap();
        assert_eq!(told["environment"]["COVENANT_TOKEN"], "[REDACTED:TOKEN]");
        let shown = stage.shown(reply["intent_id"].as_str().unwrap());
        assert!(!shown.to_string().contains("cv_"), "{shown}");
    }
    let kept = home.run(&["memory", "recent", "--json"]).ok().stdout;
    assert!(kept.contains("REDACTED:TOKEN") && !kept.contains("cv_"), "{kept}");
}
