//! Members, sessions, the state of repositories and companions on either database.

use covenant_model::principal::Principal;
use covenant_team::port::{Member, TeamTx as _};
use covenant_team::session::{Companion, Session, Snapshot};

use super::team::{ODD, developer, peopled, session_id, workspace};
use super::{Bench, at, on_both};

async fn whoever_calls_is_the_developer_of_that_handle_or_the_local_one(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let member = |number, handle: &str, private| {
        Some(Member { id: developer(number), workspace: workspace(1), handle: handle.into(), private })
    };
    for (principal, found) in [
        ("user@local", member(0, "local", false)),
        ("client:ada", member(0, "local", false)),
        ("agent:bob@team/x", None),
        ("dev:ada", member(1, "ada", false)),
        ("dev:bob", member(2, "bob", true)),
        ("dev:Ada", None),
        ("dev:nobody", None),
        ("dev:gone", None),
    ] {
        let principal: Principal = principal.parse().unwrap();
        assert_eq!(tx.member(&principal).await.unwrap(), found, "{principal}");
    }
    assert_eq!(tx.member_called(&workspace(1), "ada").await.unwrap(), member(1, "ada", false));
    for handle in ["eve", "gone", ""] {
        assert_eq!(tx.member_called(&workspace(1), handle).await.unwrap(), None, "{handle}");
    }
    assert_eq!(tx.member_with(&developer(2)).await.unwrap(), member(2, "bob", true));
    assert_eq!(tx.member_with(&developer(4)).await.unwrap(), member(4, "gone", false), "it has a name still");
    assert_eq!(tx.member_with(&developer(9)).await.unwrap(), None);
}

fn session(number: u64) -> Session {
    Session {
        id: session_id(number),
        workspace: workspace(1),
        developer: developer(1),
        agent_name: None,
        agent_type: None,
        provider: None,
        model: None,
        repo: None,
        branch: None,
        started_at: at(number),
        last_seen_at: at(number),
        ended_at: None,
    }
}

async fn a_session_is_kept_as_it_is_empty_and_full(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let odd = || Some(ODD.to_owned());
    let full = Session {
        agent_name: odd(),
        agent_type: Some(String::new()),
        provider: odd(),
        model: odd(),
        repo: odd(),
        branch: odd(),
        last_seen_at: at(8),
        ended_at: Some(at(9)),
        ..session(2)
    };
    assert_eq!(tx.session(&session_id(1)).await.unwrap(), None);
    for session in [session(1), full] {
        tx.add_session(&session).await.unwrap();
        assert_eq!(tx.session(&session.id).await.unwrap(), Some(session));
    }
    assert!(tx.save_session(&session(3)).await.is_err(), "it is not there");
}

async fn a_session_is_never_seen_earlier_and_never_opened_again(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    tx.add_session(&session(1)).await.unwrap();
    let seen = Session { last_seen_at: at(7), ..session(1) };
    tx.save_session(&seen).await.unwrap();
    tx.save_session(&session(1)).await.unwrap();
    assert_eq!(tx.session(&session_id(1)).await.unwrap().as_ref(), Some(&seen));
    let over = Session { ended_at: Some(at(8)), ..seen.clone() };
    tx.save_session(&over).await.unwrap();
    let late = Session { last_seen_at: at(9), ..seen };
    tx.save_session(&late).await.unwrap();
    let ended = Session { ended_at: Some(at(8)), ..late };
    assert_eq!(tx.session(&session_id(1)).await.unwrap(), Some(ended));
}

async fn of_a_worktree_the_last_snapshot_is_kept(bench: Bench) {
    let store = peopled(&bench).await;
    let snapshot = |millis| Snapshot {
        workspace: workspace(1),
        developer: developer(1),
        session: None,
        repo: "covenant".into(),
        branch: String::new(),
        worktree: String::new(),
        dirty_files: Vec::new(),
        unpushed_files: Vec::new(),
        diff_hashes: Vec::new(),
        recent_commits: Vec::new(),
        at: at(millis),
    };
    let list = || vec![ODD.to_owned(), String::new()];
    let mut tx = store.begin_team().await.unwrap();
    tx.save_snapshot(&snapshot(1)).await.unwrap();
    let full = Snapshot {
        dirty_files: list(),
        unpushed_files: list(),
        diff_hashes: list(),
        recent_commits: vec!["c0ffee".into()],
        ..snapshot(2)
    };
    tx.save_snapshot(&full).await.unwrap();
    let session = Some(session_id(1));
    for other in [
        Snapshot { session, ..snapshot(3) },
        Snapshot { branch: ODD.into(), ..snapshot(3) },
        Snapshot { worktree: ODD.into(), ..snapshot(3) },
        Snapshot { repo: ODD.into(), ..snapshot(3) },
        Snapshot { developer: developer(2), ..snapshot(3) },
    ] {
        tx.save_snapshot(&other).await.unwrap();
        tx.save_snapshot(&other).await.unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(bench.number("SELECT count(*) FROM local_worktrees").await, 6);
    let kept = format!(
        "at = {} AND recent_commits = '[\"c0ffee\"]' AND dirty_files LIKE '%日本語%'",
        at(2).millis()
    );
    assert_eq!(bench.number(&format!("SELECT count(*) FROM local_worktrees WHERE {kept}")).await, 1);
}

async fn what_a_companion_does_not_say_stays(bench: Bench) {
    let store = peopled(&bench).await;
    let said = |version: Option<&str>, repos: Option<&[&str]>, millis| Companion {
        developer: developer(1),
        version: version.map(str::to_owned),
        repos: repos.map(|repos| repos.iter().map(|repo| (*repo).to_owned()).collect()),
        at: at(millis),
    };
    for (companion, kept) in [
        (said(None, None, 1), "version IS NULL AND repos IS NULL"),
        (said(Some("1"), None, 2), "version = '1' AND repos IS NULL"),
        (said(None, Some(&["a", "ä"]), 3), "version = '1' AND repos = '[\"a\",\"ä\"]'"),
        (said(Some("2"), Some(&[]), 4), "version = '2' AND repos = '[]'"),
        (said(None, None, 5), "version = '2' AND repos = '[]'"),
    ] {
        let mut tx = store.begin_team().await.unwrap();
        tx.save_companion(&companion).await.unwrap();
        tx.commit().await.unwrap();
        let kept = format!("{kept} AND at = {}", companion.at.millis());
        assert_eq!(bench.number(&format!("SELECT count(*) FROM companions WHERE {kept}")).await, 1, "{kept}");
    }
    assert_eq!(bench.number("SELECT count(*) FROM companions").await, 1);
}

on_both!(
    whoever_calls_is_the_developer_of_that_handle_or_the_local_one,
    a_session_is_kept_as_it_is_empty_and_full,
    a_session_is_never_seen_earlier_and_never_opened_again,
    of_a_worktree_the_last_snapshot_is_kept,
    what_a_companion_does_not_say_stays,
);
