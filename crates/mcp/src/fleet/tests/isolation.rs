//! Connections of callers' own: who has one, for how long, and what supervision says of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use covenant_gate::Context;
use covenant_gate::context::Conversation;
use covenant_model::server::{Isolation, Plan, ServerState};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::puppets::{Begin, tool};
use super::{World, plan};
use crate::upstream::dial::START;

fn own(isolation: Isolation) -> Plan {
    Plan { isolation, ..plan("a") }
}

fn inside(session: &Arc<Conversation>) -> Context {
    Context::new(CancellationToken::new()).part_of(Arc::clone(session))
}

fn nth(told: &Value) -> Option<u64> {
    told["structuredContent"]["nth"].as_u64()
}

#[tokio::test]
async fn each_session_has_its_own_connection_which_ends_with_it() {
    let world = World::ready(own(Isolation::Session)).await;
    let (one, other) = (Arc::new(Conversation::default()), Arc::new(Conversation::default()));
    let (first, second) = (inside(&one), inside(&other));
    assert_eq!(nth(&world.call_in("a", "echo", &first).await), Some(1));
    assert_eq!(nth(&world.call_in("a", "echo", &first).await), Some(2));
    assert_eq!(nth(&world.call_in("a", "echo", &second).await), Some(1));
    let puppets = world.stage.all("a");
    assert_eq!(puppets.len(), 3, "one lists, two are called");
    assert_eq!(puppets[0].calls.load(Ordering::SeqCst), 0);
    drop((first, one));
    puppets[1].is_closed().await;
    assert_eq!(nth(&world.call_in("a", "echo", &second).await), Some(2));
}

#[tokio::test]
async fn a_connection_is_let_go_when_it_is_quiet_also_while_its_session_goes_on() {
    let world = World::new().await;
    world.apply([own(Isolation::Principal), Plan { isolation: Isolation::Session, ..plan("b") }]).await;
    for name in ["a", "b"] {
        world.fleet.settled(name).await.unwrap();
        let session = Arc::new(Conversation::default());
        let (first, second) = (inside(&session), inside(&session));
        let calls = [world.call_in(name, "echo", &first), world.call_in(name, "echo", &second)];
        assert!(futures_util::future::join_all(calls).await.iter().all(Value::is_object));
        assert_eq!(world.stage.all(name).len(), 2, "two calls share one start");
        world.stage.puppet(name).is_closed().await;
        assert!(!*world.stage.all(name)[0].closed.borrow());
    }
}

#[tokio::test]
async fn a_crowd_of_sessions_of_one_principal_makes_room_among_itself_and_locks_nobody_out() {
    let world = World::ready(own(Isolation::Session)).await;
    let other = Arc::new(Conversation::default());
    assert!(world.call_by("client:other", "a", "echo", &inside(&other)).await.is_object());
    let sessions: Vec<_> = (0..70).map(|_| Arc::new(Conversation::default())).collect();
    for session in &sessions {
        assert!(world.call_in("a", "echo", &inside(session)).await.is_object());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let puppets = world.stage.all("a");
    for (at, puppet) in puppets.iter().enumerate() {
        let stays = at < 2 || at >= puppets.len() - 8;
        if stays {
            assert!(!*puppet.closed.borrow(), "{at}");
        } else {
            puppet.is_closed().await;
        }
    }
    assert_eq!(nth(&world.call_by("client:other", "a", "echo", &inside(&other)).await), Some(2));
}

#[tokio::test]
async fn a_connection_with_a_call_makes_no_room_and_who_is_one_too_many_is_told() {
    let world = World::new().await;
    world.stage.lists("a", json!([tool("hang"), tool("echo")]));
    world.apply([own(Isolation::Session)]).await;
    world.fleet.settled("a").await.unwrap();
    let sessions: Vec<_> = (0..8).map(|_| inside(&Arc::new(Conversation::default()))).collect();
    let hanging = futures_util::future::join_all(sessions.iter().map(|at| world.call_in("a", "hang", at)));
    let late = async {
        while world.stage.all("a").iter().map(|puppet| puppet.calls.load(Ordering::SeqCst)).sum::<usize>() < 8
        {
            tokio::task::yield_now().await;
        }
        let ninth = inside(&Arc::new(Conversation::default()));
        let told = world.call_in("a", "echo", &ninth).await;
        assert!(told.as_str().unwrap().contains("8 connections for your sessions"), "{told}");
        assert!(world.call_by("client:other", "a", "echo", &ninth).await.is_object());
    };
    tokio::join!(hanging, late);
}

#[tokio::test]
async fn starts_that_fail_for_one_caller_count_and_the_server_is_left_alone() {
    let world = World::ready(own(Isolation::Principal)).await;
    world.stage.begins("a", [Begin::Fails(START)]);
    for _ in 0..5 {
        assert!(world.call("a", "echo").await.as_str().unwrap().contains("exit code 3"));
    }
    world.until("a", ServerState::Quarantined).await;
    world.stage.all("a")[0].is_closed().await;
    let tries = world.stage.tries("a");
    let told = world.call("a", "echo").await;
    assert!(told.as_str().unwrap().contains("quarantined"), "{told}");
    assert_eq!(world.stage.tries("a"), tries + 1, "its keeper tried, and nobody else");
    world.stage.begins("a", [Begin::Well]);
    assert!(world.call("a", "echo").await.is_object());
}

#[tokio::test]
async fn nothing_starts_for_calls_that_waited_once_a_server_is_to_stay_away() {
    let world = World::new().await;
    world.stage.lists("a", json!([tool("hang"), tool("echo")]));
    let narrow =
        Plan { max_in_flight: 1, call_timeout: Duration::from_secs(20), ..own(Isolation::Principal) };
    world.apply([narrow]).await;
    world.fleet.settled("a").await.unwrap();
    let context = Context::new(CancellationToken::new());
    let away = async {
        while world.stage.all("a").iter().all(|puppet| puppet.calls.load(Ordering::SeqCst) == 0) {
            tokio::task::yield_now().await;
        }
        world.fleet.disconnect("a").await.unwrap();
    };
    let (_, waited, ()) =
        tokio::join!(world.call("a", "hang"), world.call_by("client:other", "a", "echo", &context), away);
    assert!(waited.as_str().unwrap().contains("is not to run now"), "{waited}");
    assert_eq!(world.stage.tries("a"), 2, "one that lists, one that hung");
}

#[tokio::test]
async fn a_start_that_is_under_way_for_a_caller_ends_with_the_command_to_stay_away() {
    let world = World::ready(own(Isolation::Principal)).await;
    world.stage.begins("a", [Begin::Hangs]);
    let away = async {
        while world.stage.tries("a") < 2 {
            tokio::task::yield_now().await;
        }
        world.fleet.disconnect("a").await.unwrap();
    };
    let (one, two, ()) = tokio::join!(world.call("a", "echo"), world.call("a", "echo"), away);
    for told in [one, two] {
        assert!(told.as_str().unwrap().contains("is not to run now"), "{told}");
    }
    assert_eq!(world.stage.tries("a"), 2);
}

#[tokio::test]
async fn a_start_that_its_caller_gave_up_leaves_its_place_to_others() {
    let world = World::ready(own(Isolation::Session)).await;
    world.stage.begins("a", [Begin::Hangs]);
    let sessions: Vec<_> = (0..12).map(|_| Arc::new(Conversation::default())).collect();
    for (at, session) in sessions.iter().enumerate() {
        let cancel = CancellationToken::new();
        let context = Context::new(cancel.clone()).part_of(Arc::clone(session));
        let give_up = async {
            while world.stage.tries("a") < at + 2 {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        let (told, ()) = tokio::join!(world.call_in("a", "echo", &context), give_up);
        assert_eq!(told, "the call was taken back");
    }
    world.stage.begins("a", [Begin::Well]);
    assert!(world.call_in("a", "echo", &inside(&sessions[0])).await.is_object());
}

#[tokio::test]
async fn where_one_of_two_callers_gives_up_the_other_has_its_connection() {
    let world = World::ready(own(Isolation::Principal)).await;
    world.stage.begins("a", [Begin::Late(Duration::from_secs(2))]);
    let cancel = CancellationToken::new();
    let context = Context::new(cancel.clone());
    let give_up = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (one, other, ()) =
        tokio::join!(world.call_in("a", "echo", &context), world.call("a", "echo"), give_up);
    assert_eq!(one, "the call was taken back");
    assert!(other.is_object(), "{other}");
}

#[tokio::test]
async fn all_who_wait_for_a_start_that_fails_hear_why() {
    let world = World::ready(own(Isolation::Principal)).await;
    world.stage.begins("a", [Begin::Fails(START)]);
    let calls = futures_util::future::join_all((0..3).map(|_| world.call("a", "echo"))).await;
    for told in calls {
        assert!(told.as_str().unwrap().contains("exit code 3"), "{told}");
    }
    assert_eq!(world.stage.tries("a"), 2, "it was tried once for all of them");
}
