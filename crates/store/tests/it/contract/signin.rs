//! Codes, passwords and the sessions of browsers on either database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use covenant_gate::ports::passkeys::{Added, MOST, NewPasskey, Passkeys as _, Removed};
use covenant_gate::ports::people::{Admitted, People as _};
use covenant_gate::ports::signin::{
    Beginning, Chosen, CodeKind, CodeState, Identity, NewCode, Opening, Proof, Redeeming, SignIns as _,
};
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
    Redeeming::Invite(Chosen::Password(text.to_owned()))
}

fn identity(subject: &str) -> Identity {
    Identity { issuer: "i".to_owned(), subject: subject.to_owned() }
}

fn passkey(number: u8, counter: u32) -> NewPasskey {
    NewPasskey { id: vec![number; 20], key: vec![number, 1, 2, 3], counter }
}

/// Another member of that one's workspace.
async fn another(store: &Store, of: &Developer, handle: &str, number: u64) -> Developer {
    let new = Developer {
        id: DeveloperId::from_random(seed(number)),
        handle: handle.parse().unwrap(),
        ..of.clone()
    };
    assert_eq!(store.admit(new.clone()).await.unwrap(), Admitted::Done(new.clone()));
    new
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
    assert_eq!(begin(12, proof("else")).await, Opening::Gone);
    for number in [13, 14] {
        assert_eq!(begin(number, proof("first")).await, Opening::Done);
    }
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
    assert_eq!(begin(16, proof("first")).await, Opening::Gone, "what was looked at before is good no more");
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
    assert!(store.dismiss(ada.id.clone(), at(30)).await.unwrap().is_some());
    assert!(!is_open(&store, 11, 40).await && is_open(&store, 12, 40).await);
    assert_eq!(store.password(ada.id.clone()).await.unwrap(), None);
    assert_eq!(bench.number("SELECT count(*) FROM oidc_subjects").await, 0);
    assert_eq!(store.redeem(hash(2), password("p"), session(13, 40)).await.unwrap(), CodeState::Unknown);
    let begin = async |proof| store.begin_session(ada.principal(), proof, session(14, 50)).await.unwrap();
    assert_eq!(begin(Proof::Identity(identity("s"))).await, Opening::Gone);
    let Admitted::Done(_) = store.admit(ada.clone()).await.unwrap() else { panic!("she may come back") };
    assert!(!is_open(&store, 11, 50).await, "as the same developer, signed in nowhere");
    assert_eq!(begin(Proof::Password("p".to_owned())).await, Opening::Gone, "and with no way in");
}

async fn nobody_has_more_than_fifty_sessions_and_what_is_over_is_forgotten(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    store.add_code(code(1, CodeKind::Invite, ada.principal())).await.unwrap();
    store.redeem(hash(1), password("p"), session(0, 100)).await.unwrap();
    for number in 1..53 {
        let proof = Proof::Password("p".to_owned());
        let began = store.begin_session(ada.principal(), proof, session(number, 100 + number)).await;
        assert_eq!(began.unwrap(), Opening::Done);
    }
    assert_eq!(bench.number("SELECT count(*) FROM web_sessions").await, 50);
    assert!(!is_open(&store, 2, 200).await && is_open(&store, 3, 200).await, "the longest idle went");
    let operator = Principal::operator();
    let link = NewCode { expires_at: at(30_000), ..code(3, CodeKind::Link, operator.clone()) };
    store.add_code(link).await.unwrap();
    store.redeem(hash(3), Redeeming::Link, session(90, 20_000)).await.unwrap();
    assert_eq!(bench.number("SELECT count(*) FROM web_sessions").await, 1);
    let late = 2 * 86_400_000;
    let newer =
        NewCode { created_at: at(late), expires_at: at(late + 1), ..code(2, CodeKind::Link, operator) };
    store.add_code(newer).await.unwrap();
    assert_eq!(bench.number("SELECT count(*) FROM signin_codes").await, 1);
}

async fn what_was_signed_out_pushes_no_session_out(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    store.add_code(code(1, CodeKind::Invite, ada.principal())).await.unwrap();
    store.redeem(hash(1), password("p"), session(0, 100)).await.unwrap();
    for number in 1..100 {
        let proof = Proof::Password("p".to_owned());
        store.begin_session(ada.principal(), proof, session(number, 100 + number)).await.unwrap();
        assert!(store.end_web_session(hash(number), at(100 + number)).await.unwrap());
    }
    assert!(is_open(&store, 0, 300).await, "the only one that is open stays");
    assert!(bench.number("SELECT count(*) FROM web_sessions").await <= 50, "and what is over goes");
}

async fn whoever_had_a_session_or_a_link_in_a_backup_begins_anew(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    store.add_code(code(1, CodeKind::Invite, ada.principal())).await.unwrap();
    store.redeem(hash(1), password("p"), session(10, 20)).await.unwrap();
    store.add_code(code(2, CodeKind::Invite, ada.principal())).await.unwrap();
    store.add_code(code(3, CodeKind::Link, Principal::operator())).await.unwrap();
    store.add_code(code(4, CodeKind::Link, Principal::operator())).await.unwrap();
    store.redeem(hash(4), Redeeming::Link, session(11, 20)).await.unwrap();
    store.sign_everybody_out().await.unwrap();
    assert!(!is_open(&store, 10, 30).await && !is_open(&store, 11, 30).await);
    for (number, kind) in [(2, CodeKind::Invite), (3, CodeKind::Link)] {
        assert_eq!(store.code(hash(number), kind, at(30)).await.unwrap(), CodeState::Unknown);
    }
    assert_eq!(store.code(hash(1), CodeKind::Invite, at(30)).await.unwrap(), CodeState::Used);
    let proof = Proof::Password("p".to_owned());
    let begun = store.begin_session(ada.principal(), proof, session(12, 40)).await.unwrap();
    assert_eq!(begun, Opening::Done, "the password is hers still");
}

async fn an_identity_is_one_persons_and_an_invite_replaces_every_way_in(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    let mia = another(&store, &ada, "mia", 3).await;
    let link = |subject: &str| Redeeming::Invite(Chosen::Identity(identity(subject)));
    let begin = async |who: &Developer, proof| {
        store.begin_session(who.principal(), proof, session(30, 60)).await.unwrap()
    };
    store.add_code(code(1, CodeKind::Invite, ada.principal())).await.unwrap();
    store.add_code(code(2, CodeKind::Invite, mia.principal())).await.unwrap();
    let good = |who: &Developer| CodeState::Good(who.principal());
    assert_eq!(store.person(identity("s1")).await.unwrap(), None);
    assert_eq!(store.redeem(hash(1), link("s1"), session(11, 20)).await.unwrap(), good(&ada));
    assert_eq!(store.person(identity("s1")).await.unwrap(), Some(ada.handle.clone()));
    assert_eq!(store.redeem(hash(2), link("s1"), session(12, 20)).await.unwrap(), CodeState::Taken);
    assert!(!is_open(&store, 12, 30).await, "nothing is half done");
    assert_eq!(store.code(hash(2), CodeKind::Invite, at(20)).await.unwrap(), good(&mia), "it is good still");
    assert_eq!(store.redeem(hash(2), link("s2"), session(12, 20)).await.unwrap(), good(&mia));
    assert_eq!(begin(&ada, Proof::Identity(identity("s1"))).await, Opening::Done);
    assert_eq!(begin(&ada, Proof::Identity(identity("s2"))).await, Opening::Gone, "hers alone");
    let elsewhere = Identity { issuer: "https://other.example".to_owned(), ..identity("s1") };
    assert_eq!(store.person(elsewhere.clone()).await.unwrap(), None);
    assert_eq!(begin(&ada, Proof::Identity(elsewhere)).await, Opening::Gone);

    store.add_code(code(3, CodeKind::Invite, ada.principal())).await.unwrap();
    assert_eq!(store.redeem(hash(3), link("s1"), session(13, 40)).await.unwrap(), good(&ada), "hers again");
    assert!(!is_open(&store, 11, 50).await && is_open(&store, 13, 50).await);
    store.add_code(code(4, CodeKind::Invite, ada.principal())).await.unwrap();
    store.redeem(hash(4), password("p"), session(14, 50)).await.unwrap();
    assert_eq!(store.person(identity("s1")).await.unwrap(), None, "a password instead");
    store.add_code(code(5, CodeKind::Invite, ada.principal())).await.unwrap();
    let made = Redeeming::Invite(Chosen::Passkey(passkey(1, 0)));
    store.redeem(hash(5), made, session(15, 60)).await.unwrap();
    assert_eq!(store.password(ada.id.clone()).await.unwrap(), None, "a passkey instead");
}

async fn a_passkey_is_one_persons_counts_up_and_the_last_way_in_stays(bench: Bench) {
    let (store, ada) = with_ada(&bench).await;
    let mia = another(&store, &ada, "mia", 3).await;
    store.add_code(code(1, CodeKind::Invite, ada.principal())).await.unwrap();
    let made = Redeeming::Invite(Chosen::Passkey(passkey(1, 5)));
    store.redeem(hash(1), made.clone(), session(11, 20)).await.unwrap();
    store.add_code(code(2, CodeKind::Invite, mia.principal())).await.unwrap();
    assert_eq!(store.redeem(hash(2), made, session(12, 20)).await.unwrap(), CodeState::Taken);
    let (handle, id, kept) = store.passkey(passkey(1, 5).id).await.unwrap().unwrap();
    assert_eq!((handle, id, kept.used_at), (ada.handle.clone(), ada.id.clone(), None));
    assert_eq!(kept.key, passkey(1, 5).key);

    let sessions = AtomicU64::new(20);
    let used = async |who: &Developer, number, counter| {
        let proof = Proof::Passkey { id: passkey(number, 0).id, counter };
        let next = session(sessions.fetch_add(1, Ordering::Relaxed), 70);
        store.begin_session(who.principal(), proof, next).await.unwrap()
    };
    for (counter, became) in [
        (6, Opening::Done),
        (6, Opening::CountedBack),
        (5, Opening::CountedBack),
        (0, Opening::CountedBack),
        (7, Opening::Done),
    ] {
        assert_eq!(used(&ada, 1, counter).await, became, "{counter}");
    }
    assert_eq!(used(&mia, 1, 9).await, Opening::Gone, "another's");
    assert_eq!(used(&ada, 2, 9).await, Opening::Gone, "nobody's");
    assert_eq!(store.passkeys(ada.id.clone()).await.unwrap()[0].used_at, Some(at(70)));

    let add = async |who: &Developer, number| {
        store.add_passkey(who.id.clone(), passkey(number, 0), at(80)).await.unwrap()
    };
    let remove = async |who: &Developer, number| {
        store.remove_passkey(who.id.clone(), passkey(number, 0).id).await.unwrap()
    };
    assert_eq!(remove(&ada, 1).await, Removed::Last);
    assert_eq!((remove(&mia, 1).await, remove(&ada, 9).await), (Removed::Unknown, Removed::Unknown));
    assert_eq!((add(&ada, 1).await, add(&mia, 1).await), (Added::Taken, Added::Taken));
    assert_eq!(add(&ada, 2).await, Added::Done);
    for counter in [0, 0, 3] {
        assert_eq!(used(&ada, 2, counter).await, Opening::Done, "one that does not count says zero");
    }
    assert_eq!(used(&ada, 2, 0).await, Opening::CountedBack);
    assert_eq!((remove(&ada, 1).await, remove(&ada, 2).await), (Removed::Done, Removed::Last));
    for number in 3..=u8::try_from(MOST + 1).unwrap() {
        assert_eq!(add(&ada, number).await, Added::Done, "{number}");
    }
    assert_eq!(add(&ada, 200).await, Added::Full);
    store.dismiss(ada.id.clone(), at(90)).await.unwrap();
    assert_eq!(add(&ada, 201).await, Added::Gone);
    assert!(store.passkey(passkey(2, 0).id).await.unwrap().is_none());
    assert_eq!(bench.number("SELECT count(*) FROM passkeys").await, 0);
}

on_both!(
    of_many_who_use_a_code_at_once_one_does,
    a_code_is_good_for_what_it_was_made_for_until_its_end_or_a_newer_one,
    a_session_ends_by_itself_by_word_by_idleness_and_by_a_new_password,
    whoever_is_dismissed_is_signed_out_and_has_no_way_back,
    nobody_has_more_than_fifty_sessions_and_what_is_over_is_forgotten,
    what_was_signed_out_pushes_no_session_out,
    whoever_had_a_session_or_a_link_in_a_backup_begins_anew,
    an_identity_is_one_persons_and_an_invite_replaces_every_way_in,
    a_passkey_is_one_persons_counts_up_and_the_last_way_in_stays,
);
