//! Tasks, workstreams, checks and notes of teams on either database: kept as they are, found by what they are asked for.

use covenant_model::id::{
    AgentSessionId, CheckId, DeveloperId, NoteId, TaskId, WarningId, WorkspaceId, WorkstreamId,
};
use covenant_model::time::Timestamp;
use covenant_store::{Store, TeamTransaction};
use covenant_team::port::{Check, Note, TeamTx as _};
use covenant_team::work::{Action, Brief, Form, Kind, Priority, Status, TaskType, Work, WorkId};

use super::{Bench, at, on_both, seed};

/// Later than anything here.
fn late() -> Timestamp {
    at(99)
}

/// Text that is not what it seems.
pub(super) const ODD: &str = "Ünï çø∂é 🔑 日本語 '$1' ?1 \"\\u0000\" \r\n\t'); DROP TABLE tasks; --";

pub(super) fn workspace(number: u64) -> WorkspaceId {
    WorkspaceId::from_random(seed(number))
}

/// The developer with that number: `local`, `ada`, `bob` of the first team, and `eve` of the second.
pub(super) fn developer(number: u64) -> DeveloperId {
    DeveloperId::from_random(seed(number))
}

pub(super) fn session_id(number: u64) -> AgentSessionId {
    AgentSessionId::from_random(seed(number))
}

pub(super) fn task_id(number: u64) -> TaskId {
    TaskId::from_random(seed(number))
}

pub(super) fn workstream_id(number: u64) -> WorkstreamId {
    WorkstreamId::from_random(seed(number))
}

/// Two teams, and those who are in them.
pub(super) async fn people(bench: &Bench) {
    for (number, name) in [(1, "local"), (2, "others")] {
        let id = workspace(number);
        bench.raw(&format!("INSERT INTO workspaces VALUES ('{id}', '{name}', 0, 0)")).await;
    }
    for (number, team, handle, private, removed) in [
        (0, 1, "local", 0, "NULL"),
        (1, 1, "ada", 0, "NULL"),
        (2, 1, "bob", 1, "NULL"),
        (3, 2, "eve", 0, "NULL"),
        (4, 1, "gone", 0, "7"),
    ] {
        let (id, team) = (developer(number), workspace(team));
        let values = format!("('{id}', '{team}', '{handle}', 'member', {private}, 0, {removed})");
        bench.raw(&format!("INSERT INTO developers VALUES {values}")).await;
    }
}

/// An open store in which there are people.
pub(super) async fn peopled(bench: &Bench) -> std::sync::Arc<Store> {
    let store = bench.open().await;
    people(bench).await;
    store
}

/// A transaction that has taken a turn of the first team.
pub(super) async fn turn(store: &Store) -> TeamTransaction {
    let mut tx = store.begin_team().await.unwrap();
    tx.take_turn(&workspace(1)).await.unwrap();
    tx
}

/// A task of Ada's with nothing that may be left out, made at the moment of its number.
pub(super) fn bare(number: u64) -> Work {
    Work {
        id: WorkId::Task(task_id(number)),
        workspace: workspace(1),
        developer: developer(1),
        session: None,
        brief: Brief { title: format!("task {number}"), ..Brief::default() },
        form: Form::Task { task_type: TaskType::Chore, priority: Priority::Normal, workstream: None },
        status: Status::Planned,
        result_summary: None,
        reason: None,
        idempotency_key: None,
        created_at: at(number),
        started_at: None,
        updated_at: at(number),
        ended_at: None,
    }
}

pub(super) fn stream(number: u64) -> Work {
    Work {
        id: WorkId::Workstream(workstream_id(number)),
        form: Form::Workstream { auto_created: false },
        ..bare(number)
    }
}

/// The same with everything there is, in texts that are as odd as texts can be.
fn full(work: &Work) -> Work {
    let form = match &work.form {
        Form::Task { .. } => Form::Task {
            task_type: TaskType::Spike,
            priority: Priority::Urgent,
            workstream: Some(workstream_id(90)),
        },
        Form::Workstream { .. } => Form::Workstream { auto_created: true },
    };
    Work {
        session: Some(session_id(5)),
        brief: Brief {
            title: ODD.into(),
            description: ODD.repeat(100),
            scope: ODD.into(),
            action: Some(Action::Audit),
            component: Some(ODD.into()),
            target_files: vec![String::new(), ODD.into(), "src/ä b.rs".into()],
        },
        form,
        status: Status::Blocked,
        result_summary: Some(ODD.into()),
        reason: Some(String::new()),
        started_at: Some(at(7)),
        updated_at: at(8),
        ended_at: Some(at(9)),
        ..work.clone()
    }
}

async fn work_is_kept_as_it_is_empty_and_full(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    tx.add_work(&stream(90)).await.unwrap();
    for work in [bare(1), stream(2)] {
        let keyed = Work { id: WorkId::from_random(work.kind(), seed(50)), ..full(&work) };
        let keyed = Work { idempotency_key: Some(ODD.into()), ..keyed };
        for work in [&work, &keyed] {
            assert_eq!(tx.work(&work.id).await.unwrap(), None);
            tx.add_work(work).await.unwrap();
            assert_eq!(tx.work(&work.id).await.unwrap().as_ref(), Some(work));
        }
        let found = tx.work_by_key(work.kind(), &developer(1), ODD).await.unwrap();
        assert_eq!(found.as_ref(), Some(&keyed));
        assert_eq!(tx.work_by_key(work.kind(), &developer(2), ODD).await.unwrap(), None);
        assert_eq!(tx.work_by_key(work.kind(), &developer(1), "other").await.unwrap(), None);

        for changed in [full(&work), work.clone()] {
            tx.save_work(&changed).await.unwrap();
            assert_eq!(tx.work(&work.id).await.unwrap(), Some(changed), "in either direction");
        }
    }
    tx.commit().await.unwrap();
    store.close().await;
    let again = bench.open().await;
    let mut tx = again.begin_team().await.unwrap();
    assert_eq!(tx.work(&bare(1).id).await.unwrap(), Some(bare(1)));
    assert_eq!(tx.work(&stream(2).id).await.unwrap(), Some(stream(2)));
}

async fn every_word_of_work_is_kept(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    tx.add_work(&bare(1)).await.unwrap();
    let mut work = bare(1);
    let types = TaskType::ALL.iter().map(|task_type| (*task_type, Priority::Normal));
    let priorities = Priority::ALL.iter().map(|priority| (TaskType::Chore, *priority));
    for (task_type, priority) in types.chain(priorities) {
        work.form = Form::Task { task_type, priority, workstream: None };
        tx.save_work(&work).await.unwrap();
        assert_eq!(tx.work(&work.id).await.unwrap().as_ref(), Some(&work));
    }
    for (status, action) in Status::ALL.iter().zip(Action::ALL) {
        (work.status, work.brief.action) = (*status, Some(*action));
        tx.save_work(&work).await.unwrap();
        assert_eq!(tx.work(&work.id).await.unwrap().as_ref(), Some(&work));
    }
}

async fn the_open_tasks_of_a_workstream_are_told_oldest_first(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    let (ours, theirs) = (workstream_id(1), workstream_id(2));
    for number in [1, 2] {
        tx.add_work(&stream(number)).await.unwrap();
    }
    for (number, status, workstream) in [
        (5, Status::Active, &ours),
        (3, Status::Planned, &ours),
        (4, Status::Blocked, &ours),
        (6, Status::Done, &ours),
        (7, Status::Cancelled, &ours),
        (8, Status::Active, &theirs),
    ] {
        let (task_type, priority) = (TaskType::Bug, Priority::Low);
        let form = Form::Task { task_type, priority, workstream: Some(workstream.clone()) };
        tx.add_work(&Work { status, form, ..bare(number) }).await.unwrap();
    }
    tx.add_work(&bare(9)).await.unwrap();
    assert_eq!(tx.open_tasks(&ours, 9).await.unwrap(), [3, 4, 5].map(task_id));
    assert_eq!(tx.open_tasks(&ours, 1).await.unwrap(), [3].map(task_id), "no more than are asked for");
    assert_eq!(tx.open_tasks(&workstream_id(3), 9).await.unwrap(), []);
    for (workstream, count) in [(1, 3), (2, 1), (3, 0)] {
        assert_eq!(tx.open_task_count(&workstream_id(workstream)).await.unwrap(), count);
    }
}

async fn work_changes_only_in_a_turn_of_its_team(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    assert!(tx.add_work(&bare(1)).await.is_err(), "nobody took a turn");
    assert!(tx.commit().await.is_err(), "what broke is not kept");
    let elsewhere = Work { workspace: workspace(2), developer: developer(3), ..bare(1) };
    assert!(turn(&store).await.add_work(&elsewhere).await.is_err(), "it is another team's");
    assert!(turn(&store).await.take_turn(&workspace(2)).await.is_err(), "one turn at a time");
    assert!(turn(&store).await.save_work(&bare(1)).await.is_err(), "it is not there");
    let mut tx = store.begin_team().await.unwrap();
    assert!(tx.take_turn(&workspace(9)).await.is_err(), "there is no such team");
    drop(tx);
    assert_eq!(bench.number("SELECT count(*) FROM tasks").await, 0);
    assert_eq!(bench.number("SELECT CAST(sum(turn) AS BIGINT) FROM workspaces").await, 0);

    let mut tx = turn(&store).await;
    tx.take_turn(&workspace(1)).await.unwrap();
    tx.add_work(&bare(1)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(bench.number("SELECT turn FROM tasks").await, 1, "taken twice is taken once");
    let mut tx = turn(&store).await;
    tx.save_work(&bare(1)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(bench.number("SELECT turn FROM tasks").await, 2);
}

async fn a_key_is_one_developers_and_makes_one_thing(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    let keyed = |work: Work| Work { idempotency_key: Some("k".into()), ..work };
    tx.add_work(&keyed(bare(1))).await.unwrap();
    tx.add_work(&keyed(stream(1))).await.unwrap();
    tx.add_work(&Work { developer: developer(2), ..keyed(bare(2)) }).await.unwrap();
    assert!(tx.add_work(&keyed(bare(3))).await.is_err());
}

fn check(number: u64, millis: u64, title_key: &str) -> Check {
    Check {
        id: CheckId::from_random(seed(number)),
        workspace: workspace(1),
        developer: developer(1),
        kind: Kind::Task,
        brief: Brief::default(),
        title_key: title_key.into(),
        planned: None,
        warning: None,
        at: at(millis),
    }
}

async fn the_newest_check_counts_and_it_is_kept_as_it_is(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let planned = WorkId::Task(task_id(1));
    let about = Check { planned: Some(planned.clone()), ..check(2, 4, ODD) };
    let full = Check {
        brief: full(&bare(1)).brief,
        planned: Some(WorkId::Task(task_id(2))),
        warning: Some(WarningId::from_random(seed(1))),
        ..check(3, 5, ODD)
    };
    let of_bob = Check { developer: developer(2), ..check(4, 9, ODD) };
    let of_stream = Check { kind: Kind::Workstream, ..check(5, 9, ODD) };
    for check in [&full, &about, &check(1, 3, ODD), &of_bob, &of_stream, &check(6, 9, "other")] {
        tx.add_check(check).await.unwrap();
    }
    let us = developer(1);
    assert_eq!(tx.latest_check(&us, Kind::Task, ODD, None, late()).await.unwrap().as_ref(), Some(&full));
    let found = tx.latest_check(&us, Kind::Task, ODD, Some(&planned), late()).await.unwrap();
    assert_eq!(found, Some(about), "though others are newer");
    assert_eq!(tx.latest_check(&us, Kind::Workstream, ODD, None, late()).await.unwrap(), Some(of_stream));
    assert_eq!(tx.latest_check(&developer(2), Kind::Task, ODD, None, late()).await.unwrap(), Some(of_bob));
    let earlier = tx.latest_check(&us, Kind::Task, ODD, None, at(3)).await.unwrap();
    assert_eq!(earlier, Some(check(1, 3, ODD)), "the newest of that moment");
    assert_eq!(tx.latest_check(&us, Kind::Task, "none", None, late()).await.unwrap(), None);
    assert_eq!(tx.latest_check(&us, Kind::Task, "other", Some(&planned), late()).await.unwrap(), None);
}

async fn of_checks_of_one_moment_the_same_counts_everywhere(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let together: Vec<_> = (1..=40).map(|number| check(number, 3, "t")).collect();
    for check in &together {
        tx.add_check(check).await.unwrap();
    }
    tx.add_check(&check(90, 2, "t")).await.unwrap();
    let greatest = together.into_iter().max_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(tx.latest_check(&developer(1), Kind::Task, "t", None, late()).await.unwrap(), greatest);
}

async fn notes_are_kept(bench: Bench) {
    let store = peopled(&bench).await;
    let note = |number: u64, kind, text: &str| Note {
        id: NoteId::from_random(seed(number)),
        workspace: workspace(1),
        developer: developer(1),
        session: None,
        kind,
        text: text.into(),
        work: None,
        at: at(number),
    };
    let mut tx = store.begin_team().await.unwrap();
    tx.add_note(&note(1, "decision", ODD)).await.unwrap();
    let (session, work) = (Some(session_id(1)), Some(WorkId::Workstream(workstream_id(1))));
    tx.add_note(&Note { session, work, ..note(2, "blocker", "x") }).await.unwrap();
    tx.commit().await.unwrap();
    let condition = format!(
        "kind = 'blocker' AND text = 'x' AND session_id = '{}' AND subject_id = '{}' AND at = {}",
        session_id(1),
        workstream_id(1),
        at(2).millis()
    );
    assert_eq!(bench.number(&format!("SELECT count(*) FROM notes WHERE {condition}")).await, 1);
    let bare = "kind = 'decision' AND session_id IS NULL AND subject_id IS NULL AND text LIKE '%日本語%'";
    assert_eq!(bench.number(&format!("SELECT count(*) FROM notes WHERE {bare}")).await, 1);
}

async fn a_damaged_row_of_work_is_an_error_that_names_it(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    tx.add_work(&bare(1)).await.unwrap();
    tx.commit().await.unwrap();
    let sound = "UPDATE tasks SET status = 'planned', task_type = 'bug', priority = 'low', action = NULL, \
                 target_files = '[]', session_id = NULL, created_at = 1";
    for damage in [
        "status = 'lost'",
        "task_type = ''",
        "priority = 'x'",
        "action = 'x'",
        "target_files = '{}'",
        "session_id = 'x'",
        "created_at = -1",
    ] {
        bench.raw(sound).await;
        let mut tx = store.begin_team().await.unwrap();
        assert!(tx.work(&bare(1).id).await.unwrap().is_some());
        drop(tx);
        bench.raw(&format!("UPDATE tasks SET {damage}")).await;
        let broken = store.begin_team().await.unwrap().work(&bare(1).id).await.unwrap_err().to_string();
        let column = damage.split(' ').next().unwrap();
        assert!(broken.contains("`tasks`") && broken.contains(task_id(1).as_str()), "{broken}");
        assert!(broken.contains(&format!("`{column}`")), "{broken}");
    }
}

on_both!(
    work_is_kept_as_it_is_empty_and_full,
    every_word_of_work_is_kept,
    the_open_tasks_of_a_workstream_are_told_oldest_first,
    work_changes_only_in_a_turn_of_its_team,
    a_key_is_one_developers_and_makes_one_thing,
    the_newest_check_counts_and_it_is_kept_as_it_is,
    of_checks_of_one_moment_the_same_counts_everywhere,
    notes_are_kept,
    a_damaged_row_of_work_is_an_error_that_names_it,
);
