//! The lists of a team on either database: newest first, as many as are wanted, without containers and other teams' rows; audits
//! and weeks that are kept; work that is like other work.

use covenant_model::id::{
    CheckId, ContextId, DeveloperId, NoteId, ParallelAuditId, SummaryId, WarningId, WorkstreamId,
};
use covenant_model::time::Timestamp;
use covenant_store::TeamTransaction;
use covenant_team::audit::{Audit, Conflict, Side};
use covenant_team::input::NoteKind;
use covenant_team::overlap::{Among, Query};
use covenant_team::port::survey::{COUNTED, Listed, Shelf, Summary, Survey as _, Warned, Whose};
use covenant_team::port::{Note, TeamTx as _};
use covenant_team::session::{ContextBody, Session, SharedContext};
use covenant_team::warning::{Settled, Warning};
use covenant_team::work::{Brief, Form, Kind, Status, Work, WorkId};
use serde_json::{Map, json};

use super::team::{ODD, bare, developer, peopled, session_id, stream, task_id, turn, workspace};
use super::{Bench, at, on_both, seed};

/// Before anything here.
fn ever() -> Timestamp {
    Timestamp::default()
}

fn standing(work: Work, status: Status) -> Work {
    Work { status, ..work }
}

fn container(number: u64) -> Work {
    Work { form: Form::Workstream { auto_created: true }, ..stream(number) }
}

async fn add(tx: &mut TeamTransaction, all: &[Work]) {
    for work in all {
        tx.add_work(work).await.unwrap();
    }
}

async fn work_is_listed_newest_first_without_containers(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    let active: Vec<Work> = (1..=5).map(|number| standing(bare(number), Status::Active)).collect();
    let of_bob = Work { developer: developer(2), ..standing(bare(6), Status::Active) };
    let streams = [standing(stream(11), Status::Active), standing(container(12), Status::Active)];
    let done = Work {
        result_summary: Some(ODD.into()),
        reason: Some(ODD.into()),
        session: Some(session_id(1)),
        ..standing(bare(7), Status::Done)
    };
    add(&mut tx, &active).await;
    add(&mut tx, &[of_bob.clone(), done.clone()]).await;
    add(&mut tx, &streams).await;
    let (us, team) = (developer(1), workspace(1));
    let (mine, all) = (Whose::Own(&us), Whose::Team(&team));
    let listed = |work: &Work| Listed::of(work);
    let found = tx.listed(all, Kind::Task, Status::Active, ever(), 3).await.unwrap();
    assert_eq!(found, [&of_bob, &active[4], &active[3]].map(listed));
    let found = tx.listed(mine, Kind::Task, Status::Active, at(4), 9).await.unwrap();
    assert_eq!(found, [&active[4], &active[3]].map(listed), "from that moment on, and only one's own");
    for whose in [mine, all] {
        let found = tx.listed(whose, Kind::Workstream, Status::Active, ever(), 9).await.unwrap();
        assert_eq!(found, [listed(&streams[0])], "a container is not listed");
    }
    assert_eq!(tx.listed(all, Kind::Task, Status::Done, ever(), 9).await.unwrap(), [listed(&done)]);
    let running = tx.running(&team, Kind::Task, Status::Active, 2).await.unwrap();
    assert_eq!(running, [of_bob.clone(), active[4].clone()]);
    assert_eq!(tx.running(&team, Kind::Workstream, Status::Active, 9).await.unwrap(), streams[..1]);
    for (shelf, number) in [
        (Shelf::Work(Kind::Task, Status::Active, ever()), 6),
        (Shelf::Work(Kind::Task, Status::Active, at(5)), 2),
        (Shelf::Work(Kind::Workstream, Status::Active, ever()), 1),
        (Shelf::Work(Kind::Task, Status::Blocked, ever()), 0),
    ] {
        assert_eq!(tx.number(&team, shelf).await.unwrap(), number, "{shelf:?}");
        assert_eq!(tx.number(&workspace(2), shelf).await.unwrap(), 0, "{shelf:?} of another team");
    }
    let wanted = [active[0].id.clone(), streams[1].id.clone(), bare(99).id];
    let mut found = tx.standing(&wanted).await.unwrap();
    found.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(found, [listed(&active[0]), listed(&streams[1])], "by its id also a container is found");
    assert_eq!(tx.standing(&[]).await.unwrap(), []);
}

async fn many_are_found_at_once_and_counted_up_to_a_bound(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    let some: Vec<Work> = (1..=300).map(bare).collect();
    add(&mut tx, &some).await;
    tx.commit().await.unwrap();
    let (of, team) = (developer(1), workspace(1));
    let columns = "id, workspace_id, developer_id, title, description, scope, target_files, task_type, priority, status, \
                   created_at, updated_at, turn";
    let values = format!("'{team}', '{of}', 't', '', '', '[]', 'chore', 'normal', 'planned', 1, 1, 1");
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)";
    let insert = format!("INSERT INTO tasks ({columns}) {numbers} SELECT 'task_z' || i, {values} FROM n");
    bench.raw(&insert).await;
    let mut tx = store.begin_team().await.unwrap();
    let shelf = Shelf::Work(Kind::Task, Status::Planned, ever());
    assert_eq!(tx.number(&team, shelf).await.unwrap(), COUNTED, "of 10,299");
    let ids: Vec<WorkId> = some.iter().map(|work| work.id.clone()).collect();
    let mut found: Vec<WorkId> = tx.standing(&ids).await.unwrap().into_iter().map(|work| work.id).collect();
    found.sort();
    let mut wanted = ids.clone();
    wanted.sort();
    assert_eq!(found, wanted);
    let people: Vec<DeveloperId> = [1, 2, 3, 4, 77].map(developer).to_vec();
    let mut members = tx.members_with(&people).await.unwrap();
    members.sort_by(|one, other| one.handle.cmp(&other.handle));
    let handles: Vec<_> = members.iter().map(|member| (member.handle.as_str(), member.private)).collect();
    assert_eq!(handles, [("ada", false), ("bob", true), ("eve", false), ("gone", false)]);
}

fn note(number: u64, kind: &'static str) -> Note {
    Note {
        id: NoteId::from_random(seed(number)),
        workspace: workspace(1),
        developer: developer(1),
        session: Some(session_id(2)),
        kind,
        text: ODD.into(),
        work: number.is_multiple_of(2).then(|| WorkId::Task(task_id(number))),
        at: at(number),
    }
}

async fn notes_and_warnings_are_listed_by_kind_and_since_when(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let team = workspace(1);
    let notes: Vec<Note> =
        (1..=6).map(|number| note(number, if number < 4 { "decision" } else { "blocker" })).collect();
    for note in &notes {
        tx.add_note(note).await.unwrap();
    }
    let decided = tx.notes(&team, NoteKind::Decision, at(2), 9).await.unwrap();
    assert_eq!(decided, [notes[2].clone(), notes[1].clone()]);
    assert_eq!(tx.notes(&team, NoteKind::Blocker, ever(), 1).await.unwrap(), [notes[5].clone()]);
    assert_eq!(tx.notes(&workspace(2), NoteKind::Blocker, ever(), 9).await.unwrap(), []);
    assert_eq!(tx.number(&team, Shelf::Notes(NoteKind::Decision, at(2))).await.unwrap(), 2);

    for (number, of, settled) in
        [(1, 1, Settled::Superseded), (2, 1, Settled::Open), (3, 2, Settled::Judged), (4, 1, Settled::Open)]
    {
        let warning = Warning {
            id: WarningId::from_random(seed(number)),
            workspace: team.clone(),
            developer: developer(of),
            check: (number != 2).then(|| CheckId::from_random(seed(number))),
            kind: Kind::Workstream,
            title: ODD.into(),
            title_key: number.to_string(),
            found: Vec::new(),
            settled,
            reason: None,
            work: None,
            at: at(number),
            settled_at: None,
        };
        tx.add_warning(&warning).await.unwrap();
    }
    let warned = |number, of| Warned {
        id: WarningId::from_random(seed(number)),
        developer: developer(of),
        kind: Kind::Workstream,
        title: ODD.into(),
        settled: if number == 3 { Settled::Judged } else { Settled::Open },
        check: (number != 2).then(|| CheckId::from_random(seed(number))),
        escalated: false,
        at: at(number),
    };
    let (us, all) = (developer(1), Whose::Team(&team));
    assert_eq!(tx.warned(all, ever(), 2).await.unwrap(), [warned(4, 1), warned(3, 2)]);
    assert_eq!(
        tx.warned(Whose::Own(&us), ever(), 9).await.unwrap(),
        [warned(4, 1)],
        "the other came of a plan"
    );
    assert_eq!(tx.warned(all, at(4), 9).await.unwrap(), [warned(4, 1)]);
    assert_eq!(tx.number(&team, Shelf::Warned(at(3))).await.unwrap(), 2);
}

async fn sessions_are_listed_by_when_they_were_heard_of(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let (us, team) = (developer(1), workspace(1));
    let session = |number: u64, of, ended: bool| Session {
        id: session_id(number),
        workspace: workspace(1),
        developer: developer(of),
        agent_name: None,
        agent_type: None,
        provider: None,
        model: None,
        repo: None,
        branch: None,
        started_at: at(0),
        last_seen_at: at(number),
        ended_at: ended.then(|| at(number)),
    };
    let all = [session(1, 1, false), session(2, 2, false), session(3, 1, true), session(4, 1, false)];
    for session in &all {
        tx.add_session(session).await.unwrap();
    }
    let [first, second, ended, last] = all;
    assert_eq!(tx.seen(&team, at(2), 2).await.unwrap(), [last.clone(), ended]);
    let silent = tx.silent(Whose::Team(&team), ever(), at(4), 9).await.unwrap();
    assert_eq!(
        silent,
        [second, first.clone()],
        "one that ended is not silent, and one of that moment neither"
    );
    assert_eq!(tx.silent(Whose::Own(&us), ever(), at(9), 1).await.unwrap(), [last]);
    assert_eq!(tx.silent(Whose::Own(&us), ever(), at(4), 9).await.unwrap(), [first]);
    assert_eq!(tx.number(&team, Shelf::Silent(ever(), at(4))).await.unwrap(), 2);
    let lately = tx.silent(Whose::Team(&team), at(2), at(4), 9).await.unwrap();
    assert_eq!(lately, silent[..1], "whoever was silent for longer is left out");
    assert_eq!(tx.number(&team, Shelf::Silent(at(2), at(4))).await.unwrap(), 1);
    assert_eq!(tx.number(&team, Shelf::Seen(at(2))).await.unwrap(), 3);
    assert_eq!(tx.seen(&workspace(2), ever(), 9).await.unwrap(), []);
}

async fn the_newest_context_is_found_also_when_it_is_over(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let context = |number: u64, repo: &str| SharedContext {
        id: ContextId::from_random(seed(number)),
        workspace: workspace(1),
        developer: developer(1),
        session: None,
        body: ContextBody { title: ODD.into(), repo: repo.into(), ..ContextBody::default() },
        created_at: at(number),
        expires_at: at(number + 10),
        superseded_by: None,
        revoked_at: None,
    };
    assert_eq!(tx.newest_context(&developer(1)).await.unwrap(), None);
    let (one, two, three) = (context(1, "a"), context(2, "b"), context(3, "b"));
    for context in [&one, &two, &three] {
        tx.publish(context).await.unwrap();
    }
    assert_eq!(tx.newest_context(&developer(1)).await.unwrap(), Some(three.clone()));
    assert_eq!(tx.number(&workspace(1), Shelf::Contexts(at(5))).await.unwrap(), 2);
    assert_eq!(tx.number(&workspace(1), Shelf::Contexts(at(12))).await.unwrap(), 1);
    tx.revoke(&three.id, at(4)).await.unwrap();
    assert_eq!(tx.newest_context(&developer(1)).await.unwrap(), Some(one));
    assert_eq!(tx.newest_context(&developer(2)).await.unwrap(), None);
}

async fn audits_are_read_back_and_weeks_are_kept(bench: Bench) {
    let store = peopled(&bench).await;
    let side =
        |id: WorkId, of| Side { id, title: ODD.into(), developer: developer(of), status: Status::Blocked };
    let stream = WorkId::Workstream(WorkstreamId::from_random(seed(1)));
    let sides = [side(WorkId::Task(task_id(1)), 1), side(stream, 2)];
    let conflict = Conflict { sides, score: 0.714, reason: ODD.into() };
    let audit = |number: u64, conflicts: Vec<Conflict>| Audit {
        id: ParallelAuditId::from_random(seed(number)),
        workspace: workspace(1),
        developer: developer(1),
        session: Some(session_id(1)).filter(|_| number == 2),
        looked_at: 500,
        left_out: 12,
        conflicts,
        more: number,
        at: at(number),
    };
    let (clean, found) = (audit(1, Vec::new()), audit(2, vec![conflict; 50]));
    let mut tx = store.begin_team().await.unwrap();
    for audit in [&clean, &found] {
        tx.add_audit(audit).await.unwrap();
    }
    let counts: Map<_, _> = serde_json::from_value(json!({ODD: 3})).unwrap();
    let summary = Summary {
        id: SummaryId::from_random(seed(1)),
        workspace: workspace(1),
        developer: developer(1),
        session: None,
        since: at(0),
        markdown: ODD.repeat(1_000),
        counts,
        at: at(1),
    };
    tx.add_summary(&summary).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = store.begin_team().await.unwrap();
    assert_eq!(tx.audits(&workspace(1), ever(), 9).await.unwrap(), [found.clone(), clean]);
    assert_eq!(tx.audits(&workspace(1), at(2), 9).await.unwrap(), std::slice::from_ref(&found));
    assert_eq!(tx.audits(&workspace(1), ever(), 1).await.unwrap(), [found]);
    assert_eq!(tx.audits(&workspace(2), ever(), 9).await.unwrap(), []);
    assert_eq!(tx.number(&workspace(1), Shelf::Audits(at(2))).await.unwrap(), 1);
    let length = i64::try_from(ODD.chars().count() * 1_000).unwrap();
    assert_eq!(bench.number("SELECT CAST(length(markdown) AS BIGINT) FROM weekly_summaries").await, length);
}

async fn work_that_is_like_other_work_is_found(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = turn(&store).await;
    let titled = |work: Work, title: &str| {
        let brief = Brief { title: title.into(), ..Brief::default() };
        Work { brief, ..work }
    };
    let title = "Retry uploads to the bucket with exponential backoff";
    let open = titled(bare(1), title);
    let ended = Work { ended_at: Some(at(2)), ..standing(titled(bare(2), title), Status::Done) };
    let other = titled(bare(3), "Draw a chart of daily active customers");
    let inside = titled(container(4), title);
    let of_eve = Work { workspace: workspace(2), developer: developer(3), ..titled(bare(5), title) };
    add(&mut tx, &[open.clone(), ended.clone(), other, inside]).await;
    tx.commit().await.unwrap();
    let mut tx = store.begin_team().await.unwrap();
    tx.take_turn(&workspace(2)).await.unwrap();
    add(&mut tx, &[of_eve]).await;
    tx.commit().await.unwrap();

    let mut tx = turn(&store).await;
    let query = Query::of(&open.brief);
    let ids = |found: Vec<covenant_team::overlap::Match<WorkId>>| {
        let mut ids: Vec<_> = found.into_iter().map(|found| (found.id, found.open)).collect();
        ids.sort();
        ids
    };
    let everything = Among { except: None, ended_since: at(2) };
    let found = tx.alike(&workspace(1), &query, &everything, 9).await.unwrap();
    assert_eq!(ids(found), [(open.id.clone(), true), (ended.id.clone(), false)]);
    let others = Among { except: Some(&open.id), ended_since: at(3) };
    assert_eq!(ids(tx.alike(&workspace(1), &query, &others, 9).await.unwrap()), []);
    let earlier = Among { except: Some(&open.id), ended_since: ever() };
    assert_eq!(ids(tx.alike(&workspace(1), &query, &earlier, 9).await.unwrap()), [(ended.id, false)]);
    // What changes in this very transaction may never have been: it is seen by whoever has the next turn.
    let late = titled(bare(9), title);
    tx.add_work(&late).await.unwrap();
    assert_eq!(ids(tx.alike(&workspace(1), &query, &others, 9).await.unwrap()), []);
    drop(tx);
    let mut tx = turn(&store).await;
    assert_eq!(ids(tx.alike(&workspace(1), &query, &others, 9).await.unwrap()), [], "it was rolled back");
    tx.add_work(&late).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = store.begin_team().await.unwrap();
    let found = tx.alike(&workspace(1), &query, &others, 9).await.unwrap();
    assert_eq!(ids(found), [(late.id.clone(), true)], "also by whoever has none");
    drop(tx);
    // What another program on the same database changed is seen as well.
    let other = bench.open().await;
    let mut tx = turn(&other).await;
    assert_eq!(tx.alike(&workspace(1), &query, &others, 9).await.unwrap().len(), 1);
    tx.save_work(&Work { ended_at: Some(at(9)), ..standing(late.clone(), Status::Cancelled) }).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = turn(&store).await;
    let found = tx.alike(&workspace(1), &query, &others, 9).await.unwrap();
    assert_eq!(ids(found), [(late.id, false)], "and that it is over");
    drop(tx);
    other.close().await;
}

on_both!(
    work_is_listed_newest_first_without_containers,
    many_are_found_at_once_and_counted_up_to_a_bound,
    notes_and_warnings_are_listed_by_kind_and_since_when,
    sessions_are_listed_by_when_they_were_heard_of,
    the_newest_context_is_found_also_when_it_is_over,
    audits_are_read_back_and_weeks_are_kept,
    work_that_is_like_other_work_is_found,
);
