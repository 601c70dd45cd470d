//! How intents and receipts are listed, summed and removed, on either database.

use std::collections::HashSet;

use covenant_model::intent::{AgentUse, IntentEntry, IntentRecord};
use covenant_store::IntentsWanted;

use super::intents::{OURS, id, queued, settled};
use super::{Bench, at, on_both};

async fn pages_have_every_intent_once_also_of_one_moment(bench: Bench) {
    let store = bench.open().await;
    let mut expected = Vec::new();
    for number in 0..60 {
        let issued_at = at(number / 20);
        let record = IntentRecord { issued_at, ..queued(number) };
        store.add_intent(OURS, &record).await.unwrap();
        expected.push(IntentEntry::from(record));
    }
    expected.sort_by(|a, b| (b.issued_at, &b.intent_id).cmp(&(a.issued_at, &a.intent_id)));
    for limit in [1, 7, 20, 59, 60, 1000] {
        let mut found: Vec<IntentEntry> = Vec::new();
        loop {
            let before = found.last().map(|last| (last.issued_at, last.intent_id.clone()));
            let page = store.intents(IntentsWanted { before, limit, ..Default::default() }).await.unwrap();
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            found.extend(page);
        }
        assert_eq!(found, expected, "{limit} at a time");
    }
    assert_eq!(store.intents(IntentsWanted::default()).await.unwrap(), [], "none at a time");
    let all = IntentsWanted { limit: usize::MAX, ..Default::default() };
    assert_eq!(store.intents(all).await.unwrap().len(), 60);
}

async fn a_busy_neighbour_hides_nobodys_intents(bench: Bench) {
    let store = bench.open().await;
    for number in 0..80 {
        let issuer = if number % 20 == 0 { "client:quiet" } else { "client:busy" };
        let agent = if number % 40 == 0 { "rare@local" } else { "research@local" };
        let record = IntentRecord { issuer: issuer.parse().unwrap(), agent: agent.into(), ..queued(number) };
        store.add_intent(OURS, &record).await.unwrap();
    }
    let found = async |issuer: Option<&str>, agent: Option<&str>, before: Option<u64>, limit| {
        let wanted = IntentsWanted {
            parent: None,
            issuer: issuer.map(|issuer| issuer.parse().unwrap()),
            agent: agent.map(str::to_owned),
            before: before.map(|number| (at(number), id(number))),
            limit,
        };
        let found = store.intents(wanted).await.unwrap();
        found.iter().map(|entry| entry.issued_at.since(at(0)).as_millis()).collect::<Vec<_>>()
    };
    assert_eq!(found(Some("client:quiet"), None, None, 3).await, [60, 40, 20], "so many of theirs");
    assert_eq!(found(Some("client:quiet"), None, Some(20), 3).await, [0]);
    assert_eq!(found(None, Some("rare@local"), None, 3).await, [40, 0]);
    assert_eq!(found(Some("client:quiet"), Some("research@local"), None, 9).await, [60, 20]);
    assert_eq!(found(Some("client:quiet"), Some("research@local"), Some(60), 9).await, [20]);
    assert_eq!(found(Some("client:busy"), Some("rare@local"), None, 9).await, [0; 0]);
    assert_eq!(found(Some("client:else"), None, None, 9).await, [0; 0]);
    assert_eq!(found(None, None, None, 2).await, [79, 78]);
}

async fn what_agents_used_is_summed_since_a_moment(bench: Bench) {
    let store = bench.open().await;
    assert_eq!(store.agent_use(at(0)).await.unwrap(), []);
    let mut receipts = Vec::new();
    for (number, agent, credits) in
        [(1, "Z@local", 1), (2, "a@local", 10), (3, "a@local", 100), (4, "Z@local", 0), (5, "a@local", 1000)]
    {
        receipts.push(settled(&store, number, agent, credits).await);
    }
    let used = |agent: &str, runs, credits| AgentUse { agent: agent.into(), runs, credits };
    assert_eq!(store.agent_use(at(0)).await.unwrap(), [used("Z@local", 2, 1), used("a@local", 3, 1110)]);
    assert_eq!(store.agent_use(at(5)).await.unwrap(), [used("Z@local", 1, 0), used("a@local", 2, 1100)]);
    assert_eq!(store.agent_use(at(8)).await.unwrap(), []);
    receipts.reverse();
    assert_eq!(store.receipts(None, 99).await.unwrap(), receipts);
    assert_eq!(store.receipts(None, 2).await.unwrap(), receipts[..2]);
    receipts.retain(|receipt| receipt.agent == "a@local");
    assert_eq!(store.receipts(Some("a@local"), 2).await.unwrap(), receipts[..2]);
    assert_eq!(store.receipts(Some("none@local"), 2).await.unwrap(), []);
}

async fn what_ended_long_ago_goes_and_what_waits_stays(bench: Bench) {
    let store = bench.open().await;
    assert_eq!(store.prune_intents(at(1_000_000)).await.unwrap(), 0);
    for number in 0..250 {
        settled(&store, number, "a@local", 1).await;
    }
    for number in 250..253 {
        let old = IntentRecord { issued_at: at(0), ..queued(number) };
        store.add_intent(OURS, &old).await.unwrap();
    }
    // Ended two moments after its number: those that ended at the 242nd or later stay.
    assert_eq!(store.prune_intents(at(242)).await.unwrap(), 2 * 240);
    let all = || IntentsWanted { limit: 999, ..Default::default() };
    let kept = store.intents(all()).await.unwrap();
    let kept: HashSet<_> = kept.into_iter().map(|entry| entry.intent_id).collect();
    assert_eq!(kept, (240..253).map(id).collect());
    let receipts = store.receipts(None, 999).await.unwrap();
    assert_eq!(receipts.len(), 10);
    assert!(receipts.iter().all(|receipt| receipt.settled_at >= at(242)));
    assert_eq!(store.prune_intents(at(242)).await.unwrap(), 0);
    assert_eq!(store.prune_intents(at(1_000_000)).await.unwrap(), 20);
    assert_eq!(store.intents(all()).await.unwrap().len(), 3, "what waits is not over, however old");
}

on_both!(
    pages_have_every_intent_once_also_of_one_moment,
    a_busy_neighbour_hides_nobodys_intents,
    what_agents_used_is_summed_since_a_moment,
    what_ended_long_ago_goes_and_what_waits_stays,
);
