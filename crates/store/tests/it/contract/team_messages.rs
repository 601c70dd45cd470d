//! Messages among teammates on either database: kept as they are, in the right inboxes, read once and closed once.

use std::sync::Arc;

use covenant_model::id::{AskId, MessageId};
use covenant_team::Request;
use covenant_team::coordination::{Concerning, Delivered, Message, MessageKind};
use covenant_team::input::{Call, Tool};
use covenant_team::port::CoordinationTx as _;
use serde_json::json;

use super::team::{ODD, developer, peopled, session_id, workspace};
use super::{Bench, at, on_both, seed, together};

fn id(number: u64) -> MessageId {
    MessageId::from_random(seed(number))
}

/// One of Ada's to everybody.
fn message(number: u64, kind: MessageKind) -> Message {
    Message {
        id: id(number),
        workspace: workspace(1),
        kind,
        developer: developer(1),
        session: None,
        to: None,
        ask: None,
        text: format!("message {number}"),
        details: serde_json::Map::new(),
        at: at(number),
        closed_at: Some(at(number)),
    }
}

fn ids(messages: &[Delivered]) -> Vec<(MessageId, bool)> {
    messages.iter().map(|told| (told.message.id.clone(), told.read_at.is_none())).collect()
}

async fn a_message_is_kept_as_it_is_and_lies_where_it_belongs(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let ask = AskId::from_random(seed(7));
    let details = json!({"paths": [ODD], "context": null}).as_object().unwrap().clone();
    let full = Message {
        session: Some(session_id(1)),
        to: Some(developer(2)),
        ask: Some(ask.clone()),
        text: ODD.repeat(20),
        details,
        closed_at: None,
        ..message(2, MessageKind::Ask)
    };
    let own = Message { to: Some(developer(1)), ..message(3, MessageKind::Expired) };
    let freed = Message { to: Some(developer(0)), ..message(4, MessageKind::Freed) };
    for message in [&message(1, MessageKind::Announce), &full, &own, &freed] {
        tx.send(message).await.unwrap();
    }
    assert_eq!(tx.ask(&ask).await.unwrap(), Some(full.clone()));
    assert_eq!(tx.ask(&AskId::from_random(seed(8))).await.unwrap(), None);
    for (who, expected) in [
        (0, vec![(id(4), true), (id(1), true)]),
        (1, vec![(id(3), true), (id(2), false), (id(1), false)]),
        (2, vec![(id(2), true), (id(1), true)]),
        (3, vec![]),
        (4, vec![]),
    ] {
        assert_eq!(ids(&tx.inbox(&developer(who), 9).await.unwrap()), expected, "the inbox of {who}");
        let unread: Vec<_> = expected.into_iter().filter(|(_, unread)| *unread).collect();
        assert_eq!(tx.unread(&developer(who), 9).await.unwrap(), u64::try_from(unread.len()).unwrap());
        assert_eq!(ids(&tx.unread_inbox(&developer(who), 9).await.unwrap()), unread);
    }
    assert_eq!(tx.inbox(&developer(2), 1).await.unwrap()[0].message, full);
    assert_eq!(tx.unread(&developer(2), 1).await.unwrap(), 1, "counted so far and no further");
    assert!(tx.mark_read(&developer(2), &id(2), at(50)).await.unwrap());
    assert!(!tx.mark_read(&developer(2), &id(2), at(60)).await.unwrap(), "it was read before");
    assert_eq!(tx.inbox(&developer(2), 1).await.unwrap()[0].read_at, Some(at(50)));
    assert!(!tx.mark_read(&developer(3), &id(2), at(50)).await.unwrap(), "it is not in that inbox");
}

async fn what_is_left_to_do_is_found_by_whom_it_concerns(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let ask = AskId::from_random(seed(7));
    let open = |number, to: Option<u64>| Message {
        to: to.map(developer),
        ask: Some(if number == 1 { ask.clone() } else { AskId::from_random(seed(100 + number)) }),
        closed_at: None,
        ..message(number, MessageKind::Ask)
    };
    for message in [&open(1, Some(2)), &open(2, None), &open(3, Some(0)), &message(4, MessageKind::Announce)]
    {
        tx.send(message).await.unwrap();
    }
    let (team, kind) = (workspace(1), MessageKind::Ask);
    for (concerning, expected) in [
        (Concerning::To(&developer(2)), vec![open(1, Some(2))]),
        (Concerning::Everybody, vec![open(2, None)]),
        (Concerning::From(&developer(1)), vec![open(3, Some(0)), open(2, None), open(1, Some(2))]),
        (Concerning::From(&developer(2)), vec![]),
    ] {
        let found = tx.open_messages(&team, kind, concerning, 9).await.unwrap();
        assert_eq!(found, expected, "{concerning:?}");
    }
    assert_eq!(tx.open_messages(&team, kind, Concerning::From(&developer(1)), 1).await.unwrap().len(), 1);
    assert_eq!(tx.open_messages(&workspace(2), kind, Concerning::Everybody, 9).await.unwrap(), []);
    assert_eq!(tx.recent_messages(&team, MessageKind::Announce, 9).await.unwrap().len(), 1);
    assert_eq!(tx.recent_messages(&workspace(2), MessageKind::Announce, 9).await.unwrap(), []);
    let reply = |number| Message {
        developer: developer(2),
        to: Some(developer(1)),
        ask: Some(ask.clone()),
        ..message(number, MessageKind::Reply)
    };
    for number in [6, 5] {
        tx.send(&reply(number)).await.unwrap();
    }
    assert_eq!(tx.replies(&ask, 9).await.unwrap(), [reply(5), reply(6)]);
    assert_eq!(tx.replies(&ask, 1).await.unwrap(), [reply(5)]);
    tx.close(&id(1), at(8)).await.unwrap();
    tx.close(&id(1), at(9)).await.unwrap();
    assert_eq!(tx.ask(&ask).await.unwrap().unwrap().closed_at, Some(at(8)));
    assert_eq!(tx.open_messages(&team, kind, Concerning::To(&developer(2)), 9).await.unwrap(), []);
    assert!(tx.close(&id(99), at(9)).await.is_err(), "it is not there");
}

async fn of_many_sessions_that_read_an_inbox_at_once_one_takes_each_handoff(bench: Bench) {
    let stores = [peopled(&bench).await, bench.open().await];
    for round in 1..=8 {
        let handed =
            Message { to: Some(developer(1)), closed_at: None, ..message(round, MessageKind::Handoff) };
        let handed = Message { developer: developer(0), ..handed };
        let mut tx = stores[0].begin_team().await.unwrap();
        tx.send(&handed).await.unwrap();
        tx.commit().await.unwrap();
        let readers = (0..8_usize).map(|number| {
            let store = Arc::clone(&stores[number % 2]);
            let arguments = json!({"operation": "inbox"});
            let call = Call::read(Tool::Coordination, arguments.as_object().unwrap().clone()).unwrap();
            let principal = "dev:ada".parse().unwrap();
            let request = Request { principal, agent_type: None, call, now: at(500 + round) };
            async move {
                let told = store.perform(request).await.unwrap().envelope.data["messages"].clone();
                u64::from(told[0]["unread"] == true)
            }
        });
        let told = together(readers).await;
        assert_eq!(told.iter().sum::<u64>(), 1, "{told:?}");
        let read = format!(
            "SELECT count(*) FROM work_events WHERE event = 'coordination.inbox' AND subject_id = '{}'",
            handed.id
        );
        assert_eq!(bench.number(&read).await, 1);
    }
}

on_both!(
    of_many_sessions_that_read_an_inbox_at_once_one_takes_each_handoff,
    a_message_is_kept_as_it_is_and_lies_where_it_belongs,
    what_is_left_to_do_is_found_by_whom_it_concerns,
);
