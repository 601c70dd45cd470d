//! Questions to a stateless client, which repeats its request with the answers.

use covenant_mcp::Options;
use serde_json::{Value, json};

use crate::client::able_meta;
use crate::curious::{able, asking_world, requests};
use crate::world::{Client, code};

/// A request of a client that can be asked, with what it brings back.
async fn round(client: &mut Client, method: &str, params: &Value, more: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = able_meta(&able());
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.request(method, params).await
}

/// The first round: what is asked, and the state to bring back.
async fn first(client: &mut Client, method: &str, params: &Value) -> (Value, Value) {
    let result = round(client, method, params, &json!({})).await["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{result}");
    (result["inputRequests"].clone(), result["requestState"].clone())
}

fn name() -> Value {
    json!({"name": {"action": "accept", "content": "Ada"}})
}

#[tokio::test]
async fn every_request_that_may_ask_is_repeated_until_all_is_answered() {
    let mut client = asking_world().await.connect();
    for (method, params, answered) in requests() {
        let result = round(&mut client, method, &params, &json!({})).await["result"].clone();
        assert_eq!(result["resultType"], "input_required");
        assert!(result.get("ttlMs").is_none() && result.get("cacheScope").is_none(), "{result}");
        assert!(result["_meta"].is_object());
        let asked = json!({"method": "elicitation/create", "params": {"message": "your name?"}});
        assert_eq!(result["inputRequests"], json!({"name": asked}), "{method}");

        let more = json!({"inputResponses": name(), "requestState": result["requestState"]});
        let result = round(&mut client, method, &params, &more).await["result"].clone();
        assert_eq!(result["inputRequests"]["colour"]["method"], "sampling/createMessage");
        assert!(result["inputRequests"].get("name").is_none(), "what is known is not asked again");

        let colour = json!({"colour": {"content": "blue"}});
        let more = json!({"inputResponses": colour, "requestState": result["requestState"]});
        let result = round(&mut client, method, &params, &more).await["result"].clone();
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result.pointer(answered).unwrap(), r#""Ada" "blue" "kept""#);
        let hints = (result.get("ttlMs"), result.get("cacheScope"));
        let of_resources = (Some(&json!(0)), Some(&json!("private")));
        assert_eq!(hints, if method == "resources/read" { of_resources } else { (None, None) });
    }
}

#[tokio::test]
async fn what_is_brought_back_wrongly_is_refused() {
    let mut client = asking_world().await.connect();
    for (method, params, _) in requests() {
        let (_, state) = first(&mut client, method, &params).await;
        let state = state.as_str().unwrap();
        let flipped = if state.ends_with('A') { "B" } else { "A" };
        let tampered = [
            json!(format!("{state}{flipped}")),
            json!(format!("{flipped}{state}")),
            json!(&state[1..]),
            json!(state.to_lowercase()),
            json!("x"),
            json!(""),
        ];
        let odd = [Value::Null, json!(7), json!({}), json!([state]), json!(true)];
        for state in tampered.iter().chain(&odd) {
            let more = json!({"inputResponses": name(), "requestState": state});
            let refused = round(&mut client, method, &params, &more).await;
            assert_eq!(code(&refused), -32602, "{method} {state}: {refused}");
        }
        for responses in [Value::Null, json!([]), json!("name"), json!(7), json!(false)] {
            let more = json!({"inputResponses": responses, "requestState": state});
            assert_eq!(code(&round(&mut client, method, &params, &more).await), -32602, "{responses}");
        }
        let more = json!({"inputResponses": name(), "requestState": state});
        let good = round(&mut client, method, &params, &more).await;
        assert_eq!(good["result"]["resultType"], "input_required", "it was the state that was wrong: {good}");
    }
}

#[tokio::test]
async fn a_state_counts_for_the_request_and_the_principal_it_was_given_for() {
    let world = asking_world().await;
    let credential = world.add_client("claude").await;
    let mut claude = world.connect_as(credential, Options::default());
    let mut operator = world.connect();
    for (method, params, _) in requests() {
        let (asked, state) = first(&mut operator, method, &params).await;
        let more = json!({"inputResponses": name(), "requestState": state});
        assert_eq!(code(&round(&mut claude, method, &params, &more).await), -32602, "{method}");
        assert_eq!(first(&mut claude, method, &params).await.0, asked, "without it, it may ask");
        for (other, its, _) in requests().iter().filter(|(other, ..)| *other != method) {
            assert_eq!(code(&round(&mut operator, other, its, &more).await), -32602, "{method} {other}");
        }
        let mut elsewhere = world.connect();
        let good = round(&mut elsewhere, method, &params, &more).await;
        assert!(good["result"]["inputRequests"]["colour"].is_object(), "on any connection: {good}");
    }
}

#[tokio::test]
async fn a_client_that_did_not_declare_it_is_told_what_is_missing() {
    let mut client = asking_world().await.connect();
    client.initialize_able(able()).await;
    for (method, params, _) in requests() {
        for (capabilities, missing) in [
            (json!({}), "elicitation"),
            (json!({"sampling": {}, "elicitation": []}), "elicitation"),
            (json!({"elicitation": {}}), "sampling"),
        ] {
            let mut params = params.clone();
            params["_meta"] = able_meta(&capabilities);
            params["inputResponses"] = if missing == "sampling" { name() } else { json!({}) };
            let refused = client.request(method, params).await;
            assert_eq!(code(&refused), -32021, "{refused}");
            assert_eq!(refused["error"]["data"], json!({"requiredCapabilities": {missing: {}}}));
        }
    }
}

#[tokio::test]
async fn what_is_no_answer_is_asked_for_again() {
    let mut client = asking_world().await.connect();
    for (method, params, _) in requests() {
        for responses in [json!({}), json!({"name": 7}), json!({"name": null}), json!({"other": {}})] {
            let more = json!({"inputResponses": responses});
            let again = round(&mut client, method, &params, &more).await;
            assert!(again["result"]["inputRequests"]["name"].is_object(), "{again}");
        }
    }
}

#[tokio::test]
async fn completion_asks_nobody_in_either_era() {
    let mut client = asking_world().await.connect();
    client.initialize_able(able()).await;
    let reference = json!({"type": "ref/prompt", "name": "riddle__ask"});
    let params = json!({"ref": reference, "argument": {"name": "who", "value": "y"}});
    let legacy = client.request("completion/complete", params.clone()).await;
    let modern = round(&mut client, "completion/complete", &params, &json!({"inputResponses": name()})).await;
    for refused in [legacy, modern] {
        assert_eq!(code(&refused), -32021, "{refused}");
    }
}
