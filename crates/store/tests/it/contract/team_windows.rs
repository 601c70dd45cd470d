//! The windows of a team's rules, at their edges, with the clock in our hand.

use covenant_model::envelope::{Envelope, Status};
use covenant_model::principal::{AgentType, Principal};
use covenant_model::time::Timestamp;
use covenant_store::Store;
use covenant_team::Request;
use covenant_team::input::{Call, Tool};
use serde_json::{Value, json};
use std::time::Duration;

use super::team::peopled;
use super::{Bench, at, on_both};

const NOON: u64 = 1_800_000_000_000;

pub(super) async fn says(store: &Store, who: &str, tool: Tool, arguments: Value, now: Timestamp) -> Envelope {
    typed(store, who, None, tool, arguments, now).await
}

async fn typed(
    store: &Store,
    who: &str,
    agent_type: Option<AgentType>,
    tool: Tool,
    arguments: Value,
    now: Timestamp,
) -> Envelope {
    let call = Call::read(tool, arguments.as_object().unwrap().clone()).unwrap();
    let principal = Principal::developer(who).unwrap();
    store.perform(Request { principal, agent_type, call, now }).await.unwrap().envelope
}

pub(super) fn later(seconds: u64) -> Timestamp {
    at(NOON).plus(Duration::from_secs(seconds))
}

async fn a_check_opens_a_start_for_ten_minutes(bench: Bench) {
    let store = peopled(&bench).await;
    for (seconds, opens) in [(599, true), (601, false)] {
        let title = format!("Retries after {seconds} s");
        for (tool, kind) in [(Tool::Task, "task"), (Tool::Workstream, "workstream")] {
            let ask = |operation: &str, title: &str| {
                let mut arguments = json!({"operation": operation, "title": title});
                if kind == "task" {
                    arguments["task_type"] = "bug".into();
                }
                arguments
            };
            let checked = says(&store, "ada", tool, ask("check", &title), later(0)).await;
            assert_eq!(checked.status, Status::Ok, "{checked:?}");
            let other = says(&store, "ada", tool, ask("start", "Another title"), later(1)).await;
            assert_eq!(other.status, Status::Blocked, "{other:?}");
            let anothers = says(&store, "bob", tool, ask("start", &title), later(1)).await;
            assert_eq!(anothers.status, Status::Blocked, "the check of another opens nothing: {anothers:?}");
            let same = title.to_uppercase();
            let started = says(&store, "ada", tool, ask("start", &same), later(seconds)).await;
            assert_eq!(started.status == Status::Ok, opens, "{kind} after {seconds} s: {started:?}");
            if !opens {
                assert_eq!(started.status, Status::Blocked);
                assert!(started.feedback.required_action.unwrap().contains("check"));
            }
        }
    }
}

async fn a_check_from_before_the_clock_was_put_back_keeps_no_later_one_from_counting(bench: Bench) {
    let store = peopled(&bench).await;
    for tool in [Tool::Task, Tool::Workstream] {
        let ask = |operation: &str| json!({"operation": operation, "title": "Retries", "task_type": "bug"});
        says(&store, "ada", tool, ask("check"), later(7200)).await;
        let early = says(&store, "ada", tool, ask("start"), later(0)).await;
        assert_eq!(early.status, Status::Blocked, "a check that lies two hours ahead opens nothing");
        says(&store, "ada", tool, ask("check"), later(1)).await;
        let started = says(&store, "ada", tool, ask("start"), later(2)).await;
        assert_eq!(started.status, Status::Ok, "{started:?}");
    }
}

async fn of_many_who_end_a_session_at_once_one_does(bench: Bench) {
    let store = peopled(&bench).await;
    let started = says(&store, "ada", Tool::Session, json!({"operation": "start"}), later(0)).await;
    let end = json!({"operation": "end", "session_id": started.data["session_id"]});
    let mut ends = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, end) = (std::sync::Arc::clone(&store), end.clone());
        ends.spawn(async move { says(&store, "ada", Tool::Session, end, later(1)).await });
    }
    let ended = ends.join_all().await;
    assert_eq!(ended.iter().filter(|told| told.status == Status::Ok).count(), 1, "{ended:?}");
    assert_eq!(ended.iter().filter(|told| told.status == Status::Warning).count(), 7, "{ended:?}");
}

async fn however_much_is_published_everybodys_contexts_fit_into_one_answer(bench: Bench) {
    let store = peopled(&bench).await;
    let publish = |branch: usize, files: usize, long: usize| {
        let files: Vec<String> = (0..files).map(|file| format!("{file}/{}", "x".repeat(long))).collect();
        json!({"operation": "publish_context", "title": "Where I am", "summary": "Here.",
            "branch": format!("b{branch}"), "files_touched": files})
    };
    let huge = says(&store, "ada", Tool::Session, publish(0, 1000, 500), later(0)).await;
    assert_eq!((huge.status, &huge.data["field"]), (Status::Error, &json!("files_touched")));
    for branch in 0..12 {
        let told = says(&store, "ada", Tool::Session, publish(branch, 1000, 110), later(0)).await;
        assert_eq!(told.status, Status::Ok, "{told:?}");
    }
    let told = says(&store, "bob", Tool::Session, json!({"operation": "get_context"}), later(1)).await;
    let (listed, left_out) =
        (told.data["contexts"].as_array().unwrap().len(), told.data["left_out"].as_u64().unwrap());
    assert!(listed > 0 && left_out > 0 && told.to_text().len() < 2 << 20, "{listed} and {left_out}");
    assert_eq!(u64::try_from(listed).unwrap() + left_out, 12);
}

async fn planned_work_starts_after_a_check_that_names_it(bench: Bench) {
    let store = peopled(&bench).await;
    let plan = json!({"operation": "plan", "title": "Port it", "task_type": "chore"});
    let planned = says(&store, "ada", Tool::Task, plan, later(0)).await;
    let id = planned.data["task_id"].clone();
    let start = json!({"operation": "start_planned", "planned_task_id": id});
    let check = |planned: Value| json!({"operation": "check", "title": "Port it", "task_type": "chore", "planned_task_id": planned});
    let unchecked = says(&store, "ada", Tool::Task, start.clone(), later(1)).await;
    assert_eq!(unchecked.status, Status::Blocked);
    says(&store, "ada", Tool::Task, check(Value::Null), later(2)).await;
    let unnamed = says(&store, "ada", Tool::Task, start.clone(), later(3)).await;
    assert_eq!(unnamed.status, Status::Blocked, "a check that does not name the planned task opens it not");
    says(&store, "ada", Tool::Task, check(id.clone()), later(10)).await;
    let late = says(&store, "ada", Tool::Task, start.clone(), later(10 + 601)).await;
    assert_eq!(late.status, Status::Blocked);
    let foreign = says(&store, "bob", Tool::Task, start.clone(), later(11)).await;
    assert_eq!(foreign.status, Status::Error, "planned work is its owner's to start");
    let started = says(&store, "ada", Tool::Task, start.clone(), later(10 + 599)).await;
    assert_eq!((started.status, &started.data["status"]), (Status::Ok, &json!("active")));
    let again = says(&store, "ada", Tool::Task, start, later(10 + 600)).await;
    assert_eq!(again.status, Status::Warning);
}

async fn a_context_counts_for_a_day_or_as_long_as_it_says(bench: Bench) {
    let store = peopled(&bench).await;
    let hour = 3600;
    for (ttl, lasts) in [(Value::Null, 24), (json!(1), 1), (json!(168), 168)] {
        let publish = json!({"operation": "publish_context", "title": "t", "summary": "s", "repo": "r", "ttl_hours": ttl});
        let published = says(&store, "ada", Tool::Session, publish, later(0)).await;
        assert_eq!(published.status, Status::Ok, "{published:?}");
        let get = json!({"operation": "get_context", "handle": "ada"});
        let before = says(&store, "bob", Tool::Session, get.clone(), later(lasts * hour - 1)).await;
        assert_eq!(before.data["context"]["context_id"], published.data["context_id"]);
        let after = says(&store, "bob", Tool::Session, get, later(lasts * hour + 1)).await;
        assert_eq!(after.data["context"], Value::Null, "after {lasts} h: {after:?}");
    }
    for ttl in [0, 169] {
        let publish = json!({"operation": "publish_context", "title": "t", "summary": "s", "ttl_hours": ttl});
        assert_eq!(says(&store, "ada", Tool::Session, publish, later(0)).await.data["field"], "ttl_hours");
    }
}

async fn what_is_published_after_the_clock_was_put_back_takes_the_place_of_what_lies_ahead(bench: Bench) {
    let store = peopled(&bench).await;
    let publish = |title: &str| json!({"operation": "publish_context", "title": title, "summary": "s", "repo": "r", "branch": "b"});
    let get = json!({"operation": "get_context", "handle": "ada"});
    // What lies two hours ahead is taken the place of all the same.
    for (title, seconds) in [("first", 7200), ("second", 10), ("third", 5), ("fourth", 20)] {
        let published = says(&store, "ada", Tool::Session, publish(title), later(seconds)).await;
        assert_eq!(published.status, Status::Ok, "{published:?}");
        let newest = says(&store, "bob", Tool::Session, get.clone(), later(seconds + 1)).await;
        assert_eq!(newest.data["context"]["title"], title, "{newest:?}");
    }
    let listed = says(&store, "bob", Tool::Session, json!({"operation": "get_context"}), later(30)).await;
    let titles = listed.data["contexts"].as_array().unwrap().iter().map(|context| &context["title"]);
    assert_eq!(titles.collect::<Vec<_>>(), ["fourth"]);
}

async fn a_session_is_stale_after_half_an_hour_and_a_heartbeat_wakes_it(bench: Bench) {
    let store = peopled(&bench).await;
    let start = json!({"operation": "start", "agent_name": "Codex"});
    let started = says(&store, "ada", Tool::Session, start, later(0)).await;
    let beat = json!({"operation": "heartbeat", "session_id": started.data["session_id"]});
    let on_time = says(&store, "ada", Tool::Session, beat.clone(), later(1800)).await;
    assert_eq!(on_time.data["was_stale"], false);
    let late = says(&store, "ada", Tool::Session, beat.clone(), later(3601)).await;
    assert_eq!(late.data["was_stale"], true);
    let back = says(&store, "ada", Tool::Session, beat, later(10)).await;
    assert_eq!(
        (back.status, &back.data["was_stale"]),
        (Status::Ok, &json!(false)),
        "a clock put back harms nobody"
    );
    assert_eq!(back.data["last_seen_at"], late.data["last_seen_at"], "and takes nothing back");
}

async fn a_typed_token_says_which_agent_it_is(bench: Bench) {
    let store = peopled(&bench).await;
    let start = json!({"operation": "start", "agent_type": "codex"});
    let session = typed(&store, "ada", Some(AgentType::Cursor), Tool::Session, start, later(0)).await;
    assert_eq!(session.data["agent_type"], "cursor");
    assert_eq!(session.data["agent_mismatch"], json!({"token": "cursor", "reported": "codex"}));
}

async fn work_that_is_over_is_found_for_a_fortnight(bench: Bench) {
    let store = peopled(&bench).await;
    let ask = |operation: &str| json!({"operation": operation, "title": "Rotate the signing keys", "task_type": "chore"});
    says(&store, "ada", Tool::Task, ask("check"), later(0)).await;
    let started = says(&store, "ada", Tool::Task, ask("start"), later(1)).await;
    let id = &started.data["task_id"];
    let complete = json!({"operation": "complete", "task_id": id, "result_summary": "Rotated."});
    let done = says(&store, "ada", Tool::Task, complete, later(10)).await;
    assert_eq!(done.status, Status::Ok, "{done:?}");
    let fortnight = 14 * 24 * 3600;
    let within = says(&store, "bob", Tool::Task, ask("check"), later(10 + fortnight - 1)).await;
    assert_eq!(within.data["matches"][0]["id"], *id, "{within:?}");
    assert_eq!(within.data["requires_verdict"], false, "it keeps nobody from starting");
    let after = says(&store, "bob", Tool::Task, ask("check"), later(10 + fortnight + 1)).await;
    assert_eq!(after.data["matches"], json!([]), "{after:?}");
}

async fn what_somebody_has_touched_counts_for_a_day(bench: Bench) {
    let store = peopled(&bench).await;
    let session = says(&store, "ada", Tool::Session, json!({"operation": "start"}), later(0)).await;
    let snapshot = json!({"operation": "snapshot", "session_id": session.data["session_id"], "repo": "shop",
        "dirty_files": ["src/a.rs"]});
    assert_eq!(says(&store, "ada", Tool::Session, snapshot, later(10)).await.status, Status::Ok);
    let check = json!({"operation": "check", "title": "Sharpen the lathe", "task_type": "chore",
        "target_files": ["src/a.rs"]});
    let within = says(&store, "bob", Tool::Task, check.clone(), later(10 + 86_399)).await;
    let conflict = &within.data["file_conflicts"][0];
    assert_eq!(
        (&conflict["source"], &conflict["files"]),
        (&json!("snapshot"), &json!(["src/a.rs"])),
        "{within:?}"
    );
    let after = says(&store, "bob", Tool::Task, check, later(10 + 86_401)).await;
    assert_eq!(after.data["file_conflicts"], json!([]), "{after:?}");
}

on_both!(
    work_that_is_over_is_found_for_a_fortnight,
    what_somebody_has_touched_counts_for_a_day,
    a_check_opens_a_start_for_ten_minutes,
    a_check_from_before_the_clock_was_put_back_keeps_no_later_one_from_counting,
    of_many_who_end_a_session_at_once_one_does,
    however_much_is_published_everybodys_contexts_fit_into_one_answer,
    planned_work_starts_after_a_check_that_names_it,
    a_context_counts_for_a_day_or_as_long_as_it_says,
    what_is_published_after_the_clock_was_put_back_takes_the_place_of_what_lies_ahead,
    a_session_is_stale_after_half_an_hour_and_a_heartbeat_wakes_it,
    a_typed_token_says_which_agent_it_is,
);
