//! Resources, prompts and completion, with providers behind them.

use std::sync::Arc;

use covenant_gate::Context;
use covenant_gate::provider::{Completions, NotProvided, Prompts, Provided, Resources};
use serde_json::{Map, Value, json};

use crate::world::{Beginning, World, code};

struct Shelf;

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

impl Resources for Shelf {
    fn name(&self) -> &'static str {
        "shelf"
    }
    fn list(&self) -> Vec<Value> {
        vec![json!({"uri": "shelf:a", "name": "a"})]
    }
    fn templates(&self) -> Vec<Value> {
        vec![json!({"uriTemplate": "shelf:{x}", "name": "any"})]
    }
    fn serves(&self, uri: &str) -> bool {
        uri.starts_with("shelf:")
    }
    fn read<'a>(&'a self, uri: &'a str, _: &'a Context) -> Provided<'a> {
        Box::pin(async move {
            if uri == "shelf:a" {
                Ok(object(json!({"contents": [{"uri": uri, "text": "about hunter2-hunter2"}]})))
            } else {
                Err(NotProvided::NotFound(format!("resource `{uri}`")))
            }
        })
    }
}

impl Prompts for Shelf {
    fn list(&self) -> Vec<Value> {
        vec![json!({"name": "shelf__greet"})]
    }
    fn get<'a>(&'a self, _: &'a str, arguments: &'a Map<String, Value>, _: &'a Context) -> Provided<'a> {
        Box::pin(async move { Ok(object(json!({"messages": [], "description": arguments["who"]}))) })
    }
}

impl Completions for Shelf {
    fn complete<'a>(&'a self, params: &'a Map<String, Value>, _: &'a Context) -> Provided<'a> {
        Box::pin(async move { Ok(object(json!({"completion": {"values": [params["argument"]["value"]]}}))) })
    }
}

async fn stocked(granted: Vec<&'static str>) -> World {
    World::begin(Beginning {
        granted,
        resources: vec![Arc::new(Shelf)],
        prompts: vec![Arc::new(Shelf)],
        completions: Some(Arc::new(Shelf)),
        ..Beginning::default()
    })
    .await
}

#[tokio::test]
async fn what_has_a_provider_is_advertised_listed_and_read() {
    let world = stocked(vec!["tool.resource.shelf", "tool.prompt.*"]).await;
    let mut client = world.connect();
    let capabilities = &client.initialize().await["result"]["capabilities"];
    for name in ["resources", "prompts", "completions"] {
        assert!(capabilities[name].is_object(), "{capabilities}");
    }
    assert_eq!(client.request("resources/list", json!({})).await["result"]["resources"][0]["uri"], "shelf:a");
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "shelf:{x}");
    let read = client.request("resources/read", json!({"uri": "shelf:a"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "about [REDACTED:API_KEY]");
    assert_eq!(
        client.request("prompts/list", json!({})).await["result"]["prompts"][0]["name"],
        "shelf__greet"
    );
    let params = json!({"name": "shelf__greet", "arguments": {"who": "you"}});
    assert_eq!(client.request("prompts/get", params).await["result"]["description"], "you");
    let reference = json!({"type": "ref/prompt", "name": "shelf__greet"});
    let params = json!({"ref": reference, "argument": {"name": "who", "value": "y"}});
    assert_eq!(
        client.request("completion/complete", params).await["result"]["completion"]["values"],
        json!(["y"])
    );
}

#[tokio::test]
async fn a_missing_resource_has_the_code_of_its_era() {
    let mut client = stocked(vec!["tool.resource.shelf"]).await.connect();
    for uri in ["shelf:b", "elsewhere:x"] {
        assert_eq!(code(&client.request("resources/read", json!({"uri": uri})).await), -32002, "{uri}");
        assert_eq!(code(&client.modern("resources/read", json!({"uri": uri})).await), -32602, "{uri}");
    }
    let read = client.modern("resources/read", json!({"uri": "shelf:a"})).await;
    assert_eq!((&read["result"]["ttlMs"], &read["result"]["cacheScope"]), (&json!(0), &json!("private")));
    assert_eq!(code(&client.request("prompts/get", json!({"name": "nothing"})).await), -32602);
}

#[tokio::test]
async fn without_a_grant_nothing_is_listed_or_read() {
    let mut client = stocked(Vec::new()).await.connect();
    assert_eq!(client.request("resources/list", json!({})).await["result"]["resources"], json!([]));
    assert_eq!(client.request("prompts/list", json!({})).await["result"]["prompts"], json!([]));
    assert_eq!(code(&client.request("resources/read", json!({"uri": "shelf:a"})).await), -31001);
    assert_eq!(code(&client.request("prompts/get", json!({"name": "shelf__greet"})).await), -31001);
}
