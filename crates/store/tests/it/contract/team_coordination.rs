//! Claims of a team at work, with the clock in our hand: what expires is told, and no two of them ever cover the same.

use std::sync::Arc;

use covenant_model::envelope::{Envelope, Status};
use covenant_model::time::Timestamp;
use covenant_store::Store;
use covenant_team::coordination::Claim;
use covenant_team::input::Tool;
use covenant_team::pattern::{Effort, Pattern};
use covenant_team::port::CoordinationTx as _;
use covenant_team::rules::lease;
use serde_json::{Value, json};

use super::team::{peopled, workspace};
use super::team_property::Dice;
use super::team_windows::{later, says};
use super::{Bench, on_both, together};

async fn coordinate(store: &Store, who: &str, arguments: Value, now: Timestamp) -> Envelope {
    says(store, who, Tool::Coordination, arguments, now).await
}

async fn session(store: &Store, who: &str, now: Timestamp) -> Value {
    says(store, who, Tool::Session, json!({"operation": "start"}), now).await.data["session_id"].clone()
}

async fn a_claim_lasts_an_hour_or_as_long_as_it_says_and_is_renewed_by_heartbeats(bench: Bench) {
    let store = peopled(&bench).await;
    let session = session(&store, "ada", later(0)).await;
    let claim = |path: &str, ttl: Value| json!({"operation": "claim", "paths": [path], "ttl_minutes": ttl, "session_id": session});
    let hour = 3600;
    for (path, ttl, lasts) in [("a", Value::Null, hour), ("b", json!(1), 60), ("c", json!(1440), 24 * hour)] {
        let held = coordinate(&store, "ada", claim(path, ttl), later(0)).await;
        assert_eq!(held.status, Status::Ok, "{held:?}");
        let wants = json!({"operation": "claim", "paths": [path], "ttl_minutes": 1});
        let before = coordinate(&store, "local", wants.clone(), later(lasts - 1)).await;
        assert_eq!(before.status, Status::Blocked, "{path}: {before:?}");
        let after = coordinate(&store, "local", wants, later(lasts)).await;
        assert_eq!(after.status, Status::Ok, "{path}: {after:?}");
    }
    let start = 100 * hour;
    coordinate(&store, "ada", claim("d", Value::Null), later(start)).await;
    let beat = json!({"operation": "heartbeat", "session_id": session});
    let told = says(&store, "ada", Tool::Session, beat, later(start + hour - 1)).await;
    assert_eq!(told.data["renewed_claims"], 1, "{told:?}");
    let wants = json!({"operation": "claim", "paths": ["d"]});
    let before = coordinate(&store, "local", wants.clone(), later(start + 2 * hour - 2)).await;
    assert_eq!(before.status, Status::Blocked, "renewed: {before:?}");
    let after = coordinate(&store, "local", wants, later(start + 2 * hour - 1)).await;
    assert_eq!(after.status, Status::Ok, "{after:?}");
}

async fn what_expired_is_told_once_to_its_session_and_to_whoever_waited(bench: Bench) {
    let store = peopled(&bench).await;
    let (first, second) = (session(&store, "ada", later(0)).await, session(&store, "ada", later(0)).await);
    let claim = json!({"operation": "claim", "paths": ["src/a.rs"], "session_id": first});
    let held = coordinate(&store, "ada", claim.clone(), later(0)).await;
    let refused =
        coordinate(&store, "local", json!({"operation": "claim", "paths": ["src"]}), later(1)).await;
    assert_eq!(refused.data["refused"][0]["claim_id"], held.data["claim_id"], "{refused:?}");
    // A machine's heartbeat notices, hears of it, and is not the agent.
    let beat = |session: &Value| json!({"operation": "heartbeat", "session_id": session});
    for _ in 0..2 {
        let told = says(&store, "ada", Tool::Session, json!({"operation": "heartbeat"}), later(3600)).await;
        assert_eq!(told.data["expired_claims"][0]["claim_id"], held.data["claim_id"], "{told:?}");
        assert_eq!(told.data["unread"], 1, "{told:?}");
    }
    let other = says(&store, "ada", Tool::Session, beat(&second), later(3601)).await;
    assert_eq!(other.data["expired_claims"], json!([]), "{other:?}");
    let told = says(&store, "ada", Tool::Session, beat(&first), later(3602)).await;
    assert_eq!(told.data["expired_claims"][0]["claim_id"], held.data["claim_id"], "{told:?}");
    assert!(told.message.contains("expired"), "{told:?}");
    let again =
        coordinate(&store, "ada", json!({"operation": "summary", "session_id": first}), later(3603)).await;
    assert_eq!(again.data["expired_claims"], json!([]), "{again:?}");
    let inbox = json!({"operation": "inbox"});
    let told = coordinate(&store, "ada", inbox.clone(), later(3604)).await;
    assert_eq!(told.data["messages"][0]["kind"], "expired", "{told:?}");
    let told = coordinate(&store, "local", inbox.clone(), later(3604)).await;
    let freed = &told.data["messages"][0];
    assert_eq!(
        (&freed["kind"], &freed["how"], &freed["paths"]),
        (&json!("freed"), &json!("expired"), &json!(["src"]))
    );
    assert_eq!(told.data["messages"].as_array().unwrap().len(), 1, "{told:?}");
    let events = bench.number("SELECT count(*) FROM work_events WHERE event = 'coordination.expired'").await;
    assert_eq!(events, 1, "one event, whoever noticed");
    let renew = json!({"operation": "claim", "claim_id": held.data["claim_id"]});
    assert_eq!(coordinate(&store, "ada", renew, later(3605)).await.status, Status::Warning, "it is over");
    // The clock is put back: what was over stays over, and a claim from far ahead keeps nobody out.
    assert_eq!(
        coordinate(&store, "local", json!({"operation": "claim", "paths": ["src"]}), later(10)).await.status,
        Status::Ok
    );
    coordinate(&store, "ada", json!({"operation": "claim", "paths": ["docs"]}), later(900_000)).await;
    let early =
        coordinate(&store, "local", json!({"operation": "claim", "paths": ["docs"]}), later(20)).await;
    assert_eq!(early.status, Status::Ok, "{early:?}");
}

async fn a_session_that_ends_lets_go_and_claims_no_more(bench: Bench) {
    let store = peopled(&bench).await;
    let session = session(&store, "ada", later(0)).await;
    let claim = json!({"operation": "claim", "paths": ["a"], "session_id": session});
    let held = coordinate(&store, "ada", claim.clone(), later(0)).await;
    let wants = json!({"operation": "claim", "paths": ["a"]});
    let same = coordinate(&store, "ada", wants.clone(), later(1)).await;
    assert_eq!((same.status, &same.data["refused"][0]["same_developer"]), (Status::Blocked, &json!(true)));
    let end = json!({"operation": "end", "session_id": session});
    let ended = says(&store, "ada", Tool::Session, end, later(2)).await;
    assert_eq!(ended.data["released_claims"], json!([held.data["claim_id"]]));
    assert_eq!(coordinate(&store, "ada", claim, later(3)).await.status, Status::Error);
    assert_eq!(coordinate(&store, "ada", wants, later(3)).await.status, Status::Ok);
}

async fn a_developer_holds_at_most_two_hundred_claims(bench: Bench) {
    let store = peopled(&bench).await;
    let claim = |path: String| json!({"operation": "claim", "paths": [path]});
    for number in 0..200 {
        let held = coordinate(&store, "ada", claim(format!("f{number}")), later(0)).await;
        assert_eq!(held.status, Status::Ok, "{held:?}");
    }
    let more = coordinate(&store, "ada", claim("f200".into()), later(1)).await;
    assert!(more.status == Status::Error && more.message.contains("200"), "{more:?}");
    let same = coordinate(&store, "ada", claim("f7".into()), later(1)).await;
    assert_eq!(same.status, Status::Ok, "one that is held is renewed: {same:?}");
    assert_eq!(coordinate(&store, "bob", claim("f200".into()), later(1)).await.status, Status::Ok);
}

/// Insists that no two open claims of different holders cover a common path.
async fn apart(store: &Store, told: &str) -> usize {
    let mut tx = store.begin_team().await.unwrap();
    let open = tx.open_claims(&workspace(1), 5000).await.unwrap();
    let meet = |one: &Claim, other: &Claim| {
        let read = |path: &String| Pattern::read(path).unwrap();
        let pairs = one.paths.iter().flat_map(|path| other.paths.iter().map(move |held| (path, held)));
        pairs.into_iter().any(|(path, held)| read(path).meets(&read(held), &mut Effort::ordinary()))
    };
    for (place, one) in open.iter().enumerate() {
        for other in &open[place + 1..] {
            let holder = |claim: &Claim| (claim.developer.clone(), claim.session.clone());
            let apart = holder(one) == holder(other) || !lease::is_same_place(&one.repo, &other.repo);
            assert!(apart || !meet(one, other), "{told}: {one:?} and {other:?}");
        }
    }
    open.len()
}

const PATHS: [&str; 12] = [
    "src",
    "src/a.rs",
    "src/b.rs",
    "src/*.rs",
    "src/**/*.rs",
    "docs/**",
    "docs/x",
    "**/a.rs",
    "s?c/[ab].rs",
    "tests",
    "docs/[!x]",
    "[id]/a.rs",
];

async fn whatever_is_claimed_released_and_over_no_two_claims_cover_the_same(bench: Bench) {
    let store = peopled(&bench).await;
    let (mut endings, mut most) = (std::collections::BTreeSet::new(), 0);
    for seed in 1..=3_u64 {
        let mut dice = Dice(seed);
        let mut seconds = 1_000_000 * seed;
        let mut claims: Vec<(&str, Value)> = Vec::new();
        let mut sessions = Vec::new();
        for who in ["local", "ada", "bob"] {
            sessions.push((who, Value::Null));
            sessions.push((who, session(&store, who, later(seconds)).await));
        }
        for step in 0..120 {
            // Mostly ahead, now and then far, and now and then back.
            seconds = match dice.roll(12) {
                0 => seconds + 3000,
                1 => seconds.saturating_sub(2000),
                _ => seconds + 20,
            };
            let (who, session) = sessions[dice.roll(sessions.len())].clone();
            let paths: Vec<&str> = (0..=dice.roll(3)).map(|_| dice.pick(&PATHS)).collect();
            let call = match dice.roll(8) {
                0..=3 => json!({"operation": "claim", "paths": paths, "repo": dice.pick(&["", "one", "two"]),
                    "ttl_minutes": dice.roll(60) + 1, "session_id": session}),
                4 => json!({"operation": "release", "paths": paths}),
                5 | 6 if !claims.is_empty() => {
                    let operation = dice.pick(&["claim", "release"]);
                    json!({"operation": operation, "claim_id": claims[dice.roll(claims.len())].1})
                }
                _ => json!({"operation": "heartbeat", "session_id": session}),
            };
            let told = format!("seed {seed}, step {step}, at {seconds}: {who} {call}");
            let tool = if call["operation"] == "heartbeat" { Tool::Session } else { Tool::Coordination };
            let outcome = says(&store, who, tool, call, later(seconds)).await;
            if let Some(id) = outcome.data.get("claim_id").filter(|id| id.is_string()) {
                claims.push((who, id.clone()));
            }
            endings.insert(outcome.status.as_str());
            most = most.max(apart(&store, &told).await);
        }
    }
    assert!(endings.len() == 4 && most > 4, "the dice are no test: {endings:?}, {most}");
}

async fn of_many_who_claim_the_same_at_once_one_gets_it(bench: Bench) {
    let stores = [peopled(&bench).await, bench.open().await];
    let tries = together((0..24_usize).map(|number| {
        let store = Arc::clone(&stores[number % 2]);
        async move {
            let who = ["local", "ada", "bob"][number % 3];
            let session = session(&store, who, later(0)).await;
            let claim = json!({"operation": "claim", "paths": ["src/a.rs"], "session_id": session});
            coordinate(&store, who, claim, later(1)).await.status
        }
    }));
    let tries = tries.await;
    assert_eq!(tries.iter().filter(|status| **status == Status::Ok).count(), 1, "{tries:?}");
    assert_eq!(tries.iter().filter(|status| **status == Status::Blocked).count(), 23, "{tries:?}");
    apart(&stores[0], "at once").await;
}

on_both!(
    a_claim_lasts_an_hour_or_as_long_as_it_says_and_is_renewed_by_heartbeats,
    what_expired_is_told_once_to_its_session_and_to_whoever_waited,
    a_session_that_ends_lets_go_and_claims_no_more,
    a_developer_holds_at_most_two_hundred_claims,
    whatever_is_claimed_released_and_over_no_two_claims_cover_the_same,
    of_many_who_claim_the_same_at_once_one_gets_it,
);
