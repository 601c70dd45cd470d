//! What a new set of wanted servers changes, and what it leaves alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use covenant_model::server::ServerState;
use serde_json::json;

use super::puppets::{Begin, tool};
use super::{World, plan, wanted};
use crate::fleet::{Applied, Fleet, Wanted};
use crate::upstream::dial::HANDSHAKE;

#[tokio::test]
async fn only_what_has_another_plan_starts_anew() {
    let world = World::new().await;
    world.apply([plan("a"), plan("b"), plan("c")]).await;
    for name in ["a", "b", "c"] {
        world.fleet.settled(name).await.unwrap();
    }
    let mut other = plan("b");
    other.max_in_flight = 1;
    let moved = Wanted { source: "elsewhere".to_owned(), ..wanted(plan("a")) };
    let applied = world.fleet.apply(vec![wanted(plan("d")), moved, wanted(other)]).await;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(applied, Applied { added: names(&["d"]), changed: names(&["b"]), removed: names(&["c"]) });
    world.fleet.settled("b").await.unwrap();
    world.stage.all("c")[0].is_closed().await;
    assert_eq!((world.stage.tries("a"), world.stage.tries("b")), (1, 2));
    assert_eq!(world.status("a").source, "elsewhere");
    assert!(world.fleet.server("c").is_err());
    world.fleet.settled("d").await.unwrap();
    assert_eq!(world.listed().len(), 3);
}

#[tokio::test]
async fn a_call_ends_on_the_server_it_began_on() {
    let world = World::new().await;
    world.stage.lists("a", json!([tool("hang"), tool("echo")]));
    let mut first = plan("a");
    first.call_timeout = Duration::from_secs(20);
    world.apply([first]).await;
    world.fleet.settled("a").await.unwrap();
    let old = world.stage.puppet("a");
    let change = async {
        old.called(1).await;
        world.apply([plan("a")]).await;
        assert_eq!(world.fleet.settled("a").await.unwrap().state, ServerState::Ready);
        assert!(world.call("a", "echo").await.is_object());
        assert!(!*old.closed.borrow());
        assert_eq!(world.stage.puppet("a").calls.load(Ordering::SeqCst), 1);
    };
    let (told, ()) = tokio::join!(world.call("a", "hang"), change);
    assert!(told.as_str().unwrap().contains("20 s"), "{told}");
    old.is_closed().await;
}

#[tokio::test]
async fn entries_that_cannot_be_used_or_are_not_to_run_are_shown_and_not_started() {
    let world = World::new().await;
    let bad = Wanted {
        name: "bad".to_owned(),
        source: "config.toml".to_owned(),
        enabled: true,
        plan: Err("`url` is not one".to_owned()),
    };
    let off = Wanted { enabled: false, ..wanted(plan("off")) };
    world.fleet.apply(vec![bad, off, wanted(plan("good"))]).await;
    world.fleet.settled("good").await.unwrap();
    let bad = world.fleet.connect("bad").await.unwrap();
    assert_eq!((bad.state, bad.error.as_deref()), (ServerState::Failed, Some("`url` is not one")));
    assert_eq!(world.fleet.settled("off").await.unwrap().state, ServerState::Disabled);
    assert_eq!(world.stage.tries("off"), 0);
    let count = |state| world.fleet.counts().into_iter().find(|(known, _)| *known == state).unwrap().1;
    assert_eq!(
        (count(ServerState::Failed), count(ServerState::Disabled), count(ServerState::Ready)),
        (1, 1, 1)
    );
    assert_eq!(world.fleet.connect("off").await.unwrap().state, ServerState::Ready);
}

#[tokio::test]
async fn a_try_says_which_phase_failed_and_leaves_the_running_one_alone() {
    let world = World::ready(plan("a")).await;
    let test = world.fleet.test(&plan("a")).await;
    let phases: Vec<_> = test.phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert!(test.ok);
    assert_eq!((phases, test.tools), (vec!["start", "handshake", "list", "stop"], vec!["echo".to_owned()]));
    assert_eq!(
        (test.phases[0].detail.as_str(), test.phases[2].detail.as_str()),
        ("it was started", "it has 1 tool")
    );
    assert!(!*world.stage.all("a")[0].closed.borrow());
    assert!(*world.stage.all("a")[1].closed.borrow());
    world.stage.begins("b", [Begin::Fails(HANDSHAKE)]);
    let test = world.fleet.test(&plan("b")).await;
    let last = test.phases.last().unwrap();
    assert_eq!((test.ok, last.phase.as_str(), last.ok), (false, "handshake", false));
    assert!(last.detail.contains("exit code 3"));
    assert_eq!(test.log.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_slow_to_read_holds_up_neither_the_change_nor_other_servers() {
    let home = tempfile::tempdir().unwrap();
    let gate = super::gate(home.path()).await;
    let (stage, notes) = (Arc::new(super::Stage::default()), Arc::new(super::Pad::default()));
    let fleet = Fleet::with(Arc::clone(&gate), stage.clone(), notes.clone());
    let held = notes.clone();
    let (holds, held_now) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let holder = std::thread::spawn(move || {
        let _slow = held.slow.lock();
        holds.send(()).unwrap();
        let _ = released.recv();
    });
    held_now.recv().unwrap();
    let begun = std::time::Instant::now();
    let off = Wanted { enabled: false, ..wanted(plan("off")) };
    fleet.apply(vec![wanted(plan("slow")), off]).await;
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(fleet.server("slow").unwrap().state, ServerState::Starting);
    assert_eq!(fleet.settled("off").await.unwrap().state, ServerState::Disabled);
    // The next change comes while it is still being read.
    fleet.apply(vec![wanted(plan("slow")), wanted(plan("off"))]).await;
    drop(release);
    holder.join().unwrap();
    for name in ["slow", "off"] {
        assert_eq!(fleet.settled(name).await.unwrap().state, ServerState::Ready, "{name}");
    }
    assert_eq!(stage.tries("slow"), 1);
}
