//! How often a caller may ask.

use covenant_gate::config::Config;
use covenant_gate::{Credential, Refusal};
use covenant_model::redact::Redactor;
use serde_json::json;

use crate::{Fixture, refusal};

#[tokio::test]
async fn each_connection_has_a_bucket_of_its_own() {
    let fixture =
        Fixture::with(Config { rate: 0.001, burst: 3, ..Config::default() }, Redactor::none()).await;
    for _ in 0..2 {
        let credential = Credential::peer(1000);
        let admit = || fixture.gate.admit(&fixture.gate.authenticate(&credential).unwrap());
        for _ in 0..3 {
            admit().unwrap();
        }
        assert!(matches!(admit(), Err(Refusal::RateLimited { .. })));
    }
    let rows = fixture.rows();
    assert!(rows.iter().filter(|row| row["kind"] == "RateLimited").count() <= 2, "sampled: {rows:?}");
}

#[tokio::test]
async fn a_tool_may_have_a_limit_of_its_own() {
    let mut config = Config { rate: 0.0, ..Config::default() };
    config.tool_rates.insert("echo".to_owned(), 0.001);
    let fixture = Fixture::with(config, Redactor::none()).await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    assert!(matches!(refusal(fixture.call("echo", json!({"text": "x"})).await), Refusal::RateLimited { .. }));
    fixture.call("who", json!({})).await.unwrap();
}
