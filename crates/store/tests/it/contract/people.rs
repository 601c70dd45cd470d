//! Workspaces, developers and their tokens on either database.

use std::sync::Arc;

use covenant_gate::ports::people::{Admitted, Named, People as _, TokenKept};
use covenant_gate::ports::{Badge, Grants as _, TokenRecord, Tokens as _};
use covenant_model::id::{DeveloperId, TokenId, WorkspaceId};
use covenant_model::principal::AgentType;
use covenant_model::team::{Developer, Handle, Role, WorkspaceName};
use covenant_model::token;
use covenant_store::{EventsWanted, Store};
use covenant_team::event::Log;
use serde_json::{Map, Value};

use super::grants::grant;
use super::{Bench, at, on_both, seed, together};

fn name(text: &str) -> WorkspaceName {
    text.parse().unwrap()
}

fn handle(text: &str) -> Handle {
    text.parse().unwrap()
}

fn workspace(number: u64) -> WorkspaceId {
    WorkspaceId::from_random(seed(number))
}

fn developer(number: u64, text: &str, workspace: &WorkspaceId) -> Developer {
    Developer {
        id: DeveloperId::from_random(seed(number)),
        workspace: workspace.clone(),
        handle: handle(text),
        role: Role::Member,
        private: false,
        created_at: at(number),
        removed_at: None,
    }
}

fn token(number: u64, text: &str, label: &str) -> TokenRecord {
    let mut random = [3; 32];
    random[..8].copy_from_slice(&number.to_be_bytes());
    TokenRecord {
        id: TokenId::from_random(seed(number)),
        hash: token::hash(token::from_random(random).reveal()).unwrap(),
        principal: (&handle(text)).into(),
        label: label.to_owned(),
        badge: Badge { agent_type: Some(AgentType::Codex), may_approve: false },
        created_at: at(number),
        revoked_at: None,
    }
}

/// A store with the operator in it, and the id of their workspace.
async fn founded(bench: &Bench) -> (Arc<Store>, WorkspaceId) {
    let store = bench.open().await;
    store.found_local(&workspace(1), &DeveloperId::from_random(seed(1)), at(1)).await.unwrap();
    (store, workspace(1))
}

async fn admitted(store: &Store, developer: Developer) -> Developer {
    match store.admit(developer).await.unwrap() {
        Admitted::Done(developer) => developer,
        taken => panic!("the handle is taken: {taken:?}"),
    }
}

/// What was written down of somebody's tokens, the oldest first.
async fn noted(store: &Store, developer: &DeveloperId) -> Vec<(String, String, Map<String, Value>)> {
    let wanted = EventsWanted {
        log: Log::Work,
        workspace: None,
        developer: Some(developer.clone()),
        after: None,
        limit: 99,
    };
    let events = store.team_events(wanted).await.unwrap().into_iter().rev();
    events.map(|it| (it.event, it.status, it.payload)).collect()
}

async fn the_operator_is_founded_once_by_however_many_daemons(bench: Bench) {
    let stores = [bench.open().await, bench.open().await];
    let begun = together((0..8_u64).map(|number| {
        let store = Arc::clone(&stores[usize::from(number % 2 == 0)]);
        async move {
            let developer = DeveloperId::from_random(seed(number));
            store.found_local(&workspace(number), &developer, at(number)).await
        }
    }));
    assert!(begun.await.into_iter().all(|begun| begun.is_ok()));
    let (workspaces, developers) =
        (stores[0].workspaces().await.unwrap(), stores[1].developers().await.unwrap());
    assert_eq!((workspaces.len(), developers.len()), (1, 1));
    assert_eq!(workspaces[0].name, WorkspaceName::local());
    let local = &developers[0];
    assert_eq!(
        (&local.handle, local.role, &local.workspace),
        (&Handle::local(), Role::Admin, &workspaces[0].id)
    );
}

async fn the_first_name_is_the_operators_workspace_and_the_next_is_another(bench: Bench) {
    let (store, local) = founded(&bench).await;
    let Named::First(first) = store.name_workspace(workspace(2), name("Acme"), at(2)).await.unwrap() else {
        panic!("the first name makes no workspace");
    };
    assert_eq!((first.id, first.name, first.created_at), (local.clone(), name("Acme"), at(1)));
    store.found_local(&workspace(8), &DeveloperId::from_random(seed(8)), at(8)).await.unwrap();
    assert_eq!(
        store.workspaces().await.unwrap().len(),
        1,
        "a later start finds the operator under the new name"
    );
    for taken in ["Acme", "acme", "ACME"] {
        assert_eq!(store.name_workspace(workspace(3), name(taken), at(3)).await.unwrap(), Named::Taken);
    }
    assert!(matches!(
        store.name_workspace(workspace(4), name("Other"), at(4)).await.unwrap(),
        Named::New(other) if other.id == workspace(4)
    ));
    let names: Vec<_> = store.workspaces().await.unwrap().into_iter().map(|it| (it.id, it.name)).collect();
    assert_eq!(names, [(local, name("Acme")), (workspace(4), name("Other"))]);
}

async fn of_many_who_want_a_name_or_a_handle_at_once_one_gets_it(bench: Bench) {
    let (store, local) = founded(&bench).await;
    store.name_workspace(workspace(2), name("acme"), at(2)).await.unwrap();
    let stores = [store, bench.open().await];
    let named = together((10..26_u64).map(|number| {
        let store = Arc::clone(&stores[usize::from(number % 2 == 0)]);
        async move { store.name_workspace(workspace(number), name("other"), at(number)).await.unwrap() }
    }));
    let new = named.await.into_iter().filter(|named| matches!(named, Named::New(_))).count();
    assert_eq!(new, 1);
    let admitted = together((10..26_u64).map(|number| {
        let (store, local) = (Arc::clone(&stores[usize::from(number % 2 == 0)]), local.clone());
        async move { store.admit(developer(number, "ada", &local)).await.unwrap() }
    }));
    let done = admitted.await.into_iter().filter(|it| matches!(it, Admitted::Done(_))).count();
    assert_eq!(done, 1);
}

async fn developers_come_back_as_they_were_admitted(bench: Bench) {
    let (store, local) = founded(&bench).await;
    let ada = Developer { role: Role::Admin, private: true, ..developer(5, "ada", &local) };
    let bob = developer(4, "bob", &local);
    for new in [&ada, &bob] {
        admitted(&store, new.clone()).await;
    }
    let all = store.developers().await.unwrap();
    assert_eq!(all[1..], [bob, ada.clone()], "the oldest first");
    assert_eq!(store.developer(handle("ada")).await.unwrap(), Some(ada));
    assert_eq!(store.developer(handle("eve")).await.unwrap(), None);
}

async fn a_handle_stays_with_who_had_it(bench: Bench) {
    let (store, local) = founded(&bench).await;
    let Named::First(_) = store.name_workspace(workspace(2), name("acme"), at(2)).await.unwrap() else {
        panic!("the first name is the operator's");
    };
    store.name_workspace(workspace(3), name("other"), at(3)).await.unwrap();
    let ada = admitted(&store, developer(5, "ada", &local)).await;
    assert_eq!(store.admit(developer(6, "ada", &local)).await.unwrap(), Admitted::Taken);
    assert_eq!(store.dismiss(ada.id.clone(), at(7)).await.unwrap(), Some(Vec::new()));
    assert_eq!(store.dismiss(ada.id.clone(), at(8)).await.unwrap(), None);
    assert_eq!(store.developer(ada.handle.clone()).await.unwrap(), None);
    assert_eq!(
        store.admit(developer(9, "ada", &workspace(3))).await.unwrap(),
        Admitted::Gone(local.clone()),
        "another workspace would get her work"
    );
    let again = Developer { role: Role::Admin, private: true, ..developer(9, "ada", &local) };
    let again = admitted(&store, again).await;
    assert_eq!(again, Developer { role: Role::Admin, private: true, ..ada }, "the same developer");
    assert_eq!(store.developer(handle("ada")).await.unwrap(), Some(again));
}

async fn a_token_is_kept_for_who_is_here_under_a_free_label_and_up_to_a_limit(bench: Bench) {
    let (store, local) = founded(&bench).await;
    let ada = admitted(&store, developer(5, "ada", &local)).await;
    let before = store.revision().await.unwrap();
    let add = async |number, label: &str| {
        store.add_token_of(ada.id.clone(), token(number, "ada", label), 2).await.unwrap()
    };
    assert_eq!(add(1, "laptop").await, TokenKept::Done);
    assert_eq!(store.revision().await.unwrap(), before + 1, "other daemons are told");
    assert_eq!(add(2, "laptop").await, TokenKept::LabelTaken);
    assert_eq!(add(3, "desk").await, TokenKept::Done);
    assert_eq!(add(4, "third").await, TokenKept::Full);
    assert_eq!(store.tokens().await.unwrap(), [token(1, "ada", "laptop"), token(3, "ada", "desk")]);
    assert!(store.revoke_token(token(1, "ada", "").id, at(8)).await.unwrap());
    assert_eq!(store.revision().await.unwrap(), before + 3);
    assert!(!store.revoke_token(token(1, "ada", "").id, at(9)).await.unwrap());
    assert!(!store.revoke_token(token(99, "ada", "").id, at(9)).await.unwrap());
    assert_eq!(add(5, "laptop").await, TokenKept::Done);
    let noted = noted(&store, &ada.id).await;
    let told: Vec<_> =
        noted.iter().map(|it| (it.0.as_str(), it.1.as_str(), it.2["label"].as_str().unwrap())).collect();
    assert_eq!(
        told,
        [
            ("token.created", "valid", "laptop"),
            ("token.created", "valid", "desk"),
            ("token.created", "valid", "laptop"),
            ("token.revoked", "revoked", "laptop"),
        ],
        "in the order of their moments"
    );
    assert_eq!(noted[0].2["agent_type"], "codex");
    let ends: Vec<_> = store.tokens().await.unwrap().into_iter().map(|token| token.revoked_at).collect();
    assert_eq!(ends, [Some(at(8)), None, None]);
}

async fn who_is_dismissed_keeps_no_token_however_the_two_meet(bench: Bench) {
    let (store, local) = founded(&bench).await;
    let stores = [store, bench.open().await];
    for round in 0..6_u64 {
        let who = format!("dev{round}");
        let ada = admitted(&stores[0], developer(100 + round, &who, &local)).await;
        let adding = (0..6_u64).map(|number| {
            let (store, ada, who) =
                (Arc::clone(&stores[usize::from(number % 2 == 0)]), ada.clone(), who.clone());
            async move {
                if number == 3 {
                    assert!(store.dismiss(ada.id, at(900)).await.unwrap().is_some());
                } else {
                    let token = token(1000 + round * 10 + number, &who, &number.to_string());
                    store.add_token_of(ada.id, token, 10).await.unwrap();
                }
            }
        });
        together(adding).await;
        let left = stores[0].tokens().await.unwrap().into_iter().filter(|token| token.revoked_at.is_none());
        assert_eq!(left.count(), 0);
        let noted = noted(&stores[0], &ada.id).await;
        let count = |event: &str| noted.iter().filter(|it| it.0 == event).count();
        assert_eq!(count("token.created"), count("token.revoked"), "{noted:?}");
        let late = stores[0].add_token_of(ada.id, token(2000 + round, &who, "late"), 10).await.unwrap();
        assert_eq!(late, TokenKept::NoDeveloper);
    }
}

async fn who_is_dismissed_loses_the_grants_that_name_them_in_the_same_turn(bench: Bench) {
    let (store, local) = founded(&bench).await;
    let ada = admitted(&store, developer(5, "ada", &local)).await;
    let to = |number, subject: &str| {
        let mut given = grant(number);
        given.grant.subject = subject.parse().unwrap();
        given
    };
    for given in [to(1, "dev:ada"), to(2, "dev:ada2"), to(3, "client:ada"), to(4, "dev:ada"), to(5, "any")] {
        store.add_grant(given).await.unwrap();
    }
    assert!(store.revoke_grant(grant(4).grant.id, at(6)).await.unwrap());
    let before = store.revision().await.unwrap();
    assert_eq!(store.dismiss(ada.id.clone(), at(7)).await.unwrap(), Some(vec![grant(1).grant.id]));
    assert!(store.revision().await.unwrap() > before, "other daemons are told");
    let left = async || {
        let grants = store.grants().await.unwrap();
        grants.into_iter().map(|held| held.grant.id).collect::<Vec<_>>()
    };
    assert_eq!(left().await, [2, 3, 5].map(|number| grant(number).grant.id));
    admitted(&store, developer(9, "ada", &local)).await;
    assert_eq!(left().await, [2, 3, 5].map(|number| grant(number).grant.id), "nor with another invite");
}

async fn a_bad_developer_is_an_error_that_names_table_and_id(bench: Bench) {
    let (store, local) = founded(&bench).await;
    let ada = admitted(&store, developer(5, "ada", &local)).await;
    for damage in ["handle = 'Not A Handle'", "role = 'king'", "workspace_id = 'x'"] {
        if damage.starts_with("workspace_id") && !bench.is_sqlite() {
            continue; // The server itself refuses that.
        }
        bench.raw("UPDATE developers SET handle = 'ada', role = 'member' WHERE handle <> 'local'").await;
        let sql = format!("UPDATE developers SET {damage} WHERE id = '{}'", ada.id);
        bench
            .raw(&format!("{}{sql}", if bench.is_sqlite() { "PRAGMA foreign_keys = OFF; " } else { "" }))
            .await;
        let fault = store.developers().await.unwrap_err();
        assert!(fault.to_string().contains("`developers`"), "{fault}");
        assert!(fault.to_string().contains(ada.id.as_str()), "{fault}");
    }
}

on_both!(
    the_operator_is_founded_once_by_however_many_daemons,
    the_first_name_is_the_operators_workspace_and_the_next_is_another,
    of_many_who_want_a_name_or_a_handle_at_once_one_gets_it,
    developers_come_back_as_they_were_admitted,
    a_handle_stays_with_who_had_it,
    a_token_is_kept_for_who_is_here_under_a_free_label_and_up_to_a_limit,
    who_is_dismissed_keeps_no_token_however_the_two_meet,
    who_is_dismissed_loses_the_grants_that_name_them_in_the_same_turn,
    a_bad_developer_is_an_error_that_names_table_and_id,
);
