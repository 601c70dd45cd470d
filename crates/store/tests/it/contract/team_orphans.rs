//! Tasks from before there were workstreams, on either database.

use std::sync::Arc;

use covenant_model::id::WorkstreamId;
use covenant_store::EventsWanted;
use covenant_team::event::Log;
use covenant_team::port::TeamTx as _;
use covenant_team::work::{Brief, Form, Priority, Status, TaskType, Work, WorkId};
use serde_json::json;

use super::team::{ODD, bare, developer, peopled, session_id, stream, task_id, turn, workspace};
use super::{Bench, at, on_both, together};

async fn a_task_without_a_workstream_gets_one_of_its_own(bench: Bench) {
    let store = peopled(&bench).await;
    let brief = Brief {
        title: ODD.into(),
        description: "at length".into(),
        scope: "how far".into(),
        target_files: vec!["a".into()],
        ..Brief::default()
    };
    let open = Work { brief, session: Some(session_id(1)), status: Status::Blocked, ..bare(1) };
    let over = Work {
        status: Status::Done,
        result_summary: Some("done so".into()),
        started_at: Some(at(3)),
        updated_at: at(5),
        ended_at: Some(at(4)),
        ..bare(2)
    };
    let given_up = Work { status: Status::Cancelled, reason: Some("no".into()), ..bare(3) };
    let has_one = Form::Task {
        task_type: TaskType::Docs,
        priority: Priority::Low,
        workstream: Some("ws_9".parse().unwrap()),
    };
    let adopted = Work { form: has_one, ..bare(4) };
    let elsewhere = Work { workspace: workspace(2), developer: developer(3), ..bare(5) };
    let mut tx = turn(&store).await;
    tx.add_work(&Work { id: WorkId::Workstream("ws_9".parse().unwrap()), ..stream(9) }).await.unwrap();
    for task in [&open, &over, &given_up, &adopted] {
        tx.add_work(task).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut tx = store.begin_team().await.unwrap();
    tx.take_turn(&workspace(2)).await.unwrap();
    tx.add_work(&elsewhere).await.unwrap();
    tx.commit().await.unwrap();

    assert_eq!(store.adopt_orphans(at(50)).await.unwrap(), 4);
    assert_eq!(store.adopt_orphans(at(60)).await.unwrap(), 0);

    let wanted = EventsWanted { log: Log::Work, workspace: None, developer: None, after: None, limit: 99 };
    let events = store.team_events(wanted).await.unwrap();
    assert_eq!(events.len(), 4);
    let mut tx = store.begin_team().await.unwrap();
    assert_eq!(tx.work(&adopted.id).await.unwrap().as_ref(), Some(&adopted));
    for (task, status) in [
        (&open, Status::Active),
        (&over, Status::Done),
        (&given_up, Status::Done),
        (&elsewhere, Status::Active),
    ] {
        let found = tx.work(&task.id).await.unwrap().unwrap();
        let id: WorkstreamId = found.workstream().unwrap().clone();
        let Form::Task { task_type, priority, .. } = task.form.clone() else { panic!("a task") };
        let form = Form::Task { task_type, priority, workstream: Some(id.clone()) };
        assert_eq!(found, Work { form, ..task.clone() }, "nothing else of it changed");
        let made = tx.work(&WorkId::Workstream(id.clone())).await.unwrap().unwrap();
        assert!(made.is_container());
        assert_eq!((made.status, &made.developer, &made.session), (status, &task.developer, &task.session));
        assert_eq!((&made.workspace, made.created_at), (&task.workspace, task.created_at));
        assert_eq!(made.brief.title, task.brief.title);
        assert_eq!(made.brief.description, task.brief.description);
        assert_eq!(made.brief.scope, task.brief.scope);
        assert_eq!(made.ended_at.is_some(), status == Status::Done);
        let event = events.iter().find(|event| event.subject_id.as_deref() == Some(id.as_str())).unwrap();
        assert_eq!(
            (event.event.as_str(), event.status.as_str()),
            ("workstream.auto_created", status.as_str())
        );
        assert_eq!((event.payload["task_id"].clone(), event.at), (json!(task.id.as_str()), at(50)));
    }
}

async fn many_orphans_of_several_teams_are_adopted_once_by_daemons_that_start_at_once(bench: Bench) {
    let stores = [peopled(&bench).await, bench.open().await];
    for (team, owner) in [(1_u64, 1), (2, 3)] {
        let mut tx = stores[0].begin_team().await.unwrap();
        tx.take_turn(&workspace(team)).await.unwrap();
        for number in 0..150_u64 {
            let id = WorkId::Task(task_id(number * 2 + team));
            let task = Work { id, workspace: workspace(team), developer: developer(owner), ..bare(number) };
            tx.add_work(&task).await.unwrap();
        }
        tx.commit().await.unwrap();
    }
    let adopted = together([0, 1, 0, 1].map(|number| {
        let store = Arc::clone(&stores[number]);
        Box::pin(async move { store.adopt_orphans(at(500)).await.unwrap() })
    }));
    assert_eq!(adopted.await.into_iter().sum::<u64>(), 300);
    for sql in [
        "SELECT count(DISTINCT workstream_id) FROM tasks",
        "SELECT count(*) FROM workstreams WHERE auto_created = 1",
        "SELECT count(*) FROM work_events",
        "SELECT count(*) FROM tasks t JOIN workstreams w ON w.id = t.workstream_id AND w.developer_id = t.developer_id",
    ] {
        assert_eq!(bench.number(sql).await, 300, "{sql}");
    }
}

on_both!(
    a_task_without_a_workstream_gets_one_of_its_own,
    many_orphans_of_several_teams_are_adopted_once_by_daemons_that_start_at_once,
);
