//! What becomes of what was found: a check of a plan, a word that was said before, a plan's own warning, a pair that was judged.

use covenant_model::envelope::{Envelope, Status};
use covenant_store::{EventsWanted, Store};
use covenant_team::event::Log;
use covenant_team::input::Tool;
use covenant_team::warning::Settled;
use serde_json::{Value, json};

use super::team::peopled;
use super::team_windows::{later, says};
use super::{Bench, on_both};

const TITLE: &str = "Retry failed uploads with exponential backoff";

fn task(operation: &str, title: &str) -> Value {
    json!({"operation": operation, "title": title, "task_type": "bug"})
}

/// The same, with more members.
fn with(mut call: Value, more: &Value) -> Value {
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

async fn done(store: &Store, who: &str, tool: Tool, call: Value, seconds: u64) -> Envelope {
    let told = says(store, who, tool, call, later(seconds)).await;
    assert!(matches!(told.status, Status::Ok | Status::Warning), "{told:?}");
    told
}

async fn begun(store: &Store, who: &str, title: &str, seconds: u64) -> String {
    done(store, who, Tool::Task, task("check", title), seconds).await;
    let told = done(store, who, Tool::Task, task("start", title), seconds + 1).await;
    told.data["task_id"].as_str().unwrap().to_owned()
}

async fn changes(store: &Store, event: &str) -> Vec<Value> {
    let wanted = EventsWanted { log: Log::Work, workspace: None, developer: None, after: None, limit: 400 };
    let all = store.team_events(wanted).await.unwrap();
    let payloads = all.into_iter().filter(|found| found.event == event);
    payloads.map(|found| Value::Object(found.payload)).collect()
}

async fn standing(store: &Store, warning: &Value) -> Settled {
    let mut tx = store.begin_team().await.unwrap();
    let id = warning.as_str().unwrap().parse().unwrap();
    covenant_team::port::TeamTx::warning(&mut tx, &id).await.unwrap().unwrap().settled
}

async fn a_check_of_planned_work_looks_for_what_was_planned(bench: Bench) {
    let store = peopled(&bench).await;
    let theirs = with(
        task("check", "Harden the storage client"),
        &json!({"scope": "failed multipart uploads are retried with backoff", "target_files": ["src/a.rs"]}),
    );
    done(&store, "bob", Tool::Task, theirs.clone(), 0).await;
    let start = with(theirs, &json!({"operation": "start"}));
    let there = done(&store, "bob", Tool::Task, start, 1).await.data["task_id"].clone();
    let plan = with(
        task("plan", "Uploads are unreliable"),
        &json!({"scope": "failed multipart uploads are retried, with backoff", "target_files": ["src/a.rs"]}),
    );
    let planned = done(&store, "ada", Tool::Task, plan, 2).await.data["task_id"].clone();
    let check =
        with(task("check", "Uploads are unreliable"), &json!({"planned_task_id": planned.as_str().unwrap()}));
    let told = done(&store, "ada", Tool::Task, check.clone(), 3).await;
    assert_eq!(told.data["matches"][0]["id"], there, "{told:?}");
    assert_eq!(told.data["file_conflicts"][0]["id"], there, "{told:?}");
    let elsewhere = done(&store, "ada", Tool::Task, task("check", "Uploads are unreliable"), 4).await;
    assert_eq!(
        elsewhere.data["file_conflicts"],
        json!([]),
        "of work that was not planned no files are known"
    );
    // What is said now counts before what was planned.
    let other = with(check, &json!({"target_files": ["src/b.rs"]}));
    let told = done(&store, "ada", Tool::Task, other, 5).await;
    assert_eq!(told.data["file_conflicts"], json!([]), "{told:?}");
}

async fn a_reason_to_start_all_the_same_is_kept_whatever_was_made_of_the_warning_before(bench: Bench) {
    let store = peopled(&bench).await;
    begun(&store, "bob", TITLE, 0).await;
    let warning = done(&store, "ada", Tool::Task, task("check", TITLE), 10).await.data["warning_id"].clone();
    let aside = json!({"operation": "dismiss", "warning_id": warning, "reason": "Another bucket."});
    done(&store, "ada", Tool::Warning, aside, 11).await;
    let confirm = json!({"operation": "start", "warning_id": warning, "confirmation_reason": "Bob is away."});
    let started = done(&store, "ada", Tool::Task, with(task("start", TITLE), &confirm), 12).await;
    assert_eq!(standing(&store, &warning).await, Settled::Confirmed);
    let told = changes(&store, "warning.confirmed").await;
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["reason"], &told[0]["work_id"]), (&json!("Bob is away."), &started.data["task_id"]));
    // And once more, for the work that begins after that one was given up.
    let cancel =
        json!({"operation": "cancel", "task_id": started.data["task_id"], "reason": "The wrong branch."});
    done(&store, "ada", Tool::Task, cancel, 13).await;
    let again = done(&store, "ada", Tool::Task, with(task("start", TITLE), &confirm), 14).await;
    let works: Vec<Value> =
        changes(&store, "warning.confirmed").await.into_iter().map(|told| told["work_id"].clone()).collect();
    assert_eq!(works.len(), 2);
    assert!(works.contains(&again.data["task_id"]), "{works:?}");
}

async fn the_warning_of_a_plan_ends_with_the_plan(bench: Bench) {
    let store = peopled(&bench).await;
    let theirs = begun(&store, "bob", TITLE, 0).await;
    let plan = async |seconds| {
        let told = done(&store, "ada", Tool::Task, task("plan", TITLE), seconds).await;
        assert_eq!(standing(&store, &told.data["warning_id"]).await, Settled::Open);
        (told.data["task_id"].clone(), told.data["warning_id"].clone())
    };
    let (given_up, warning) = plan(10).await;
    let cancel = json!({"operation": "cancel", "task_id": given_up, "reason": "Bob does it."});
    done(&store, "ada", Tool::Task, cancel, 11).await;
    assert_eq!(standing(&store, &warning).await, Settled::Dismissed);
    let told = changes(&store, "warning.dismissed").await;
    assert_eq!((&told[0]["automatic"], &told[0]["work_id"]), (&json!(true), &given_up));
    // Another, which begins once there is nothing like it any more: the check finds nothing to warn of.
    let (planned, warning) = plan(12).await;
    let over = json!({"operation": "cancel", "task_id": theirs, "reason": "Not now."});
    done(&store, "bob", Tool::Task, over, 13).await;
    let fortnight = 15 * 24 * 3600;
    let check = with(task("check", TITLE), &json!({"planned_task_id": planned}));
    let told = done(&store, "ada", Tool::Task, check, fortnight).await;
    assert_eq!(told.data["matches"], json!([]), "{told:?}");
    assert_eq!(standing(&store, &warning).await, Settled::Open);
    let start = json!({"operation": "start_planned", "planned_task_id": planned});
    done(&store, "ada", Tool::Task, start, fortnight + 1).await;
    assert_eq!(standing(&store, &warning).await, Settled::Disclosed);
}

async fn work_that_was_judged_to_be_other_work_is_not_told_as_done_twice(bench: Bench) {
    let store = peopled(&bench).await;
    let theirs = begun(&store, "bob", TITLE, 0).await;
    let judge = async |same: bool, seconds: u64| {
        let check = done(&store, "ada", Tool::Task, task("check", TITLE), seconds).await;
        let candidates = check.data["candidates"].as_array().unwrap();
        let verdicts: Vec<Value> = candidates
            .iter()
            .map(
                |found| json!({"candidate_id": found["id"], "same_scope": same, "reason": "Another bucket."}),
            )
            .collect();
        let said = json!({"check_id": check.data["check_id"], "scope_verdict": verdicts,
            "confirmation_reason": "Agreed with bob."});
        let begun = done(&store, "ada", Tool::Task, with(task("start", TITLE), &said), seconds + 1).await;
        begun.data["task_id"].as_str().unwrap().to_owned()
    };
    let audit = async |seconds| {
        let call = json!({"operation": "audit_parallel_work"});
        done(&store, "bob", Tool::Team, call, seconds).await
    };
    let mine = judge(false, 10).await;
    let told = audit(12).await;
    assert_eq!((told.status, &told.data["conflicts"]), (Status::Ok, &json!([])), "{told:?}");
    let cancel = json!({"operation": "cancel", "task_id": mine, "reason": "Once more."});
    done(&store, "ada", Tool::Task, cancel, 13).await;
    let mine = judge(true, 20).await;
    let told = audit(22).await;
    let sides = told.data["conflicts"][0]["sides"].as_array().unwrap();
    let mut ids: Vec<&str> = sides.iter().map(|side| side["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let mut expected = [mine.as_str(), theirs.as_str()];
    expected.sort_unstable();
    assert_eq!((told.status, ids.as_slice()), (Status::Warning, expected.as_slice()), "{told:?}");
}

async fn files_of_another_repository_are_other_files(bench: Bench) {
    let store = peopled(&bench).await;
    let session = async |who: &str, repo: &str, seconds| {
        let start = json!({"operation": "start", "repo": repo});
        done(&store, who, Tool::Session, start, seconds).await.data["session_id"].clone()
    };
    let (theirs, same, other) =
        (session("bob", "shop", 0).await, session("ada", "shop", 1).await, session("ada", "till", 2).await);
    let files = json!({"session_id": theirs, "target_files": ["package.json"]});
    let work = |operation: &str| with(task(operation, "Pin the versions of what we depend on"), &files);
    done(&store, "bob", Tool::Task, work("check"), 3).await;
    let there = done(&store, "bob", Tool::Task, work("start"), 4).await.data["task_id"].clone();
    let told = async |session: &Value, repo: &str, seconds: u64| {
        let snapshot = json!({"operation": "snapshot", "session_id": session, "repo": repo,
            "dirty_files": ["package.json"]});
        let overlaps = done(&store, "ada", Tool::Session, snapshot, seconds).await.data["overlaps"].clone();
        let check = with(
            task("check", "Sharpen the lathe"),
            &json!({"session_id": session, "target_files": ["package.json"]}),
        );
        let conflicts =
            done(&store, "ada", Tool::Task, check, seconds + 1).await.data["file_conflicts"].clone();
        let claims = json!({"operation": "check_conflicts", "session_id": session, "repo": repo,
            "paths": ["package.json"]});
        let tasks = done(&store, "ada", Tool::Coordination, claims, seconds + 2).await.data["tasks"].clone();
        let of = |list: &Value, name: &str| -> Vec<Value> {
            list.as_array()
                .unwrap()
                .iter()
                .filter(|row| row[name] == there)
                .map(|row| row[name].clone())
                .collect()
        };
        [of(&overlaps, "id"), of(&conflicts, "id"), of(&tasks, "task_id")]
    };
    let both = [vec![there.clone()], vec![there.clone()], vec![there.clone()]];
    assert_eq!(told(&same, "shop", 10).await, both);
    assert_eq!(told(&other, "till", 20).await, [const { Vec::<Value>::new() }; 3]);
}

on_both!(
    a_check_of_planned_work_looks_for_what_was_planned,
    a_reason_to_start_all_the_same_is_kept_whatever_was_made_of_the_warning_before,
    the_warning_of_a_plan_ends_with_the_plan,
    work_that_was_judged_to_be_other_work_is_not_told_as_done_twice,
    files_of_another_repository_are_other_files,
);
