//! What is shown of a server's words holds no part of a secret, wherever it is cut.

use serde_json::json;

use super::puppets::tool;
use super::{World, plan};

const SECRET: &str = "hunter2-hunter2";

#[tokio::test]
async fn an_error_of_a_call_is_cut_after_its_secrets_were_taken_out() {
    let world = World::new().await;
    world.stage.lists("a", json!([tool("tell")]));
    world.apply([plan("a")]).await;
    world.fleet.settled("a").await.unwrap();
    let told = world.call("a", "tell").await;
    assert!(!told.as_str().unwrap().contains("hunter"), "{told}");
}

#[tokio::test]
async fn a_tool_whose_name_holds_a_secret_is_refused_and_neither_is_shown() {
    let world = World::new().await;
    let long = format!("{}{SECRET}", "x".repeat(192));
    let far = format!("https://{}{SECRET}", "x".repeat(180));
    world.stage.lists(
        "a",
        json!([
            tool("good"),
            tool(&format!("t_{SECRET}")),
            tool(&long),
            tool(&format!("{}{SECRET}{}", "t".repeat(20), "t".repeat(60))),
            {"name": "far", "inputSchema": {"$ref": far}},
        ]),
    );
    world.apply([plan("a")]).await;
    let status = world.fleet.settled("a").await.unwrap();
    assert_eq!(status.tools, ["a__good"]);
    assert_eq!(status.refused.len(), 4);
    let told = format!("{:?}", status.refused);
    assert!(!told.contains("hunter"), "{told}");
    assert!(status.refused[0].reason.contains("its name holds a secret"), "{told}");
}
