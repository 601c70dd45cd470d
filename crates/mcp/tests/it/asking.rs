//! Questions to a client of the handshake's era, while its own request runs.

use covenant_gate::Credential;
use covenant_mcp::Options;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client::PATIENCE;
use crate::curious::{able, asking_world, requests};
use crate::tools::gate;
use crate::unmade::heard;
use crate::world::{Client, OPERATOR, World, code};

/// A client that can be asked, of a world where everything asks.
async fn asked_client(options: Options) -> (World, Client) {
    let world = asking_world().await;
    let mut client = world.connect_as(Credential::peer(OPERATOR), options);
    client.initialize_able(able()).await;
    (world, client)
}

fn curious() -> Value {
    json!({"name": "curious"})
}

/// Calls, and gives the id of the call and the question.
async fn questioned(client: &mut Client, params: Value) -> (u64, Value) {
    let id = client.ask("tools/call", params).await;
    let question = client.hear().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (id, question)
}

/// Answers both questions, the first of which was heard, and gives the result.
async fn satisfied(client: &mut Client, question: &Value) -> Value {
    client.answer(question, json!({"action": "accept", "content": "Ada"})).await;
    let next = client.hear().await;
    assert_eq!(next["method"], "sampling/createMessage", "{next}");
    client.answer(&next, json!({"content": "blue"})).await;
    client.hear().await
}

fn taken_back(question: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
           "params": {"requestId": question["id"], "reason": "the call that asked is over"}})
}

#[tokio::test]
async fn whatever_asks_is_told_the_answers_and_no_secret_is_in_a_question() {
    let (_world, mut client) = asked_client(Options::default()).await;
    for (method, params, answered) in requests() {
        let id = client.ask(method, params).await;
        let question = client.hear().await;
        assert_eq!(question["params"], json!({"message": "your name?"}), "{method}");
        let answer = satisfied(&mut client, &question).await;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"].pointer(answered).unwrap(), r#""Ada" "blue" null"#, "{answer}");
        assert!(answer["result"].get("resultType").is_none());
    }
    let params = json!({"name": "curious", "arguments": {"say": "is it hunter2-hunter2?"}});
    let (_, question) = questioned(&mut client, params).await;
    assert_eq!(question["params"]["message"], "is it [REDACTED:API_KEY]?");
}

#[tokio::test]
async fn a_client_that_did_not_declare_it_is_not_asked_and_told_what_is_missing() {
    let world = asking_world().await;
    let unable = [json!({}), json!({"sampling": {}}), json!({"elicitation": true, "sampling": {}})];
    for capabilities in unable {
        let mut client = world.connect();
        client.initialize_able(capabilities).await;
        for (method, params, _) in requests() {
            let refused = client.request(method, params).await;
            assert_eq!(code(&refused), -32021, "{refused}");
            assert_eq!(refused["error"]["data"], json!({"requiredCapabilities": {"elicitation": {}}}));
        }
    }
    let mut bare = world.connect();
    assert_eq!(code(&bare.request("tools/call", curious()).await), -32021);
}

#[tokio::test]
async fn a_client_that_declines_or_answers_nonsense_fails_the_request_and_nothing_else() {
    let (_world, mut client) = asked_client(Options::default()).await;
    let declined = json!({"code": -1, "message": "nobody is here"});
    for answer in [
        json!({"error": declined}),
        json!({"error": declined, "result": {"content": "Ada"}}),
        json!({"error": null}),
        json!({"error": "no"}),
        json!({"result": 7}),
        json!({"result": null}),
    ] {
        for (method, params, _) in requests() {
            client.ask(method, params).await;
            let mut response = answer.clone();
            response["jsonrpc"] = json!("2.0");
            response["id"] = client.hear().await["id"].clone();
            client.send(response.to_string()).await;
            let failed = client.hear().await;
            let said = if method == "tools/call" {
                assert_eq!(failed["result"]["isError"], true, "{failed}");
                &failed["result"]["content"][0]["text"]
            } else {
                assert_eq!(code(&failed), -32603, "{failed}");
                &failed["error"]["message"]
            };
            let expected = if answer["error"].is_object() { "nobody is here" } else { "the client" };
            assert!(said.as_str().unwrap().contains(expected), "{failed}");
        }
    }
}

#[tokio::test]
async fn an_answer_to_nothing_that_was_asked_is_nothing() {
    let (_world, mut client) = asked_client(Options::default()).await;
    let (_, question) = questioned(&mut client, curious()).await;
    let id = question["id"].as_u64().unwrap();
    let (next, text) = ((id + 1).to_string(), format!("\"{id}\""));
    let (long, exact) = ("9".repeat(900), format!("{id}.0"));
    let too_long = "9".repeat(5000);
    for odd in [&next, &text, &long, &too_long, &exact, "1", "-1", "null", "{}", "[7]", "true", "\"\\u0000\""]
    {
        client.send(format!(r#"{{"jsonrpc":"2.0","id":{odd},"result":{{"content":"no"}}}}"#)).await;
        client.send(format!(r#"{{"jsonrpc":"2.0","id":{odd},"error":{{}},"result":[]}}"#)).await;
    }
    client.send(r#"{"jsonrpc":"2.0","result":{}}"#).await;
    let answer = satisfied(&mut client, &question).await;
    assert_eq!(answer["result"]["content"][0]["text"], r#""Ada" "blue" null"#);
    client.answer(&question, json!({"content": "late"})).await;
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn an_answer_to_an_earlier_session_answers_nothing() {
    let world = asking_world().await;
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..4 {
        let mut client = world.connect();
        client.initialize_able(able()).await;
        ids.insert(questioned(&mut client, curious()).await.1["id"].as_u64().unwrap());
    }
    assert!(ids.len() > 1, "questions of every session have the same id: {ids:?}");
}

#[tokio::test]
async fn a_client_has_so_many_questions_before_it_and_a_cancelled_call_takes_its_own_back() {
    let (_world, mut client) = asked_client(Options { in_flight: 80, ..Options::default() }).await;
    let (first, question) = questioned(&mut client, curious()).await;
    for _ in 1..64 {
        questioned(&mut client, curious()).await;
    }
    let refused = client.request("tools/call", curious()).await;
    assert_eq!(refused["result"]["isError"], true);
    assert!(refused["result"]["content"][0]["text"].as_str().unwrap().contains("64 questions"), "{refused}");

    client.notify("notifications/cancelled", json!({"requestId": first})).await;
    assert_eq!(client.hear().await, taken_back(&question));
    client.answer(&question, json!({"content": "late"})).await;
    let (_, another) = questioned(&mut client, curious()).await;
    assert_eq!(satisfied(&mut client, &another).await["result"]["isError"], false);
}

#[tokio::test]
async fn a_tool_that_waits_for_an_answer_learns_that_its_call_is_over() {
    let (_world, mut client) = asked_client(Options::default()).await;
    gate("given up").notify_one();
    let params = json!({"name": "curious", "arguments": {"at": "given up"}});
    let (id, question) = questioned(&mut client, params).await;
    client.notify("notifications/cancelled", json!({"requestId": id})).await;
    let heard = gate("given up heard");
    timeout(PATIENCE, heard.notified()).await.expect("the tool is not told");
    assert_eq!(client.hear().await, taken_back(&question));
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn the_time_limit_of_the_call_ends_the_wait() {
    let (_world, mut client) = asked_client(Options::default()).await;
    let (id, question) = questioned(&mut client, json!({"name": "hasty"})).await;
    assert_eq!(client.hear().await, taken_back(&question));
    let ended = client.hear().await;
    assert_eq!((&ended["id"], code(&ended)), (&json!(id), -31005), "{ended}");
    client.answer(&question, json!({"content": "late"})).await;
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_client_that_goes_leaves_no_question_behind() {
    let (_world, mut client) = asked_client(Options::default()).await;
    let (_, question) = questioned(&mut client, curious()).await;
    let (ended, rest) = client.close().await;
    assert!(matches!(ended, covenant_mcp::Ended::Closed));
    assert_eq!(rest, [taken_back(&question)]);
}

#[tokio::test]
async fn answers_come_through_when_no_more_requests_may_wait() {
    let (_world, mut client) = asked_client(Options { in_flight: 1, ..Options::default() }).await;
    let (_, question) = questioned(&mut client, curious()).await;
    let waiting = client.ask("tools/call", json!({"name": "echo", "arguments": {"text": "waited"}})).await;
    assert_eq!(code(&client.request("ping", json!({})).await), -32000);
    assert_eq!(code(&client.call("heard_crowd", json!({})).await), -32000);
    assert_eq!(heard("heard_crowd", 1).await, ["user@local rate_limited"]);
    assert_eq!(satisfied(&mut client, &question).await["result"]["isError"], false);
    assert_eq!(client.hear().await["id"], waiting);
}

#[tokio::test]
async fn a_question_to_a_client_that_is_slow_to_read_is_not_lost() {
    let (_world, mut client) = asked_client(Options::default()).await;
    let waits = gate("slow reader waits");
    client.ask("tools/call", json!({"name": "curious", "arguments": {"at": "slow reader"}})).await;
    waits.notified().await;
    client.ask("tools/call", json!({"name": "big", "arguments": {"bytes": 1_000_000}})).await;
    client.is_spoken_to().await;
    gate("slow reader").notify_one();
    gate("slow reader asked").notified().await;
    assert!(client.hear().await["result"].is_object());
    let question = client.hear().await;
    assert_eq!(satisfied(&mut client, &question).await["result"]["isError"], false);
}
