//! What searching promises, whatever it is given.

use covenant_model::time::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::work::{Action, Brief};

fn titled(title: &str) -> Brief {
    Brief { title: title.to_owned(), ..Brief::default() }
}

fn described(title: &str, description: &str) -> Brief {
    Brief { description: description.to_owned(), ..titled(title) }
}

fn index_of(briefs: &[Brief]) -> Index<usize> {
    let mut index = Index::default();
    briefs.iter().enumerate().for_each(|(at, brief)| index.put(at, &Features::of(brief), Standing::Open));
    index
}

fn one(candidate: &Brief, query: &Brief) -> Match<usize> {
    let index = index_of(std::slice::from_ref(candidate));
    index.ranked(&Query::of(query), &Among::all(), 1).remove(0)
}

#[test]
fn equal_work_scores_one_and_other_work_is_not_told() {
    let index = index_of(&[
        titled("Add retry with backoff to the HTTP client"),
        titled("Translate the invoice page"),
    ]);
    let query = Query::of(&titled("add retry with backoff to the http client."));
    let found = index.search(&query, &Among::all(), 10);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!((found[0].score - 1.0).abs() < 1e-9 && is_escalatable(&found[0]), "{found:?}");
    assert!(found[0].same_title);
}

#[test]
fn the_same_title_is_told_and_escalates_whatever_the_texts_say() {
    let long =
        "The parser drops comments, the lexer loses positions, and nobody knows why the tree is unbalanced.";
    let found =
        one(&described("Rewrite the importer", long), &described("Rewrite the importer", "Quarterly goals."));
    assert!(is_escalatable(&found), "{found:?}");
    let found = one(&titled("Fix bug"), &titled("fix bug!"));
    assert!(found.is_warned() && found.low_information && !is_escalatable(&found), "{found:?}");
}

#[test]
fn what_speaks_against_a_match_suppresses_the_escalation_and_never_the_warning() {
    let brief = titled("Add retry with backoff to the HTTP client");
    let with = |action, component: &str| Brief {
        action: Some(action),
        component: Some(component.to_owned()),
        ..brief.clone()
    };
    let plain = one(&with(Action::Create, "server"), &with(Action::Create, "Server"));
    assert!(is_escalatable(&plain), "{plain:?}");
    let opposed = one(&with(Action::Create, "server"), &with(Action::Remove, "server"));
    assert!(opposed.action_divergent && !is_escalatable(&opposed) && opposed.is_warned());
    let apart = one(&with(Action::Create, "server"), &with(Action::Create, "client"));
    assert!(apart.component_divergent && !is_escalatable(&apart) && apart.is_warned());
    for other in [&opposed, &apart] {
        assert!((other.score - plain.score).abs() < 1e-9, "the score does not change");
    }
}

#[test]
fn ended_work_is_told_within_its_window_and_never_escalates() {
    let brief = titled("Add retry with backoff to the HTTP client");
    let mut index = Index::default();
    index.put(1, &Features::of(&brief), Standing::Ended(Timestamp::from_millis(5_000)));
    let since = |millis| Among { except: None, ended_since: Timestamp::from_millis(millis) };
    let found = index.search(&Query::of(&brief), &since(5_000), 10);
    assert!(found.len() == 1 && !found[0].open && !is_escalatable(&found[0]), "{found:?}");
    assert!(index.search(&Query::of(&brief), &since(5_001), 10).is_empty());
    index.put(1, &Features::of(&brief), Standing::Open);
    assert!(is_escalatable(&index.search(&Query::of(&brief), &since(9_000), 10)[0]));
    let except = Among { except: Some(&1), ..Among::all() };
    assert!(index.search(&Query::of(&brief), &except, 10).is_empty());
}

#[test]
fn files_inform_and_count_for_nothing() {
    let with = |title: &str, files: &[&str]| Brief {
        target_files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..titled(title)
    };
    let shared = one(
        &with("Add retry to the client", &["src/http.rs"]),
        &with("Retry in the client", &["./src/http.rs", "a.rs"]),
    );
    let apart = one(
        &with("Add retry to the client", &["src/tcp.rs"]),
        &with("Retry in the client", &["src/http.rs"]),
    );
    assert_eq!(shared.file_overlap, ["./src/http.rs"]);
    assert!(shared.reason.contains("same file ./src/http.rs"), "{}", shared.reason);
    assert!(apart.file_overlap.is_empty() && (shared.score - apart.score).abs() < 1e-9);
}

#[test]
fn a_reason_names_what_is_shared_and_what_speaks_against_it() {
    let found = one(&titled("Upgrade kafka client to 3.4.0"), &titled("Bump the kafka client to 2.8.2"));
    assert!(found.reason.starts_with("titles share `kafka`"), "{}", found.reason);
    assert!(found.reason.ends_with("but it names something else than `2.8.2`"), "{}", found.reason);
}

#[test]
fn an_index_knows_only_what_is_in_it_whatever_was_there_before() {
    let briefs: Vec<Brief> = (0..60)
        .map(|n| {
            described(
                &format!("Port module{n} to the new parser"),
                &format!("step {} of word{}", n % 7, n % 11),
            )
        })
        .collect();
    let mut used = index_of(&briefs);
    for round in 0..3 {
        (0..60).filter(|at| at % 3 == round % 2).for_each(|at| assert!(used.remove(&at)));
        (0..60).rev().for_each(|at| used.put(at, &Features::of(&briefs[at]), Standing::Open));
    }
    (30..60).for_each(|at| assert!(used.remove(&at)));
    assert!(!used.remove(&30));
    let fresh = index_of(&briefs[..30]);
    let query = Query::of(&titled("Port module7 to the parser"));
    assert_eq!(used.ranked(&query, &Among::all(), 20), fresh.ranked(&query, &Among::all(), 20));
    (0..30).for_each(|at| assert!(used.remove(&at)));
    assert!(used.is_empty() && used.ranked(&query, &Among::all(), 20).is_empty());
}

#[test]
fn what_has_to_be_decided_is_not_crowded_out_by_what_is_only_alike() {
    let mut briefs: Vec<Brief> =
        (0..12).map(|n| titled(&format!("Import the addresses of customers, batch {n}"))).collect();
    briefs.push(titled("Addresses of customers: importing them"));
    let index = index_of(&briefs);
    let found =
        index.search(&Query::of(&titled("Import the addresses of customers, batch 777")), &Among::all(), 5);
    assert!(
        found.len() == 5 && found.iter().any(|found| found.id == 12 && is_escalatable(found)),
        "{found:?}"
    );
    assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score), "{found:?}");
}

#[test]
fn other_scripts_emoji_and_code_find_their_like() {
    for (one_title, other) in [
        ("修复登录页面的崩溃", "登录页面崩溃修复"),
        ("ログイン画面のクラッシュを修正する", "ログイン画面クラッシュの修正"),
        ("로그인 페이지 오류 수정", "로그인 페이지의 오류를 수정"),
        ("Исправить падение страницы входа", "Падение страницы входа: исправить"),
        ("🚀🔥 deploy", "deploy 🚀 🔥"),
        ("fn main() { retry(client) }", "fn main() { retry(&client); }"),
    ] {
        let found = one(&titled(one_title), &titled(other));
        assert!(found.is_warned(), "{one_title} / {other}: {found:?}");
    }
}

#[test]
fn long_texts_are_bounded_and_still_found() {
    let log =
        "2026-11-16T08:30:00Z ERROR worker-7 panicked at src/pool.rs:88: index out of bounds\n".repeat(2_000);
    let found =
        one(&described("Worker panics in the pool", &log), &described("Pool worker panics", &log[..4_000]));
    assert!(found.score > ESCALATION && found.reason.len() < 1_000, "{found:?}");
    let features =
        Features::of(&titled(&(0..5_000).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ")));
    assert!(features.terms.len() <= features::TERMS + 1 && features.title.len() <= 48);
}

proptest! {
    #[test]
    fn nothing_anybody_writes_makes_it_panic_or_leave_its_bounds(
        texts in prop::collection::vec((".{0,120}", "\\PC{0,300}", prop::collection::vec(".{0,20}", 0..4)), 1..6),
    ) {
        let briefs: Vec<Brief> = texts
            .into_iter()
            .map(|(title, description, target_files)| Brief { target_files, ..described(&title, &description) })
            .collect();
        let index = index_of(&briefs);
        for (at, brief) in briefs.iter().enumerate() {
            let found = index.ranked(&Query::of(brief), &Among::all(), 10);
            prop_assert!(found.iter().all(|found| (0.0..=1.0).contains(&found.score) && found.reason.chars().count() < 800));
            prop_assert!(found.iter().any(|found| found.id == at && found.same_title));
            prop_assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }
    }

    #[test]
    fn a_score_is_mutual_but_for_what_the_team_wrote(one_title in "[a-zA-Z_.0-9 ]{1,60}", other in "[a-zA-Z_.0-9 ]{1,60}") {
        let briefs = [titled(&one_title), titled(&other)];
        let index = index_of(&briefs);
        let score = |query: &Brief, id: usize| {
            let found = index.ranked(&Query::of(query), &Among::all(), 10);
            found.into_iter().find(|found| found.id == id).map(|found| (found.score.to_bits(), found.identifiers_differ, found.action_divergent))
        };
        prop_assert_eq!(score(&briefs[0], 1), score(&briefs[1], 0));
    }
}
