//! Calls that wait for a person, on either database.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::ports::{Approvals as _, Asked, Decided, Question, Verdict};
use covenant_model::approval::{ApprovalKind, ApprovalStatus};
use covenant_model::id::{ApprovalId, GrantId};

use super::{Bench, at, on_both, seed, together};

/// The call with that digest, asked for under an id of its own.
fn call(id: u64, digest: u8, principal: &str, millis: u64) -> Question {
    Question {
        id: ApprovalId::from_random(seed(id)),
        kind: ApprovalKind::Call,
        digest: [digest; 32],
        sha256: [digest; 32],
        name: "echo".into(),
        principal: principal.parse().unwrap(),
        grant: Some(GrantId::from_random(seed(1))),
        view: "echo {\"text\": \"a\0b\"}".into(),
        requested_at: at(millis),
        expires_at: at(millis).plus(Duration::from_mins(1)),
    }
}

fn pending(id: u64) -> Asked {
    Asked::Pending { id: ApprovalId::from_random(seed(id)), modified: false }
}

async fn the_same_call_waits_once_even_when_the_principal_is_full(bench: Bench) {
    let store = bench.open().await;
    assert_eq!(store.ask(call(1, 1, "client:a", 0), 1).await.unwrap(), pending(1));
    assert_eq!(store.ask(call(2, 1, "client:a", 5), 1).await.unwrap(), pending(1));
    assert_eq!(store.ask(call(3, 2, "client:a", 5), 1).await.unwrap(), Asked::Full);
    assert_eq!(
        store.ask(call(4, 3, "client:b", 5), 1).await.unwrap(),
        pending(4),
        "others have their own limit"
    );
}

async fn an_expired_call_makes_room_and_can_be_asked_again(bench: Bench) {
    let store = bench.open().await;
    assert_eq!(store.ask(call(1, 1, "client:a", 0), 1).await.unwrap(), pending(1));
    assert_eq!(store.ask(call(2, 2, "client:a", 59_999), 1).await.unwrap(), Asked::Full);
    assert_eq!(store.ask(call(3, 1, "client:a", 60_000), 1).await.unwrap(), pending(3));
    assert_eq!(bench.number("SELECT count(*) FROM approvals WHERE state = 'expired'").await, 1);
}

async fn asked_at_once_the_same_call_waits_once(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    let asked = together((0..32).map(|number| {
        let store = Arc::clone(&stores[number % 2]);
        async move { store.ask(call(number as u64, 1, "client:a", 0), 64).await.unwrap() }
    }));
    let ids: HashSet<String> = asked.await.into_iter().map(|asked| format!("{asked:?}")).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(bench.number("SELECT count(*) FROM approvals").await, 1);
}

async fn asked_at_once_no_more_than_the_limit_wait(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    let asked = together((0..24_u8).map(|number| {
        let store = Arc::clone(&stores[usize::from(number % 2)]);
        async move { store.ask(call(number.into(), number, "client:a", 0), 5).await.unwrap() }
    }));
    assert_eq!(asked.await.iter().filter(|asked| **asked == Asked::Full).count(), 19);
    assert_eq!(bench.number("SELECT count(*) FROM approvals").await, 5);
}

/// A text of that name, asked for under an id of its own.
fn text(id: u64, digest: u8, name: &str, millis: u64) -> Question {
    Question {
        kind: ApprovalKind::Script,
        name: name.into(),
        grant: None,
        ..call(id, digest, "client:a", millis)
    }
}

fn id(number: u64) -> ApprovalId {
    ApprovalId::from_random(seed(number))
}

fn says(approve: bool, by: &str, millis: u64) -> Verdict {
    let reason = (!approve).then(|| "no".to_owned());
    Verdict { approve, by: by.to_owned(), reason, revise: false, at: at(millis) }
}

async fn an_approved_call_is_made_once(bench: Bench) {
    let store = bench.open().await;
    store.ask(call(1, 1, "client:a", 0), 5).await.unwrap();
    assert!(!store.use_up(id(1), at(1)).await.unwrap(), "nobody has decided");
    assert!(matches!(store.decide(id(1), says(true, "ada", 2)).await.unwrap(), Decided::Done(_)));
    assert_eq!(store.ask(call(2, 1, "client:a", 3), 5).await.unwrap(), Asked::Approved(id(1)));
    let used = together((0..16).map(|_| {
        let store = Arc::clone(&store);
        async move { store.use_up(id(1), at(4)).await.unwrap() }
    }));
    assert_eq!(used.await.into_iter().filter(|used| *used).count(), 1);
    assert_eq!(store.ask(call(3, 1, "client:a", 5), 5).await.unwrap(), pending(3), "asked anew");
}

async fn a_word_taken_back_waits_again_and_only_that_word(bench: Bench) {
    let store = bench.open().await;
    store.ask(call(1, 1, "client:a", 0), 5).await.unwrap();
    store.decide(id(1), says(true, "ada", 2)).await.unwrap();
    store.reopen(id(1), at(1)).await.unwrap();
    assert_eq!(store.ask(call(2, 1, "client:a", 3), 5).await.unwrap(), Asked::Approved(id(1)));
    store.reopen(id(1), at(2)).await.unwrap();
    assert_eq!(store.ask(call(3, 1, "client:a", 4), 5).await.unwrap(), pending(1));
    let (record, _) = store.approval(id(1), at(5)).await.unwrap().unwrap();
    assert_eq!((record.entry.decided_at, record.entry.decided_by), (None, None));
}

async fn an_approved_call_is_not_made_after_its_time(bench: Bench) {
    let store = bench.open().await;
    store.ask(call(1, 1, "client:a", 0), 5).await.unwrap();
    store.decide(id(1), says(true, "ada", 2)).await.unwrap();
    assert!(!store.use_up(id(1), at(60_000)).await.unwrap());
    assert_eq!(store.ask(call(2, 1, "client:a", 60_000), 5).await.unwrap(), pending(2));
}

async fn of_two_verdicts_at_once_one_counts(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    stores[0].ask(text(1, 1, "a.star", 0), 5).await.unwrap();
    let decided = together((0..8_usize).map(|number| {
        let store = Arc::clone(&stores[number % 2]);
        async move { store.decide(id(1), says(number % 2 == 0, &number.to_string(), 1)).await.unwrap() }
    }));
    let decided = decided.await;
    let (done, already): (Vec<_>, Vec<_>) =
        decided.into_iter().partition(|decided| matches!(decided, Decided::Done(_)));
    assert_eq!((done.len(), already.len()), (1, 7));
    let Decided::Done(record) = &done[0] else { unreachable!() };
    for decided in already {
        let Decided::Already(seen) = decided else { panic!("{decided:?}") };
        assert_eq!(seen, *record, "everyone else hears who decided, and how");
    }
    assert_eq!(stores[0].decide(id(9), says(true, "ada", 1)).await.unwrap(), Decided::Missing);
}

async fn a_changed_text_waits_again_and_knows_what_was_approved(bench: Bench) {
    let store = bench.open().await;
    store.ask(text(1, 1, "a.star", 0), 5).await.unwrap();
    store.decide(id(1), says(true, "ada", 1)).await.unwrap();
    assert_eq!(
        store.ask(text(2, 1, "a.star", 100_000), 5).await.unwrap(),
        Asked::Approved(id(1)),
        "it stands"
    );
    let changed = store.ask(text(3, 2, "a.star", 2), 5).await.unwrap();
    assert_eq!(changed, Asked::Pending { id: id(3), modified: true });
    let (own, before) = store.approval(id(3), at(3)).await.unwrap().unwrap();
    assert_eq!(own.entry.status, ApprovalStatus::Modified);
    assert_eq!(before.unwrap().entry.id, id(1));
    assert_eq!(
        store.ask(text(4, 3, "A.star", 2), 5).await.unwrap(),
        pending(4),
        "another name is another text"
    );
    let listed = store.approvals(true, at(3)).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|entry| (entry.id.clone(), entry.status)).collect();
    let expected = [
        (id(1), ApprovalStatus::Approved),
        (id(3), ApprovalStatus::Modified),
        (id(4), ApprovalStatus::Pending),
    ];
    assert_eq!(listed.len(), 3);
    assert!(expected.iter().all(|entry| listed.contains(entry)), "{listed:?}");
    assert_eq!(listed[0], expected[0], "what was decided stands first");
}

async fn a_text_that_was_rejected_stays_so_until_somebody_revises_it(bench: Bench) {
    let store = bench.open().await;
    store.ask(text(1, 1, "a.star", 0), 5).await.unwrap();
    store.decide(id(1), says(false, "ada", 1)).await.unwrap();
    let rejected = Asked::Rejected { id: id(1), reason: Some("no".to_owned()) };
    assert_eq!(store.ask(text(2, 1, "a.star", 2), 5).await.unwrap(), rejected);
    let digest = [1; 32];
    let standing = store.standing(ApprovalKind::Script, "a.star".to_owned(), digest, at(2)).await.unwrap();
    assert_eq!(standing, Some(rejected));
    assert!(matches!(store.decide(id(1), says(true, "bob", 3)).await.unwrap(), Decided::Already(_)));
    let revised = Verdict { revise: true, ..says(true, "bob", 3) };
    assert!(matches!(store.decide(id(1), revised).await.unwrap(), Decided::Done(_)));
    assert_eq!(store.ask(text(3, 1, "a.star", 4), 5).await.unwrap(), Asked::Approved(id(1)));
}

/// How many bytes are kept to be shown, of all entries.
async fn kept(bench: &Bench) -> i64 {
    bench.number("SELECT coalesce(sum(length(shown)), 0) FROM approvals").await
}

async fn a_call_is_kept_to_be_shown_while_somebody_can_decide_or_make_it(bench: Bench) {
    let store = bench.open().await;
    let one = i64::try_from(call(1, 1, "client:a", 0).view.chars().count()).unwrap();
    for number in 1..=4_u8 {
        store.ask(call(number.into(), number, "client:a", 0), 5).await.unwrap();
    }
    store.ask(text(5, 5, "a.star", 0), 5).await.unwrap();
    assert_eq!(kept(&bench).await, 5 * one);
    store.decide(id(1), says(false, "ada", 1)).await.unwrap();
    assert_eq!(kept(&bench).await, 4 * one, "rejected");
    store.decide(id(2), says(true, "ada", 1)).await.unwrap();
    store.decide(id(3), says(true, "ada", 1)).await.unwrap();
    store.decide(id(5), says(false, "ada", 1)).await.unwrap();
    assert_eq!(kept(&bench).await, 4 * one, "a text stays, and what may be made");
    assert!(store.use_up(id(2), at(2)).await.unwrap());
    assert_eq!(kept(&bench).await, 3 * one, "used up");
    store.ask(call(6, 6, "client:a", 60_000), 5).await.unwrap();
    assert_eq!(
        kept(&bench).await,
        2 * one,
        "approved and not made in time, or not decided: the text and the new one"
    );
    let (record, _) = store.approval(id(5), at(60_000)).await.unwrap().unwrap();
    assert_eq!(record.view, "echo {\"text\": \"a\u{fffd}b\"}");
    let (record, _) = store.approval(id(3), at(60_000)).await.unwrap().unwrap();
    assert_eq!((record.view.as_str(), record.entry.status), ("", ApprovalStatus::Expired));
}

async fn a_rejection_of_a_call_taken_back_is_asked_anew(bench: Bench) {
    let store = bench.open().await;
    store.ask(call(1, 1, "client:a", 0), 5).await.unwrap();
    store.decide(id(1), says(false, "ada", 2)).await.unwrap();
    store.reopen(id(1), at(2)).await.unwrap();
    assert_eq!(
        store.ask(call(2, 1, "client:a", 3), 5).await.unwrap(),
        pending(2),
        "with all there is to see"
    );
    store.ask(text(3, 3, "a.star", 0), 5).await.unwrap();
    store.decide(id(3), says(false, "ada", 2)).await.unwrap();
    store.reopen(id(3), at(2)).await.unwrap();
    assert_eq!(store.ask(text(4, 3, "a.star", 3), 5).await.unwrap(), pending(3));
}

async fn a_question_taken_back_was_never_asked(bench: Bench) {
    let store = bench.open().await;
    store.ask(text(1, 1, "a.star", 0), 5).await.unwrap();
    store.withdraw(id(1)).await.unwrap();
    assert_eq!(store.approval(id(1), at(1)).await.unwrap(), None);
    assert_eq!(store.ask(text(2, 1, "a.star", 1), 5).await.unwrap(), pending(2));
    store.decide(id(2), says(true, "ada", 2)).await.unwrap();
    store.withdraw(id(2)).await.unwrap();
    assert_eq!(
        store.ask(text(3, 1, "a.star", 3), 5).await.unwrap(),
        Asked::Approved(id(2)),
        "what was decided stays"
    );
}

on_both!(
    a_call_is_kept_to_be_shown_while_somebody_can_decide_or_make_it,
    a_rejection_of_a_call_taken_back_is_asked_anew,
    a_question_taken_back_was_never_asked,
    an_approved_call_is_made_once,
    a_word_taken_back_waits_again_and_only_that_word,
    an_approved_call_is_not_made_after_its_time,
    of_two_verdicts_at_once_one_counts,
    a_changed_text_waits_again_and_knows_what_was_approved,
    a_text_that_was_rejected_stays_so_until_somebody_revises_it,
    the_same_call_waits_once_even_when_the_principal_is_full,
    an_expired_call_makes_room_and_can_be_asked_again,
    asked_at_once_the_same_call_waits_once,
    asked_at_once_no_more_than_the_limit_wait,
);
