//! Codes, passwords and the sessions of browsers on either database.

use std::sync::Arc;

use covenant_gate::ports::people::{Admitted, People as _};
use covenant_gate::ports::signin::{Beginning, CodeKind, CodeState, NewCode, Proof, Redeeming, SignIns as _};
use covenant_model::id::{DeveloperId, WorkspaceId};
use covenant_model::principal::Principal;
use covenant_model::team::{Developer, Role};
use covenant_model::token::TokenHash;
use covenant_store::Store;

use super::{Bench, at, on_both, seed, together};

/// A store with the operator and `ada` in it.
async fn with_ada(bench: &Bench) -> (Arc<Store>, Developer) {
    let store = bench.open().await;
    let workspace = WorkspaceId::from_random(seed(1));
    store.found_local(&workspace, &DeveloperId::from_random(seed(1)), at(1)).await.unwrap();
    let ada = Developer {
        id: DeveloperId::from_random(seed(2)),
        workspace,
        handle: "ada".parse().unwrap(),
        role: Role::Member,
        private: false,
        created_at: at(2),
        removed_at: None,
    };
    assert_eq!(store.admit(ada.clone()).await.unwrap(), Admitted::Done(ada.clone()));
    (store, ada)
}

fn hash(number: u64) -> TokenHash {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    TokenHash(bytes)
}

fn code(number: u64, kind: CodeKind, principal: Principal) -> NewCode {
    NewCode { hash: hash(number), kind, principal, created_at: at(10), expires_at: at(1000) }
}

fn session(number: u64, millis: u64) -> Beginning {
    Beginning { hash: hash(number), at: at(millis), expires_at: at(millis + 5000) }
}

fn password(text: &str) -> Redeeming {
    Redeeming::Password(text.to_owned())
}

async fn is_open(store: &Store, number: u64, now: u64) -> bool {
    store.web_session(hash(number), at(now), at(0)).await.unwrap().is_some()
}

async fn of_many_who_use_a_code_at_once_one_does(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    let stores = [store, bench.open().await];
    for round in 0..4_u64 {
        let first = round * 100;
        let of_invite = round % 2 == 0;
        let new = if of_invite {
            code(first, CodeKind::Invite, ada.principal())
        } else {
            code(first, CodeKind::Link, Principal::operator())
        };
        assert!(stores[0].add_code(new).await.unwrap());
        let using = (1..=6_u64).map(|number| {
            let store = Arc::clone(&stores[usize::from(number % 2 == 0)]);
            async move {
                let using = if of_invite { password(&number.to_string()) } else { Redeeming::Link };
                let became = store.redeem(hash(first), using, session(first + number, 20)).await.unwrap();
                (number, became)
            }
        });
        let became = together(using).await;
        let (won, lost): (Vec<_>, Vec<_>) =
            became.into_iter().partition(|(_, it)| matches!(it, CodeState::Good(_)));
        assert_eq!((won.len(), lost.len()), (1, 5));
        assert!(lost.iter().all(|(_, it)| *it == CodeState::Used));
        for number in 1..=6 {
            assert_eq!(is_open(&stores[1], first + number, 30).await, number == won[0].0, "{number}");
        }
        if of_invite {
            let kept = stores[1].password(ada.id.clone()).await.unwrap();
            assert_eq!(kept, Some(won[0].0.to_string()), "the password is the winner's");
        }
    }
}

async fn a_code_is_good_for_what_it_was_made_for_until_its_end_or_a_newer_one(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    let state = async |number, kind, now| store.code(hash(number), kind, at(now)).await.unwrap();
    assert!(store.add_code(code(1, CodeKind::Invite, ada.principal())).await.unwrap());
    assert!(store.add_code(code(2, CodeKind::Link, Principal::operator())).await.unwrap());
    let nobody = Principal::developer("eve").unwrap();
    assert!(!store.add_code(code(3, CodeKind::Invite, nobody)).await.unwrap());
    assert!(!store.add_code(code(3, CodeKind::Link, Principal::client("x").unwrap())).await.unwrap());
    for _ in 0..2 {
        assert_eq!(
            state(1, CodeKind::Invite, 999).await,
            CodeState::Good(ada.principal()),
            "looking uses nothing"
        );
    }
    assert_eq!(state(1, CodeKind::Link, 20).await, CodeState::Unknown);
    assert_eq!(state(1, CodeKind::Invite, 1000).await, CodeState::Expired);
    assert_eq!(store.redeem(hash(1), Redeeming::Link, session(51, 20)).await.unwrap(), CodeState::Unknown);
    assert_eq!(store.redeem(hash(2), password("p"), session(51, 20)).await.unwrap(), CodeState::Unknown);
    assert_eq!(store.redeem(hash(1), password("p"), session(51, 1000)).await.unwrap(), CodeState::Expired);
    assert_eq!(store.redeem(hash(9), password("p"), session(51, 20)).await.unwrap(), CodeState::Unknown);
    assert_eq!(store.password(ada.id.clone()).await.unwrap(), None);

    assert!(store.add_code(code(4, CodeKind::Invite, ada.principal())).await.unwrap());
    assert_eq!(state(1, CodeKind::Invite, 20).await, CodeState::Unknown, "a newer one ends it");
    let good = CodeState::Good(ada.principal());
    assert_eq!(store.redeem(hash(4), password("p"), session(52, 20)).await.unwrap(), good);
    assert_eq!(state(4, CodeKind::Invite, 20).await, CodeState::Used);
    assert!(store.add_code(code(5, CodeKind::Invite, ada.principal())).await.unwrap());
    assert_eq!(state(4, CodeKind::Invite, 20).await, CodeState::Used, "what was used stays so");
    assert_eq!(state(2, CodeKind::Link, 20).await, CodeState::Good(Principal::operator()));
}

async fn a_session_ends_by_itself_by_word_by_idleness_and_by_a_new_password(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    store.add_code(code(1, CodeKind::Invite, ada.principal())).await.unwrap();
    store.redeem(hash(1), password("first"), session(11, 20)).await.unwrap();
    let begin =
        async |number, proof| store.begin_session(ada.principal(), proof, session(number, 30)).await.unwrap();
    let proof = |text: &str| Proof::Password(text.to_owned());
    assert!(!begin(12, proof("else")).await);
    assert!(begin(13, proof("first")).await && begin(14, Proof::Other).await);
    assert!(!is_open(&store, 12, 40).await && is_open(&store, 13, 40).await);
    assert!(is_open(&store, 13, 5029).await && !is_open(&store, 13, 5030).await, "it has an end");

    let known = store.web_session(hash(13), at(40), at(29)).await.unwrap().unwrap();
    assert_eq!((known.principal, known.created_at, known.expires_at), (ada.principal(), at(30), at(5030)));
    assert!(store.web_session(hash(13), at(40), at(30)).await.unwrap().is_none(), "idle since then");
    store.touch_web_session(hash(13), at(100)).await.unwrap();
    store.touch_web_session(hash(13), at(50)).await.unwrap();
    let known = store.web_session(hash(13), at(110), at(99)).await.unwrap().unwrap();
    assert_eq!(known.used_at, at(100), "a clock that goes back changes nothing");

    assert!(store.end_web_session(hash(13), at(120)).await.unwrap());
    assert!(!store.end_web_session(hash(13), at(121)).await.unwrap());
    assert!(!is_open(&store, 13, 130).await && is_open(&store, 14, 130).await);

    store.add_code(code(2, CodeKind::Invite, ada.principal())).await.unwrap();
    store.redeem(hash(2), password("second"), session(15, 140)).await.unwrap();
    assert!(!is_open(&store, 11, 150).await && !is_open(&store, 14, 150).await);
    assert!(is_open(&store, 15, 150).await);
    assert!(!begin(16, proof("first")).await, "what was looked at before is good no more");
}

async fn whoever_is_dismissed_is_signed_out_and_has_no_way_back(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    store.add_code(code(1, CodeKind::Invite, ada.principal())).await.unwrap();
    store.redeem(hash(1), password("p"), session(11, 20)).await.unwrap();
    store.add_code(code(2, CodeKind::Invite, ada.principal())).await.unwrap();
    store.add_code(code(3, CodeKind::Link, Principal::operator())).await.unwrap();
    store.redeem(hash(3), Redeeming::Link, session(12, 20)).await.unwrap();
    bench
        .raw(&format!(
            "INSERT INTO oidc_subjects (issuer, subject, developer_id, created_at) VALUES ('i', 's', '{}', 1)",
            ada.id
        ))
        .await;
    assert!(store.dismiss(ada.id.clone(), at(30)).await.unwrap());
    assert!(!is_open(&store, 11, 40).await && is_open(&store, 12, 40).await);
    assert_eq!(store.password(ada.id.clone()).await.unwrap(), None);
    assert_eq!(bench.number("SELECT count(*) FROM oidc_subjects").await, 0);
    assert_eq!(store.redeem(hash(2), password("p"), session(13, 40)).await.unwrap(), CodeState::Unknown);
    let proof = Proof::Other;
    assert!(!store.begin_session(ada.principal(), proof.clone(), session(14, 40)).await.unwrap());
    let Admitted::Done(_) = store.admit(ada.clone()).await.unwrap() else { panic!("she may come back") };
    assert!(!is_open(&store, 11, 50).await, "as the same developer, signed in nowhere");
    assert!(store.begin_session(ada.principal(), proof, session(14, 50)).await.unwrap());
}

async fn nobody_has_more_than_fifty_sessions_and_what_is_over_is_forgotten(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    for number in 0..53 {
        let began = store.begin_session(ada.principal(), Proof::Other, session(number, 100 + number)).await;
        assert!(began.unwrap());
    }
    assert_eq!(bench.number("SELECT count(*) FROM web_sessions").await, 50);
    assert!(!is_open(&store, 2, 200).await && is_open(&store, 3, 200).await, "the longest idle went");
    let operator = Principal::operator();
    assert!(store.begin_session(operator.clone(), Proof::Other, session(90, 20_000)).await.unwrap());
    assert_eq!(bench.number("SELECT count(*) FROM web_sessions").await, 1);
    store.add_code(code(1, CodeKind::Link, operator.clone())).await.unwrap();
    let late = 2 * 86_400_000;
    let newer =
        NewCode { created_at: at(late), expires_at: at(late + 1), ..code(2, CodeKind::Link, operator) };
    store.add_code(newer).await.unwrap();
    assert_eq!(bench.number("SELECT count(*) FROM signin_codes").await, 1);
}

on_both!(
    of_many_who_use_a_code_at_once_one_does,
    a_code_is_good_for_what_it_was_made_for_until_its_end_or_a_newer_one,
    a_session_ends_by_itself_by_word_by_idleness_and_by_a_new_password,
    whoever_is_dismissed_is_signed_out_and_has_no_way_back,
    nobody_has_more_than_fifty_sessions_and_what_is_over_is_forgotten,
);
