//! The life of intents on either database, of one daemon and of several.

use std::sync::Arc;

use covenant_model::id::{CallId, ReceiptId};
use covenant_model::intent::{Enforced, IntentId, IntentRecord, IntentStatus, Priority, Receipt};
use covenant_model::time::Timestamp;
use covenant_store::{IntentsWanted, Store};

use super::{Bench, at, on_both, seed, together};

pub(super) const OURS: &str = "aa";
const THEIRS: &str = "bb";

pub(super) fn id(number: u64) -> IntentId {
    // Spread over all ids, so that their order is not that of the numbers.
    let number = u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    IntentId::from_random(number.to_be_bytes())
}

/// One that waits, issued at the moment of its number.
pub(super) fn queued(number: u64) -> IntentRecord {
    IntentRecord {
        id: id(number),
        agent: "research@local".into(),
        issuer: "client:ada".parse().unwrap(),
        status: IntentStatus::Queued,
        priority: Priority::Normal,
        parent: None,
        call: CallId::from_random(seed(number)),
        request: format!("question {number}"),
        answer: String::new(),
        sources: Vec::new(),
        enforcement: Vec::new(),
        credits: 0,
        over_budget: false,
        issued_at: at(number),
        started_at: None,
        finished_at: None,
    }
}

/// The same once it was answered, a moment after it began.
fn answered(record: &IntentRecord) -> IntentRecord {
    IntentRecord {
        status: IntentStatus::Ok,
        answer: "It is 42.".into(),
        sources: vec!["https://example.com/?a=1&b='2'".into()],
        enforcement: enforced(),
        credits: 2,
        started_at: Some(record.issued_at.plus(std::time::Duration::from_millis(1))),
        finished_at: Some(record.issued_at.plus(std::time::Duration::from_millis(2))),
        ..record.clone()
    }
}

fn enforced() -> Vec<Enforced> {
    let limit = |limit: &str, by: &str, enforced| Enforced { limit: limit.into(), by: by.into(), enforced };
    vec![limit("memory", "cgroup", true), limit("disk", "there is no \"quota\" hier — ü", false)]
}

fn receipt(number: u64, agent: &str, credits: u64, settled_at: Timestamp) -> Receipt {
    Receipt {
        id: ReceiptId::from_random(seed(number)),
        payer: "client:ada".parse().unwrap(),
        agent: agent.into(),
        intent: id(number),
        credits,
        settled_at,
    }
}

/// Adds an intent and ends it, at the moment after its number, with a receipt.
pub(super) async fn settled(store: &Store, number: u64, agent: &str, credits: u64) -> Receipt {
    let record = IntentRecord { agent: agent.into(), ..queued(number) };
    store.add_intent(OURS, &record).await.unwrap();
    let receipt = receipt(number, agent, credits, at(number + 2));
    assert!(store.finish_intent(&answered(&record), Some(receipt.clone())).await.unwrap());
    receipt
}

async fn an_intent_is_kept_as_it_is_through_all_of_its_life(bench: Bench) {
    let store = bench.open().await;
    let long = "Ünï çø∂é 🔑 '$1' \"\\u0000\" \r\n\t".repeat(1 << 17);
    assert!(long.len() > 4 << 20);
    let mut record = IntentRecord {
        priority: Priority::High,
        parent: Some(id(7)),
        request: long.clone(),
        issuer: "user@local".parse().unwrap(),
        ..queued(1)
    };
    store.add_intent(OURS, &record).await.unwrap();
    assert_eq!(store.intent(&record.id).await.unwrap().as_ref(), Some(&record));
    assert_eq!(store.intent(&id(2)).await.unwrap(), None);

    assert!(store.begin_intent(&record.id, at(5), &enforced()).await.unwrap());
    (record.status, record.started_at, record.enforcement) = (IntentStatus::Running, Some(at(5)), enforced());
    assert_eq!(store.intent(&record.id).await.unwrap().as_ref(), Some(&record));

    record.status = IntentStatus::Cancelled;
    record.answer = long.clone();
    record.sources = vec![String::new(), "日本語\0".into(), long];
    record.enforcement.pop();
    (record.credits, record.over_budget) = (u64::try_from(i64::MAX).unwrap(), true);
    (record.started_at, record.finished_at) = (Some(at(6)), Some(at(9)));
    assert!(store.finish_intent(&record, None).await.unwrap());
    store.close().await;
    let again = bench.open().await;
    assert_eq!(again.intent(&record.id).await.unwrap(), Some(record));
    assert_eq!(again.receipts(None, 9).await.unwrap(), [], "what never ran costs nothing");
}

async fn a_nul_is_kept_as_a_sign_that_something_was_there(bench: Bench) {
    let store = bench.open().await;
    let record = IntentRecord { request: "a\0b".into(), ..queued(1) };
    store.add_intent(OURS, &record).await.unwrap();
    let over = IntentRecord { answer: "\0".into(), ..answered(&record) };
    assert!(store.finish_intent(&over, None).await.unwrap());
    let found = store.intent(&record.id).await.unwrap().unwrap();
    assert_eq!((found.request.as_str(), found.answer.as_str()), ("a\u{fffd}b", "\u{fffd}"));
}

async fn an_id_that_is_taken_is_refused_and_changes_nothing(bench: Bench) {
    let store = bench.open().await;
    store.add_intent(OURS, &queued(1)).await.unwrap();
    assert!(store.add_intent(THEIRS, &IntentRecord { request: "else".into(), ..queued(1) }).await.is_err());
    assert_eq!(store.intent(&id(1)).await.unwrap(), Some(queued(1)));
}

async fn only_what_is_queued_begins_and_only_once(bench: Bench) {
    let store = bench.open().await;
    assert!(!store.begin_intent(&id(1), at(1), &[]).await.unwrap(), "there is none");
    store.add_intent(OURS, &queued(1)).await.unwrap();
    let began = together((0..16).map(|number| {
        let store = Arc::clone(&store);
        async move { store.begin_intent(&id(1), at(number), &[]).await.unwrap() }
    }));
    assert_eq!(began.await.into_iter().filter(|began| *began).count(), 1);
    let cancelled = IntentRecord { status: IntentStatus::Cancelled, ..answered(&queued(2)) };
    store.add_intent(OURS, &queued(2)).await.unwrap();
    assert!(store.finish_intent(&cancelled, None).await.unwrap(), "what waits may be taken back");
    assert!(!store.begin_intent(&id(2), at(9), &enforced()).await.unwrap());
    assert_eq!(store.intent(&id(2)).await.unwrap(), Some(cancelled));
}

async fn of_those_who_finish_at_once_one_counts_and_one_receipt_is_kept(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    stores[0].add_intent(OURS, &queued(1)).await.unwrap();
    assert!(stores[0].begin_intent(&id(1), at(1), &[]).await.unwrap());
    let finished = together((0..32_u64).map(|number| {
        let store = Arc::clone(&stores[usize::try_from(number % 2).unwrap()]);
        async move {
            let record = IntentRecord { answer: number.to_string(), ..answered(&queued(1)) };
            let receipt = Receipt { intent: id(1), ..receipt(number, "research@local", number, at(3)) };
            store.finish_intent(&record, Some(receipt)).await.unwrap().then_some(number)
        }
    }));
    let [counted] = finished.await.into_iter().flatten().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(stores[1].intent(&id(1)).await.unwrap().unwrap().answer, counted.to_string());
    let [kept] = stores[0].receipts(None, 99).await.unwrap().try_into().unwrap();
    assert_eq!((kept.credits, kept.id), (counted, ReceiptId::from_random(seed(counted))));
    assert_eq!(bench.number("SELECT count(*) FROM receipts WHERE resource = 'compute'").await, 1);
}

async fn an_end_and_its_receipt_are_kept_both_or_neither(bench: Bench) {
    let store = bench.open().await;
    let first = settled(&store, 1, "a@local", 3).await;
    store.add_intent(OURS, &queued(2)).await.unwrap();
    let taken = Receipt { intent: id(2), ..first.clone() };
    assert!(store.finish_intent(&answered(&queued(2)), Some(taken)).await.is_err(), "the id is taken");
    assert_eq!(store.intent(&id(2)).await.unwrap(), Some(queued(2)));
    let twice = Receipt { intent: id(1), ..receipt(2, "a@local", 1, at(9)) };
    assert!(store.finish_intent(&answered(&queued(2)), Some(twice)).await.is_err(), "it was settled");
    assert_eq!(store.receipts(None, 9).await.unwrap(), [first]);

    let unknown = receipt(3, "a@local", 1, at(9));
    assert!(!store.finish_intent(&answered(&queued(3)), Some(unknown)).await.unwrap());
    assert_eq!(store.receipts(None, 9).await.unwrap().len(), 1, "nobody pays for what is not there");
    assert!(store.finish_intent(&queued(2), None).await.is_err(), "it would not be over");
}

async fn what_a_daemon_left_behind_is_ended_and_nothing_of_its_neighbour(bench: Bench) {
    let store = bench.open().await;
    for (number, chain) in [(3, OURS), (1, OURS), (2, THEIRS), (4, OURS), (5, THEIRS)] {
        store.add_intent(chain, &queued(number)).await.unwrap();
    }
    assert!(store.begin_intent(&id(3), at(8), &enforced()).await.unwrap());
    assert!(store.finish_intent(&answered(&queued(4)), None).await.unwrap());
    let ended = store.interrupt_intents(OURS, at(50), "the daemon ended — ü").await.unwrap();
    let error = |record| IntentRecord {
        status: IntentStatus::Error,
        answer: "the daemon ended — ü".into(),
        finished_at: Some(at(50)),
        ..record
    };
    let ran = IntentRecord { started_at: Some(at(8)), enforcement: enforced(), ..queued(3) };
    assert_eq!(ended, [error(queued(1)), error(ran)]);
    assert_eq!(store.intent(&id(1)).await.unwrap(), Some(error(queued(1))), "and it is kept so");
    assert_eq!(store.intent(&id(2)).await.unwrap(), Some(queued(2)));
    assert_eq!(store.intent(&id(4)).await.unwrap(), Some(answered(&queued(4))));
    assert_eq!(store.interrupt_intents(OURS, at(60), "again").await.unwrap(), []);
    assert!(!store.finish_intent(&answered(&queued(1)), None).await.unwrap(), "it is over");
}

async fn a_damaged_row_is_an_error_that_names_it(bench: Bench) {
    let store = bench.open().await;
    let receipt = settled(&store, 1, "a@local", 1).await;
    let sound = "UPDATE intents SET status = 'ok', priority = 'low', parent = NULL, sources = '[]', \
                 enforcement = '[]', issuer = 'client:ada', credits = 1, call_id = 'call_a'";
    for damage in [
        "status = 'lost'",
        "priority = ''",
        "parent = 'x'",
        "sources = '[1]'",
        "enforcement = '{'",
        "issuer = 'nobody at all'",
        "credits = -1",
        "call_id = ''",
    ] {
        bench.raw(sound).await;
        assert!(store.intent(&id(1)).await.unwrap().is_some());
        bench.raw(&format!("UPDATE intents SET {damage}")).await;
        let fault = store.intent(&id(1)).await.unwrap_err().to_string();
        assert!(fault.contains("`intents`") && fault.contains(id(1).as_str()), "{damage}: {fault}");
    }
    bench.raw("UPDATE intents SET status = 'lost'").await;
    let wanted = IntentsWanted { limit: 1, ..Default::default() };
    assert!(store.intents(wanted).await.unwrap_err().to_string().contains(id(1).as_str()));
    bench.raw("UPDATE receipts SET payer = '?'").await;
    let fault = store.receipts(None, 1).await.unwrap_err().to_string();
    assert!(fault.contains("`receipts`") && fault.contains(receipt.id.as_str()), "{fault}");
}

on_both!(
    an_intent_is_kept_as_it_is_through_all_of_its_life,
    a_nul_is_kept_as_a_sign_that_something_was_there,
    an_id_that_is_taken_is_refused_and_changes_nothing,
    only_what_is_queued_begins_and_only_once,
    of_those_who_finish_at_once_one_counts_and_one_receipt_is_kept,
    an_end_and_its_receipt_are_kept_both_or_neither,
    what_a_daemon_left_behind_is_ended_and_nothing_of_its_neighbour,
    a_damaged_row_is_an_error_that_names_it,
);
