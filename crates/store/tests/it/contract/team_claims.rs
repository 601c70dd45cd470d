//! Claims and who waits for them on either database: kept as they are, renewed, and ended once.

use std::time::Duration;

use covenant_model::id::ClaimId;
use covenant_team::coordination::{Claim, Ending, Wait};
use covenant_team::port::{CoordinationTx as _, TeamTx as _};
use covenant_team::session::{Elsewhere, Looked, Snapshot, Worktree};

use super::team::{ODD, developer, peopled, session_id, workspace};
use super::{Bench, at, on_both, seed};

fn id(number: u64) -> ClaimId {
    ClaimId::from_random(seed(number))
}

/// One of Ada's, made at the moment of its number, for a minute.
fn claim(number: u64) -> Claim {
    Claim {
        id: id(number),
        workspace: workspace(1),
        developer: developer(1),
        session: None,
        repo: String::new(),
        paths: vec![format!("src/{number}.rs")],
        message: None,
        minutes: 1,
        created_at: at(number),
        expires_at: at(number).plus(Duration::from_mins(1)),
        ending: None,
    }
}

async fn a_claim_is_kept_as_it_is_empty_and_full(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let full = Claim {
        session: Some(session_id(1)),
        repo: ODD.into(),
        paths: vec![ODD.into(), String::new()],
        message: Some(ODD.into()),
        minutes: 1440,
        ending: Some((Ending::Released, at(9))),
        ..claim(2)
    };
    assert_eq!(tx.claim(&id(1)).await.unwrap(), None);
    for claim in [claim(1), full.clone()] {
        tx.add_claim(&claim).await.unwrap();
        assert_eq!(tx.claim(&claim.id).await.unwrap(), Some(claim));
    }
    let changed = Claim { paths: vec!["b".into()], minutes: 7, expires_at: at(8), ..claim(1) };
    for claim in [changed, Claim { ending: Some((Ending::Expired, at(9))), ..claim(1) }] {
        tx.save_claim(&claim).await.unwrap();
        assert_eq!(tx.claim(&id(1)).await.unwrap(), Some(claim));
    }
    assert!(tx.save_claim(&claim(3)).await.is_err(), "it is not there");
}

async fn only_claims_that_did_not_end_count_and_each_ends_once(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let of_bob = Claim { developer: developer(2), ..claim(3) };
    let elsewhere = Claim { workspace: workspace(2), developer: developer(3), ..claim(4) };
    let ended = Claim { ending: Some((Ending::Released, at(9))), ..claim(5) };
    for claim in [&claim(2), &claim(1), &of_bob, &elsewhere, &ended] {
        tx.add_claim(claim).await.unwrap();
    }
    let team = workspace(1);
    let all = [claim(1), claim(2), of_bob.clone()];
    assert_eq!(tx.open_claims(&team, 9).await.unwrap(), all);
    assert_eq!(tx.open_claims(&team, 2).await.unwrap(), all[..2]);
    assert_eq!(tx.own_claims(&developer(1)).await.unwrap(), all[..2]);
    let (before, moment, far) = (at(60_000), at(60_002), at(999_999));
    assert!(!tx.has_lapsed(&team, before, far).await.unwrap());
    assert_eq!(tx.lapse(&team, before, far).await.unwrap(), []);
    assert!(tx.has_lapsed(&team, moment, far).await.unwrap());
    let over = |claim: &Claim, at| Claim { ending: Some((Ending::Expired, at)), ..claim.clone() };
    let lapsed = [over(&claim(1), moment), over(&claim(2), moment)];
    assert_eq!(tx.lapse(&team, moment, far).await.unwrap(), lapsed);
    assert_eq!(tx.lapse(&team, moment, far).await.unwrap(), []);
    assert_eq!(tx.open_claims(&team, 9).await.unwrap(), all[2..]);
    // One that lies far ahead was made before the clock was put back.
    assert!(tx.has_lapsed(&team, at(0), at(60_002)).await.unwrap());
    assert_eq!(tx.lapse(&team, at(0), at(60_002)).await.unwrap(), [over(&of_bob, at(0))]);
    let told = tx.untold(&developer(1), 9).await.unwrap();
    assert_eq!(told, [lapsed[1].clone(), lapsed[0].clone()], "newest first");
    tx.mark_told(&id(1), at(99)).await.unwrap();
    assert_eq!(tx.untold(&developer(1), 9).await.unwrap(), [lapsed[1].clone()]);
    assert_eq!(tx.untold(&developer(2), 9).await.unwrap().len(), 1);
}

async fn a_session_renews_its_claims_each_for_as_long_as_it_says(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let held = |number, minutes| Claim { session: Some(session_id(1)), minutes, ..claim(number) };
    let ended = Claim { ending: Some((Ending::Expired, at(9))), ..held(3, 1) };
    let anothers = Claim { session: Some(session_id(2)), ..claim(4) };
    for claim in [&held(1, 1), &held(2, 5), &ended, &anothers, &claim(5)] {
        tx.add_claim(claim).await.unwrap();
    }
    assert_eq!(tx.renew_claims(&session_id(1), at(10_000)).await.unwrap(), 2);
    for (number, minutes) in [(1, 1), (2, 5)] {
        let expires_at = at(10_000).plus(Duration::from_mins(minutes));
        let renewed = Claim { expires_at, ..held(number, minutes) };
        assert_eq!(tx.claim(&id(number)).await.unwrap(), Some(renewed));
    }
    for same in [ended, anothers, claim(5)] {
        assert_eq!(tx.claim(&same.id).await.unwrap(), Some(same), "touched what is not that session's");
    }
    assert_eq!(tx.renew_claims(&session_id(1), at(9_000)).await.unwrap(), 0, "nothing is shortened");
}

async fn whoever_waits_is_remembered_once_until_they_want_nothing(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    tx.add_claim(&claim(1)).await.unwrap();
    let wait = |who, paths: &[&str], when| Wait {
        claim: id(1),
        developer: developer(who),
        paths: paths.iter().map(|&path| path.to_owned()).collect(),
        at: at(when),
    };
    tx.save_wait(&wait(2, &["a"], 5)).await.unwrap();
    tx.save_wait(&wait(0, &[ODD], 4)).await.unwrap();
    tx.save_wait(&wait(2, &["b", "c"], 6)).await.unwrap();
    assert_eq!(tx.waits(&id(1)).await.unwrap(), [wait(0, &[ODD], 4), wait(2, &["b", "c"], 6)]);
    tx.save_wait(&wait(0, &[], 7)).await.unwrap();
    assert_eq!(tx.waits(&id(1)).await.unwrap(), [wait(2, &["b", "c"], 6)]);
    assert_eq!(tx.waits(&id(2)).await.unwrap(), []);
}

async fn the_newest_snapshots_of_a_team_are_told(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let snapshot = |number: u64| Snapshot {
        workspace: workspace(1),
        developer: developer(1),
        session: (number == 2).then(|| session_id(1)),
        repo: format!("repo {number}"),
        branch: ODD.into(),
        worktree: String::new(),
        dirty_files: vec![ODD.into()],
        unpushed_files: Vec::new(),
        diff_hashes: vec!["x".into()],
        recent_commits: Vec::new(),
        at: at(number),
    };
    let elsewhere = Snapshot { workspace: workspace(2), developer: developer(3), ..snapshot(4) };
    for snapshot in [&snapshot(1), &snapshot(2), &snapshot(3), &elsewhere] {
        tx.save_snapshot(snapshot).await.unwrap();
    }
    let team = workspace(1);
    let worktree = |number: u64| Worktree {
        developer: developer(1),
        session: (number == 2).then(|| session_id(1)),
        repo: format!("repo {number}"),
        branch: ODD.into(),
        dirty_files: vec![ODD.into()],
        unpushed_files: Vec::new(),
        at: at(number),
    };
    let (ours, theirs, session) = (developer(1), developer(2), session_id(1));
    let wanted = |since: u64, repo, developer, session| Elsewhere {
        since: at(since),
        repo,
        developer,
        session,
        files: None,
    };
    for (of, most, worktrees) in [
        (wanted(2, "", &theirs, None), 9, vec![worktree(3), worktree(2)]),
        (wanted(0, "", &theirs, None), 1, vec![worktree(3)]),
        (wanted(0, "repo 1", &theirs, None), 9, vec![worktree(1)]),
        (wanted(0, "", &ours, None), 9, vec![worktree(2)]),
        (wanted(0, "", &ours, Some(&session)), 9, vec![worktree(3), worktree(1)]),
    ] {
        let looked = Looked { worktrees, all: most == 9 };
        assert_eq!(tx.worktrees(&team, of, most).await.unwrap(), looked, "{of:?}");
    }
    for (files, kept) in [(vec![], vec![]), (vec!["a", ODD], vec![ODD.to_owned()])] {
        let files = files.into_iter().collect();
        let of = Elsewhere { files: Some(&files), ..wanted(3, "", &theirs, None) };
        let [found] = tx.worktrees(&team, of, 9).await.unwrap().worktrees.try_into().unwrap();
        assert_eq!(found, Worktree { dirty_files: kept, ..worktree(3) }, "only what is asked for");
    }
}

async fn of_long_snapshots_the_newest_are_read_and_no_more_than_one_call_is_worth(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let files: Vec<String> = (0..1_000).map(|number| format!("{number:0120}")).collect();
    for number in 0..20 {
        let snapshot = Snapshot {
            workspace: workspace(1),
            developer: developer(1),
            session: None,
            repo: format!("repo {number}"),
            branch: String::new(),
            worktree: String::new(),
            dirty_files: files.clone(),
            unpushed_files: Vec::new(),
            diff_hashes: Vec::new(),
            recent_commits: Vec::new(),
            at: at(number),
        };
        tx.save_snapshot(&snapshot).await.unwrap();
    }
    let theirs = developer(2);
    let of = Elsewhere { since: at(0), repo: "", developer: &theirs, session: None, files: None };
    let looked = tx.worktrees(&workspace(1), of, 100).await.unwrap();
    let repos: Vec<String> = looked.worktrees.iter().map(|there| there.repo.clone()).collect();
    let newest: Vec<String> = (12..20).rev().map(|number| format!("repo {number}")).collect();
    assert_eq!((repos, looked.all), (newest, false), "a mebibyte of them");
    let of = Elsewhere { since: at(12), ..of };
    let looked = tx.worktrees(&workspace(1), of, 100).await.unwrap();
    assert_eq!((looked.worktrees.len(), looked.all), (8, true));
}

on_both!(
    a_claim_is_kept_as_it_is_empty_and_full,
    only_claims_that_did_not_end_count_and_each_ends_once,
    a_session_renews_its_claims_each_for_as_long_as_it_says,
    whoever_waits_is_remembered_once_until_they_want_nothing,
    the_newest_snapshots_of_a_team_are_told,
    of_long_snapshots_the_newest_are_read_and_no_more_than_one_call_is_worth,
);
