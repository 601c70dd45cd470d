//! What a call leaves behind on either database: everything of it, or that it was made.

use std::sync::Arc;

use covenant_model::envelope::Status as Told;
use covenant_model::principal::Principal;
use covenant_store::{EventsWanted, Store, TeamEvent};
use covenant_team::Request;
use covenant_team::event::{Log, Unserved};
use covenant_team::input::{Call, Tool};
use covenant_team::port::TeamTx as _;
use covenant_team::session::Session;
use covenant_team::work::{Form, Priority, Status, TaskType, Work};
use serde_json::{Map, Value, json};

use super::team::{bare, developer, peopled, session_id, stream, task_id, turn, workspace, workstream_id};
use super::{Bench, at, on_both, together};

fn request(principal: &str, tool: Tool, arguments: Value) -> Request {
    let arguments = serde_json::from_value(arguments).unwrap();
    Request {
        principal: principal.parse().unwrap(),
        agent_type: None,
        call: Call::read(tool, arguments).unwrap(),
        now: at(9),
    }
}

fn unserved(call: &str, code: &'static str) -> Unserved {
    Unserved { call: call.into(), status: Told::Error, code, session: None, details: Map::new() }
}

async fn usage(store: &Store) -> Vec<TeamEvent> {
    let wanted = EventsWanted { log: Log::Usage, workspace: None, developer: None, after: None, limit: 99 };
    store.team_events(wanted).await.unwrap()
}

async fn a_call_that_is_kept_leaves_its_usage_event(bench: Bench) {
    let store = peopled(&bench).await;
    let outcome = store.perform(request("dev:ada", Tool::Team, json!({"operation": "feedback"}))).await;
    assert!(outcome.unwrap().is_kept());
    let [event] = usage(&store).await.try_into().unwrap();
    assert_eq!((event.event.as_str(), event.status.as_str()), ("covibe_team.feedback", "ok"));
    assert_eq!((event.developer.as_deref(), event.at), (Some("ada"), at(9)));
}

async fn a_call_that_comes_to_nothing_leaves_its_usage_event_alone(bench: Bench) {
    let store = peopled(&bench).await;
    let lost = json!({"operation": "heartbeat", "session_id": session_id(7)});
    for (principal, developer, code) in
        [("dev:ada", Some("ada"), "not_yours"), ("dev:nobody", None, "no_member")]
    {
        let outcome = store.perform(request(principal, Tool::Session, lost.clone())).await.unwrap();
        assert_eq!((outcome.is_kept(), outcome.code), (false, Some(code)));
        let events = usage(&store).await;
        let event = events.iter().find(|event| event.payload["code"] == code).unwrap();
        assert_eq!((event.event.as_str(), event.status.as_str()), ("covibe_session.heartbeat", "error"));
        assert_eq!(event.developer.as_deref(), developer);
    }
    assert_eq!(usage(&store).await.len(), 2);
    for table in ["work_events", "agent_feedback_events", "agent_sessions", "tasks", "workstreams"] {
        assert_eq!(bench.number(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
}

/// VIBE-140: not only the schema wants a type, but also what is behind it.
async fn a_task_of_no_type_or_of_an_unknown_one_is_refused_behind_the_schema_too(bench: Bench) {
    let store = peopled(&bench).await;
    for operation in ["check", "plan", "start"] {
        let mut task = json!({"operation": operation, "title": "Retry uploads"});
        for missing in [None, Some(Value::Null)] {
            task.as_object_mut().unwrap().extend(missing.map(|null| ("task_type".to_owned(), null)));
            let outcome = store.perform(request("dev:ada", Tool::Task, task.clone())).await.unwrap();
            assert_eq!((outcome.is_kept(), outcome.code), (false, Some("invalid_arguments")), "{operation}");
            assert_eq!(outcome.envelope.data["field"], "task_type");
            assert!(outcome.envelope.message.contains("feature, bug"), "{outcome:?}");
        }
        for unknown in [json!("epic"), json!("Bug"), json!(""), json!(7), json!(["bug"])] {
            task["task_type"] = unknown.clone();
            let refused = Call::read(Tool::Task, task.as_object().unwrap().clone());
            assert!(refused.is_err(), "{operation} of a task of type {unknown}: {refused:?}");
        }
    }
    for table in ["tasks", "workstreams", "preflight_checks", "work_events"] {
        assert_eq!(bench.number(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
}

/// VIBE-180 holds for what comes to nothing too, and VIBE-181 for sessions of others.
async fn an_error_is_linked_to_the_session_it_came_in_if_that_is_the_callers_own(bench: Bench) {
    let store = peopled(&bench).await;
    let begun =
        store.perform(request("dev:ada", Tool::Session, json!({"operation": "start"}))).await.unwrap();
    let session = begun.session.unwrap();
    let cancel = json!({"operation": "cancel", "task_id": task_id(9), "reason": "r", "session_id": session});
    for (principal, linked) in [("dev:ada", Some(&session)), ("dev:bob", None)] {
        let outcome = store.perform(request(principal, Tool::Task, cancel.clone())).await.unwrap();
        assert_eq!(outcome.code, Some("not_yours"));
        let events = usage(&store).await;
        let own = |event: &&TeamEvent| event.developer.as_deref() == principal.strip_prefix("dev:");
        let event = events.iter().filter(own).find(|event| event.status == "error").unwrap();
        assert_eq!(event.session_id.as_ref(), linked, "{principal}");
    }
}

async fn a_call_that_breaks_is_a_fault_and_leaves_nothing(bench: Bench) {
    let store = peopled(&bench).await;
    let session = Session {
        id: session_id(1),
        workspace: workspace(1),
        developer: developer(1),
        agent_name: None,
        agent_type: None,
        provider: None,
        model: None,
        repo: None,
        branch: None,
        started_at: at(1),
        last_seen_at: at(1),
        ended_at: None,
    };
    let mut tx = store.begin_team().await.unwrap();
    tx.add_session(&session).await.unwrap();
    tx.commit().await.unwrap();
    bench.raw("UPDATE agent_sessions SET last_seen_at = -1").await;
    let heartbeat = json!({"operation": "heartbeat", "session_id": session_id(1)});
    let fault = store.perform(request("dev:ada", Tool::Session, heartbeat)).await.unwrap_err();
    assert!(fault.to_string().contains("`agent_sessions`"), "{fault}");
    assert_eq!(usage(&store).await, [], "that it broke is for its caller to write down, when that can be");
}

async fn a_call_that_was_never_performed_leaves_its_usage_event_too(bench: Bench) {
    let store = peopled(&bench).await;
    let ada = Principal::developer("ada").unwrap();
    store.note_unserved(Some(ada), unserved("covibe_task.start", "not_granted"), at(1)).await.unwrap();
    store.note_unserved(None, unserved("covibe_task", "malformed"), at(2)).await.unwrap();
    let [nobody, ada] = usage(&store).await.try_into().unwrap();
    assert_eq!((nobody.developer, nobody.payload["code"].as_str()), (None, Some("malformed")));
    assert_eq!((ada.developer.as_deref(), ada.payload["code"].as_str()), (Some("ada"), Some("not_granted")));
    assert_eq!(ada.event, "covibe_task.start");
}

async fn turns_are_as_many_as_changes_and_in_the_order_of_commits(bench: Bench) {
    let stores = [peopled(&bench).await, bench.open().await];
    let calls = tokio::spawn(together((1..=32_u64).map(move |number| {
        let store = Arc::clone(&stores[usize::try_from(number % 2).unwrap()]);
        let arguments = json!({"operation": "plan", "title": format!("piece {number}")});
        let developer = ["dev:ada", "dev:bob"][usize::try_from(number % 3 % 2).unwrap()];
        let request = request(developer, Tool::Workstream, arguments);
        async move { store.perform(request).await.unwrap().is_kept() }
    })));
    // Whoever follows turns never misses one: at every moment all up to the newest are there.
    loop {
        assert_eq!(bench.number("SELECT count(*) - COALESCE(max(turn), 0) FROM workstreams").await, 0);
        if bench.number("SELECT count(DISTINCT turn) FROM workstreams").await == 32 {
            break;
        }
    }
    assert_eq!(calls.await.unwrap(), [true; 32]);
    assert_eq!(bench.number("SELECT turn FROM workspaces WHERE name = 'local'").await, 32);
    assert_eq!(bench.number("SELECT count(*) FROM usage_events").await, 32);
}

async fn of_many_calls_with_one_key_one_makes_something_and_all_are_told_the_same(bench: Bench) {
    let stores = [peopled(&bench).await, bench.open().await];
    let calls = together((1..=16_usize).map(|number| {
        let store = Arc::clone(&stores[number % 2]);
        let arguments =
            json!({"operation": "plan", "title": "once", "task_type": "bug", "idempotency_key": "k"});
        let request = request("dev:ada", Tool::Task, arguments);
        async move { store.perform(request).await.unwrap().envelope.data["task_id"].clone() }
    }));
    let mut told = calls.await;
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(bench.number("SELECT count(*) FROM tasks").await, 1);
    assert_eq!(bench.number("SELECT count(*) FROM usage_events").await, 16);
}

async fn what_was_done_before_a_call_failed_is_undone(bench: Bench) {
    let store = peopled(&bench).await;
    let lost = json!({"operation": "plan", "title": "t", "task_type": "bug", "workstream_id": "ws_none"});
    let outcome = store.perform(request("dev:ada", Tool::Task, lost)).await.unwrap();
    assert_eq!((outcome.is_kept(), outcome.code), (false, Some("not_yours")));
    assert_eq!(bench.number("SELECT turn FROM workspaces WHERE name = 'local'").await, 0);
    assert_eq!(bench.number("SELECT count(*) FROM usage_events").await, 1);
}

async fn a_change_that_waits_for_its_turn_reads_what_the_one_before_it_left(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    tx.add_work(&Work { result_summary: Some(String::new()), ..bare(1) }).await.unwrap();
    tx.commit().await.unwrap();
    together((0..16_u64).map(|_| {
        let store = Arc::clone(&store);
        async move {
            let mut tx = turn(&store).await;
            let mut work = tx.work(&bare(1).id).await.unwrap().unwrap();
            work.result_summary = work.result_summary.map(|text| text + "x");
            tx.save_work(&work).await.unwrap();
            tx.commit().await.unwrap();
        }
    }))
    .await;
    let work = store.begin_team().await.unwrap().work(&bare(1).id).await.unwrap().unwrap();
    assert_eq!(work.result_summary, Some("x".repeat(16)));
}

async fn a_text_with_nul_is_refused_and_nothing_is_kept(bench: Bench) {
    let store = peopled(&bench).await;
    let mut work = bare(1);
    work.brief.title = "a\0b".into();
    let mut tx = turn(&store).await;
    let broken = tx.add_work(&work).await.unwrap_err();
    assert!(broken.to_string().contains("NUL"), "{broken}");
    assert!(tx.commit().await.is_err());
    assert_eq!(bench.number("SELECT count(*) FROM tasks").await, 0);
    assert_eq!(bench.number("SELECT turn FROM workspaces WHERE name = 'local'").await, 0);
    assert!(store.begin_team().await.unwrap().member_called(&workspace(1), "a\0").await.is_err());
    store.note_unserved(None, unserved("covibe_\0", "unknown_tool"), at(1)).await.unwrap();
    let [event] = usage(&store).await.try_into().unwrap();
    assert_eq!(event.event, "covibe_\u{fffd}", "but that a call was made is kept");
}

async fn of_many_open_tasks_of_a_workstream_the_oldest_are_named_and_all_are_counted(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    tx.add_work(&Work { status: Status::Active, ..stream(1) }).await.unwrap();
    for number in 1..=201 {
        let form = Form::Task {
            task_type: TaskType::Chore,
            priority: Priority::Normal,
            workstream: Some(workstream_id(1)),
        };
        tx.add_work(&Work { form, ..bare(number) }).await.unwrap();
    }
    tx.commit().await.unwrap();
    let complete = |confirm: bool| {
        json!({"operation": "complete", "workstream_id": workstream_id(1), "result_summary": "Enough.",
               "confirm_open_tasks": confirm})
    };
    let oldest: Vec<_> = (1..=200).map(task_id).collect();
    let told = store.perform(request("dev:ada", Tool::Workstream, complete(false))).await.unwrap();
    assert_eq!(told.envelope.message, "The workstream has 201 open tasks.");
    assert_eq!(told.envelope.data["open_task_ids"], json!(oldest));
    assert_eq!(told.envelope.data["open_tasks"], 201);
    store.perform(request("dev:ada", Tool::Workstream, complete(true))).await.unwrap();
    let wanted = EventsWanted { log: Log::Work, workspace: None, developer: None, after: None, limit: 9 };
    let [event] = store.team_events(wanted).await.unwrap().try_into().unwrap();
    assert_eq!(event.payload["open_task_ids"], json!(oldest), "as many as an event holds");
    assert_eq!(event.payload["open_tasks"], 201);
}

on_both!(
    of_many_open_tasks_of_a_workstream_the_oldest_are_named_and_all_are_counted,
    a_call_that_is_kept_leaves_its_usage_event,
    a_call_that_comes_to_nothing_leaves_its_usage_event_alone,
    a_task_of_no_type_or_of_an_unknown_one_is_refused_behind_the_schema_too,
    an_error_is_linked_to_the_session_it_came_in_if_that_is_the_callers_own,
    a_call_that_breaks_is_a_fault_and_leaves_nothing,
    a_call_that_was_never_performed_leaves_its_usage_event_too,
    turns_are_as_many_as_changes_and_in_the_order_of_commits,
    of_many_calls_with_one_key_one_makes_something_and_all_are_told_the_same,
    what_was_done_before_a_call_failed_is_undone,
    a_change_that_waits_for_its_turn_reads_what_the_one_before_it_left,
    a_text_with_nul_is_refused_and_nothing_is_kept,
);
