//! What is written down of teams on either database, and how it is listed.

use covenant_model::envelope::Tone;
use covenant_model::id::EventId;
use covenant_store::{EventsWanted, Store, TeamEvent};
use covenant_team::event::{Event, GivenFeedback, Log};
use covenant_team::port::TeamTx as _;
use serde_json::{Map, Value, json};

use super::team::{ODD, developer, peopled, session_id, workspace};
use super::{Bench, at, on_both, seed};

fn id(number: u64) -> EventId {
    EventId::from_random(seed(number))
}

/// One of Ada's at that moment.
fn event(number: u64, millis: u64) -> Event {
    Event {
        id: id(number),
        workspace: Some(workspace(1)),
        developer: Some(developer(1)),
        session: None,
        event: "task.started".into(),
        subject: None,
        status: "active".into(),
        payload: Map::new(),
        at: at(millis),
    }
}

fn full(number: u64, millis: u64) -> Event {
    Event {
        session: Some(session_id(1)),
        event: ODD.into(),
        subject: Some(ODD.into()),
        status: ODD.into(),
        payload: object(json!({ODD: [ODD, null, 1.5, {"a\0": "b\0"}]})),
        ..event(number, millis)
    }
}

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn told(event: Event, tone: Tone) -> GivenFeedback {
    GivenFeedback { event, tone, message: ODD.into(), required_action: None }
}

/// The same event, as it is listed.
fn listed(event: &Event, developer: Option<&str>) -> TeamEvent {
    TeamEvent {
        id: event.id.clone(),
        event: event.event.clone(),
        developer: developer.map(str::to_owned),
        private: developer == Some("bob"),
        session_id: event.session.clone(),
        subject_id: event.subject.clone(),
        status: event.status.clone(),
        payload: event.payload.clone(),
        at: event.at,
    }
}

fn all(log: Log) -> EventsWanted {
    EventsWanted { log, workspace: None, developer: None, after: None, limit: 99 }
}

/// Adds that to each of the three logs.
async fn add(store: &Store, events: &[Event]) {
    let mut tx = store.begin_team().await.unwrap();
    tx.add_changes(events).await.unwrap();
    for event in events {
        tx.add_usage(event).await.unwrap();
        tx.add_feedback(&told(event.clone(), Tone::Warning)).await.unwrap();
    }
    tx.commit().await.unwrap();
}

async fn events_are_listed_as_they_were_with_their_developers(bench: Bench) {
    let store = peopled(&bench).await;
    let (ada, bob) = (full(1, 1), Event { developer: Some(developer(2)), ..event(2, 2) });
    let eve = Event { workspace: Some(workspace(2)), developer: Some(developer(3)), ..event(3, 3) };
    add(&store, &[ada.clone(), bob.clone(), eve.clone()]).await;
    let [of_ada, of_bob, of_eve] = [(&ada, "ada"), (&bob, "bob"), (&eve, "eve")]
        .map(|(event, developer)| listed(event, Some(developer)));
    for log in Log::ALL {
        let listed = store.team_events(all(log)).await.unwrap();
        assert_eq!(listed, [of_eve.clone(), of_bob.clone(), of_ada.clone()]);
        let ours = EventsWanted { workspace: Some(workspace(1)), ..all(log) };
        assert_eq!(store.team_events(ours.clone()).await.unwrap(), [of_bob.clone(), of_ada.clone()]);
        let narrow = EventsWanted { developer: Some(developer(2)), ..ours };
        assert_eq!(store.team_events(narrow.clone()).await.unwrap(), std::slice::from_ref(&of_bob));
        let nowhere = EventsWanted { workspace: Some(workspace(2)), ..narrow };
        assert_eq!(store.team_events(nowhere).await.unwrap(), []);
    }
}

async fn a_list_goes_on_where_a_page_ended(bench: Bench) {
    let store = peopled(&bench).await;
    // Several of one moment, so that pages end within it.
    let events: Vec<_> = (0..20).map(|number| event(number, number / 4)).collect();
    add(&store, &events).await;
    let mut ids: Vec<_> = events.iter().map(|event| (event.at, event.id.clone())).collect();
    ids.sort();
    ids.reverse();
    for (log, narrow) in Log::ALL.into_iter().zip([0, 1, 2]) {
        let workspace = (narrow == 1).then(|| workspace(1));
        let developer = (narrow == 2).then(|| developer(1));
        let mut wanted = EventsWanted { workspace, developer, limit: 3, ..all(log) };
        let mut found = Vec::new();
        loop {
            let page = store.team_events(wanted.clone()).await.unwrap();
            assert!(page.len() <= 3);
            let Some(last) = page.last() else { break };
            wanted.after = Some((last.at, last.id.clone()));
            found.extend(page.into_iter().map(|event| (event.at, event.id)));
        }
        assert_eq!(found, ids);
    }
}

async fn feedback_is_told_again_newest_first_by_its_kind_and_number(bench: Bench) {
    let store = peopled(&bench).await;
    let mut tx = store.begin_team().await.unwrap();
    let tones = [Tone::Info, Tone::Warning, Tone::Block, Tone::Error];
    let given: Vec<_> = (0..8_u64)
        .zip(tones.into_iter().cycle())
        .map(|(number, tone)| {
            let required_action = (number > 3).then(|| ODD.to_owned());
            GivenFeedback { required_action, ..told(full(number, number), tone) }
        })
        .collect();
    let of_bob = told(Event { developer: Some(developer(2)), ..event(9, 9) }, Tone::Block);
    for feedback in given.iter().chain([&of_bob]) {
        tx.add_feedback(feedback).await.unwrap();
    }
    let us = developer(1);
    let newest: Vec<_> = given.iter().rev().cloned().collect();
    assert_eq!(tx.feedback(&us, None, 99).await.unwrap(), newest);
    assert_eq!(tx.feedback(&us, None, 3).await.unwrap(), newest[..3]);
    for tone in tones {
        let of_tone: Vec<_> = newest.iter().filter(|feedback| feedback.tone == tone).cloned().collect();
        assert_eq!(tx.feedback(&us, Some(tone.as_str()), 99).await.unwrap(), of_tone);
        assert_eq!(tx.feedback(&us, Some(tone.as_str()), 1).await.unwrap(), of_tone[..1]);
    }
    assert_eq!(tx.feedback(&us, Some("praise"), 99).await.unwrap(), []);
    assert_eq!(tx.feedback(&us, None, 0).await.unwrap(), []);
}

on_both!(
    events_are_listed_as_they_were_with_their_developers,
    a_list_goes_on_where_a_page_ended,
    feedback_is_told_again_newest_first_by_its_kind_and_number,
);
