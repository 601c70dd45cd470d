//! Which fact leads to which call, and in which order.

use covenant_model::id::{AgentSessionId, AskId, ContextId, DeveloperId, MessageId, WarningId, WorkspaceId};
use covenant_model::time::Timestamp;

use super::*;
use crate::coordination::MessageKind;
use crate::input::{Call, Tool};
use crate::session::ContextBody;
use crate::warning::Settled;
use crate::work::{Status, TaskType};

fn work(kind: Kind, status: Status, reason: Option<&str>) -> Listed {
    Listed {
        id: WorkId::from_random(kind, [1; 10]),
        developer: DeveloperId::from_random([0; 10]),
        session: None,
        title: "Retry\nuploads".to_owned(),
        status,
        task_type: Some(TaskType::Bug).filter(|_| kind == Kind::Task),
        priority: None,
        workstream: None,
        result_summary: None,
        reason: reason.map(str::to_owned),
        started_at: None,
        updated_at: Timestamp::default(),
    }
}

fn session() -> Session {
    Session {
        id: AgentSessionId::from_random([3; 10]),
        workspace: WorkspaceId::from_random([0; 10]),
        developer: DeveloperId::from_random([0; 10]),
        agent_name: None,
        agent_type: None,
        provider: None,
        model: None,
        repo: None,
        branch: None,
        started_at: Timestamp::default(),
        last_seen_at: Timestamp::default(),
        ended_at: None,
    }
}

fn context() -> SharedContext {
    SharedContext {
        id: ContextId::from_random([4; 10]),
        workspace: WorkspaceId::from_random([0; 10]),
        developer: DeveloperId::from_random([0; 10]),
        session: None,
        body: ContextBody { title: "Half way".to_owned(), ..ContextBody::default() },
        created_at: Timestamp::default(),
        expires_at: Timestamp::default(),
        superseded_by: None,
        revoked_at: None,
    }
}

fn message(kind: MessageKind) -> Message {
    Message {
        id: MessageId::from_random([6; 10]),
        workspace: WorkspaceId::from_random([0; 10]),
        kind,
        developer: DeveloperId::from_random([7; 10]),
        session: None,
        to: Some(DeveloperId::from_random([0; 10])),
        ask: (kind == MessageKind::Ask).then(|| AskId::from_random([8; 10])),
        text: "Which queue?".to_owned(),
        details: serde_json::Map::new(),
        at: Timestamp::default(),
        closed_at: None,
    }
}

/// The tool that an action names.
fn called(action: &Action) -> Tool {
    Tool::ALL.into_iter().find(|tool| tool.name() == action.tool).unwrap()
}

#[test]
fn each_fact_leads_to_a_call_that_can_be_made() {
    let (task, stream) = (Kind::Task, Kind::Workstream);
    let (stuck, idle) = (work(task, Status::Blocked, Some("no key")), work(stream, Status::Blocked, None));
    let (planned, later) = (work(task, Status::Planned, None), work(stream, Status::Planned, None));
    let (sessions, context) = ([session()], context());
    let table: [(Facts<'_>, &str, &str, &[&str]); 6] = [
        (
            Facts { stale: &sessions, ..Facts::default() },
            "stale_session",
            "covibe_session.end",
            &["1970-01-01", "operation \"end\""],
        ),
        (
            Facts { blocked: std::slice::from_ref(&stuck), ..Facts::default() },
            "blocked_work",
            "covibe_task.update",
            &["\"Retry uploads\"", "no key"],
        ),
        (
            Facts { blocked: std::slice::from_ref(&idle), ..Facts::default() },
            "blocked_work",
            "covibe_workstream.update",
            &["workstream", "nobody said why"],
        ),
        (
            Facts { planned: std::slice::from_ref(&planned), ..Facts::default() },
            "planned_work",
            "covibe_task.check",
            &["not started", "start_planned"],
        ),
        (
            Facts { planned: std::slice::from_ref(&later), ..Facts::default() },
            "planned_work",
            "covibe_workstream.check",
            &["planned workstream"],
        ),
        (
            Facts { expired: Some(&context), ..Facts::default() },
            "expired_context",
            "covibe_session.publish_context",
            &["\"Half way\""],
        ),
    ];
    for (facts, kind, call, says) in table {
        let [action] = actions(&facts).try_into().unwrap();
        assert_eq!(action.kind, kind);
        let arguments = action.arguments.as_object().unwrap().clone();
        assert_eq!(Call::read(called(&action), arguments).unwrap().name(), call);
        assert!(action.sentence.contains(action.tool), "{}", action.sentence);
        for part in says {
            assert!(action.sentence.contains(part), "{part} in {}", action.sentence);
        }
    }
    let (ask, handoff) = (message(MessageKind::Ask), message(MessageKind::Handoff));
    let waiting =
        [Waiting { message: &ask, sender: "bob" }, Waiting { message: &handoff, sender: "@private" }];
    let [reply, read] = actions(&Facts { waiting: &waiting, ..Facts::default() }).try_into().unwrap();
    assert_eq!(
        (reply.kind, &reply.arguments["ask_id"]),
        ("open_ask", &json!(ask.ask.as_ref().unwrap().as_str()))
    );
    assert!(reply.sentence.contains("bob asks you: \"Which queue?\""), "{}", reply.sentence);
    assert_eq!((read.kind, &read.arguments["operation"]), ("waiting_handoff", &json!("inbox")));
    assert!(read.sentence.starts_with("@private"), "{}", read.sentence);
}

#[test]
fn the_owner_of_the_same_work_is_asked_before_anything_is_given_up() {
    let (task, stream) = (Kind::Task, Kind::Workstream);
    let (own, streams) =
        (Side::of(&work(task, Status::Active, None)), Side::of(&work(stream, Status::Active, None)));
    let twin = Side { title: "Retry them".to_owned(), ..Side::of(&work(task, Status::Done, None)) };
    let other = Side { developer: DeveloperId::from_random([9; 10]), ..twin.clone() };
    let doubled = [
        Doubled { own: &own, other: &other, owner: "bob" },
        Doubled { own: &streams, other: &other, owner: "@private" },
        Doubled { own: &own, other: &twin, owner: "ada" },
        Doubled { own: &streams, other: &twin, owner: "ada" },
    ];
    let [ask, private, mine, streams] =
        actions(&Facts { doubled: &doubled, ..Facts::default() }).try_into().unwrap();
    assert!(ask.sentence.contains("of bob") && ask.sentence.contains(", done)"), "{}", ask.sentence);
    assert_eq!((&ask.arguments["operation"], &ask.arguments["to"]), (&json!("ask"), &json!("bob")));
    assert!(private.arguments.get("to").is_none(), "whoever is private cannot be addressed");
    for action in [&ask, &private] {
        let arguments = action.arguments.as_object().unwrap().clone();
        assert_eq!(Call::read(called(action), arguments).unwrap().name(), "covibe_coordination.ask");
        assert!(action.sentence.contains("\"cancel\"") || action.sentence.contains("\"complete\""));
    }
    assert_eq!((mine.tool, &mine.arguments["operation"]), ("covibe_task", &json!("cancel")));
    assert_eq!((streams.tool, &streams.arguments["operation"]), ("covibe_workstream", &json!("complete")));
}

#[test]
fn whoever_was_warned_looks_again_for_what_they_looked_for() {
    let (id, at) = (WarningId::from_random([5; 10]), Timestamp::default());
    let warned = Warned {
        id,
        developer: DeveloperId::from_random([0; 10]),
        kind: Kind::Task,
        title: "Draw".to_owned(),
        settled: Settled::Open,
        check: None,
        escalated: true,
        at,
    };
    let again = |scope: &str| {
        let brief = Brief { scope: scope.to_owned(), ..Brief::default() };
        let undecided = [Undecided { warned: warned.clone(), brief }];
        let [again] = actions(&Facts { warned: &undecided, ..Facts::default() }).try_into().unwrap();
        let arguments = again.arguments.as_object().unwrap().clone();
        assert_eq!(Call::read(called(&again), arguments).unwrap().name(), "covibe_task.check");
        again
    };
    let short = again("the chart of sales");
    assert_eq!((short.kind, &short.arguments["title"]), ("overlap_warning", &json!("Draw")));
    assert_eq!(short.arguments["scope"], "the chart of sales");
    let long = again(&"x".repeat(8000));
    assert!(long.arguments.get("scope").is_none() && long.sentence.contains("what you said before"));
}

#[test]
fn what_keeps_others_waiting_comes_first_and_there_is_always_something() {
    let (stuck, planned) = (work(Kind::Task, Status::Blocked, None), work(Kind::Task, Status::Planned, None));
    let (sessions, context) = ([session(), session()], context());
    let ask = message(MessageKind::Ask);
    let facts = Facts {
        waiting: &[Waiting { message: &ask, sender: "bob" }],
        stale: &sessions,
        blocked: std::slice::from_ref(&stuck),
        planned: std::slice::from_ref(&planned),
        expired: Some(&context),
        ..Facts::default()
    };
    let kinds: Vec<_> = actions(&facts).iter().map(|action| action.kind).collect();
    assert_eq!(
        kinds,
        ["open_ask", "stale_session", "stale_session", "blocked_work", "planned_work", "expired_context"]
    );
    let [first] = actions(&Facts::default()).try_into().unwrap();
    assert_eq!((first.kind, first.tool), ("check_first", "covibe_task"));
    assert!(first.sentence.contains("\"check\""), "{}", first.sentence);
}
