//! Starts, crashes, restarts, quarantine and rest.

use std::time::Duration;

use covenant_model::server::{EraChoice, ServerState, Start};
use serde_json::json;
use tokio::time::Instant;

use super::puppets::{Begin, tool};
use super::{World, plan, wanted};
use crate::upstream::dial::{HANDSHAKE, START};

#[tokio::test]
async fn servers_start_side_by_side_and_those_that_hang_or_fail_hold_nobody_up() {
    let world = World::new().await;
    let begun = Instant::now();
    for server in 0..10 {
        world.stage.begins(&format!("hangs{server}"), [Begin::Hangs]);
        world.stage.begins(&format!("fails{server}"), [Begin::Fails(START)]);
        world.stage.begins(&format!("late{server}"), [Begin::Late(Duration::from_secs(2))]);
    }
    let names = ["hangs", "fails", "late", "good"];
    let plans = (0..40).map(|n| plan(&format!("{}{}", names[n / 10], n % 10)));
    world.apply(plans).await;
    for server in 0..10 {
        assert_eq!(world.fleet.settled(&format!("good{server}")).await.unwrap().state, ServerState::Ready);
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    for server in 0..10 {
        world.fleet.settled(&format!("late{server}")).await.unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(world.fleet.servers().connected, 20);
    assert_eq!(world.listed().len(), 20);
    let hung = world.fleet.settled("hangs0").await.unwrap();
    assert!(hung.error.unwrap().contains("start_timeout_secs"));
}

#[tokio::test]
async fn a_crash_fails_its_calls_with_the_last_lines_and_the_server_answers_again_at_once() {
    let world = World::new().await;
    world.stage.lists("a", json!([tool("echo"), tool("crash"), tool("hang")]));
    world.apply([plan("a")]).await;
    world.fleet.settled("a").await.unwrap();
    let begun = Instant::now();
    let (told, in_flight) = tokio::join!(world.call("a", "crash"), world.call("a", "hang"));
    for told in [told, in_flight] {
        let told = told.as_str().unwrap().to_owned();
        assert_eq!(told, "the server `a` ended with exit code 1; its last lines: the last straw");
    }
    assert_eq!(world.call("a", "echo").await["structuredContent"]["nth"], 1);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let status = world.status("a");
    assert_eq!((status.state, status.restarts, status.tool_count), (ServerState::Ready, 1, 3));
    assert!(world.fleet.log("a").unwrap().contains(&"the last straw".to_owned()));
}

#[tokio::test]
async fn tools_stay_listed_while_their_server_comes_back_and_calls_wait_for_it() {
    let world = World::new().await;
    world.stage.begins("a", [Begin::Well, Begin::Late(Duration::from_secs(5)), Begin::Well]);
    world.apply([plan("a")]).await;
    world.fleet.settled("a").await.unwrap();
    world.stage.puppet("a").crashes();
    world.until("a", ServerState::Restarting).await;
    assert_eq!(world.listed().len(), 1);
    assert_eq!(world.call("a", "echo").await["structuredContent"]["nth"], 1);
    assert_eq!(world.stage.tries("a"), 2);
}

#[tokio::test]
async fn who_fails_too_often_is_left_alone_until_used_and_then_tried_once_for_all_who_wait() {
    let world = World::new().await;
    world.stage.begins("a", [Begin::Well]);
    world.apply([plan("a")]).await;
    world.fleet.settled("a").await.unwrap();
    world.stage.begins("a", [Begin::Fails(HANDSHAKE)]);
    world.stage.puppet("a").crashes();
    let status = world.until("a", ServerState::Quarantined).await;
    let error = status.error.unwrap();
    assert!(
        error.starts_with("the server `a` failed in the handshake: it ended with exit code 3"),
        "{error}"
    );
    assert_eq!(status.tool_count, 1, "what it had can still be called");
    let tries = world.stage.tries("a");
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(world.stage.tries("a"), tries, "nobody asked");

    let (one, other) = tokio::join!(world.call("a", "echo"), world.call("a", "echo"));
    assert!(one.as_str().unwrap().contains("quarantined"), "{one}");
    assert!(other.as_str().unwrap().contains("quarantined"), "{other}");
    assert_eq!(world.stage.tries("a"), tries + 1);

    world.stage.begins("a", [Begin::Well]);
    assert_eq!(world.call("a", "echo").await["structuredContent"]["nth"], 1);
    assert_eq!(world.status("a").state, ServerState::Ready);
}

#[tokio::test]
async fn who_never_answered_has_no_era_and_is_asked_for_it_each_time() {
    let world = World::new().await;
    world.stage.begins("a", [Begin::Fails(HANDSHAKE), Begin::Fails(HANDSHAKE), Begin::Well]);
    world.apply([plan("a")]).await;
    assert_eq!(world.until("a", ServerState::Restarting).await.era, None);
    assert_eq!(world.until("a", ServerState::Ready).await.era.as_deref(), Some("legacy"));
    let eras = || world.stage.dialed.lock().iter().map(|(_, era)| *era).collect::<Vec<_>>();
    assert_eq!(eras(), [EraChoice::Auto; 3]);
    world.stage.puppet("a").crashes();
    world.until("a", ServerState::Restarting).await;
    world.until("a", ServerState::Ready).await;
    assert_eq!(eras()[3], EraChoice::Legacy, "what answered is remembered");
    world.fleet.restart("a").await.unwrap();
    assert_eq!(eras()[4], EraChoice::Auto, "a person most likely has changed it");
}

#[tokio::test]
async fn a_command_wakes_a_server_in_quarantine_and_its_past_is_forgotten() {
    let world = World::new().await;
    world.stage.begins("a", [Begin::Fails(START)]);
    world.apply([plan("a")]).await;
    world.until("a", ServerState::Quarantined).await;
    assert_eq!(world.stage.tries("a"), 5);
    world.stage.begins("a", [Begin::Fails(START), Begin::Well]);
    let status = world.fleet.connect("a").await.unwrap();
    assert_eq!(status.state, ServerState::Restarting, "it is tried again by itself");
    world.until("a", ServerState::Ready).await;
}

#[tokio::test]
async fn a_server_that_keeps_crashing_is_restarted_later_and_later() {
    let world = World::ready(plan("a")).await;
    let mut waits = Vec::new();
    for _ in 0..3 {
        let begun = Instant::now();
        world.stage.puppet("a").crashes();
        world.until("a", ServerState::Restarting).await;
        world.until("a", ServerState::Ready).await;
        waits.push(begun.elapsed());
    }
    assert!(waits[0] < Duration::from_millis(100), "{waits:?}");
    assert!(waits[1] > Duration::from_millis(150) && waits[2] > Duration::from_millis(350), "{waits:?}");
    tokio::time::sleep(Duration::from_secs(61)).await;
    let begun = Instant::now();
    world.stage.puppet("a").crashes();
    world.until("a", ServerState::Restarting).await;
    world.until("a", ServerState::Ready).await;
    assert!(begun.elapsed() < Duration::from_millis(100), "a minute of health forgives");
}

#[tokio::test]
async fn a_lazy_server_is_started_once_to_learn_its_tools_and_then_by_calls() {
    let mut world = World::new().await;
    let lazy = || {
        let mut lazy = plan("a");
        (lazy.start, lazy.idle_stop) = (Start::Lazy, Some(Duration::from_secs(5)));
        lazy
    };
    world.apply([lazy()]).await;
    world.until("a", ServerState::Stopped).await;
    world.stage.puppet("a").is_closed().await;
    assert_eq!((world.stage.tries("a"), world.listed().len()), (1, 1));

    world.again();
    world.apply([lazy()]).await;
    assert_eq!((world.status("a").tool_count, world.stage.tries("a")), (1, 1));
    assert_eq!(world.call("a", "echo").await["structuredContent"]["nth"], 1);
    assert_eq!(world.stage.tries("a"), 2);
    assert_eq!(world.stage.dialed.lock()[1].1, EraChoice::Legacy, "the era is remembered");
    world.until("a", ServerState::Stopped).await;
    world.stage.puppet("a").is_closed().await;
    assert_eq!(world.call("a", "echo").await["structuredContent"]["nth"], 1);
    assert_eq!(world.stage.tries("a"), 3);
}

#[tokio::test]
async fn a_server_is_not_stopped_under_a_call() {
    let mut restless = plan("a");
    restless.idle_stop = Some(Duration::from_secs(5));
    let world = World::new().await;
    world.stage.lists("a", json!([tool("hang")]));
    world.apply([restless]).await;
    world.fleet.settled("a").await.unwrap();
    let told = world.call("a", "hang").await;
    assert!(told.as_str().unwrap().contains("call_timeout_secs"), "{told}");
    assert_eq!(world.stage.tries("a"), 1);
    world.until("a", ServerState::Stopped).await;
}

#[tokio::test]
async fn a_server_stays_away_by_command_and_comes_back_by_command() {
    let world = World::ready(plan("a")).await;
    let status = world.fleet.disconnect("a").await.unwrap();
    assert_eq!((status.state, status.tool_count, world.listed().len()), (ServerState::Disabled, 0, 0));
    world.stage.puppet("a").is_closed().await;
    let status = world.fleet.connect("a").await.unwrap();
    assert_eq!((status.state, status.tool_count), (ServerState::Ready, 1));
    let before = world.stage.puppet("a");
    assert_eq!(world.fleet.restart("a").await.unwrap().state, ServerState::Ready);
    before.is_closed().await;
    assert_eq!(world.stage.tries("a"), 3);
    assert!(world.fleet.restart("b").await.is_err());
}

#[tokio::test]
async fn stopping_ends_everything_and_nothing_starts_any_more() {
    let world = World::new().await;
    world.stage.begins("hangs", [Begin::Hangs]);
    world.apply([plan("a"), plan("b"), plan("hangs")]).await;
    world.fleet.settled("a").await.unwrap();
    world.fleet.settled("b").await.unwrap();
    world.fleet.stop().await;
    for name in ["a", "b"] {
        world.stage.puppet(name).is_closed().await;
    }
    let applied = world.fleet.apply(vec![wanted(plan("c"))]).await;
    assert!(applied.added.is_empty());
}
