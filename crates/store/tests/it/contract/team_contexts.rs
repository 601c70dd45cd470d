//! Published contexts on either database: which of them count, and which took the place of which.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::id::ContextId;
use covenant_team::input::Tool;
use covenant_team::port::TeamTx as _;
use covenant_team::session::{ContextBody, SharedContext};
use serde_json::json;

use super::team::{ODD, developer, peopled, session_id, task_id, workspace};
use super::team_windows::{later, says};
use super::{Bench, at, on_both, seed, together};

fn id(number: u64) -> ContextId {
    ContextId::from_random(seed(number))
}

/// One of Ada's for a repository, published at the moment of its number, for a second.
fn context(number: u64, repo: &str) -> SharedContext {
    SharedContext {
        id: id(number),
        workspace: workspace(1),
        developer: developer(1),
        session: None,
        body: ContextBody { repo: repo.into(), ..ContextBody::default() },
        created_at: at(number),
        expires_at: at(number).plus(Duration::from_secs(1)),
        superseded_by: None,
        revoked_at: None,
    }
}

async fn a_context_is_kept_as_it_is_empty_and_full(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let list = || vec![ODD.to_owned(), String::new()];
    let body = ContextBody {
        title: ODD.into(),
        summary: ODD.repeat(100),
        files_touched: list(),
        next_actions: list(),
        blockers: list(),
        task_ids: vec![task_id(1), task_id(2)],
        repo: ODD.into(),
        branch: ODD.into(),
    };
    let full = SharedContext { session: Some(session_id(1)), body, ..context(2, "") };
    assert_eq!(tx.context(&id(1)).await.unwrap(), None);
    for context in [context(1, ""), full] {
        assert_eq!(tx.publish(&context).await.unwrap(), []);
        assert_eq!(tx.context(&context.id).await.unwrap(), Some(context));
    }
}

async fn what_is_published_takes_the_place_of_what_was_there_for_the_same(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let branch = |context: SharedContext| {
        let body = ContextBody { branch: "b".into(), ..context.body.clone() };
        SharedContext { body, ..context }
    };
    let of_bob = SharedContext { developer: developer(2), ..context(4, "a") };
    for other in [&context(2, "other"), &branch(context(3, "a")), &of_bob] {
        assert_eq!(tx.publish(other).await.unwrap(), []);
    }
    assert_eq!(tx.publish(&context(5, "a")).await.unwrap(), []);
    assert_eq!(tx.publish(&context(6, "a")).await.unwrap(), [id(5)]);
    let replaced = tx.context(&id(5)).await.unwrap().unwrap();
    assert_eq!(replaced, SharedContext { superseded_by: Some(id(6)), ..context(5, "a") });
    tx.revoke(&id(6), at(7)).await.unwrap();
    tx.revoke(&id(6), at(9)).await.unwrap();
    let revoked = tx.context(&id(6)).await.unwrap().unwrap();
    assert_eq!(revoked, SharedContext { revoked_at: Some(at(7)), ..context(6, "a") });
    assert_eq!(tx.publish(&context(8, "a")).await.unwrap(), [], "what was withdrawn is in nobody's way");
    assert_eq!(tx.context(&id(6)).await.unwrap().unwrap().superseded_by, None);
    assert!(tx.revoke(&id(9), at(9)).await.is_err(), "it is not there");
}

async fn only_what_counts_is_told_newest_first(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let of_bob = SharedContext { developer: developer(2), ..context(4, "a") };
    let elsewhere = SharedContext { workspace: workspace(2), developer: developer(3), ..context(5, "a") };
    for context in [&context(1, "a"), &context(2, "b"), &context(3, "c"), &of_bob, &elsewhere] {
        tx.publish(context).await.unwrap();
    }
    tx.publish(&context(6, "b")).await.unwrap();
    tx.revoke(&id(3), at(7)).await.unwrap();
    let (team, now) = (workspace(1), at(10));
    let told = [context(6, "b"), of_bob, context(1, "a")];
    assert_eq!(tx.contexts(&team, None, now, 9).await.unwrap(), told);
    assert_eq!(tx.contexts(&team, None, now, 2).await.unwrap(), told[..2]);
    assert_eq!(
        tx.contexts(&team, Some(&developer(1)), now, 9).await.unwrap(),
        [context(6, "b"), context(1, "a")]
    );
    assert_eq!(tx.contexts(&team, Some(&developer(3)), now, 9).await.unwrap(), [], "it is in another team");
    let ends = context(1, "a").expires_at;
    assert_eq!(tx.contexts(&team, None, ends, 9).await.unwrap(), told[..2], "what ends now is over");
    assert_eq!(tx.contexts(&team, None, at(99_999), 9).await.unwrap(), []);
    let longest = Duration::from_hours(168);
    let long = SharedContext { expires_at: at(9).plus(longest), ..context(9, "long") };
    tx.publish(&long).await.unwrap();
    let last = at(8).plus(longest);
    assert_eq!(tx.contexts(&team, None, last, 9).await.unwrap(), [long], "until the last moment");
}

async fn of_more_than_are_told_at_once_the_number_is_told(bench: Bench) {
    let store = peopled(&bench).await;
    let ask =
        async || says(&store, "bob", Tool::Session, json!({"operation": "get_context"}), later(0)).await;
    for number in 0..130 {
        if number == 100 {
            let told = ask().await;
            assert_eq!((told.message.as_str(), &told.data["left_out"]), ("Active contexts: 100.", &json!(0)));
        }
        let publish = json!({"operation": "publish_context", "title": "Half way", "summary": "s", "branch": format!("b{number}")});
        says(&store, "ada", Tool::Session, publish, later(0)).await;
    }
    let told = ask().await;
    assert!(told.message.starts_with("Active contexts: 130. The 30 oldest are left out"), "{told:?}");
    assert_eq!((&told.data["left_out"], told.data["contexts"].as_array().unwrap().len()), (&json!(30), 100));
}

async fn of_many_who_publish_at_once_one_is_left(bench: Bench) {
    let stores = [peopled(&bench).await, bench.open().await];
    let published = together((1..=24_u64).map(|number| {
        let store = Arc::clone(&stores[usize::try_from(number % 2).unwrap()]);
        async move {
            let mut tx = store.begin_team().await.unwrap();
            let replaced = tx.publish(&context(number, "a")).await.unwrap();
            tx.commit().await.unwrap();
            replaced.len()
        }
    }));
    assert_eq!(published.await.into_iter().sum::<usize>(), 23);
    let mut tx = stores[0].begin_team().await.unwrap();
    assert_eq!(tx.contexts(&workspace(1), None, at(30), 99).await.unwrap().len(), 1);
}

on_both!(
    a_context_is_kept_as_it_is_empty_and_full,
    what_is_published_takes_the_place_of_what_was_there_for_the_same,
    only_what_counts_is_told_newest_first,
    of_more_than_are_told_at_once_the_number_is_told,
    of_many_who_publish_at_once_one_is_left,
);
