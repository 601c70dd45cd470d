//! Work that several daemons on one database begin at once: however they meet, one of them begins it.

use std::sync::Arc;

use covenant_model::envelope::{Envelope, Status};
use covenant_model::principal::Principal;
use covenant_store::Store;
use covenant_team::Request;
use covenant_team::input::{Call, Tool};
use serde_json::{Value, json};

use super::team::peopled;
use super::{Bench, at, on_both, together};

const AGENTS: usize = 16;

async fn says(store: &Store, who: &str, tool: Tool, arguments: Value) -> Envelope {
    let call = Call::read(tool, arguments.as_object().unwrap().clone()).unwrap();
    let principal = Principal::developer(who).unwrap();
    store.perform(Request { principal, agent_type: None, call, now: at(9) }).await.unwrap().envelope
}

/// Makes these calls at once, each by one of two daemons; what they are told.
async fn at_once(stores: &[Arc<Store>; 2], tool: Tool, calls: Vec<(&'static str, Value)>) -> Vec<Envelope> {
    together(calls.into_iter().enumerate().map(|(agent, (who, call))| {
        let store = Arc::clone(&stores[agent % 2]);
        async move { says(&store, who, tool, call).await }
    }))
    .await
}

/// Insists that one went well and the others were kept from it, who are told what is in their way.
fn one_began(told: &[Envelope], kind: &str) {
    let (began, blocked): (Vec<_>, Vec<_>) = told.iter().partition(|told| told.status == Status::Ok);
    let [winner] = began[..] else { panic!("not one began: {told:?}") };
    let id = winner.data[format!("{kind}_id").as_str()].clone();
    assert_eq!(blocked.len(), AGENTS - 1);
    for told in blocked {
        assert_eq!(told.status, Status::Blocked, "{told:?}");
        let found = told.data["candidates"].as_array().unwrap();
        assert!(found.iter().any(|found| found["id"] == id && found["status"] == "active"), "{told:?}");
    }
}

const TOOLS: [(Tool, &str, &str); 2] = [
    (Tool::Task, "task", "Paginate the invoice export endpoint"),
    (Tool::Workstream, "workstream", "Migrate billing to the ledger service"),
];

fn work(operation: &str, title: &str) -> Value {
    json!({"operation": operation, "title": title, "task_type": "bug"})
}

const PEOPLE: [&str; 2] = ["ada", "bob"];

async fn of_many_that_looked_and_start_by_two_daemons_at_once_one_starts(bench: Bench) {
    let stores = [peopled(&bench).await, bench.open().await];
    for (tool, kind, title) in TOOLS {
        // Each looks at the daemon where it will not start.
        for (who, store) in PEOPLE.into_iter().zip(stores.iter().rev()) {
            let looked = says(store, who, tool, work("check", title)).await;
            assert_eq!(looked.status, Status::Ok, "{looked:?}");
        }
        let calls = (0..AGENTS).map(|agent| (PEOPLE[agent % 2], work("start", title))).collect();
        let told = at_once(&stores, tool, calls).await;
        one_began(&told, kind);
        let active = format!("SELECT count(*) FROM {kind}s WHERE title = '{title}' AND status = 'active'");
        assert_eq!(bench.number(&active).await, 1, "{kind}");
    }
}

on_both!(of_many_that_looked_and_start_by_two_daemons_at_once_one_starts);
